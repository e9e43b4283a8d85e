"""gosdt: trees over columns of zeros and ones, alone and behind a binarizer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from gosdt import GOSDTClassifier, NumericBinarizer, ThresholdGuessBinarizer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

import steadytree as st
from steadytree.exceptions import InputError, NotFittedTreeError
from tests.foreign import probe_rows
from tests.formats.contract import Case

NAMES = ["age", "blood pressure", "z"]


def training_rows(seed: int, n: int = 60) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.integers(-2, 3, size=(n, 3)) * np.array([1.0, 0.1, 1e5])
    y = (X[:, 0] > 0).astype(int) ^ (X[:, 1] > 0).astype(int)
    y = np.where(rng.random(n) < 0.1, 1 - y, y)
    return X, y + (X[:, 2] > 1e5) if seed % 3 == 2 else y


def fitted_pipeline(seed: int, binarizer: Any = None) -> Pipeline:
    X, y = training_rows(seed)
    table: Any = pd.DataFrame(X, columns=NAMES) if seed % 2 == 0 else X
    if binarizer is None:
        binarizer = NumericBinarizer()
    solver = GOSDTClassifier(regularization=0.03, depth_budget=1 + seed % 3)
    return Pipeline([("binarizer", binarizer), ("solver", solver)]).fit(table, y)


def predict(model: Pipeline, rows: Any) -> tuple[np.ndarray, np.ndarray]:
    # GOSDTClassifier.predict itself asks scikit-learn for an argument that 1.8 dropped.
    tree = model[-1].trees_[0]
    binary = model[0].transform(rows)
    return tree.predict(binary), tree.predict_proba(binary)


def make_case(seed: int, folder: Path) -> Case:
    guess = ThresholdGuessBinarizer(n_estimators=2, max_depth=2, column_elimination=False)
    model = fitted_pipeline(seed, guess if seed % 5 == 4 else None)
    rows: Any = probe_rows(st.as_tree(model), seed=seed, missing=False)
    # Columns that no threshold is on are no features of the tree.
    rows = rows.reindex(columns=NAMES, fill_value=0.0) if seed % 2 == 0 else rows.to_numpy()
    return Case(model, rows, *predict(model, rows))


def test_the_solver_alone_is_read_in_its_binary_columns() -> None:
    model = fitted_pipeline(0)
    X, y = training_rows(0)
    binary = pd.DataFrame(model[0].transform(X), columns=model[0].get_feature_names_out())
    solver = GOSDTClassifier(regularization=0.03, depth_budget=2).fit(binary, y)
    tree = st.as_tree(solver)
    assert tree.feature_names == tuple(binary.columns)
    np.testing.assert_array_equal(tree.predict(binary), solver.trees_[0].predict(binary))
    unnamed = GOSDTClassifier(regularization=0.03, depth_budget=2).fit(binary.to_numpy(), y)
    assert st.as_tree(unnamed).feature_names is None


def test_several_columns_of_one_feature_are_one_feature() -> None:
    tree = st.as_tree(fitted_pipeline(0))
    assert tree.feature_names == tuple(NAMES)
    assert tree.n_features == 3


def test_behind_an_imputer_missing_values_follow_what_is_filled_in() -> None:
    X, y = training_rows(0)
    frame = pd.DataFrame(X, columns=NAMES)
    frame.loc[::5, "age"] = np.nan
    solver = GOSDTClassifier(regularization=0.03, depth_budget=2)
    model = make_pipeline(SimpleImputer(), StandardScaler(), NumericBinarizer(), solver)
    model.fit(frame, y)
    tree = st.as_tree(model)
    rows = probe_rows(tree, 3_000).reindex(columns=NAMES, fill_value=0.0)
    binary = model[:-1].transform(rows)
    np.testing.assert_array_equal(tree.predict(rows), solver.trees_[0].predict(binary))


def test_one_class_and_text_labels() -> None:
    X, y = training_rows(0)
    one = Pipeline([("b", NumericBinarizer()), ("m", GOSDTClassifier())]).fit(X, 0 * y)
    assert st.as_tree(one).n_leaves == 1
    text = Pipeline([("b", NumericBinarizer()), ("m", GOSDTClassifier(regularization=0.03))])
    text.fit(X, np.where(y == 1, "yes", "no"))
    assert st.as_tree(text).classes == ("no", "yes")
    binary = text[0].transform(X)
    np.testing.assert_array_equal(st.as_tree(text).predict(X), text[-1].trees_[0].predict(binary))


def test_the_first_of_several_trees_is_the_one_it_predicts_with() -> None:
    X, y = training_rows(0)
    binary = NumericBinarizer().fit_transform(X)
    solver = GOSDTClassifier(regularization=0.03, depth_budget=2, model_limit=3).fit(binary, y)
    for k, own in enumerate(solver.trees_):
        tree = st.as_tree(solver, tree_index=k)
        np.testing.assert_array_equal(tree.predict(binary), own.predict(binary))
    assert st.as_tree(solver) == st.as_tree(solver, tree_index=0)
    with pytest.raises(InputError, match="expected tree_index below"):
        st.as_tree(solver, tree_index=99)


def test_before_fit() -> None:
    with pytest.raises(NotFittedTreeError, match="call fit"):
        st.as_tree(GOSDTClassifier())
    fitted = GOSDTClassifier().fit(
        NumericBinarizer().fit_transform(training_rows(0)[0]), [0, 1] * 30
    )
    with pytest.raises(NotFittedTreeError, match="got Pipeline before fit"):
        st.as_tree(Pipeline([("b", NumericBinarizer()), ("m", fitted)]))
