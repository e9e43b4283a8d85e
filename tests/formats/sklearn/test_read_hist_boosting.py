"""scikit-learn's histogram-based gradient boosting: the same leaf and score for every row."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

import steadytree as st
from steadytree.exceptions import InputError, NotFittedTreeError, UnsupportedModelError
from tests.formats.boosted import outcome, probes, table
from tests.formats.contract import Case

LOSSES = ("squared_error", "poisson", "gamma", "absolute_error")


def make_case(seed: int, folder: Path) -> Case:
    """Make a classifier or a regressor, on a frame or an array, of one tree or several."""
    rng = np.random.default_rng(seed)
    kind = ("binary", "regression", "multiclass")[seed % 3]
    frame = table(seed, categories=seed % 4 < 3)
    if "colour" in frame:  # columns in the midst become the first inside
        frame = frame[["age", "colour", "income", "size", "balance", "visits"]]
    y: Any = outcome(frame, kind, seed)
    if kind == "binary" and seed % 2:
        y = np.array(["no", "yes"])[y]
    options = {
        "max_iter": 2 if kind == "multiclass" or seed % 10 == 7 else 1,
        "max_leaf_nodes": int(rng.integers(2, 20)),
        "min_samples_leaf": 5,
        "learning_rate": float(rng.uniform(0.1, 1)),
        "random_state": seed,
    }
    model: Any
    if kind == "regression":
        model = HistGradientBoostingRegressor(loss=LOSSES[seed // 3 % 4], **options)
    else:
        model = HistGradientBoostingClassifier(**options)
    model.fit(frame, y)
    trees = [predictor for turn in model._predictors for predictor in turn]
    index = None if len(trees) == 1 else seed % len(trees)
    rows = probes(st.as_tree(model, tree_index=index), frame, seed)
    if index is None:
        shares = model.predict_proba(rows) if kind == "binary" else None
        return Case(model, rows, model.predict(rows), shares)
    turn, klass = divmod(index, 3 if kind == "multiclass" else 1)
    known, places = model._bin_mapper.make_known_categories_bitsets()
    inside = model._preprocess_X(rows, reset=False)
    raw = model._predictors[turn][klass].predict(inside, known, places, 1)
    return Case(model, rows, raw, options={"tree_index": index})


def test_what_the_model_says_of_itself() -> None:
    frame = table(0)
    y = np.array(["no", "yes"])[outcome(frame, "binary", 0)]
    tree = st.as_tree(HistGradientBoostingClassifier(max_iter=1).fit(frame, y))
    assert (tree.classes, tree.feature_names) == (("no", "yes"), tuple(frame.columns))
    assert tree.categories[4] == ("green", "grey", "it's blue", "n/a", "red")
    assert tree.weight[0] == len(frame)
    assert tree.metadata["source"] == "scikit-learn HistGradientBoostingClassifier"


def test_the_score_decides_where_shares_are_equal() -> None:
    X = np.array([[0.0], [1.0]] * 20)
    model = HistGradientBoostingClassifier(max_iter=1, min_samples_leaf=1).fit(X, [0, 1] * 20)
    nodes = model._predictors[0][0].nodes
    nodes["value"] = np.where(nodes["is_leaf"], [0, -1e-18, 1e-18], 0)
    assert model.predict_proba(X[:2]).tolist() == [[0.5, 0.5]] * 2
    assert st.as_tree(model).predict(X[:2]).tolist() == model.predict(X[:2]).tolist() == [0, 1]


def test_codes_in_an_array_and_columns_named_categorical() -> None:
    rng = np.random.default_rng(1)
    X = np.column_stack([rng.normal(size=600), rng.integers(0, 30, 600), rng.normal(size=600)])
    X[rng.random(X.shape) < 0.1] = np.nan
    y = np.sin(3 * np.nan_to_num(X[:, 1])) + np.nan_to_num(X[:, 0])
    model = HistGradientBoostingRegressor(max_iter=1, categorical_features=[1]).fit(X, y)
    tree = st.as_tree(model)
    assert tree.categories[1] == tuple(range(30))
    values = np.array([*range(-3, 40), 2.5, 1e9, np.nan])
    rows = rng.normal(size=(20 * len(values), 3))
    rows[:, 1] = np.tile(values, 20)
    np.testing.assert_array_equal(tree.predict(rows), model.predict(rows))
    frame = pd.DataFrame({"a": X[:, 0], "b": pd.Series(list("xyz") * 200, dtype=object)})
    named = HistGradientBoostingRegressor(max_iter=1, categorical_features=["b"]).fit(frame, y)
    frame.loc[::7, "b"] = "never met"
    frame.loc[::5, "b"] = np.nan
    np.testing.assert_array_equal(st.as_tree(named).predict(frame), named.predict(frame))


def test_infinite_values_and_splits_on_missing_alone() -> None:
    X = np.array([[np.nan], [1.0], [2.0], [np.nan]] * 30)
    y = np.isnan(X[:, 0]).astype(int)
    model = HistGradientBoostingClassifier(max_iter=1, min_samples_leaf=1).fit(X, y)
    rows = np.array([[np.nan], [np.inf], [-np.inf], [1e308], [0.0]])
    np.testing.assert_array_equal(st.as_tree(model).predict(rows), model.predict(rows))


def test_what_is_refused() -> None:
    frame = table(2)
    y = outcome(frame, "multiclass", 2)
    model = HistGradientBoostingClassifier(max_iter=2)
    with pytest.raises(NotFittedTreeError, match="before fit"):
        st.as_tree(model)
    model.fit(frame, y)
    with pytest.raises(
        UnsupportedModelError, match="a HistGradientBoostingClassifier of 6; pass tree_index="
    ):
        st.as_tree(model)
    with pytest.raises(InputError, match="expected tree_index below 6"):
        st.as_tree(model, tree_index=9)
    odd = pd.DataFrame({"a": pd.Series(["x", None, "y"] * 40, dtype=object)})
    model = HistGradientBoostingClassifier(max_iter=1, categorical_features=["a"])
    with pytest.raises(UnsupportedModelError, match="a missing category has to be NaN"):
        st.as_tree(model.fit(odd, [0, 1, 0] * 40))
