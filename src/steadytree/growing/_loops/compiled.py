"""The inner loops, compiled by numba; what they do is said in ``_loops``."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

_njit: Any = njit  # its stub lacks some options
entry: Any = _njit(nogil=True, cache=True)

_STEP = np.uint64(0x9E3779B97F4A7C15)
_STRIDE = np.uint64(0xD1B54A32D192ED03)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


@entry
def histogram(codes: Any, rows: Any, layers: Any, width: Any) -> Any:
    """See ``_loops.histogram``."""
    n_layers, p, m = layers.shape[1], codes.shape[0], len(rows)
    some = np.empty((m, n_layers))
    for i in range(m):
        for k in range(n_layers):
            some[i, k] = layers[rows[i], k]
    out = np.empty((n_layers, p, width))
    one = np.empty((width, n_layers))
    for j in range(p):
        one[:] = 0.0
        column = codes[j]
        if n_layers == 3:
            for i in range(m):
                b = column[rows[i]]
                one[b, 0] += some[i, 0]
                one[b, 1] += some[i, 1]
                one[b, 2] += some[i, 2]
        elif n_layers == 2:
            for i in range(m):
                b = column[rows[i]]
                one[b, 0] += some[i, 0]
                one[b, 1] += some[i, 1]
        else:
            for i in range(m):
                b = column[rows[i]]
                for k in range(n_layers):
                    one[b, k] += some[i, k]
        for k in range(n_layers):
            for b in range(width):
                out[k, j, b] = one[b, k]
    return out


@entry
def _scan(
    stats: Any, total: Any, low: Any, high: Any, ways: Any, least: Any, below: Any, best: Any
) -> Any:
    """Best cut of one feature between two of its bins.

    ``stats`` has a line of (count, weight, sums...) per bin, ``ways`` are those tried: 0 missing
    values go right, 1 left. ``least`` are the fewest rows and the least weight on a side, and
    whether to pass over empty bins; ``below`` is room to work in. Returns the explained error
    (``best`` where none is better), the bin and the way.
    """
    missing_bin, layers = len(stats) - 1, stats.shape[1]
    found: Any = best
    at: Any = 0
    side = 0
    for way in range(ways[0], ways[1]):
        count, weight, one = 0.0, 0.0, 0.0
        if below is not None:
            below[:] = 0.0
        for b in range(low, high + 1 - way):
            if stats[b, 0] == 0 and least[2] and b > low:
                continue
            count += stats[b, 0]
            weight += stats[b, 1]
            one += stats[b, 2]
            if below is not None:
                for c in range(3, layers):
                    below[c] += stats[b, c]
            left_count, left, sums = count, weight, one
            if way == 1:
                left_count, left = count + stats[missing_bin, 0], weight + stats[missing_bin, 1]
                sums = one + stats[missing_bin, 2]
            if left_count < least[0] or total[0] - left_count < least[0]:
                continue
            right = total[1] - left
            if left <= least[1] or right <= least[1]:
                continue
            rest = total[2] - sums
            here, there = sums * sums, rest * rest
            if below is not None:
                for c in range(3, layers):
                    sums = below[c] + way * stats[missing_bin, c]
                    rest = total[c] - sums
                    here += sums * sums
                    there += rest * rest
            gain = here / left + there / right
            if gain > found:
                found, at, side = gain, b, way
    return found, at, side


@entry
def best_cut(
    stats: Any, features: Any, n_cuts: Any, total: Any, min_leaf: Any, min_weight: Any
) -> Any:
    """See ``_loops.best_cut``."""
    missing_bin = stats.shape[2] - 1
    best, best_row, best_bin, best_missing = -np.inf, 0, 0, False
    below, least = np.empty(stats.shape[0]), (min_leaf, min_weight, False)
    any_missing = False
    for f in features:
        any_missing = any_missing or stats[0, f, missing_bin] > 0
    for way in range(2 if any_missing else 1):
        for row in range(len(features)):
            f = features[row]
            mine, ways = stats[:, f].T, (way, way + 1)
            if len(stats) == 3:
                found, b, _ = _scan(mine, total, 0, n_cuts[f], ways, least, None, best)
            else:
                found, b, _ = _scan(mine, total, 0, n_cuts[f], ways, least, below, best)
            if found > best:
                best, best_row, best_bin, best_missing = found, row, b, way == 1
    return best, best_row, best_bin, best_missing


@entry
def route(coded: Any, rows: Any, nodes: Any) -> Any:
    """See ``_loops.route``."""
    reached = np.empty(len(rows), dtype=np.intp)
    for i in range(len(rows)):
        row, at = rows[i], 0
        while nodes.leaf[at] < 0:
            x = coded[row, nodes.feature[at]]
            if np.isnan(x):
                goes = nodes.missing_left[at]
            elif nodes.by_set[at]:
                goes = x < nodes.sets.shape[1] and nodes.sets[at, int(x)]
            else:
                goes = x <= nodes.threshold[at]
            at = nodes.children[at, 0] if goes else nodes.children[at, 1]
        reached[i] = nodes.leaf[at]
    return reached


@entry
def sum_by_leaf(reached: Any, rows: Any, values: Any, n_leaves: Any) -> Any:
    """See ``_loops.sum_by_leaf``."""
    m, width = len(rows), values.shape[1]
    starts = np.zeros(n_leaves + 1, dtype=np.intp)
    sums = np.zeros((n_leaves, width))
    for i in range(m):
        number, row = reached[i], rows[i]
        starts[number + 1] += 1
        for k in range(width):
            sums[number, k] += values[row, k]
    for number in range(n_leaves):
        starts[number + 1] += starts[number]
    by_leaf = np.empty(m, dtype=rows.dtype)
    following = starts[:-1].copy()
    for i in range(m):
        number = reached[i]
        by_leaf[following[number]] = rows[i]
        following[number] += 1
    return by_leaf, starts, sums


# -- trees of ensembles -------------------------------------------------------------------


@entry
def _feature_order(seed: Any, node: Any, n_features: Any) -> Any:
    keys = np.empty(n_features, dtype=np.uint64)
    start = np.uint64(seed) + np.uint64(node + 1) * _STEP
    for j in range(n_features):
        x = np.uint64(j) * _STRIDE + start
        x = (x ^ (x >> np.uint64(30))) * _FIRST
        x = (x ^ (x >> np.uint64(27))) * _SECOND
        keys[j] = x ^ (x >> np.uint64(31))
    return np.argsort(keys)


@entry
def _fill(stats: Any, column: Any, inside: Any, near: Any, start: Any, stop: Any) -> Any:
    """Sum count, weight and sums by bin; return the first and last bin of present values."""
    missing_bin, k = len(stats) - 1, near.shape[1] - 1
    low: Any = np.int64(missing_bin)
    high: Any = np.int64(-1)
    for i in range(start, stop):
        b = np.int64(column[inside[i]])
        stats[b, 0] += 1.0
        stats[b, 1] += near[i, 0]
        stats[b, 2] += near[i, 1]
        for c in range(1, k):
            stats[b, 2 + c] += near[i, 1 + c]
        if b < missing_bin:
            low = b if b < low else low
            high = b if b > high else high
    return low, high


@entry
def grow_tree(codes: Any, rows: Any, weight: Any, sums: Any, limits: Any, seed: Any) -> Any:
    """See ``_loops.grow_tree``; the fields of the tree as a plain tuple."""
    width, max_features, min_leaf, min_weight, max_leaves = limits
    k, p = sums.shape[1], codes.shape[0]
    most = 2 * max(1, len(rows) // min_leaf) + 1
    if max_leaves > 0:
        most = min(most, 2 * max_leaves - 1)
    feature = np.full(most, -1, dtype=np.int32)
    cut = np.zeros(most, dtype=np.int32)
    missing_left = np.zeros(most, dtype=np.bool_)
    child = np.full(most, -1, dtype=np.int32)
    values = np.zeros((most, k))
    gains = np.zeros(most)
    starts, stops = np.zeros(most, dtype=np.intp), np.zeros(most, dtype=np.intp)
    waiting = np.zeros(most, dtype=np.intp)
    n_waiting, n_nodes, n_leaves, looked = 0, 1, 1, 0
    inside, spare = rows.copy(), np.empty_like(rows)
    stops[0] = len(rows)
    stats = np.zeros((width, k + 2))
    total, below = np.zeros(k + 2), np.zeros(k + 2)
    near = np.empty((len(rows), k + 1))  # weight and sums of the node's rows, gathered
    while True:
        # Look at the nodes that were made last.
        while looked < n_nodes:
            node = looked
            looked += 1
            start, stop = starts[node], stops[node]
            size = stop - start
            total[:] = 0.0
            total[0] = size
            for i in range(start, stop):
                row = inside[i]
                near[i, 0] = weight[row]
                total[1] += weight[row]
                for c in range(k):
                    near[i, 1 + c] = sums[row, c]
                    total[2 + c] += sums[row, c]
            if total[1] > 0:
                for c in range(k):
                    values[node, c] = total[2 + c] / total[1]
            if size < 2 * min_leaf or total[1] <= min_weight:
                continue
            base = 0.0
            for c in range(k):
                base += total[2 + c] * total[2 + c]
            base /= total[1]
            best = base + (1e-12 + 1e-10 * base)
            constant = 0
            for visited, f in enumerate(_feature_order(seed, node, p)):
                if visited >= max_features and visited > constant:
                    break
                column = codes[f]
                low, high = _fill(stats, column, inside, near, start, stop)
                missing = stats[width - 1, 0]
                found, b, way = best, 0, 0
                if high < 0 or (low == high and missing == 0):
                    constant += 1
                else:
                    ways, least = (0, 2 if missing > 0 else 1), (min_leaf, min_weight, True)
                    if k == 1:
                        found, b, way = _scan(stats, total, low, high, ways, least, None, best)
                    else:
                        found, b, way = _scan(stats, total, low, high, ways, least, below, best)
                if found > best:
                    best = found
                    gains[node] = found - base
                    feature[node], cut[node] = f, b
                    missing_left[node] = way == 1
                    if missing == 0:
                        on_left = 0.0
                        for c in range(low, b + 1):
                            on_left += stats[c, 0]
                        missing_left[node] = on_left * 2 >= total[0]
                if high >= 0:
                    stats[low : high + 1] = 0.0
                stats[width - 1] = 0.0
            if feature[node] >= 0:
                waiting[n_waiting] = node
                n_waiting += 1
        if n_waiting == 0 or (max_leaves > 0 and n_leaves >= max_leaves):
            break
        at = n_waiting - 1
        if max_leaves > 0:
            at = 0
            for i in range(1, n_waiting):
                if gains[waiting[i]] > gains[waiting[at]]:
                    at = i
        node = waiting[at]
        for i in range(at, n_waiting - 1):
            waiting[i] = waiting[i + 1]
        n_waiting -= 1
        # Divide its rows, each side in its order.
        start, stop = starts[node], stops[node]
        column = codes[feature[node]]
        middle: Any = start
        kept = 0
        for i in range(start, stop):
            row = inside[i]
            here = np.int64(column[row])
            goes = missing_left[node] if here == width - 1 else here <= cut[node]
            if goes:
                inside[middle] = row
                middle += 1
            else:
                spare[kept] = row
                kept += 1
        for i in range(kept):
            inside[middle + i] = spare[i]
        child[node] = n_nodes
        starts[n_nodes], stops[n_nodes] = start, middle
        starts[n_nodes + 1], stops[n_nodes + 1] = middle, stop
        n_nodes += 2
        n_leaves += 1
    for i in range(n_waiting):
        feature[waiting[i]] = -1
    return (
        feature[:n_nodes].copy(),
        cut[:n_nodes].copy(),
        missing_left[:n_nodes].copy(),
        child[:n_nodes].copy(),
        values[:n_nodes].copy(),
    )


@entry
def add_values(by_row: Any, rows: Any, missing_bin: Any, tree: Any, scale: Any, out: Any) -> None:
    """See ``_loops.add_values``."""
    for row in rows:
        at = 0
        while tree.feature[at] >= 0:
            b = np.int64(by_row[row, tree.feature[at]])
            goes = tree.missing_left[at] if b == missing_bin else b <= tree.cut[at]
            at = tree.child[at] if goes else tree.child[at] + 1
        for c in range(tree.values.shape[1]):
            out[row, c] += scale * tree.values[at, c]
