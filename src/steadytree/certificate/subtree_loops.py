"""The loops of a certificate over subtrees: the cheapest, all that are left, and their pairs.

Leaves lie as ``leaf_loops`` lays them out. Compiled where numba is at hand, else plain Python.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadytree._optional import compiled
from steadytree.certificate.leaf_loops import Leaves

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

BIG = 1e9


@compiled
def price_leaves(
    leaves: Leaves,
    multipliers: FloatArray,
    price: float,
    slope: float,
    shape: FloatArray,
    cost: FloatArray,
    near: FloatArray,
    partner: IntArray,
) -> None:
    """Write the relaxed cost of every leaf, its part for distance, and the rule it wants.

    ``slope`` times the width of the leaf's segment across ``shape`` is what ranking is worth.
    """
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
def _best_below(cost: FloatArray, n_cuts: int, e: int) -> tuple[float, int]:
    """Least cost of a half as a leaf or divided once more, and the cut (-1: a leaf)."""
    halves = 2 * n_cuts
    best, at = cost[1 + e], -1
    for d in range(n_cuts):
        if d == e // 2:
            continue
        both = cost[_position(halves, e, 2 * d)] + cost[_position(halves, e, 2 * d + 1)]
        if both < best:
            best, at = both, d
    return best, at


@compiled
def cheapest_subtree(cost: FloatArray, n_cuts: int, depth: int, chosen: IntArray) -> Any:
    """Return the least relaxed cost of a side; its leaves are written, then -1."""
    halves = 2 * n_cuts
    chosen[:] = -1
    best = cost[0]
    chosen[0] = 0
    for c in range(n_cuts if depth >= 1 else 0):
        if depth == 1:
            total = cost[1 + 2 * c] + cost[2 + 2 * c]
            if total < best:
                best = total
                chosen[0], chosen[1] = 1 + 2 * c, 2 + 2 * c
            continue
        total, one = _best_below(cost, n_cuts, 2 * c)
        if total >= best:
            continue
        more, two = _best_below(cost, n_cuts, 2 * c + 1)
        if total + more >= best:
            continue
        best = total + more
        chosen[:] = -1
        n = 0
        for side, cut in ((0, one), (1, two)):
            e = 2 * c + side
            if cut < 0:
                chosen[n] = 1 + e
                n += 1
            else:
                chosen[n] = _position(halves, e, 2 * cut)
                chosen[n + 1] = _position(halves, e, 2 * cut + 1)
                n += 2
    return best


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
def tree_value(
    fixed: FloatArray,
    events: FloatArray,
    others: FloatArray,
    n: int,
) -> tuple[float, float]:
    """Return the loss of n leaves but for their ranking, and the area that they rank."""
    total = area = 0.0
    for i in range(n):
        total += fixed[i]
        for j in range(i):
            area += abs(events[i] * others[j] - events[j] * others[i])
    return total, area


@compiled
def list_subtrees(
    cost: FloatArray, n_cuts: int, depth: int, limit: float, out: IntArray, costs: FloatArray
) -> int:
    """Write all subtrees of a side up to a relaxed cost; -1 where there are too many.

    A subtree is its leaves (at most four, then -1).
    """
    halves, n, most = 2 * n_cuts, 0, out.shape[0]
    if cost[0] <= limit:
        out[0, :] = -1
        out[0, 0] = 0
        costs[0] = cost[0]
        n = 1
    if depth == 0:
        return n
    if depth == 1:
        for c in range(n_cuts):
            total = cost[1 + 2 * c] + cost[2 + 2 * c]
            if total <= limit:
                if n == most:
                    return -1
                out[n, :] = -1
                out[n, 0], out[n, 1] = 1 + 2 * c, 2 + 2 * c
                costs[n] = total
                n += 1
        return n
    for c in range(n_cuts):
        one, _ = _best_below(cost, n_cuts, 2 * c)
        two, _ = _best_below(cost, n_cuts, 2 * c + 1)
        if one + two > limit:
            continue
        for i in range(-1, n_cuts):  # how the left half goes on; -1: it does not
            if i == c:
                continue
            mine = cost[1 + 2 * c]
            if i >= 0:
                mine = cost[_position(halves, 2 * c, 2 * i)]
                mine += cost[_position(halves, 2 * c, 2 * i + 1)]
            if mine + two > limit:
                continue
            for j in range(-1, n_cuts):
                if j == c:
                    continue
                other = cost[2 + 2 * c]
                if j >= 0:
                    other = cost[_position(halves, 2 * c + 1, 2 * j)]
                    other += cost[_position(halves, 2 * c + 1, 2 * j + 1)]
                if mine + other > limit:
                    continue
                if n == most:
                    return -1
                out[n, :] = -1
                at = 0
                for e, cut in ((2 * c, i), (2 * c + 1, j)):
                    if cut < 0:
                        out[n, at] = 1 + e
                        at += 1
                    else:
                        out[n, at] = _position(halves, e, 2 * cut)
                        out[n, at + 1] = _position(halves, e, 2 * cut + 1)
                        at += 2
                costs[n] = mine + other
                n += 1
    return n


@compiled
def search_pairs(
    left: Leaves,
    right: Leaves,
    rest: Leaves,
    near_left: FloatArray,
    near_right: FloatArray,
    trees_left: IntArray,
    trees_right: IntArray,
    costs_left: FloatArray,
    costs_right: FloatArray,
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
    n_rest, n_columns = rest.fixed.shape[0], left.reach.shape[1]
    size = n_rest + 8
    fixed, events, others = np.empty(size), np.empty(size), np.empty(size)
    reach, partner = np.empty((size, n_columns)), np.empty(size, dtype=np.int64)
    multipliers = np.empty(n_columns - 1)
    for k in range(n_rest):
        fixed[k], events[k], others[k] = rest.fixed[k], rest.events[k], rest.others[k]
        reach[k] = rest.reach[k]
    solved = 0
    for i in range(costs_left.shape[0]):
        if costs_right.shape[0] == 0 or costs_left[i] + costs_right[0] > limit:
            break
        for j in range(costs_right.shape[0]):
            if costs_left[i] + costs_right[j] > limit:
                break
            n, near = n_rest, 0.0
            for k in range(4):
                at = trees_left[i, k]
                if at >= 0:
                    fixed[n], events[n] = left.fixed[at], left.events[at]
                    others[n] = left.others[at]
                    near += near_left[at]
                    n += 1
            for k in range(4):
                at = trees_right[j, k]
                if at >= 0:
                    fixed[n], events[n] = right.fixed[at], right.events[at]
                    others[n] = right.others[at]
                    near += near_right[at]
                    n += 1
            loss, area = tree_value(fixed, events, others, n)
            loss -= ranking * area
            if relaxed + loss + near >= incumbent:
                continue
            n = n_rest
            for k in range(4):
                if trees_left[i, k] >= 0:
                    reach[n] = left.reach[trees_left[i, k]]
                    n += 1
            for k in range(4):
                if trees_right[j, k] >= 0:
                    reach[n] = right.reach[trees_right[j, k]]
                    n += 1
            solved += 1
            if solved > most:
                return incumbent, solved
            value = exact + loss + price * assign(reach, n, partner, multipliers)
            if value < incumbent:
                incumbent = value
                found[0], found[1] = i, j
    return incumbent, solved
