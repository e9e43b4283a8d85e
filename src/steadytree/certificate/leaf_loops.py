"""The loops of a certificate over the leaves of all its trees: compiled where numba is at hand.

What every possible leaf holds and may be called is counted here; ``subtree_loops`` puts leaves
together. Each file holds all that its loops call, because numba's cache knows a change only in
the file of the function that Python calls. Without numba the same functions run as plain Python,
on smaller families.

The leaves of all trees below one side of a first condition lie in one row of numbers: the side
itself, then a leaf for each half e = 2 c + side of a cut c, then for each pair of halves of two
different cuts (the lower cut first). ``position`` says where.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from steadytree._optional import compiled, numba_if_wanted

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

BIG = 1e9
CLOSE = 1e-9
"""Labels this close to the boundary are permitted either way: rounding must not decide."""

COMPILED = numba_if_wanted() is not None


class Judging(NamedTuple):
    """What a leaf is judged by: loss, label rule, and its distance to every old rule."""

    n_classes: int  # 0 for a response
    min_leaf: float
    loss_unit: float  # share of what the teacher sees per unit of deviance, or squared error
    positives: float  # expected events and non-events of all rows
    negatives: float
    strength: float  # Steadying of the leaves' values
    unit: float
    spread: float
    interval: float  # z of the interval that a steadied value stays in
    threshold: float  # Decision; NaN where the largest share decides
    positive: int
    class_weight: FloatArray
    label_errors: float
    inherited: NDArray[np.bool_]  # labels in force that a leaf may keep
    low: float  # response range
    high: float
    rule_outcome: FloatArray  # label of each old rule, or its response times label_cost
    rule_price: FloatArray  # w' of each old rule
    own_outcome: FloatArray  # of each old rule as estimated now, where it stays as it is
    label_cost: float


class Layout(NamedTuple):
    """A family in arrays (see ``family``)."""

    feature: IntArray
    first_atom: IntArray
    left: NDArray[np.bool_]
    full: IntArray
    after: IntArray
    added: FloatArray
    base: FloatArray


class Leaves(NamedTuple):
    """All leaves below one side of a first condition.

    ``fixed`` is the loss of a leaf (infinite where it has too few rows), ``events`` and
    ``others`` its shares of all expected events and non-events. ``reach`` is its distance to
    each old rule less that rule's own price, and last the price of having no partner.
    """

    fixed: FloatArray
    events: FloatArray
    others: FloatArray
    reach: FloatArray


def empty_leaves(n_cuts: int, depth: int, n_rules: int) -> Leaves:
    """Room for the leaves of a side below which ``depth`` levels of conditions may come."""
    halves = 2 * n_cuts
    n = 1 + (halves if depth >= 1 else 0) + (halves * halves if depth >= 2 else 0)
    return Leaves(np.full(n, np.inf), np.zeros(n), np.zeros(n), np.zeros((n, n_rules + 1)))


# -- one leaf -----------------------------------------------------------------------------


@compiled
def _most(weight: float, outcome: float, teacher: float, judging: Judging) -> float:
    """Weight that the teacher may have beside the rows' own (``Steadying._most``)."""
    rows, rate = weight / judging.unit, outcome / weight
    if judging.n_classes > 0:
        share = min(max(rate, 0.0), 1.0)
        square = judging.interval * judging.interval / rows
        centre = share + square / 2
        half = np.sqrt(max(square * (share * (1 - share) + square / 4), 0.0))
        low = 0.0 if share <= 0 else max(0.0, (centre - half) / (1 + square))
        high = 1.0 if share >= 1 else min(1.0, (centre + half) / (1 + square))
    else:
        half = 1.96 * np.sqrt(judging.spread / rows)
        low, high = rate - half, rate + half
    room = high - rate if teacher > rate else rate - low
    way = abs(teacher - rate)
    if way <= room:
        return np.inf
    moves = max(room, 0.0) ** 2 / way
    return weight * moves / (way - moves)


@compiled
def _values(sums: FloatArray, k: int, judging: Judging, values: FloatArray) -> None:
    """Write what a leaf predicts, in the teacher's columns."""
    weight, real = sums[1], sums[2 + k]
    if weight <= 0:
        for i in range(k):
            values[i] = sums[3 + k + i] / real
        return
    strength = judging.strength * judging.unit
    for i in range(k):
        most = _most(weight, sums[2 + i], sums[3 + k + i] / real, judging)
        strength = min(strength, most)
    for i in range(k):
        values[i] = (sums[2 + i] + strength * sums[3 + k + i] / real) / (weight + strength)


@compiled
def _permit(shares: FloatArray, rows: float, judging: Judging, allowed: NDArray[np.bool_]) -> None:
    """Write which labels the rule permits: by the shares, or kept for want of evidence."""
    n = judging.n_classes
    natural = 0
    for label in range(n):
        allowed[label] = False
    if not np.isnan(judging.threshold):
        gap = shares[judging.positive] - judging.threshold
        natural = judging.positive if gap >= 0 else 1 - judging.positive
        if abs(gap) <= CLOSE:
            allowed[1 - natural] = True
        at = judging.threshold
        error = np.sqrt(at * (1 - at) / rows)
        if judging.inherited[1 - natural] and abs(gap) <= judging.label_errors * error + CLOSE:
            allowed[1 - natural] = True
    else:
        for label in range(n):
            one = judging.class_weight[label] * shares[label]
            if one > judging.class_weight[natural] * shares[natural]:
                natural = label
        best = judging.class_weight[natural] * shares[natural]
        for label in range(n):
            mine = judging.class_weight[label] * shares[label]
            variance = judging.class_weight[natural] * best + judging.class_weight[label] * mine
            error = np.sqrt(variance / rows)
            if best - mine <= CLOSE:
                allowed[label] = True
            if judging.inherited[label] and best - mine <= judging.label_errors * error + CLOSE:
                allowed[label] = True
    allowed[natural] = True


@compiled
def describe(
    sums: FloatArray,
    away: FloatArray,
    judging: Judging,
    leaves: Leaves,
    at: int,
    values: FloatArray,
    shares: FloatArray,
    allowed: NDArray[np.bool_],
) -> None:
    """Write one leaf from the sums over its rows and its distance ``away`` from each old rule.

    ``values``, ``shares`` and ``allowed`` are room to work in.
    """
    n, n_rules = judging.n_classes, judging.rule_price.shape[0]
    k = max(n, 1) if n != 2 else 1
    leaves.events[at] = leaves.others[at] = 0.0
    leaves.fixed[at] = np.inf
    if sums[0] < judging.min_leaf - 0.5 or sums[2 + k] <= 0:
        return
    _values(sums, k, judging, values)
    for q in range(n_rules + 1):
        leaves.reach[at, q] = away[q]
    if n == 0:
        weight, squares, total = sums[5], sums[6], sums[7]
        leaves.fixed[at] = judging.loss_unit * max(0.0, squares - total * total / weight)
        value = min(max(values[0], judging.low), judging.high)
        width = judging.high - judging.low
        mine = judging.label_cost * (value - judging.low) / width if width > 0 else 0.0
        own = np.nan
        for q in range(n_rules):
            if away[q] <= CLOSE:
                own = judging.own_outcome[q]
        for q in range(n_rules):
            cost = abs(mine - judging.rule_outcome[q])
            if not np.isnan(own):
                cost = min(cost, abs(own - judging.rule_outcome[q]))
            leaves.reach[at, q] += cost - judging.rule_price[q]
        return
    real = sums[2 + k]
    deviance = 0.0
    if n == 2:
        yes, no = max(sums[3 + k], 1e-12), max(real - sums[3 + k], 1e-12)
        deviance = -yes * np.log(yes / (yes + no)) - no * np.log(no / (yes + no))
        if judging.positives > 0 and judging.negatives > 0:
            leaves.events[at] = sums[3 + k] / judging.positives
            leaves.others[at] = (real - sums[3 + k]) / judging.negatives
        shares[1] = min(max(values[0], 0.0), 1.0)
        shares[0] = 1.0 - shares[1]
    else:
        whole = total = 0.0
        for i in range(n):
            whole += max(sums[3 + k + i], 1e-12)
            shares[i] = max(values[i], 0.0)
            total += shares[i]
        for i in range(n):
            part = max(sums[3 + k + i], 1e-12)
            deviance -= part * np.log(part / whole)
            shares[i] = shares[i] / total if total > 0 else 1.0 / n
    leaves.fixed[at] = judging.loss_unit * deviance
    _permit(shares, real / judging.unit, judging, allowed)
    for q in range(n_rules):
        if away[q] <= CLOSE:
            allowed[int(judging.own_outcome[q])] = True
    for q in range(n_rules):
        cost = 0.0 if allowed[int(judging.rule_outcome[q])] else judging.label_cost
        leaves.reach[at, q] += cost - judging.rule_price[q]


# -- sums by cut --------------------------------------------------------------------------


@compiled
def atom_pairs(
    atoms: IntArray, stats: FloatArray, chosen: NDArray[np.bool_], pairs: FloatArray
) -> None:
    """Sum over chosen rows for every pair of atoms, the feature of the first not after."""
    pairs[:] = 0.0
    n_features, n_stats = atoms.shape[1], stats.shape[1]
    for i in range(atoms.shape[0]):
        if not chosen[i]:
            continue
        for j in range(n_features):
            for k in range(j, n_features):
                for s in range(n_stats):
                    pairs[atoms[i, j], atoms[i, k], s] += stats[i, s]


@compiled
def cut_sums(pairs: FloatArray, layout: Layout, half: FloatArray, table: FloatArray) -> None:
    """Sum over the rows left of both of two cuts, from the sums by pairs of atoms.

    ``half`` is room to work in: (n_atoms, n_stats).
    """
    n_cuts, n_atoms, n_stats = table.shape[0], pairs.shape[0], pairs.shape[2]
    for c in range(n_cuts):
        f = layout.feature[c]
        start, end = layout.first_atom[f], layout.first_atom[f + 1]
        for b in range(start, n_atoms):
            for s in range(n_stats):
                half[b, s] = 0.0
        for a in range(start, end):
            if layout.left[c, a]:
                for b in range(start, n_atoms):
                    for s in range(n_stats):
                        half[b, s] += pairs[a, b, s]
        for d in range(c, n_cuts):
            g = layout.feature[d]
            for s in range(n_stats):
                table[c, d, s] = 0.0
            for b in range(layout.first_atom[g], layout.first_atom[g + 1]):
                if layout.left[d, b]:
                    for s in range(n_stats):
                        table[c, d, s] += half[b, s]
            for s in range(n_stats):
                table[d, c, s] = table[c, d, s]


# -- all leaves of a side -----------------------------------------------------------------


@compiled
def fill_leaves(
    total: FloatArray,
    one: FloatArray,
    two: FloatArray,
    depth: int,
    now: IntArray,
    start: FloatArray,
    layout: Layout,
    judging: Judging,
    leaves: Leaves,
) -> None:
    """Write all leaves below one side of a first condition.

    ``total`` are the sums over the side's rows, ``one`` those left of each cut, ``two`` those
    left of each pair of cuts (used from two levels on). ``now`` is the state of each feature
    there, ``start`` the distance of that box to each old rule.
    """
    n_cuts, n_stats = layout.feature.shape[0], total.shape[0]
    n_columns = start.shape[0]
    halves = 2 * n_cuts
    width = max(judging.n_classes, 1)
    values, shares = np.zeros(width), np.zeros(max(width, 2))
    allowed = np.zeros(max(width, 2), dtype=np.bool_)
    away = np.empty(n_columns)
    first = np.empty((halves, n_columns))
    state = np.full(halves, -1)
    sums = np.empty(n_stats)
    describe(total, start, judging, leaves, 0, values, shares, allowed)
    if depth == 0:
        return
    for c in range(n_cuts):
        before = now[layout.feature[c]]
        for side in range(2):
            e = 2 * c + side
            leaves.fixed[1 + e] = np.inf
            state[e] = layout.after[before, c, side]
            if state[e] < 0:
                continue
            for s in range(n_stats):
                sums[s] = one[c, s] if side == 0 else total[s] - one[c, s]
            for q in range(n_columns):
                first[e, q] = start[q] - layout.added[before, q] + layout.added[state[e], q]
            describe(sums, first[e], judging, leaves, 1 + e, values, shares, allowed)
    if depth == 1:
        return
    for c in range(n_cuts):
        for d in range(c + 1, n_cuts):
            f, g = layout.feature[c], layout.feature[d]
            for side in range(2):
                e = 2 * c + side
                for other in range(2):
                    at = 1 + halves + e * halves + 2 * d + other
                    leaves.fixed[at] = np.inf
                    if state[e] < 0:
                        continue
                    before = state[e] if f == g else now[g]
                    after = layout.after[before, d, other]
                    if after < 0:
                        continue
                    for s in range(n_stats):
                        both = two[c, d, s]
                        if side == 0 and other == 0:
                            sums[s] = both
                        elif side == 0:
                            sums[s] = one[c, s] - both
                        elif other == 0:
                            sums[s] = one[d, s] - both
                        else:
                            sums[s] = total[s] - one[c, s] - one[d, s] + both
                    if sums[0] < judging.min_leaf - 0.5:
                        continue
                    for q in range(n_columns):
                        away[q] = first[e, q] - layout.added[before, q] + layout.added[after, q]
                    describe(sums, away, judging, leaves, at, values, shares, allowed)


# -- the relaxed problem ------------------------------------------------------------------
