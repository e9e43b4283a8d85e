"""Models of scikit-learn read as trees: the same leaf for every row, whatever the data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    ExtraTreeRegressor,
)

import steadytree as st
from steadytree.exceptions import UnsupportedModelError
from tests.formats.contract import Case

CLASSIFIERS = (DecisionTreeClassifier, ExtraTreeClassifier)
REGRESSORS = (DecisionTreeRegressor, ExtraTreeRegressor)


def rows_near_thresholds(model: Any, X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Random rows, and rows a hair beside every threshold: float64 that rounds in float32."""
    low, high = np.nanmin(X, axis=0), np.nanmax(X, axis=0)
    rows = [rng.uniform(low, high, size=(500, X.shape[1]))]
    inner = model.tree_
    for node in np.flatnonzero(inner.children_left >= 0):
        t = float(inner.threshold[node])
        if not np.isfinite(t):
            continue
        single = np.float32(t)
        beside = [
            t,
            np.nextafter(t, np.inf),
            np.nextafter(t, -np.inf),
            float(np.nextafter(single, np.float32(np.inf))),
            float(np.nextafter(single, np.float32(-np.inf))),
            t * (1 + 1e-9),
            t * (1 - 1e-9),
        ]
        block = rng.uniform(low, high, size=(len(beside), X.shape[1]))
        block[:, inner.feature[node]] = beside
        rows.append(block)
    return np.vstack(rows)


def same_predictions(model: Any, tree: st.Tree, X: Any) -> None:
    np.testing.assert_array_equal(tree.apply(X), model.apply(X))
    np.testing.assert_array_equal(tree.predict(X), model.predict(X))
    if hasattr(model, "classes_"):
        np.testing.assert_array_equal(tree.predict_proba(X), model.predict_proba(X))


def make_case(seed: int, folder: Path) -> Case:
    """Make a random model on a table with missing values, where it takes them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(400, 5)) * 10.0 ** rng.integers(-2, 4, size=5)
    kind: Any = (*CLASSIFIERS, *REGRESSORS)[seed % 4]
    y = np.digitize(X[:, 0] / np.abs(X[:, 0]).max() + X[:, 1] / np.abs(X[:, 1]).max(), [-0.1, 0.2])
    X[rng.random(X.shape) < 0.15] = np.nan
    model = kind(max_depth=int(rng.integers(1, 7)), random_state=seed)
    model.fit(X, y if kind in CLASSIFIERS else y + rng.normal(size=len(y)))
    rows = rng.normal(size=(10_000, 5)) * np.nanstd(X, axis=0)
    for j in range(5):
        t = model.tree_.threshold[(model.tree_.feature == j) & np.isfinite(model.tree_.threshold)]
        if t.size:
            near = np.concatenate(
                [t, np.nextafter(t, np.inf), np.nextafter(t, -np.inf), np.float32(t)]
            )
            rows[:, j] = np.where(rng.random(10_000) < 0.5, rng.choice(near, 10_000), rows[:, j])
    rows[rng.random(rows.shape) < 0.15] = np.nan
    shares = model.predict_proba(rows) if kind in CLASSIFIERS else None
    return Case(model, rows, model.predict(rows), shares, model.apply(rows))


@pytest.mark.parametrize("kind", CLASSIFIERS)
@pytest.mark.parametrize("load", [load_breast_cancer, load_iris])
def test_classifiers_leaf_by_leaf(kind: Any, load: Any) -> None:
    rng = np.random.default_rng(0)
    X, y = load(return_X_y=True)
    model = kind(random_state=0).fit(X, y)
    same_predictions(model, st.as_tree(model), rows_near_thresholds(model, X, rng))
    # Missing values never met in training go with the heavier child.
    holes = X.copy()
    holes[rng.random(X.shape) < 0.3] = np.nan
    same_predictions(model, st.as_tree(model), holes)


@pytest.mark.parametrize("kind", REGRESSORS)
@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error", "poisson"])
def test_regressors_leaf_by_leaf(kind: Any, criterion: str) -> None:
    X, y = load_diabetes(return_X_y=True)
    model = kind(max_depth=7, random_state=0, criterion=criterion).fit(X[:200], y[:200])
    tree = st.as_tree(model)
    assert not tree.is_classifier
    same_predictions(model, tree, rows_near_thresholds(model, X, np.random.default_rng(0)))


@pytest.mark.parametrize("kind", CLASSIFIERS + REGRESSORS)
def test_missing_values_leaf_by_leaf(kind: Any) -> None:
    rng = np.random.default_rng(0)
    X, y = load_breast_cancer(return_X_y=True)
    X = X[:, :8].copy()
    X[rng.random(X.shape) < 0.25] = np.nan
    X[(y == 1) & (rng.random(len(y)) < 0.7), 0] = np.nan  # missing says something here
    model = kind(max_depth=8, random_state=0).fit(X, y)
    tree = st.as_tree(model)
    test = rows_near_thresholds(model, X, rng)
    test[rng.random(test.shape) < 0.2] = np.nan
    same_predictions(model, tree, test)


@pytest.mark.parametrize(
    "labels",
    [
        ("no", "yes"),
        (False, True),
        (-7, 300),
        (1.0, 2.0),
        (np.int8(3), np.int8(4)),
    ],
    ids=str,
)
def test_class_labels_of_any_type(labels: tuple[Any, Any]) -> None:
    X, y = load_breast_cancer(return_X_y=True)
    y = np.array(labels)[y]
    model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y)
    tree = st.as_tree(model)
    assert tree.classes == tuple(model.classes_.tolist())
    assert not any(isinstance(c, np.generic) for c in tree.classes)
    same_predictions(model, tree, X)
    assert tree.predict(X).dtype.kind == model.predict(X).dtype.kind


def test_labels_as_objects_ties_one_class_and_large_values() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    model = DecisionTreeClassifier(max_depth=2, random_state=0)
    model.fit(X, np.array(["benign", "malignant"], dtype=object)[y])
    same_predictions(model, st.as_tree(model), X)
    one = st.as_tree(DecisionTreeClassifier().fit([[0.0], [1.0]], ["a", "a"]))
    assert (one.classes, one.predict([[0.5]]).tolist()) == (("a",), ["a"])
    # Ties go to the first class.
    pairs = np.array([[0.0], [0.0], [1.0], [1.0]])
    ties = DecisionTreeClassifier(random_state=0).fit(pairs, ["b", "a", "a", "b"])
    assert st.as_tree(ties).predict(pairs).tolist() == ties.predict(pairs).tolist() == ["a"] * 4
    large = np.array([[1e30], [2e30], [-1e30], [3.0]])
    model = DecisionTreeClassifier(random_state=0).fit(large, [0, 1, 0, 1])
    same_predictions(model, st.as_tree(model), np.array([[1.5e30], [1e38], [-1e38], [0.0]]))


@pytest.mark.parametrize("class_weight", [None, "balanced", {0: 10.0, 1: 0.1}])
def test_weights(class_weight: Any) -> None:
    rng = np.random.default_rng(0)
    X, y = load_breast_cancer(return_X_y=True)
    model = DecisionTreeClassifier(max_depth=5, random_state=0, class_weight=class_weight)
    model.fit(X, y, sample_weight=rng.exponential(size=len(y)) * (rng.random(len(y)) < 0.8))
    tree = st.as_tree(model)
    assert tree.weight is not None
    np.testing.assert_array_equal(tree.weight, model.tree_.weighted_n_node_samples)
    same_predictions(model, tree, X)


def test_pruned_leaf_wise_and_monotone_trees() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    monotone = {"max_depth": 6, "monotonic_cst": [-1] * 10 + [0] * 20}
    pruned = ({"ccp_alpha": 0.01}, {"max_leaf_nodes": 9}, {"splitter": "random"})
    for options in (*pruned, monotone):
        model = DecisionTreeClassifier(random_state=0, **options).fit(X, y)
        tree = st.as_tree(model)
        assert (tree.n_leaves, tree.depth) == (model.get_n_leaves(), model.get_depth())
        same_predictions(model, tree, X)
    regressor = DecisionTreeRegressor(random_state=0, **monotone).fit(X, y)
    same_predictions(regressor, st.as_tree(regressor), X)


def test_feature_names_and_frames() -> None:
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    model = DecisionTreeClassifier(max_depth=4, random_state=0).fit(X, y)
    tree = st.as_tree(model)
    assert tree.feature_names == tuple(X.columns)
    turned = X[X.columns[::-1]]
    np.testing.assert_array_equal(tree.apply(turned), model.apply(X))
    numbered = ExtraTreeClassifier(max_depth=2).fit(pd.DataFrame(X.to_numpy()), y)
    tree = st.as_tree(numbered)
    assert (tree.feature_names, tree.precision) == (None, "float32")
    source = {"source": "scikit-learn ExtraTreeClassifier", "n_training_rows": 569}
    assert dict(tree.metadata) == {**source, "weighted": False}


# -- decisions, and what was observed --------------------------------------------------------


@pytest.mark.parametrize("weight", [None, "balanced", {0: 1.0, 1: 7.0}])
def test_rows_are_counted_and_class_weights_become_a_policy(weight: Any) -> None:
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    model = DecisionTreeClassifier(max_depth=3, class_weight=weight, random_state=0).fit(X, y)
    tree = st.as_tree(model)
    np.testing.assert_array_equal(tree.predict_proba(X), model.predict_proba(X))
    leaf = model.apply(X)
    assert tree.observed is not None
    for node in tree.leaves:
        counts = np.bincount(y[leaf == node], minlength=2)
        np.testing.assert_allclose(tree.observed.counts[node, 1], counts, atol=1e-9)
    plain = tree.with_plain_shares()
    np.testing.assert_allclose(plain.value[tree.leaves], tree.observed.rate()[tree.leaves])
    np.testing.assert_array_equal(plain.predict(X), model.predict(X))
    clear = np.abs(plain.value[:, 1] - (plain.decision_threshold or 0.5)) > 1e-9
    assert not plain.kept_against_share[clear].any()
    if weight == {0: 1.0, 1: 7.0}:
        assert plain.decision.threshold == pytest.approx(1 / 8)
        assert plain.decision.origin == "class weights"


def test_weights_of_single_rows_tell_no_counts() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    weight = np.random.default_rng(0).uniform(0.5, 2, len(y))
    model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y, sample_weight=weight)
    assert st.as_tree(model).observed is None
    response = DecisionTreeRegressor(max_depth=2).fit(X, X[:, 0])
    seen = st.as_tree(response).observed
    assert seen is not None
    assert seen.rate()[0, 0] == pytest.approx(X[:, 0].mean())
    assert st.as_tree(response.fit(X, X[:, 0], sample_weight=weight)).observed is None


def test_native_categories_which_no_release_has_yet_are_refused() -> None:
    model = DecisionTreeClassifier().fit([[0.0], [1.0]], [0, 1])
    model.is_categorical_ = np.array([True])
    with pytest.raises(UnsupportedModelError, match="splits on categories natively; code them"):
        st.as_tree(model)
