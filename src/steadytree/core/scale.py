"""Where a value lies on its feature's scale: between 0 and 1, by range or by quantiles.

Distances ask how far two thresholds are from each other. On the paper's scale that is their
difference over the range of the feature. Where a few large values stretch the range, most
thresholds then lie close together, and a move that changes many decisions costs next to
nothing. On the quantile scale the difference is the share of the reference rows between them.

The quantile scale is a line through knots ``(value, position)``. They lie half-way between
neighbouring values of the reference rows, where trees cut, and their position is the share of
rows at or below. Rows that hold the lowest or the highest value count half, so that evenly
spread values give the paper's scale.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from steadytree.exceptions import InputError

__all__ = ["SCALES", "FeatureScale", "Knots", "check_knots", "quantile_knots", "share_of_range"]

_Numbers = TypeVar("_Numbers", float, NDArray[np.float64])

SCALES = ("range", "quantile")
MAX_KNOTS = 101
"""Knots of one feature, its two bounds included."""

# Inside the bounds; at the bounds the positions are 0 and 1.
Knots = tuple[tuple[float, float], ...]


class FeatureScale:
    """Positions of one numeric feature's values: a line from bound to bound through knots."""

    __slots__ = ("positions", "values")

    def __init__(self, lower: float, upper: float, knots: Knots | None) -> None:
        self.values = [lower, *(value for value, _ in knots or ()), upper]
        self.positions = [0.0, *(position for _, position in knots or ()), 1.0]

    def below(self, value: float) -> float:
        """Share of the scale below a value; exact at the knots, 0 or 1 outside the bounds."""
        k = bisect_right(self.values, value)
        if k == 0:
            return 0.0
        if k == len(self.values):
            return 1.0
        start, end = self.positions[k - 1], self.positions[k]
        way = share_of_range(value, self.values[k - 1], self.values[k])
        return min(start + (end - start) * way, end)

    def above(self, value: float) -> float:
        """Share of the scale above a value: measured from there, so that little is not lost."""
        k = bisect_left(self.values, value)
        if k == 0:
            return 1.0
        if k == len(self.values):
            return 0.0
        start, end = self.positions[k - 1], self.positions[k]
        way = share_of_range(-value, -self.values[k], -self.values[k - 1])
        return min(1.0 - end + (end - start) * way, 1.0 - start)


def share_of_range(value: _Numbers, lower: float, upper: float) -> _Numbers:
    """(value - lower) / (upper - lower) of a number or an array, where lower < upper.

    Halved first where the difference itself would be beyond the largest number.
    """
    span = upper - lower
    if span == float("inf"):
        value, lower, span = value / 2, lower / 2, upper / 2 - lower / 2
    return (value - lower) / span


def quantile_knots(values: NDArray[np.float64]) -> Knots | None:
    """Knots of a feature from its reference values; None where they are all the same.

    With more gaps between values than knots, those nearest to every hundredth of the rows
    are kept: positions are then right to 0.02, and values held by 2 % of the rows or more
    have a knot on either side.
    """
    distinct, counts = np.unique(values[~np.isnan(values)], return_counts=True)
    if distinct.size < 2:
        return None
    low, high = distinct[:-1], distinct[1:]
    cut = low / 2 + high / 2
    cut = np.where((cut < low) | (cut >= high), low, cut)  # neighbouring floats
    ends = counts[0] + counts[-1]
    # In whole numbers up to the one division, so that equal shares are equal floats.
    position = (2 * counts.cumsum()[:-1] - counts[0]) / (2 * counts.sum() - ends)
    inside = (cut > distinct[0]) & (cut < distinct[-1])
    cut, position = cut[inside], position[inside]
    most = MAX_KNOTS - 2
    if cut.size > most:
        wanted = np.arange(1, most + 1) / (most + 1)
        after = np.clip(np.searchsorted(position, wanted), 1, cut.size - 1)
        nearer_before = wanted - position[after - 1] <= position[after] - wanted
        kept = np.unique(np.where(nearer_before, after - 1, after))
        cut, position = cut[kept], position[kept]
    return tuple(zip(cut.tolist(), position.tolist(), strict=True)) or None


def check_knots(knots: Sequence[Any] | None, lower: float, upper: float, name: str) -> Knots | None:
    """Return the knots as pairs of floats that rise from bound to bound, or say what is wrong."""
    if knots is None or len(knots) == 0:
        return None
    pairs = tuple((float(value), float(position)) for value, position in knots)
    values = [lower, *(value for value, _ in pairs), upper]
    positions = [0.0, *(position for _, position in pairs), 1.0]
    for what, rising, ends in (
        ("values", values, f"{lower:.6g} and {upper:.6g}"),
        ("positions", positions, "0 and 1"),
    ):
        for before, after in pairwise(rising):
            if not before < after:
                raise InputError(
                    f"expected knots of {name!r} with {what} that rise between {ends}, got "
                    f"{before:.6g} before {after:.6g}; take the knots from the reference rows: "
                    "space.scaled_by(X)"
                )
    return pairs
