"""Compiled and plain loops: the same numbers, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steadytree.growing._loops import compiled, loops, plain
from steadytree.growing.best_first import BinnedTable, Split, grow_best_first
from steadytree.growing.nodes import NodeFactory
from steadytree.growing.teacher import TaughtRows
from steadytree.tree.space import FeatureSpace
from tests.growing.mixed import mixed_table


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
        m.best_cut(one, ranked, table.n_edges, total, float(min_leaf)) for m in (plain, compiled)
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
    one, other = (
        m.best_routes(*stats, ranked, table.n_edges, float(min_leaf)) for m in (plain, compiled)
    )
    np.testing.assert_array_equal(one[0], other[0])
    known = np.isfinite(one[0])
    np.testing.assert_array_equal(one[1][known], other[1][known])
    np.testing.assert_array_equal(one[2][known], other[2][known])
    for i in np.flatnonzero(known):
        split = table.threshold_split(int(ranked[i]), int(one[1][i]), bool(one[2][i]))
        left = split.goes_left(table.coded[rows, split.feature])
        assert cost[rows][left].sum() == pytest.approx(one[0][i])
        assert min(left.sum(), (~left).sum()) >= min_leaf


def test_routing_and_sums(case):
    table, layers = case
    taught = TaughtRows(table.coded, layers[:, 2:3], layers[:, 1], 250, 2)
    make = NodeFactory(taught, table)
    limits = {"max_leaves": 9, "min_leaf": 5, "max_depth": 5}
    grown = grow_best_first(table, taught.weight, taught.targets, np.arange(250), **limits)
    root = make.from_growth(grown, 9)
    flats = [root.flat, root.flat.with_root(Split(2, np.nan, (1, 3), True), flipped=True)]
    assert any((flat.category_set >= 0).any() for flat in flats)
    rows = np.arange(0, 250, 2)
    for flat in flats:
        arrays = (flat.feature, flat.threshold, flat.category_set, flat.missing_left)
        arrays += (flat.children, flat.leaf, flat.sets)
        reached = [m.route(table.coded, rows, *arrays) for m in (plain, compiled)]
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
