"""Best-first growth against a brute force over all splits."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from steadytree.growing.best_first import BinnedTable, Split, best_split, cut_points
from tests.growing.mixed import mixed_table, space_of
from tests.growing.samples import grow_best_first


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
