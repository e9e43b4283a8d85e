"""test_words"""

from __future__ import annotations

import math
import unicodedata
from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as hs

from steadytree.tree.decision import Decision
from steadytree.tree.observed import Observed
from steadytree.tree.printing import (
    INK,
    OKABE_ITO,
    PAIR_COLOURS,
    LeafNumbers,
    branch_texts,
    reaching_values,
    shown_class,
    split_condition,
    tint,
    tree_text,
)
from steadytree.tree.tree import Tree
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
from tests.golden import build
from tests.report.samples import mixed_diff
from tests.strategies import Kind, random_space, random_tree


@given(hs.text(max_size=60))
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


@given(hs.text(max_size=80), hs.integers(2, 40))
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


@given(hs.floats(allow_nan=False))
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


@given(hs.sets(hs.integers(0, 5), min_size=1, max_size=5), hs.booleans())
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


@given(hs.integers(0, 3000), hs.integers(1, 3000), hs.sampled_from([None, 0, 1, 2]))
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


# -- test_tree_words --------------------------------------------------------------


def test_branches_say_where_missing_values_go() -> None:
    tree = mixed_diff().old

    def words(node: int, left: bool) -> list[str]:
        condition = split_condition(tree, node, left=left)
        return [condition.words(style) for style in (PLAIN, PAGE_BRANCH, FIGURE_BRANCH)]

    assert words(0, True) == ["colour is red or blue", "is red or blue", "red or blue"]
    assert words(0, False) == [
        "colour is green or black or missing",
        "is green, black or missing",
        "green, black or missing",
    ]
    assert words(1, True) == ["age <= 40 or missing", "≤ 40 or missing", "≤ 40 or missing"]
    assert words(1, False) == ["age > 40", "> 40", "> 40"]
    assert words(2, True) == ["share <= 0.1", "≤ 0.1", "≤ 0.1"]
    # Node 5 asks only whether the age is missing, which goes left with everything else.
    assert words(5, True) == ["any age", "has any value, or none", "present or missing"]
    assert words(5, False) == [
        "age: nobody comes this way",
        "(nobody comes this way)",
        "nobody",
    ]


def test_the_listing_says_where_missing_values_go() -> None:
    tree = mixed_diff().old
    lines = [line.lstrip("| -").partition(": ")[0] for line in tree_text(tree).splitlines()]
    assert "age <= 40 or missing" in lines
    assert "colour is green or black or missing" in lines
    # Without a space nothing is known of missing values.
    assert "or missing" not in tree_text(tree.replace(space=None))


def test_a_tree_as_text() -> None:
    categories = (None, ("red", "green", "blue"))
    named: dict[str, Any] = {"categories": categories, "feature_names": ("age", "colour")}
    tree = build((0, 50.0, (1, (0, 2), "no", "yes"), (0, math.inf, "no", "yes", False)), **named)
    assert str(tree).splitlines() == [
        "|-- age <= 50",
        "|   |-- colour is red or blue: no (predicts yes 0.0 %)",
        "|   |-- colour is green: yes (predicts yes 100.0 %)",
        "|-- age > 50",
        "|   |-- age is not missing: no (predicts yes 0.0 %)",
        "|   |-- age is missing: yes (predicts yes 100.0 %)",
    ]
    assert tree_text(build("no"), shares=False) == "always: no"
    three = build((0, 0.5, "a", "c"), classes=("a", "b", "c"))
    assert "x0 > 0.5: c (predicts c 100.0 %)" in str(three)
    assert str(build((0, 0.5, 1.25, -3.0), classes=None)).splitlines() == [
        "|-- x0 <= 0.5: 1.25",
        "|-- x0 > 0.5: -3",
    ]


def test_what_was_sent_elsewhere_above_is_not_named_below() -> None:
    colours = ("red", "green", "blue", "black")
    tree = build(
        (0, (0, 1, 2), (0, (0,), "no", "yes", False), "yes", False),
        n_features=1,
        categories=(colours,),
        feature_names=("colour",),
    )
    space = mixed_diff().space.replace(
        lower=[0], upper=[0], categories=(colours,), can_be_missing=[True], names=("colour",)
    )
    assert tree_text(tree.replace(space=space), shares=False).splitlines() == [
        "|-- colour is red, green or blue",
        "|   |-- colour is red: no",
        "|   |-- colour is green or blue: yes",
        "|-- colour is black or missing: yes",
    ]


@given(hs.integers(0, 2**32))
def test_a_branch_names_the_categories_that_take_it(seed: int) -> None:
    rng = Random(seed)
    space = random_space(rng, Kind(), 2)
    tree = random_tree(rng, space, Kind(), max_leaves=8)
    reach = reaching_values(
        tree.children_left.tolist(),
        tree.children_right.tolist(),
        tree.feature.tolist(),
        tree.left_categories,
        tree.missing_left.tolist(),
        tree.unseen_left.tolist(),
        tree.categories,
    )
    for node, (codes, missing, unseen) in reach.items():
        j = int(tree.feature[node])
        values = [math.nan, *range(len(space.categories[j] or ()))]
        comes = dict.fromkeys(values, True)
        child = node
        while (above := int(tree.parent[child])) >= 0:
            if int(tree.feature[above]) == j:
                left = tree.goes_left(np.full(len(values), above), np.array(values, dtype=float))
                takes = left == (int(tree.children_left[above]) == child)
                for value, passes in zip(values, takes.tolist(), strict=True):
                    comes[value] = comes[value] and passes
            child = above
        assert missing == comes[values[0]]
        assert unseen == missing or tree.tells_unseen_from_missing
        if codes is not None:
            assert list(codes) == [v for v in values[1:] if comes[v]]


def two_leaves(**fields: Any) -> Tree:
    """A tree with one split at 0.5, and what it observed: 12 of 43 and 30 of 31."""
    counts = np.array([[32.0, 42.0], [31.0, 12.0], [1.0, 30.0]])
    return build(
        (0, 0.5, "no", "yes"),
        n_features=1,
        value=[[32 / 74, 42 / 74], [0.727, 0.273], [0.05, 0.95]],
        label=[1, 0, 1],
        observed=Observed.plain(counts, counts, classifier=True),
        **fields,
    )


def test_a_leaf_says_what_it_predicts_and_what_was_observed() -> None:
    tree = two_leaves()
    assert tree_text(tree).splitlines() == [
        "|-- x0 <= 0.5: no (predicts yes 27.3 %; observed 12 of 43)",
        "|-- x0 > 0.5: yes (predicts yes 95.0 %; observed 30 of 31)",
    ]
    assert LeafNumbers.of(tree, 1).words(PAGE) == "no (predicts yes 27.3\u202f%; observed 12 of 43)"
    # The share shown is that of the class that is decided on from a threshold.
    other = two_leaves(decision=Decision(threshold=0.5, positive="no"))
    assert shown_class(other, 1) == 0
    assert LeafNumbers.of(other, 1).words() == "no (predicts no 72.7 %; observed 31 of 43)"


def test_old_rows_that_count_less_are_counted_beside_the_new_ones() -> None:
    counts = np.array([[[8.0, 92.0], [31.0, 12.0]]])
    seen = Observed(counts, counts, np.array([[0.5, 0.5]]), np.array([10.0]), old_share=0.05)
    tree = build("no", value=seen.predicted(), label=[0], observed=seen)
    assert LeafNumbers.of(tree, 0).words() == (
        "no (predicts yes 37.2 %; observed 12 of 43 new and 92 of 100 old rows)"
    )
    alike = Observed(counts, counts, np.array([[0.5, 0.5]]), np.array([10.0]))
    assert "observed 104 of 143" in tree_text(tree.replace(observed=alike))


def test_a_mean_says_in_how_many_rows_it_was_observed() -> None:
    sums = np.array([[43.0, 43 * 11.875]])
    seen = Observed.plain(sums, sums, classifier=False)
    tree = build(12.25, classes=None, observed=seen)
    assert tree_text(tree) == "always: 12.25 (observed 11.88 in 43 rows)"
    assert tree_text(tree.replace(observed=None)) == "always: 12.25"
    empty = Observed.plain(np.zeros((1, 2)), np.zeros((1, 2)), classifier=False)
    assert tree_text(tree.replace(observed=empty)) == "always: 12.25 (observed 0 rows)"


def test_a_branch_that_nobody_takes_says_so() -> None:
    tree = build((0, math.inf, "no", "yes", False), n_features=1)
    assert branch_texts(tree) == {0: ("x0 is not missing", "x0 is missing")}
    nowhere = build((0, 0.5, "no", (0, math.inf, "no", "yes", True), True), n_features=1)
    assert "x0: nobody comes this way: yes" in tree_text(nowhere, shares=False)


# -- colours stay apart, and dark text can be read on their tints -----------------


def test_tints_lie_between_the_colour_and_white() -> None:
    assert tint("#000000", 1.0) == "#000000"
    assert tint("#0072B2", 0.0) == "#FFFFFF"
    assert len(set(OKABE_ITO.values())) == 8


def test_ink_can_be_read_on_every_tint() -> None:
    """The contrast that the web's rules for accessible text ask for at their strictest: 7."""
    for colour in PAIR_COLOURS:
        assert (luminance(tint(colour)) + 0.05) / (luminance(INK) + 0.05) > 7


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return sum(w * p for w, p in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
