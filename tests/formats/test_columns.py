"""A tree finds the columns of the model in whose form it is written."""

from __future__ import annotations

import numpy as np
import pytest

from steadytree.exceptions import FeatureAlignmentError
from steadytree.formats.kept_labels import over_columns
from tests.foreign import probe_rows, random_tree


def test_by_name_in_any_order_and_with_others_between() -> None:
    tree = random_tree(0)
    names = [*reversed(tree.feature_labels), "another"]
    moved = over_columns(tree, names, len(names), "it")
    assert moved.feature_names == tuple(names)
    rows = probe_rows(tree, 500)
    np.testing.assert_array_equal(moved.apply(rows.assign(another=1.0)), tree.apply(rows))


def test_by_position_without_names() -> None:
    tree = random_tree(0)
    assert over_columns(tree, None, tree.n_features, "it").feature_names is None
    nameless = tree.replace(feature_names=None)
    named = over_columns(nameless, tree.feature_labels, tree.n_features, "it")
    assert named.feature_names == tree.feature_names
    with pytest.raises(FeatureAlignmentError, match=r"over the 3 columns of it, got one over 6"):
        over_columns(tree, None, 3, "it")


def test_columns_that_are_not_there() -> None:
    tree = random_tree(0)
    used = [tree.feature_labels[j] for j in tree.used_features]
    others = [n for n in tree.feature_labels if n != used[0]]
    with pytest.raises(FeatureAlignmentError, match=r"which it does not have; .*forbid="):
        over_columns(tree, others, len(others), "it")
