"""Flat trees send rows where the linked nodes do."""

from __future__ import annotations

import numpy as np
import pytest

from steadytree.growing.best_first import BinnedTable, Split, TaughtRows
from steadytree.growing.nodes import FlatTree, NodeFactory
from steadytree.tree.space import FeatureSpace
from tests.growing.mixed import mixed_table


@pytest.mark.parametrize("missing_left", [False, True])
@pytest.mark.parametrize("flipped", [False, True])
def test_rows_go_where_the_conditions_say(missing_left, flipped):
    X, y = mixed_table(200, 4)
    space = FeatureSpace.from_data(X, y)
    coded = space.encode(X)
    make = NodeFactory(
        TaughtRows(coded, y[:, None].astype(float), np.ones(200), 200, 2),
        BinnedTable(coded, space),
    )
    rows = np.arange(200)
    first, second = Split(2, np.nan, (0, 2), missing_left), Split(1, 0.2, None, missing_left)
    below, above = make.divide(rows, first)
    low, high = make.divide(above, second)
    inner = make.join(above, second, make.leaf(low), make.leaf(high))
    root = make.join(rows, first, make.leaf(below), inner)
    flat = FlatTree.of(root)
    reached = flat.route(coded, rows)
    for number, expected in enumerate((below, low, high)):
        np.testing.assert_array_equal(rows[reached == number], expected)
    new = Split(0, 45.0, None, missing_left)
    moved = make.reroute(root, rows, split=new, flipped=flipped)
    sides = make.divide(rows, new)
    np.testing.assert_array_equal(moved.parts[1].rows, sides[0])
    np.testing.assert_array_equal(moved.parts[2].rows, sides[1])
    assert moved.parts[1].n_leaves == (2 if flipped else 1)
    inside = moved.parts[1 if flipped else 2]
    again = make.divide(inside.rows, second)
    np.testing.assert_array_equal(inside.parts[1].rows, again[0])
    np.testing.assert_allclose(inside.parts[1].sums, make.leaf(again[0]).sums)
