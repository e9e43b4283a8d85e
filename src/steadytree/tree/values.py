"""Numbers that trees compare: thresholds in another format, sets as bits, shares of a range."""

from __future__ import annotations

from collections.abc import Collection
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

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


# -- where a value lies in a range -------------------------------------------------------

_Numbers = TypeVar("_Numbers", float, NDArray[np.float64])


def share_of_range(value: _Numbers, lower: float, upper: float) -> _Numbers:
    """(value - lower) / (upper - lower) of a number or an array, where lower < upper.

    Halved first where the difference itself would be beyond the largest number.
    """
    span = upper - lower
    if span == float("inf"):
        value, lower, span = value / 2, lower / 2, upper / 2 - lower / 2
    return (value - lower) / span
