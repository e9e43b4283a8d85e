"""Cross-validated CART: the paper's grid, cut trees as if grown, settings by their scores."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.metrics import roc_auc_score
from sklearn.tree import DecisionTreeClassifier

from research.paper.cart import cross_validated_cart, grid_scores, grow_cart
from steadytree.evaluation.cross_fitting import make_folds
from steadytree.evaluation.scores import predict_rows, score_rows
from steadytree.growing.collections import PAPER_GRID
from steadytree.growing.fitting import TrainingData
from steadytree.tree.rows import CodedRows
from steadytree.tree.space import FeatureSpace


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return TrainingData.from_table(X, y, task="classification")


def test_the_default_grid_is_the_papers():
    assert PAPER_GRID["max_depth"] == [3, 4, 5, 6, 7, 8, 9, 10, 11, 12]
    assert PAPER_GRID["min_samples_leaf"] == [3, 5, 10, 30, 50]


def test_scores_are_those_of_the_cut_trees(cancer):
    rows = cancer.rows
    folds = make_folds(rows.y, classifier=True, n_folds=3)
    depths, leaves = [2, 6, 3], [5, 30]
    found = grid_scores(cancer, folds, depths=depths, min_leaves=leaves, seed=0)
    for i, leaf in enumerate(leaves):
        for k, depth in enumerate(depths):
            expected = 0.0
            for train, test in folds:
                deep = grow_cart(cancer, train, max_depth=6, min_samples_leaf=leaf, seed=0)
                value = predict_rows(deep.truncate(depth), rows.coded[test]).value
                expected += score_rows(rows.y[test], value, classifier=True).value
            assert found[i, k] == expected


def test_the_chosen_setting_is_the_one_scikit_learn_would_grow(cancer):
    rows, space = cancer.rows, cancer.space
    tree = cross_validated_cart(space, rows, classes=("ill", "well"), decision=0.3)
    chosen = {name: tree.metadata[name] for name in PAPER_GRID}
    model = DecisionTreeClassifier(random_state=0, **chosen).fit(cancer.columns, rows.y)
    assert tree.classes == ("ill", "well")
    assert tree.decision_threshold == 0.3
    np.testing.assert_allclose(
        predict_rows(tree, rows.coded).value, model.predict_proba(cancer.columns), atol=1e-12
    )
    assert roc_auc_score(rows.y, predict_rows(tree, rows.coded).value[:, 1]) > 0.95


def test_a_response_and_a_class_with_a_single_row():
    X, y = load_diabetes(return_X_y=True)
    space = FeatureSpace.from_data(X, y, task="regression")
    weighted = CodedRows(X, y, np.linspace(1, 2, len(y)))
    tree = cross_validated_cart(space, weighted, classes=None)
    assert not tree.is_classifier
    rare = np.zeros(60, dtype=np.int64)
    rare[7] = 1
    assert cross_validated_cart(space, CodedRows(X[:60], rare), classes=(0, 1)).n_leaves >= 1
