from __future__ import annotations

import numpy as np
import pandas as pd

from steadytree.core.rare import (
    count_categories,
    rare_names,
    space_without_names,
    tree_without_names,
)
from steadytree.core.space import FeatureSpace
from steadytree.core.tree import Tree
from tests.report import samples


def test_categories_of_few_rows_are_called_by_their_position() -> None:
    town = ["Rome"] * 20 + ["Oslo"] * 3 + ["Bonn"] * 12 + ["Lima"]
    X = pd.DataFrame({"town": pd.Categorical(town), "age": np.arange(36.0)})
    space = FeatureSpace.from_data(X)
    counts = count_categories(space, space.encode(X))
    assert {j: n.tolist() for j, n in counts.items()} == {0: [12, 1, 3, 20]}
    names = rare_names(space, counts, 5)
    assert names == {"town": {"Lima": "rare category 1", "Oslo": "rare category 2"}}
    shown = space_without_names(space, names)
    assert shown.categories == (("Bonn", "rare category 1", "rare category 2", "Rome"), None)
    assert rare_names(space, counts, 1) == {}


def test_a_tree_keeps_everything_but_the_names() -> None:
    tree = samples.mixed_diff().old
    other = tree_without_names(tree, {"colour": {"red": "rare category 1"}})
    assert (other.space is None) == (tree.space is None)
    assert "rare category 1" in str(other)
    assert "colour is red" in str(tree)
    assert "colour is red" not in str(other)
    assert (other.value == tree.value).all()


def test_rules_say_where_missing_values_go_whatever_categories_are_rare() -> None:
    town = ["Rome"] * 20 + ["Oslo"] * 3
    X = pd.DataFrame({"age": [np.nan, *np.arange(22.0)], "town": pd.Categorical(town)})
    space = FeatureSpace.from_data(X)
    tree = Tree(
        children_left=[1, -1, -1],
        children_right=[2, -1, -1],
        feature=[0, -1, -1],
        threshold=[9.0, 0, 0],
        value=[[0.5, 0.5], [0.9, 0.1], [0.2, 0.8]],
        missing_left=[True, False, False],
        n_features=2,
        classes=("no", "yes"),
        feature_names=("age", "town"),
        categories=space.categories,
        space=space,
    )
    other = tree_without_names(tree, {"town": {"Oslo": "rare category 1"}})
    assert "age <= 9 or missing" in str(other)
    assert other.space is not None
    assert "Oslo" not in (other.space.categories[1] or ())
    assert str(other) == str(tree)
