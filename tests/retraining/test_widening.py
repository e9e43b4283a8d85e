"""The space of a retraining: the deployed tree's own, wider only where it must be."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from steadytree.core.space import FeatureSpace
from steadytree.distance import tree_distance
from steadytree.exceptions import SteadyTreeWarning
from steadytree.retraining import retrain
from steadytree.retraining.problem import prepare_problem
from tests.retraining.conftest import QUICK


@pytest.mark.filterwarnings("ignore:column 'age' sends all:steadytree.exceptions.SteadyTreeWarning")
def test_the_space_is_widened_only_where_it_must_be(mixed):
    X, y, first = mixed
    new = X[300:].copy()
    new.iloc[0, 0] = 95.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = retrain(first, new, y[300:], **{**QUICK, "n_folds": 0})
    assert result.space == first.feature_space_
    new["age"] += 100
    with pytest.warns(SteadyTreeWarning, match="of 'age' out of range"):
        result = retrain(first, new, y[300:], **{**QUICK, "n_folds": 0})
    assert result.space.upper[0] > 150


def test_the_space_is_made_from_the_rows_where_the_tree_has_none(cancer):
    X, y, _, _ = cancer
    plain = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X[:250], y[:250])
    quick = {**QUICK, "n_folds": 0}
    result = retrain(plain, X[250:], y[250:], old=(X[:250], y[:250]), **quick)
    expected = FeatureSpace.from_data(X, y)
    np.testing.assert_array_equal(result.space.lower, expected.lower)
    np.testing.assert_array_equal(result.space.upper, expected.upper)


@pytest.mark.filterwarnings("ignore:column 'age' sends all:steadytree.exceptions.SteadyTreeWarning")
def test_a_widened_space_keeps_its_quantile_scale(mixed):
    """What lies between the knots is as far apart as before; only the ends reach further."""
    X, y, first = mixed
    deployed = first.to_tree()
    space = deployed.space.scaled_by(X[:300])
    numeric = [j for j, knots in enumerate(space.knots) if knots is not None]
    new = X[300:].copy()
    name = space.names[numeric[0]]
    new[name] = new[name] + 2 * (space.upper[numeric[0]] - space.lower[numeric[0]])
    with pytest.warns(SteadyTreeWarning, match=f"of '{name}' out of range"):
        problem = prepare_problem(deployed, new, y[300:], space=space)
    assert problem.space.knots == space.knots
    assert problem.space.upper[numeric[0]] > space.upper[numeric[0]]
    options = {"variant": "metric", "normalize": "relative"}
    knots = space.knots[numeric[0]]
    moved = deployed.replace(
        threshold=np.where(
            deployed.feature == numeric[0], knots[len(knots) // 2][0], deployed.threshold
        ),
        label=deployed.label,
    )
    assert moved.threshold.tolist() != deployed.threshold.tolist()
    before = tree_distance(deployed, moved, space=space, **options)
    after = tree_distance(deployed, moved, space=problem.space, **options)
    assert before > 0
    assert after == pytest.approx(before, abs=0.02)
