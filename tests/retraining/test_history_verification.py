"""What was changed, moved, inserted or taken out is noticed, and named."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from steadytree.exceptions import HistoryError
from steadytree.retraining.history import History
from steadytree.retraining.history_chain import seal, verify_history
from tests.retraining.histories import C, contents, seal_again, six_lines, without_digests, write


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return six_lines(tmp_path / "history.jsonl")


def test_an_intact_history(path: Path) -> None:
    check = History.open(path).verify()
    assert check
    assert (check.ok, check.lines, check.line, check.kind) == (True, 6, None, None)
    assert str(check) == "6 lines, all chained"
    assert check.head == History.open(path).head


@pytest.mark.parametrize(
    ("at", "change"),
    [
        (1, {"by": "Dr Evil"}),
        (3, {"reason": "worse"}),
        (5, {"status": "approved"}),
        (5, {"number": 2}),
        (2, {"date": "2020-01-31"}),
        (2, {"scores": {"auc": 0.99}}),
        (0, {"note": ""}),
        (4, {"previous": 1}),
        (4, {"dissimilarity_to_first": 0.0}),
        (0, {"extra": 1}),
    ],
)
def test_an_edited_entry_is_noticed(path: Path, at: int, change: dict[str, Any]) -> None:
    lines = contents(path)
    write(path, [*lines[:at], lines[at] | change, *lines[at + 1 :]])
    check = verify_history(path)
    assert (check.ok, check.kind, check.line) == (False, "changed", at + 1)
    assert "was changed after it was written" in check.message
    assert check.head is None
    with pytest.raises(HistoryError, match=f"line {at + 1}: "):
        History.open(path)


def test_an_edited_threshold_is_noticed(path: Path) -> None:
    lines = contents(path)
    lines[2]["tree"]["nodes"]["threshold"][0] += 1.0
    write(path, lines)
    assert verify_history(path).line == 3
    assert verify_history(path).kind == "changed"


@pytest.mark.parametrize(
    ("order", "line", "words"),
    [
        ([0, 2, 3, 4, 5], 2, "follows a line that is not there: lines were removed"),
        ([1, 2, 3, 4, 5], 1, "follows a line that is not there: lines were removed"),
        ([0, 1, 2, 4, 5], 4, "follows a line that is not there: lines were removed"),
        ([0, 1, 3, 2, 4, 5], 3, "follows line 4: lines were inserted, repeated or moved"),
        ([0, 1, 2, 2, 3, 4, 5], 4, "follows line 2: lines were inserted, repeated or moved"),
        ([0, 1, 2, 3, 4, 5, 1], 7, "follows line 1: lines were inserted, repeated or moved"),
        ([1, 0, 2, 3, 4, 5], 1, "follows line 2: lines were inserted, repeated or moved"),
        ([0, 1, 2, 0], 4, "got the first line of a chain: lines were inserted before it"),
    ],
)
def test_lines_removed_moved_or_repeated_are_noticed(
    path: Path, order: list[int], line: int, words: str
) -> None:
    lines = contents(path)
    write(path, [lines[i] for i in order])
    check = verify_history(path)
    assert (check.ok, check.kind, check.line) == (False, "out of place", line)
    assert words in check.message


def test_a_line_without_digests_is_noticed(path: Path) -> None:
    lines = contents(path)
    write(path, [*lines, without_digests(lines[5], status="approved")])
    check = verify_history(path)
    assert (check.kind, check.line) == ("not chained", 7)
    assert "one without its digests: they were stripped, or it was inserted" in check.message


@pytest.mark.parametrize(("version", "kind"), [(1, "damaged"), (2, "not chained")])
@pytest.mark.parametrize("forged", [{}, {"by": "Dr Evil"}])
def test_a_history_stripped_of_its_digests_is_no_history(
    path: Path, version: int, kind: str, forged: dict[str, str]
) -> None:
    """It passed when lines of an earlier format without digests were read."""
    write(path, [without_digests(line, version=version) | forged for line in contents(path)])
    check = verify_history(path)
    assert (check.ok, check.kind, check.line) == (False, kind, 1)
    with pytest.raises(HistoryError, match="line 1: expected a line"):
        History.open(path)


@pytest.mark.parametrize("name", ["before", "digest"])
def test_every_line_carries_both_digests(path: Path, name: str) -> None:
    lines = contents(path)
    lines[-1].pop(name)
    write(path, lines)
    assert (verify_history(path).kind, verify_history(path).line) == ("not chained", 6)


def test_a_chain_around_nonsense_is_no_history(path: Path) -> None:
    lines = contents(path)
    lines.append(seal(lines[5] | {"number": 9}, lines[5]["digest"]))
    write(path, lines)
    check = verify_history(path)
    assert (check.kind, check.line) == ("inconsistent", 7)
    assert "expected a decision about an earlier version, got 9" in check.message


# -- the head ----------------------------------------------------------------------------------


def test_a_removed_last_line_shows_against_the_head_alone(path: Path) -> None:
    history = History.open(path)
    head = history.head
    write(path, contents(path)[:-1])
    assert history.verify().ok
    check = history.verify(head=head)
    assert (check.ok, check.kind) == (False, "head missing")
    assert f"the head {head} is not in the chain: lines were removed or rewritten" in check.message
    path.write_bytes(b"")
    assert verify_history(path).ok
    assert not verify_history(path, head).ok


def test_a_history_that_grew_since_the_head(path: Path) -> None:
    history = History.open(path)
    head = history.head
    assert head is not None
    assert history.verify(head=head).message == "6 lines, all chained; as the head says"
    history.append(C)
    words = "7 lines, all chained; grown by 1 line since the head"
    assert history.verify(head=head).message == words
    history.approve(4, by="me")
    for given in (head, head[:16], head.upper(), f" {head}\n"):
        check = history.verify(head=given)
        assert check.ok
        assert check.grown_by == 2
        assert "grown by 2 lines since the head" in check.message
    assert history.verify(head=contents(path)[0]["digest"]).grown_by == 7


def test_a_history_rewritten_with_a_sound_chain_shows_against_the_head(path: Path) -> None:
    history = History.open(path)
    head, lines = history.head, contents(path)
    lines[1]["by"] = "Dr Evil"
    write(path, seal_again(lines))
    assert verify_history(path).ok
    assert verify_history(path, head).kind == "head missing"


@pytest.mark.parametrize("head", ["", "abc", "f" * 15, "x" * 64])
def test_a_head_that_is_none(path: Path, head: str) -> None:
    check = verify_history(path, head)
    assert (check.ok, check.kind) == (False, "no head")
    assert "expected a digest of 16 to 64 hexadecimal digits as the head, got" in check.message


# -- files that are none -----------------------------------------------------------------------


def test_files_that_are_no_histories(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to("loop")
    for name in ("none", "pipe", "loop", ".", "nul\0byte"):
        check = verify_history(tmp_path / name)
        assert (check.ok, check.kind) == (False, "unreadable")
        assert check.message.startswith("expected a")
    (tmp_path / "bytes").write_bytes(bytes(range(256)))
    assert verify_history(tmp_path / "bytes").kind == "damaged"
    (tmp_path / "empty").touch()
    assert verify_history(tmp_path / "empty").message == "no line yet"
    (tmp_path / "json").write_text(json.dumps({"a": 1}))
    assert verify_history(tmp_path / "json").line == 1
