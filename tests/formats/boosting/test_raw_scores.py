"""Scores of boosted leaves as shares and responses."""

from __future__ import annotations

import numpy as np
import pytest

from steadytree.exceptions import UnsupportedModelError
from steadytree.formats.boosting.leaf_scores import (
    Outcome,
    identity,
    logistic,
    refuse_objective,
    softmax,
    two_shares,
)


def test_log_odds_become_shares_without_overflow() -> None:
    raw = np.array([-1e308, -800.0, 0.0, np.log(3), 800.0])
    np.testing.assert_allclose(logistic(raw), [0, 0, 0.5, 0.75, 1])
    np.testing.assert_allclose(logistic(raw[2:4], scale=2.0), [0.5, 0.9])
    np.testing.assert_array_equal(two_shares(logistic(raw)).sum(axis=1), 1)


def test_scores_of_several_classes_become_shares() -> None:
    shares = softmax(np.array([[0.0, np.log(3), 0.0], [900.0, -900.0, 900.0]]))
    np.testing.assert_allclose(shares, [[0.2, 0.6, 0.2], [0.5, 0, 0.5]])


def test_an_outcome_has_one_row_per_leaf() -> None:
    assert Outcome(identity).of([1.0, 2.0]).tolist() == [[1.0], [2.0]]
    shares = Outcome(lambda raw: two_shares(logistic(raw)), ("no", "yes"))
    assert shares.of([0.0]).tolist() == [[0.5, 0.5]]
    assert np.isinf(Outcome(np.exp).of([1e9])).all()  # for the tree to refuse, without a warning


def test_an_objective_is_refused_by_its_name() -> None:
    with pytest.raises(UnsupportedModelError, match="objectives a, b, got 'c'; fit it with one"):
        refuse_objective("c", "LightGBM", ("b", "a"))
