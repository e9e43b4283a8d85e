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
from collections.abc import Collection, Sequence
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from steadytree.exceptions import InputError

# -- a threshold in another number format ------------------------------------------------
# A tree of precision "float32" rounds a value to single precision before it compares. Other
# systems compare doubles, or singles with a strict ``<``. Rounding the threshold to the nearest
# number of the other format moves values that lie on it to the other side; these functions do
# not.

_BEYOND = 2.0**128


def double_threshold(threshold: float, precision: str) -> float:
    """Return T such that ``x <= T`` in doubles is what the tree asks of x.

    For precision "float32" T is the largest double that rounds to a single of at most the
    threshold. An infinite threshold, at which every present value goes left, stays.
    """
    if precision == "float64" or threshold == np.inf:
        return float(threshold)
    below = np.float32(single_threshold(threshold))
    with np.errstate(over="ignore"):
        above = np.nextafter(below, np.float32(np.inf))
    # Rounding treats infinity as one step beyond the largest single.
    low, high = (float(np.clip(float(x), -_BEYOND, _BEYOND)) for x in (below, above))
    middle = low + (high - low) / 2
    # A tie rounds to the single whose last bit is 0, as that of infinity is.
    even = int(below.view(np.uint32)) % 2 == 0
    return middle if even else float(np.nextafter(middle, -np.inf))


def single_threshold(threshold: float) -> float:
    """Return the largest single that is at most the threshold: ``x <= t`` for every single x."""
    if np.isinf(threshold):
        return float(threshold)
    with np.errstate(over="ignore"):
        near = np.float32(threshold)
        # As doubles: numpy would round the threshold to compare it with a single.
        if float(near) > threshold:
            near = np.nextafter(near, np.float32(-np.inf))
    return float(near)


def next_above(threshold: float, precision: str) -> float:
    """Return T such that ``x < T``, in numbers of a precision, is ``x <= threshold``."""
    kind = np.dtype(precision).type
    at = single_threshold(threshold) if precision == "float32" else threshold
    with np.errstate(over="ignore"):
        return float(np.nextafter(kind(at), kind(np.inf)))


# -- sets of categories as the bits of one whole number ----------------------------------
# Setting one bit of a long number after another copies all of them each time, so that 200,000
# categories never end. Long sets go through bytes at once.

_FEW = 64
"""Up to so many bits one after another is quicker."""


def bit_set(codes: Collection[int], count: int) -> int:
    """Return the number with the bits of some codes below ``count``."""
    if count <= _FEW:
        return sum(1 << code for code in set(codes))
    flags = np.zeros(count, dtype=np.uint8)
    flags[np.fromiter(codes, dtype=np.int64, count=len(codes))] = 1
    return int.from_bytes(np.packbits(flags, bitorder="little").tobytes(), "little")


def bit_flags(bits: int, count: int) -> list[int]:
    """Return 1 for each of the first ``count`` bits that is set, else 0."""
    if count <= _FEW:
        return [bits >> code & 1 for code in range(count)]
    flags: list[int] = _unpacked(bits, count).tolist()
    return flags


def codes_in(bits: int, count: int) -> list[int]:
    """Return the positions of the bits that are set among the first ``count``, in order."""
    if count <= _FEW:
        return [code for code in range(count) if bits >> code & 1]
    codes: list[int] = np.flatnonzero(_unpacked(bits, count)).tolist()
    return codes


def _unpacked(bits: int, count: int) -> NDArray[np.uint8]:
    raw = (bits & ((1 << count) - 1)).to_bytes((count + 7) // 8, "little")
    return np.unpackbits(np.frombuffer(raw, dtype=np.uint8), bitorder="little", count=count)


# -- scales ------------------------------------------------------------------------------

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
