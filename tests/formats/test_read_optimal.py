"""Solvers of optimal trees: each as it predicts itself, alone and behind its binarizer."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from gosdt import GOSDTClassifier, NumericBinarizer
from gosdt import ThresholdGuessBinarizer as GosdtGuess
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

import steadytree as st
from steadytree.exceptions import InputError, NotFittedTreeError, UnsupportedModelError
from steadytree.formats.read_optimal import Question, ask, user_names
from steadytree.tree.nested import Leaf, build_tree
from tests.foreign import probe_rows
from tests.formats.contract import Case
from tests.modules import require_library

NAMES = ["age", "blood pressure", "z"]
COLOURS = np.array(["red", "green", "it's blue", "grey"], dtype=object)


def training_rows(seed: int, *, whole: bool = False) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.integers(-2, 3, size=(60, 3)) if whole else rng.normal(size=(120, 3))
    X = X * np.array([1.0, 0.1, 1e5])
    y = (X[:, 0] > 0).astype(int) ^ (X[:, 1] > 0).astype(int)
    y = np.where(rng.random(len(y)) < 0.1, 1 - y, y)
    return X, y + (X[:, 2] > 1e5) if seed % 3 == 2 else y


def as_given(X: Any, seed: int) -> Any:
    return pd.DataFrame(X, columns=NAMES) if seed % 2 == 0 else X


def rows_for(model: Any, seed: int) -> Any:
    rows = probe_rows(st.as_tree(model), seed=seed, missing=False)
    # Columns that no threshold is on are no features of the tree.
    return rows.reindex(columns=NAMES, fill_value=0.0) if seed % 2 == 0 else rows.to_numpy()


def gosdt_pipeline(seed: int) -> Pipeline:
    X, y = training_rows(seed, whole=True)
    guess = GosdtGuess(n_estimators=2, max_depth=2, column_elimination=False)
    solver = GOSDTClassifier(regularization=0.03, depth_budget=1 + seed % 3)
    binarizer = guess if seed % 5 == 4 else NumericBinarizer()
    return Pipeline([("binarizer", binarizer), ("solver", solver)]).fit(as_given(X, seed), y)


def gosdt_case(seed: int) -> Case:
    model = gosdt_pipeline(seed)
    rows = rows_for(model, seed)
    # GOSDTClassifier.predict itself asks scikit-learn for an argument that 1.8 dropped.
    tree, binary = model[-1].trees_[0], model[0].transform(rows)
    return Case(model, rows, tree.predict(binary), tree.predict_proba(binary))


def licketysplit_case(seed: int) -> Case:
    lickety = require_library("licketysplit")
    X, y = training_rows(seed)
    responses = seed % 5 == 4
    kind = lickety.LicketySPLITRegressor if responses else lickety.LicketySPLITClassifier
    guess = lickety.ThresholdGuessBinarizer(n_estimators=3, max_depth=2, column_elimination=False)
    solver = kind(depth_budget=1 + seed % 4, lambda_leaf=0.005)
    target = y * 2.5 + X[:, 0] if responses else y
    model = Pipeline([("binarizer", guess), ("solver", solver)]).fit(as_given(X, seed), target)
    rows = rows_for(model, seed)
    return Case(model, rows, model.predict(rows), None if responses else model.predict_proba(rows))


def pycontree_case(seed: int) -> Case:
    X, y = training_rows(seed)
    if seed % 4 == 1:
        X = X.astype(np.float32).astype(np.float64)
    depth = 1 + seed % 3 if seed % 3 < 2 else 2
    kind = require_library("pycontree").ConTree
    model = kind(max_depth=depth, complexity_cost=0.001).fit(as_given(X, seed), y)
    rows = rows_for(model, seed)
    return Case(model, rows, model.predict(rows), model.predict_proba(rows))


def mixed_rows(seed: int, n: int = 150) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "age": rng.normal(50, 10, n),
            "flag": rng.integers(0, 2, n),
            "colour": rng.choice(COLOURS[: 2 + seed % 3], n),
            "income": rng.normal(size=n) * 1e5,
        }
    )
    score = (X["age"] > 52) ^ (X["colour"] == "red") ^ ((X["flag"] == 1) & (X["income"] > 0))
    return X, (score.to_numpy() ^ (rng.random(n) < 0.1)).astype(int)


def pystreed_case(seed: int) -> Case:
    streed = require_library("pystreed")
    X, y = mixed_rows(seed)
    options: dict[str, Any] = {"max_depth": 1 + seed % 3, "n_thresholds": 3 + seed % 3}
    options["continuous_binarize_strategy"] = ("quantile", "uniform", "tree")[seed % 3]
    responses = seed % 5 == 4
    if responses:
        y = y * 3.5 + X["flag"].to_numpy()
        model = streed.STreeDRegressor(cost_complexity=0.001, **options)
    else:
        y = y + (X["age"].to_numpy() > 60) if seed % 5 == 1 else y
        task = ("accuracy", "cost-complex-accuracy", "balanced-accuracy")[(seed // 5) % 3]
        model = streed.STreeDClassifier(optimization_task=task, **options)
    as_array = seed % 4 == 3
    model.fit(X.drop(columns="colour").to_numpy() if as_array else X, y)
    tree = st.as_tree(model)
    rows = probe_rows(tree, seed=seed, missing=False)
    for name in tree.feature_labels:
        if name == "flag" or (as_array and name == "x1"):
            rows[name] = np.random.default_rng(seed).integers(0, 2, len(rows))
    table: Any = rows.to_numpy(dtype=float) if as_array else rows
    return Case(
        model, table, model.predict(table), None if responses else model.predict_proba(table)
    )


CASES: dict[str, Callable[[int], Case]] = {
    "gosdt": gosdt_case,
    "licketysplit": licketysplit_case,
    "pycontree": pycontree_case,
    "pystreed": pystreed_case,
}
THERE = [name for name in CASES if find_spec(name)]
MODELS = 50 * len(THERE)
"""Fifty of each solver."""


def make_case(seed: int, folder: Path) -> Case:
    return CASES[THERE[seed % len(THERE)]](seed // len(THERE))


# -- columns of zeros and ones -------------------------------------------------------------------


def test_what_a_column_asks() -> None:
    yes, no = Leaf([0.0, 1.0], 5.0, 1), Leaf([1.0, 0.0], 1.0, 0)
    for question, expected in (
        (Question(0, 3.0), [1, 1, 0]),
        (Question(0, 3.0, negated=True), [0, 0, 1]),
    ):
        tree = build_tree(ask(question, yes, no), n_features=1, classes=(0, 1))
        # Missing numbers go with the heavier side.
        assert tree.predict([[2.0], [3.0], [3.1], [np.nan]]).tolist() == [*expected, 1]
    rows = np.array([["a"], ["b"], ["new"], [None]], dtype=object)
    for missing in (False, True):
        question = Question(0, codes=(1,), missing=missing)
        root = ask(question, Leaf([1.0], 9), Leaf([2.0], 1))
        tree = build_tree(root, n_features=1, categories=(("a", "b"),))
        assert tree.predict(rows).tolist() == [2.0, 1.0, 2.0, 1.0 if missing else 2.0]
    assert user_names(["x0", "x1"], 2) is user_names(None, 2) is user_names([3, 4], 2) is None
    assert user_names(["x0", "age"], 2) == ("x0", "age")


def test_gosdt_alone_is_read_in_its_binary_columns() -> None:
    model = gosdt_pipeline(0)
    assert st.as_tree(model).feature_names == tuple(NAMES)
    X, y = training_rows(0, whole=True)
    binary = pd.DataFrame(model[0].transform(X), columns=model[0].get_feature_names_out())
    options = {"regularization": 0.03, "depth_budget": 2}
    solver = GOSDTClassifier(**options, model_limit=3).fit(binary, y)
    assert st.as_tree(solver).feature_names == tuple(binary.columns)
    # The first of several trees is the one it predicts with.
    for k, own in enumerate(solver.trees_):
        tree = st.as_tree(solver, tree_index=k)
        np.testing.assert_array_equal(tree.predict(binary), own.predict(binary))
    assert st.as_tree(solver) == st.as_tree(solver, tree_index=0)
    text = GOSDTClassifier(**options).fit(binary.to_numpy(), np.where(y == 1, "yes", "no"))
    tree = st.as_tree(text)
    assert (tree.feature_names, tree.classes) == (None, ("no", "yes"))
    np.testing.assert_array_equal(tree.predict(binary), text.trees_[0].predict(binary))
    one = Pipeline([("b", NumericBinarizer()), ("m", GOSDTClassifier())]).fit(X, 0 * y)
    assert st.as_tree(one).n_leaves == 1


def test_behind_an_imputer_missing_values_follow_what_is_filled_in() -> None:
    X, y = training_rows(0, whole=True)
    frame = pd.DataFrame(X, columns=NAMES)
    frame.loc[::5, "age"] = np.nan
    solver = GOSDTClassifier(regularization=0.03, depth_budget=2)
    model = make_pipeline(SimpleImputer(), StandardScaler(), NumericBinarizer(), solver)
    tree = st.as_tree(model.fit(frame, y))
    rows = probe_rows(tree, 3_000).reindex(columns=NAMES, fill_value=0.0)
    binary = model[:-1].transform(rows)
    np.testing.assert_array_equal(tree.predict(rows), solver.trees_[0].predict(binary))


def test_licketysplit_alone() -> None:
    lickety = require_library("licketysplit")
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, size=(200, 3))
    solver = lickety.LicketySPLITClassifier().fit(X, X[:, 0] ^ X[:, 1])
    tree = st.as_tree(solver)
    assert tree.n_leaves == 4
    np.testing.assert_array_equal(tree.predict(X), solver.predict(X))
    solver = lickety.LicketySPLITClassifier().fit(np.zeros((20, 2)), [0, 1] * 10)
    assert st.as_tree(solver).n_leaves == 1
    y = rng.integers(0, 2, 200)
    for kind in (lickety.LicketySPLITClassifier, lickety.LicketySPLITRegressor):
        with pytest.raises(UnsupportedModelError, match="fit it without bb_pred"):
            st.as_tree(kind(depth_budget=2).fit(X, y, bb_pred=y))


def test_pycontree_counts_its_training_rows() -> None:
    X, y = training_rows(0)
    tree = st.as_tree(require_library("pycontree").ConTree(max_depth=2).fit(X, y + 2))
    assert tree.classes == (2, 3)
    assert tree.weight[0] == len(y) == tree.metadata["n_training_rows"]
    assert tree.metadata["source"].startswith("pycontree 1.")
    left, right = int(tree.children_left[0]), int(tree.children_right[0])
    assert tree.missing_left[0] == (tree.weight[left] >= tree.weight[right])


# -- pystreed: the features its own binarizer started from ---------------------------------------


def test_pystreed_is_read_in_the_original_features() -> None:
    streed = require_library("pystreed")
    X, y = mixed_rows(2)
    model = streed.STreeDClassifier(max_depth=3).fit(X, y * 4 + 3)
    tree = st.as_tree(model)
    assert tree.classes == (3, 7)
    assert set(tree.feature_names or ()) == set(X.columns)
    age = tree.feature_labels.index("age")
    assert all(30 < t < 70 for t in tree.threshold[tree.feature == age])
    leaves = tree.apply(X)
    counted = [np.sum(leaves == leaf) for leaf in tree.leaves]
    np.testing.assert_array_equal(tree.weight[tree.leaves], counted)
    # A missing category is none of those asked for.
    rows = X.assign(colour=pd.Series([None] * len(X), dtype=object))
    np.testing.assert_array_equal(tree.predict(rows), model.predict(rows))


def test_pystreed_columns_of_zeros_and_ones() -> None:
    streed = require_library("pystreed")
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=200), "k": rng.integers(0, 2, 200)})
    y = ((X["a"] > 0) ^ (X["k"] == 1)).astype(int).to_numpy()
    model = streed.STreeDClassifier(max_depth=2).fit(X, y, categorical=["k"])
    np.testing.assert_array_equal(st.as_tree(model).predict(X), model.predict(X))
    numbered = X.rename(columns={"a": 0, "k": 7})
    assert st.as_tree(model.fit(numbered[[0]], y)).feature_names is None
    with pytest.raises(UnsupportedModelError, match="rename them"):
        st.as_tree(model.fit(numbered[[7]], y))


def test_pystreed_models_that_are_refused() -> None:
    streed = require_library("pystreed")
    X, y = mixed_rows(0)
    for name in ("STreeDGroupFairnessClassifier", "STreeDPiecewiseLinearRegressor"):
        with pytest.raises(UnsupportedModelError, match=f"got {name}"):
            st.as_tree(getattr(streed, name)())
    model = streed.STreeDClassifier(max_depth=1)
    with pytest.raises(UnsupportedModelError, match=r"got one in columns \['country'\]"):
        st.as_tree(model.fit(X.assign(country="Norway"), y))
    limited = streed.STreeDClassifier(max_depth=1, max_num_binary_features=6).fit(X, y)
    with pytest.raises(UnsupportedModelError, match="fitted with max_num_binary_features"):
        st.as_tree(limited)


@pytest.mark.parametrize("name", THERE)
def test_before_fit_and_other_trees(name: str) -> None:
    model = CASES[name](0).model
    solver = model[-1] if isinstance(model, Pipeline) else model
    with pytest.raises(NotFittedTreeError, match="call fit"):
        st.as_tree(type(solver)())
    assert st.as_tree(solver, tree_index=0) == st.as_tree(solver)
    with pytest.raises(InputError, match="expected tree_index below"):
        st.as_tree(solver, tree_index=99)
    if solver is not model:
        unfitted = Pipeline([("b", NumericBinarizer()), ("m", solver)])
        with pytest.raises(NotFittedTreeError, match="before fit"):
            st.as_tree(unfitted)
