"""Scores against scikit-learn, their standard errors against simulation, intervals."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest
from sklearn.metrics import r2_score, roc_auc_score

from steadytree.evaluation.folds import make_folds
from steadytree.evaluation.scores import (
    auc_influence,
    r2_influence,
    score_rows,
    standard_error,
    wilson,
)


@given(st.integers(0, 10_000))
def test_auc_is_scikit_learns_with_ties(seed):
    rng = np.random.default_rng(seed)
    y = np.r_[True, False, rng.random(30) < 0.4]
    score = rng.integers(0, 6, y.size) / 5
    made = auc_influence(y, score)
    assert made.value == pytest.approx(roc_auc_score(y, score))
    assert made.influence.sum() == pytest.approx(0, abs=1e-12)


def test_several_classes_and_responses():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 200)
    value = rng.dirichlet([1, 1, 1], 200)
    expected = np.mean([roc_auc_score(y == k, value[:, k]) for k in range(3)])
    assert score_rows(y, value, classifier=True).value == pytest.approx(expected)
    response = rng.normal(size=200)
    guess = response + rng.normal(size=200)
    made = score_rows(response, guess[:, None], classifier=False)
    assert made.value == pytest.approx(r2_score(response, guess))
    assert np.isnan(auc_influence(np.ones(5, dtype=bool), np.arange(5.0)).value)


@pytest.mark.parametrize("kind", ["auc", "r2"])
def test_standard_errors_match_the_spread_over_samples(kind):
    rng = np.random.default_rng(0)
    values, errors = [], []
    for _ in range(400):
        x = rng.normal(size=300)
        y = x + rng.normal(size=300)
        made = auc_influence(y > 0.5, x) if kind == "auc" else r2_influence(y, x)
        values.append(made.value)
        errors.append(standard_error(made.influence))
    assert np.mean(errors) == pytest.approx(np.std(values), rel=0.12)


def test_rows_of_a_group_count_together():
    rng = np.random.default_rng(0)
    x = rng.normal(size=200)
    y = x + rng.normal(size=200) > 0
    twice = np.repeat(np.arange(200), 2)
    once = auc_influence(y, x)
    doubled = auc_influence(y[twice], x[twice])
    assert standard_error(doubled.influence) < 0.75 * standard_error(once.influence)
    assert standard_error(doubled.influence, twice) == pytest.approx(
        standard_error(once.influence), rel=1e-6
    )


@pytest.mark.parametrize(("hits", "n"), [(0, 10), (3, 10), (10, 10), (40, 321)])
def test_wilson_is_scipys(hits, n):
    expected = binomtest(hits, n).proportion_ci(0.95, method="wilson")
    assert wilson(hits, n) == pytest.approx((expected.low, expected.high), abs=1e-9)


def test_folds_keep_groups_and_time_in_order():
    rng = np.random.default_rng(0)
    y = (rng.random(300) < 0.3).astype(int)
    groups = rng.integers(0, 60, 300)
    for train, test in make_folds(y, classifier=True, n_folds=4, groups=groups):
        assert not set(groups[train]) & set(groups[test])
    time = rng.integers(1990, 2000, 300)
    folds = make_folds(y, classifier=True, n_folds=4, time=time, groups=groups)
    assert len(folds) == 4
    for train, test in folds:
        assert time[train].max() < time[test].min()
        assert not set(groups[train]) & set(groups[test])
    tested = np.concatenate([test for _, test in folds])
    assert len(tested) == len(set(tested.tolist()))
    few = make_folds(np.r_[np.zeros(50, int), 1, 1], classifier=True, n_folds=5)
    assert len(few) == 2
    assert make_folds(np.r_[np.zeros(50, int), 1], classifier=True, n_folds=5) == []
