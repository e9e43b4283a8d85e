"""What a split asks, in terms of other systems, is what the tree asks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from steadytree.formats.split_tests import SplitTest, split_test
from steadytree.tree.tree import Tree
from tests.foreign import probe_rows, random_tree


def goes_left(test: SplitTest, value: Any) -> bool:
    if value is None or value != value:
        return test.missing_left
    if test.threshold is None:
        values, means_left = test.listed
        return (value in values) == means_left
    return bool(value <= test.threshold)


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("seed", range(5))
def test_rows_take_the_same_way(seed: int, precision: str) -> None:
    tree = random_tree(seed, precision=precision)
    rows = probe_rows(tree, 500, seed)
    leaves = [_leaf(tree, row) for _, row in rows.iterrows()]
    np.testing.assert_array_equal(leaves, tree.apply(rows))


def _leaf(tree: Tree, row: pd.Series[Any]) -> int:
    node = 0
    while not tree.is_leaf[node]:
        test = split_test(tree, node)
        side = tree.children_left if goes_left(test, row[test.name]) else tree.children_right
        node = int(side[node])
    return node
