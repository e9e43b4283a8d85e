"""Scores from leaf counts are scikit-learn's, and their standard errors are right."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.metrics import get_scorer, r2_score, roc_auc_score
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from steadytree.core.rows import CodedRows
from steadytree.core.tree import Tree
from steadytree.evaluation.holdout import Holdout, make_measure
from steadytree.evaluation.scores import predict_rows, score_rows, standard_error
from steadytree.readers import as_tree


def holdout_of(X: Any, y: Any, *, weights: Any = None, n_folds: int = 5) -> Holdout:
    classes, codes = (None, y) if y.dtype.kind == "f" else np.unique(y, return_inverse=True)
    rows = CodedRows(X.astype(float), codes, weights, table=X)
    return Holdout(rows, classes, np.arange(len(y)) % n_folds)


def area(tree: Tree, X: Any, y: Any, weights: Any = None) -> float:
    shares = tree.predict_proba(X)
    if shares.shape[1] == 2:
        return float(roc_auc_score(y, shares[:, 1], sample_weight=weights))
    return float(roc_auc_score(y, shares, multi_class="ovr", sample_weight=weights))


@pytest.mark.parametrize("load", [load_breast_cancer, load_wine])
@pytest.mark.parametrize("weighted", [False, True])
def test_areas_are_scikit_learns(load: Any, weighted: bool) -> None:
    X, y = load(return_X_y=True)
    weights = np.random.default_rng(0).uniform(0.2, 4, len(y)) if weighted else None
    holdout = holdout_of(X, y, weights=weights)
    measure, scorer = make_measure(None, holdout)
    assert scorer is get_scorer("roc_auc" if len(np.unique(y)) == 2 else "roc_auc_ovr") or scorer
    rows = np.arange(len(y))
    for depth in (1, 2, 6):
        tree = as_tree(DecisionTreeClassifier(max_depth=depth, random_state=0).fit(X, y))
        score, error, without = measure.all_and_without(tree, rows)
        assert np.isclose(score, area(tree, X, y, weights))
        assert error >= 0
        for k in range(5):
            kept = rows[rows % 5 != k]
            part = None if weights is None else weights[kept]
            assert np.isclose(without[k], area(tree, X[kept], y[kept], part))
            assert np.isclose(without[k], measure.on_rows(tree, kept))


@given(
    st.lists(st.sampled_from([0.0, 0.2, 0.5, 0.5000001, 1.0]), min_size=2, max_size=6),
    st.integers(0, 2**31),
)
@settings(max_examples=50)
def test_ties_between_leaves_count_half(shares: list[float], seed: int) -> None:
    """A comb of leaves with given shares, on random rows."""
    n_leaves = len(shares)
    splits = n_leaves - 1
    left = [2 * i + 1 for i in range(splits)]
    n_nodes = 2 * splits + 1
    children_left, children_right = np.full(n_nodes, -1), np.full(n_nodes, -1)
    feature, threshold = np.full(n_nodes, -1), np.full(n_nodes, np.nan)
    value = np.tile([0.5, 0.5], (n_nodes, 1))
    for i in range(splits):
        node = 2 * i
        children_left[node], children_right[node] = left[i], node + 2
        feature[node], threshold[node] = 0, i + 0.5
        value[left[i]] = [1 - shares[i], shares[i]]
    value[n_nodes - 1] = [1 - shares[-1], shares[-1]]
    tree = Tree(
        children_left=children_left,
        children_right=children_right,
        feature=feature,
        threshold=threshold,
        value=value,
        n_features=1,
        classes=(0, 1),
    )
    rng = np.random.default_rng(seed)
    X = rng.integers(0, n_leaves, (30, 1)).astype(float)
    y = np.arange(30) % 2
    measure, _ = make_measure(None, holdout_of(X, y))
    assert np.isclose(measure.on_rows(tree, np.arange(30)), area(tree, X, y))


def test_r2_is_scikit_learns() -> None:
    X, y = load_diabetes(return_X_y=True)
    y = y + 1e6  # a far origin must not cost precision
    weights = np.random.default_rng(0).uniform(0.2, 4, len(y))
    rows = np.arange(len(y))
    tree = as_tree(DecisionTreeRegressor(max_depth=3).fit(X[::2], y[::2]))
    for w in (None, weights):
        measure, _ = make_measure(None, holdout_of(X, y, weights=w))
        score, error, without = measure.all_and_without(tree, rows)
        guess = tree.predict(X)
        assert np.isclose(score, r2_score(y, guess, sample_weight=w))
        assert 0 < error < 0.2
        kept = rows % 5 != 3
        part = None if w is None else w[kept]
        assert np.isclose(without[3], r2_score(y[kept], guess[kept], sample_weight=part))


@pytest.mark.parametrize("task", ["binary", "multiclass", "regression"])
def test_standard_errors_are_those_of_a_bootstrap(task: str) -> None:
    rng = np.random.default_rng(0)
    n = 400
    X = rng.normal(size=(n, 3))
    signal = X[:, 0] + rng.normal(size=n)
    if task == "regression":
        y: Any = signal
        tree = as_tree(DecisionTreeRegressor(max_depth=3).fit(X, y))
    else:
        y = np.digitize(signal, [0.5] if task == "binary" else [-0.5, 0.8])
        tree = as_tree(DecisionTreeClassifier(max_depth=3).fit(X, y))
    fresh = np.random.default_rng(1)
    measure, _ = make_measure(None, holdout_of(X, y))
    _, error, _ = measure.all_and_without(tree, np.arange(n))
    draws = [measure.on_rows(tree, np.sort(fresh.integers(0, n, n))) for _ in range(400)]
    assert 0.85 < error / np.std(draws) < 1.15
    by_groups, _ = make_measure(
        get_scorer(
            "r2" if task == "regression" else "roc_auc" if task == "binary" else "roc_auc_ovr"
        ),
        holdout_of(X, y, n_folds=40),
    )
    _, grouped, _ = by_groups.all_and_without(tree, np.arange(n))
    assert 0.7 < grouped / error < 1.4


@pytest.mark.parametrize("task", ["binary", "multiclass", "regression"])
def test_errors_are_those_of_the_single_rows(task: str) -> None:
    """Over n - 1 within a class, which with a few positives is no detail; any one weight is 1."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(24, 2))
    classes = {"binary": np.arange(24) % 6 == 0, "multiclass": np.arange(24) % 3}
    y = classes.get(task, X[:, 0] + rng.normal(size=24)).astype(float)
    if task == "regression":
        tree = as_tree(DecisionTreeRegressor(max_depth=2).fit(X, y))
    else:
        y = y.astype(int)
        tree = as_tree(DecisionTreeClassifier(max_depth=2).fit(X, y))
    value = predict_rows(tree, X).value
    expected = standard_error(score_rows(y, value, classifier=task != "regression").influence)
    for weights in (None, np.full(24, 3.0)):
        measure, _ = make_measure(None, holdout_of(X, y, weights=weights))
        _, error, _ = measure.all_and_without(tree, np.arange(24))
        assert error == pytest.approx(expected, rel=1e-9)


def test_a_score_that_cannot_be_is_not_a_number() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    tree = as_tree(DecisionTreeClassifier(max_depth=2).fit(X, y))
    measure, _ = make_measure(None, holdout_of(X, y))
    assert np.isnan(measure.on_rows(tree, np.flatnonzero(y == 1)))
    guess = as_tree(DecisionTreeRegressor(max_depth=2).fit(X, X[:, 0]))
    measure, _ = make_measure(None, holdout_of(X, X[:, 0]))
    assert np.isnan(measure.on_rows(guess, np.arange(1)))


def test_a_constant_response_scores_as_in_scikit_learn() -> None:
    X, _ = load_breast_cancer(return_X_y=True)
    constant = np.full(len(X), 2.5)
    measure, _ = make_measure(None, holdout_of(X, constant))
    for target in (constant, X[:, 0]):
        tree = as_tree(DecisionTreeRegressor(max_depth=2).fit(X, target))
        expected = r2_score(constant[:50], tree.predict(X[:50]))
        assert measure.on_rows(tree, np.arange(50)) == expected


def test_a_class_without_rows_is_left_out_of_the_average() -> None:
    X, y = load_wine(return_X_y=True)
    tree = as_tree(DecisionTreeClassifier(max_depth=3).fit(X, y))
    measure, _ = make_measure(None, holdout_of(X, y))
    two = np.flatnonzero(y != 2)
    shares = tree.predict_proba(X[two])
    expected = np.mean([roc_auc_score(y[two] == c, shares[:, c]) for c in (0, 1)])
    assert np.isclose(measure.on_rows(tree, two), expected)
