"""Grow a regression tree on soft targets, best split first, on a binned table.

The splits are added in the order of what they explain, so that one growth to the largest
size holds the trees of all smaller sizes as its beginnings. Categorical features are split
by category sets, along their order where they have one, else in the order of their mean
targets; missing values go to the better side.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from steadytree.growing.binning import BinnedTable, FloatArray, IndexArray, Split

__all__ = ["Grown", "best_split", "grow_best_first"]

MIN_GAIN = 1e-12


@dataclass
class Grown:
    """A tree in the order its splits were added: the i-th split made nodes 2i + 1 and 2i + 2.

    ``order[i]`` is the node that the i-th split divides; the tree with m leaves consists of
    the first m - 1 splits.
    """

    rows: list[IndexArray]
    split: list[Split | None]
    children: list[tuple[int, int] | None]
    depth: list[int]
    order: list[int] = field(default_factory=list)

    @property
    def n_leaves(self) -> int:
        """Number of leaves when all splits are used."""
        return len(self.order) + 1

    def children_within(self, node: int, n_leaves: int) -> tuple[int, int] | None:
        """Children of a node in the tree with ``n_leaves`` leaves (None: a leaf there)."""
        pair = self.children[node]
        return pair if pair is not None and pair[0] < 2 * n_leaves - 1 else None


def grow_best_first(
    table: BinnedTable,
    weight: FloatArray,
    targets: FloatArray,
    rows: IndexArray,
    *,
    max_leaves: int,
    min_leaf: int,
    max_depth: int,
    counted: FloatArray | None = None,
) -> Grown:
    """Grow a tree on some rows that minimises the weighted squared error to the targets.

    Errors are summed over the columns of the targets; ``min_leaf`` counts rows of the table,
    or (with ``counted``) those whose entry is 1: the real ones.
    """
    layers: list[FloatArray | None] = [counted, weight]
    layers += [weight * targets[:, i] for i in range(targets.shape[1])]
    grown = Grown([rows], [None], [None], [0])
    heap: list[tuple[float, int, Split, FloatArray]] = []

    def consider(node: int, stats: FloatArray) -> None:
        if stats[0, 0].sum() < 2 * min_leaf or grown.depth[node] >= max_depth:
            return
        found = best_split(table, stats, min_leaf)
        if found is not None:
            heapq.heappush(heap, (-found[0], node, found[1], stats))

    if max_leaves > 1:
        consider(0, table.histogram(rows, layers))
    while heap and grown.n_leaves < max_leaves:
        _, node, split, stats = heapq.heappop(heap)
        inside = grown.rows[node]
        left = split.goes_left(table.coded[inside, split.feature])
        sides = inside[left], inside[~left]
        first = len(grown.rows)
        grown.split[node], grown.children[node] = split, (first, first + 1)
        grown.order.append(node)
        for side in sides:
            grown.rows.append(side)
            grown.split.append(None)
            grown.children.append(None)
            grown.depth.append(grown.depth[node] + 1)
        if grown.n_leaves == max_leaves:
            break
        # Count the smaller side; the other one is what remains.
        small = int(len(sides[1]) < len(sides[0]))
        counted = table.histogram(sides[small], layers)
        consider(first + small, counted)
        consider(first + 1 - small, stats - counted)
    return grown


def best_split(table: BinnedTable, stats: FloatArray, min_leaf: int) -> tuple[float, Split] | None:
    """Best split by explained squared error, from a histogram of (count, weight, sums...)."""
    best_gain, best = MIN_GAIN, None
    total = stats[:, 0, :].sum(axis=1)
    if total[1] <= 0:
        return None
    base = (total[2:] ** 2).sum() / total[1]
    ranked, sets = np.flatnonzero(table.ranked), np.flatnonzero(~table.ranked)
    splits = [_best_set(table, stats[:, j], total, j, min_leaf) for j in sets.tolist()]
    if ranked.size:
        at = _best_threshold(table, stats[:, ranked], total, ranked, min_leaf)
        splits.insert(0, at)
    for found in splits:
        if found is not None and found[0] - base > best_gain:
            best_gain, best = found[0] - base, found[1]
    return None if best is None else (float(best_gain), best)


def _explained(left: FloatArray, total: FloatArray, min_leaf: int) -> FloatArray:
    """Sum of squared sums over weights on both sides; -inf where a side is too small.

    ``left`` has the layers (count, weight, sums...) first, whatever follows.
    """
    right = total.reshape((-1,) + (1,) * (left.ndim - 1)) - left
    allowed = (
        (left[0] >= min_leaf) & (right[0] >= min_leaf) & (left[1] > 1e-12) & (right[1] > 1e-12)
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        gain = (left[2:] ** 2).sum(axis=0) / left[1] + (right[2:] ** 2).sum(axis=0) / right[1]
    return np.where(allowed, gain, -np.inf)


def _best_threshold(
    table: BinnedTable,
    stats: FloatArray,
    total: FloatArray,
    features: NDArray[np.intp],
    min_leaf: int,
) -> tuple[float, Split] | None:
    """Best cut along the order of a feature's values: a threshold, or the first categories."""
    below = np.cumsum(stats[:, :, :-1], axis=2)
    missing = stats[:, :, -1:]
    bins = np.arange(below.shape[2])
    cuts = table.n_edges[features][:, None]
    best: tuple[float, Split] | None = None
    for missing_left in (False, True):
        if missing_left and not (missing[0] > 0).any():
            break
        gain = _explained(below + missing if missing_left else below, total, min_leaf)
        # Past the last cut all present values are left: a split only if missing go right.
        gain = np.where(bins[None, :] < cuts + (not missing_left), gain, -np.inf)
        at = int(gain.argmax())
        row, column = divmod(at, gain.shape[1])
        if np.isfinite(gain[row, column]) and (best is None or gain[row, column] > best[0]):
            side = missing_left
            if missing[0, row, 0] == 0:  # never seen here: with the heavier side
                side = bool(below[1, row, column] * 2 >= total[1])
            split = table.threshold_split(int(features[row]), column, side)
            best = float(gain[row, column]), split
    return best


def _best_set(
    table: BinnedTable, stats: FloatArray, total: FloatArray, feature: int, min_leaf: int
) -> tuple[float, Split] | None:
    """Best category set among those that follow the order of the mean targets."""
    used = np.flatnonzero(stats[1] > 0)
    if used.size < 2:
        return None
    means = stats[2:, used] / stats[1, used]
    if means.shape[0] > 1:
        # Several targets: order along the direction in which the categories differ most.
        centred = (means - total[2:, None] / total[1]) * np.sqrt(stats[1, used])
        axis = np.linalg.svd(centred, full_matrices=False)[0][:, 0]
        key = axis @ means
    else:
        key = means[0]
    order = used[np.argsort(key, kind="stable")]
    left = np.cumsum(stats[:, order], axis=1)[:, :-1]
    gain = _explained(left, total, min_leaf)
    at = int(gain.argmax())
    if not np.isfinite(gain[at]):
        return None
    chosen = set(order[: at + 1].tolist())
    heavier_left = bool(left[1, at] * 2 >= total[1])
    if heavier_left:  # what was never seen here goes with the heavier side
        chosen |= set(range(int(table.n_categories[feature]))) - set(used.tolist())
    gone = table.n_bins
    missing_left = gone in chosen if gone in set(used.tolist()) else heavier_left
    codes = tuple(sorted(c for c in chosen if c != gone))
    return float(gain[at]), Split(feature, float("nan"), codes, missing_left)
