"""pycontree: optimal trees over thresholds on the numbers themselves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pycontree import ConTree

import steadytree as st
from steadytree.exceptions import InputError, NotFittedTreeError
from tests.foreign import probe_rows
from tests.formats.contract import Case


def training_rows(seed: int, n: int = 80) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(scale=10.0 ** rng.integers(-3, 5, size=3), size=(n, 3))
    if seed % 4 == 1:
        X = X.astype(np.float32).astype(np.float64)
    y = (X[:, 0] > 0).astype(int) ^ (X[:, 1] > 0).astype(int)
    y = np.where(rng.random(n) < 0.1, 1 - y, y)
    return X, y + (X[:, 2] > np.quantile(X[:, 2], 0.8)) if seed % 3 == 2 else y


def make_case(seed: int, folder: Path) -> Case:
    X, y = training_rows(seed)
    named = seed % 2 == 0
    table: Any = pd.DataFrame(X, columns=["age", "income", "z"]) if named else X
    model = ConTree(max_depth=1 + seed % 3 if seed % 3 < 2 else 2, complexity_cost=0.001).fit(
        table, y
    )
    tree = st.as_tree(model)
    rows: Any = probe_rows(tree, seed=seed, missing=False)
    rows = rows if named else rows.to_numpy()
    return Case(model, rows, model.predict(rows), model.predict_proba(rows))


def test_names_classes_and_counts_are_the_models() -> None:
    X, y = training_rows(0)
    frame = pd.DataFrame(X, columns=["age", "income", "z"])
    tree = st.as_tree(ConTree(max_depth=2).fit(frame, y + 2))
    assert tree.feature_names == ("age", "income", "z")
    assert tree.classes == (2, 3)
    assert tree.weight[0] == len(y)
    assert tree.metadata["source"].startswith("pycontree 1.")


def test_missing_values_go_with_the_heavier_side() -> None:
    X, y = training_rows(0)
    tree = st.as_tree(ConTree(max_depth=2).fit(X, y))
    left, right = int(tree.children_left[0]), int(tree.children_right[0])
    assert tree.missing_left[0] == (tree.weight[left] >= tree.weight[right])


def test_refusals() -> None:
    with pytest.raises(NotFittedTreeError, match="call fit"):
        st.as_tree(ConTree())
    with pytest.raises(InputError, match="tree_index below 1"):
        st.as_tree(ConTree(max_depth=1).fit(*training_rows(0)), tree_index=3)
