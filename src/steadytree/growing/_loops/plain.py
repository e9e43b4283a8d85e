"""The inner loops in numpy; ``compiled`` gives the same results, faster."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["best_cut", "histogram", "route", "sum_by_leaf"]

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
