"""A threshold in another number format, so that every value still goes where it went.

A tree of precision "float32" rounds a value to single precision before it compares. Other systems
compare doubles, or singles with a strict ``<``. Rounding the threshold to the nearest number of the
other format moves values that lie on it to the other side; these functions do not.
"""

from __future__ import annotations

import numpy as np

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
