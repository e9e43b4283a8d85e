"""Forests and boosting on columns that are cut into bins once per teacher.

The teacher is fitted again in every fold of every retraining, so its speed matters most. Its
columns are cut into at most 255 bins, and all trees of forest and boosting grow on them. The
recipes are the usual ones (Breiman's forest with out-of-bag predictions; gradient boosting with
second derivatives, as histogram-based libraries do it); the draws depend on the seed alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadytree.growing._loops import loops
from steadytree.growing.binning import FloatArray, cut_points

__all__ = ["ROWS_PER_TREE", "BinnedColumns", "Boosting", "ColumnBins", "Forest"]

MOST_BINS = 255
ROWS_PER_TREE = 20_000
"""Most rows that one tree of the forest, or one round of boosting, is fitted to."""

TreeArrays = tuple[NDArray[Any], NDArray[Any], NDArray[np.bool_], NDArray[Any], FloatArray]


@dataclass(frozen=True, eq=False)
class BinnedColumns:
    """Rows by the bins of their values, laid out by row and by column."""

    by_row: NDArray[np.uint8]
    by_column: NDArray[np.uint8]

    def __len__(self) -> int:
        return len(self.by_row)


class ColumnBins:
    """Where columns are cut: between observed values, at most 254 cuts.

    The last bin (``MOST_BINS``) is "missing".
    """

    def __init__(self, columns: NDArray[Any]) -> None:
        self.cuts = [cut_points(column.astype(np.float64), MOST_BINS - 1) for column in columns.T]

    def transform(self, columns: NDArray[Any]) -> BinnedColumns:
        """Bins of the values of any rows."""
        by_column = np.empty(columns.shape[::-1], dtype=np.uint8)
        for j, cuts in enumerate(self.cuts):
            values = columns[:, j].astype(np.float64)
            gone = np.isnan(values)
            bins = np.searchsorted(cuts, np.where(gone, 0.0, values), side="left")
            by_column[j] = np.where(gone, MOST_BINS, bins)
        return BinnedColumns(np.ascontiguousarray(by_column.T), by_column)


@dataclass(frozen=True, eq=False)
class Forest:
    """Trees on bootstraps of the rows; it predicts the mean of what they say."""

    trees: Sequence[TreeArrays]

    @classmethod
    def fit(
        cls,
        table: BinnedColumns,
        targets: FloatArray,
        weight: FloatArray,
        *,
        n_trees: int,
        max_features: int,
        min_leaf: int,
        seed: int,
    ) -> tuple[Forest, FloatArray]:
        """Fit, and predict each row by the trees that did not draw it.

        Squared error of class shares is Gini impurity. A row that every tree drew is
        predicted by all of them. Returns the forest and the predictions.
        """
        n = len(table)
        rng = np.random.default_rng(seed)
        seeds = rng.integers(2**62, size=n_trees)
        out, times = np.zeros_like(targets), np.zeros(n)
        trees: list[TreeArrays] = []
        for number in seeds.tolist():
            draws = rng.integers(n, size=min(n, ROWS_PER_TREE))
            count = np.bincount(draws, minlength=n)
            mine = count * weight
            tree = loops().grow_tree(
                table.by_column,
                np.flatnonzero(mine > 0),
                mine,
                mine[:, None] * targets,
                MOST_BINS + 1,
                max_features,
                min_leaf,
                1e-12,
                0,
                number,
            )
            trees.append(tree)
            others = np.flatnonzero(count == 0)
            loops().add_values(table.by_row, others, MOST_BINS, *tree, 1.0, out)
            times[others] += 1
        forest, always = cls(trees), times == 0
        out /= np.maximum(times, 1)[:, None]
        if always.any():
            rows = np.flatnonzero(always)
            out[rows] = forest.predict(BinnedColumns(table.by_row[rows], table.by_column[:, rows]))
        return forest, out

    def predict(self, table: BinnedColumns) -> FloatArray:
        """Targets of any rows."""
        out = np.zeros((len(table), self.trees[0][4].shape[1]))
        every = np.arange(len(table))
        for tree in self.trees:
            loops().add_values(table.by_row, every, MOST_BINS, *tree, 1.0, out)
        return out / len(self.trees)


@dataclass(frozen=True, eq=False)
class Boosting:
    """Small trees added one after the other on the scale of log-odds (or of the response).

    ``trees`` has a tuple per round: one tree per column of scores.
    """

    trees: Sequence[tuple[TreeArrays, ...]]
    start: FloatArray
    step: float
    n_classes: int | None

    @classmethod
    def fit(
        cls,
        table: BinnedColumns,
        targets: FloatArray,
        weight: FloatArray,
        rows: NDArray[np.intp],
        *,
        n_classes: int | None,
        n_rounds: int,
        step: float,
        max_leaves: int,
        min_leaf: int,
        feature_share: float,
        seed: int,
    ) -> tuple[Boosting, FloatArray]:
        """Fit on some rows of a table; return the model and its scores of all rows."""
        rng = np.random.default_rng(seed)
        rows = rows[weight[rows] > 0]
        mean = np.average(targets[rows], axis=0, weights=weight[rows])
        start = _scores(mean, n_classes)
        score = np.repeat(start[None, :], len(table), axis=0)
        every, k = np.arange(len(table)), targets.shape[1]
        max_features = max(1, ceil(feature_share * len(table.by_column)))
        rounds: list[tuple[TreeArrays, ...]] = []
        slope, curve = np.zeros(targets.shape), np.zeros(targets.shape)
        for _ in range(n_rounds):
            some = rows
            if len(rows) > ROWS_PER_TREE:
                some = np.sort(rng.choice(rows, ROWS_PER_TREE, replace=False, shuffle=False))
            share = _shares(score[some], n_classes)
            slope[some] = weight[some, None] * (targets[some] - share)
            curve[some] = weight[some, None] * (1.0 if n_classes is None else share * (1.0 - share))
            trees = []
            for column in range(k):
                tree = loops().grow_tree(
                    table.by_column,
                    some,
                    np.ascontiguousarray(curve[:, column]),
                    np.ascontiguousarray(slope[:, column : column + 1]),
                    MOST_BINS + 1,
                    max_features,
                    min_leaf,
                    1e-3,
                    max_leaves,
                    int(rng.integers(2**62)),
                )
                one = np.zeros((len(table), 1))
                loops().add_values(table.by_row, every, MOST_BINS, *tree, step, one)
                score[:, column] += one[:, 0]
                trees.append(tree)
            rounds.append(tuple(trees))
        return cls(rounds, start, step, n_classes), score

    def shares(self, score: FloatArray) -> FloatArray:
        """Targets from scores."""
        return _shares(score, self.n_classes)

    def predict(self, table: BinnedColumns) -> FloatArray:
        """Targets of any rows."""
        every = np.arange(len(table))
        score = np.repeat(self.start[None, :], len(table), axis=0)
        for column in range(len(self.start)):
            one = np.zeros((len(table), 1))
            for trees in self.trees:
                loops().add_values(table.by_row, every, MOST_BINS, *trees[column], self.step, one)
            score[:, column] += one[:, 0]
        return self.shares(score)


def _scores(mean: FloatArray, n_classes: int | None) -> FloatArray:
    """Scores that say the same of every row."""
    if n_classes is None:
        return mean
    kept = np.clip(mean, 1e-12, 1 - 1e-12)
    return np.asarray(np.log(kept / (1 - kept)) if n_classes == 2 else np.log(kept))


def _shares(score: FloatArray, n_classes: int | None) -> FloatArray:
    if n_classes is None:
        return score
    if n_classes == 2:
        with np.errstate(over="ignore"):  # a share of 0 all the same
            return np.asarray(1.0 / (1.0 + np.exp(-score)))
    odds = np.exp(score - score.max(axis=1, keepdims=True))
    return np.asarray(odds / odds.sum(axis=1, keepdims=True))
