"""Trees of ensembles as the plain loops grow them; the compiled ones are the same, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steadytree.growing._loops import compiled, plain


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
    args = (codes, rows, weight, sums, 32, 2, min_leaf, 1e-3, max_leaves, seed)
    trees = [loops.grow_tree(*args) for loops in (plain, compiled)]
    for one, other in zip(*trees, strict=True):
        np.testing.assert_array_equal(one, other)
    feature, _, _, child, values = trees[0]
    assert (child[feature >= 0] > 0).all()
    if max_leaves:
        assert (feature < 0).sum() <= max_leaves
    told = [np.zeros((n, k)) for _ in range(2)]
    for loops, out in zip((plain, compiled), told, strict=True):
        loops.add_values(np.ascontiguousarray(codes.T), rows, 31, *trees[0], 0.5, out)
    np.testing.assert_array_equal(*told)
    # Each leaf says the mean of its rows, and holds enough of them.
    for value in values[feature < 0]:
        mine = rows[(told[0][rows] == 0.5 * value).all(axis=1)]
        assert len(mine) >= min(min_leaf, len(rows))
        expected = sums[mine].sum(axis=0) / weight[mine].sum()
        np.testing.assert_allclose(value, expected, atol=1e-9)


def test_the_best_split_of_all_features_is_found():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 10, size=(4, 300)).astype(np.uint8)
    target = (codes[2] > 5) * 1.0
    args = (codes, np.arange(300), np.ones(300), target[:, None], 16, 4, 5, 1e-12, 2, 1)
    feature, cut, *_ = compiled.grow_tree(*args)
    assert (feature[0], cut[0]) == (2, 5)


@pytest.mark.parametrize("node", [0, 1, 17])
def test_features_are_drawn_anew_for_each_node(node):
    order = plain.feature_order(123, node, 50)
    assert sorted(order.tolist()) == list(range(50))
    assert not np.array_equal(order, plain.feature_order(123, node + 1, 50))
    assert not np.array_equal(order, plain.feature_order(124, node, 50))
