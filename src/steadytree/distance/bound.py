"""The largest distance two trees of a given depth can have (Proposition 2 of the paper)."""

from __future__ import annotations

from steadytree.exceptions import InputError

__all__ = ["distance_bound"]


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
    if isinstance(max_depth, bool) or int(max_depth) != max_depth or max_depth < 0:
        raise InputError(f"expected max_depth to be a whole number >= 0, got {max_depth!r}")
    if not label_weight >= 0:
        raise InputError(f"expected label_weight >= 0, got {label_weight!r}")
    return float(2.0 ** int(max_depth) * (2 * int(max_depth) + label_weight))
