"""Distilled trees as scikit-learn estimators."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from steadytree.estimators.distilled import DistilledTreeClassifier, DistilledTreeRegressor
from steadytree.exceptions import InputError
from steadytree.plugins import as_tree
from tests.growing.mixed import mixed_table

QUICK = {"n_estimators": 10, "random_state": 0}
WHY = "bootstraps draw rows, not weights: scikit-learn exempts its own forests too"


@pytest.mark.filterwarnings("ignore::steadytree.exceptions.OneDecisionWarning")
@parametrize_with_checks(
    [DistilledTreeClassifier(n_estimators=10), DistilledTreeRegressor(n_estimators=10)],
    expected_failed_checks=lambda estimator: {"check_sample_weight_equivalence_on_dense_data": WHY},
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def test_knobs_limit_the_tree():
    X, y = load_breast_cancer(return_X_y=True)
    model = DistilledTreeClassifier(max_leaf_nodes=5, max_depth=2, **QUICK).fit(X, y)
    assert model.get_n_leaves() <= 4
    assert model.get_depth() <= 2
    default = DistilledTreeClassifier(**QUICK).fit(X, y)
    assert 6 <= default.n_leaves_ <= 16
    assert as_tree(default) is default.tree_
    assert default.tree_.space is default.feature_space_
    assert default.feature_importances_.sum() == pytest.approx(1)


def test_the_first_tree_is_one_to_show():
    X, y = mixed_table(2000, 0)
    tree = DistilledTreeClassifier(**QUICK).fit(X, y).tree_
    assert 6 <= tree.n_leaves <= 16
    assert tree.depth <= 5
    leaves = tree.feature < 0
    assert tree.observed.rows()[leaves].min() >= 20
    small = DistilledTreeClassifier(**QUICK).fit(X[:60], y[:60]).tree_
    assert small.n_leaves > 1
    with pytest.raises(InputError, match="whole number >= 2 or None, got 'auto'"):
        DistilledTreeClassifier(max_leaf_nodes="auto").fit(X, y)


def test_mixed_frames_and_unseen_categories():
    X, y = mixed_table(400, 0)
    model = DistilledTreeClassifier(decision_threshold="prevalence", **QUICK).fit(X, y)
    assert model.tree_.decision_threshold == pytest.approx(y.mean())
    odd = X.head(5).assign(colour="violet")
    missing = X.head(5).assign(colour=None)
    np.testing.assert_array_equal(model.predict_proba(odd), model.predict_proba(missing))
    assert "colour is" in model.rules()


def test_class_weight_moves_the_shares():
    X, y = mixed_table(400, 0)
    plain = DistilledTreeClassifier(**QUICK).fit(X, y)
    heavy = DistilledTreeClassifier(class_weight={0: 1, 1: 5}, **QUICK).fit(X, y)
    assert heavy.predict_proba(X)[:, 1].mean() > plain.predict_proba(X)[:, 1].mean() + 0.1


def test_same_seed_same_tree_whatever_the_jobs():
    X, y = mixed_table(300, 0)
    one = DistilledTreeClassifier(**QUICK).fit(X, y)
    two = DistilledTreeClassifier(n_jobs=2, **QUICK).fit(X, y)
    assert one.tree_ == two.tree_
    again = pickle.loads(pickle.dumps(one))
    np.testing.assert_array_equal(again.predict(X), one.predict(X))
    other = clone(one).set_params(random_state=1).fit(X, y)
    assert other.tree_ != one.tree_


def test_in_pipelines_and_searches():
    X, y = load_breast_cancer(return_X_y=True)
    pipe = make_pipeline(FunctionTransformer(), DistilledTreeClassifier(**QUICK))
    assert cross_val_score(pipe, X, y, cv=3, scoring="roc_auc").mean() > 0.93
    search = GridSearchCV(DistilledTreeClassifier(**QUICK), {"max_leaf_nodes": [3, 10]}, cv=2)
    assert search.fit(X, y).best_params_["max_leaf_nodes"] in (3, 10)


def test_regression_beats_a_plain_tree_of_the_same_size():
    X, y = load_diabetes(return_X_y=True)
    ours = DistilledTreeRegressor(max_leaf_nodes=10, n_estimators=50, random_state=0)
    assert cross_val_score(ours, X, y, cv=3).mean() > 0.33


def test_beats_cart_of_the_same_size():
    X, y = load_breast_cancer(return_X_y=True)
    ours = DistilledTreeClassifier(max_leaf_nodes=8, n_estimators=50, random_state=0)
    cart = DecisionTreeClassifier(max_leaf_nodes=8, min_samples_leaf=8, random_state=0)
    scores = [cross_val_score(m, X, y, cv=5, scoring="roc_auc").mean() for m in (ours, cart)]
    assert scores[0] > scores[1]


@pytest.mark.parametrize(
    ("knob", "value"),
    [("max_depth", 0), ("min_samples_leaf", 0.5), ("n_estimators", 0), ("max_leaf_nodes", 1)],
)
def test_bad_knobs(knob, value):
    X, y = mixed_table(50, 0)
    with pytest.raises(InputError, match=knob):
        DistilledTreeClassifier(**{**QUICK, knob: value}).fit(X, y)
