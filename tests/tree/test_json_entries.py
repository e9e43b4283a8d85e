"""Entries of a stranger's JSON, each of the kind it should be."""

from __future__ import annotations

import math
from typing import Any

import pytest

from steadytree.exceptions import TreeFormatError
from steadytree.tree.nested import JsonObject, as_list, as_number, kind_of, read_scalars


def test_entries_of_every_kind() -> None:
    top = JsonObject(
        {"a": {"b": [{"c": 1.5}]}, "n": 3, "z": None, "f": [1, "inf"], "t": [True]}, ""
    )
    assert top.part("a").parts("b")[0].number("c") == 1.5
    assert top.whole("n", 4) == 3
    assert top.get("z", str, optional=True) is None
    assert top.floats("f") == [1.0, math.inf]
    assert top.bools("t") == [True]
    assert top.ints("n", [1, 2]) == [1, 2]


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda top: top.get("q", int), "top.q: expected an entry, got none"),
        (lambda top: top.part("n"), "top.n: expected an object, got a whole number"),
        (lambda top: top.parts("l"), r"top.l\[0\]: expected an object, got null"),
        (lambda top: top.number("big"), "top.big: expected a finite number, got inf"),
        (lambda top: top.number("flag"), "top.flag: expected a number, got a flag"),
        (lambda top: top.whole("n", 3), r"top.n: expected a number in \[0, 3\), got 3"),
        (lambda top: top.floats("l"), r"top.l\[0\]: expected a number, .* got None"),
        (lambda top: top.ints("l", [2**31]), r"top.l\[0\]: expected a whole number below"),
        (lambda top: top.bools("l"), r"top.l\[0\]: expected true or false"),
    ],
)
def test_errors_say_where(ask: Any, message: str) -> None:
    top = JsonObject({"n": 3, "l": [None], "big": math.inf, "flag": True}, "top.")
    with pytest.raises(TreeFormatError, match=message):
        ask(top)


def test_lists_numbers_and_scalars() -> None:
    assert as_list([1], "x") == [1]
    with pytest.raises(TreeFormatError, match="x: expected a list, got text"):
        as_list("1", "x")
    assert as_number("-inf") == -math.inf
    with pytest.raises(TreeFormatError, match="file: expected an object, got a list"):
        JsonObject([], "")
    assert read_scalars(["a", 1, True, {"float": "inf"}], "c") == ["a", 1, True, math.inf]
    for wrong in ({"float": []}, {"float": "x"}, None, {}):
        with pytest.raises(TreeFormatError, match=r"c\[0\]: expected text or a number"):
            read_scalars([wrong], "c")
    assert kind_of(None) == "null"
