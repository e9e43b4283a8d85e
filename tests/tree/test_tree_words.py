from __future__ import annotations

import math
from random import Random
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from steadytree.tree.decision import Decision
from steadytree.tree.observed import Observed
from steadytree.tree.printing import (
    LeafNumbers,
    branch_texts,
    reaching_values,
    shown_class,
    split_condition,
    tree_text,
)
from steadytree.tree.tree import Tree
from steadytree.tree.words import FIGURE_BRANCH, PAGE, PAGE_BRANCH, PLAIN
from tests.golden import build
from tests.report.samples import mixed_diff
from tests.strategies import Kind, random_space, random_tree


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


@given(st.integers(0, 2**32))
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
