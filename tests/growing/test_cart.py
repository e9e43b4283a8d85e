"""Cross-validated CART: cutting one deep tree gives every depth of the grid."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.tree import DecisionTreeClassifier

from steadytree.core.rows import CodedRows
from steadytree.core.space import FeatureSpace
from steadytree.core.tree import Tree
from steadytree.evaluation.scores import auc
from steadytree.growing.cart import _cut_predictions, cross_validated_cart, grid_scores
from steadytree.growing.encoding import ColumnEncoder

X, Y = load_breast_cancer(return_X_y=True, as_frame=True)
Y = Y.to_numpy()
SPACE = FeatureSpace.from_data(X, Y)
CODED = SPACE.encode(X)
ENCODER = ColumnEncoder(SPACE)


def grow(rows: np.ndarray, min_leaf: int, depth: int) -> Tree:
    model = DecisionTreeClassifier(max_depth=depth, min_samples_leaf=min_leaf, random_state=0)
    model.fit(ENCODER.transform(CODED[rows]), Y[rows])
    return ENCODER.to_tree(model, classes=(0, 1))


def test_cut_predictions_are_those_of_the_cut_tree() -> None:
    tree = grow(np.arange(len(Y)), 3, 8)
    for depth, value in zip((1, 3, 8), _cut_predictions(tree, CODED, (1, 3, 8)), strict=True):
        np.testing.assert_array_equal(value, tree.truncate(depth).predict_proba(X))


def test_grid_scores_are_the_sums_over_the_folds() -> None:
    halves = np.arange(len(Y)) % 2 == 0
    folds = [(np.flatnonzero(halves), np.flatnonzero(~halves))]
    folds.append(folds[0][::-1])
    found = grid_scores(
        grow,
        lambda value, test: auc(Y[test] == 1, value[:, 1]),
        CODED,
        folds,
        depths=(2, 4),
        min_leaves=(5, 40),
    )
    for i, min_leaf in enumerate((5, 40)):
        for k, depth in enumerate((2, 4)):
            total = 0.0
            for train, test in folds:
                # Cut, not grown anew: scikit-learn breaks ties by chance as it goes along.
                tree = grow(train, min_leaf, 4).truncate(depth)
                total += auc(Y[test] == 1, tree.predict_proba(X.iloc[test])[:, 1])
            assert found[i, k] == pytest.approx(total, abs=1e-12)


def test_the_tree_comes_from_the_grid_and_says_which_setting() -> None:
    tree = cross_validated_cart(SPACE, CodedRows(CODED, Y), classes=(0, 1), seed=0)
    assert tree.depth <= tree.metadata["max_depth"]
    assert tree.weight[tree.is_leaf].min() >= tree.metadata["min_samples_leaf"]
