"""What predictions of rows are worth, against scikit-learn and by hand."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import brier_score_loss, mean_absolute_error, recall_score, roc_auc_score

from steadytree.evaluation.scores import (
    Predictions,
    absolute_errors,
    area_of,
    decision_costs,
    errors,
    flagged,
    losses,
    mean_cost,
    recall_of,
    share_errors,
    squared_errors,
)
from steadytree.tree.decision import Decision


def test_classes():
    rng = np.random.default_rng(0)
    y, share = rng.integers(0, 2, 80), rng.integers(0, 9, 80) / 8
    found = Predictions(np.column_stack([1 - share, share]), (share > 0.4).astype(np.int32))
    assert area_of(1)(found, y).value == pytest.approx(roc_auc_score(y, share))
    assert area_of(0)(found, y).value == pytest.approx(roc_auc_score(y, share))
    for column in (0, 1):
        expected = recall_score(y, found.label, pos_label=column)
        assert recall_of(column)(found, y).value == pytest.approx(expected)
    assert flagged(1)(found, y).value == found.label.mean()
    assert share_errors(1)(found, y).value == pytest.approx(share.mean() - y.mean())
    assert squared_errors(found, y).value == pytest.approx(brier_score_loss(y, share))
    assert not area_of(1)(found, np.ones(80)).known
    assert np.isnan(recall_of(0)(found, np.ones(80)).value)


def test_a_mistake_costs_what_the_policy_says():
    y, label = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1], dtype=np.int32)
    found = Predictions(np.full((4, 2), 0.5), label)
    for policy, costs in (
        (Decision(), [0, 1, 1, 0]),
        (Decision(threshold=0.2), [0, 0.2, 0.8, 0]),  # a case missed costs four false alarms
        (Decision(class_weight=(1.0, 3.0)), [0, 1, 3, 0]),
    ):
        np.testing.assert_allclose(decision_costs(policy)(found, y), costs)
        assert mean_cost(policy)(found, y).value == pytest.approx(np.mean(costs))


def test_several_classes_sum_the_squared_errors_of_their_shares():
    y, value = np.array([2, 0]), np.array([[0.2, 0.3, 0.5], [1.0, 0.0, 0.0]])
    found = Predictions(value, np.array([2, 0], dtype=np.int32))
    np.testing.assert_allclose(losses(found, y), [0.04 + 0.09 + 0.25, 0])


def test_responses():
    rng = np.random.default_rng(0)
    y, guess = rng.normal(size=(2, 30))
    found = Predictions(guess[:, None], np.zeros(30, dtype=np.int32))
    assert absolute_errors(found, y).value == pytest.approx(mean_absolute_error(y, guess))
    assert errors(found, y).value == pytest.approx((guess - y).mean())
    assert squared_errors(found, y).value == pytest.approx(((guess - y) ** 2).mean())
