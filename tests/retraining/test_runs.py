"""Candidates of every run: the user's own beside ours, on any number of workers."""

from __future__ import annotations

import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

from steadytree.exceptions import InputError
from steadytree.retraining import retrain
from tests.retraining.conftest import QUICK


def test_results_do_not_depend_on_the_number_of_jobs(mixed):
    X, y, first = mixed
    args = (first, X[300:500], y[300:500])
    one = retrain(*args, **QUICK)
    two = retrain(*args, n_jobs=2, **QUICK)
    assert one.tree == two.tree
    pd.testing.assert_frame_equal(one.frontier, two.frontier)


def test_own_candidates_fitted_and_not(cancer):
    X, y, first, _ = cancer
    small = DecisionTreeClassifier(max_depth=1, random_state=0)
    result = retrain(
        first,
        X[250:],
        y[250:],
        candidates={
            "stump": small.fit(X[:250], y[:250]),
            "fresh": DecisionTreeClassifier(max_depth=2),
        },
        **QUICK,
    )
    table = result.frontier
    assert not table.loc["stump", "cross_fitted"]
    assert table.loc["fresh", "cross_fitted"]
    assert result.trees["stump"].n_leaves == 2
    assert result.trees["stump"].decision_threshold == result.deployed.decision_threshold
    with pytest.raises(InputError, match="rename"):
        retrain(first, X[250:], y[250:], candidates={"keep": small}, **QUICK)
