"""Text out of files, made harmless: shown in full, acted upon by nobody, read back as it was."""

from __future__ import annotations

import csv
import io
import json
import unicodedata
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as hs

from steadytree._text import (
    cut,
    harmless,
    harmless_cell,
    harmless_json,
    harmless_words,
    one_line,
    original_cell,
    quoted,
    some_of,
)

ANYTHING = hs.text(hs.characters(codec=None, categories=None))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[2Jgone", r"\x1b[2Jgone"),
        ("\x1b]8;;http://x\x07link", r"\x1b]8;;http://x\x07link"),
        ("\x1b]52;c;aGk=\x1b\\", "\\x1b]52;c;aGk=\\x1b\\"),
        ("\x9b31m", r"\x9b31m"),
        ("10\r99", r"10\r99"),
        ("a\u202eb", r"a\u202eb"),
        ("a\u200bb\ufeff", r"a\u200bb\ufeff"),
        ("half \udcff", r"half \udcff"),
        ("tag \U000e0041", r"tag \U000e0041"),
        ("::error::no", r"\x3a:error::no"),
        ("  ::add-mask::x", r"  \x3a:add-mask::x"),
        ("x\n::set-output name=a::b", "x\n" + r"\x3a:set-output name=a::b"),
        ("##vso[task.setvariable]x", r"#\x23vso[task.setvariable]x"),
        ("see ##[error]", r"see #\x23[error]"),
        ("##teamcity[message]", r"#\x23teamcity[message]"),
        ("lone \u2068 mark", r"lone \u2068 mark"),
        ("a \u2069\u2068 b", r"a \u2069\u2068 b"),
        # What is ours, or nobody's harm, stays.
        ("a tab\tand\nlines", "a tab\tand\nlines"),
        ("R² ≤ 5 % – 年龄 👩\u200d👩 ‘x’", "R² ≤ 5 % – 年龄 👩\u200d👩 ‘x’"),
        ("age \u2068גיל\u2069 <= 5", "age \u2068גיל\u2069 <= 5"),
        ("## heading, std::vector, C:\\new", "## heading, std::vector, C:\\new"),
    ],
)
def test_what_acts_is_shown(text: str, shown: str) -> None:
    assert harmless(text) == shown
    assert harmless(shown) == shown


@given(ANYTHING)
def test_nothing_acts_whatever_the_text(text: str) -> None:
    for line in harmless(text).split("\n"):
        assert not line.lstrip().startswith("::")
        for character in line:
            kind = unicodedata.category(character)
            assert kind not in ("Cc", "Cs", "Zl", "Zp") or character == "\t"
            assert unicodedata.bidirectional(character) not in ("LRE", "RLE", "LRO", "RLO", "PDF")
        assert line.count("\u2068") == line.count("\u2069")
        line.encode("utf-8")
    assert "\n" not in one_line(text)
    assert harmless(harmless(text)) == harmless(text)


@given(ANYTHING, hs.booleans())
def test_json_holds_the_true_text(text: str, ascii_only: bool) -> None:
    written = harmless_json({text: [text]}, ascii_only=ascii_only)
    assert json.loads(written) == {text: [text]}
    assert harmless(written) == written
    assert not ascii_only or written.isascii()
    written.encode("utf-8")


@given(ANYTHING)
def test_cells_begin_like_no_formula_and_are_read_back(text: str) -> None:
    cell = harmless_cell(text)
    assert not cell.startswith(("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠"))
    assert original_cell(cell) == text


@pytest.mark.parametrize("value", [-1.5, -2, 0, None, True, "plain", "1-2", ""])
def test_numbers_and_plain_text_stay_as_they_are(value: object) -> None:
    assert harmless_cell(value) is value
    assert original_cell(value) is value


def test_a_cell_survives_a_real_csv() -> None:
    texts = ["=cmd|' /C calc'!A0", "-1+2", "@SUM(1)", "'quoted'", "\tx", "a,b", 'a"b', "x"]
    buffer = io.StringIO()
    csv.writer(buffer).writerow(map(harmless_cell, texts))
    buffer.seek(0)
    (row,) = csv.reader(buffer)
    assert [original_cell(cell) for cell in row] == texts
    assert row[0] == "'=cmd|' /C calc'!A0"


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        ("=cmd|' /C calc'!A0 <= 5", "'=cmd|' /C calc'!A0 <= 5"),
        ("-cmd|' /C calc'!A0 <= 5", "'-cmd|' /C calc'!A0 <= 5"),
        ("-5 < age <= 3", "-5 < age <= 3"),
        ("-.5", "-.5"),
        ("age <= 3", "age <= 3"),
    ],
)
def test_rules_may_begin_below_zero(words: str, shown: str) -> None:
    assert harmless_words(words) == shown


# -- foreign values in messages: quoted, harmless and short -----------------------


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
