"""Folds keep groups together, time in order, and every class in every fold."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steadytree.evaluation.folds import assign_folds, check_rowwise, make_folds
from steadytree.exceptions import InputError


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
    # Every row from the first block on is scored, the last block too.
    assert set(tested) == set(np.flatnonzero(time >= time[tested].min()))
    assert time[tested].max() == time.max()
    assert len(tested) == len(set(tested.tolist()))
    # Without groups, which alone would keep a row from both sides.
    for train, test in make_folds(y, classifier=True, n_folds=4, time=time):
        assert time[train].max() < time[test].min()
    few = make_folds(np.r_[np.zeros(50, int), 1, 1], classifier=True, n_folds=5)
    assert len(few) == 2
    assert make_folds(np.r_[np.zeros(50, int), 1], classifier=True, n_folds=5) == []


def test_groups_of_a_regression_stay_together():
    y, groups = np.arange(40.0), np.arange(40) // 5
    folds = make_folds(y, classifier=False, n_folds=3, groups=groups)
    assert len(folds) == 3
    for train, test in folds:
        assert not set(groups[train]) & set(groups[test])


@given(st.lists(st.integers(0, 2), min_size=4, max_size=60), st.integers(1, 6))
def test_folds_spread_every_class(labels: list[int], most: int) -> None:
    y = np.array(labels)
    folds = assign_folds(y, classifier=True, most=most, rng=np.random.default_rng(0))
    rarest = min(np.bincount(y)[np.bincount(y) > 0])
    assert folds.max() + 1 == max(1, min(most, rarest))
    for label in np.unique(y):
        counts = np.bincount(folds[y == label], minlength=folds.max() + 1)
        assert counts.max() - counts.min() <= 1


def test_folds_of_a_regression_hold_two_rows_or_more() -> None:
    y = np.linspace(0, 1, 7)
    folds = assign_folds(y, classifier=False, most=5, rng=np.random.default_rng(0))
    assert np.bincount(folds).min() >= 2


def test_entries_by_row_are_counted():
    assert check_rowwise(None, 3, "groups") is None
    with pytest.raises(InputError, match="expected 3 entries in groups"):
        check_rowwise([1, 2], 3, "groups")
