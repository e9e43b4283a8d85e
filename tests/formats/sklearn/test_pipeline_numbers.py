"""Thresholds on raw numbers as thresholds on what the steps of a pipeline make of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, StandardScaler
from sklearn.tree import DecisionTreeRegressor

import steadytree as st
from steadytree.formats.sklearn.pipeline_columns import pipeline_columns
from steadytree.formats.sklearn.pipeline_numbers import Ask, NumberQuestions, compared_cells
from steadytree.tree.branches import build_tree
from steadytree.tree.nested import Branch, Leaf


def questions(step: Any, threshold: float, precision: str) -> tuple[Any, NumberQuestions]:
    rng = np.random.default_rng(0)
    X = rng.normal(50, 20, size=(200, 1))
    model = make_pipeline(step, DecisionTreeRegressor(max_depth=2)).fit(X, X[:, 0])
    root = Branch(
        feature=0, threshold=threshold, missing_left=True, left=Leaf([0.0]), right=Leaf([1.0])
    )
    tree: st.Tree = build_tree(root, n_features=1)
    return model, NumberQuestions(tree, [0], pipeline_columns(model), precision, {})


STEPS = [StandardScaler(), MinMaxScaler((-1, 3)), FunctionTransformer(np.negative)]


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("step", STEPS, ids=lambda s: type(s).__name__)
def test_a_threshold_is_met_or_moved_up_a_little(step: Any, precision: str) -> None:
    wanted = 47.123456789
    model, made = questions(step, wanted, precision)
    asked = made.question(0)
    assert isinstance(asked, Ask)
    written = made.moved[0].written if made.moved else wanted
    around = np.array([[written], [np.nextafter(written, np.inf)], [wanted - 1], [wanted + 1]])
    cells = compared_cells(model[:-1].transform(around)[:, 0], precision)
    low = (cells <= asked.threshold) == asked.low.left  # type: ignore[union-attr]
    assert low.tolist() == [True, False, True, False]
    assert wanted <= written < wanted + (1e-5 if precision == "float32" else 1e-13)


def test_cells_of_every_kind() -> None:
    cells = np.array([1, 2.5, None, np.nan, True], dtype=object)
    np.testing.assert_array_equal(compared_cells(cells, "float64"), [1, 2.5, np.nan, np.nan, 1])
    assert compared_cells(np.array([0.1]), "float32")[0] == np.float32(0.1)
