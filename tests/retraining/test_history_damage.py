"""A damaged file is named by its line and left alone; harmless changes are no damage."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from steadytree.exceptions import HistoryError
from steadytree.retraining.history import History
from steadytree.retraining.history_chain import digest_of
from tests.retraining.histories import A, B, C


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
    # A second and a third accident do not overwrite the first copy.
    for name in ("history.jsonl.damaged-2", "history.jsonl.damaged-3"):
        full.write_bytes(full.read_bytes()[:-20])
        damaged = full.read_bytes()
        History.recover(full)
        assert full.with_name(name).read_bytes() == damaged


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
