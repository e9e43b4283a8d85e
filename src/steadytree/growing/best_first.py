"""Grow a regression tree on soft targets, best split first, on a table cut into bins once.

Searching for splits over and over on the same rows is what makes tree editing slow. Here every
numeric column gets a fixed grid of cut points (all midpoints, or quantiles where there are many
values), every category its own bin, and missing values one bin more; ordered categories have cut
points as well, between each and the next. The statistics of all possible splits of a set of rows
are then histograms.

The splits are added in the order of what they explain, so that one growth to the largest
size holds the trees of all smaller sizes as its beginnings. Categorical features are split
by category sets, along their order where they have one, else in the order of their mean
targets; missing values go to the better side.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadytree.growing._loops import loops
from steadytree.tree.rows import CodedRows
from steadytree.tree.space import FeatureSpace

FloatArray = NDArray[np.float64]
IndexArray = NDArray[np.intp]

MAX_BINS = 255


@dataclass(frozen=True, slots=True)
class Split:
    """One condition: a threshold or a category set, and where missing values go.

    ``unseen_left`` is carried from the tree that the condition was read from; a new one sends
    categories it never met where missing values go.
    """

    feature: int
    threshold: float  # NaN for a category set
    left: tuple[int, ...] | None  # codes that go left; None for a threshold
    missing_left: bool
    unseen_left: bool | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if self.threshold != self.threshold:
            # One NaN for all, so that equal category sets are equal splits.
            object.__setattr__(self, "threshold", np.nan)

    @property
    def sends_unseen_left(self) -> bool:
        """Whether a category never met goes left."""
        return self.missing_left if self.unseen_left is None else self.unseen_left

    def goes_left(self, values: FloatArray) -> NDArray[np.bool_]:
        """Whether each coded value goes left."""
        if self.left is None:
            below = values <= self.threshold
        else:
            below = np.isin(values, np.array(self.left, dtype=np.float64))
        return np.where(np.isnan(values), self.missing_left, below)


def cut_points(values: FloatArray, most: int = MAX_BINS - 1) -> FloatArray:
    """Cut points between observed values: every midpoint, or about ``most`` quantiles."""
    seen = np.unique(values[~np.isnan(values)])
    if seen.size < 2:
        return np.zeros(0)
    if seen.size > most + 1:
        ordered = np.sort(values[~np.isnan(values)])
        at = np.unique(ordered[np.linspace(0, ordered.size - 1, most + 2).astype(int)[1:-1]])
        where = np.unique(np.searchsorted(seen, at))
        where = where[where < seen.size - 1]
    else:
        where = np.arange(seen.size - 1)
    below, above = seen[where], seen[where + 1]
    middle = below + (above - below) / 2
    # Between neighbouring floats there is no room: the lower one is then the cut.
    return np.where(middle < above, middle, below)


def bins_of(values: FloatArray, cuts: FloatArray, missing_bin: int) -> IndexArray:
    """Bin of each value between cut points."""
    return np.where(np.isnan(values), missing_bin, np.searchsorted(cuts, values, side="left"))


class BinnedTable:
    """Coded rows with their bins.

    Parameters
    ----------
    coded : float array (n, n_features)
        As coded by ``FeatureSpace.encode``: NaN is missing.
    space : FeatureSpace
        Says which features are categorical; cut points lie within its ranges.
    n_real : int, optional
        Cut points are taken from the first ``n_real`` rows.
    """

    def __init__(self, coded: FloatArray, space: FeatureSpace, n_real: int | None = None) -> None:
        self.coded = coded
        self.space = space
        n, p = coded.shape
        real = coded[: n if n_real is None else n_real]
        self.edges: list[FloatArray] = []
        for j, cats in enumerate(space.categories):
            if cats is not None:
                n_cuts = len(cats) - 1 if space.by_order[j] else 0
                self.edges.append(np.arange(n_cuts, dtype=np.float64) + 0.5)
                continue
            edges = cut_points(real[:, j])
            inside = (edges >= space.lower[j]) & (edges < space.upper[j])
            self.edges.append(edges[inside])
        self.n_categories = np.array([len(cats or ()) for cats in space.categories], dtype=np.intp)
        self.n_edges = np.array([e.size for e in self.edges], dtype=np.intp)
        self.numeric = self.n_categories == 0
        self.ranked = self.numeric | space.by_order
        """Features that are cut in two along an order: numbers, and ordered categories."""
        self.n_bins = int(max(self.n_edges.max() + 1, self.n_categories.max(), 1))
        kind = np.uint8 if self.n_bins < 256 else np.uint16 if self.n_bins < 65_536 else np.int32
        self.codes: NDArray[Any] = np.empty((p, n), dtype=kind)
        """Bin of each value, a row per feature; ``n_bins`` is "missing"."""
        for j in range(p):
            # A category is its own bin: between the whole numbers before and after it.
            cuts = self.edges[j] if self.numeric[j] else np.arange(self.n_categories[j]) + 0.5
            self.codes[j] = bins_of(coded[:, j], cuts, self.n_bins)

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self.codes.shape[0])

    def histogram(self, rows: IndexArray, layers: FloatArray) -> FloatArray:
        """Sum per feature and bin over some rows, for each column of ``layers``.

        Returns an array (n_layers, n_features, n_bins + 1); the last bin is "missing".
        """
        out: FloatArray = loops().histogram(self.codes, rows, layers, self.n_bins + 1)
        return out

    def threshold_split(self, feature: int, bin_index: int, missing_left: bool) -> Split:
        """Make the split after a bin of a ranked feature.

        The bin after the last cut means "every present value": an infinite threshold, or all
        categories.
        """
        if not self.numeric[feature]:
            return Split(feature, np.nan, tuple(range(bin_index + 1)), missing_left)
        edges = self.edges[feature]
        threshold = float(edges[bin_index]) if bin_index < edges.size else np.inf
        return Split(feature, threshold, None, missing_left)


# -- the rows that trees are grown on ------------------------------------------------------


@dataclass(frozen=True, eq=False)
class TaughtRows:
    """Rows to fit a tree on: the real ones first, then augmented ones, with soft targets.

    ``outcomes`` are those of the real rows in the teacher's columns (None: the targets are the
    outcomes); the first ``n_old`` of them are rows of before. ``drifted``: the new rows no
    longer follow these. ``deployed_share``: how far the deployed tree is still believed where
    the rows of before are not at hand. Where the real rows are a sample, values and counts come
    from ``whole``: all rows, and how many of them, the first ones, are of before.
    """

    coded: FloatArray
    targets: FloatArray
    weight: FloatArray
    n_real: int
    n_classes: int | None
    outcomes: FloatArray | None = None
    n_old: int = 0
    drifted: bool = False
    deployed_share: float = 0.0
    whole: tuple[CodedRows, int] | None = None

    @property
    def observed(self) -> FloatArray:
        """Outcomes of the real rows, in the teacher's columns."""
        return self.targets[: self.n_real] if self.outcomes is None else self.outcomes


# -- growth --------------------------------------------------------------------------------

MIN_GAIN, MIN_WEIGHT = 1e-12, 1e-12


@dataclass(frozen=True, eq=False)
class GrowthRules:
    """What a tree is grown on, and how far.

    ``layers`` are summed over rows: what ``min_leaf`` counts, weight, weighted targets. Errors
    are weighted and summed over the columns of the targets.
    """

    table: BinnedTable
    layers: FloatArray
    min_leaf: int
    max_depth: int


class Grown:
    """A tree in the order its splits were added: the i-th split made nodes 2i + 1 and 2i + 2.

    ``order[i]`` is the node that the i-th split divides; the tree with m leaves consists of
    the first m - 1 splits. It can be grown further at any time.
    """

    def __init__(self, rules: GrowthRules, rows: IndexArray) -> None:
        self.rules = rules
        self.rows, self.depth = [rows], [0]
        self.split: dict[int, Split] = {}
        self.children: dict[int, tuple[int, int]] = {}
        self.order: list[int] = []
        self.kept: dict[int, Any] = {}
        """What was made of its nodes once and serves every size."""
        self._heap: list[tuple[float, int, Split, FloatArray]] = []
        # Nodes that were made but not looked at: the parent's sums (None: the root).
        self._pending: tuple[int, FloatArray | None] | None = (0, None)

    @property
    def n_leaves(self) -> int:
        """Number of leaves when all splits are used."""
        return len(self.order) + 1

    def children_within(self, node: int, n_leaves: int) -> tuple[int, int] | None:
        """Children of a node in the tree with ``n_leaves`` leaves (None: a leaf there)."""
        pair = self.children.get(node)
        return pair if pair is not None and pair[0] < 2 * n_leaves - 1 else None

    def extend(self, max_leaves: int) -> Grown:
        """Add splits until there are ``max_leaves`` leaves or nothing is left to split."""
        while self.n_leaves < max_leaves:
            self._look()
            if not self._heap:
                break
            _, node, split, stats = heapq.heappop(self._heap)
            inside = self.rows[node]
            left = split.goes_left(self.rules.table.coded[inside, split.feature])
            first = len(self.rows)
            self.split[node], self.children[node] = split, (first, first + 1)
            self.order.append(node)
            self.rows += [inside[left], inside[~left]]
            self.depth += [self.depth[node] + 1] * 2
            self._pending = (first, stats)
        return self

    def _look(self) -> None:
        """Find the best splits of the nodes that were made last."""
        if self._pending is None:
            return
        (first, stats), self._pending = self._pending, None
        rules = self.rules
        if stats is None:
            self._consider(first, rules.table.histogram(self.rows[first], rules.layers))
            return
        # Count the smaller side; the other one is what remains.
        small = int(len(self.rows[first + 1]) < len(self.rows[first]))
        counted = rules.table.histogram(self.rows[first + small], rules.layers)
        self._consider(first + small, counted)
        self._consider(first + 1 - small, stats - counted)

    def _consider(self, node: int, stats: FloatArray) -> None:
        rules = self.rules
        if stats[0, 0].sum() < 2 * rules.min_leaf or self.depth[node] >= rules.max_depth:
            return
        found = best_split(rules.table, stats, rules.min_leaf)
        if found is not None:
            heapq.heappush(self._heap, (-found[0], node, found[1], stats))


def best_split(table: BinnedTable, stats: FloatArray, min_leaf: int) -> tuple[float, Split] | None:
    """Best split by explained squared error, from a histogram of (count, weight, sums...)."""
    total = stats[:, 0, :].sum(axis=1)
    if total[1] <= 0:
        return None
    base = (total[2:] ** 2).sum() / total[1]
    ranked, sets = np.flatnonzero(table.ranked), np.flatnonzero(~table.ranked)
    found = [_best_threshold(table, stats, total, ranked, min_leaf)] if ranked.size else []
    found += [_best_set(table, stats[:, j], total, j, min_leaf) for j in sets.tolist()]
    gains = [(float(gain - base), split) for gain, split in filter(None, found)]
    gain, split = max(gains, key=lambda one: one[0], default=(0.0, None))
    return None if split is None or gain <= MIN_GAIN else (gain, split)


def _best_threshold(
    table: BinnedTable, stats: FloatArray, total: FloatArray, features: IndexArray, min_leaf: int
) -> tuple[float, Split] | None:
    """Best cut along the order of a feature's values: a threshold, or the first categories."""
    gain, row, column, missing_left = loops().best_cut(
        stats, features, table.n_edges, total, float(min_leaf), MIN_WEIGHT
    )
    if not np.isfinite(gain):
        return None
    j = int(features[row])
    if stats[0, j, -1] == 0:  # never seen here: with the heavier side
        missing_left = bool(np.cumsum(stats[1, j, : column + 1])[-1] * 2 >= total[1])
    return float(gain), table.threshold_split(j, int(column), bool(missing_left))


def _best_set(
    table: BinnedTable, stats: FloatArray, total: FloatArray, feature: int, min_leaf: int
) -> tuple[float, Split] | None:
    """Best category set among those that follow the order of the mean targets."""
    used = np.flatnonzero(stats[1] > 0)
    if used.size < 2:
        return None
    means = stats[2:, used] / stats[1, used]
    key = means[0]
    if means.shape[0] > 1:
        # Several targets: order along the direction in which the categories differ most.
        centred = (means - total[2:, None] / total[1]) * np.sqrt(stats[1, used])
        key = np.linalg.svd(centred, full_matrices=False)[0][:, 0] @ means
    order = used[np.argsort(key, kind="stable")]
    # In that order they are cut like numbers, none of them missing.
    one, n_cuts = np.zeros(1, dtype=np.intp), np.array([used.size - 2])
    in_order = np.append(stats[:, order], np.zeros((len(stats), 1)), axis=1)[:, None]
    gain, _, at, _ = loops().best_cut(in_order, one, n_cuts, total, float(min_leaf), MIN_WEIGHT)
    if not np.isfinite(gain):
        return None
    codes, left = set(range(int(table.n_categories[feature]))), set(order[: at + 1].tolist())
    heavier_left = bool(np.cumsum(stats[1, order[: at + 1]])[-1] * 2 >= total[1])
    if heavier_left:  # what was never seen here goes with the heavier side
        left |= codes - set(used.tolist())
    missing_left = table.n_bins in left if table.n_bins in used else heavier_left
    return float(gain), Split(feature, np.nan, tuple(sorted(left & codes)), missing_left)
