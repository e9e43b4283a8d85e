"""The largest distance two trees of a given depth can have (Proposition 2 of the paper)."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any

from steadytree.exceptions import InputError

__all__ = ["check_label_weight", "check_max_depth", "distance_bound"]

MIN_LABEL_WEIGHT, MAX_LABEL_WEIGHT = 1e-6, 1e6
"""Amounts are whole multiples of one quantum (``distance.amounts``). Within these limits the
labels' part of a distance keeps seven digits or more, the features' part nine."""
MAX_BOUND_DEPTH = 1000


def distance_bound(max_depth: int, label_weight: float = 1.0) -> float:
    r"""Upper bound on the paper's distance between trees of depth at most D.

    .. math:: d(T_1, T_2) \le 2^D (2D + \lambda)

    (the paper, Proposition 2). Use one D for all comparisons: with the depth of each
    pair, deep trees look closer than shallow ones and rankings are inverted.

    Parameters
    ----------
    max_depth : int
        D, the largest depth allowed, not the depth of a particular tree.
    label_weight : float, default 1.0
        The weight of the outcome term.

    Returns
    -------
    float

    Examples
    --------
    >>> from steadytree import distance_bound
    >>> distance_bound(4)
    144.0
    """
    depth, weight = check_max_depth(max_depth), check_label_weight(label_weight)
    if depth > MAX_BOUND_DEPTH:
        raise InputError(
            f"expected max_depth of at most {MAX_BOUND_DEPTH} for a bound that a float can hold, "
            f"got {depth}; pass the largest depth your trees may have, or use "
            'normalize="relative", which needs none'
        )
    return float(2.0**depth * (2 * depth + weight))


def check_max_depth(max_depth: Any) -> int:
    """Return the depth as an int, or say what it should have been."""
    if _is_amount(max_depth) and int(max_depth) == max_depth:
        return int(max_depth)
    raise InputError(f"expected max_depth to be a whole number >= 0, got {max_depth!r}")


def check_label_weight(label_weight: Any) -> float:
    """Return the weight as a float, or say what it should have been."""
    if not _is_amount(label_weight):
        raise InputError(f"expected label_weight to be a number >= 0, got {label_weight!r}")
    if 0 < label_weight < MIN_LABEL_WEIGHT:
        raise InputError(
            f"expected label_weight to be 0 or at least {MIN_LABEL_WEIGHT:g}, got "
            f"{label_weight!r}, which leaves the labels too few digits; pass 0 to leave them out"
        )
    if label_weight > MAX_LABEL_WEIGHT:
        raise InputError(
            f"expected label_weight to be at most {MAX_LABEL_WEIGHT:g}, got {label_weight!r}, "
            f"which leaves the features too few digits; with {MAX_LABEL_WEIGHT:g} the labels "
            "decide everything as well"
        )
    return float(label_weight)


def _is_amount(value: Any) -> bool:
    number = isinstance(value, Real) and not isinstance(value, bool)
    # Compared, not converted: a whole number may be more than a float can hold.
    return number and 0 <= value < math.inf
