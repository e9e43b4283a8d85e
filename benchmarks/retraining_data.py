"""Data of the retraining table: which sets, their two halves, and how rows are split.

The halves were fixed by this rule before anything was tuned: names in alphabetical order,
every other one (from the first) for tuning, the rest untouched.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reproduction.data import TIME_ORDERED, list_case_studies, load_case_study

NAMES = tuple(sorted(list_case_studies()))
TUNING = NAMES[::2]
UNTOUCHED = NAMES[1::2]

MOST_ROWS = 4_000
DEPLOY, NEW = 0.4, 0.3


@dataclass(frozen=True)
class Parts:
    """Deploy, new and test rows of one data set."""

    name: str
    X_old: pd.DataFrame
    y_old: NDArray[np.int64]
    X_new: pd.DataFrame
    y_new: NDArray[np.int64]
    X_test: pd.DataFrame
    y_test: NDArray[np.int64]
    base_rate: float

    @property
    def X_all(self) -> pd.DataFrame:
        return pd.concat([self.X_old, self.X_new], ignore_index=True)

    @property
    def y_all(self) -> NDArray[np.int64]:
        return np.concatenate([self.y_old, self.y_new])


def split(name: str, seed: int) -> Parts:
    """40 % deploy, 30 % new, 30 % test of at most 4,000 rows (and nine tenths of the set).

    In order of time where the set has a calendar year (the test rows are then the latest),
    else at random. Rows of one group (a crash) stay together.
    """
    study = load_case_study(name)
    y = np.asarray(study.y).astype(np.int64)
    rng = np.random.default_rng([seed, NAMES.index(name)])
    unit = np.arange(len(y)) if study.groups is None else pd.factorize(study.groups)[0]
    units = rng.permutation(unit.max() + 1)
    sizes = np.bincount(unit)[units]
    budget = min(MOST_ROWS, 0.9 * len(y))
    units = units[np.cumsum(sizes) <= budget]
    if name in TIME_ORDERED:
        first = pd.Series(np.asarray(study.time, dtype=float)).groupby(unit).min().to_numpy()
        units = units[np.argsort(first[units], kind="stable")]
    sizes = np.bincount(unit)[units]
    at = np.searchsorted(np.cumsum(sizes), [DEPLOY * sizes.sum(), (DEPLOY + NEW) * sizes.sum()])
    part_of = np.full(unit.max() + 1, -1)
    for i, members in enumerate(np.split(units, at)):
        part_of[members] = i
    part = part_of[unit]

    def take(i: int) -> tuple[pd.DataFrame, Any]:
        rows = np.flatnonzero(part == i)
        return study.X.iloc[rows].reset_index(drop=True), y[rows]

    (X0, y0), (X1, y1), (X2, y2) = take(0), take(1), take(2)
    return Parts(name, X0, y0, X1, y1, X2, y2, float(y0.mean()))
