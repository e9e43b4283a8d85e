"""Candidates of every run: the user's own beside ours, on any number of workers."""

from __future__ import annotations

import numpy as np
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


def test_what_a_fold_leaves_out_has_no_say_in_its_trees(mixed):
    """Other outcomes in the last block of time: no fold was trained on it, so none differs."""
    X, y, first = mixed
    new, time = slice(300, 540), np.arange(240) // 40
    others = y[new].copy()
    others[200:] = others[200:][::-1]
    assert (others != y[new]).sum() > 5
    quick = {**QUICK, "time": time, "price": 0.05}
    one, two = (retrain(first, X[new], outcomes, **quick) for outcomes in (y[new], others))
    assert len(one.scores.folds) == 2
    for before, after in zip(one.scores.in_folds, two.scores.in_folds, strict=True):
        assert before.keys() == after.keys()
        assert all(before[name] == after[name] for name in before)
    assert any(one.trees[name] != two.trees[name] for name in one.trees)
    # Each fold's trees are those of its training rows alone, not of all rows.
    assert one.scores.in_folds[0]["from scratch"] != one.scores.in_folds[1]["from scratch"]
