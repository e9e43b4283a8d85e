"""Impurity of nodes and importance of features, against scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from steadytree.plugins import as_tree
from steadytree.tree.tree import node_impurity
from tests.golden import build


def test_gini_and_importances_are_scikit_learns() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    model = DecisionTreeClassifier(max_depth=4, random_state=0).fit(X, y)
    tree = as_tree(model)
    np.testing.assert_allclose(node_impurity(tree), model.tree_.impurity, atol=1e-12)
    np.testing.assert_allclose(tree.feature_importances(), model.feature_importances_, atol=1e-12)


def test_variance_between_leaves_is_what_scikit_learns_splits_bring() -> None:
    """Without the responses the variance within leaves is unknown, and is in no difference."""
    X, y = load_diabetes(return_X_y=True)
    model = DecisionTreeRegressor(max_depth=3, random_state=0).fit(X, y)
    tree = as_tree(model).replace(impurity=None)
    np.testing.assert_allclose(tree.feature_importances(), model.feature_importances_, atol=1e-9)
    assert node_impurity(tree)[tree.is_leaf].max() == 0


def test_a_single_leaf_has_no_importance() -> None:
    leaf = build("no", n_features=3)
    assert leaf.feature_importances().tolist() == [0, 0, 0]
    assert node_impurity(leaf) == pytest.approx([0.0])
