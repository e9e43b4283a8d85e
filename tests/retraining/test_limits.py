"""Limits in words people use, and what they choose on a frontier."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from steadytree.retraining.limits import Limits

from steadytree.exceptions import InputError
from steadytree.retraining import retrain
from tests.retraining.conftest import QUICK


def frontier(rows) -> pd.DataFrame:
    """Rows of (candidate, kind, flips, dissimilarity, gain); keeping scores 0.7."""
    columns = ["candidate", "kind", "flips", "dissimilarity", "score_change"]
    every = [("keep", "keep", 0.0, 0.0, 0.0), *rows]
    table = pd.DataFrame(every, columns=columns).set_index("candidate")
    return table.assign(score=0.7 + table["score_change"])


TABLE = frontier(
    [
        ("price 0.2", "priced edits", 0.01, 0.10, 0.004),
        ("price 0.1", "priced edits", 0.03, 0.20, 0.010),
        ("from scratch", "from scratch", 0.12, 0.70, 0.030),
        ("own", "own", 0.0, 0.05, float("nan")),
    ]
)


@pytest.mark.parametrize(
    ("limits", "names"),
    [
        ({"max_flips": 0.03}, ["keep", "price 0.2", "price 0.1"]),
        ({"max_flips": 0.0}, ["keep"]),
        ({"max_dissimilarity": 0.1}, ["keep", "price 0.2"]),
        ({"max_flips": 0.03, "max_dissimilarity": 0.15}, ["keep", "price 0.2"]),
        ({"min_gain": 0.01}, ["price 0.1", "from scratch"]),
        ({"min_gain": 0.01, "max_flips": 0.05}, ["price 0.1"]),
        ({"min_gain": 0.02, "max_flips": 0.05}, []),
    ],
)
def test_who_holds_the_limits(limits, names):
    found = Limits(**limits)
    inside = found.held(TABLE) & found.reached(TABLE)
    assert list(TABLE.index[inside]) == names


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        ({"max_flips": 0.01}, ""),
        ({"min_gain": 0.02}, ""),
        ({"max_flips": 0.005}, "every other candidate changes more than max_flips=0.005 allows"),
        (
            {"min_gain": 0.05},
            "no candidate gains 0.05 in AUC: the largest gain is 0.030 (from scratch)",
        ),
        (
            {"min_gain": 0.01, "max_flips": 0.01, "max_dissimilarity": 0.5},
            "every candidate that gains 0.01 in AUC (the closest: price 0.1) changes more than "
            "max_flips=0.01, max_dissimilarity=0.5 allows",
        ),
    ],
)
def test_what_was_not_met_is_said(limits, words):
    assert Limits(**limits).unmet(TABLE, "AUC") == words


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        ({"max_flips": 1.5}, "expected a number from 0 to 1 as max_flips, got 1.5; 0.03 is 3 %"),
        ({"max_dissimilarity": "x"}, "as max_dissimilarity, got 'x'; "),
        ({"max_flips": True}, "as max_flips, got True; "),
        ({"max_flips": float("nan")}, "as max_flips, got nan; "),
        ({"min_gain": -0.1}, "expected a number >= 0 as min_gain, got -0.1; "),
        ({"min_gain": 0}, "expected a min_gain above 0, got 0; keeping the tree gains that"),
    ],
)
def test_a_limit_that_makes_no_sense_is_refused(limits, words):
    with pytest.raises(InputError) as error:
        Limits(**limits)
    assert words in str(error.value)


def test_limits_and_another_rule_contradict_each_other():
    none = {"max_flips": None, "max_dissimilarity": None, "min_gain": None}
    assert Limits.read("score", **none) is None
    limits = Limits.read(None, **{**none, "min_gain": 0.01})
    assert limits == Limits(min_gain=0.01)
    assert limits.words() == "min_gain=0.01"
    with pytest.raises(InputError, match=r"either select or limits \(min_gain=0.01\), got both"):
        Limits.read("score", **{**none, "min_gain": 0.01})


shares = st.one_of(st.none(), st.floats(0, 1))


@given(
    st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1), st.floats(-0.3, 0.3)), max_size=8),
    shares,
    shares,
    st.one_of(st.none(), st.floats(1e-6, 0.3)),
)
def test_something_is_unmet_just_where_only_keeping_is_left(rows, flips, dissimilarity, gain):
    table = frontier([(f"price {i}", "priced edits", *row) for i, row in enumerate(rows)])
    limits = Limits(max_flips=flips, max_dissimilarity=dissimilarity, min_gain=gain)
    inside = table.index[limits.held(table) & limits.reached(table)]
    assert ("keep" in inside) == (gain is None)
    assert bool(limits.unmet(table, "AUC")) == (not set(inside) - {"keep"})


# -- on real trees ----------------------------------------------------------------------


def test_the_proposal_holds_the_limits(mixed):
    X, y, first = mixed
    args, quick = (first, X[300:], 1 - y[300:]), {**QUICK, "n_folds": 3}
    free = retrain(*args, **quick).frontier
    assert free["flips"].max() > 0.3
    at_most = retrain(*args, plan={"max_flips": 0.2, "max_dissimilarity": 0.9}, **quick)
    row = at_most.frontier.loc[at_most.chosen]
    assert row["flips"] <= 0.2
    assert row["dissimilarity"] <= 0.9
    inside = free[(free["flips"] <= 0.2) & (free["dissimilarity"] <= 0.9)]
    error = inside["score_se"].max() * 3
    assert row["score"] >= inside["score"].max() - error
    assert np.isfinite(at_most.selection_cost)
    assert at_most.settings["limits"] == {"max_flips": 0.2, "max_dissimilarity": 0.9}
    assert at_most.settings["select"] == "limits"


def test_the_least_change_that_gains_enough_is_chosen_or_none(mixed):
    X, y, first = mixed
    args, quick = (first, X[300:], 1 - y[300:]), {**QUICK, "n_folds": 3}
    result = retrain(*args, plan={"min_gain": 0.05}, **quick)
    table, chosen = result.frontier, result.frontier.loc[result.chosen]
    assert chosen["score_change"] >= 0.05
    closer = table[table["dissimilarity"] < chosen["dissimilarity"]]
    assert (closer["score_change"] < 0.05).all()
    assert np.isfinite(result.selection_cost)
    none = retrain(*args, plan={"min_gain": 0.99}, **quick)
    assert none.chosen == "keep"
    with pytest.raises(InputError, match=r"scores to choose by min_gain=0\.05, got none"):
        retrain(*args, plan={"min_gain": 0.05}, **{**QUICK, "n_folds": 0})
