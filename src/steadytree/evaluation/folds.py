"""Honest scores: rows in folds, so that each is predicted by trees grown without it.

Folds are random (each class spread evenly), by group (a patient is never on both sides) or by
time (train on the earlier rows, score on the next block).
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import GroupKFold, KFold, StratifiedGroupKFold, StratifiedKFold

from steadytree.exceptions import InputError

__all__ = ["Fold", "assign_folds", "check_rowwise", "make_folds"]

Fold = tuple[NDArray[np.intp], NDArray[np.intp]]


def make_folds(
    y: NDArray[Any],
    *,
    classifier: bool,
    n_folds: int,
    groups: NDArray[Any] | None = None,
    time: NDArray[Any] | None = None,
    seed: int = 0,
) -> list[Fold]:
    """Return (train, test) row numbers of the folds; empty if the rows are too few for any."""
    n = len(y)
    if time is not None:
        return _time_folds(n, n_folds, time, groups)
    units = np.arange(n) if groups is None else groups
    smallest = n
    if classifier:
        smallest = min(len(np.unique(units[y == k])) for k in np.unique(y))
    n_folds = min(n_folds, smallest, len(np.unique(units)))
    if n_folds < 2:
        return []
    splitter: Any = GroupKFold(n_folds)
    if classifier or groups is None:
        stratified = StratifiedKFold if groups is None else StratifiedGroupKFold
        kind = stratified if classifier else KFold
        splitter = kind(n_folds, shuffle=True, random_state=seed)
    return list(splitter.split(np.zeros(n), y, groups))


def _time_folds(
    n: int, n_folds: int, time: NDArray[Any], groups: NDArray[Any] | None
) -> list[Fold]:
    """Blocks of time: train on all before, score on the next; equal times stay together."""
    _, rank = np.unique(time, return_inverse=True)
    order = np.sort(rank)
    cuts = sorted({int(order[n * i // (n_folds + 1)]) for i in range(1, n_folds + 1)} - {0})
    out = []
    for start, stop in pairwise([*cuts, int(order[-1]) + 1]):
        train, test = np.flatnonzero(rank < start), np.flatnonzero((rank >= start) & (rank < stop))
        if groups is not None:
            train = train[~np.isin(groups[train], groups[test])]
        if len(train) and len(test):
            out.append((train, test))
    return out


def assign_folds(
    y: NDArray[Any], *, classifier: bool, most: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Assign rows to folds at random, each class spread evenly.

    There are at most ``most`` folds, and no more than the rarest class has rows, so that
    every fold can be scored; with a single fold nothing can be estimated honestly. Unlike
    :func:`make_folds` it gives each row's fold, for scores without a fold, and it draws from
    the caller's own generator.
    """
    n = len(y)
    counts = np.bincount(y) if classifier else np.array([n // 2])
    n_folds = int(max(1, min(most, counts[counts > 0].min())))
    folds = np.empty(n, dtype=np.int64)
    start = 0
    for g in np.unique(y) if classifier else (None,):
        members = np.flatnonzero(y == g) if classifier else np.arange(n)
        folds[rng.permutation(members)] = (start + np.arange(members.size)) % n_folds
        start += members.size
    return folds


def check_rowwise(values: Any, n: int, name: str) -> NDArray[Any] | None:
    """Return groups or times as an array with one entry per new row."""
    if values is None:
        return None
    array = np.asarray(values)
    if array.shape != (n,):
        raise InputError(
            f"expected {n} entries in {name}, one per new row, got shape {array.shape}"
        )
    return array
