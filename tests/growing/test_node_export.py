"""Nodes of a search written as a tree: its rules, what was observed, what it predicts."""

from __future__ import annotations

import numpy as np

from steadytree.growing.best_first import BinnedTable, TaughtRows
from steadytree.growing.leaf_values import target_columns
from steadytree.growing.nodes import NodeFactory, export_tree
from steadytree.tree.space import FeatureSpace
from tests.growing.mixed import mixed_table
from tests.growing.samples import grow_best_first


def test_old_and_new_rows_are_counted_apart_and_give_the_values():
    X, y = mixed_table(300, 2)
    space = FeatureSpace.from_data(X, y)
    coded, outcomes = space.encode(X), target_columns(y, 2)
    weight = np.linspace(0.5, 2, 300)
    taught = TaughtRows(coded, outcomes, weight, 300, 2, outcomes, n_old=120)
    make = NodeFactory(taught, BinnedTable(coded, space))
    limits = {"max_leaves": 6, "min_leaf": 10, "max_depth": 4}
    grown = grow_best_first(make.table, weight, outcomes, np.arange(300), **limits)
    tree = export_tree(make.from_growth(grown, 6), space, classes=("no", "yes"), decision=None)
    assert tree.n_leaves == 6
    leaf = tree.apply_coded(coded)
    for node in np.flatnonzero(tree.is_leaf):
        for which, rows in (("old", np.arange(120)), ("new", np.arange(120, 300))):
            inside = rows[leaf[rows] == node]
            assert tree.observed.rows(which)[node] == len(inside)
            assert tree.observed.outcomes(1, which)[node] == y[inside].sum()
    np.testing.assert_allclose(tree.observed.predicted(), tree.value)
