"""Where the trees of a collection split, counted once for every table and picture."""

from __future__ import annotations

import pytest
from sklearn.datasets import load_iris
from sklearn.tree import DecisionTreeClassifier

from steadytree.estimators.assessment import (
    LEAF_NODE,
    PLACES,
    all_cuts,
    count_splits,
    cut_point_table,
    split_table,
)
from steadytree.plugins import as_tree
from steadytree.tree.space import FeatureSpace


@pytest.fixture(scope="module")
def collection():
    X, y = load_iris(return_X_y=True, as_frame=True)
    space = FeatureSpace.from_data(X, y)
    trees = [
        as_tree(DecisionTreeClassifier(max_depth=d, random_state=d).fit(X, y), space=space)
        for d in (1, 2, 3, 4)
    ]
    return [*trees, trees[0].truncate(0)], space


def test_every_tree_is_counted_once_in_each_of_the_first_places(collection):
    trees, space = collection
    counts = count_splits(trees, space)
    assert counts.columns.tolist() == list(PLACES)
    assert counts.index.tolist() == [*space.feature_labels, LEAF_NODE]
    assert counts[["root", "left", "right"]].sum().tolist() == [5, 5, 5]
    assert counts.loc[LEAF_NODE].tolist() == [1, 5, 2, 1]
    for j, name in enumerate(space.feature_labels):
        assert counts.loc[name, "root"] == sum(tree.feature[0] == j for tree in trees)
        assert counts.loc[name, "anywhere"] == sum(j in tree.feature for tree in trees)
    shares = split_table(trees, space)
    assert shares.index[-1] == LEAF_NODE
    for name in shares.index:
        assert shares.loc[name].tolist() == (counts.loc[name] / 5).tolist()


def test_columns_in_another_order_are_counted_by_name(collection):
    _, space = collection
    X, y = load_iris(return_X_y=True, as_frame=True)
    turned = X[X.columns[::-1]]
    tree = as_tree(DecisionTreeClassifier(max_depth=1, random_state=0).fit(turned, y))
    first = str(turned.columns[tree.feature[0]])
    assert count_splits([tree], space).loc[first, "root"] == 1
    assert all_cuts([tree], space)["feature"].tolist() == [first]


def test_cut_points_spread_over_all_splits(collection):
    trees, space = collection
    cuts = all_cuts(trees, space)
    assert len(cuts) == sum(int((tree.feature >= 0).sum()) for tree in trees)
    table = cut_point_table(cuts, space, len(trees))
    for name, row in table.iterrows():
        mine = cuts.loc[cuts["feature"] == name, "threshold"]
        assert (row["n_cuts"], row["median"]) == (len(mine), mine.median())
