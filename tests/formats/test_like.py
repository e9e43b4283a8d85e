"""Who can be imitated is a registry; what is not in it is refused by name."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Binarizer
from sklearn.tree import DecisionTreeClassifier

import steadytree as st
from steadytree.exceptions import (
    InputError,
    NotFittedTreeError,
    UnsupportedModelError,
)
from steadytree.plugins import IMITATORS, rows_predicted_otherwise, write_like
from steadytree.tree.nested import Branch, Leaf, build_tree
from tests.foreign import random_tree


def test_every_imitator_offers_what_it_should() -> None:
    for entry in IMITATORS.values():
        module = import_module(entry)
        assert callable(module.imitates)
        assert callable(module.write_like)
        assert callable(module.predict)
        assert not module.imitates(object())


def test_what_cannot_be_imitated_is_refused() -> None:
    tree = random_tree(0)
    for model in (object(), LinearRegression()):
        with pytest.raises(UnsupportedModelError, match=f"got {type(model).__name__}"):
            write_like(tree, model)
    with pytest.raises(NotFittedTreeError, match="before fit"):
        write_like(tree, DecisionTreeClassifier())


def test_rows_that_are_told_otherwise_are_counted() -> None:
    at = float(np.float32(0.1))
    root = Branch(feature=0, threshold=at, missing_left=True, left=Leaf([1, 0]), right=Leaf([0, 1]))
    tree = build_tree(root, n_features=1, classes=("no", "yes"))
    model = DecisionTreeClassifier().fit([[0], [1]], ["no", "yes"])
    # The second is above the threshold, until scikit-learn rounds it.
    rows = np.array([[at], [np.nextafter(at, 1)], [0.2]])
    written = write_like(tree, model)
    assert rows_predicted_otherwise(tree, written, rows[[0, 2]]) == 0
    assert rows_predicted_otherwise(tree, written, rows) == 1


def test_export_takes_a_model_to_imitate() -> None:
    X, y = make_classification(300, 4, random_state=0)
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = DecisionTreeClassifier(max_depth=3, min_samples_leaf=7, random_state=0).fit(frame, y)
    written = st.export_tree(model, "sklearn", like=model)
    assert written is not model
    assert written.get_params() == model.get_params()
    assert st.as_tree(written) == st.as_tree(model)


def test_rows_that_the_model_refuses() -> None:
    X, y = make_classification(300, 4, random_state=0)
    model = make_pipeline(Binarizer(threshold=0.5), DecisionTreeClassifier(max_depth=2)).fit(X, y)
    holes = np.where(X > 1, np.nan, X)
    written = write_like(st.as_tree(model), model)
    assert rows_predicted_otherwise(st.as_tree(model), written, X) == 0
    with pytest.raises(InputError, match="got some that it refuses: Input X contains NaN"):
        rows_predicted_otherwise(st.as_tree(model), written, holes)
