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

Below a first condition the relaxed objective is a sum over both sides, so that the best of
millions of trees is found from tables of at most a few ten thousand leaves.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from steadytree.certificate.family import Family, LeafwiseObjective
from steadytree.certificate.loops import (
    IntArray,
    Leaves,
    Side,
    Subtrees,
    assign,
    atom_pairs,
    cheapest_subtree,
    cut_sums,
    empty_leaves,
    fill_leaves,
    list_subtrees,
    price_leaves,
    search_pairs,
    tree_value,
)
from steadytree.growing.best_first import FloatArray

Conditions = tuple[int, "Conditions | None", "Conditions | None"]
"""A tree: the number of its first cut, and what follows left and right (None: a leaf)."""

TOLERANCE = 1e-9
"""A tree that is better by less is not better but rounded."""
FIRST_STEPS, MORE_STEPS = 8, 30
SHAPE_EVERY = 4
NARROW = 0.004
"""Intervals of the square root of the area are not halved below this."""
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


def _side(leaves: Leaves) -> Side:
    n = leaves.fixed.shape[0]
    return Side(leaves, np.zeros(n), np.zeros(n), np.zeros(n, dtype=np.int64))


class FirstConditions:
    """Trees of a family in one place of a tree by their first condition, one at a time."""

    def __init__(self, family: Family, objective: LeafwiseObjective, part: Part) -> None:
        self.family, self.objective, self.part = family, objective, part
        self.n_cuts, self.below, self.layout = len(family.cuts), family.depth - 1, family.layout
        stats = objective.stats[part.rows]
        counted = (stats != 0).any(axis=1)
        self.atoms = family.atoms[part.rows][counted]
        self.stats = np.ascontiguousarray(stats[counted])
        self.total = self.stats.sum(axis=0)
        n_atoms, n_stats = self.layout.left.shape[1], self.stats.shape[1]
        self._pairs = np.zeros((n_atoms, n_atoms, n_stats))
        self._half = np.zeros((n_atoms, n_stats))
        self.whole = self._cut_sums(np.ones(len(self.atoms), dtype=bool))
        n_leaves = sum((2 * self.n_cuts) ** level for level in range(self.below + 1))
        n_rules = objective.judging.rule_price.shape[0]
        self.sides = tuple(_side(empty_leaves(n_leaves, n_rules)) for _ in range(2))
        self.rest = _side(part.rest)
        self.n_leaves = 2 * n_leaves + self.rest.cost.size
        """Leaves that one evaluation goes through."""
        self.chosen = tuple(np.zeros(4, dtype=np.int64) for _ in range(2))
        """Leaves of the cheapest subtree of each side."""
        self.start = family.layout.base + self.layout.added[part.states].sum(axis=0)

    def _cut_sums(self, chosen: NDArray[np.bool_]) -> FloatArray:
        table = np.zeros((self.n_cuts, self.n_cuts, self.stats.shape[1]))
        atom_pairs(self.atoms, self.stats, chosen, self._pairs)
        cut_sums(self._pairs, self.layout, self._half, table)
        return table

    def prepare(self, cut: int) -> bool:
        """Fill both sides of a first condition; False where one has too few rows."""
        layout, judging = self.layout, self.objective.judging
        j = int(layout.feature[cut])
        left = np.ascontiguousarray(self.whole[cut, cut])
        now = int(self.part.states[j])
        after = layout.after[now, cut]
        least = min(left[0], self.total[0] - left[0])
        if least < judging.min_leaf - 0.5 or after.min() < 0:
            return False
        one = np.ascontiguousarray(self.whole[cut])
        two = other = self.whole
        if self.below == 2:
            goes = layout.left[cut, self.atoms[:, j]]
            smaller_left = goes.sum() * 2 <= goes.size
            two = self._cut_sums(goes if smaller_left else ~goes)
            other = self.whole - two
            if not smaller_left:
                two, other = other, two
        rest = np.ascontiguousarray(self.whole.diagonal().T - one)
        sums = (left, one, two), (self.total - left, rest, other)
        for side, state, mine in zip(self.sides, after, sums, strict=True):
            states = self.part.states.copy()
            states[j] = state
            start = self.start + layout.added[state] - layout.added[now]
            fill_leaves(*mine, self.below, states, start, layout, judging, side.leaves)
        return True

    # -- the relaxed problem ------------------------------------------------------

    def constant(self, by: Relaxation) -> float:
        """Part of the relaxed objective that no leaf has a part in."""
        objective, (low, high) = self.objective, by.interval
        out = objective.constant + objective.edit_cost + objective.ranking * low * high
        return float(out - objective.price * by.multipliers.sum())

    def relax(self, by: Relaxation) -> tuple[float, IntArray]:
        """Bound for the trees within the interval, and how often each old rule was wanted."""
        value = self.constant(by)
        used = np.zeros(by.multipliers.size + 1, dtype=np.int64)
        for cost in self._cheapest(self.sides, by):
            value += cost
        value += float(self.rest.cost.sum())
        for side, chosen in zip(self.sides, self.chosen, strict=True):
            np.add.at(used, side.partner[chosen[chosen >= 0]], 1)
        np.add.at(used, self.rest.partner, 1)
        return value, used[:-1]

    def _cheapest(
        self,
        sides: Sequence[Side],
        by: Relaxation,
        price: float | None = None,
        slope: float | None = None,
    ) -> list[float]:
        """Price all leaves; choose the cheapest subtree of each side, and return its cost.

        ``price`` and ``slope`` are those of the objective within the interval unless given.
        """
        price = self.objective.price if price is None else price
        slope = self.objective.ranking * sum(by.interval) if slope is None else slope
        for side in (*sides, self.rest):
            price_leaves(side, by.multipliers, price, slope, by.shape)
        return [
            float(cheapest_subtree(side.cost, self.n_cuts, self.below, chosen))
            for side, chosen in zip(sides, self.chosen, strict=True)
        ]

    def interval(self, by: Relaxation) -> tuple[float, float]:
        """Range of the square root of the area, of all trees with this first condition."""
        if self.objective.ranking == 0:
            return 0.0, 0.0
        undivided = self._tree([np.zeros(1, dtype=np.int64)] * 2)
        _, area = tree_value(undivided, undivided.fixed.size)
        low = np.sqrt(area)  # whatever follows only adds area
        alike = []
        for side in self.sides:
            fixed = np.where(np.isfinite(side.leaves.fixed), 0.0, np.inf)
            alike.append(side._replace(leaves=side.leaves._replace(fixed=fixed)))
        costs = self._cheapest(alike, by, 0.0, 1.0)
        widest = -float(self.rest.cost.sum()) + float(self.rest.leaves.fixed.sum())
        for cost in costs:
            widest -= cost
        seen = 2 * self.objective.search.criterion.best_auc - 1
        return float(low), float(max(low, min(widest, np.sqrt(max(seen, 0.0)))))

    # -- single trees -------------------------------------------------------------

    def met(self) -> tuple[float, FloatArray | None]:
        """Objective and shape of the tree that the last evaluation found cheapest."""
        leaves, objective = (
            self._tree([chosen[chosen >= 0] for chosen in self.chosen]),
            self.objective,
        )
        n = leaves.fixed.size
        loss, area = tree_value(leaves, n)
        unused = np.zeros(n, dtype=np.int64), np.zeros(leaves.reach.shape[1] - 1)
        value = objective.constant + objective.edit_cost + loss - objective.ranking * area
        value += objective.price * assign(leaves.reach, n, *unused)
        return float(value), scaled_shape(leaves)

    def _tree(self, chosen: list[IntArray]) -> Leaves:
        """Return some leaves of both sides and all of the rest."""
        sides = zip(self.sides, chosen, strict=True)
        parts = [self.rest.leaves, *(Leaves(*(x[at] for x in s.leaves)) for s, at in sides)]
        return Leaves(*(np.concatenate(values) for values in zip(*parts, strict=True)))

    def try_all(
        self, by: Relaxation, limit: float
    ) -> tuple[bool, float, list[IntArray] | None, float]:
        """Try every tree that the relaxation leaves below a limit, if they are few.

        Returns whether they were few enough; the objective of the best tree and its leaves on
        both sides (the limit and None where none is below it); and the work it took.
        """
        objective = self.objective
        costs = self._cheapest(self.sides, by)
        room = limit - self.constant(by) - float(self.rest.cost.sum())
        lists, work = [], 0.0
        for side, other in zip(self.sides, costs[::-1], strict=True):
            trees = Subtrees(np.empty((MOST_SUBTREES, 4), dtype=np.int64), np.empty(MOST_SUBTREES))
            n = list_subtrees(side.cost, self.n_cuts, self.below, room - other, trees)
            work += side.cost.size
            if n < 0:
                return False, limit, None, work
            order = np.argsort(trees.costs[:n], kind="stable")
            lists.append(Subtrees(trees.leaves[order], trees.costs[order]))
        left, right = lists
        pairs = int(np.searchsorted(right.costs, room - left.costs, side="right").sum())
        if pairs > MOST_PAIRS:
            return False, limit, None, work
        exact = objective.constant + objective.edit_cost
        relaxed = (
            exact - objective.price * float(by.multipliers.sum()) + float(self.rest.near.sum())
        )
        found = np.full(2, -1, dtype=np.int64)
        best, solved = search_pairs(
            (self.sides[0], self.sides[1]),
            (left, right),
            self.rest.leaves,
            room,
            relaxed,
            exact,
            objective.ranking,
            objective.price,
            limit,
            MOST_MATCHINGS,
            found,
        )
        size = self.rest.cost.size + 8
        work += pairs * size**2 / 50 + solved * size**2 * 2
        leaves = None
        if found[0] >= 0:
            leaves = [trees.leaves[at] for trees, at in zip(lists, found.tolist(), strict=True)]
        return solved <= MOST_MATCHINGS, float(best), leaves, work

    def conditions(self, cut: int, leaves: Iterable[IntArray] | None = None) -> Conditions:
        """Conditions of the tree with some leaves on both sides, or of the one that was met."""
        one, two = (self._conditions(some) for some in leaves or self.chosen)
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


def scaled_shape(leaves: Leaves) -> FloatArray | None:
    """Zonogon of a tree's leaves, scaled so that widths across it bound √area; None if flat."""
    _, area = tree_value(leaves, leaves.fixed.size)
    if area < FLAT:
        return None
    return np.ascontiguousarray(
        np.column_stack([leaves.events, leaves.others]) / (2 * np.sqrt(area))
    )


# -- the bound ----------------------------------------------------------------------------

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
        limit, (low, high) = out.best - slack, by.interval
        all_tried, best, leaves, work = place.try_all(by, limit)
        out.work += work
        if leaves is not None:
            out.best, out.tree = best, (part, place.conditions(cut, leaves))
        if all_tried:
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
            out.best, out.tree = met, (at[0], place.conditions(at[1]))
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
