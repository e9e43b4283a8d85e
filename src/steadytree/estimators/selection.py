"""Which tree to keep: the Pareto frontier of a collection, and rules that choose from it.

Each candidate has several merits (its distance from the first batch, its score, its size). Trees
that another tree beats on every merit are out; from the rest a rule, or the user's own function,
picks one (the paper, Section 3.1).

Stable trees choose by named rules, :data:`RULES`. A rule is a function
``rule(table, tolerance)`` that returns the position of a row. The table has one row per
candidate with the columns

- ``distance``: how much changes, to be small: the mean distance from the first batch;
- ``dissimilarity``: the same between 0 and 1;
- ``score``: larger is better, NaN where there is none;
- ``eligible``: whether the candidate may be chosen;

and whatever else the wing knows, such as ``n_leaves`` and ``depth``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from steadytree.exceptions import InputError

Rule = str | Callable[[pd.DataFrame], int]
SelectionRule = Callable[[pd.DataFrame, float], int]


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
    >>> from steadytree.estimators.selection import pareto_mask
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


# -- rules --------------------------------------------------------------------------------


def best_by(table: pd.DataFrame, merit: NDArray[np.float64]) -> int:
    """Position of the eligible row of the largest merit.

    Ties go to the better score, then to the smaller distance, then to the first row.

    Parameters
    ----------
    table : DataFrame
        One row per candidate, with ``eligible``, ``score`` and ``distance``.
    merit : float array
        One per row.

    Returns
    -------
    int

    Examples
    --------
    >>> import pandas as pd
    >>> from steadytree.estimators.selection import best_by
    >>> table = pd.DataFrame({
    ...     "eligible": [True, True, False], "score": [0.8, 0.9, 1.0], "distance": [1.0, 2.0, 3.0]
    ... })
    >>> best_by(table, table["score"].to_numpy())
    1
    """
    on = np.flatnonzero(table["eligible"].to_numpy(dtype=bool))
    score, distance = _numbers(table, "score")[on], _numbers(table, "distance")[on]
    return int(on[np.lexsort((on, distance, -score, -merit[on]))[0]])


def by_tolerance(table: pd.DataFrame, tolerance: float) -> int:
    """Choose the least distance among scores of at least max - tolerance * |max|."""
    check_tolerance(tolerance)
    # The best score of all candidates is on the frontier only if score is an objective.
    close = within_tolerance(_numbers(table, "score"), tolerance)
    # With other objectives the frontier may hold no score close enough: take the best.
    if not (close & table["eligible"].to_numpy(dtype=bool)).any():
        return by_score(table, tolerance)
    return best_by(table, np.where(close, -_numbers(table, "distance"), -np.inf))


def by_balance(table: pd.DataFrame, tolerance: float) -> int:
    """Choose the largest (score - dissimilarity) / 2."""
    return best_by(table, (_numbers(table, "score") - _numbers(table, "dissimilarity")) / 2)


def by_score(table: pd.DataFrame, tolerance: float) -> int:
    """Choose the largest score."""
    return best_by(table, _numbers(table, "score"))


def by_distance(table: pd.DataFrame, tolerance: float) -> int:
    """Choose the least distance."""
    return best_by(table, -_numbers(table, "distance"))


RULES: dict[str, SelectionRule] = {
    "tolerance": by_tolerance,
    "balanced": by_balance,
    "score": by_score,
    "distance": by_distance,
}
"""Rules by name, for ``select=`` of stable trees."""


def _numbers(table: pd.DataFrame, column: str) -> NDArray[np.float64]:
    return table[column].to_numpy(dtype=np.float64)


def check_rule(rule: Any) -> None:
    """Refuse a rule that is neither callable nor a name."""
    if not callable(rule) and rule not in list(RULES):
        raise InputError(f"expected select to be one of {list(RULES)} or a callable, got {rule!r}")


def select_candidate(results: pd.DataFrame, rule: Rule, *, tolerance: float = 0.02) -> int:
    """Choose one candidate from the frontier, eq. (select-tree).

    Parameters
    ----------
    results : DataFrame
        One row per candidate with ``mean_distance``, ``mean_dissimilarity``,
        ``selection_score`` and the flag ``on_frontier``.
    rule : name in :data:`RULES` or callable
        "tolerance": the least distance among scores of at least max - tolerance * |max|.
        "balanced": the largest (score - mean dissimilarity) / 2.
        "score": the largest score. "distance": the least distance.
        A callable gets ``results`` and returns the position of a row.
    tolerance : float, default 0.02
        The share of the best score that may be given up for stability.

    Returns
    -------
    int
        Position of the chosen row.
    """
    check_rule(rule)
    if callable(rule):
        choose: Callable[..., Any] = rule
        choice: Any = choose(results)
    else:
        table = results.assign(
            distance=results["mean_distance"],
            dissimilarity=results["mean_dissimilarity"],
            score=results["selection_score"],
            eligible=results["on_frontier"],
        )
        if not table["eligible"].any():
            raise InputError(
                "expected at least one candidate with a score, got none; "
                "check the scorer and the holdout"
            )
        choose = RULES[rule]
        choice = choose(table, tolerance)
    name = getattr(choose, "__name__", type(choose).__name__)
    whole = isinstance(choice, Integral) and not isinstance(choice, bool)
    if not whole or not 0 <= choice < len(results):
        raise InputError(
            f"expected select={name} to return the position of a row, a whole number below "
            f"{len(results)}, got {choice!r}; "
            "results.reset_index(drop=True)['column'].idxmax() is one"
        )
    return int(choice)
