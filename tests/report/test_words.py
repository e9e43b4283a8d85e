from __future__ import annotations

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from steadytree.core.words import Condition
from steadytree.report.words import (
    clean,
    condition_words,
    fixed,
    isolate,
    listed,
    percent,
    signed,
    significant,
)


@given(st.text(max_size=60))
def test_clean_names_are_one_line_without_control_or_steering_characters(text: str) -> None:
    name = clean(text)
    assert name
    assert len(name.splitlines()) == 1
    assert all(unicodedata.category(c) not in ("Cc", "Cs") for c in name)
    assert not set(name) & {"\u202a", "\u202b", "\u202c", "\u202d", "\u202e", "\u2066", "\u2069"}


def test_right_to_left_names_are_isolated_and_others_left_alone() -> None:
    assert isolate("age") == "age"
    assert isolate("ضغط") == "\u2068ضغط\u2069"
    assert clean("a\u202etxt.exe\n\tb") == "atxt.exe b"
    assert clean("  ") == "(blank)"


def test_conditions_in_words() -> None:
    assert condition_words(Condition(0, "age", lower=30, upper=50)) == "30 < age ≤ 50"
    assert condition_words(Condition(0, "age", lower=-2.5)) == "age > −2.5"
    assert condition_words(Condition(0, "age", upper=50, missing=True)) == "age ≤ 50 or missing"
    assert condition_words(Condition(0, "age", missing=False)) == "age is not missing"
    assert condition_words(Condition(0, "age", present=False)) == "age is missing"
    colours = ("red", "green", "blue", "black")
    three = Condition(0, "colour", allowed=("red", "blue", "black"), n_categories=4)
    assert condition_words(three) == "colour is red, blue or black"
    assert condition_words(three, colours) == "colour is anything but green"
    two = Condition(0, "colour", allowed=("red", "blue"), n_categories=4, missing=True)
    assert condition_words(two, colours) == "colour is red, blue or missing"


def test_numbers_in_words() -> None:
    assert percent(0.043) == "4.3\u202f%"
    assert percent(0.43) == "43\u202f%"
    assert percent(0.0) == "0\u202f%"
    assert percent(None) == "–"
    assert percent(0.004, 0) == "<\u202f1\u202f%"
    assert signed(0.0123) == "+0.012"
    assert signed(-0.0001) == "0.000"
    assert fixed(-0.5, 1) == "−0.5"
    assert significant(1234.5678) == "1230"
    assert significant(float("nan")) == "–"
    assert listed(["a", "b", "c"], "and") == "a, b and c"
