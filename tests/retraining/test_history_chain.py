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
from steadytree.retraining.history_chain import digest_of, is_head, read_lines, seal, to_bytes
from tests.retraining.histories import V1, six_lines


def audit(path: Path) -> str | None:
    """Recompute a chain with nothing but hashlib and json; return the head."""
    head = None
    for line in path.read_bytes().splitlines():
        content = json.loads(line)
        digest = content.pop("digest", None)
        assert content.setdefault("before", head) == head
        text = json.dumps(content, sort_keys=True, separators=(",", ":"))
        head = hashlib.sha256(text.encode()).hexdigest()
        assert digest in (head, None)
    return head


def test_an_auditor_needs_ten_lines(tmp_path: Path) -> None:
    path = six_lines(tmp_path / "new.jsonl")
    assert audit(path) == History.open(path).head
    path = tmp_path / "old.jsonl"
    path.write_bytes(V1.read_bytes())
    assert audit(path) == History.open(path).head
    History.open(path).approve(2, by="Dr Clark")
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
    assert line.intact
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
    assert not line.intact
    assert line.fault is not None
    assert words in line.fault.words


def test_heads_are_digests_or_the_beginning_of_one() -> None:
    assert is_head("0123456789abcdef")
    assert is_head(f" {'F' * 64}\n")
    assert not any(map(is_head, ["", "0123456789abcde", "f" * 65, "g" * 64, None, 7]))
