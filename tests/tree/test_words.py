from __future__ import annotations

import unicodedata
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steadytree.tree.words import (
    FIGURE_BRANCH,
    PAGE,
    PAGE_BRANCH,
    PLAIN,
    Condition,
    clean,
    display_width,
    isolate,
    listed,
    rounded_share,
    shorten,
    shown_bound,
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


@given(st.text(max_size=80), st.integers(2, 40))
def test_shortened_text_fits_and_says_so(text: str, room: int) -> None:
    short = shorten(text, room)
    assert display_width(short) <= room
    assert "\u202e" not in short
    if display_width(" ".join(text.split())) > room:
        assert short.endswith("…")


def test_short_text_stays_and_long_text_is_cut() -> None:
    assert shorten("age", 5) == "age"
    assert shorten("worst concave points", 8) == "worst c…"
    assert shorten("脈拍数と血圧", 7) == "脈拍数…"


def test_conditions_in_words() -> None:
    assert Condition(0, "age", lower=30, upper=50).words(PAGE) == "30 < age ≤ 50"
    assert Condition(0, "age", lower=-2.5).words(PAGE) == "age > −2.5"
    assert Condition(0, "age", upper=50, missing=True).words(PAGE) == "age ≤ 50 or missing"
    assert Condition(0, "age", missing=False).words(PAGE) == "age is not missing"
    assert Condition(0, "age", present=False).words(PAGE) == "age is missing"
    colours = ("red", "green", "blue", "black")
    three = Condition(0, "colour", allowed=("red", "blue", "black"), n_categories=4)
    assert three.words(PAGE) == "colour is red, blue or black"
    assert three.words(PAGE, colours) == "colour is anything but green"
    two = Condition(0, "colour", allowed=("red", "blue"), n_categories=4, missing=True)
    assert two.words(PAGE, colours) == "colour is red, blue or missing"


def test_numbers_in_words() -> None:
    assert PAGE.percent(0.043) == "4.3\u202f%"
    assert PAGE.percent(0.43) == "43\u202f%"
    assert PAGE.percent(0.0) == "0\u202f%"
    assert PAGE.percent(None) == "–"
    assert PAGE.percent(0.004, 0) == "<\u202f1\u202f%"
    assert PAGE.signed(0.0123) == "+0.012"
    assert PAGE.signed(-0.0001) == "0.000"
    assert PAGE.fixed(-0.5, 1) == "−0.5"
    assert PAGE.significant(1234.5678) == "1230"
    assert PAGE.significant(float("nan")) == "–"
    assert listed(["a", "b", "c"], "and") == "a, b and c"
    assert PLAIN.signed(-0.0001) == "-0.000"
    assert PLAIN.percent(0.5, 1) == "50.0 %"
    assert FIGURE_BRANCH.percent(0.123, 0) == "12\u202f%"
    assert listed(["a"]) == "a"
    assert listed(["a", "b", 3], "and") == "a, b and 3"


def below(value: float, kind: Any = np.float64) -> float:
    return float(np.nextafter(kind(value), kind(-np.inf)))


@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_what_lies_just_below_a_number_is_said_to_be_below_it(kind: Any) -> None:
    def words(low: float, high: float, style: Any = PLAIN) -> str:
        return Condition(0, "x", low, high).words(style)

    for value, text in ((110, "110"), (106.05, "106.05"), (0, "0"), (-2.5, "-2.5")):
        at = below(value, kind)
        assert words(-np.inf, at) == f"x < {text}"
        assert words(at, np.inf) == f"x >= {text}"
        assert words(at, 200.0) == f"{text} <= x <= 200"
        assert words(-200.0, at) == f"-200 < x < {text}"
        assert words(-np.inf, float(kind(value))) == f"x <= {text}"
        assert words(below(at, kind), np.inf) == f"x > {PLAIN.number(below(at, kind))}"
    assert words(below(3, kind), below(4, kind), PAGE) == "3 ≤ x < 4"
    assert words(below(3, kind), np.inf, PAGE_BRANCH) == "≥ 3"
    assert words(-np.inf, below(3, kind), FIGURE_BRANCH) == "< 3"


@given(st.floats(allow_nan=False))
def test_the_number_shown_is_on_the_side_that_is_said(value: float) -> None:
    shown, under = shown_bound(value)
    assert under == (shown != value)
    if under:
        assert float(f"{shown:.6g}") == shown
        assert shown > value
        assert PLAIN.number(shown) != "-0"


def test_names_are_never_read_as_phrases() -> None:
    braces = Condition(0, "{name} {0}", upper=1.0)
    assert str(braces) == "{name} {0} <= 1"
    assert braces.words(PAGE) == "{name} {0} ≤ 1"


GRADES = ("I", "II", "III", "IV")


def test_ordered_categories_are_said_in_order() -> None:
    def words(*inside: int, **options: Any) -> str:
        condition = Condition.of_categories(0, "stage", GRADES, inside, None, ordered=True)
        return replace(condition, **options).words(PLAIN)

    assert words(0, 1) == "stage up to II"
    assert words(2, 3) == "stage from III up"
    assert words(1, 2) == "stage from II to III"
    assert words(0) == "stage is I"
    assert words(0, 3) == "stage is I or IV"  # no cut along the order
    assert words(0, 1, 2, 3, missing=False) == "stage is not missing"
    assert words(0, 1, missing=True) == "stage up to II or missing"
    side = Condition.of_categories(0, "stage", GRADES, (1, 2, 3), None, ordered=True)
    assert side.words(PAGE, GRADES) == "stage from II up"
    assert side.words(PAGE_BRANCH) == "from II up"
    assert side.words(FIGURE_BRANCH) == "from II up"
    assert not side.needs_brackets
    assert replace(side, missing=True).needs_brackets


@given(st.sets(st.integers(0, 5), min_size=1, max_size=5), st.booleans())
def test_a_condition_on_an_order_can_be_read_back(codes: set[int], missing: bool) -> None:
    """Every set of categories has words of its own, from which it can be told again."""
    names = [f"c{code}" for code in range(6)]
    text = str(Condition.of_categories(0, "x", names, codes, missing, ordered=True))
    assert text.endswith(" or missing") == missing
    text = text.removesuffix(" or missing").removeprefix("x ")
    if text.startswith("is "):
        read = {int(word[1:]) for word in text[3:].replace(" or ", ", ").split(", ")}
    elif text.startswith("up to "):
        read = set(range(int(text[-1]) + 1))
    elif text.endswith(" up"):
        read = set(range(int(text[6]), 6))
    else:
        read = set(range(int(text[6]), int(text[-1]) + 1))
    assert read == codes


@given(st.integers(0, 3000), st.integers(1, 3000), st.sampled_from([None, 0, 1, 2]))
def test_only_nobody_reads_0_per_cent_and_only_everybody_100(
    count: int, total: int, digits: int | None
) -> None:
    share = min(count, total) / total
    for style in (PLAIN, PAGE, FIGURE_BRANCH):
        text = style.percent(share, digits).replace("\u202f", " ").removesuffix(" %")
        if text[0] in "<>":
            bound = float(text[2:])
            assert 100 * share < bound if text[0] == "<" else 100 * share > bound
        else:
            assert (float(text) == 0) == (share == 0)
            assert (float(text) == 100) == (share == 1)
            assert float(text) == pytest.approx(100 * share, abs=0.5)


@pytest.mark.parametrize(
    ("share", "digits", "text"),
    [
        (54 / 56, None, "96 %"),
        (0.997, None, "99.7 %"),
        (0.99999, None, "> 99.9 %"),
        (0.997, 0, "> 99 %"),
        (0.0004, 1, "< 0.1 %"),
        (1 - 1e-12, 1, "100.0 %"),  # a sum of weights
        (1e-12, 0, "0 %"),
    ],
)
def test_shares_near_the_ends(share: float, digits: int | None, text: str) -> None:
    assert PLAIN.percent(share, digits) == text


@pytest.mark.parametrize(
    ("share", "short"), [(0.12345, 0.123), (0.9996, 0.9996), (0.0004, 0.0004), (1.0, 1.0), (0, 0)]
)
def test_a_rounded_share_is_0_or_1_only_if_it_is(share: float, short: float) -> None:
    assert rounded_share(share, 3) == short
