"""Scores from leaf counts are scikit-learn's, and their standard errors are right."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.metrics import get_scorer, r2_score, roc_auc_score
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils.validation import check_is_fitted

from steadytree.evaluation.holdout import (
    Holdout,
    make_measure,
    score_trees,
    scorer_name,
)
from steadytree.evaluation.scores import predict_rows, score_rows, standard_error
from steadytree.exceptions import InputError
from steadytree.plugins import as_tree
from steadytree.tree.rows import CodedRows
from steadytree.tree.tree import Tree


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
        score, error, without = measure.all_and_without(tree, np.arange(50))
        assert (score, without.tolist()) == (expected, [expected] * 5)
        assert np.isnan(error)


def test_a_class_without_rows_is_left_out_of_the_average() -> None:
    X, y = load_wine(return_X_y=True)
    tree = as_tree(DecisionTreeClassifier(max_depth=3).fit(X, y))
    measure, _ = make_measure(None, holdout_of(X, y))
    two = np.flatnonzero(y != 2)
    shares = tree.predict_proba(X[two])
    expected = np.mean([roc_auc_score(y[two] == c, shares[:, c]) for c in (0, 1)])
    assert np.isclose(measure.on_rows(tree, two), expected)
    score, error, _ = measure.all_and_without(tree, two)
    assert np.isclose(score, expected)
    alone = score_rows(y[two], predict_rows(tree, X[two]).value, classifier=True)
    assert error == pytest.approx(standard_error(alone.influence))
    assert error > 0


def test_another_scorer_has_the_error_of_the_jackknife() -> None:
    """By hand: the spread of the scores without each fold."""
    X, y = load_breast_cancer(return_X_y=True)
    weights = np.random.default_rng(0).uniform(0.2, 4, len(y))
    tree = as_tree(DecisionTreeClassifier(max_depth=1, random_state=0).fit(X, y))
    right = tree.predict(X) == y
    rows = np.arange(len(y))
    for w in (None, weights):
        measure, scorer = make_measure("accuracy", holdout_of(X, y, weights=w, n_folds=4))
        assert scorer is not None
        score, error, without = measure.all_and_without(tree, rows)
        assert score == pytest.approx(np.average(right, weights=w))
        parts = []
        for k in range(4):
            kept = rows % 4 != k
            parts.append(np.average(right[kept], weights=None if w is None else w[kept]))
        assert without == pytest.approx(parts)
        assert error == pytest.approx(np.sqrt(3 / 4 * ((parts - np.mean(parts)) ** 2).sum()))
    alone, _ = make_measure("accuracy", holdout_of(X, y, n_folds=1))
    score, error, without = alone.all_and_without(tree, rows)
    assert score == pytest.approx(right.mean())
    assert np.isnan(error)
    assert np.isnan(without).tolist() == [True]


def test_a_scorer_of_ones_own_sees_rows_outcomes_and_predictions() -> None:
    X, y = load_wine(return_X_y=True)
    names = np.array(["a", "b", "c"])[y]
    tree = as_tree(DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, names))
    holdout = holdout_of(X, names, weights=np.ones(len(y)))

    def mine(model: Any, table: Any, truth: Any) -> float:
        assert set(truth) <= {"a", "b", "c"}
        assert model.classes_.tolist() == ["a", "b", "c"]
        assert check_is_fitted(model) is None
        np.testing.assert_array_equal(model.predict(table), tree.predict(table))
        np.testing.assert_array_equal(model.predict_proba(table[:5]), tree.predict_proba(table[:5]))
        return float((model.predict(table) == truth).mean())

    measure, scorer = make_measure(mine, holdout)
    assert scorer is mine
    rows = np.arange(0, len(y), 3)
    expected = (tree.predict(X[rows]) == names[rows]).mean()
    assert measure.on_rows(tree, rows) == expected
    assert measure.on_rows(tree, rows) == expected  # and again from the table that was kept


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ("good", "expected scoring=mine to return one number, got 'good'"),
        ([1.0, 2.0], r"to return one number, got \[1.0, 2.0\]"),
        (True, "to return one number, got True"),
        (None, "to return one number, got None"),
    ],
)
def test_a_scorer_that_gives_no_number_is_named(answer: Any, words: str) -> None:
    X, y = load_wine(return_X_y=True)
    tree = as_tree(DecisionTreeClassifier(max_depth=1).fit(X, y))

    def mine(model: Any, table: Any, truth: Any) -> Any:
        return answer

    measure, _ = make_measure(mine, holdout_of(X, y))
    with pytest.raises(InputError, match=words):
        measure.on_rows(tree, np.arange(len(y)))


def test_a_scorer_that_fails_or_is_none_is_named() -> None:
    X, y = load_wine(return_X_y=True)
    tree = as_tree(DecisionTreeClassifier(max_depth=1).fit(X, y))
    holdout = holdout_of(X, y)
    with pytest.raises(InputError, match="scikit-learn scorer, got 'nonsense'"):
        make_measure("nonsense", holdout)
    with pytest.raises(InputError, match="a callable or None, got 3"):
        make_measure(3, holdout)
    measure, _ = make_measure("roc_auc", holdout)  # two classes only
    with pytest.raises(InputError, match="expected scoring=roc_auc_score to score a tree"):
        measure.on_rows(tree, np.arange(len(y)))
    assert scorer_name(get_scorer("f1")) == "f1_score"
    assert scorer_name(scorer_name) == "scorer_name"


def test_each_tree_is_scored_on_the_rows_of_its_bootstrap_once() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    holdout = holdout_of(X, y)
    trees = [as_tree(DecisionTreeClassifier(max_depth=d).fit(X, y)) for d in (1, 2)]
    rows = [np.arange(0, 300), np.arange(200, 569)]
    calls: list[Any] = []

    class Counted:
        def __init__(self) -> None:
            self.inner, _ = make_measure(None, holdout)

        def all_and_without(self, tree: Tree, rows: Any) -> Any:
            calls.append((tree, rows))
            return self.inner.all_and_without(tree, rows)

    candidates = [trees[0], trees[1], trees[0], trees[0]]
    group = np.array([0, 0, 1, 0])
    found = score_trees(candidates, group, rows, Counted(), n_folds=5)  # type: ignore[arg-type]
    assert len(calls) == 3
    for i, (tree, g) in enumerate(zip(candidates, group, strict=True)):
        score, error, without = Counted().inner.all_and_without(tree, rows[g])
        assert (found.score[i], found.error[i]) == (score, error)
        np.testing.assert_array_equal(found.without_fold[i], without)


def test_numbers_are_compared_as_the_trees_learner_compares_them() -> None:
    """A value just above a threshold lies on it for a learner of float32."""
    X = np.array([[0.0], [1.0], [0.5 + 1e-12], [0.2]])
    y = np.array([0, 1, 1, 0])
    rough = as_tree(DecisionTreeClassifier(max_depth=1).fit(X[:2], y[:2]))
    assert (rough.threshold[0], rough.precision) == (0.5, "float32")
    measure, _ = make_measure(None, holdout_of(X, y, n_folds=2))
    assert measure.on_rows(rough, np.arange(4)) == 0.75
    exact = rough.replace(precision="float64")
    assert measure.on_rows(exact, np.arange(4)) == 1.0
    assert measure.on_rows(exact, np.array([0, 3, 2])) == 1.0
