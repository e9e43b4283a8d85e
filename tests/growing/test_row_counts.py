"""Counting rows in batches: the same numbers however the rows are cut."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steadytree.growing.best_first import BinnedTable, RowBatch, TaughtRows
from steadytree.growing.nodes import NodeFactory, count_rows
from steadytree.tree.rows import CodedRows
from steadytree.tree.space import FeatureSpace
from tests.growing.mixed import mixed_table
from tests.growing.samples import grow_best_first


@pytest.fixture(scope="module")
def sample():
    X, y = mixed_table(300, 0)
    space = FeatureSpace.from_data(X, y)
    coded, weight = space.encode(X), np.arange(300) % 4.0
    taught = TaughtRows(coded, y[:, None].astype(float), np.ones(300), 300, 2)
    make = NodeFactory(taught, BinnedTable(coded, space))
    limits = {"max_leaves": 7, "min_leaf": 5, "max_depth": 4}
    grown = grow_best_first(make.table, taught.weight, taught.targets, np.arange(300), **limits)
    roots = [make.from_growth(grown, size) for size in (1, 4, 7)]
    return CodedRows(coded, y, weight), roots


def _nodes(root):
    yield root
    if not root.is_leaf:
        yield from _nodes(root.left)
        yield from _nodes(root.right)


@settings(deadline=None, max_examples=20)
@given(st.lists(st.integers(1, 299), max_size=5, unique=True), st.integers(0, 300))
def test_batches_do_not_matter_and_each_node_counts_its_rows(sample, cuts, n_old):
    rows, roots = sample
    places = sorted({0, n_old, 300, *cuts})
    batches = [
        RowBatch.of(rows.take(np.arange(a, b)), 2, old=a < n_old)
        for a, b in itertools.pairwise(places)
    ]
    for root, found in zip(roots, count_rows(roots, batches), strict=True):
        for at, node in enumerate(_nodes(root)):
            for part, old in enumerate((True, False)):
                inside = node.rows[(node.rows < n_old) == old]
                weighted = np.bincount(rows.y[inside], rows.weights[inside], 2)
                counted = np.bincount(rows.y[inside], rows.weights[inside] > 0, 2)
                np.testing.assert_array_equal(found.counts[at, part], counted)
                np.testing.assert_allclose(found.weighted[at, part], weighted, atol=1e-9)


def test_responses_are_counted_and_summed(sample):
    rows, roots = sample
    response = CodedRows(rows.coded, rows.coded[:, 0] * 0 + 2.5, None)
    found = count_rows(roots, [RowBatch.of(response, None, old=False)])
    assert found[0].counts[0, 1].tolist() == [300, 750]
    assert found[2].counts[0, 1].tolist() == [300, 750]


def test_no_rows_at_all_is_an_error(sample):
    with pytest.raises(ValueError, match="at least one batch"):
        count_rows(sample[1], [])


def test_without_trees_no_row_is_read():
    """Every tree that was counted already cost another pass over all rows."""

    def refused():
        pytest.fail("a row was read")
        yield

    assert count_rows([], refused()) == []
