"""The inner loops of growing and editing trees: in numpy here, in ``compiled`` by numba.

Both have the same functions and give the same results bit for bit: sums run over rows in their
order in both. Two sources, because the compiled one run as plain Python takes 67 s of processor
time to retrain the table of the try-it page (``docs/try``) without numba, this one 7 s.
"""

from __future__ import annotations

import sys
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from steadytree._optional import numba_if_wanted

FloatArray = NDArray[np.float64]


@lru_cache(maxsize=1)
def loops() -> Any:
    """Return ``compiled``; this module without numba, or where ``STEADYTREE_NO_NUMBA=1`` is set."""
    if numba_if_wanted() is None:
        return sys.modules[__name__]
    from steadytree.growing._loops import compiled

    return compiled


class FlatNodes(NamedTuple):
    """Nodes of a tree in arrays: parents before their children, left before right.

    A node has a feature and a threshold, or (``by_set``) its line of ``sets`` says which
    categories go left. ``leaf`` numbers the leaves from the left (-1: an inner node).
    """

    feature: NDArray[np.int64]
    threshold: FloatArray
    by_set: NDArray[np.bool_]
    missing_left: NDArray[np.bool_]
    children: NDArray[np.int64]
    leaf: NDArray[np.int64]
    sets: NDArray[np.bool_]


class BinnedTree(NamedTuple):
    """A tree of an ensemble, on binned columns.

    For each node its feature (-1: a leaf), the last bin that goes left, where missing values go,
    its left child (the right one follows it), and its values.
    """

    feature: NDArray[np.int32]
    cut: NDArray[np.int32]
    missing_left: NDArray[np.bool_]
    child: NDArray[np.int32]
    values: FloatArray


class GrowthLimits(NamedTuple):
    """How a tree of an ensemble grows.

    ``width`` is the number of bins, the last one "missing"; a node is divided by the best of
    ``max_features`` features drawn for it. With ``max_leaves`` (0: no limit) the best split is
    made first.
    """

    width: int
    max_features: int
    min_leaf: int
    min_weight: float
    max_leaves: int


def histogram(
    codes: NDArray[Any], rows: NDArray[Any], layers: FloatArray, width: int
) -> FloatArray:
    """Sum each layer per feature and bin over some rows: (n_layers, n_features, width)."""
    out = np.empty((layers.shape[1], len(codes), width))
    some = [np.ascontiguousarray(layers[rows, i]) for i in range(layers.shape[1])]
    for j, column in enumerate(codes):
        bins = column[rows]
        for i, values in enumerate(some):
            out[i, j] = np.bincount(bins, values, width)
    return out


def best_cut(
    stats: FloatArray,
    features: NDArray[Any],
    n_cuts: NDArray[Any],
    total: FloatArray,
    min_leaf: float,
    min_weight: float,
) -> tuple[float, int, int, bool]:
    """Best cut along the order of a feature's bins, by the explained squared error.

    ``stats`` are a histogram of (count, weight, sums...), its last bin "missing"; only
    ``features`` are looked at. Returns the sum of squared sums over weights of both sides
    (-inf: no cut leaves both sides ``min_leaf`` rows and more than ``min_weight``), the position
    among the features, the bin, and whether missing values go left.
    """
    inside, cuts = stats[:, features], n_cuts[features][:, None]
    return _best_cut_of(inside[:, :, :-1], inside[:, :, -1:], cuts, total, min_leaf, min_weight)


def _best_cut_of(
    present: FloatArray,
    missing: FloatArray,
    n_cuts: Any,
    total: FloatArray,
    min_leaf: float,
    min_weight: float,
) -> tuple[float, int, int, bool]:
    """Best cut of some features, their bins of present and of missing values apart."""
    below, every = present.cumsum(axis=2), total.reshape(-1, 1, 1)
    bins = np.arange(below.shape[2])
    best = (-np.inf, 0, 0, False)
    for missing_left in (False, True) if missing[0].any() else (False,):
        left = below + missing if missing_left else below
        right = every - left
        smaller = np.minimum(left[:2], right[:2])
        # Past the last cut all present values are left: a split only if missing go right.
        allowed = bins < n_cuts + (not missing_left)
        allowed = allowed & (smaller[0] >= min_leaf) & (smaller[1] > min_weight)
        with np.errstate(divide="ignore", invalid="ignore"):
            here, there = (np.add.reduce(side[2:] ** 2) / side[1] for side in (left, right))
        gain = np.where(allowed, here + there, -np.inf)
        row, column = divmod(int(gain.argmax()), gain.shape[1])
        if gain[row, column] > best[0]:
            best = (float(gain[row, column]), row, column, missing_left)
    return best


def best_routes(
    count: FloatArray,
    cost: FloatArray,
    features: NDArray[Any],
    n_cuts: NDArray[Any],
    min_leaf: float,
) -> tuple[FloatArray, NDArray[np.intp], NDArray[np.bool_]]:
    """Cut of each feature that sends rows left where that costs least, given two subtrees.

    ``cost`` is what the rows of a bin lose on the left rather than on the right. Returns the
    least costs (inf: no cut leaves both sides enough), the bins, and whether missing values go
    left: to the better side, or with most rows where there are none.
    """
    count, cost = count[features], cost[features]
    missing_count, missing_cost = count[:, -1], cost[:, -1]
    missing_left = (missing_count > 0) & (missing_cost < 0)
    below_count, below_cost = np.cumsum(count[:, :-1], axis=1), np.cumsum(cost[:, :-1], axis=1)
    total = below_count[:, -1] + missing_count
    left = below_count + (missing_left * missing_count)[:, None]
    allowed = (left >= min_leaf) & (total[:, None] - left >= min_leaf)
    allowed &= np.arange(left.shape[1]) < n_cuts[features][:, None]
    costs = np.where(allowed, below_cost + (missing_left * missing_cost)[:, None], np.inf)
    at, every = costs.argmin(axis=1), np.arange(len(features))
    heavier = below_count[every, at] * 2 >= total
    return costs[every, at], at, np.where(missing_count == 0, heavier, missing_left)


def route(coded: FloatArray, rows: NDArray[Any], nodes: FlatNodes) -> NDArray[np.intp]:
    """Return the number of the leaf that each row reaches."""
    reached = np.empty(len(rows), dtype=np.intp)
    stack = [(0, np.arange(len(rows)))]
    while stack:
        at, where = stack.pop()
        if nodes.leaf[at] >= 0:
            reached[where] = nodes.leaf[at]
            continue
        values = coded[rows[where], nodes.feature[at]]
        missing = np.isnan(values)
        if nodes.by_set[at]:
            code = np.where(missing, 0, values).astype(np.intp)
            known = code < nodes.sets.shape[1]  # codes beyond belong to no set
            goes = known & nodes.sets[at, np.where(known, code, 0)]
        else:
            goes = values <= nodes.threshold[at]
        goes = np.where(missing, nodes.missing_left[at], goes)
        left, right = nodes.children[at]
        stack += [(left, where[goes]), (right, where[~goes])]
    return reached


def sum_by_leaf(
    reached: NDArray[np.intp], rows: NDArray[Any], values: FloatArray, n_leaves: int
) -> tuple[NDArray[Any], NDArray[np.intp], FloatArray]:
    """Put rows in the order of their leaves; return them, each leaf's start, and its sums.

    Within a leaf the rows keep their order.
    """
    starts = np.zeros(n_leaves + 1, dtype=np.intp)
    np.cumsum(np.bincount(reached, minlength=n_leaves), out=starts[1:])
    by_leaf = rows[np.argsort(reached, kind="stable")]
    sums = np.zeros((n_leaves, values.shape[1]))
    for column in range(values.shape[1]):
        sums[:, column] = np.bincount(reached, values[rows, column], n_leaves)
    return by_leaf, starts, sums


# -- trees of ensembles -------------------------------------------------------------------


def feature_order(seed: int, node: int, n_features: int) -> NDArray[np.intp]:
    """Features in an order that is drawn anew for every node of a tree."""
    start = (seed + (node + 1) * 0x9E3779B97F4A7C15) % 2**64
    keys = np.arange(n_features, dtype=np.uint64) * np.uint64(0xD1B54A32D192ED03)
    keys = keys + np.uint64(start)
    keys = (keys ^ (keys >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    keys = (keys ^ (keys >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.argsort(keys ^ (keys >> np.uint64(31)))


def _best_of_node(
    bins: NDArray[Any],
    layers: list[FloatArray],
    total: FloatArray,
    order: NDArray[Any],
    limits: GrowthLimits,
) -> tuple[float, int, int, bool]:
    """Return gain, feature, last bin on the left, and whether missing values go left.

    ``bins`` has a line per feature, ``layers`` are count, weight and sums of the node's rows and
    ``total`` their totals.
    """
    base = 0.0
    for value in total[2:]:
        base += value * value
    base /= total[1]
    best, found = base + (1e-12 + 1e-10 * base), (0.0, -1, 0, False)
    constant = 0
    for visited, f in enumerate(order):
        if visited >= limits.max_features and visited > constant:
            break
        stats = np.array([np.bincount(bins[f], layer, limits.width) for layer in layers])
        filled = np.flatnonzero(stats[0])
        if filled.size < 2:
            constant += 1
            continue
        missing, present = stats[0, -1], filled[filled < limits.width - 1]
        first, last = int(present[0]), int(present[-1])
        near, rest = stats[:, None, first : last + 1], stats[:, None, -1:]
        gain, _, at, missing_left = _best_cut_of(
            near, rest, last - first, total, limits.min_leaf, limits.min_weight
        )
        if gain > best:
            best = gain
            if missing == 0:
                missing_left = bool(near[0, 0, : at + 1].sum() * 2 >= total[0])
            found = (best - base, int(f), first + at, missing_left)
    return found


def grow_tree(
    codes: NDArray[Any],
    rows: NDArray[Any],
    weight: FloatArray,
    sums: FloatArray,
    limits: GrowthLimits,
    seed: int,
) -> BinnedTree:
    """Grow one tree of an ensemble; a leaf's value is the sum of ``sums`` over that of weights."""
    feature, cut, missing_left, child = [-1], [0], [False], [-1]
    values: list[FloatArray] = []
    inside = [rows]
    waiting: list[tuple[float, int]] = []

    def look(node: int) -> None:
        mine = inside[node]
        layers = [np.ones(len(mine)), weight[mine], *sums[mine].T]
        together = np.zeros(len(mine), dtype=np.intp)
        total = np.array([np.bincount(together, layer, 1)[0] for layer in layers])
        values.append(total[2:] / total[1] if total[1] > 0 else np.zeros(sums.shape[1]))
        if len(mine) < 2 * limits.min_leaf or total[1] <= limits.min_weight:
            return
        order = feature_order(seed, node, len(codes))
        gain, feature[node], cut[node], missing_left[node] = _best_of_node(
            codes[:, mine], layers, total, order, limits
        )
        if feature[node] >= 0:
            waiting.append((gain, node))

    look(0)
    n_leaves = 1
    while waiting and (limits.max_leaves == 0 or n_leaves < limits.max_leaves):
        at = len(waiting) - 1
        if limits.max_leaves > 0:
            at = max(range(len(waiting)), key=lambda i: (waiting[i][0], -i))
        _, node = waiting.pop(at)
        bins = codes[feature[node], inside[node]]
        goes = np.where(bins == limits.width - 1, missing_left[node], bins <= cut[node])
        child[node] = len(feature)
        n_leaves += 1
        for side in (inside[node][goes], inside[node][~goes]):
            inside.append(side)
            feature.append(-1)
            cut.append(0)
            missing_left.append(False)
            child.append(-1)
            look(len(feature) - 1)
    for _, node in waiting:
        feature[node] = -1
    return BinnedTree(
        np.array(feature, dtype=np.int32),
        np.array(cut, dtype=np.int32),
        np.array(missing_left),
        np.array(child, dtype=np.int32),
        np.array(values).reshape(-1, sums.shape[1]),
    )


def add_values(
    by_row: NDArray[Any],
    rows: NDArray[Any],
    missing_bin: int,
    tree: BinnedTree,
    scale: float,
    out: FloatArray,
) -> None:
    """Add what a tree says of some rows, times ``scale``, to their lines of ``out``.

    ``by_row`` holds the bins of each row of the table.
    """
    at = np.zeros(len(rows), dtype=np.intp)
    inner = np.flatnonzero(tree.feature[at] >= 0)
    while inner.size:
        node = at[inner]
        bins = by_row[rows[inner], tree.feature[node]]
        left = np.where(bins == missing_bin, tree.missing_left[node], bins <= tree.cut[node])
        at[inner] = tree.child[node] + ~left
        inner = inner[tree.feature[at[inner]] >= 0]
    out[rows] += scale * tree.values[at]
