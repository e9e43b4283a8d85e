"""A deployed tree with new rows, retrained once for all tests: real data, and mixed columns."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.tree import DecisionTreeClassifier

from steadytree.estimators.distilled import DistilledTreeClassifier
from steadytree.retraining import SearchOptions, retrain
from tests.growing.mixed import mixed_table
from tests.retraining.histories import three_lines

QUICK = {"search": SearchOptions(n_estimators=20), "n_folds": 2, "random_state": 0}


@pytest.fixture(scope="session")
def cancer():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    rows = np.random.default_rng(0).permutation(len(y))
    X, y = X.iloc[rows].reset_index(drop=True), y.iloc[rows].to_numpy()
    first = DistilledTreeClassifier(
        n_estimators=20, max_leaf_nodes=8, decision_threshold="prevalence", random_state=0
    ).fit(X[:250], y[:250])
    cart = {"CART": DecisionTreeClassifier(min_samples_leaf=10, random_state=0)}
    result = retrain(*(first, X[250:], y[250:]), old=(X[:250], y[:250]), candidates=cart, **QUICK)
    return X, y, first, result


@pytest.fixture(scope="session")
def mixed():
    X, y = mixed_table(700, 0)
    first = DistilledTreeClassifier(n_estimators=20, max_leaf_nodes=6, random_state=0)
    return X, y, first.fit(X[:300], y[:300])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where a history will be."""
    return tmp_path / "history.jsonl"


@pytest.fixture
def full(path: Path) -> Path:
    """A history of three lines."""
    return three_lines(path)
