"""Digests that anybody can compute again, and lines that carry them."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steadytree.exceptions import InputError
from steadytree.retraining.history import History
from steadytree.retraining.history_chain import (
    CHANGED,
    MISPLACED,
    UNCHAINED,
    digest_of,
    first_fault,
    is_head,
    read_lines,
    seal,
    to_bytes,
)
from tests.retraining.histories import six_lines


def audit(path: Path) -> str | None:
    """Recompute a chain with nothing but hashlib and json; return the head."""
    head = None
    for line in path.read_bytes().splitlines():
        content = json.loads(line)
        digest = content.pop("digest")
        assert content["before"] == head
        text = json.dumps(content, sort_keys=True, separators=(",", ":"))
        head = hashlib.sha256(text.encode()).hexdigest()
        assert digest == head
    return head


def test_an_auditor_needs_ten_lines(tmp_path: Path) -> None:
    path = six_lines(tmp_path / "new.jsonl")
    assert audit(path) == History.open(path).head


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.floats(allow_nan=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(), VALUES, max_size=4), st.none() | st.just("0" * 64))
def test_what_is_sealed_is_read_as_intact(extra: dict[str, Any], before: str | None) -> None:
    try:
        content = seal({"event": "x", **extra}, before)
    except InputError:
        return  # infinite numbers and halves of characters are not written
    raw = to_bytes(content)
    (line,) = read_lines(raw)
    assert line.content == content
    assert line.digest == content["digest"] == digest_of(content, before)
    # Spaces and the order of keys carry no meaning.
    other = json.dumps(dict(reversed(content.items())), indent=None, separators=(" , ", " : "))
    (again,) = read_lines(other.encode())
    assert again.digest == line.digest
    assert again.fault == line.fault


def test_infinite_numbers_and_halves_of_characters_are_not_written() -> None:
    for value in (float("nan"), float("inf"), "\ud800", object(), {1, 2}):
        with pytest.raises(InputError, match="expected"):
            seal({"event": "x", "value": value}, None)
    deep: list[Any] = []
    for _ in range(5000):
        deep = [deep]
    with pytest.raises(InputError, match="nested too deeply"):
        seal({"event": "x", "value": deep}, None)


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b'{"format": "steadytree-history", "version": 2, "version": 2}', "'version' twice"),
        (b'{"format": "steadytree-history", "version": 2, "x": NaN}', "NaN"),
        (b'{"format": "steadytree-history", "version": 2, "x": "\xff"}', "UTF-8"),
        (b"[" * 100_000, "nested too deeply"),
        (b'"text"', "expected an object"),
    ],
)
def test_lines_of_strangers(raw: bytes, words: str) -> None:
    (line,) = read_lines(raw + b"\n")
    assert line.fault is not None
    assert words in line.fault.got


def test_heads_are_digests_or_the_beginning_of_one() -> None:
    assert is_head("0123456789abcdef")
    assert is_head(f" {'F' * 64}\n")
    assert not any(map(is_head, ["", "0123456789abcde", "f" * 65, "g" * 64, None, 7]))


def line_of(version: Any, **content: Any) -> bytes:
    return json.dumps({"format": "steadytree-history", "version": version, **content}).encode()


@pytest.mark.parametrize("version", [0, -1, 1, 3, 99, True, "2", 2.0, None])
def test_versions_that_are_not_ours(version: Any) -> None:
    (line,) = read_lines(line_of(version, event="x") + b"\n")
    assert line.content is None
    assert line.fault is not None
    assert "expected version 2, got" in line.fault.got


def test_every_line_is_held_against_its_digest() -> None:
    for raw, kind in (
        (line_of(2, event="x"), UNCHAINED),
        (line_of(2, event="x", before=None), UNCHAINED),
        (line_of(2, event="x", digest="0" * 64), UNCHAINED),
        (line_of(2, event="x", before=None, digest="0" * 64), CHANGED),
        (line_of(2, event="x", before=[1], digest=None), CHANGED),
    ):
        (line,) = read_lines(raw)
        assert line.fault is not None
        assert line.fault.kind == kind


def test_lines_that_are_read_later_go_on_counting() -> None:
    first = seal({"event": "x"}, None)
    second = seal({"event": "y"}, first["digest"])
    whole = list(read_lines(to_bytes(first) + to_bytes(second)))
    (one,) = read_lines(to_bytes(first))
    (two,) = read_lines(to_bytes(second), one)
    assert [line.number for line in whole] == [one.number, two.number] == [1, 2]
    assert two.fault is None
    (blank,) = read_lines(b"\n\n" + to_bytes(first))
    assert blank.number == 3  # as an editor shows it
    (cut,) = read_lines(to_bytes(second)[:20], one)
    assert cut.fault is not None
    assert cut.fault.expected == "a whole line of JSON"
    assert "cut off after 20 characters" in cut.fault.got


def test_where_a_sound_line_belongs() -> None:
    first = seal({"event": "x"}, None)
    second = seal({"event": "y"}, first["digest"])
    third = seal({"event": "z"}, second["digest"])
    stranger = seal({"event": "s"}, "0" * 64)

    def fault_of(*contents: dict[str, Any]) -> str:
        line, words = first_fault(list(read_lines(b"".join(map(to_bytes, contents)))))
        assert line is not None
        assert line.fault is not None
        assert line.fault.kind == MISPLACED
        assert f"line {len(contents)}: expected a line that follows the one before it" in words
        return words

    assert "got the first line of a chain: lines were inserted" in fault_of(first, second, first)
    assert "got one that follows a line that is not there" in fault_of(first, third)
    assert "got one that follows a line that is not there" in fault_of(first, stranger)
    assert "got one that follows line 1: lines were" in fault_of(first, second, third, second)
    listed = {**first, "before": [1]}
    listed["digest"] = digest_of(listed, [1])  # type: ignore[arg-type]
    assert "got one that follows a line that is not there" in fault_of(first, listed)


def test_a_line_is_plain_text_that_people_can_read() -> None:
    assert "Dr Ünal".encode() in to_bytes({"by": "Dr Ünal"})
    with pytest.raises(ValueError, match="Out of range float values"):
        to_bytes({"score": float("nan")})
