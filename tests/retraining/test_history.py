"""A history tells every version and decision, and loses none of them."""

from __future__ import annotations

import os
import resource
import stat
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from steadytree.distance import tree_distance
from steadytree.exceptions import HistoryError, InputError, WriteError
from steadytree.retraining import history as history_module
from steadytree.retraining.history import History, _decide_alike
from steadytree.tree.json import save_tree
from steadytree.tree.tree import Tree
from tests.diff.trees import Leaf, Split, build
from tests.retraining.histories import A, B, C, PlanCheck, result_of
from tests.wording import refuses, said


def seen(folder: Path) -> list[str]:
    """Files that are no locks, which stay."""
    return sorted(name for name in os.listdir(folder) if not name.endswith(".lock"))


def dissimilarity(a: Tree, b: Tree) -> float:
    return tree_distance(a, b, variant="metric", normalize="relative")


def test_a_life(path: Path) -> None:
    history = History(path)
    assert len(history) == 0
    assert history.current is None
    assert history.versions.empty
    assert not path.exists()

    first = history.append(A, scores={"auc": 0.8}, on="2023-01-31")
    history.approve(first, by="Dr Adams", reason="first", on="2023-01-31")
    assert (first, history.current) == (1, 1)
    assert repr(history) == f"History({str(path)!r}, 1 versions, current: 1)"
    second = history.append(B, scores={"auc": 0.82}, note="data of\n2024", on=date(2024, 1, 31))
    assert history.versions["status"][second] == "proposed"
    assert history.current == 1
    history.reject(second, by="Dr Ünal", reason="too many flips", on="2024-02-01T10:00:00")
    third = history.append(C, on=datetime(2024, 3, 1, tzinfo=UTC))
    history.approve(third, by="Dr Adams", reason="better", on="2024-03-02")

    again = History(path)
    assert again.current == 3
    assert (again.tree(), again.tree(1)) == (C, A)
    frame = again.versions
    assert frame.index.tolist() == [1, 2, 3]
    assert frame["status"].tolist() == ["approved", "rejected", "approved"]
    assert frame["current"].tolist() == [False, False, True]
    assert frame["decided_by"].tolist() == ["Dr Adams", "Dr Ünal", "Dr Adams"]
    assert frame["reason"].tolist() == ["first", "too many flips", "better"]
    assert frame["date"].tolist() == ["2023-01-31", "2024-01-31", "2024-03-01T00:00:00+00:00"]
    assert frame["decided_on"].tolist() == ["2023-01-31", "2024-02-01T10:00:00", "2024-03-02"]
    assert frame["note"].tolist() == ["", "data of\n2024", ""]
    assert frame["score_auc"].tolist()[:2] == [0.8, 0.82]
    # The rejected version was never in force: the third follows the first.
    assert frame["previous"].tolist()[1:] == [1, 1]
    apart = [dissimilarity(A, B), dissimilarity(A, C)]
    assert frame["dissimilarity_to_previous"].tolist()[1:] == pytest.approx(apart)
    assert frame["dissimilarity_to_first"].tolist()[1:] == pytest.approx(apart)
    assert again.versions.equals(history.versions)
    # Nobody gave a date: now, with its zone.
    history.append(A)
    assert datetime.fromisoformat(history.versions["date"][4]).tzinfo is not None


def test_roll_back_and_withdraw(path: Path) -> None:
    history, before = History(path), b""
    for tree in (A, B, C):
        history.approve(history.append(tree), by="me")
        assert path.read_bytes().startswith(before)  # nothing is rewritten
        before = path.read_bytes()
    last = history.versions.loc[3]
    assert last["dissimilarity_to_previous"] == pytest.approx(dissimilarity(B, C))
    assert last["dissimilarity_to_first"] == pytest.approx(dissimilarity(A, C))
    history.reject(3, by="me", reason="harm")
    assert history.current == 2
    history.approve(3, by="me", reason="false alarm")
    assert history.current == 3
    history.approve(1, by="me", reason="roll back")
    assert history.current == 1
    assert len(path.read_bytes().splitlines()) == 9


# -- what a plan refused, and what is kept ---------------------------------------------------


@pytest.mark.parametrize("brought", [True, False])
def test_what_its_plan_refused_is_recorded_and_cannot_be_approved(
    full: Path, brought: bool
) -> None:
    """It entered as proposed, and was approved."""
    history, check = History(full), PlanCheck(False)
    number = history.append(result_of(C, check)) if brought else history.append(C, check=check)
    assert history.check(number) == check.to_dict()
    assert history.check(1) is None
    row = history.versions.loc[number]
    assert row["status"] == "refused"
    assert row["reason"] == "changed decisions 9 %, at most 3 %: broken"
    before = full.read_bytes()
    for decide in (history.approve, history.reject):
        with refuses(HistoryError, "history: decision about a refused version"):
            decide(number, by="Dr Adams")
    assert full.read_bytes() == before
    assert history.current == 1
    assert history.verify().ok


def test_what_was_refused_comes_back_only_with_a_check(full: Path) -> None:
    """Not by the door beside: the bare tree, which brings no check along."""
    history = History(full)
    history.append(result_of(C, PlanCheck(False)))
    before = full.read_bytes()
    with refuses(HistoryError, "history: refused tree again without a check"):
        history.append(C)
    assert full.read_bytes() == before
    history.append(result_of(C, PlanCheck(False)))
    history.append(result_of(C, PlanCheck(True)))
    assert history.versions["status"].tolist()[2:] == ["refused", "refused", "proposed"]


def test_of_two_checks_the_one_that_does_not_hold_is_recorded(full: Path) -> None:
    history, held, broken = History(full), PlanCheck(True), PlanCheck(False)
    number = history.append(result_of(C, held))
    assert history.check(number) == held.to_dict()
    assert history.versions["status"][number] == "proposed"
    # A second plan, of the board, refuses it all the same.
    for again in (
        history.append(C, check=broken),
        history.append(result_of(C, held), check=broken),
        history.append(result_of(C, broken), check=held),
    ):
        assert history.versions["status"][again] == "refused"
        assert history.check(again) == broken.to_dict()
    # A plan that asked nothing checked nothing.
    assert history.check(history.append(result_of(B, held, clauses=()))) is None
    history.approve(number, by="Dr Adams")
    assert history.current == number
    with refuses(InputError, "history: check of another type"):
        history.append(B, check=True)


def test_a_retraining_that_keeps_records_the_tree_that_its_plan_refused(full: Path) -> None:
    history = History(full)
    with pytest.raises(HistoryError, match="other than the one in force"):
        history.append(result_of(A, PlanCheck(False), "keep", refused=A))
    number = history.append(result_of(A, PlanCheck(False), "keep", refused=C))
    assert history.tree(number) == C
    row = history.versions.loc[number]
    assert (row["status"], row["score_auc"]) == ("refused", 0.9)


def test_a_refused_tree_is_nobodys_yardstick(path: Path) -> None:
    history = History(path)
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
    history, before = History(full), full.read_bytes()
    again = A.replace(metadata={"trained": "again"}, label=A.label)
    for same in (A, again, result_of(again, None, "re-estimate")):
        for check in (None, PlanCheck(True), PlanCheck(False)):
            with refuses(HistoryError, "history: tree in force again"):
                history.append(same, check=check)
    assert full.read_bytes() == before
    number = history.append(result_of(again, None, "keep"), note="nothing new in 2025")
    assert (number, history.versions["status"][3], history.current) == (3, "kept", 1)
    assert history.versions.loc[number, "dissimilarity_to_previous"] == 0
    # The board may confirm it.
    history.approve(number, by="Dr Adams", reason="as proposed")
    assert history.versions["reason"][[1, 3]].tolist() == ["", "as proposed"]
    assert history.current == number
    # What is in force is another tree: then it is a proposal like others.
    history.approve(2, by="Dr Adams")
    number = history.append(result_of(A, None, "keep"))
    assert history.versions["status"][number] == "proposed"


def with_categories(*colours: str, left: set[int], **changes: Any) -> Tree:
    root = build(Split(3, frozenset(left), Leaf(0, 0.1), Leaf(1, 0.9)))
    categories = (*root.categories[:3], colours, root.categories[4])
    return root.replace(space=None, categories=categories, label=root.label, **changes)


def test_trees_are_told_apart_by_what_they_decide() -> None:
    assert _decide_alike(A, A.replace(metadata={"by": "me"}, label=A.label))
    assert _decide_alike(A, A.replace(space=None, label=A.label, weight=2 * A.weight))
    for changed in (
        B,
        A.replace(value=A.value[:, ::-1], label=A.label),
        A.replace(value=0.99 * A.value + 0.005, label=A.label),
        A.replace(label=A.label[[0, 2, 1]]),
        A.replace(missing_left=~A.missing_left, label=A.label),
        A.replace(feature_names=tuple("abcde"), space=None, label=A.label),
        build(Leaf(0, 0.5)),
    ):
        assert not _decide_alike(A, changed)
        assert not _decide_alike(changed, A)
    # Categories are compared by name, and one that a tree does not know goes where such go.
    tree = with_categories("red", "green", left={0})
    assert _decide_alike(tree, with_categories("green", "red", left={1}))
    assert not _decide_alike(tree, with_categories("green", "red", left={0}))
    for unknown_left in (False, True):
        missing_left = [unknown_left, False, False]
        two = with_categories("red", "green", left={0}, missing_left=missing_left)
        for blue in (set(), {2}):
            three = with_categories(
                "red", "green", "blue", left={0} | blue, missing_left=missing_left
            )
            alike = bool(blue) == unknown_left
            assert _decide_alike(two, three) == _decide_alike(three, two) == alike


# -- what is taken ---------------------------------------------------------------------------


def test_a_tree_file_a_model_and_a_retraining_can_be_appended(path: Path, cancer: Any) -> None:
    _, _, first, result = cancer
    save_tree(first.to_tree(), path.with_name("a.json"))
    history = History(path)
    history.append(path.with_name("a.json"))
    history.append(first)
    history.append(result, scores={"brier": 0.1})
    assert history.tree(1).feature_names == history.tree(2).feature_names
    assert history.tree(3) == (result.refused or result.tree)
    row, scored = history.versions.loc[3], result.frontier.loc[result.chosen]
    assert row["score_auc"] == scored["score"]
    assert row["score_auc_change"] == scored["score_change"]
    assert (row["score_flips"], row["score_brier"]) == (scored["flips"], 0.1)


@pytest.mark.parametrize(
    ("entry", "name"),
    [
        ({"scores": 0.8}, "scores without names"),
        ({"scores": {"auc": float("nan")}}, "score that is not finite"),
        ({"scores": {"auc": "0.8"}}, "score that is text"),
        ({"scores": {"auc": True}}, "score that is true"),
        ({"scores": {3: 0.8}}, "score named by a number"),
        ({"note": 3}, "note"),
        ({"note": "half \ud83d"}, "half a character"),
        ({"on": "yesterday"}, "date in words"),
        ({"on": 20240131}, "date as a number"),
        ({"on": pd.NaT}, "date missing"),
    ],
)
def test_what_nobody_could_answer_for_is_refused(
    path: Path, entry: dict[str, Any], name: str
) -> None:
    with refuses(InputError, f"history: {name}"):
        History(path).append(A, **entry)
    assert seen(path.parent) == []


@pytest.mark.parametrize("by", [None, "", " \t", "\u200b", 7, b"me", ["me"], "...", True])
def test_nobody_decides_without_a_name(full: Path, by: Any) -> None:
    history, before = History(full), full.read_bytes()
    for decide in (history.approve, history.reject):
        with pytest.raises(InputError, match="expected the name of who decides, got"):
            decide(2, by=by)
    assert full.read_bytes() == before
    history.approve(2, by="می\u200cخواهم")


@pytest.mark.parametrize("number", ["1", None, 1.0, True, [1], 0, -1, 7, 10**30])
def test_versions_are_named_by_their_number(full: Path, number: Any) -> None:
    history = History(full)
    with pytest.raises(HistoryError, match=r"expected a version among \[1, 2\], got"):
        history.approve(number, by="me")
    if number is not None:
        with pytest.raises(HistoryError, match=r"expected a version among \[1, 2\], got"):
            history.tree(number)


def test_trees_that_cannot_be_compared(path: Path) -> None:
    history = History(path)
    with refuses(HistoryError, "history: no version in force"):
        history.tree()
    history.append(A)
    other = A.replace(feature_names=tuple("abcde"), space=None, label=A.label)
    with pytest.raises(HistoryError, match=r"compare the tree with version 1 in, got: .*'a'"):
        history.append(other)
    bare = History(path.with_name("bare.jsonl"))
    bare.append(other)
    with pytest.raises(HistoryError, match="got: none stored with either; append as_tree"):
        bare.append(other)


# -- the file: several writers, links, rights, full disks ------------------------------------


def test_open_histories_see_each_other(path: Path) -> None:
    one, two = History(path), History(path)
    assert one.append(A) == 1
    assert two.append(B) == 2
    one.approve(2, by="me")
    other = os.fork()
    if other == 0:
        History(path).append(A)
        os._exit(0)
    os.waitpid(other, 0)
    assert two.append(C) == 4
    assert [History(path).tree(n) for n in (1, 2, 3, 4)] == [A, B, A, C]
    assert History(path).versions["previous"].tolist()[1:] == [1, 2, 2]


def test_lines_that_we_knew_and_that_are_gone_are_not_written_over(path: Path) -> None:
    ours = History(path)
    ours.append(A)
    ours.append(B)
    path.write_bytes(path.read_bytes().splitlines(keepends=True)[0])
    with pytest.raises(HistoryError, match="expected the lines that were there"):
        ours.append(C)
    path.unlink()
    with pytest.raises(HistoryError, match="expected the lines that were there"):
        ours.approve(1, by="me")
    assert not path.exists()


def test_a_link_leads_to_the_same_history(path: Path, tmp_path: Path) -> None:
    link = tmp_path / "elsewhere" / "link.jsonl"
    link.parent.mkdir()
    link.symlink_to(path)
    assert History(link).append(A) == 1
    path.chmod(0o600)
    direct, linked = History(path), History(link)
    assert linked.append(B) == 2
    assert direct.append(C) == 3
    assert linked.append(A) == 4
    assert link.is_symlink()
    assert History(path).head == linked.head == History(link).head
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert seen(link.parent) == ["link.jsonl"]
    assert seen(tmp_path) == ["elsewhere", "history.jsonl"]


def test_places_that_hold_no_history(path: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to("loop")
    for place in (tmp_path, tmp_path / "pipe", tmp_path / "loop", Path("/dev/zero")):
        with pytest.raises(HistoryError, match="expected a"):
            len(History(place))
        with pytest.raises(HistoryError, match="expected a"):
            History(place).verify()
    with pytest.raises(HistoryError, match="expected a"):
        History(path).verify()
    with pytest.raises(InputError, match="expected a place that can be written"):
        History(tmp_path / "nowhere" / "h.jsonl").append(A)


def test_a_file_that_cannot_grow_is_left_alone(full: Path, monkeypatch: Any) -> None:
    before = full.read_bytes()
    monkeypatch.setattr(history_module, "MAX_FILE_BYTES", len(before) + 100)
    with pytest.raises(HistoryError, match="got more with this entry; start a new one"):
        History(full).append(C)
    monkeypatch.undo()
    full.chmod(0o444)
    with pytest.raises(InputError, match="expected a file that may be written, got a read-only"):
        History(full).append(C)
    full.chmod(0o644)
    child = os.fork()
    if child == 0:
        code = 0
        try:
            resource.setrlimit(resource.RLIMIT_FSIZE, (len(before), len(before)))
            History(full).append(C)
        except WriteError as error:
            code = 7 if "make room" in str(error) else 8
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert full.read_bytes() == before
    assert seen(full.parent) == [full.name]
    said(History(full).verify(), "history: three lines")
