"""The inner loops, compiled by numba; what they do is said in ``plain``."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

__all__ = ["best_cut", "histogram", "route", "sum_by_leaf"]

_njit: Any = njit  # its stub lacks some options
entry: Any = _njit(nogil=True, cache=True)


@entry
def histogram(codes: Any, rows: Any, layers: Any, width: Any) -> Any:
    """See ``plain.histogram``."""
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
def best_cut(stats: Any, features: Any, n_cuts: Any, total: Any, min_leaf: Any) -> Any:
    """See ``plain.best_cut``."""
    n_layers, width = stats.shape[0], stats.shape[2]
    best, best_row, best_bin, best_missing = -np.inf, 0, 0, False
    any_missing = False
    for f in features:
        any_missing = any_missing or stats[0, f, width - 1] > 0
    below = np.empty(n_layers)
    left = np.empty(n_layers)
    for way in range(2 if any_missing else 1):
        for row in range(len(features)):
            f = features[row]
            below[:] = 0.0
            last = n_cuts[f] + 1 - way
            for b in range(min(last, width - 1)):
                for k in range(n_layers):
                    below[k] += stats[k, f, b]
                    left[k] = below[k] + stats[k, f, width - 1] if way == 1 else below[k]
                if left[0] < min_leaf or left[1] <= 1e-12:
                    continue
                weight = total[1] - left[1]
                if total[0] - left[0] < min_leaf or weight <= 1e-12:
                    continue
                here, there = 0.0, 0.0
                for k in range(2, n_layers):
                    here += left[k] * left[k]
                    other = total[k] - left[k]
                    there += other * other
                gain = here / left[1] + there / weight
                if gain > best:
                    best, best_row, best_bin, best_missing = gain, row, b, way == 1
    return best, best_row, best_bin, best_missing


@entry
def route(
    coded: Any,
    rows: Any,
    feature: Any,
    threshold: Any,
    category_set: Any,
    missing_left: Any,
    children: Any,
    leaf: Any,
    sets: Any,
) -> Any:
    """See ``plain.route``."""
    reached = np.empty(len(rows), dtype=np.intp)
    for i in range(len(rows)):
        row, at = rows[i], 0
        while leaf[at] < 0:
            x = coded[row, feature[at]]
            if np.isnan(x):
                goes = missing_left[at]
            elif category_set[at] >= 0:
                goes = x < sets.shape[1] and sets[category_set[at], int(x)]
            else:
                goes = x <= threshold[at]
            at = children[at, 0] if goes else children[at, 1]
        reached[i] = leaf[at]
    return reached


@entry
def sum_by_leaf(reached: Any, rows: Any, values: Any, n_leaves: Any) -> Any:
    """See ``plain.sum_by_leaf``."""
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
