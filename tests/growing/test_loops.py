"""Compiled and plain loops: the same numbers, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steadytree.growing import _loops as plain
from steadytree.growing._loops import BinnedTree, GrowthLimits, compiled, loops
from steadytree.growing.best_first import BinnedTable, Split, TaughtRows
from steadytree.growing.nodes import NodeFactory, with_root
from steadytree.tree.space import FeatureSpace
from tests.growing.mixed import mixed_table
from tests.growing.samples import grow_best_first


@pytest.fixture(scope="module", params=[1, 3])
def case(request):
    X, y = mixed_table(250, 1)
    space = FeatureSpace.from_data(X, y)
    coded, rng = space.encode(X), np.random.default_rng(0)
    table = BinnedTable(coded, space)
    layers = np.column_stack([np.ones(250), rng.random(250), rng.random((250, request.param))])
    return table, layers


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 10**6), st.integers(5, 250), st.integers(1, 20))
def test_histograms_and_cuts(case, seed, n, min_leaf):
    table, layers = case
    rows = np.sort(np.random.default_rng(seed).choice(250, n, replace=False))
    width = table.n_bins + 1
    one, other = (m.histogram(table.codes, rows, layers, width) for m in (plain, compiled))
    np.testing.assert_array_equal(one, other)
    total, ranked = one[:, 0].sum(axis=1), np.flatnonzero(table.ranked)
    cuts = [
        m.best_cut(one, ranked, table.n_edges, total, float(min_leaf), 1e-12)
        for m in (plain, compiled)
    ]
    assert cuts[0][0] == cuts[1][0]
    if np.isfinite(cuts[0][0]):
        assert cuts[0] == cuts[1]


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 10**6), st.integers(1, 60))
def test_cuts_that_keep_both_subtrees(case, seed, min_leaf):
    table, layers = case
    cost = np.random.default_rng(seed).normal(size=250)
    rows = np.arange(0, 250, 2)
    given = np.column_stack([layers[:, 0], cost])
    stats = plain.histogram(table.codes, rows, given, table.n_bins + 1)
    ranked = np.flatnonzero(table.ranked)
    costs, bins, missing_left = plain.best_routes(*stats, ranked, table.n_edges, float(min_leaf))
    for i in np.flatnonzero(np.isfinite(costs)):
        split = table.threshold_split(int(ranked[i]), int(bins[i]), bool(missing_left[i]))
        left = split.goes_left(table.coded[rows, split.feature])
        assert cost[rows][left].sum() == pytest.approx(costs[i])
        assert min(left.sum(), (~left).sum()) >= min_leaf


def test_routing_and_sums(case):
    table, layers = case
    taught = TaughtRows(table.coded, layers[:, 2:3], layers[:, 1], 250, 2)
    make = NodeFactory(taught, table)
    limits = {"max_leaves": 9, "min_leaf": 5, "max_depth": 5}
    grown = grow_best_first(table, taught.weight, taught.targets, np.arange(250), **limits)
    root = make.from_growth(grown, 9)
    flats = [root.flat, with_root(root.flat, Split(2, np.nan, (1, 3), True), flipped=True)]
    assert any(flat.by_set.any() for flat in flats)
    rows = np.arange(0, 250, 2)
    for flat in flats:
        reached = [m.route(table.coded, rows, flat) for m in (plain, compiled)]
        np.testing.assert_array_equal(*reached)
        sums = [m.sum_by_leaf(reached[0], rows, layers, 9) for m in (plain, compiled)]
        for one, other in zip(*sums, strict=True):
            np.testing.assert_array_equal(one, other)


def test_numba_is_used_where_it_can_be(monkeypatch):
    loops.cache_clear()
    assert loops() is compiled
    monkeypatch.setenv("STEADYTREE_NO_NUMBA", "1")
    loops.cache_clear()
    assert loops() is plain
    loops.cache_clear()


@settings(deadline=None, max_examples=40)
@given(
    st.integers(0, 2**62),
    st.integers(20, 200),
    st.sampled_from([1, 3]),
    st.sampled_from([0, 4]),
    st.integers(1, 12),
    st.booleans(),
)
def test_compiled_trees_are_the_plain_ones(seed, n, k, max_leaves, min_leaf, some_missing):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, rng.integers(2, 30, size=(6, 1)), size=(6, n)).astype(np.uint8)
    codes[5] = 7  # constant
    if some_missing:
        codes[:3][rng.random((3, n)) < 0.2] = 31
    rows = np.flatnonzero(rng.random(n) < 0.8)
    weight = rng.integers(1, 4, n) * rng.random(n)
    sums = weight[:, None] * rng.normal(size=(n, k))
    limits = GrowthLimits(32, 2, min_leaf, 1e-3, max_leaves)
    args = (codes, rows, weight, sums, limits, seed)
    trees = [BinnedTree(*module.grow_tree(*args)) for module in (plain, compiled)]
    for one, other in zip(*trees, strict=True):
        np.testing.assert_array_equal(one, other)
    feature, child, values = trees[0].feature, trees[0].child, trees[0].values
    assert (child[feature >= 0] > 0).all()
    if max_leaves:
        assert (feature < 0).sum() <= max_leaves
    predicted = [np.zeros((n, k)) for _ in range(2)]
    for module, out in zip((plain, compiled), predicted, strict=True):
        module.add_values(np.ascontiguousarray(codes.T), rows, 31, trees[0], 0.5, out)
    np.testing.assert_array_equal(*predicted)
    # Each leaf says the mean of its rows, and holds enough of them.
    for value in values[feature < 0]:
        mine = rows[(predicted[0][rows] == 0.5 * value).all(axis=1)]
        assert len(mine) >= min(min_leaf, len(rows))
        expected = sums[mine].sum(axis=0) / weight[mine].sum()
        np.testing.assert_allclose(value, expected, atol=1e-9)
