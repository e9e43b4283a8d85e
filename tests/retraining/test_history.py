"""A history tells every version and decision, and takes nothing that it could not answer for."""

from __future__ import annotations

import json
import os
from datetime import UTC, date, datetime
from importlib.resources import files
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import numpy as np
import pandas as pd
import pytest

from steadytree.distance import tree_distance
from steadytree.exceptions import HistoryError, InputError
from steadytree.retraining import history as history_module
from steadytree.retraining.history import History
from steadytree.retraining.history_chain import FORMAT
from steadytree.tree.json import save_tree
from steadytree.tree.space import FeatureSpace
from steadytree.tree.tree import Tree
from tests.diff.trees import Leaf, Split, build
from tests.retraining.histories import A, B, C, PlanCheck, contents, seal_again, write
from tests.tree.test_format import tree_json_schema


def dissimilarity(a: Tree, b: Tree) -> float:
    return tree_distance(a, b, variant="metric", normalize="relative")


def test_a_life(path: Path) -> None:
    history = History.open(path)
    assert len(history) == 0
    assert history.current is None
    assert history.versions.empty
    assert not path.exists()

    first = history.append(
        A, scores={"auc": 0.8}, on="2023-01-31", approved_by="Dr Adams", reason="first"
    )
    assert first == 1
    assert history.current == 1
    assert repr(history) == f"History({str(path)!r}, 1 versions, current: 1)"
    second = history.append(B, scores={"auc": 0.82}, note="data of 2024", on=date(2024, 1, 31))
    assert history.status(second) == "proposed"
    assert history.current == 1
    history.reject(second, by="Dr Baker", reason="too many flips", on="2024-02-01T10:00:00")
    third = history.append(C, on=datetime(2024, 3, 1, tzinfo=UTC))
    history.approve(third, by="Dr Adams", reason="better", on="2024-03-02")

    again = History.open(path)
    assert again.current == 3
    assert again.tree() == C
    assert again.tree(1) == A
    assert again.space(2) == A.space
    frame = again.versions
    assert frame.index.tolist() == [1, 2, 3]
    assert frame["status"].tolist() == ["approved", "rejected", "approved"]
    assert frame["current"].tolist() == [False, False, True]
    assert frame["decided_by"].tolist() == ["Dr Adams", "Dr Baker", "Dr Adams"]
    assert frame["reason"].tolist() == ["first", "too many flips", "better"]
    assert frame["date"].tolist() == ["2023-01-31", "2024-01-31", "2024-03-01T00:00:00+00:00"]
    assert frame["decided_on"].tolist() == ["2023-01-31", "2024-02-01T10:00:00", "2024-03-02"]
    assert frame["note"].tolist() == ["", "data of 2024", ""]
    assert frame["score_auc"].tolist()[:2] == [0.8, 0.82]
    # The rejected version was never in force: the third follows the first.
    assert frame["previous"].tolist()[1:] == [1, 1]
    assert frame["dissimilarity_to_previous"].tolist()[1:] == pytest.approx(
        [dissimilarity(A, B), dissimilarity(A, C)]
    )
    assert frame["dissimilarity_to_first"].tolist()[1:] == pytest.approx(
        [dissimilarity(A, B), dissimilarity(A, C)]
    )
    assert again.versions.equals(history.versions)


def test_the_dissimilarity_to_the_previous_is_not_that_to_the_first(path: Path) -> None:
    history = History.open(path)
    for tree in (A, B, C):
        history.append(tree, approved_by="me")
    last = history.versions.loc[3]
    assert last["dissimilarity_to_previous"] == pytest.approx(dissimilarity(B, C))
    assert last["dissimilarity_to_first"] == pytest.approx(dissimilarity(A, C))


# -- what a plan refused, and what is kept ---------------------------------------------------


class Result:
    """A Retraining as the history sees it."""

    def __init__(self, tree: Tree, action: str = "change", **more: Any) -> None:
        self.tree, self.action = tree, action
        self.chosen, self.answer = "proposal", SimpleNamespace(refused="refused one")
        row = {"score": 0.8, "score_se": 0.01, "score_change": 0.02, "flips": 0.05}
        self.frontier = pd.DataFrame([row, row | {"score": 0.9}], ["proposal", "refused one"])
        self.__dict__.update(more)


@pytest.mark.parametrize("brought", [True, False])
def test_what_its_plan_refused_is_recorded_and_cannot_be_approved(
    full: Path, brought: bool
) -> None:
    """It entered as proposed, and was approved."""
    history, check = History.open(full), PlanCheck(False)
    if brought:
        number = history.append(Result(C, plan_check=check))
    else:
        number = history.append(C, check=check)
    assert history.status(number) == "refused"
    assert history.check(number) == check.to_dict()
    assert history.check(1) is None
    row = history.versions.loc[number]
    assert (row["status"], row["reason"]) == (
        "refused",
        "changed decisions 9 %, at most 3 %: broken",
    )
    before = full.read_bytes()
    for decide in (history.approve, history.reject):
        with pytest.raises(HistoryError) as caught:
            decide(number, by="Dr Adams")
        for words in (
            "got version 3, which was refused (changed decisions 9 %, at most 3 %: broken)",
            "revise the plan and retrain",
        ):
            assert words in str(caught.value)
    with pytest.raises(HistoryError, match="got the tree, which was refused"):
        history.append(C, check=check, approved_by="Dr Adams")
    assert full.read_bytes() == before
    assert history.current == 1
    assert History.open(full).status(number) == "refused"
    assert history.verify().ok


def test_what_was_refused_comes_back_only_with_a_check(full: Path) -> None:
    """Not by the door beside: the bare tree, which brings no check along."""
    history = History.open(full)
    refused = Result(C, plan_check=PlanCheck(False))
    history.append(refused)
    before = full.read_bytes()
    with pytest.raises(HistoryError, match="got version 3 again without one; append what retrain"):
        history.append(refused.tree, approved_by="Dr Adams")
    assert full.read_bytes() == before
    assert history.status(history.append(refused)) == "refused"
    assert history.status(history.append(Result(C, plan_check=PlanCheck(True)))) == "proposed"


def test_a_forged_approval_of_a_refused_version_is_noticed(full: Path) -> None:
    History.open(full).append(C, check=PlanCheck(False))
    lines = contents(full)
    write(full, seal_again([*lines, {**lines[1], "number": 3}]))
    check = History(full).verify()
    assert (check.kind, check.line) == ("inconsistent", 5)
    with pytest.raises(HistoryError, match="expected no decision about version 3, which was ref"):
        History.open(full)


def test_what_held_its_plan_is_proposed_and_keeps_the_check(full: Path) -> None:
    history = History.open(full)
    number = history.append(Result(C, plan_check=PlanCheck(True)))
    assert history.status(number) == "proposed"
    assert history.check(number) == PlanCheck(True).to_dict()
    # A second plan, of the board, refuses it all the same.
    assert history.status(history.append(C, check=PlanCheck(False))) == "refused"
    history.approve(number, by="Dr Adams")
    assert history.current == number
    result = Result(B, plan_check=PlanCheck(False))
    assert history.status(history.append(result, check=PlanCheck(True))) == "refused"
    with pytest.raises(InputError, match="expected the check of a plan, got bool"):
        history.append(B, check=True)


def test_a_retraining_that_keeps_records_the_tree_that_its_plan_refused(full: Path) -> None:
    history = History.open(full)
    with pytest.raises(HistoryError, match="other than the one in force"):
        history.append(Result(A, "keep", refused=A, plan_check=PlanCheck(False)))
    number = history.append(Result(A, "keep", refused=C, plan_check=PlanCheck(False)))
    assert history.status(number) == "refused"
    assert history.tree(number) == C
    assert history.versions.loc[number, "score_auc"] == 0.9


def test_a_refused_tree_is_nobodys_yardstick(path: Path) -> None:
    history = History.open(path)
    history.append(C, check=PlanCheck(False))
    history.append(A)
    history.append(B)
    frame = history.versions
    assert frame["dissimilarity_to_first"].isna().tolist() == [True, True, False]
    assert frame.loc[3, "dissimilarity_to_first"] == pytest.approx(dissimilarity(A, B))
    assert frame["previous"].tolist()[2] == 2
    assert frame["previous"].isna().tolist()[:2] == [True, True]


def test_the_tree_in_force_is_no_new_version_but_may_be_kept(full: Path) -> None:
    """Held against itself it changes nothing, and passed every limit."""
    history, before = History.open(full), full.read_bytes()
    again = A.replace(metadata={"trained": "again"}, label=A.label)
    for same in (A, again, Result(again, "re-estimate")):
        for check in (None, PlanCheck(True), PlanCheck(False)):
            with pytest.raises(HistoryError, match="other than the one in force, got version 1 ag"):
                history.append(same, check=check)
    assert full.read_bytes() == before
    number = history.append(Result(again, "keep"), note="nothing new in 2025")
    assert (number, history.status(number), history.current) == (3, "kept", 1)
    assert history.versions.loc[number, "dissimilarity_to_previous"] == 0
    # The board may confirm it.
    history.approve(number, by="Dr Adams", reason="as proposed")
    assert history.versions.loc[number, "reason"] == "as proposed"
    assert history.versions.loc[1, "reason"] == ""
    assert (history.status(number), history.current) == ("approved", number)
    # What is in force is another tree: then it is a proposal like others.
    history.approve(2, by="Dr Adams")
    assert history.status(history.append(Result(A, "keep"))) == "proposed"


def test_every_line_fits_the_schema(full: Path) -> None:
    history = History.open(full)
    history.append(C, check=PlanCheck(False), scores={"auc": 0.8}, note="refused")
    history.append(Result(A, "keep"))
    history.reject(2, by="Dr Baker", reason="too many flips")
    history.append(Result(B, plan_check=PlanCheck(True)), on="2025-01-31", approved_by="Dr Adams")
    schema = json.loads(
        files("steadytree.retraining").joinpath("history.schema.json").read_text(encoding="utf-8")
    )
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["properties"]["version"]["const"] == FORMAT["version"]
    checker = jsonschema.Draft202012Validator(schema)
    lines = contents(full)
    assert {line["status"] for line in lines} == {
        *("proposed", "kept", "refused", "approved", "rejected")
    }
    for line in lines:
        checker.validate(line)
        if line["event"] == "version":
            jsonschema.validate(line["tree"], tree_json_schema())
        for name in line:
            assert not checker.is_valid({k: v for k, v in line.items() if k != name}), name
        for changed in (
            {"version": 1},
            {"digest": None},
            {"status": "recovered"},
            {"event": "recovery"},
            {"extra": 1},
            {"number": 0},
        ):
            assert not checker.is_valid(line | changed), changed


# -- decisions -------------------------------------------------------------------------------


def test_roll_back_and_withdraw(path: Path) -> None:
    history = History.open(path)
    for tree in (A, B):
        history.append(tree, approved_by="me")
    history.reject(2, by="me", reason="harm")
    assert history.current == 1
    history.approve(2, by="me", reason="false alarm")
    assert history.current == 2
    history.approve(1, by="me", reason="roll back")
    assert history.current == 1
    assert len(path.read_text().splitlines()) == 7  # nothing was rewritten


def test_lines_once_written_stay_byte_for_byte(path: Path) -> None:
    history = History.open(path)
    before = b""
    for tree in (A, B, C):
        history.append(tree, note="ünïcode\nand a line")
        now = path.read_bytes()
        assert now.startswith(before)
        assert now.endswith(b"\n")
        before = now
    assert len(before.splitlines()) == 3
    assert History.open(path).versions["note"].tolist() == ["ünïcode\nand a line"] * 3


def test_a_tree_file_or_a_model_can_be_appended(path: Path, tmp_path: Path) -> None:
    save_tree(A, tmp_path / "a.json")
    history = History.open(path)
    history.append(tmp_path / "a.json")
    assert history.tree(1) == A


def test_a_retraining_brings_its_scores(path: Path) -> None:
    class Proposal:
        tree = B
        chosen = "price 0.2"
        frontier = pd.DataFrame(
            {"score": [0.81], "score_se": [0.01], "score_change": [np.nan], "flips": [0.02]},
            index=["price 0.2"],
        )

    history = History.open(path)
    history.append(A)
    history.append(Proposal(), scores={"brier": 0.1})
    assert history.tree(2) == B
    row = history.versions.loc[2]
    assert (row["score_auc"], row["score_flips"], row["score_brier"]) == (0.81, 0.02, 0.1)
    assert np.isnan(row["score_auc_change"])


@pytest.mark.parametrize("part", [{"chosen": "price 0.2"}, {"frontier": "none"}])
def test_what_is_not_a_whole_retraining_brings_no_scores(path: Path, part: dict[str, str]) -> None:
    proposal = type("Proposal", (), {"tree": A, **part})()
    history = History.open(path)
    history.append(proposal)
    assert history.tree(1) == A
    assert not [name for name in history.versions if name.startswith("score_")]


# -- bad input -------------------------------------------------------------------------------


def test_bad_input(full: Path, tmp_path: Path) -> None:
    history = History.open(full)
    before = full.read_bytes()
    with pytest.raises(HistoryError, match=r"expected a version among \[1, 2\], got 7"):
        history.approve(7, by="me")
    with pytest.raises(InputError, match="expected the name of who decides, got ' '"):
        history.approve(2, by=" ")
    with pytest.raises(InputError, match=r"expected a date such as .* got 'yesterday'"):
        history.approve(2, by="me", on="yesterday")
    with pytest.raises(InputError, match="expected text as note, got 3"):
        history.append(C, note=3)  # type: ignore[arg-type]
    other = A.replace(feature_names=tuple("abcde"), space=None, label=A.label)
    with pytest.raises(HistoryError, match=r"compared with version 1, got: .*'a'"):
        history.append(other)
    assert full.read_bytes() == before
    with pytest.raises(
        InputError, match=r"expected a place that can be written .*got No such file"
    ):
        History.open(tmp_path / "nowhere" / "h.jsonl").append(A)
    empty = History.open(tmp_path / "empty.jsonl")
    with pytest.raises(HistoryError, match="expected an approved version, got none"):
        empty.tree()
    with pytest.raises(HistoryError, match="expected a readable history file"):
        History.open(tmp_path)


@pytest.mark.parametrize("by", [None, "", " \t", "\u200b", 7, b"me", ["me"], "...", True])
def test_nobody_decides_without_a_name(full: Path, by: Any) -> None:
    history, before = History.open(full), full.read_bytes()
    for decide in (history.approve, history.reject):
        with pytest.raises(InputError, match="expected the name of who decides, got"):
            decide(2, by=by)
    if by is not None:
        with pytest.raises(InputError, match="expected the name of who decides, got"):
            history.append(C, approved_by=by)
    assert full.read_bytes() == before


@pytest.mark.parametrize("number", ["1", None, 1.0, True, [1], 0, -1, 10**30])
def test_versions_are_named_by_their_number(full: Path, number: Any) -> None:
    history = History.open(full)
    with pytest.raises(HistoryError, match=r"expected a version among \[1, 2\], got"):
        history.approve(number, by="me")
    if number is not None:
        with pytest.raises(HistoryError, match=r"expected a version among \[1, 2\], got"):
            history.tree(number)


def test_numbers_of_numpy_are_numbers(full: Path) -> None:
    history = History.open(full)
    history.approve(np.int64(2), by="me")  # type: ignore[arg-type]
    assert history.append(C, scores={"auc": np.float32(0.5), "n": np.int32(3)}) == 3
    assert History.open(full).current == 2
    assert History.open(full).versions.loc[3, "score_n"] == 3.0


def test_metadata_that_json_changes_keeps_the_chain(path: Path) -> None:
    tree = A.replace(metadata={"by": (1, 2), "x": {3: "three", 20: "twenty"}}, label=A.label)
    History.open(path).append(tree)
    assert History.open(path).verify().ok
    with pytest.raises(InputError, match="expected values that JSON can hold"):
        History.open(path).append(A.replace(metadata={"x": object()}, label=A.label))


def test_a_reason_is_somebodys(full: Path) -> None:
    with pytest.raises(InputError, match="expected approved_by= with a reason, got a reason alone"):
        History.open(full).append(C, reason="better")
    assert len(History.open(full)) == 2


def test_a_history_never_grows_beyond_what_can_be_read(
    full: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = full.read_bytes()
    monkeypatch.setattr(history_module, "MAX_FILE_BYTES", len(before) + 100)
    with pytest.raises(HistoryError, match="got more with this entry; start a new one"):
        History.open(full).append(C)
    assert full.read_bytes() == before
    monkeypatch.undo()
    History.open(full).append(C, on="2024-01-31")
    grown = full.read_bytes()
    for limit, fits in ((len(grown) - 1, False), (len(grown), True)):
        full.write_bytes(before)
        monkeypatch.setattr(history_module, "MAX_FILE_BYTES", limit)
        if fits:
            History.open(full).append(C, on="2024-01-31")
            assert full.read_bytes() == grown
        else:
            with pytest.raises(HistoryError, match="got more with this entry"):
                History.open(full).append(C, on="2024-01-31")


def test_a_device_is_no_history(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for place in (tmp_path / "pipe", Path("/dev/zero")):
        with pytest.raises(HistoryError, match="expected a readable history file, got a pipe or a"):
            History.open(place)


def test_trees_without_any_space_cannot_be_compared(path: Path) -> None:
    bare = A.replace(space=None, label=A.label)
    history = History.open(path)
    history.append(bare)
    with pytest.raises(HistoryError, match="expected a feature space stored with the tree"):
        history.append(bare)


def test_a_tree_over_a_wider_space_is_compared_in_its_own(path: Path) -> None:
    """A new category that the first space does not know."""
    assert A.space is not None
    colours = (*(A.space.categories[3] or ()), "black")
    categories = (*A.space.categories[:3], colours, A.space.categories[4])
    wide: FeatureSpace = A.space.replace(categories=categories)
    root = build(Split(3, frozenset({0}), Leaf(0, 0.1), Leaf(1, 0.9)))
    tree = root.replace(space=wide, categories=categories, label=root.label)
    history = History.open(path)
    history.append(A)
    history.append(tree)
    assert 0 < history.versions.loc[2, "dissimilarity_to_first"] <= 1


# -- drawing ---------------------------------------------------------------------------------


def test_plot(full: Path) -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    history = History.open(full)
    history.append(C, scores={"auc": 0.8})
    history.reject(3, by="me")
    ax = history.plot(score="auc")
    first, before = ax.get_lines()
    assert first.get_xdata().tolist() == [1, 2, 3]
    expected = [0, 100 * dissimilarity(A, B), 100 * dissimilarity(A, C)]
    assert first.get_ydata().tolist() == pytest.approx(expected)
    assert len(before.get_xdata()) == 3
    assert [text.get_text() for text in ax.get_legend().get_texts()][-1] == "rejected"
    history.append(B, check=PlanCheck(False))
    texts = history.plot().get_legend().get_texts()
    assert [text.get_text() for text in texts][-2:] == ["rejected", "refused"]
    plt.close("all")
    with pytest.raises(HistoryError, match=r"expected a score among \['auc'\], got 'f1'"):
        history.plot(score="f1")
    with pytest.raises(HistoryError, match="expected at least one version to draw"):
        History.open(full.with_name("none.jsonl")).plot()
