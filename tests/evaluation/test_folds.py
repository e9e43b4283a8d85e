"""Folds keep groups together, time in order, and every class in every fold."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steadytree.evaluation.cross_fitting import assign_folds, check_rowwise, make_folds
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


def test_blocks_of_time_are_equal_parts_of_the_rows():
    """Twelve rows, three folds: a quarter to begin with, then a quarter at a time."""
    time = np.random.default_rng(0).permutation(12)
    folds = make_folds(np.zeros(12), classifier=False, n_folds=3, time=time)
    assert [sorted(time[test]) for _, test in folds] == [[3, 4, 5], [6, 7, 8], [9, 10, 11]]
    assert [sorted(time[train]) for train, _ in folds] == [list(range(n)) for n in (3, 6, 9)]
    # Equal times stay together, and one time alone cannot be divided.
    tied = np.repeat([1990, 1991, 1992], [8, 2, 2])
    folds = make_folds(np.zeros(12), classifier=False, n_folds=3, time=tied)
    assert [(len(train), len(test)) for train, test in folds] == [(8, 4)]
    assert make_folds(np.zeros(12), classifier=False, n_folds=3, time=np.zeros(12)) == []
    # A group that is scored on is not trained on; without rows to train on there is no fold.
    groups = np.where(time < 6, time % 3, 7)
    folds = make_folds(np.zeros(12), classifier=False, n_folds=3, time=time, groups=groups)
    assert [sorted(time[train]) for train, _ in folds] == [list(range(6)), list(range(6))]


def test_there_are_no_more_folds_than_units():
    y = np.arange(10.0)
    assert len(make_folds(y, classifier=False, n_folds=20)) == 10
    assert len(make_folds(y, classifier=False, n_folds=4, groups=np.arange(10) // 5)) == 2
    assert make_folds(y, classifier=False, n_folds=4, groups=np.zeros(10)) == []
    assert make_folds(y, classifier=False, n_folds=1) == []
    three = np.repeat([0, 1, 2], [10, 2, 10])  # the rarest class decides
    assert len(make_folds(three, classifier=True, n_folds=5)) == 2
    two = np.arange(10) % 2
    groups = np.where(two == 1, np.arange(10) // 4, np.arange(10))  # ones in three groups
    assert len(make_folds(two, classifier=True, n_folds=5, groups=groups)) == 3


def test_a_seed_draws_the_folds():
    y = np.arange(40) % 2
    one, same, other = (
        [test.tolist() for _, test in make_folds(y, classifier=True, n_folds=4, seed=seed)]
        for seed in (1, 1, 2)
    )
    assert one == same != other
    shuffled = make_folds(np.arange(40.0), classifier=False, n_folds=4)
    assert [test.tolist() for _, test in shuffled] != np.arange(40).reshape(4, 10).tolist()
    for _, test in make_folds(y, classifier=True, n_folds=4):
        assert y[test].sum() == 5


def test_folds_of_single_rows_are_of_equal_size():
    """What one class leaves over the next class begins with."""
    y = np.repeat([0, 1, 2], [4, 5, 6])
    folds = assign_folds(y, classifier=True, most=3, rng=np.random.default_rng(0))
    assert np.bincount(folds).tolist() == [5, 5, 5]
    again = assign_folds(y, classifier=True, most=3, rng=np.random.default_rng(1))
    assert folds.tolist() != again.tolist()
    numbers = assign_folds(np.ones(9), classifier=False, most=4, rng=np.random.default_rng(0))
    assert np.bincount(numbers).tolist() == [3, 2, 2, 2]
    assert (
        assign_folds(np.ones(3), classifier=False, most=4, rng=np.random.default_rng(0)).max() == 0
    )


def test_entries_by_row_are_an_array():
    assert check_rowwise((1, 2, 3), 3, "time").tolist() == [1, 2, 3]
    with pytest.raises(InputError, match=r"got shape \(3, 1\)"):
        check_rowwise(np.zeros((3, 1)), 3, "time")
