"""Parse Universal Binary JSON, in which XGBoost saves models, with bounds on everything.

A count in a file is a claim. Nothing is made before the bytes for it are seen to be there, and
nesting ends at ``MAX_NESTING``; so time and memory are bounded by the size of the file.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from steadytree._text import quoted
from steadytree.exceptions import TreeFormatError

__all__ = ["MAX_NESTING", "parse_ubjson"]

MAX_NESTING = 64
"""Levels of lists in lists; XGBoost's files have eight."""

_NUMBERS = {
    b"i": ">i1",
    b"U": ">u1",
    b"I": ">i2",
    b"l": ">i4",
    b"L": ">i8",
    b"d": ">f4",
    b"D": ">f8",
}
_FORMATS = {b"i": ">b", b"U": ">B", b"I": ">h", b"l": ">i", b"L": ">q", b"d": ">f", b"D": ">d"}
_WORDS: dict[bytes, Any] = {b"Z": None, b"T": True, b"F": False}


def parse_ubjson(content: bytes) -> Any:
    """Return what the bytes say: dictionaries, lists, arrays of numbers, text and numbers."""
    parser = _Parser(content)
    value = parser.value(parser.take(1), 0)
    if parser.at != len(content):
        raise parser.error("the end of the file", "more bytes")
    return value


class _Parser:
    """A place in the bytes, and what can be read from there."""

    def __init__(self, content: bytes) -> None:
        self.content = content
        self.at = 0

    def error(self, expected: str, got: str) -> TreeFormatError:
        return TreeFormatError(f"expected {expected} at byte {self.at}, got {got}")

    def take(self, n: int) -> bytes:
        if not 0 <= n <= len(self.content) - self.at:
            raise self.error(f"{n} bytes", f"the last {len(self.content) - self.at}")
        self.at += n
        return self.content[self.at - n : self.at]

    def marker(self) -> bytes:
        """Return the next marker; the filler between values says nothing."""
        mark = self.take(1)
        while mark == b"N":
            mark = self.take(1)
        return mark

    def count(self, mark: bytes) -> int:
        number = self.number(mark) if mark in b"iUIlL" else -1
        if not 0 <= number <= len(self.content) - self.at:
            raise self.error("a count of what is there", f"{quoted(number)} after {quoted(mark)}")
        return int(number)

    def number(self, mark: bytes) -> int | float:
        form = _FORMATS[mark]
        (number,) = struct.unpack(form, self.take(struct.calcsize(form)))
        return number  # type: ignore[no-any-return]

    def text(self, length_mark: bytes) -> str:
        raw = self.take(self.count(length_mark))
        try:
            return raw.decode("utf-8")
        except UnicodeDecodeError:
            raise self.error("text in UTF-8", "other bytes") from None

    def value(self, mark: bytes, nesting: int) -> Any:
        if mark in _FORMATS:
            return self.number(mark)
        if mark in _WORDS:
            return _WORDS[mark]
        if mark == b"S":
            return self.text(self.take(1))
        if mark == b"C":
            return self.take(1).decode("latin-1")
        if mark not in (b"[", b"{"):
            raise self.error("a value", f"the marker {quoted(mark)}")
        if nesting >= MAX_NESTING:
            raise self.error(f"at most {MAX_NESTING} levels", "a deeper one")
        return self.array(nesting) if mark == b"[" else self.mapping(nesting)

    def array(self, nesting: int) -> Any:
        mark = self.marker()
        if mark == b"$":
            kind = self.take(1)
            if kind not in _NUMBERS or self.take(1) != b"#":
                raise self.error("an array of numbers with a count", f"the type {quoted(kind)}")
            dtype = np.dtype(_NUMBERS[kind])
            raw = self.take(self.count(self.take(1)) * dtype.itemsize)
            return np.frombuffer(raw, dtype=dtype).astype(dtype.newbyteorder("="))
        if mark == b"#":
            n = self.count(self.take(1))
            return [self.value(self.marker(), nesting + 1) for _ in range(n)]
        found = []
        while mark != b"]":
            found.append(self.value(mark, nesting + 1))
            mark = self.marker()
        return found

    def mapping(self, nesting: int) -> dict[str, Any]:
        mark = self.marker()
        if mark in (b"$", b"#"):
            raise self.error("a mapping that ends with a brace", "one with a count")
        found = {}
        while mark != b"}":
            key = self.text(mark)
            found[key] = self.value(self.marker(), nesting + 1)
            mark = self.marker()
        return found
