"""Which tree to keep: the Pareto frontier of a collection, and rules that choose from it.

Each candidate has several merits (its distance from the first batch, its score, its
size). Trees that another tree beats on every merit are out; from the rest a rule, or the
user's own function, picks one (the paper, Section 3.1).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from steadytree.exceptions import InputError

__all__ = [
    "RULES",
    "Rule",
    "check_tolerance",
    "pareto_mask",
    "select_candidate",
    "within_tolerance",
]

RULES = ("tolerance", "balanced", "score", "distance")

Rule = str | Callable[[pd.DataFrame], int]


def pareto_mask(objectives: ArrayLike, maximize: bool | Sequence[bool]) -> NDArray[np.bool_]:
    """Flag the candidates that no other candidate beats.

    The set T* of the paper, Section 3.1, in any number of objectives: a candidate is out
    if another one is at least as good in every objective and strictly better in one. Of
    candidates with exactly equal objectives the first is kept.

    Parameters
    ----------
    objectives : array of shape (n_candidates, n_objectives)
        A candidate with a NaN is never on the frontier.
    maximize : bool or sequence of bool
        For each objective whether larger is better.

    Returns
    -------
    boolean array of shape (n_candidates,)

    Examples
    --------
    >>> from steadytree.selection import pareto_mask
    >>> pareto_mask([[1.0, 0.8], [2.0, 0.9], [2.0, 0.7], [1.0, 0.8]], [False, True])
    array([ True,  True, False, False])
    """
    points = np.array(objectives, dtype=np.float64)
    if points.ndim != 2:
        raise InputError(
            f"expected objectives of shape (candidates, objectives), got {points.shape}; "
            "stack them with np.column_stack"
        )
    flags = np.asarray(maximize)
    if flags.ndim == 0:
        flags = np.full(points.shape[1], bool(flags))
    if flags.shape != (points.shape[1],) or flags.dtype != bool:
        raise InputError(
            f"expected maximize to be True, False or {points.shape[1]} of them, got {maximize!r}"
        )
    costs = np.where(flags, -points, points)
    mask = np.zeros(len(costs), dtype=bool)
    usable = np.flatnonzero(~np.isnan(costs).any(axis=1))
    # In lexicographic order nothing later can dominate anything earlier, and of equal points
    # the first index comes first: one pass against the frontier so far is enough.
    order = usable[np.lexsort((usable, *costs[usable].T[::-1]))]
    frontier = np.empty((0, costs.shape[1]))
    for i in order:
        if not (frontier <= costs[i]).all(axis=1).any():
            mask[i] = True
            frontier = np.vstack([frontier, costs[i]])
    return mask


def check_tolerance(tolerance: Any) -> None:
    """Refuse a tolerance that is not a number >= 0."""
    number = isinstance(tolerance, Real) and not isinstance(tolerance, bool)
    if not (number and float(tolerance) >= 0):
        raise InputError(
            f"expected tolerance >= 0, got {tolerance!r}; it is a share of the best score"
        )


def within_tolerance(scores: NDArray[np.float64], tolerance: float) -> NDArray[np.bool_]:
    """Flag scores of at least max - tolerance * |max|.

    The indicator of the paper's f after eq. (select-tree); the absolute value keeps its
    meaning where scores are negative.
    """
    best = np.nanmax(scores)
    return np.asarray(scores >= best - tolerance * abs(best))


def select_candidate(
    results: pd.DataFrame,
    rule: Rule,
    *,
    tolerance: float = 0.02,
) -> int:
    """Choose one candidate from the frontier, eq. (select-tree).

    Parameters
    ----------
    results : DataFrame
        One row per candidate with ``mean_distance``, ``mean_dissimilarity``,
        ``selection_score`` and the flag ``on_frontier``.
    rule : {"tolerance", "balanced", "score", "distance"} or callable
        "tolerance": the least distance among scores of at least max - tolerance * |max|.
        "balanced": the largest (score - mean dissimilarity) / 2.
        "score": the largest score. "distance": the least distance.
        Ties go to the better score, then to the smaller distance, then to the first row.
        A callable gets ``results`` and returns the position of a row.
    tolerance : float, default 0.02
        The share of the best score that may be given up for stability.

    Returns
    -------
    int
        Position of the chosen row.
    """
    if callable(rule):
        return _checked_choice(rule(results), len(results), rule)
    if rule not in RULES:
        raise InputError(f"expected select to be one of {list(RULES)} or a callable, got {rule!r}")
    if rule == "tolerance" and not tolerance >= 0:
        raise InputError(f"expected tolerance >= 0, got {tolerance!r}")
    on = np.flatnonzero(results["on_frontier"].to_numpy())
    if not on.size:
        raise InputError(
            "expected at least one candidate with a score, got none; "
            "check the scorer and the holdout"
        )
    score = results["selection_score"].to_numpy(dtype=np.float64)[on]
    distance = results["mean_distance"].to_numpy(dtype=np.float64)[on]
    if rule == "tolerance":
        # The best score of all candidates is on the frontier only if score is an objective.
        every = results["selection_score"].to_numpy(dtype=np.float64)
        close = within_tolerance(every, tolerance)[on]
        # With other objectives the frontier may hold no score close enough: take the best.
        merit = np.where(close, -distance, -np.inf) if close.any() else score
    elif rule == "balanced":
        merit = (score - results["mean_dissimilarity"].to_numpy(dtype=np.float64)[on]) / 2
    else:
        merit = score if rule == "score" else -distance
    return int(on[np.lexsort((on, distance, -score, -merit))[0]])


def _checked_choice(choice: Any, count: int, rule: Any) -> int:
    """Check what a user's rule returned: the position of a row."""
    name = getattr(rule, "__name__", type(rule).__name__)
    if isinstance(choice, (bool, np.bool_)) or not isinstance(choice, Integral):
        raise InputError(
            f"expected select={name} to return the position of a row, a whole number, "
            f"got {choice!r} of type {type(choice).__name__}; "
            "results.reset_index(drop=True)['column'].idxmax() is one"
        )
    position = int(choice)
    if not 0 <= position < count:
        raise InputError(
            f"expected select={name} to return a position in [0, {count}), got {position}"
        )
    return position
