"""A table cut into bins once, so that the best split of any set of rows is a few sums.

Searching for splits over and over on the same rows is what makes tree editing slow. Here
every numeric column gets a fixed grid of cut points (all midpoints, or quantiles where
there are many values), every category its own bin, and missing values one bin more. Ordered
categories have cut points as well, between each and the next. The
statistics of all possible splits of a set of rows are then histograms.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadytree.core.space import FeatureSpace
from steadytree.growing._loops import loops

__all__ = ["BinnedTable", "Split", "cut_points"]

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
            values = coded[:, j]
            gone = np.isnan(values)
            if self.numeric[j]:
                bins = np.searchsorted(self.edges[j], np.where(gone, 0.0, values), side="left")
            else:
                bins = np.where(gone, 0.0, values).astype(np.intp)
            self.codes[j] = np.where(gone, self.n_bins, bins)

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
