"""pystreed: its own binarizer, numbers, categories and columns of zeros and ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pystreed import (
    STreeDClassifier,
    STreeDGroupFairnessClassifier,
    STreeDPiecewiseLinearRegressor,
    STreeDRegressor,
)

import steadytree as st
from steadytree.exceptions import InputError, NotFittedTreeError, UnsupportedModelError
from tests.foreign import probe_rows
from tests.formats.contract import Case

COLOURS = np.array(["red", "green", "it's blue", "grey"], dtype=object)


def training_rows(seed: int, n: int = 150) -> tuple[pd.DataFrame, np.ndarray]:
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
    noise = rng.random(n) < 0.1
    return X, (score.to_numpy() ^ noise).astype(int)


def make_case(seed: int, folder: Path) -> Case:
    X, y = training_rows(seed)
    options: dict[str, Any] = {"max_depth": 1 + seed % 3, "n_thresholds": 3 + seed % 3}
    options["continuous_binarize_strategy"] = ("quantile", "uniform", "tree")[seed % 3]
    regression = seed % 5 == 4
    model: Any
    if regression:
        y = y * 3.5 + X["flag"].to_numpy()
        model = STreeDRegressor(cost_complexity=0.001, **options)
    else:
        if seed % 5 == 1:
            y = y + (X["age"].to_numpy() > 60)
        if seed % 5 == 2:
            options["max_num_binary_features"] = 6
        task = ("accuracy", "cost-complex-accuracy", "balanced-accuracy")[(seed // 5) % 3]
        model = STreeDClassifier(optimization_task=task, **options)
    as_array = seed % 4 == 3
    table: Any = X.drop(columns="colour").to_numpy() if as_array else X
    model.fit(table, y)
    tree = st.as_tree(model)
    rows = probe_rows(tree, seed=seed, missing=False)
    for name in tree.feature_labels:
        if name == "flag" or (as_array and name == "x1"):
            rows[name] = np.random.default_rng(seed).integers(0, 2, len(rows))
    given: Any = rows.to_numpy(dtype=float) if as_array else rows
    shares = None if regression else model.predict_proba(given)
    return Case(model, given, model.predict(given), shares)


def test_thresholds_are_those_of_the_original_features() -> None:
    X, y = training_rows(0)
    tree = st.as_tree(STreeDClassifier(max_depth=3).fit(X, y))
    assert set(tree.feature_names or ()) == set(X.columns)
    used = {tree.feature_labels[j] for j in tree.used_features}
    assert {"age", "colour"} <= used
    age = tree.feature_labels.index("age")
    assert all(30 < t < 70 for t in tree.threshold[tree.feature == age])


def test_the_solver_counts_the_rows_of_each_leaf() -> None:
    X, y = training_rows(1)
    model = STreeDClassifier(max_depth=2).fit(X, y)
    tree = st.as_tree(model)
    assert tree.weight[0] == len(y) == tree.metadata["n_training_rows"]
    leaves = tree.apply(X)
    np.testing.assert_array_equal(
        tree.weight[tree.leaves], [np.sum(leaves == leaf) for leaf in tree.leaves]
    )


def test_classes_need_not_start_at_nought() -> None:
    X, y = training_rows(2)
    model = STreeDClassifier(max_depth=2).fit(X, y * 4 + 3)
    tree = st.as_tree(model)
    assert tree.classes == (3, 7)
    np.testing.assert_array_equal(tree.predict(X), model.predict(X))


def test_a_missing_category_is_none_of_those_asked_for() -> None:
    X, y = training_rows(2)
    model = STreeDClassifier(max_depth=3).fit(X, y)
    rows = X.copy()
    rows["colour"] = None
    np.testing.assert_array_equal(st.as_tree(model).predict(rows), model.predict(rows))


def test_a_category_that_never_changed_is_not_asked_for() -> None:
    X, y = training_rows(2)
    X["country"] = "Norway"
    model = STreeDClassifier(max_depth=2).fit(X, y)
    tree = st.as_tree(model)
    assert "country" not in (tree.feature_names or ())
    np.testing.assert_array_equal(tree.predict(X), model.predict(X))
    array = X[["colour", "country"]].to_numpy()
    alone = STreeDClassifier(max_depth=1).fit(array, y, categorical=[0, 1])
    with pytest.raises(UnsupportedModelError, match=r"got one in columns \[1\]"):
        st.as_tree(alone)


def test_zeros_and_ones_declared_as_categories() -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=200), "k": rng.integers(0, 2, 200)})
    y = ((X["a"] > 0) ^ (X["k"] == 1)).astype(int).to_numpy()
    model = STreeDClassifier(max_depth=2).fit(X, y, categorical=["k"])
    np.testing.assert_array_equal(st.as_tree(model).predict(X), model.predict(X))


def test_a_frame_with_numbers_as_names_is_read_by_position() -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(np.column_stack([rng.normal(size=200), rng.integers(0, 2, 200)]))
    y = ((X[0] > 0) ^ (X[1] == 1)).astype(int).to_numpy()
    model = STreeDClassifier(max_depth=2).fit(X[[0]], y)
    assert st.as_tree(model).feature_names is None
    model = STreeDClassifier(max_depth=2).fit(X[[1]].rename(columns={1: 7}), y)
    with pytest.raises(UnsupportedModelError, match="rename them"):
        st.as_tree(model)


def test_refusals_are_by_name() -> None:
    X, y = training_rows(0)
    for kind in (STreeDGroupFairnessClassifier, STreeDPiecewiseLinearRegressor):
        with pytest.raises(UnsupportedModelError, match=f"got {kind.__name__}"):
            st.as_tree(kind())
    with pytest.raises(NotFittedTreeError, match="call fit"):
        st.as_tree(STreeDClassifier())
    model = STreeDClassifier(max_depth=1).fit(X, y)
    assert st.as_tree(model, tree_index=0) == st.as_tree(model)
    with pytest.raises(InputError, match="tree_index below 1"):
        st.as_tree(model, tree_index=1)
