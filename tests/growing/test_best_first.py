"""Cut points, bins and best-first growth, against a brute force over all splits."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from steadytree.growing.best_first import BinnedTable, Split, best_split, cut_points
from steadytree.tree.space import FeatureSpace
from tests.growing.mixed import mixed_table, space_of
from tests.growing.samples import grow_best_first


def test_cut_points_lie_between_values_and_are_few():
    values = np.random.default_rng(0).normal(size=5000)
    cuts = cut_points(values)
    assert 200 < cuts.size <= 254
    assert not np.isin(cuts, values).any()
    np.testing.assert_array_equal(cut_points(np.array([1.0, 3.0, np.nan, 3.0])), [2.0])
    near = np.nextafter(1.0, 2.0)
    np.testing.assert_array_equal(cut_points(np.array([1.0, near])), [1.0])


def test_cuts_stay_within_the_space():
    X = np.linspace(0, 10, 50)[:, None]
    space = FeatureSpace(lower=np.array([2.0]), upper=np.array([5.0]))
    edges = BinnedTable(X, space).edges[0]
    assert edges.min() >= 2
    assert edges.max() < 5


def test_missing_values_go_where_the_split_says():
    values = np.array([1.0, 3.0, np.nan, 2.0])
    for missing_left in (False, True):
        cut = Split(0, 2.0, None, missing_left)
        assert cut.goes_left(values).tolist() == [True, False, missing_left, True]
        codes = Split(0, np.nan, (1, 3), missing_left)
        assert codes.goes_left(values).tolist() == [True, True, missing_left, False]


def test_histograms_are_sums_over_the_rows_of_each_bin():
    X, y = mixed_table(90, 3)
    space = space_of(X, y, "binary")
    coded = space.encode(X)
    table = BinnedTable(coded, space)
    rows = np.arange(0, 90, 2)
    weight = np.linspace(1, 2, 90)
    counts, sums = table.histogram(rows, np.column_stack([np.ones(90), weight]))
    assert counts.shape == (4, table.n_bins + 1)
    assert counts.sum(axis=1).tolist() == [45] * 4
    np.testing.assert_allclose(sums.sum(axis=1), weight[rows].sum())
    gone = np.isnan(coded[rows, 1])
    assert counts[1, -1] == gone.sum() > 0
    np.testing.assert_allclose(sums[1, -1], weight[rows][gone].sum())
    for code in range(4):
        assert counts[2, code] == (coded[rows, 2] == code).sum()


def test_ordered_categories_are_cut_between_one_and_the_next():
    space = FeatureSpace(
        lower=[0, 0], upper=[0, 0], categories=(tuple("abcd"), tuple("xy")), ordered=[True, True]
    )
    table = BinnedTable(np.array([[3.0, 0.0], [0.0, 1.0], [np.nan, 0.0]]), space)
    assert table.ranked.tolist() == [True, False]
    assert table.edges[0].tolist() == [0.5, 1.5, 2.5]
    assert table.edges[1].size == 0
    assert table.threshold_split(0, 1, True) == Split(0, np.nan, (0, 1), True)
    # After the last cut: every category, against missing values.
    assert table.threshold_split(0, 3, False) == Split(0, np.nan, (0, 1, 2, 3), False)


# -- growth --------------------------------------------------------------------------------


def _loss(targets, weight):
    if weight.sum() == 0:
        return 0.0
    mean = np.average(targets, axis=0, weights=weight)
    return float((weight[:, None] * (targets - mean) ** 2).sum())


def _every_split(coded, space):
    for j, cats in enumerate(space.categories):
        for missing_left in (False, True):
            if cats is None:
                cuts = [*cut_points(coded[:, j]), np.inf]
                for cut in cuts:
                    yield Split(j, float(cut), None, missing_left)
            elif space.by_order[j]:
                for size in range(len(cats) + 1):
                    yield Split(j, float("nan"), tuple(range(size)), missing_left)
            else:
                for size in range(len(cats) + 1):
                    for left in combinations(range(len(cats)), size):
                        yield Split(j, float("nan"), left, missing_left)


@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_best_split_is_the_best_of_all(seed, ordered):
    X, y = mixed_table(60, seed)
    if ordered:  # only the order of the categories is left to learn from
        X = X[["colour"]].where(np.random.default_rng(seed).random((60, 1)) < 0.9)
        X["colour"] = X["colour"].astype("category").cat.as_ordered()
    space = space_of(X, y, "binary")
    coded = space.encode(X)
    rng = np.random.default_rng(seed)
    weight = rng.uniform(0.5, 2, len(y))
    targets = (y + rng.normal(0, 0.3, len(y)))[:, None]
    table = BinnedTable(coded, space)
    layers = np.column_stack([np.ones(len(y)), weight, weight * targets[:, 0]])
    found = best_split(table, table.histogram(np.arange(len(y)), layers), 5)
    assert found is not None
    whole = _loss(targets, weight)
    best = 0.0
    for split in _every_split(coded, space):
        left = split.goes_left(coded[:, split.feature])
        if min(left.sum(), (~left).sum()) < 5:
            continue
        parts = _loss(targets[left], weight[left]) + _loss(targets[~left], weight[~left])
        best = max(best, whole - parts)
    assert found[0] == pytest.approx(best, rel=1e-9)
    left = found[1].goes_left(coded[:, found[1].feature])
    parts = _loss(targets[left], weight[left]) + _loss(targets[~left], weight[~left])
    assert whole - parts == pytest.approx(best, rel=1e-9)


def test_smaller_trees_are_the_beginning_of_larger_ones():
    X, y = mixed_table(400, 0)
    space = space_of(X, y, "binary")
    table = BinnedTable(space.encode(X), space)
    settings = {"min_leaf": 10, "max_depth": 6}
    args = (table, np.ones(len(y)), y[:, None].astype(float), np.arange(len(y)))
    large = grow_best_first(*args, max_leaves=12, **settings)
    small = grow_best_first(*args, max_leaves=5, **settings)
    assert large.n_leaves > small.n_leaves == 5
    assert small.order == large.order[:4]
    assert [large.split[i] for i in small.order] == [small.split[i] for i in small.order]
    assert large.children_within(large.order[4], 5) is None


def test_leaves_respect_their_limits():
    X, y = mixed_table(500, 1)
    space = space_of(X, y, "binary")
    table = BinnedTable(space.encode(X), space)
    args = (table, np.ones(len(y)), y[:, None].astype(float), np.arange(len(y)))
    grown = grow_best_first(*args, max_leaves=50, min_leaf=20, max_depth=3)
    leaves = set(range(len(grown.rows))) - set(grown.children)
    assert sum(len(grown.rows[i]) for i in leaves) == len(y)
    assert min(len(grown.rows[i]) for i in leaves) >= 20
    assert max(grown.depth) <= 3
