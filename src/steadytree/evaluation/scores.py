r"""What a tree says about rows, and how good that is, with its standard error.

Standard errors allow a paired comparison of two models on the same rows. Every score is a
smooth function of averages, so its sampling error is carried by one number per row, its
*influence*: the score's variance is the sum of squared influences, the variance of a
difference of two scores the sum of squared differences of influences. For the area under the
ROC curve this is DeLong's method; with groups (several rows per patient), influences are
summed within a group first (Obuchowski's clustered form).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from steadytree.core.tree import Tree

__all__ = [
    "Predictions",
    "Score",
    "auc",
    "auc_influence",
    "explained",
    "predict_rows",
    "r2_influence",
    "roc_steps",
    "score_rows",
    "standard_error",
    "wilson",
]

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Predictions:
    """Predictions of one model for a set of rows.

    Attributes
    ----------
    value : float array (n, k)
        Class shares, or the response (k = 1); NaN rows were never predicted.
    label : int array (n,)
        Position of the decision in the classes; zeros for regression.
    """

    value: FloatArray
    label: NDArray[np.int32]

    def take(self, rows: NDArray[Any]) -> Predictions:
        """Return the predictions of some rows."""
        return Predictions(self.value[rows], self.label[rows])


def predict_rows(tree: Tree, coded: FloatArray) -> Predictions:
    """Predict rows coded in the tree's features, rounded as its learner rounds them."""
    leaf = tree.apply_coded(tree.round_values(coded))
    return Predictions(tree.value[leaf], tree.label[leaf])


@dataclass(frozen=True)
class Score:
    """A score and the influence of each row on it (the influences sum to 0)."""

    value: float
    influence: FloatArray

    def minus(self, other: Score) -> Score:
        """Return the paired difference to another model's score on the same rows."""
        return Score(self.value - other.value, self.influence - other.influence)


def standard_error(influence: FloatArray, groups: NDArray[Any] | None = None) -> float:
    """Compute the standard error from influences; rows of one group count as one observation."""
    if groups is not None:
        _, code = np.unique(groups, return_inverse=True)
        influence = np.bincount(code, weights=influence).astype(np.float64)
    return float(np.sqrt((influence**2).sum()))


def roc_steps(positive: FloatArray, negative: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Rank the steps of a ROC curve against the other class; ties count one half.

    The area is the mean over the positives of the negatives' share below them, whether a
    step is a single row's score or a leaf with the weight of many rows.

    Parameters
    ----------
    positive, negative : float arrays (..., n_steps)
        Weight of either class at each step, by rising score.

    Returns
    -------
    below, above : float arrays (..., n_steps)
        Share of the negatives below each step, and of the positives above it; NaN where
        there are none.
    """
    sum_p, sum_n = positive.sum(axis=-1), negative.sum(axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        below = (np.cumsum(negative, axis=-1) - negative / 2) / sum_n[..., None]
        above = 1 - (np.cumsum(positive, axis=-1) - positive / 2) / sum_p[..., None]
    return below, above


def _count_steps(
    y: NDArray[np.bool_], score: FloatArray
) -> tuple[NDArray[np.intp], FloatArray, FloatArray]:
    """Step of each row by rising score, and the positives and negatives at each step."""
    levels, step = np.unique(score, return_inverse=True)
    counts = (np.bincount(step[rows], minlength=levels.size) for rows in (y, ~y))
    positive, negative = (count.astype(np.float64) for count in counts)
    return step, positive, negative


def auc(y: NDArray[np.bool_], score: FloatArray) -> float:
    """Area under the ROC curve as the share of pairs ranked rightly; ties count one half.

    Whole pairs are counted, so that trees that rank equally well tie exactly, which a Pareto
    frontier needs; the mean in :func:`auc_influence` may differ in the last digit. NaN with
    one class only.
    """
    _, positive, negative = _count_steps(y, score)
    pairs = positive.sum() * negative.sum()
    right = (positive * (np.cumsum(negative) - negative / 2)).sum()
    return float(right / pairs) if pairs else float("nan")


def auc_influence(y: NDArray[np.bool_], score: FloatArray) -> Score:
    """Area under the ROC curve with DeLong's structural components; ties count one half.

    With one class only the value is NaN and no row has any influence.
    """
    n1 = int(y.sum())
    n0 = y.size - n1
    influence = np.zeros(y.size)
    if n1 == 0 or n0 == 0:
        return Score(float("nan"), influence)
    step, positive, negative = _count_steps(y, score)
    below, above = roc_steps(positive, negative)
    value = float(below[step[y]].mean())
    influence[y] = (below[step[y]] - value) / n1
    influence[~y] = (above[step[~y]] - value) / n0
    return Score(value, influence)


def explained(
    error: Any, spread: Any, *, constant: Any = np.nan, tiny: Any = 0.0
) -> NDArray[np.float64]:
    """R² from the sums of squared errors and of squared distances from the mean.

    A spread of at most ``tiny`` is that of a constant response, whose R² is ``constant``.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(spread > tiny, 1 - error / spread, constant))


def r2_influence(y: FloatArray, predicted: FloatArray) -> Score:
    """Share of the response's variance that the prediction explains."""
    error, spread = (y - predicted) ** 2, (y - y.mean()) ** 2
    total = spread.mean()
    if not total > 0:
        return Score(float("nan"), np.zeros(y.size))
    ratio = float(error.mean() / total)
    return Score(
        float(explained(error.mean(), total)), -(error - ratio * spread) / (total * y.size)
    )


def score_rows(y: NDArray[Any], value: FloatArray, *, classifier: bool) -> Score:
    """Score predictions: ROC AUC (mean of one-vs-rest for several classes) or R².

    ``y`` holds positions of the classes, or responses; ``value`` is as in Predictions.
    """
    if not classifier:
        return r2_influence(np.asarray(y, dtype=np.float64), value[:, 0])
    if value.shape[1] == 2:
        return auc_influence(y == 1, value[:, 1])
    parts = [auc_influence(y == k, value[:, k]) for k in range(value.shape[1])]
    parts = [part for part in parts if not np.isnan(part.value)]
    if not parts:
        return Score(float("nan"), np.zeros(len(y)))
    return Score(
        float(np.mean([part.value for part in parts])),
        np.mean([part.influence for part in parts], axis=0),
    )


def wilson(successes: float, trials: float, level: float = 0.95) -> tuple[float, float]:
    """Wilson's interval of a proportion; (NaN, NaN) without trials."""
    if trials <= 0:
        return float("nan"), float("nan")
    z = float(norm.ppf(0.5 + level / 2))
    share = successes / trials
    centre = share + z * z / (2 * trials)
    half = z * np.sqrt(share * (1 - share) / trials + z * z / (4 * trials * trials))
    scale = 1 + z * z / trials
    return max(0.0, float((centre - half) / scale)), min(1.0, float((centre + half) / scale))
