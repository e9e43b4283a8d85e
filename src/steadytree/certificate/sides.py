"""The trees of a family that share their first condition: both sides, leaf by leaf.

Below a first condition the relaxed objective is a sum over both sides, so that the best of
millions of trees is found from tables of at most a few ten thousand leaves.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from steadytree.certificate import leaf_loops, subtree_loops
from steadytree.certificate.family import Family, IntArray, LeafwiseObjective
from steadytree.certificate.leaf_loops import Layout, Leaves
from steadytree.growing.best_first import FloatArray

Conditions = tuple[int, "Conditions | None", "Conditions | None"]
"""A tree: the number of its first cut, and what follows left and right (None: a leaf)."""

MOST_SUBTREES, MOST_PAIRS, MOST_MATCHINGS = 40_000, 300_000, 20_000
FLAT = 1e-4
"""A zonogon of less area bounds nothing well."""


@dataclass(frozen=True, eq=False)
class Part:
    """A place in a tree, with everything outside it fixed.

    ``rows`` are those that come there, ``states`` what is demanded of each feature of the
    family, ``rest`` the leaves of the tree outside it (none where the place is the root).
    """

    rows: IntArray
    states: IntArray
    rest: Leaves


@dataclass(frozen=True, eq=False)
class Relaxation:
    """What makes the objective a sum over leaves; see ``bound``.

    ``multipliers`` are those of the old rules, ``shape`` is the zonogon to measure widths
    across, and the square root of the area of a tree's own lies within ``interval``.
    """

    multipliers: FloatArray
    shape: FloatArray
    interval: tuple[float, float]


@dataclass(frozen=True, eq=False)
class Tried:
    """Outcome of trying trees one by one.

    ``done`` is False where there were too many. ``leaves`` are those of the best tree on both
    sides where it beats the incumbent, ``best`` is its objective or else the incumbent.
    """

    done: bool
    best: float
    leaves: IntArray | None
    work: float


@dataclass(eq=False)
class _Side:
    """Some leaves, their relaxed costs, and the cheapest subtree that has them."""

    leaves: Leaves
    cost: FloatArray = field(init=False)
    near: FloatArray = field(init=False)
    partner: IntArray = field(init=False)
    chosen: IntArray = field(init=False)
    least: float = 0.0

    def __post_init__(self) -> None:
        n = self.leaves.fixed.shape[0]
        self.cost, self.near = np.zeros(n), np.zeros(n)
        self.partner = np.zeros(n, dtype=np.int64)
        self.chosen = np.zeros(4, dtype=np.int64)


class FirstConditions:
    """Trees of a family in one place of a tree by their first condition, one at a time."""

    def __init__(self, family: Family, objective: LeafwiseObjective, part: Part) -> None:
        self.family, self.objective, self.part = family, objective, part
        self.n_cuts, self.below = len(family.cuts), family.depth - 1
        states = family.states
        self.layout = Layout(
            family.feature,
            np.concatenate([[0], np.cumsum(family.n_atoms)]).astype(np.int64),
            family.left,
            states.full,
            states.after,
            states.added,
            family.base,
        )
        stats = objective.stats[part.rows]
        counted = (stats != 0).any(axis=1)
        self.atoms = family.atoms[part.rows][counted]
        self.stats = np.ascontiguousarray(stats[counted])
        self.total = self.stats.sum(axis=0)
        n_atoms, n_stats = family.left.shape[1], self.stats.shape[1]
        self._pairs = np.zeros((n_atoms, n_atoms, n_stats))
        self._half = np.zeros((n_atoms, n_stats))
        self.whole = self._cut_sums(np.ones(len(self.atoms), dtype=bool))
        n_rules = objective.judging.rule_price.shape[0]
        one, two = (
            _Side(leaf_loops.empty_leaves(self.n_cuts, self.below, n_rules)) for _ in range(2)
        )
        self.sides = one, two
        self.rest = _Side(part.rest)
        self.start = family.base + states.added[part.states].sum(axis=0)

    def _cut_sums(self, chosen: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> FloatArray:
        table = np.zeros((self.n_cuts, self.n_cuts, self.stats.shape[1]))
        leaf_loops.atom_pairs(self.atoms, self.stats, chosen, self._pairs)
        leaf_loops.cut_sums(self._pairs, self.layout, self._half, table)
        return table

    @property
    def n_leaves(self) -> int:
        """Leaves that one evaluation goes through."""
        return sum(side.cost.size for side in (*self.sides, self.rest))

    def prepare(self, cut: int) -> bool:
        """Fill both sides of a first condition; False where one has too few rows."""
        family, judging = self.family, self.objective.judging
        j = int(family.feature[cut])
        left = np.ascontiguousarray(self.whole[cut, cut])
        now = int(self.part.states[j])
        after = family.states.after[now, cut]
        least = min(left[0], self.total[0] - left[0])
        if least < judging.min_leaf - 0.5 or after.min() < 0:
            return False
        one = np.ascontiguousarray(self.whole[cut])
        every = self.whole.diagonal().T
        two = other = self.whole
        if self.below == 2:
            goes = family.left[cut, self.atoms[:, j]]
            smaller_left = goes.sum() * 2 <= goes.size
            two = self._cut_sums(goes if smaller_left else ~goes)
            other = self.whole - two
            if not smaller_left:
                two, other = other, two
        for k, sums in enumerate(
            ((left, one, two), (self.total - left, np.ascontiguousarray(every - one), other))
        ):
            states = self.part.states.copy()
            states[j] = after[k]
            start = self.start + family.states.added[after[k]] - family.states.added[now]
            leaf_loops.fill_leaves(
                *(*sums, self.below, states, start, self.layout, judging, self.sides[k].leaves)
            )
        return True

    # -- the relaxed problem ------------------------------------------------------

    def constant(self, by: Relaxation) -> float:
        """Part of the relaxed objective that no leaf has a part in."""
        objective, (low, high) = self.objective, by.interval
        out = objective.constant + objective.edit_cost + objective.ranking * low * high
        return float(out - objective.price * by.multipliers.sum())

    def relax(self, by: Relaxation) -> tuple[float, IntArray]:
        """Bound for the trees within the interval, and how often each old rule was wanted."""
        objective, value = self.objective, self.constant(by)
        slope = objective.ranking * sum(by.interval)
        used = np.zeros(by.multipliers.size + 1, dtype=np.int64)
        for side in self.sides:
            self._cheapest(side, side.leaves, by, objective.price, slope)
            value += side.least
            np.add.at(used, side.partner[side.chosen[side.chosen >= 0]], 1)
        value += self._price_rest(by, objective.price, slope)
        np.add.at(used, self.rest.partner, 1)
        return value, used[:-1]

    def _price_rest(self, by: Relaxation, price: float, slope: float) -> float:
        """Relaxed cost of the leaves outside the part, which all trees share."""
        rest = self.rest
        subtree_loops.price_leaves(
            *(rest.leaves, by.multipliers, price, slope, by.shape),
            *(rest.cost, rest.near, rest.partner),
        )
        return float(rest.cost.sum())

    def _cheapest(
        self, side: _Side, leaves: Leaves, by: Relaxation, price: float, slope: float
    ) -> None:
        subtree_loops.price_leaves(
            leaves, by.multipliers, price, slope, by.shape, side.cost, side.near, side.partner
        )
        side.least = float(
            subtree_loops.cheapest_subtree(side.cost, self.n_cuts, self.below, side.chosen)
        )

    def interval(self, by: Relaxation) -> tuple[float, float]:
        """Range of the square root of the area, of all trees with this first condition."""
        objective = self.objective
        if objective.ranking == 0:
            return 0.0, 0.0
        # Whatever follows only adds area.
        some = [(side.leaves, [0]) for side in self.sides]
        _, events, others, _ = self._gather(some)
        _, area = subtree_loops.tree_value(np.zeros(events.size), events, others, events.size)
        low = np.sqrt(area)
        rest = self.rest.leaves
        widest = -self._price_rest(by, 0.0, 1.0) + float(rest.fixed.sum())
        for side in self.sides:
            alike = np.where(np.isfinite(side.leaves.fixed), 0.0, np.inf)
            self._cheapest(side, side.leaves._replace(fixed=alike), by, 0.0, 1.0)
            widest -= side.least
        seen = 2 * objective.search.criterion.best_auc - 1
        return float(low), float(max(low, min(widest, np.sqrt(max(seen, 0.0)))))

    # -- single trees -------------------------------------------------------------

    def met(self) -> tuple[float, FloatArray | None]:
        """Objective and shape of the tree that the last evaluation found cheapest."""
        chosen = [(side.leaves, side.chosen[side.chosen >= 0]) for side in self.sides]
        fixed, events, others, reach = self._gather(chosen)
        n, objective = fixed.size, self.objective
        loss, area = subtree_loops.tree_value(fixed, events, others, n)
        unused = np.zeros(n, dtype=np.int64), np.zeros(reach.shape[1] - 1)
        value = objective.constant + objective.edit_cost + loss - objective.ranking * area
        value += objective.price * subtree_loops.assign(reach, n, *unused)
        return float(value), scaled_shape(events, others)

    def _gather(self, some: list[tuple[Leaves, Any]]) -> tuple[FloatArray, ...]:
        """Return some leaves and all of the rest, as the fields of ``Leaves``."""
        return tuple(
            np.concatenate(
                [
                    getattr(self.rest.leaves, name),
                    *(getattr(leaves, name)[at] for leaves, at in some),
                ]
            )
            for name in Leaves._fields
        )

    def met_conditions(self, cut: int) -> Conditions:
        """Conditions of that tree, the first one included."""
        one, two = (self._conditions(side.chosen) for side in self.sides)
        return cut, one, two

    def try_all(self, by: Relaxation, incumbent: float) -> Tried:
        """Try every tree that the relaxation leaves below the incumbent, if they are few."""
        self.relax(by)
        limit = incumbent - self.constant(by) - float(self.rest.cost.sum())
        lists, work = [], 0.0
        for side, other in (self.sides, self.sides[::-1]):
            trees = np.empty((MOST_SUBTREES, 4), dtype=np.int64)
            costs = np.empty(MOST_SUBTREES)
            n = subtree_loops.list_subtrees(
                side.cost, self.n_cuts, self.below, limit - other.least, trees, costs
            )
            work += side.cost.size
            if n < 0:
                return Tried(False, incumbent, None, work)
            order = np.argsort(costs[:n], kind="stable")
            lists.append((np.ascontiguousarray(trees[:n][order]), costs[:n][order]))
        (trees, costs), (more_trees, more_costs) = lists
        pairs = int(np.searchsorted(more_costs, limit - costs, side="right").sum())
        if pairs > MOST_PAIRS:
            return Tried(False, incumbent, None, work)
        objective, found = self.objective, np.full(2, -1, dtype=np.int64)
        exact = objective.constant + objective.edit_cost
        relaxed = exact - objective.price * float(by.multipliers.sum())
        relaxed += float(self.rest.near.sum())
        best, solved = subtree_loops.search_pairs(
            *(side.leaves for side in (*self.sides, self.rest)),
            *(side.near for side in self.sides),
            *(trees, more_trees, costs, more_costs),
            *(limit, relaxed, exact, objective.ranking, objective.price),
            *(incumbent, MOST_MATCHINGS, found),
        )
        size = self.rest.cost.size + 8
        work += pairs * size**2 / 50 + solved * size**2 * 2
        leaves = None
        if found[0] >= 0:
            leaves = np.stack([trees[found[0]], more_trees[found[1]]])
        return Tried(solved <= MOST_MATCHINGS, float(best), leaves, work)

    def conditions(self, cut: int, leaves: Iterable[IntArray]) -> Conditions:
        """Conditions of a tree that is given by the leaves on both sides."""
        one, two = (self._conditions(some) for some in leaves)
        return cut, one, two

    def _conditions(self, leaves: IntArray) -> Conditions | None:
        halves = 2 * self.n_cuts
        paths = []
        for at in leaves[leaves >= 0].tolist():
            if at > halves:
                paths.append(frozenset(divmod(at - 1 - halves, halves)))
            else:
                paths.append(frozenset() if at == 0 else frozenset({at - 1}))
        return _tree_of(paths)


def _tree_of(paths: list[frozenset[int]]) -> Conditions | None:
    """Conditions of a tree from the halves of cuts that lead to each leaf."""
    if paths == [frozenset()]:
        return None
    # Some cut comes first: every leaf is on one side of it.
    for cut in sorted({half // 2 for half in paths[0]}):
        one, two = ([p - {half} for p in paths if half in p] for half in (2 * cut, 2 * cut + 1))
        if one and two and len(one) + len(two) == len(paths):
            return cut, _tree_of(one), _tree_of(two)
    raise AssertionError(f"no tree has the leaves {paths}")


def scaled_shape(events: FloatArray, others: FloatArray) -> FloatArray | None:
    """Zonogon of a tree's leaves, scaled so that widths across it bound √area; None if flat."""
    _, area = subtree_loops.tree_value(np.zeros(events.size), events, others, events.size)
    if area < FLAT:
        return None
    return np.ascontiguousarray(np.column_stack([events, others]) / (2 * np.sqrt(area)))


# -- A lower bound of the objective over all trees of a family, and the best of them --
# What keeps the objective from falling into a sum over leaves is relaxed:
#
# *Every old rule has one partner.* With a multiplier :math:`u_q \ge 0` for each old rule q,
#
# .. math:: d'(A, T) \ge \sum_q (w'_q - u_q)
# + \sum_{p} \min\bigl(w'_p,\ \min_q\, d(p, q) - w'_q + u_q\bigr),
#
# with equality at the multipliers of the best matching. Subgradient steps raise the bound.
#
# *The ranking of two classes.* With :math:`v_p` the shares of all events and of all non-events in
# leaf p, :math:`2 AUC - 1` is the area of the zonogon :math:`Z = \sum_p [0, v_p]`. For any convex
# K Minkowski's inequality gives :math:`\sqrt{area(Z)} \le V(Z, K) / \sqrt{area(K)}`, and the mixed
# area V adds up over the leaves. On an interval of :math:`\sqrt{area}` the square lies below its
# chord, so what is left is again a sum; intervals are halved where that costs too much.
#
# The least sum over all trees that start with one condition is dynamic programming. Where the
# bound stays below the best tree known, the few trees that it leaves are tried one by one.

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
