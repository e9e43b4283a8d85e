"""Edits that find what changed: a threshold, a category, the side of missing values."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from steadytree.growing.best_first import BinnedTable, Split, TaughtRows
from steadytree.growing.leaf_values import target_columns
from steadytree.growing.nodes import NodeFactory
from steadytree.retraining.edits.candidates import _growth_words, candidates_of
from steadytree.tree.space import FeatureSpace
from steadytree.tree.tree import Tree
from tests.growing.mixed import mixed_table, space_of
from tests.retraining.edits.samples import LIMITS, search, stump


def split_by_colour(left, share, space):
    """A tree that asks for the colour alone."""
    return Tree(
        children_left=[1, -1, -1],
        children_right=[2, -1, -1],
        feature=[2, -1, -1],
        threshold=[np.nan] * 3,
        left_categories=(left, None, None),
        value=np.column_stack([1 - share, share]),
        classes=(0, 1),
        n_features=4,
        feature_names=space.names,
        categories=space.categories,
        space=space,
    )


def test_a_threshold_that_moved_is_moved():
    X, _ = mixed_table(500, 0)
    y = (X["age"] > 60).to_numpy().astype(np.int64)
    space = space_of(X, y, "binary")
    deployed = stump(50.0, space)
    taught = TaughtRows(space.encode(X), target_columns(y, 2) * 0.9, np.ones(500), 500, 2)
    (edited,) = search(deployed, taught, space).path((0.2,))
    assert edited.tree.n_leaves == 2
    assert edited.tree.threshold[0] == pytest.approx(60, abs=1)
    assert edited.edits[0].startswith("move age <= 50 to age <= ")


def test_a_category_that_changed_sides_is_moved():
    X, _ = mixed_table(600, 0)
    space = space_of(X, np.array([0, 1]), "binary")
    assert space.categories[2] == ("blue", "green", "grey", "red")
    share = np.array([0.5, 0.1, 0.9])
    deployed = split_by_colour((0, 1), share, space)
    y = X["colour"].isin(["grey", "red", "green"]).to_numpy().astype(np.int64)
    taught = TaughtRows(space.encode(X), target_columns(y, 2) * 0.9, np.ones(600), 600, 2)
    (edited,) = search(deployed, taught, space).path((0.2,))
    assert edited.tree.left_categories[0] == (0,)
    assert edited.edits == ("move colour is blue or green to colour is blue",)


@pytest.mark.parametrize(
    ("left", "moved"),
    [((0,), (0, 1, 2)), ((1, 2, 3), (3,)), ((0, 2), (0, 1, 2)), ((2,), (0, 1, 2))],
)
def test_a_cut_along_an_order_that_moved_is_moved(left, moved):
    """Only grey is high now; the lower categories stay on the side they are on."""
    X, _ = mixed_table(600, 0)
    X["colour"] = X["colour"].astype(
        pd.CategoricalDtype(["blue", "green", "red", "grey"], ordered=True)
    )
    space = space_of(X, np.array([0, 1]), "binary")
    share = np.array([0.5, 0.9, 0.1] if 3 in moved else [0.5, 0.1, 0.9])
    deployed = split_by_colour(left, share, space)
    y = (X["colour"] == "grey").to_numpy().astype(np.int64)
    taught = TaughtRows(space.encode(X), target_columns(y, 2) * 0.9, np.ones(600), 600, 2)
    make = NodeFactory(taught, BinnedTable(taught.coded, space, 600))
    node = make.from_tree(deployed, np.arange(600))
    edits = candidates_of(make, node, 0, LIMITS, price_per_move=1.0, least=0.0)
    moves = [edit for edit in edits if edit.kind == "move"]
    assert max(moves, key=lambda edit: edit.gain).node.parts[0].left == moved
    (edited,) = search(deployed, taught, space).path((0.2,))
    assert edited.tree.left_categories[0] in (moved, (0, 1, 2))  # or the same, mirrored
    if left == (0,):
        assert edited.edits == ("move colour is blue to colour up to red",)


def test_a_split_may_give_way_to_a_cut_along_an_order():
    X, _ = mixed_table(600, 0)
    order = pd.CategoricalDtype(["green", "blue", "red", "grey"], ordered=True)
    X["colour"] = X["colour"].astype(order)
    y = X["colour"].isin(["green", "blue", "grey"]).to_numpy().astype(np.int64)
    space = space_of(X, y, "binary")
    taught = TaughtRows(space.encode(X), target_columns(y, 2) * 0.9, np.ones(600), 600, 2)
    (edited,) = search(stump(50.0, space), taught, space).path((0.0,))
    sets = [left for left in edited.tree.left_categories if left is not None]
    assert sets
    assert all(left == tuple(range(len(left))) for left in sets)


def test_missing_values_that_changed_sides_are_moved():
    X, _ = mixed_table(600, 0)
    gone = X["dose"].isna().to_numpy()
    y = ((X["dose"] > 0).to_numpy() | gone).astype(np.int64)
    space = space_of(X, y, "binary")
    deployed = stump(0.0, space).replace(feature=[1, -1, -1], missing_left=[True, False, False])
    taught = TaughtRows(space.encode(X), target_columns(y, 2) * 0.9, np.ones(600), 600, 2)
    (edited,) = search(deployed, taught, space).path((0.2,))
    assert edited.tree.n_leaves == 2
    assert not edited.tree.missing_left[0]


def test_a_rebuilt_part_that_starts_as_before_is_named_once():
    space = FeatureSpace(lower=[0.0], upper=[100.0], names=("age",))

    def part(threshold, n_leaves):
        split = Split(0, threshold, None, False)
        return SimpleNamespace(is_leaf=False, n_leaves=n_leaves, parts=(split, None, None))

    told = _growth_words(part(50.0, 3), part(50.0, 4), space, ())
    assert told == "rebuild the part below age <= 50 with 4 leaves"
    told = _growth_words(part(50.0, 3), part(60.0, 4), space, ())
    assert told == "rebuild the part below age <= 50 with 4 leaves, starting at age <= 60"
