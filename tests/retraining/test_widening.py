"""The space of a retraining: the deployed tree's own, its ranges for good."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from steadytree.diff.comparison import compare
from steadytree.exceptions import SteadyTreeWarning
from steadytree.retraining import retrain
from tests.retraining.conftest import QUICK

BROKEN = "ignore:column:steadytree.exceptions.SteadyTreeWarning"
BEYOND = "ignore:the new rows go beyond:steadytree.exceptions.SteadyTreeWarning"
CLIPPED = "ignore::steadytree.exceptions.ClippedThresholdWarning"
ONE_DECISION = "ignore::steadytree.exceptions.OneDecisionWarning"


def one_number(result, X_new, y_new) -> None:
    """Check that retraining and comparison give one number for every candidate."""
    for name, number in result.frontier["dissimilarity"].items():
        for X, y in ((X_new, y_new), (X_new, None), (None, None)):
            compared = compare(result.deployed, result.trees[name], X, y)
            assert compared.dissimilarity == pytest.approx(number, abs=1e-12), name
            if not compared.changed_columns:
                assert not compared.own_word


@pytest.mark.filterwarnings(BROKEN, BEYOND, CLIPPED, ONE_DECISION)
def test_a_stored_range_never_widens(mixed):
    """Else new rows could make any change look small, and two calls would give two numbers."""
    X, y, first = mixed
    new = X[300:].copy()
    new.iloc[0, 0] = 95.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = retrain(first, new, y[300:], **{**QUICK, "n_folds": 0})
    assert result.space == first.feature_space_
    assert result.notes == ()
    for shift, columns in ((15, {}), (100, {"age"})):
        later = new.assign(age=new["age"] + shift)
        with pytest.warns(SteadyTreeWarning, match=r"of 'age' out of range.* ranges stay"):
            result = retrain(first, later, y[300:], **{**QUICK, "n_folds": 0, "price": 0.02})
        assert result.space == first.feature_space_
        assert set(result.changed_columns) == set(columns)
        one_number(result, later, y[300:])
        for given in (first, result.deployed):
            found = compare(given, result.model, later, y[300:])
            assert found.dissimilarity == pytest.approx(result.dissimilarity, abs=1e-12)
            assert found.space_note == ""


@pytest.mark.filterwarnings(BEYOND, CLIPPED)
def test_new_categories_and_missing_values_are_measured_alike(mixed):
    """Whatever rows a comparison has, and one without a value does not thin out the change."""
    X, y, first = mixed
    new = X[300:].copy()
    new["colour"] = new["colour"].astype(object)
    new.iloc[::9, list(new.columns).index("colour")] = "violet"
    new.iloc[1::3, 0] = np.nan
    with pytest.warns(SteadyTreeWarning, match="missing values in 'age'; .*'violet'"):
        result = retrain(first, new, y[300:], **{**QUICK, "n_folds": 0, "price": 0.02})
    assert result.tree.space.can_be_missing[0]
    one_number(result, new, y[300:])
    for rows in ((new, y[300:]), (X[300:],), ()):
        for name, tree in result.trees.items():
            number = result.frontier["dissimilarity"][name]
            compared = compare(first, tree, *rows)
            assert compared.dissimilarity == pytest.approx(number, abs=1e-12)
            assert compared.own_word == ()


@pytest.mark.filterwarnings(BROKEN, CLIPPED)
@pytest.mark.parametrize("with_old", [True, False])
def test_one_outlier_is_not_the_yardstick(cancer, with_old):
    """The middle 99 % of the rows is, where the tree has no space: 999 changes next to nothing."""
    X, y, _, _ = cancer
    names = ["mean radius", "mean texture", "worst smoothness"]
    X = X[names]
    plain = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X[:250], y[:250])
    quick = {**QUICK, "n_folds": 0, "price": 0.02}
    numbers = []
    for outlier in (None, 9_999.0):
        old, new = X[:250].copy(), X[250:].copy()
        if outlier is not None:
            for rows in (old, new):
                rows.iloc[3] = outlier
                rows.iloc[4] = np.nan
        given = {"old": (old, y[:250])} if with_old else {}
        result = retrain(plain, new, y[250:], **given, **quick)
        which = "old" if with_old else "new"
        assert result.notes[-1] == result.space_note
        assert result.space_note == (
            "No ranges are stored with the deployed tree: distances are over those of the "
            f"{which} rows, from the 0.5 to the 99.5 % point of each column."
        )
        assert (result.space.upper < 100).all()
        for j in np.flatnonzero(np.isfinite(result.deployed.threshold)):
            at = result.deployed.feature[j]
            low, high = result.space.lower[at], result.space.upper[at]
            assert low <= result.deployed.threshold[j] <= high
        one_number(result, new, y[250:])
        compared = compare(plain, later_tree(X, y), new)
        assert "of the rows given" in compared.space_note
        numbers.append(compared.dissimilarity)
    assert numbers[0] > 0.1
    assert numbers[1] == pytest.approx(numbers[0], rel=0.05)


def later_tree(X, y):
    return DecisionTreeClassifier(max_depth=2, random_state=0).fit(X[250:], y[250:])


@pytest.mark.filterwarnings(BROKEN, CLIPPED)
def test_nor_of_the_responses():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"x": rng.uniform(0, 1, 600), "z": rng.uniform(0, 1, 600)})
    y = 10 * (X["x"] > 0.5) + rng.normal(0, 1, 600)
    plain, other = (
        DecisionTreeRegressor(max_depth=2, random_state=0).fit(X[rows], y[rows])
        for rows in (slice(0, 300), slice(300, 600))
    )
    moved = y.copy()
    moved.iloc[[5, 305]] = 1e6
    ranges = []
    for outcome in (y, moved):
        result = retrain(plain, X[300:], outcome[300:], **{**QUICK, "n_folds": 0})
        ranges.append(result.space.response_range)
        assert compare(plain, other, X[300:], outcome[300:]).diff.space.response_range == (
            result.space.response_range
        )
    np.testing.assert_allclose(*ranges, atol=1.0)
    # The stored one never widens.
    stored = result.deployed.replace(space=result.space)
    again = retrain(stored, X[300:], 3 * y[300:], **{**QUICK, "n_folds": 0})
    assert again.space.response_range == result.space.response_range
