"""The inner loops in numpy; ``compiled`` gives the same results, faster."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


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
) -> tuple[float, int, int, bool]:
    """Best cut along the order of a feature's bins, by the explained squared error.

    ``stats`` are a histogram of (count, weight, sums...), its last bin "missing"; only
    ``features`` are looked at. Returns the sum of squared sums over weights of both sides
    (-inf: no cut leaves both sides enough), the position among the features, the bin, and
    whether missing values go left.
    """
    inside = stats[:, features]
    below, missing = np.cumsum(inside[:, :, :-1], axis=2), inside[:, :, -1:]
    bins = np.arange(below.shape[2])
    best = (-np.inf, 0, 0, False)
    for missing_left in (False, True):
        if missing_left and not (missing[0] > 0).any():
            break
        left = below + missing if missing_left else below
        right = total.reshape(-1, 1, 1) - left
        allowed = (
            (left[0] >= min_leaf)
            & (right[0] >= min_leaf)
            & (left[1] > 1e-12)
            & (right[1] > 1e-12)
            # Past the last cut all present values are left: a split only if missing go right.
            & (bins < n_cuts[features][:, None] + (not missing_left))
        )
        with np.errstate(divide="ignore", invalid="ignore"):
            gain = (left[2:] ** 2).sum(axis=0) / left[1] + (right[2:] ** 2).sum(axis=0) / right[1]
        gain = np.where(allowed, gain, -np.inf)
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
    left: to the better side, or with most rows where none was met.
    """
    count, cost = count[features], cost[features]
    gone_count, gone_cost = count[:, -1], cost[:, -1]
    missing_left = (gone_count > 0) & (gone_cost < 0)
    below_count, below_cost = np.cumsum(count[:, :-1], axis=1), np.cumsum(cost[:, :-1], axis=1)
    total = below_count[:, -1] + gone_count
    left = below_count + (missing_left * gone_count)[:, None]
    allowed = (left >= min_leaf) & (total[:, None] - left >= min_leaf)
    allowed &= np.arange(left.shape[1]) < n_cuts[features][:, None]
    costs = np.where(allowed, below_cost + (missing_left * gone_cost)[:, None], np.inf)
    at, every = costs.argmin(axis=1), np.arange(len(features))
    heavier = below_count[every, at] * 2 >= total
    return costs[every, at], at, np.where(gone_count == 0, heavier, missing_left)


def route(
    coded: FloatArray,
    rows: NDArray[Any],
    feature: NDArray[Any],
    threshold: FloatArray,
    category_set: NDArray[Any],
    missing_left: NDArray[np.bool_],
    children: NDArray[Any],
    leaf: NDArray[Any],
    sets: NDArray[np.bool_],
) -> NDArray[np.intp]:
    """Return the number of the leaf that each row reaches.

    A node has a feature and a threshold, or the number of a category set (-1: none), and two
    children; ``leaf`` numbers the leaves (-1: an inner node).
    """
    reached = np.empty(len(rows), dtype=np.intp)
    stack = [(0, np.arange(len(rows)))]
    while stack:
        at, where = stack.pop()
        if leaf[at] >= 0:
            reached[where] = leaf[at]
            continue
        seen = coded[rows[where], feature[at]]
        gone = np.isnan(seen)
        if category_set[at] >= 0:
            code = np.where(gone, 0, seen).astype(np.intp)
            known = code < sets.shape[1]  # codes beyond belong to no set
            goes = known & sets[category_set[at], np.where(known, code, 0)]
        else:
            goes = seen <= threshold[at]
        goes = np.where(gone, missing_left[at], goes)
        stack += [(children[at, 0], where[goes]), (children[at, 1], where[~goes])]
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
    codes: NDArray[Any],
    rows: NDArray[Any],
    weight: FloatArray,
    sums: FloatArray,
    total: FloatArray,
    order: NDArray[Any],
    width: int,
    max_features: int,
    min_leaf: int,
    min_weight: float,
) -> tuple[float, int, int, bool]:
    """Return gain, feature, last bin on the left, and whether missing values go left."""
    base = 0.0
    for value in total[1:]:
        base += value * value
    base /= total[0]
    best, found = base + (1e-12 + 1e-10 * base), (0.0, -1, 0, False)
    visited = constant = 0
    layers = [np.ones(len(rows)), weight[rows], *sums[rows].T]
    sizes = np.array([float(len(rows)), *total])
    for f in order:
        if visited >= max_features and visited > constant:
            break
        visited += 1
        bins = codes[f, rows]
        stats = np.array([np.bincount(bins, layer, width) for layer in layers])
        missing = stats[0, width - 1]
        if (stats[0] > 0).sum() < 2:
            constant += 1
            continue
        present = np.flatnonzero(stats[0, :-1])
        first, last = int(present.min(initial=width)), int(present.max(initial=0))
        below = np.cumsum(stats[:, : last + 1], axis=1)
        for missing_left in (False, True):
            if missing_left and missing == 0:
                break
            left = below + stats[:, -1:] if missing_left else below
            right = sizes[:, None] - left
            allowed = (
                (left[0] >= min_leaf)
                & (right[0] >= min_leaf)
                & (left[1] > min_weight)
                & (right[1] > min_weight)
            )
            allowed[:first] = False
            if missing_left:
                allowed[last] = False
            with np.errstate(divide="ignore", invalid="ignore"):
                here, there = (
                    np.add.reduce(side[2:] ** 2, axis=0) / side[1] for side in (left, right)
                )
            gain = np.where(allowed, here + there, -np.inf)
            at = int(gain.argmax())
            if gain[at] > best:
                best = float(gain[at])
                side = missing_left if missing > 0 else bool(left[0, at] * 2 >= len(rows))
                found = (best - base, int(f), at, side)
    return found


def grow_tree(
    codes: NDArray[Any],
    rows: NDArray[Any],
    weight: FloatArray,
    sums: FloatArray,
    width: int,
    max_features: int,
    min_leaf: int,
    min_weight: float,
    max_leaves: int,
    seed: int,
) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.bool_], NDArray[Any], FloatArray]:
    """Grow one tree of an ensemble; a leaf's value is the sum of ``sums`` over that of weights.

    A node is divided by the best of ``max_features`` features drawn for it. With
    ``max_leaves`` (0: no limit) the best split is made first. Returns for each node its
    feature (-1: a leaf), the last bin that goes left, where missing values go, its left child
    (the right one follows it), and its values.
    """
    k = sums.shape[1]
    feature, cut, missing_left, child = [-1], [0], [False], [-1]
    values: list[FloatArray] = []
    inside = [rows]
    waiting: list[tuple[float, int]] = []

    def look(node: int) -> None:
        mine = inside[node]
        nothing = np.zeros(len(mine), dtype=np.intp)
        total = np.array(
            [
                np.bincount(nothing, column, 1)[0]
                for column in (weight[mine], *(sums[mine, i] for i in range(k)))
            ]
        )
        values.append(total[1:] / total[0] if total[0] > 0 else np.zeros(k))
        if len(mine) < 2 * min_leaf or total[0] <= min_weight:
            return
        gain, feature[node], cut[node], missing_left[node] = _best_of_node(
            codes,
            mine,
            weight,
            sums,
            total,
            feature_order(seed, node, len(codes)),
            width,
            max_features,
            min_leaf,
            min_weight,
        )
        if feature[node] >= 0:
            waiting.append((gain, node))

    look(0)
    n_leaves = 1
    while waiting and (max_leaves == 0 or n_leaves < max_leaves):
        at = len(waiting) - 1
        if max_leaves > 0:
            at = max(range(len(waiting)), key=lambda i: (waiting[i][0], -i))
        _, node = waiting.pop(at)
        bins = codes[feature[node], inside[node]]
        goes = np.where(bins == width - 1, missing_left[node], bins <= cut[node])
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
    return (
        np.array(feature, dtype=np.int32),
        np.array(cut, dtype=np.int32),
        np.array(missing_left),
        np.array(child, dtype=np.int32),
        np.array(values).reshape(-1, k),
    )


def add_values(
    by_row: NDArray[Any],
    rows: NDArray[Any],
    gone: int,
    feature: NDArray[Any],
    cut: NDArray[Any],
    missing_left: NDArray[np.bool_],
    child: NDArray[Any],
    values: FloatArray,
    scale: float,
    out: FloatArray,
) -> None:
    """Add what a tree says of some rows, times ``scale``; ``gone`` is the bin of missing values.

    ``by_row`` holds the bins of each row, ``out`` a line per row of the table.
    """
    at = np.zeros(len(rows), dtype=np.intp)
    inner = np.flatnonzero(feature[at] >= 0)
    while inner.size:
        node = at[inner]
        bins = by_row[rows[inner], feature[node]]
        left = np.where(bins == gone, missing_left[node], bins <= cut[node])
        at[inner] = child[node] + ~left
        inner = inner[feature[at[inner]] >= 0]
    out[rows] += scale * values[at]
