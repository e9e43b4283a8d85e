"""Rows that are not what the trees were made for are noticed, and only these."""

from __future__ import annotations

import re
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.tree import DecisionTreeClassifier

from steadytree.diff.comparison import compare
from steadytree.evaluation.plan_check import (
    changed_columns,
    changed_units,
    unknown_shares,
)
from steadytree.exceptions import OneDecisionWarning, SteadyTreeWarning
from steadytree.plugins import as_tree
from steadytree.tree.space import FeatureSpace
from steadytree.tree.tree import Tree
from tests.diff.trees import COLOURS, SPACE, Leaf, Split, build
from tests.growing.mixed import mixed_table


@pytest.fixture(scope="module")
def cancer_tree():
    """A tree of one half of the rows, the other half, and the feature of its first split."""
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    model = DecisionTreeClassifier(max_depth=3, min_samples_leaf=10, random_state=0)
    tree = as_tree(model.fit(X[::2], y[::2]), space=FeatureSpace.from_data(X[::2]))
    return tree, X[1::2].reset_index(drop=True), int(tree.feature[0])


def found(tree, X):
    coded = tree.space.encode(X)
    return changed_columns([tree], tree.space, coded)


def test_rows_of_the_same_kind_are_not_suspected(cancer_tree):
    tree, X, _ = cancer_tree
    assert found(tree, X) == {}
    assert found(tree, X[:5]) == {}
    assert found(tree, X[:0]) == {}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda v: v * np.nan, "is empty in these rows"),
        (lambda v: v.where(v.index % 3 == 0), "is missing in 67% of these rows and never was"),
        (lambda v: v * 1000, "other units?"),
        (lambda v: v / 1000, "other units?"),
        (lambda v: v * 0 + v.min(), "sends all of these rows to one side, where"),
        (lambda v: v * 0 - 999, "other units?|sends all of these rows to one side"),
        (lambda v: v * 3, "sends all of these rows to one side"),
    ],
)
def test_a_broken_column_is_noticed(cancer_tree, change, words):
    tree, X, j = cancer_tree
    name = X.columns[j]
    (at,), (said,) = zip(*found(tree, X.assign(**{name: change(X[name])})).items(), strict=True)
    assert at == j
    assert re.search(words.replace("?", r"\?"), said)


def test_a_column_that_no_tree_uses_may_be_anything(cancer_tree):
    tree, X, _ = cancer_tree
    unused = next(n for j, n in enumerate(X.columns) if j not in tree.used_features)
    assert found(tree, X.assign(**{unused: np.nan})) == {}


def test_real_drift_is_no_fault():
    """Sorted by a feature that the tree splits on, halves differ much and are both accepted."""
    X, y = load_wine(return_X_y=True, as_frame=True)
    order = X["proline"].argsort()
    X, y = X.iloc[order].reset_index(drop=True), y.iloc[order].reset_index(drop=True)
    rows = np.arange(len(X)) % 2 == 0
    model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X[rows], y[rows])
    tree = as_tree(model, space=FeatureSpace.from_data(X[rows]))
    assert found(tree, X[~rows]) == {}
    half = X[60:]  # without the third with the least of it
    assert found(tree, half) == {}


@pytest.mark.parametrize(
    ("stored", "words"),
    [(True, "has unknown categories in 100% of these"), (False, "sends all of these rows to one")],
)
def test_categories_under_other_names(stored, words):
    X, y = mixed_table(700, 0)
    X = X[["colour"]].copy()
    space = FeatureSpace.from_data(X, y)
    red = (X["colour"] == "red").to_numpy()
    tree = Tree(
        children_left=[1, -1, -1],
        children_right=[2, -1, -1],
        feature=[0, -1, -1],
        threshold=[np.nan] * 3,
        left_categories=((space.categories[0].index("red"),), None, None),
        value=[[0.5, 0.5], [1, 0], [0, 1]],
        weight=[len(X), red.sum(), (~red).sum()],
        classes=("no", "yes"),
        n_features=1,
        feature_names=("colour",),
        categories=space.categories,
        space=space.replace(classes=None) if stored else None,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert compare(tree, tree, X).changed_columns == {}
    copy = tree.replace(value=[[0.5, 0.5], [0.9, 0.1], [0, 1]])  # another tree, with the same rules
    codes = X["colour"].map({"red": 0, "green": 1, "blue": 2, "grey": 3})
    with (
        pytest.warns(SteadyTreeWarning, match=f"'colour' {words}"),
        pytest.warns(OneDecisionWarning, match='decides "yes" for all'),
    ):
        compared = compare(tree, copy, X.assign(colour=codes.astype(object)))
    assert set(compared.changed_columns) == {"colour"}
    assert not compared.check({"max_flips": 0.5}).held
    assert compared.check({"max_flips": 0.5, "accept": ["colour"]}).held
    assert compared.check({"max_dissimilarity": 0.5}).held  # not counted on rows


# -- by hand: "weight" runs from 0 to 200, "age" from 0 to 100 and may be missing ----------------

STUMP = Split(1, 0.5, Leaf(0, 0.1), Leaf(1, 0.9))
HEAVY, AGE, DOSE, COLOUR = 1, 0, 2, 3


def rows_with(feature: int, values: Any) -> np.ndarray:
    """Rows in which the other columns are what they always were."""
    values = np.asarray(values, dtype=float)
    coded = np.column_stack([np.linspace(5, 95, len(values))] * 5) / [1, 0.5, 100, 1, 1]
    coded[:, [3, 4]] = 0.0
    coded[:, feature] = values
    return coded


def units(values: Any, *, cut: float = 0.5, old: Any = None) -> str | None:
    """What is said about the weight, by a tree that cuts it at that share of its range."""
    before = None if old is None else rows_with(HEAVY, old)
    tree = build(replace(STUMP, at=cut))
    told = changed_units(SPACE, tree, rows_with(HEAVY, values), before, among=[HEAVY])
    assert set(told) <= {HEAVY}
    return told.get(HEAVY)


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ([2000] * 20, "runs to about 2,000; it ran to about 200: other units?"),
        ([-2000] * 20, "runs to about 2,000; it ran to about 200: other units?"),
        ([1e15] * 20, "runs to about 1e+15; it ran to about 200: other units?"),
        ([1990] * 20, None),
        ([2000] * 19, None),
        ([2000] * 20 + [np.nan] * 20, "runs to about 2,000; it ran to about 200: other units?"),
        ([2000] * 19 + [np.nan] * 20, None),
        # Five in a hundred are outliers, six in 119 are more than that.
        ([50] * 95 + [2000] * 5, None),
        ([50] * 113 + [2000] * 6, "runs to about 2,000; it ran to about 200: other units?"),
    ],
)
def test_ten_times_beyond_the_range_is_another_unit(values: list[float], told: str | None) -> None:
    assert units(values) == told


@pytest.mark.parametrize(
    ("values", "cut", "noticed"),
    [
        ([10, 20] * 10, 0.5, True),  # a tenth of 200, all on one side of 100
        ([10, 21] * 10, 0.5, False),
        ([10, 20] * 10, 0.1, True),  # the cut at 20: those on it go with those below
        ([10, 20] * 10, 0.05, False),  # the cut at 10 parts them
        ([11, 20] * 10, 0.05, True),
    ],
)
def test_below_a_tenth_on_one_side_of_every_cut_is_another_unit(
    values: list[float], cut: float, noticed: bool
) -> None:
    assert (units(values, cut=cut) is not None) == noticed


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ([5] * 20, [50] * 20, "runs to about 50; it ran to about 5: other units?"),
        ([50] * 20, [5, 105] * 10 + [5], "runs to about 100; it ran to about 50: other units?"),
        ([5] * 20, [49] * 20, None),
        ([5] * 19, [50] * 20, None),
        ([5] * 20 + [np.nan] * 9, [50] * 20, "runs to about 50; it ran to about 5: other units?"),
        # Zeros are the same in every unit, and may be most of the rows.
        ([5] * 20 + [0] * 30, [50] * 20 + [0] * 30, "runs to about 50; it ran to about 5: other"),
        ([5] * 20 + [0] * 30, [6] * 19 + [150] + [0] * 30, None),
        # Old rows in the same wrong unit do not excuse it.
        ([2000] * 20, [2000] * 20, "runs to about 2,000; it ran to about 200: other units?"),
    ],
)
def test_medians_that_differ_ten_times_are_another_unit(
    old: list[float], new: list[float], told: str | None
) -> None:
    said = units(new, old=old)
    assert said is None if told is None else str(said).startswith(told)


def test_columns_that_no_tree_uses_are_looked_at_for_units_where_asked() -> None:
    coded, tree = rows_with(DOSE, [10.0] * 20), build(STUMP)
    told = {DOSE: "runs to about 10; it ran to about 1: other units?"}
    assert changed_columns([tree], SPACE, coded) == {}
    assert changed_columns([tree], SPACE, coded, everywhere=True) == told
    assert changed_units(SPACE, tree, coded, None) == told


@pytest.mark.parametrize(
    ("feature", "gone", "told"),
    [
        (HEAVY, 20, "is empty in these rows"),
        (HEAVY, 11, "is missing in 55% of these rows and never was before"),
        (HEAVY, 10, None),
        (AGE, 11, None),  # it always could be
        (AGE, 20, "is empty in these rows"),
    ],
)
def test_a_column_that_is_missing_where_it_never_was(
    feature: int, gone: int, told: str | None
) -> None:
    values = np.linspace(5, 95, 20) * (2 if feature == HEAVY else 1)
    values[::-1][:gone] = np.nan
    tree = build(replace(STUMP, feature=feature, at=0.1))
    said = changed_columns([tree], SPACE, rows_with(feature, values))
    assert said == ({} if told is None else {feature: told})


@pytest.mark.parametrize(("share", "told"), [(0.5, None), (0.51, "51%")])
def test_more_than_half_unknown_categories_is_another_coding(
    share: float, told: str | None
) -> None:
    tree = build(Split(COLOUR, frozenset({0}), Leaf(0, 0.1), Leaf(1, 0.9)))
    coded = rows_with(COLOUR, [0, 1] * 10)
    said = changed_columns([tree], SPACE, coded, unknown={COLOUR: share})
    assert said == (
        {} if told is None else {COLOUR: f"has unknown categories in {told} of these rows"}
    )


def test_shares_of_unknown_categories_are_of_the_values_that_are_there() -> None:
    colours = ["red", "green", "pink", None, "grey", "red"]
    X = pd.DataFrame({"age": 1.0, "colour": colours, "site": pd.Series([None] * 6, dtype=object)})
    space = FeatureSpace(
        lower=np.zeros(4),
        upper=np.ones(4),
        categories=(None, COLOURS, ("arm", "leg"), ("yes", "no")),
        names=("age", "colour", "site", "smoker"),
    )
    coded = np.full((6, 4), np.nan)
    coded[:, 1] = [0, 1, np.nan, np.nan, np.nan, 0]
    # Numbers have no categories, nothing is known of a site, and there is no column of smokers.
    assert unknown_shares(X, space, coded, range(4)) == {1: 2 / 5}
    plain = np.column_stack([np.ones(6), np.array(colours, dtype=object)])
    assert unknown_shares(plain, space, coded, [0, 1]) == {1: 2 / 5}


def one_sided(root: Split, weight: list[float], coded: np.ndarray) -> dict[int, str]:
    tree = build(root)
    return changed_columns([tree.replace(weight=weight, label=tree.label)], SPACE, coded)


SIDE = "sends all of these rows to one side, where {} went to the other before"


@pytest.mark.parametrize(
    ("left", "right", "n", "told"),
    [
        (50, 50, 20, "50%"),  # a half: one in 2 ** 20 by chance, less than one in a million
        (50, 50, 19, None),
        (1, 9, 20, "90%"),
        (1, 9, 19, None),  # of so few rows nothing is said
        (80, 20, 20, None),  # 0.8 ** 20 is one in 87
        (80, 20, 62, "20%"),
        (95, 5, 1000, "5%"),
        (96, 4, 1000, None),  # a side that hardly anybody went to
    ],
)
def test_a_side_left_empty_is_noticed_where_chance_does_not_do_it(
    left: float, right: float, n: int, told: str | None
) -> None:
    coded = rows_with(HEAVY, np.linspace(30, 90, n))
    said = one_sided(STUMP, [left + right, left, right], coded)
    assert said == ({} if told is None else {HEAVY: SIDE.format(told)})


def test_splits_below_others_count_the_rows_that_come_to_them() -> None:
    below = Split(0, 0.5, Leaf(0, 0.1), Leaf(1, 0.9))
    root = Split(1, 0.5, below, replace(STUMP, at=0.75))
    coded = rows_with(HEAVY, np.linspace(30, 90, 40))
    weight = [100.0, 60, 30, 30, 40, 20, 20]
    # No row comes to the second split on the weight, which therefore says nothing.
    assert one_sided(root, weight, coded) == {HEAVY: SIDE.format("40%")}
    # The side that most went to is told: 20 % at the root, a half of those that come to the other.
    coded = rows_with(HEAVY, np.linspace(110, 140, 100))
    assert one_sided(root, [100.0, 20, 10, 10, 80, 40, 40], coded)[HEAVY] == SIDE.format("50%")
    # Rows on both sides of one split on a feature are enough.
    coded = rows_with(HEAVY, np.linspace(110, 190, 40))
    assert HEAVY not in one_sided(root, [100.0, 20, 10, 10, 80, 40, 40], coded)
