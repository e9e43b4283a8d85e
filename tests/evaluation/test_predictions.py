"""Predictions of coded rows are those of the tree on the table they were coded from."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from steadytree.core.space import FeatureSpace
from steadytree.evaluation.predictions import predict_rows
from steadytree.readers import as_tree


@pytest.mark.parametrize("load", [load_iris, load_diabetes])
def test_coded_rows_are_predicted_as_the_model_would(load):
    X, y = load(return_X_y=True)
    classifies = y.dtype.kind == "i"
    model = (DecisionTreeClassifier if classifies else DecisionTreeRegressor)(max_depth=3)
    tree = as_tree(model.fit(X, y))
    coded = FeatureSpace.from_data(X).encode(X)
    found = predict_rows(tree, coded)
    if classifies:
        np.testing.assert_allclose(found.value, model.predict_proba(X))
        np.testing.assert_array_equal(model.classes_[found.label], model.predict(X))
    else:
        np.testing.assert_allclose(found.value[:, 0], model.predict(X))
        assert not found.label.any()
    some = found.take(np.array([3, 1]))
    np.testing.assert_array_equal(some.value, found.value[[3, 1]])
    np.testing.assert_array_equal(some.label, found.label[[3, 1]])


def test_numbers_are_rounded_as_the_learner_rounds_them():
    """scikit-learn compares float32: 0.1 + 1e-10 is its 0.1, on the left of a split at 0.1f."""
    X = np.array([[0.0], [0.2]])
    tree = as_tree(DecisionTreeClassifier().fit(X, [0, 1]))
    edge = tree.threshold[0]
    close = np.array([[edge * (1 + 1e-10)]])
    assert tree.precision == "float32"
    assert np.float32(close[0, 0]) == np.float32(edge)
    expected = DecisionTreeClassifier().fit(X, [0, 1]).predict(close)
    assert predict_rows(tree, close).label.tolist() == expected.tolist()
