"""Foreign values in messages: quoted, harmless and short."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from steadytree._text import cut, quoted, some_of


class Hostile:
    def __repr__(self) -> str:
        raise RuntimeError("no")


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("age", "'age'"),
        ("a" * 80, repr("a" * 80)),
        ("\x1b[31m\u202e\ud800", r"'\x1b[31m\u202e\ud800'"),
        ("a" * 1_000_000, repr("a" * 80) + "... (1,000,000 characters)"),
        (b"x" * 100, repr(b"x" * 80) + "... (100 bytes)"),
        (10**10, "10000000000"),
        (10**5000, "a whole number of about 5,001 digits"),
        (1.5, "1.5"),
        (None, "None"),
        (["a", 1], "['a', 1]"),
        ({"a": 1}, "a dict of 1 entries"),
        ([["a"] * 7], "[a list of 7 entries]"),
        (tuple(range(100_000)), "(0, 1, 2, 3, 4, 5, 6, 7 and 99,992 more)"),
        (Hostile(), "a Hostile"),
    ],
    ids=map(str, range(14)),  # pytest cannot name some of these
)
def test_values_as_messages_show_them(value: Any, words: str) -> None:
    assert quoted(value) == words


def test_nothing_makes_a_long_message() -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep, "x" * 1000]
    for value in (deep, np.zeros(10**6), ["x" * 10_000] * 10_000, {"a" * 10**6: deep}, range(10)):
        assert len(quoted(value)) < 1500


def test_some_of_a_list() -> None:
    assert some_of(["a", "b"]) == "'a', 'b'"
    assert some_of([]) == ""
    assert some_of(range(12), most=2) == "0, 1 and 10 more"
    assert cut("abc", 3) == "abc"
    assert cut("abcd", 3) == "abc... (4 characters)"
