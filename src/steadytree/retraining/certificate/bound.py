r"""A lower bound of the objective over all trees of a family, and the best of them.

What keeps the objective from falling into a sum over leaves is relaxed:

*Every old rule has one partner.* With a multiplier :math:`u_q \ge 0` for each old rule q,

.. math:: d'(A, T) \ge \sum_q (w'_q - u_q)
          + \sum_{p} \min\bigl(w'_p,\ \min_q\, d(p, q) - w'_q + u_q\bigr),

with equality at the multipliers of the best matching. Subgradient steps raise the bound.

*The ranking of two classes.* With :math:`v_p` the shares of all events and of all non-events in
leaf p, :math:`2 AUC - 1` is the area of the zonogon :math:`Z = \sum_p [0, v_p]`. For any convex
K Minkowski's inequality gives :math:`\sqrt{area(Z)} \le V(Z, K) / \sqrt{area(K)}`, and the mixed
area V adds up over the leaves. On an interval of :math:`\sqrt{area}` the square lies below its
chord, so what is left is again a sum; intervals are halved where that costs too much.

The least sum over all trees that start with one condition is dynamic programming. Where the
bound stays below the best tree known, the few trees that it leaves are tried one by one.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from steadytree.growing.binning import FloatArray
from steadytree.retraining.certificate.sides import (
    Conditions,
    FirstConditions,
    Relaxation,
)

__all__ = ["TOLERANCE", "Bounded", "Bounds", "bound_part", "close_gap", "start_shape"]

TOLERANCE = 1e-9
"""A tree that is better by less is not better but rounded."""
FIRST_STEPS, MORE_STEPS = 8, 30
SHAPE_EVERY = 4
NARROW = 0.004
"""Intervals of the square root of the area are not halved below this."""


@dataclass
class Bounded:
    """What is known of some families of trees.

    Attributes
    ----------
    best : float
        Objective of the best tree that was met, given or found.
    tree : (part, conditions) or None
        Number of the part that the best tree replaces, and by what; None where it was given.
    work : float
        Leaves and trees that were looked at to come closer, after a first bound.
    """

    best: float
    tree: tuple[int, Conditions] | None = None
    work: float = 0.0


Bounds = dict[int, tuple[float, Relaxation]]
"""Bound of each first condition that is not ruled out, and what it was reached with."""


def bound_part(place: FirstConditions, number: int, start: Relaxation, out: Bounded) -> Bounds:
    """Bound the objective of the trees with each first condition in one place.

    ``start`` is a relaxation to begin with (its interval is not used).
    """
    bounds: Bounds = {}
    for cut in range(place.n_cuts):
        if place.prepare(cut):
            whole = replace(start, interval=place.interval(start))
            value, best = _raise(place, (number, cut), whole, FIRST_STEPS, 0.0, out)
            if value < out.best - TOLERANCE:
                bounds[cut] = value, best
    return bounds


def close_gap(
    place_of: Callable[[int], FirstConditions],
    bounds: list[Bounds],
    margin: float,
    most_work: float,
    out: Bounded,
) -> float:
    """Raise the lowest bound again and again, and return the lowest that is left.

    ``place_of`` gives a place by its number, ``bounds`` are those of each place. It ends when
    no bound is below the best tree known, when the lowest cannot be raised any further, or when
    ``most_work`` is done. First all trees are ruled out that are better than the best one known
    by more than a ``margin``, which takes far less work than telling all trees apart.
    """
    waiting = [
        (value, part, cut, 0, by)
        for part, some in enumerate(bounds)
        for cut, (value, by) in some.items()
    ]
    heapq.heapify(waiting)
    order, stuck = 0, np.inf

    def wait(value: float, part: int, cut: int, by: Relaxation) -> None:
        nonlocal order
        order += 1  # equal bounds: first come, first served
        heapq.heappush(waiting, (value, part, cut, order, by))

    while waiting:
        value, part, cut, _, by = heapq.heappop(waiting)
        if value >= min(out.best - TOLERANCE, stuck) or out.work >= most_work:
            return float(min(value, stuck, out.best))
        place = place_of(part)
        place.prepare(cut)
        slack = margin if value < out.best - margin - TOLERANCE else 0.0
        raised, by = _raise(place, (part, cut), by, MORE_STEPS, slack, out)
        out.work += MORE_STEPS * place.n_leaves
        value = max(value, raised)
        if value >= out.best - slack - TOLERANCE:
            wait(value, part, cut, by)
            continue
        tried = place.try_all(by, out.best - slack)
        out.work += tried.work
        limit = out.best - slack
        if tried.leaves is not None:
            out.best, out.tree = tried.best, (part, place.conditions(cut, tried.leaves))
        low, high = by.interval
        if tried.done:
            wait(max(value, min(limit, out.best - slack)), part, cut, by)
        elif high - low > NARROW:
            middle = (low + high) / 2
            for half in ((low, middle), (middle, high)):
                wait(value, part, cut, replace(by, interval=half))
        else:
            stuck = min(stuck, value)
    return float(min(stuck, out.best))


def _raise(
    place: FirstConditions,
    at: tuple[int, int],
    by: Relaxation,
    steps: int,
    margin: float,
    out: Bounded,
) -> tuple[float, Relaxation]:
    """Raise the bound by steps along its subgradient, and meet trees on the way."""
    objective = place.objective
    best, top, length, failed = -np.inf, by, 1.0, 0
    for step in range(steps):
        value, used = place.relax(by)
        met, shape = place.met()
        if met < out.best - TOLERANCE:
            out.best, out.tree = met, (at[0], place.met_conditions(at[1]))
        if value > best:
            best, top, failed = value, by, 0
        else:
            failed += 1
            if failed == 3:
                by, length, failed = top, length / 2, 0
        if best >= out.best - margin - TOLERANCE:
            break
        slope = used - 1.0
        slope[(by.multipliers <= 0) & (slope < 0)] = 0.0
        norm = objective.price * float(slope @ slope)
        fresh = objective.ranking > 0 and shape is not None and step % SHAPE_EVERY == 0
        if norm == 0 and not fresh:
            break
        multipliers = by.multipliers
        if norm > 0:
            way = length * (out.best - value) / norm
            multipliers = np.maximum(multipliers + way * slope, 0.0)
        by = replace(by, multipliers=multipliers)
        if fresh and shape is not None:
            by = replace(by, shape=shape)
    return best, top


def start_shape(shapes: list[FloatArray | None]) -> FloatArray:
    """Return the first shape that is not flat, or else the unit square."""
    square = np.array([[0.5, 0.0], [0.0, 0.5]])
    return next((shape for shape in shapes if shape is not None), square)
