"""Changed coding is refused and changed units are noted, before anything is trained."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from steadytree.evaluation.plan_check import changed_units
from steadytree.exceptions import InputError, SteadyTreeWarning
from steadytree.retraining import Rows, retrain
from steadytree.retraining.problem import prepare_problem
from steadytree.retraining.widening import check_categories
from steadytree.tree.space import FeatureSpace
from tests.retraining.conftest import QUICK

CODES = {"red": 0, "green": 1, "blue": 2, "grey": 3}


def test_other_codes_for_the_same_are_refused(mixed):
    X, y, first = mixed
    new = X[300:]
    coded = new.assign(colour=new["colour"].map(CODES))
    with pytest.raises(
        InputError,
        match=r"categories of 'colour' \('blue', 'green', 'grey', 'red'\), got 0, 1, 2, 3 in 100%",
    ):
        retrain(first, coded, y[300:], **QUICK)
    shouted = new.assign(colour=new["colour"].str.upper())
    with pytest.raises(InputError, match=r"replace\({'BLUE': 'blue', .*'RED': 'red'}\)"):
        retrain(first, shouted, y[300:], **QUICK)
    # Without a stored space the tree's own categories, and those of the old rows, are known.
    bare = first.to_tree().replace(space=None)
    for old in ({}, {"old": (X[:300], y[:300])}):
        with pytest.raises(InputError, match="got 0, 1, 2, 3 in 100%"):
            retrain(bare, coded, y[300:], **old, **QUICK)


def test_categories_that_are_truly_new_can_be_declared(mixed):
    X, y, first = mixed
    new = X[300:].assign(colour=np.where(np.arange(400) % 4 > 0, "violet", X["colour"][300:]))
    with pytest.raises(InputError, match=r"got 'violet' in 75%.*pass space="):
        retrain(first, new, y[300:], **QUICK)
    space = FeatureSpace.from_data(new).replace(names=first.feature_space_.names)
    problem = prepare_problem(first, Rows(new, y[300:]), space=space)
    assert "violet" in problem.space.categories[2]


def test_some_values_in_another_spelling_are_said(mixed):
    X, y, first = mixed
    new = X[300:].assign(
        colour=np.where(np.arange(400) % 5 == 0, X["colour"][300:].str.title(), X["colour"][300:])
    )
    with pytest.warns(SteadyTreeWarning, match="may be other spellings: 'Blue' beside 'blue'"):
        prepare_problem(first, Rows(new, y[300:]))


def test_numbers_that_stand_for_the_same_category():
    codes = np.array([2.0, 0.0, 0.0, np.nan] * 5)
    note = check_categories("level", (1, 2), (1, 2, "2.0"), codes)
    assert note == "new categories of 'level' that may be other spellings: '2.0' beside 2"
    note = check_categories("level", (1, 2), (1, 2, "2.0"), codes[:4])
    assert note == "new categories of 'level' that may be other spellings: '2.0' beside 2"
    assert check_categories("level", (1, 2), (1, 2), codes) is None
    rare = check_categories(
        "ward", ("x",), ("x", "JaneDoe", "a"), np.repeat([0.0, 1, 2], (20, 2, 6))
    )
    assert rare == "new categories of 'ward': 'JaneDoe', 'a'"
    with pytest.raises(InputError, match="in 67% of the new rows"):
        check_categories("level", ("x",), ("x", "a"), np.array([np.nan, 0.0, 1.0, 1.0]))


@pytest.mark.parametrize("factor", [1000.0, 0.001])
@pytest.mark.parametrize("with_old", [False, True])
def test_other_units_are_noted(mixed, factor, with_old):
    X, y, first = mixed
    new = X[300:].assign(age=X["age"][300:] * factor)
    old = Rows(X[:300], y[:300]) if with_old else None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        problem = prepare_problem(first, Rows(new, y[300:]), old)
    (note,) = (note for note in problem.notes if "other units" in note)
    now = "90,000" if factor > 1 else "0.09"
    assert note == f"column 'age' runs to about {now}; it ran to about 90: other units?"
    assert any(note in str(warning.message) for warning in caught)


def test_a_column_the_tree_does_not_use_is_compared_with_the_old_rows(mixed):
    X, y, first = mixed
    used = first.to_tree().used_features
    assert 3 not in used
    new = X[300:].assign(noise=X["noise"][300:] / 1000)
    with pytest.warns(SteadyTreeWarning, match="column 'noise' runs to"):
        prepare_problem(first, Rows(new, y[300:]), Rows(X[:300], y[:300]))


def test_the_same_units_are_not_noted(mixed):
    X, y, first = mixed
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        prepare_problem(first, Rows(X[300:], y[300:]), Rows(X[:300], y[:300]))
        # A few outliers are no other unit.
        outlier = X[300:].copy()
        outlier.iloc[:5, 0] = 5000.0
        prepare_problem(first, Rows(outlier, y[300:]))
    tree, space = first.to_tree(), first.feature_space_
    few = space.encode(X[300:310].assign(age=X["age"][300:310] * 1000))
    assert changed_units(space, tree, few, None) == {}
