"""Tell a handful of values apart by the columns that a pipeline makes of them.

Each category of a raw column, a missing value and a category never met are points in the columns
that the pipeline makes of it: zeros and ones, codes, rates. A condition on the raw column says for
each point on which side it goes; here it becomes a small tree of thresholds on those columns.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Ask", "Question", "Reached", "equal_points", "tell_apart"]

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]


@dataclass(frozen=True)
class Reached:
    """An end: all points here go to one side of the condition (``points``: which)."""

    left: bool
    points: tuple[int, ...] = ()


@dataclass(frozen=True)
class Ask:
    """A threshold on a column; NaN goes as ``missing_left`` says."""

    column: int
    threshold: float
    missing_left: bool
    low: Question
    high: Question


Question = Ask | Reached


def equal_points(cells: FloatArray, left: BoolArray) -> tuple[int, int] | None:
    """Return two points that go to different sides and that no column tells apart, or None."""
    known: dict[bytes, int] = {}
    # A zero and a negative zero are equal to a tree.
    for point, row in enumerate(np.where(cells == 0, 0.0, cells)):
        first = known.setdefault(row.tobytes(), point)
        if left[first] != left[point]:
            return first, point
    return None


def tell_apart(cells: FloatArray, left: BoolArray, columns: list[int]) -> Question:
    """Return thresholds that send each point to its side; no two of them may be equal.

    ``cells`` has a row per point and a column per entry of ``columns``. Greedy: each question
    leaves the purest parts, so that codes are cut into intervals and indicators peeled off.
    """
    return _tell_apart(cells, left, columns, np.arange(len(left)))


def _tell_apart(
    cells: FloatArray, left: BoolArray, columns: list[int], points: NDArray[np.intp]
) -> Question:
    if left[points].all() or not left[points].any():
        return Reached(bool(left[points[0]]), tuple(points.tolist()))
    at, threshold, missing_left, goes_low = _best_question(cells[points], left[points])
    return Ask(
        columns[at],
        threshold,
        missing_left,
        _tell_apart(cells, left, columns, points[goes_low]),
        _tell_apart(cells, left, columns, points[~goes_low]),
    )


def _best_question(cells: FloatArray, left: BoolArray) -> tuple[int, float, bool, BoolArray]:
    """Return the column, the threshold, where NaN goes, and which points go low."""
    best, others = _best_indicator(cells, left)
    for at in others:
        column = cells[:, at]
        gone = np.isnan(column)
        values = np.unique(column[~gone])
        cuts = values[:-1] + np.diff(values) / 2
        # Halfway may round to the larger of two neighbours.
        cuts = np.where(cuts < values[1:], cuts, values[:-1])
        if gone.any() and values.size:
            cuts = np.append(cuts, np.inf)
        if not cuts.size:
            continue
        with np.errstate(invalid="ignore"):
            below = column[:, None] <= cuts
        for missing_left in (False, True) if gone.any() else (False,):
            low = np.where(gone[:, None], missing_left, below)
            scores = _impurity(low, left)
            k = int(scores.argmin())
            if np.isfinite(scores[k]) and (best is None or scores[k] < best[0] - 1e-12):
                best = float(scores[k]), at, float(cuts[k]), missing_left, low[:, k]
    if best is None:
        raise ValueError("points that no column tells apart")
    return best[1:]


def _best_indicator(
    cells: FloatArray, left: BoolArray
) -> tuple[tuple[float, int, float, bool, BoolArray] | None, list[int]]:
    """Return the best question to columns of two values, all at once, and the other columns."""
    low, high = cells.min(axis=0), cells.max(axis=0)
    # With NaN neither holds; a column of one value asks nothing.
    two = ((cells == low) | (cells == high)).all(axis=0) & (low < high)
    others = np.flatnonzero(~two & ~(low == high)).tolist()
    columns = np.flatnonzero(two)
    if not columns.size:
        return None, others
    below = cells[:, columns] == low[columns]
    scores = _impurity(below, left)
    k = int(scores.argmin())
    at = int(columns[k])
    cut = low[at] + (high[at] - low[at]) / 2
    cut = cut if cut < high[at] else low[at]
    return (float(scores[k]), at, float(cut), False, below[:, k]), others


def _impurity(low: BoolArray, left: BoolArray) -> FloatArray:
    """Return the Gini impurity that each question leaves; infinite where it asks nothing."""
    total = np.zeros(low.shape[1])
    for part in (low, ~low):
        n = part.sum(axis=0)
        share = (part & left[:, None]).sum(axis=0) / np.maximum(n, 1)
        total += np.where(n == 0, np.inf, n * share * (1 - share))
    return total
