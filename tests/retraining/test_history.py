"""A history only grows, loses nothing, and says what is wrong with a damaged file."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from steadytree.core.format import save_tree
from steadytree.core.space import FeatureSpace
from steadytree.core.tree import Tree
from steadytree.distance import tree_distance
from steadytree.exceptions import HistoryError, InputError
from steadytree.retraining import history as history_module
from steadytree.retraining.history import History
from steadytree.retraining.history_chain import digest_of
from tests.diff.trees import Leaf, Split, build

STUMP = Split(0, 0.5, Leaf(0, 0.1), Leaf(1, 0.9))
A, B, C = (build(replace(STUMP, at=t)) for t in (0.5, 0.6, 0.9))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "history.jsonl"


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
    import pandas as pd

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


# -- two writers ---------------------------------------------------------------------------


def test_two_open_histories_see_each_other(path: Path) -> None:
    one, two = History.open(path), History.open(path)
    assert one.append(A) == 1
    assert two.append(B) == 2
    one.approve(2, by="me")
    assert two.append(C) == 3
    assert History.open(path).versions["previous"].tolist()[1:] == [1, 2]


def test_what_another_appends_after_we_opened_is_not_taken_for_read(path: Path) -> None:
    History.open(path).append(A)
    ours = History.open(path)
    other = os.fork()
    if other == 0:
        History.open(path).append(B)
        os._exit(0)
    os.waitpid(other, 0)
    assert ours.append(C) == 3
    assert [History.open(path).tree(n) for n in (1, 2, 3)] == [A, B, C]


def test_what_changes_while_an_entry_is_made_is_taken_in(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a writer that does not know our lock, as an editor or an earlier version."""
    History.open(path).append(A)
    before = path.read_bytes()
    History.open(path).append(B)
    grown = path.read_bytes()
    path.write_bytes(before)
    ours = History.open(path)
    measured = history_module.tree_distance

    def meanwhile(*trees: Any, **options: Any) -> Any:
        path.write_bytes(grown)
        return measured(*trees, **options)

    monkeypatch.setattr(history_module, "tree_distance", meanwhile)
    assert ours.append(C) == 3
    assert [History.open(path).tree(n) for n in (1, 2, 3)] == [A, B, C]


def test_lines_that_we_knew_and_that_are_gone_are_not_written_over(path: Path) -> None:
    ours = History.open(path)
    ours.append(A)
    ours.append(B)
    path.write_bytes(path.read_bytes().splitlines(keepends=True)[0])
    with pytest.raises(HistoryError, match="expected the lines that were there when it was opened"):
        ours.append(C)
    path.unlink()
    with pytest.raises(HistoryError, match="open it again"):
        ours.approve(1, by="me")
    assert not path.exists()


def test_a_link_leads_to_the_same_history(path: Path, tmp_path: Path) -> None:
    History.open(path).append(A)
    path.chmod(0o600)
    link = tmp_path / "elsewhere" / "link.jsonl"
    link.parent.mkdir()
    link.symlink_to(path)
    direct, linked = History.open(path), History.open(link)
    assert linked.append(B) == 2
    assert direct.append(C) == 3
    assert linked.append(A) == 4
    assert link.is_symlink()
    assert History.open(path).head == linked.head == History.open(link).head
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert os.listdir(link.parent) == ["link.jsonl"]
    assert sorted(os.listdir(tmp_path)) == ["elsewhere", "history.jsonl"]


def test_a_new_history_behind_a_link(path: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.jsonl"
    link.symlink_to(path)
    assert History.open(link).append(A) == 1
    assert History.open(path).append(B) == 2
    loop = tmp_path / "loop.jsonl"
    loop.symlink_to(loop)
    with pytest.raises(HistoryError, match="got Too many levels of symbolic links"):
        History.open(loop)


def test_a_read_only_history_is_refused_before_the_work(full: Path) -> None:
    full.chmod(0o444)
    history, before = History.open(full), full.read_bytes()
    for write in (
        lambda: history.append(C),
        lambda: history.approve(2, by="me"),
        lambda: History.recover(full),
    ):
        with pytest.raises(
            InputError, match="expected a file that may be written, got a read-only"
        ):
            write()
    assert full.read_bytes() == before
    assert os.listdir(full.parent) == [full.name]


def test_what_is_refused_leaves_no_file(path: Path) -> None:
    history = History.open(path)
    with pytest.raises(InputError):
        history.append(A, scores={"auc": None})  # type: ignore[dict-item]
    with pytest.raises(HistoryError):
        history.approve(1, by="me")
    assert os.listdir(path.parent) == []


def test_processes_that_append_at_once_lose_nothing(path: Path, tmp_path: Path) -> None:
    save_tree(A, tmp_path / "a.json")
    code = (
        "import sys; from steadytree.retraining.history import History\n"
        "h = History.open(sys.argv[1])\n"
        "for _ in range(5): h.append(sys.argv[2], note=sys.argv[3])\n"
    )
    running = [
        subprocess.Popen([sys.executable, "-c", code, str(path), str(tmp_path / "a.json"), who])
        for who in ("one", "two")
    ]
    assert [process.wait() for process in running] == [0, 0]
    notes = History.open(path).versions["note"].tolist()
    assert sorted(notes) == ["one"] * 5 + ["two"] * 5


# -- damage ----------------------------------------------------------------------------------


@pytest.fixture
def full(path: Path) -> Path:
    history = History.open(path)
    history.append(A, approved_by="me")
    history.append(B)
    return path


def test_a_file_cut_in_half_names_the_line_and_recovers(full: Path) -> None:
    whole = full.read_bytes()
    start = whole.rindex(b"\n", 0, len(whole) - 1) + 1
    full.write_bytes(whole[: start + 100])
    with pytest.raises(HistoryError) as caught:
        History.open(full)
    message = str(caught.value)
    assert "line 3: expected a whole line of JSON, got one cut off after 100 characters" in message
    assert "lines 1 to 2 are intact" in message
    assert "History.recover(" in message
    assert caught.value.exit_code == 2
    # Nothing is written to a damaged file.
    with pytest.raises(HistoryError, match="line 3"):
        History(full).append(C)
    assert full.read_bytes() == whole[: start + 100]

    recovered = History.recover(full)
    assert recovered.current == 1
    assert len(recovered) == 1
    assert full.with_name("history.jsonl.damaged").read_bytes() == whole[: start + 100]
    assert recovered.append(B) == 2
    # A second accident does not overwrite the first copy.
    full.write_bytes(full.read_bytes()[:-20])
    History.recover(full)
    assert full.with_name("history.jsonl.damaged-2").exists()


@given(cut=st.data())
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_wherever_it_is_cut_whole_lines_survive(full: Path, cut: st.DataObject) -> None:
    kept = full.with_name("kept")
    if not kept.exists():
        kept.write_bytes(full.read_bytes())
    whole = kept.read_bytes()
    at = cut.draw(st.integers(0, len(whole)))
    full.write_bytes(whole[:at])
    lines = [n for n in range(1, 4) if at >= len(b"\n".join(whole.split(b"\n")[:n]))]
    survivors = len([n for n in lines if n != 2])  # the second line is a decision
    if sum(len(line) + 1 for line in whole.split(b"\n")[: len(lines)]) < at:
        with pytest.raises(HistoryError, match=f"line {len(lines) + 1}:"):
            History.open(full)
    history = History.recover(full)
    assert len(history) == survivors
    assert history.current == (1 if len(lines) >= 2 else None)
    assert history.append(C) == survivors + 1
    for copy in full.parent.glob("*.damaged*"):
        copy.unlink()


def test_recovering_a_sound_file_changes_nothing(full: Path) -> None:
    before = full.read_bytes()
    history = History.recover(full)
    assert len(history) == 2
    assert not history.recovered
    assert full.read_bytes() == before
    assert list(full.parent.iterdir()) == [full]


def edited(line: int, **changes: Any) -> Any:
    def edit(lines: list[str]) -> list[str]:
        content = json.loads(lines[line]) | changes
        return [*lines[:line], json.dumps(content), *lines[line + 1 :]]

    return edit


def sealed_again(line: int, **changes: Any) -> Any:
    """Edit a line and give it the digest that belongs to it: a forger, or a fault of ours."""

    def edit(lines: list[str]) -> list[str]:
        content = json.loads(lines[line]) | changes
        content["digest"] = digest_of(content, content["before"])
        return [*lines[:line], json.dumps(content)]

    return edit


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda lines: [lines[0][:50], *lines[1:]], "line 1: .* a damaged one .*none is before it"),
        (lambda lines: [lines[0], "[1]", lines[2]], r"line 2: .*\(expected an object\)"),
        (lambda lines: [lines[0], lines[0]], "line 2: .*got the first line of a chain"),
        (lambda lines: lines[1:], "line 1: .*follows a line that is not there: lines were removed"),
        (lambda lines: [lines[0], lines[2]], "line 2: .*follows a line that is not there"),
        (lambda lines: [*lines, lines[1]], "line 4: .*follows line 1: lines were inserted"),
        (lambda lines: [lines[0], lines[2], lines[1]], "line 2: .*got one that follows line 3"),
        (edited(1, by="Dr Evil"), "line 2: .*got one that was changed after it was written"),
        (edited(0, date="2020-01-01"), "line 1: .*got one that was changed"),
        (edited(0, format="other"), "expected format 'steadytree-history'"),
        (edited(0, version=9), "expected version 1 or 2, got 9: the file may come from a newer"),
        (edited(0, version=True), "expected version 1 or 2, got True"),
        (sealed_again(1, event="dance"), "expected the event version or decision or .*'dance'"),
        (sealed_again(1, event=["version"]), "expected the event version or decision"),
        (sealed_again(1, status="maybe"), "expected the status approved or rejected, got 'maybe'"),
        (sealed_again(1, number=2), "expected a decision about an earlier version, got 2"),
        (sealed_again(1, number=[1]), "expected a whole number from 1 as the version"),
        (sealed_again(2, number=7), "expected version 2, got 7"),
        (sealed_again(0, scores=3), "expected another kind of scores, got 3"),
        (sealed_again(0, scores={"auc": "high"}), "expected another kind of auc, got 'high'"),
        (sealed_again(0, tree={}), "line 1: .*format: expected an entry, got none"),
    ],
)
def test_damage_is_named_and_leaves_the_file_alone(full: Path, edit: Any, message: str) -> None:
    full.write_text("\n".join(edit(full.read_text().splitlines())) + "\n")
    before = full.read_bytes()
    with pytest.raises(HistoryError, match=message) as caught:
        History.open(full)
    assert "History.recover(" in str(caught.value)
    assert caught.value.exit_code == 2
    with pytest.raises(HistoryError):
        History(full).append(C)
    assert full.read_bytes() == before


def test_a_file_that_was_edited_can_be_looked_at_but_not_written_to(full: Path) -> None:
    text = full.read_text()
    full.write_text(text.replace('"by": "me"', '"by": "you"'))
    history = History.open(full, verify=False)
    assert history.versions["decided_by"].tolist()[0] == "you"
    with pytest.raises(HistoryError, match=r"line 2: .*changed after it was written"):
        history.append(C)
    full.write_text(text)
    assert history.append(C) == 3


def test_blank_lines_and_other_line_ends_are_no_damage(full: Path) -> None:
    head = History.open(full).head
    full.write_bytes(full.read_bytes().replace(b"\n", b"\r\n\r\n"))
    history = History.open(full)
    assert history.head == head
    assert history.append(C) == 3
    assert History.open(full).verify().ok


def test_the_head_is_the_digest_of_the_last_line(path: Path) -> None:
    history = History.open(path)
    assert history.head is None
    history.append(A, approved_by="me")
    assert history.head == json.loads(path.read_text().splitlines()[-1])["digest"]
    assert History.open(path).head == history.head
    assert history.verify(head=history.head).grown_by == 0


def test_a_lost_last_newline_is_no_damage(full: Path) -> None:
    full.write_bytes(full.read_bytes().rstrip(b"\n"))
    history = History.open(full)
    assert history.append(C) == 3
    assert len(History.open(full)) == 3


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
    plt.close("all")
    with pytest.raises(HistoryError, match=r"expected a score among \['auc'\], got 'f1'"):
        history.plot(score="f1")
    with pytest.raises(HistoryError, match="expected at least one version to draw"):
        History.open(full.with_name("none.jsonl")).plot()
