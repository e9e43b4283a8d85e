"""Models of scikit-learn read as trees: the same leaf for every row, whatever the data."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.preprocessing import OrdinalEncoder
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
@pytest.mark.parametrize("seed", range(3))
def test_classifiers_leaf_by_leaf(kind: Any, load: Any, seed: int) -> None:
    rng = np.random.default_rng(seed)
    X, y = load(return_X_y=True)
    model = kind(random_state=seed, min_samples_leaf=1 + seed).fit(X, y)
    same_predictions(model, st.as_tree(model), rows_near_thresholds(model, X, rng))


@pytest.mark.parametrize("kind", REGRESSORS)
@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error", "poisson"])
def test_regressors_leaf_by_leaf(kind: Any, criterion: str) -> None:
    X, y = load_diabetes(return_X_y=True)
    model = kind(max_depth=7, random_state=0, criterion=criterion).fit(X[:200], y[:200])
    tree = st.as_tree(model)
    assert not tree.is_classifier
    same_predictions(model, tree, rows_near_thresholds(model, X, np.random.default_rng(0)))


@pytest.mark.parametrize("kind", CLASSIFIERS + REGRESSORS)
@pytest.mark.parametrize("seed", range(4))
def test_missing_values_leaf_by_leaf(kind: Any, seed: int) -> None:
    rng = np.random.default_rng(seed)
    X, y = load_breast_cancer(return_X_y=True)
    X = X[:, :8].copy()
    X[rng.random(X.shape) < 0.25] = np.nan
    X[(y == 1) & (rng.random(len(y)) < 0.7), 0] = np.nan  # missing says something here
    model = kind(max_depth=8, random_state=seed).fit(X, y)
    tree = st.as_tree(model)
    test = rows_near_thresholds(model, X, rng)
    test[rng.random(test.shape) < 0.2] = np.nan
    same_predictions(model, tree, test)


def test_missing_alone_is_an_infinite_threshold() -> None:
    X = np.array([[1.0], [2.0], [np.nan], [np.nan]])
    model = DecisionTreeClassifier(random_state=0).fit(X, [0, 0, 1, 1])
    tree = st.as_tree(model)
    assert np.isposinf(tree.threshold[0])
    assert tree.predict(np.array([[5.0], [np.nan]])).tolist() == [0, 1]
    assert "x0 is missing" in str(tree)


def test_missing_values_never_met_in_training() -> None:
    """scikit-learn sends them with the heavier child; so does the tree."""
    X, y = load_breast_cancer(return_X_y=True)
    model = DecisionTreeClassifier(max_depth=4, random_state=0).fit(X, y)
    holes = X.copy()
    holes[np.random.default_rng(0).random(X.shape) < 0.3] = np.nan
    same_predictions(model, st.as_tree(model), holes)


@pytest.mark.parametrize(
    "labels",
    [
        ("no", "yes"),
        (False, True),
        (-1, 1),
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


def test_labels_as_python_objects() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    model = DecisionTreeClassifier(max_depth=2, random_state=0).fit(
        X, np.array(["benign", "malignant"], dtype=object)[y]
    )
    same_predictions(model, st.as_tree(model), X)


def test_one_class_only() -> None:
    model = DecisionTreeClassifier().fit([[0.0], [1.0]], ["a", "a"])
    tree = st.as_tree(model)
    assert tree.classes == ("a",)
    assert tree.predict([[0.5]]).tolist() == ["a"]


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


def test_monotonic_constraints() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    model = DecisionTreeClassifier(max_depth=6, random_state=0, monotonic_cst=[-1] * 10 + [0] * 20)
    same_predictions(model.fit(X, y), st.as_tree(model), X)
    regressor = DecisionTreeRegressor(max_depth=6, random_state=0, monotonic_cst=[1] + [0] * 29)
    same_predictions(regressor.fit(X, y), st.as_tree(regressor), X)


def test_pruned_and_leaf_wise_trees() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    for options in ({"ccp_alpha": 0.01}, {"max_leaf_nodes": 9}, {"splitter": "random"}):
        model = DecisionTreeClassifier(random_state=0, **options).fit(X, y)
        tree = st.as_tree(model)
        assert tree.n_leaves == model.get_n_leaves()
        assert tree.depth == model.get_depth()
        same_predictions(model, tree, X)


def test_feature_names_and_frames() -> None:
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    model = DecisionTreeClassifier(max_depth=4, random_state=0).fit(X, y)
    tree = st.as_tree(model)
    assert tree.feature_names == tuple(X.columns)
    turned = X[X.columns[::-1]]
    np.testing.assert_array_equal(tree.apply(turned), model.apply(X))
    numbered = DecisionTreeClassifier(max_depth=2).fit(pd.DataFrame(X.to_numpy()), y)
    assert st.as_tree(numbered).feature_names is None


def test_ties_go_to_the_first_class() -> None:
    X = np.array([[0.0], [0.0], [1.0], [1.0]])
    model = DecisionTreeClassifier(random_state=0).fit(X, ["b", "a", "a", "b"])
    tree = st.as_tree(model)
    assert tree.predict(X).tolist() == model.predict(X).tolist() == ["a"] * 4


def test_very_large_values() -> None:
    X = np.array([[1e30], [2e30], [-1e30], [3.0]])
    model = DecisionTreeClassifier(random_state=0).fit(X, [0, 1, 0, 1])
    same_predictions(model, st.as_tree(model), np.array([[1.5e30], [1e38], [-1e38], [0.0]]))


def test_where_the_tree_came_from() -> None:
    X, y = load_iris(return_X_y=True)
    tree = st.as_tree(ExtraTreeClassifier(max_depth=2, random_state=0).fit(X, y))
    assert dict(tree.metadata) == {
        "source": "scikit-learn ExtraTreeClassifier",
        "n_training_rows": 150,
        "weighted": False,
    }
    assert tree.precision == "float32"


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


# -- native categories, which no release has yet -----------------------------------------------


class _WithBits:
    """What the development version's tree holds: the same nodes, with sets of categories."""

    def __init__(self, inner: Any, categorical: list[int]) -> None:
        state = inner.__getstate__()
        old = state["nodes"]
        kinds = [(name, old.dtype[name]) for name in old.dtype.names]
        nodes = np.zeros(len(old), dtype=[*kinds, ("left_cat_bitset", (np.uint32, 8))])
        for name, _ in kinds:
            nodes[name] = old[name]
        for node in np.flatnonzero(np.isin(old["feature"], categorical)):
            for code in range(int(old["threshold"][node]) + 1):
                nodes["left_cat_bitset"][node, code // 32] |= np.uint32(1 << code % 32)
            nodes["threshold"][node] = -np.inf
        self.state = {**state, "nodes": nodes}

    def __getstate__(self) -> dict[str, Any]:
        return self.state


def natively_categorical(nothing: Any = np.nan) -> tuple[Any, Any, pd.DataFrame, np.ndarray]:
    """Make what the development version would fit, from a tree on codes; returns both."""
    rng = np.random.default_rng(0)
    towns = [f"t{i:02d}" for i in range(70)]
    X = pd.DataFrame({"age": rng.normal(size=900), "town": rng.choice(towns, 900)}).astype(
        {"town": object}
    )
    X.loc[rng.random(900) < 0.1, "town"] = nothing
    encoder = OrdinalEncoder(
        dtype=np.float32,
        handle_unknown="use_encoded_value",
        unknown_value=np.nan,
        encoded_missing_value=np.nan,
    ).fit(X[["town"]])
    codes = X.assign(town=encoder.transform(X[["town"]]))
    y = (X["age"] + codes["town"].fillna(60) / 20 > 2).to_numpy()
    plain = DecisionTreeClassifier(max_depth=5, random_state=0).fit(codes, y)
    model = copy.copy(plain)
    model.tree_ = _WithBits(plain.tree_, [1])
    model.is_categorical_ = np.array([False, True])
    model._categorical_encoder = encoder
    rows = X.sample(2000, replace=True, random_state=1).reset_index(drop=True)
    rows.loc[rng.random(2000) < 0.1, "town"] = "never met"
    return model, plain, rows, rows.assign(town=encoder.transform(rows[["town"]]))


def test_native_categories() -> None:
    model, plain, rows, codes = natively_categorical()
    tree = st.as_tree(model)
    assert tree.categories[1] == tuple(f"t{i:02d}" for i in range(70))
    assert any(s is not None for s in tree.left_categories)
    np.testing.assert_array_equal(tree.apply(rows), plain.apply(codes))
    np.testing.assert_array_equal(tree.predict_proba(rows), plain.predict_proba(codes))
    with pytest.raises(UnsupportedModelError, match="replace None by NaN"):
        st.as_tree(natively_categorical(None)[0])
