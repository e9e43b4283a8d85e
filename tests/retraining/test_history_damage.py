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
from steadytree.retraining.history_chain import digest_of, verify_history
from tests.retraining.histories import A, B, C


def test_a_file_cut_in_half_names_the_line_and_is_left_alone(full: Path) -> None:
    """Our own writer replaces the file in one step: a cut line may hold what was acknowledged."""
    whole = full.read_bytes()
    start = whole.rindex(b"\n", 0, len(whole) - 1) + 1
    full.write_bytes(whole[: start + 100])
    with pytest.raises(HistoryError) as caught:
        History.open(full)
    message = str(caught.value)
    assert "line 3: expected a whole line of JSON, got one cut off after 100 characters" in message
    assert "lines 1 to 2 are intact" in message
    assert "put a copy of the file back, or take out line 3 and all after it" in message
    assert caught.value.exit_code == 2
    assert verify_history(full).kind == "damaged"
    with pytest.raises(HistoryError, match="line 3"):
        History(full).append(C)
    assert full.read_bytes() == whole[: start + 100]
    # As the message says.
    full.write_bytes(b"".join(whole.splitlines(keepends=True)[:2]))
    assert History.open(full).append(B) == 2
    assert History.open(full).verify().ok


@given(cut=st.data())
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_wherever_it_is_cut_whole_lines_are_read_or_the_line_is_named(
    full: Path, cut: st.DataObject
) -> None:
    kept = full.with_name("kept")
    if not kept.exists():
        kept.write_bytes(full.read_bytes())
    whole = kept.read_bytes()
    ends = [at for at, byte in enumerate(whole) if byte == ord("\n")]
    at = cut.draw(st.integers(0, len(whole)) | st.sampled_from(ends))
    full.write_bytes(whole[:at])
    lines = sum(end <= at for end in ends)  # without its end a line is whole as well
    if (lines and at - ends[lines - 1] > 1) or (not lines and at):
        with pytest.raises(HistoryError, match=f"line {lines + 1}:"):
            History.open(full)
        return
    history = History.open(full)
    versions = lines - (lines >= 2)  # the second line is a decision
    assert len(history) == versions
    assert history.current == (1 if lines >= 2 else None)
    assert history.append(C) == versions + 1


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
        (edited(0, version=9), "expected version 2, got 9: the file may come from a newer"),
        (edited(0, version=True), "expected version 2, got True"),
        (edited(0, version=1), "expected version 2, got 1"),
        (sealed_again(1, event="dance"), "expected the event version or decision, .*'dance'"),
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
    assert "put a copy of the file back" in str(caught.value)
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
