"""licketysplit: classes and responses over columns of zeros and ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from licketysplit import LicketySPLITClassifier, LicketySPLITRegressor, ThresholdGuessBinarizer
from sklearn.pipeline import Pipeline

import steadytree as st
from steadytree.exceptions import InputError, NotFittedTreeError, UnsupportedModelError
from tests.foreign import probe_rows
from tests.formats.contract import Case

NAMES = ["age", "blood pressure", "z"]


def training_rows(seed: int, n: int = 120) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)) * np.array([1.0, 0.01, 1e5])
    y = (X[:, 0] > 0).astype(int) ^ (X[:, 1] > 0).astype(int)
    y = np.where(rng.random(n) < 0.1, 1 - y, y)
    return X, y + (X[:, 2] > 1e5) if seed % 3 == 2 else y


def make_case(seed: int, folder: Path) -> Case:
    X, y = training_rows(seed)
    named = seed % 2 == 0
    table: Any = pd.DataFrame(X, columns=NAMES) if named else X
    regression = seed % 5 == 4
    kind = LicketySPLITRegressor if regression else LicketySPLITClassifier
    solver = kind(depth_budget=1 + seed % 4, lambda_leaf=0.005)
    binarizer = ThresholdGuessBinarizer(n_estimators=3, max_depth=2, column_elimination=False)
    target = y * 2.5 + X[:, 0] if regression else y
    model = Pipeline([("binarizer", binarizer), ("solver", solver)]).fit(table, target)
    rows: Any = probe_rows(st.as_tree(model), seed=seed, missing=False)
    # Columns that no threshold is on are no features of the tree.
    rows = rows.reindex(columns=NAMES, fill_value=0.0) if named else rows.to_numpy()
    return Case(model, rows, model.predict(rows), None if regression else model.predict_proba(rows))


def test_the_solver_alone_is_read_in_its_binary_columns() -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, size=(200, 3))
    y = X[:, 0] ^ X[:, 1]
    solver = LicketySPLITClassifier().fit(X, y)
    tree = st.as_tree(solver)
    assert tree.n_leaves == 4
    np.testing.assert_array_equal(tree.predict(X), solver.predict(X))
    np.testing.assert_array_equal(tree.predict_proba(X), solver.predict_proba(X))


def test_a_single_leaf() -> None:
    solver = LicketySPLITClassifier().fit(np.zeros((20, 2)), [0, 1] * 10)
    assert st.as_tree(solver).n_leaves == 1


def test_leaves_that_defer_are_refused() -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, size=(200, 3))
    y = rng.integers(0, 2, 200)
    for solver in (LicketySPLITClassifier(depth_budget=2), LicketySPLITRegressor(depth_budget=2)):
        with pytest.raises(UnsupportedModelError, match="fit it without bb_pred"):
            st.as_tree(solver.fit(X, y, bb_pred=y))


def test_refusals() -> None:
    with pytest.raises(NotFittedTreeError, match="call fit"):
        st.as_tree(LicketySPLITRegressor())
    solver = LicketySPLITClassifier().fit(np.eye(4), [0, 1, 0, 1])
    with pytest.raises(InputError, match="tree_index below 1"):
        st.as_tree(solver, tree_index=2)
