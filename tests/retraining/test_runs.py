"""Candidates of every run: the user's own beside ours, on any number of workers."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config
from sklearn.tree import DecisionTreeClassifier

from steadytree.exceptions import InputError, SteadyTreeWarning
from steadytree.retraining import retrain
from steadytree.retraining.retrain import DEFAULT_PRICE
from steadytree.retraining.runs import CandidateMaker
from tests.retraining.conftest import QUICK


def test_results_do_not_depend_on_the_number_of_jobs(mixed):
    X, y, first = mixed
    args = (first, X[300:500], y[300:500])
    one = retrain(*args, **QUICK)
    two = retrain(*args, n_jobs=2, **QUICK)
    assert one.tree == two.tree
    pd.testing.assert_frame_equal(one.frontier, two.frontier)


@pytest.mark.parametrize("backend", ["sequential", "threading", "loky"])
def test_results_do_not_depend_on_the_backend(mixed, backend):
    """Nor on a Dask cluster: tests/test_jobs.py."""
    X, y, first = mixed
    args = (first, X[300:500], y[300:500])
    one = retrain(*args, **QUICK)
    with parallel_config(backend=backend, n_jobs=2):
        other = retrain(*args, **QUICK)
    assert one.tree == other.tree
    assert one.trees == other.trees
    pd.testing.assert_frame_equal(one.frontier, other.frontier)


def in_a_compiled_loop():
    """What Ctrl-C looks like where a compiled loop meets it."""
    try:
        raise KeyboardInterrupt
    except KeyboardInterrupt as error:
        raise SystemError("grow_tree returned a result with an exception set") from error


def in_python():
    raise KeyboardInterrupt


@pytest.mark.parametrize("interrupt", [in_python, in_a_compiled_loop])
def test_an_interrupt_of_the_folds_leaves_the_proposal(mixed, monkeypatch, interrupt):
    """Ctrl-C while the folds run used to lose everything."""
    X, y, first = mixed
    args, quick = (first, X[300:500], y[300:500]), {**QUICK, "n_folds": 3}
    whole = retrain(*args, **quick)
    run = CandidateMaker.run

    def interrupted(self, rows, *more):
        if rows is not None and len(rows) < 150:
            interrupt()
        return run(self, rows, *more)

    monkeypatch.setattr(CandidateMaker, "run", interrupted)
    with pytest.warns(SteadyTreeWarning, match="folds were interrupted"):
        early = retrain(*args, plan={"max_flips": 0.5}, **quick)
    assert early.chosen == f"price {DEFAULT_PRICE:g}"
    assert early.trees == whole.trees
    assert early.settings["folds_interrupted"]
    assert early.settings["n_folds"] == 0
    assert not whole.settings["folds_interrupted"]
    assert early.frontier["score"].drop("keep").isna().all()
    assert np.isnan(early.performance().loc[("all", early.score_name), "recipe"])
    assert "The folds were interrupted" in early.explain()
    assert any("still to come" in note for note in early.notes)
    # Before there is a proposal an interrupt is an interrupt.
    monkeypatch.setattr(CandidateMaker, "run", lambda *_: interrupted(None, np.zeros(3)))
    with pytest.raises(KeyboardInterrupt):
        retrain(*args, **quick)


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
