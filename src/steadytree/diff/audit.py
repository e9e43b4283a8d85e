"""Try to compute small numbers of people from everything that is to be told of them.

Many true statements together can give away a number that none of them tells: a total and the
rest, the same people counted by two trees. This is the attack that a reader could make: whole
numbers that fit every statement, found by integer programming. What does not withstand it is
not told.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, milp

__all__ = ["MOST_CELLS", "Statement", "withstands"]

MOST_CELLS = 600
"""Cells beyond which nothing is tried: the work is bounded, and more is hidden instead."""

# Branches of one search; a search that ends early proves nothing, and counts as a success.
_NODES = 500


@dataclass(frozen=True)
class Statement:
    """What is told: the people of some cells, each counted ``factor`` times, are that many."""

    factor: NDArray[np.float64]
    low: float
    high: float


def withstands(
    cells: NDArray[np.intp],
    statements: Sequence[Statement],
    secrets: Sequence[NDArray[np.bool_]],
    enough: int,
) -> bool:
    """Whether every secret can still be so many numbers for whoever knows the statements.

    Parameters
    ----------
    cells : int array
        The people in each cell; the reader is taken to know which ones are empty rules.
    statements
        What is told of them.
    secrets : boolean masks of the cells
        Sums of cells that must not be known.
    enough : int
        How many numbers each must leave possible.
    """
    if not secrets:
        return True
    if cells.size > MOST_CELLS:
        return False
    known = LinearConstraint(
        np.array([s.factor for s in statements]),
        np.array([s.low for s in statements]),
        np.array([s.high for s in statements]),
    )
    sums = np.array(secrets, dtype=np.float64)
    low = high = sums @ cells
    for which, mask in enumerate(sums):
        for sign in (1.0, -1.0):
            # Every solution bounds all secrets: most need no search of their own.
            if high[which] - low[which] + 1 >= enough:
                break
            found = milp(
                sign * mask,
                constraints=known,
                integrality=np.ones(cells.size),
                bounds=Bounds(0, np.inf),
                options={"node_limit": _NODES},
            )
            if found.x is None:
                return False
            there = sums @ np.round(found.x)
            low, high = np.minimum(low, there), np.maximum(high, there)
        if high[which] - low[which] + 1 < enough:
            return False
    return True
