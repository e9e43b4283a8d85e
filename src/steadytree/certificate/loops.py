"""The loops of a certificate: what every leaf holds, and subtrees put together from leaves.

Compiled where numba is at hand; without it the same functions run as plain Python, on smaller
families. They are one file, because numba's cache knows a change only in the file of the function
that Python calls.

The leaves of all trees below one side of a first condition lie in one row of numbers: the side
itself, then a leaf for each half e = 2 c + side of a cut c, then for each pair of halves of two
different cuts (the lower cut first). ``position`` says where.
"""

from __future__ import annotations

from typing import Any, NamedTuple

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
    """The conditions of a family and what rules may demand of single features, in arrays.

    Attributes
    ----------
    feature : (n_cuts,)
        Position of each cut's feature among those of the family.
    first_atom : (n_features + 1,)
        Where the atoms of each feature begin; last, their number.
    left : (n_cuts, n_atoms)
        Atoms that go left.
    full : (n_features,)
        State of each feature where nothing is demanded.
    after : (n_states, n_cuts, 2)
        State on the left and right of a cut of the same feature; -1 where nothing passes.
    added : (n_states, n_rules + 1)
        What a state adds to the distance to each old rule, over having no say; last, to the
        distance to the rule without conditions. In units of the deployed tree's mass.
    base : (n_rules + 1,)
        Distance of the rule without conditions to each old rule, and to nothing.
    """

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


class Side(NamedTuple):
    """Leaves, their relaxed costs, the part of these for distance, and the rules they want."""

    leaves: Leaves
    cost: FloatArray
    near: FloatArray
    partner: IntArray


class Subtrees(NamedTuple):
    """Subtrees of a side in the order of their relaxed costs: four leaves each, -1 for none."""

    leaves: IntArray
    costs: FloatArray


class Room(NamedTuple):
    """Room to work in for one leaf."""

    values: FloatArray
    shares: FloatArray
    allowed: NDArray[np.bool_]


@compiled
def room_for(n_classes: int) -> Room:
    """Return room for a leaf of so many classes."""
    width = max(n_classes, 2)
    return Room(np.zeros(width), np.zeros(width), np.zeros(width, dtype=np.bool_))


def empty_leaves(n: int, n_rules: int) -> Leaves:
    """Room for leaves."""
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
    sums: FloatArray, away: FloatArray, judging: Judging, leaves: Leaves, at: int, room: Room
) -> None:
    """Write one leaf from the sums over its rows and its distance ``away`` from each old rule."""
    values, shares, allowed = room
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
    room = room_for(judging.n_classes)
    away = np.empty(n_columns)
    first = np.empty((halves, n_columns))
    state = np.full(halves, -1)
    sums = np.empty(n_stats)
    describe(total, start, judging, leaves, 0, room)
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
            describe(sums, first[e], judging, leaves, 1 + e, room)
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
                    describe(sums, away, judging, leaves, at, room)


# -- the relaxed problem ------------------------------------------------------------------


@compiled
def price_leaves(
    side: Side, multipliers: FloatArray, price: float, slope: float, shape: FloatArray
) -> None:
    """Write the relaxed cost of every leaf, its part for distance, and the rule it wants.

    ``slope`` times the width of the leaf's segment across ``shape`` is what ranking is worth.
    """
    leaves, cost, near, partner = side
    n_rules = multipliers.shape[0]
    for at in range(leaves.fixed.shape[0]):
        cost[at] = np.inf
        if leaves.fixed[at] == np.inf:
            continue
        best, who = leaves.reach[at, n_rules], n_rules
        for q in range(n_rules):
            mine = leaves.reach[at, q] + multipliers[q]
            if mine < best:
                best, who = mine, q
        x, y = leaves.events[at], leaves.others[at]
        across = 0.0
        if slope != 0.0:
            for i in range(shape.shape[0]):
                across += abs(x * shape[i, 1] - y * shape[i, 0])
        near[at] = price * best
        partner[at] = who
        cost[at] = leaves.fixed[at] + near[at] - slope * across


@compiled
def _position(halves: int, e: int, f: int) -> int:
    """Where the leaf of two halves of different cuts lies."""
    return 1 + halves + (e * halves + f if e < f else f * halves + e)


@compiled
def _best_below(cost: FloatArray, n_cuts: int, depth: int, e: int) -> tuple[float, int]:
    """Least cost of a half as a leaf or, of two levels, divided again; the cut (-1: a leaf)."""
    halves = 2 * n_cuts
    best, at = cost[1 + e], -1
    for d in range(n_cuts if depth == 2 else 0):
        if d == e // 2:
            continue
        both = cost[_position(halves, e, 2 * d)] + cost[_position(halves, e, 2 * d + 1)]
        if both < best:
            best, at = both, d
    return best, at


@compiled
def _write(tree: IntArray, halves: int, c: int, one: int, two: int) -> None:
    """Write the leaves of a subtree: its first cut and those of both halves (-1: none)."""
    tree[:] = -1
    n = 0
    for e, cut in ((2 * c, one), (2 * c + 1, two)):
        if cut < 0:
            tree[n] = 1 + e
            n += 1
        else:
            tree[n] = _position(halves, e, 2 * cut)
            tree[n + 1] = _position(halves, e, 2 * cut + 1)
            n += 2


@compiled
def cheapest_subtree(cost: FloatArray, n_cuts: int, depth: int, chosen: IntArray) -> Any:
    """Return the least relaxed cost of a side; its leaves are written, then -1."""
    chosen[:] = -1
    chosen[0] = 0
    best = cost[0]
    for c in range(n_cuts if depth >= 1 else 0):
        left, one = _best_below(cost, n_cuts, depth, 2 * c)
        right, two = _best_below(cost, n_cuts, depth, 2 * c + 1)
        if left + right < best:
            best = left + right
            _write(chosen, 2 * n_cuts, c, one, two)
    return best


@compiled
def list_subtrees(cost: FloatArray, n_cuts: int, depth: int, limit: float, found: Subtrees) -> int:
    """Write all subtrees of a side up to a relaxed cost; -1 where there are too many."""
    halves, n, most = 2 * n_cuts, 0, found.costs.shape[0]
    if cost[0] <= limit:
        found.leaves[0, :] = -1
        found.leaves[0, 0] = 0
        found.costs[0] = cost[0]
        n = 1
    deeper = n_cuts if depth == 2 else 0
    for c in range(n_cuts if depth >= 1 else 0):
        one, _ = _best_below(cost, n_cuts, depth, 2 * c)
        two, _ = _best_below(cost, n_cuts, depth, 2 * c + 1)
        if one + two > limit:
            continue
        for i in range(-1, deeper):  # how the left half goes on; -1: it does not
            if i == c:
                continue
            mine = _half_cost(cost, halves, 2 * c, i)
            if mine + two > limit:
                continue
            for j in range(-1, deeper):
                if j == c:
                    continue
                both = mine + _half_cost(cost, halves, 2 * c + 1, j)
                if both > limit:
                    continue
                if n == most:
                    return -1
                _write(found.leaves[n], halves, c, i, j)
                found.costs[n] = both
                n += 1
    return n


@compiled
def _half_cost(cost: FloatArray, halves: int, e: int, cut: int) -> Any:
    """Relaxed cost of a half that is divided by a cut (-1: a leaf)."""
    if cut < 0:
        return cost[1 + e]
    return cost[_position(halves, e, 2 * cut)] + cost[_position(halves, e, 2 * cut + 1)]


# -- exact values -------------------------------------------------------------------------


@compiled
def assign(reach: FloatArray, n: int, partner: IntArray, multipliers: FloatArray) -> float:
    """Least cost of giving n leaves different old rules or none (shortest augmenting paths).

    ``reach`` is as in ``Leaves``. Writes each leaf's rule (the number of rules: none) and the
    multipliers for which no leaf wants another rule.
    """
    n_rules = reach.shape[1] - 1
    width = n_rules + n  # after the rules, for each leaf a column of its own
    row_dual, column_dual = np.zeros(n + 1), np.zeros(width + 1)
    holder, way = np.zeros(width + 1, dtype=np.int64), np.zeros(width + 1, dtype=np.int64)
    least, used = np.empty(width + 1), np.zeros(width + 1, dtype=np.bool_)
    for i in range(1, n + 1):
        holder[0] = i
        column = 0
        least[:] = BIG * BIG
        used[:] = False
        while True:
            used[column] = True
            row, step, following = holder[column], BIG * BIG, 0
            for j in range(1, width + 1):
                if used[j]:
                    continue
                cost = BIG
                if j <= n_rules:
                    cost = reach[row - 1, j - 1]
                elif j - n_rules == row:
                    cost = reach[row - 1, n_rules]
                reduced = cost - row_dual[row] - column_dual[j]
                if reduced < least[j]:
                    least[j], way[j] = reduced, column
                if least[j] < step:
                    step, following = least[j], j
            for j in range(width + 1):
                if used[j]:
                    row_dual[holder[j]] += step
                    column_dual[j] -= step
                else:
                    least[j] -= step
            column = following
            if holder[column] == 0:
                break
        while column != 0:
            holder[column] = holder[way[column]]
            column = way[column]
    total = 0.0
    for j in range(1, width + 1):
        if holder[j] > 0:
            row = holder[j] - 1
            partner[row] = min(j - 1, n_rules)
            total += reach[row, partner[row]]
    for q in range(n_rules):
        multipliers[q] = max(0.0, -column_dual[q + 1])
    return total


@compiled
def tree_value(leaves: Leaves, n: int) -> tuple[float, float]:
    """Return the loss of n leaves but for their ranking, and the area that they rank."""
    events, others = leaves.events, leaves.others
    total = area = 0.0
    for i in range(n):
        total += leaves.fixed[i]
        for j in range(i):
            area += abs(events[i] * others[j] - events[j] * others[i])
    return total, area


@compiled
def _take_losses(
    side: Side, tree: IntArray, tried: Leaves, n: int, near: float
) -> tuple[int, float]:
    """Add a subtree's leaves after the first n, but for ``reach``, and their part for distance."""
    for at in tree:
        if at >= 0:
            tried.fixed[n] = side.leaves.fixed[at]
            tried.events[n], tried.others[n] = side.leaves.events[at], side.leaves.others[at]
            near += side.near[at]
            n += 1
    return n, near


@compiled
def _take_reach(side: Side, tree: IntArray, tried: Leaves, n: int) -> int:
    """Add the ``reach`` of a subtree's leaves after the first n."""
    for at in tree:
        if at >= 0:
            tried.reach[n] = side.leaves.reach[at]
            n += 1
    return n


@compiled
def search_pairs(
    sides: tuple[Side, Side],
    trees: tuple[Subtrees, Subtrees],
    rest: Leaves,
    limit: float,
    relaxed: float,
    exact: float,
    ranking: float,
    price: float,
    incumbent: float,
    most: int,
    found: IntArray,
) -> tuple[float, int]:
    """Find the best tree among pairs of subtrees, both lists in the order of their costs.

    Pairs are tried up to a relaxed cost of ``limit`` in all, with the leaves of the ``rest`` of
    the tree. ``relaxed`` and ``exact`` are the constants of the objective with the multipliers
    (and what the rest wants at these) and without, ``ranking`` is what the area is worth.
    Writes the positions of the best pair that beats the ``incumbent`` into ``found``; returns
    its value and the number of matchings solved, which are at most ``most`` (one more: it gave
    up).
    """
    (left, right), (lefts, rights) = sides, trees
    n_rest, n_columns = rest.fixed.shape[0], rest.reach.shape[1]
    size = n_rest + 8
    tried = Leaves(np.empty(size), np.empty(size), np.empty(size), np.empty((size, n_columns)))
    partner, multipliers = np.empty(size, dtype=np.int64), np.empty(n_columns - 1)
    for k in range(n_rest):
        tried.fixed[k], tried.events[k] = rest.fixed[k], rest.events[k]
        tried.others[k], tried.reach[k] = rest.others[k], rest.reach[k]
    solved = 0
    for i in range(lefts.costs.shape[0]):
        if rights.costs.shape[0] == 0 or lefts.costs[i] + rights.costs[0] > limit:
            break
        for j in range(rights.costs.shape[0]):
            if lefts.costs[i] + rights.costs[j] > limit:
                break
            n, near = _take_losses(left, lefts.leaves[i], tried, n_rest, 0.0)
            n, near = _take_losses(right, rights.leaves[j], tried, n, near)
            loss, area = tree_value(tried, n)
            loss -= ranking * area
            if relaxed + loss + near >= incumbent:
                continue
            n = _take_reach(left, lefts.leaves[i], tried, n_rest)
            n = _take_reach(right, rights.leaves[j], tried, n)
            solved += 1
            if solved > most:
                return incumbent, solved
            value = exact + loss + price * assign(tried.reach, n, partner, multipliers)
            if value < incumbent:
                incumbent = value
                found[0], found[1] = i, j
    return incumbent, solved
