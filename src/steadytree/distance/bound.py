"""The largest distance two trees of a given depth can have (Proposition 2 of the paper)."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any

from steadytree.exceptions import InputError

__all__ = ["check_label_weight", "check_max_depth", "distance_bound"]


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

    Examples
    --------
    >>> from steadytree import distance_bound
    >>> distance_bound(4)
    144.0
    """
    depth, weight = check_max_depth(max_depth), check_label_weight(label_weight)
    return float(2.0**depth * (2 * depth + weight))


def check_max_depth(max_depth: Any) -> int:
    """Return the depth as an int, or say what it should have been."""
    if _is_amount(max_depth) and int(max_depth) == max_depth:
        return int(max_depth)
    raise InputError(f"expected max_depth to be a whole number >= 0, got {max_depth!r}")


def check_label_weight(label_weight: Any) -> float:
    """Return the weight as a float, or say what it should have been."""
    if _is_amount(label_weight):
        return float(label_weight)
    raise InputError(f"expected label_weight to be a number >= 0, got {label_weight!r}")


def _is_amount(value: Any) -> bool:
    number = isinstance(value, Real) and not isinstance(value, bool)
    return number and math.isfinite(value) and value >= 0
