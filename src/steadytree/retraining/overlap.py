"""Rows and groups that are among the old rows as well as among the new ones.

A score is honest for rows that nothing was trained on. Where the two tables overlap (a
sliding window, the whole history passed as old rows, a patient with visits in both) the old
rows would show the recipe what it is scored on, and the deployed tree has seen it already. On
pure noise that alone gives an AUC of 0.6.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steadytree.core.rows import CodedRows, row_hashes

__all__ = ["Copies", "beyond_chance", "find_copies", "scored_rows"]

BoolArray = NDArray[np.bool_]

CHANCE_ERRORS = 3.0
CLEAR_SHARE = 0.05
FEWEST_SCORED = 20
FEWEST_PER_CLASS = 5


@dataclass(frozen=True, eq=False)
class Copies:
    """New rows that recur among the old rows, beyond what chance explains.

    Attributes
    ----------
    new : bool array
        Which new rows are also among the old rows.
    old : bool array
        Which old rows are their copies; a row that occurs twice in both has two.
    """

    new: BoolArray
    old: BoolArray


def find_copies(new: CodedRows, old: CodedRows) -> Copies | None:
    """Find the new rows that are also among the old ones: equal in all features and outcome.

    Where features take few values rows are equal by chance. How often that happens the old rows
    show among themselves: as many of them have a twin among the others as new rows would have
    by chance. Of the new rows that chance does not explain, a clear share must recur, the larger
    the more rows are equal by chance, and more than three standard errors; else None is returned.
    """
    in_new, in_old = row_hashes(new), row_hashes(old)
    recurs = np.isin(in_new, in_old)
    values, which, count = np.unique(in_old, return_inverse=True, return_counts=True)
    by_chance = float((count[which] > 1).mean())
    if not beyond_chance(float(recurs.mean()), len(new), by_chance):
        return None
    # As many copies of a row as there are new ones: the first of them.
    order = np.argsort(which, kind="stable")
    start = np.concatenate([[0], np.cumsum(count)[:-1]])
    nth = np.empty(len(old), dtype=np.int64)
    nth[order] = np.arange(len(old)) - start[which[order]]
    found, times = np.unique(in_new, return_counts=True)
    at = np.clip(np.searchsorted(found, values), 0, len(found) - 1)
    wanted = np.where(found[at] == values, times[at], 0)
    return Copies(recurs, nth < wanted[which])


def beyond_chance(share: float, n: int, by_chance: float) -> bool:
    """Whether a share of ``n`` new rows that recur is more than rows that are equal by chance."""
    expected = n * by_chance
    slack = CHANCE_ERRORS * np.sqrt(expected * (1 - by_chance) + 1)
    beyond = (share - by_chance) / max(1 - by_chance, 1e-12)
    return bool(share * n > expected + slack and beyond > CLEAR_SHARE + by_chance)


def scored_rows(seen: BoolArray, y: NDArray[np.int64], n_classes: int | None) -> BoolArray | None:
    """Choose the new rows to score on: those the deployed tree has not seen, if they are enough.

    None where they are not: then all rows are scored.
    """
    unseen = ~seen
    if unseen.sum() < FEWEST_SCORED:
        return None
    if n_classes is not None:
        there = np.bincount(y, minlength=n_classes) > 0
        if np.bincount(y[unseen], minlength=n_classes)[there].min() < FEWEST_PER_CLASS:
            return None
    return unseen
