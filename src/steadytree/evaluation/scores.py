r"""What a tree says about rows, and how good that is, with its standard error.

Standard errors allow a paired comparison of two models on the same rows. Every score is a
smooth function of averages, so its sampling error is carried by one number per row, its
*influence*: the score's variance is the sum of squared influences, the variance of a
difference of two scores the sum of squared differences of influences. For the area under the
ROC curve this is DeLong's method; with groups (several rows per patient), influences are
summed within a group first (Obuchowski's clustered form).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import ndtri, stdtrit

from steadytree.tree.decision import Decision
from steadytree.tree.tree import Tree

Interval = tuple[float, float]

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Predictions:
    """Predictions of one model for a set of rows.

    Attributes
    ----------
    value : float array (n, k)
        Class shares, or the response (k = 1).
    label : int array (n,)
        Position of the decision in the classes; zeros for regression.
    leaf : int array (n,), optional
        Leaf of each row in the tree ``table``, so that rows are ranked without sorting them.
    table : float array (n_nodes, k), optional
    """

    value: FloatArray
    label: NDArray[np.int32]
    leaf: NDArray[np.int32] | None = None
    table: FloatArray | None = None

    def take(self, rows: NDArray[Any]) -> Predictions:
        """Return the predictions of some rows."""
        leaf = None if self.leaf is None else self.leaf[rows]
        return Predictions(self.value[rows], self.label[rows], leaf, self.table)

    def ranks(self, column: int) -> tuple[NDArray[np.intp], int]:
        """Rank of each row by its share of a class (equal shares tie), and how many ranks."""
        if self.leaf is None or self.table is None:
            levels, rank = np.unique(self.value[:, column], return_inverse=True)
            return rank, levels.size
        levels, rank = np.unique(self.table[:, column], return_inverse=True)
        return rank[self.leaf], levels.size

    def leaves(self) -> NDArray[Any]:
        """Leaf of each row; rows with the same prediction are one where no tree is known."""
        if self.leaf is not None:
            return self.leaf
        return np.unique(self.value, axis=0, return_inverse=True)[1].ravel()


def predict_rows(tree: Tree, coded: FloatArray) -> Predictions:
    """Predict rows coded in the tree's features, rounded as its learner rounds them."""
    return predict_leaves(tree, tree.apply_coded(tree.round_values(coded)))


def predict_leaves(tree: Tree, leaf: NDArray[np.int32]) -> Predictions:
    """Predict rows whose leaves are known."""
    return Predictions(tree.value[leaf], tree.label[leaf], leaf, tree.value)


@dataclass(frozen=True)
class Score:
    """A score, the influence of each row on it (they sum to 0), and what each row flatters it by.

    Scores of the same rows can be added, subtracted, multiplied and divided; the influences
    follow by the delta method, and so does ``learnt``: how much of a correction for flattery
    comes from each row, zeros where the score is not corrected.
    """

    value: float
    influence: FloatArray
    learnt: FloatArray = field(default_factory=lambda: np.zeros(0))

    def __post_init__(self) -> None:
        if not self.learnt.size:
            object.__setattr__(self, "learnt", np.zeros(self.influence.shape))

    def minus(self, other: Score) -> Score:
        """Return the paired difference to another model's score on the same rows."""
        return self.plus(other.times(-1.0))

    def plus(self, other: Score) -> Score:
        """Return the sum of two scores on the same rows."""
        return Score(
            self.value + other.value,
            self.influence + other.influence,
            self.learnt + other.learnt,
        )

    def times(self, other: Score | float) -> Score:
        """Return the product with a number, or with another score on the same rows."""
        if not isinstance(other, Score):
            return Score(self.value * other, self.influence * other, self.learnt * other)
        both = self.times(other.value).plus(other.times(self.value))
        return Score(self.value * other.value, both.influence, both.learnt)

    def over(self, other: Score) -> Score:
        """Return the ratio to another score on the same rows; NaN where that is 0."""
        if not other.value:
            return Score(float("nan"), np.zeros_like(self.influence))
        ratio = self.value / other.value
        rest = self.minus(other.times(ratio)).times(1 / other.value)
        return Score(ratio, rest.influence, rest.learnt)

    def clipped(self, low: float, high: float) -> Score:
        """Return the score kept within bounds that its true value cannot leave."""
        return Score(float(np.clip(self.value, low, high)), self.influence, self.learnt)

    def at(self, rows: NDArray[Any]) -> Score:
        """Return the score with the influences of some rows; the others have none."""
        return Score(self.value, self.influence[rows], self.learnt[rows])

    def spread_to(self, n: int, rows: NDArray[Any]) -> Score:
        """Return the score of some rows with an influence for every one of ``n`` rows."""
        influence, learnt = np.zeros(n), np.zeros(n)
        influence[rows], learnt[rows] = self.influence, self.learnt
        return Score(self.value, influence, learnt)

    def learning_variance(self, leaf: NDArray[Any]) -> float:
        r"""Compute the variance of the correction that influences do not carry.

        A leaf's prediction follows the mean of its rows, by :math:`z` of its standard errors
        away from the truth, so that what the leaf is flattered by is proportional to
        :math:`z^2`: its mean is 1 and its variance 2 in the same units. Influences take the
        trees as given and see :math:`E z^2 = 1` of the 2; the other 1 is the square of the
        mean, the flattery itself. So the square of what each leaf adds to the correction is
        added, over the leaves of the tree whose score it is.
        """
        by_leaf = np.bincount(leaf, weights=self.learnt)
        return float((by_leaf**2).sum())


def standard_error(influence: FloatArray, groups: NDArray[Any] | None = None) -> float:
    """Compute the standard error from influences; rows of one group count as one observation."""
    if groups is not None:
        _, code = np.unique(groups, return_inverse=True)
        influence = np.bincount(code, weights=influence).astype(np.float64)
        influence = influence * np.sqrt(influence.size / max(influence.size - 1, 1))
    return float(np.sqrt((influence**2).sum()))


@dataclass(frozen=True)
class Parts:
    """A score of some rows as a mean of what each row adds to it.

    Attributes
    ----------
    part : float array (n,)
    stratum : int array (n,)
        Rows are averaged within a stratum; -1 has no part in the score. The mean of stratum
        0 is the score. An area under the ROC curve is a mean over the positives (stratum 0)
        and over the negatives (1) alike.
    """

    part: FloatArray
    stratum: NDArray[np.int8]

    @property
    def known(self) -> bool:
        """Whether there is any row to average."""
        return bool((self.stratum == 0).any())

    @property
    def value(self) -> float:
        """The score; NaN without rows."""
        rows = self.part[self.stratum == 0]
        return float(rows.mean()) if rows.size else float("nan")

    def score(self) -> Score:
        """Return the score with the influence of each row, over n - 1 within a stratum."""
        influence = np.zeros(self.part.size)
        for s in range(int(self.stratum.max(initial=-1)) + 1):
            rows = self.stratum == s
            n = int(rows.sum())
            if n:
                centred = self.part[rows] - self.part[rows].mean()
                influence[rows] = centred / np.sqrt(n * max(n - 1, 1))
        return Score(self.value, influence)


def mean_parts(values: NDArray[Any], among: NDArray[np.bool_]) -> Parts:
    """Mean over some rows, row by row."""
    return Parts(np.asarray(values, dtype=np.float64), np.where(among, 0, -1).astype(np.int8))


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


def _steps(
    y: NDArray[np.bool_], step: NDArray[np.intp], n_steps: int
) -> tuple[FloatArray, FloatArray]:
    """Positives and negatives at each step of the curve."""
    counts = (np.bincount(step[rows], minlength=n_steps) for rows in (y, ~y))
    positive, negative = (count.astype(np.float64) for count in counts)
    return positive, negative


def roc_areas(positive: FloatArray, negative: FloatArray) -> FloatArray:
    """Area under each ROC curve, given the weight of either class at its steps.

    The share of pairs ranked rightly; ties count one half. Whole pairs are counted, so that trees
    that rank equally well tie exactly, which a Pareto frontier needs; the mean in
    :func:`auc_influence` may differ in the last digit. NaN with one class only.
    """
    right = (positive * (np.cumsum(negative, axis=-1) - negative / 2)).sum(axis=-1)
    sum_p, sum_n = positive.sum(axis=-1), negative.sum(axis=-1)
    # Weights left after a subtraction may be a rounding error above zero.
    enough = np.minimum(sum_p, sum_n) > 1e-9 * (sum_p + sum_n)
    return np.asarray(np.where(enough, right / np.where(enough, sum_p * sum_n, 1.0), np.nan))


def auc(y: NDArray[np.bool_], score: FloatArray) -> float:
    """Area under the ROC curve; NaN with one class only."""
    levels, step = np.unique(score, return_inverse=True)
    return float(roc_areas(*_steps(y, step, levels.size)))


def auc_parts(y: NDArray[np.bool_], step: NDArray[np.intp], n_steps: int) -> Parts:
    """Area under the ROC curve, row by row (DeLong's structural components).

    ``step`` is the rank of each row's score among ``n_steps``; ties count one half. With one
    class only, no row has a part in it.
    """
    if y.all() or not y.any():
        return Parts(np.zeros(y.size), np.full(y.size, -1, dtype=np.int8))
    below, above = roc_steps(*_steps(y, step, n_steps))
    return Parts(np.where(y, below[step], above[step]), np.where(y, 0, 1).astype(np.int8))


def auc_influence(y: NDArray[np.bool_], score: FloatArray) -> Score:
    """Area under the ROC curve with DeLong's standard error; ties count one half.

    With one class only the value is NaN and no row has any influence.
    """
    levels, step = np.unique(score, return_inverse=True)
    return auc_parts(y, step, levels.size).score()


def r2_score(error: Score, y: FloatArray) -> Score:
    """Turn a mean squared error into R², over the variance of these rows' responses."""
    spread = mean_parts((y - y.mean()) ** 2, _everyone(y)).score()
    if not spread.value > 0:
        return Score(float("nan"), np.zeros(y.size))
    return Score(1.0, np.zeros(y.size)).minus(error.over(spread))


def score_rows(y: NDArray[Any], value: FloatArray, *, classifier: bool) -> Score:
    """Score predictions: ROC AUC (mean of one-vs-rest for several classes) or R².

    ``y`` holds positions of the classes, or responses; ``value`` is as in Predictions.
    """
    if not classifier:
        response = np.asarray(y, dtype=np.float64)
        return r2_score(mean_parts((response - value[:, 0]) ** 2, _everyone(y)).score(), response)
    areas = [auc_influence(y == k, value[:, k]) for k in ranked_classes(value.shape[1])]
    return mean_score(areas, len(y))


def ranked_classes(k: int) -> list[int]:
    """Classes whose ranking is scored: of two the second, of several each against the rest."""
    return [1] if k == 2 else list(range(k))


def mean_score(scores: Sequence[Score], n: int) -> Score:
    """Mean of the scores that are known; NaN where none is."""
    known = [score for score in scores if not np.isnan(score.value)]
    if not known:
        return Score(float("nan"), np.zeros(n))
    return Score(
        float(np.mean([score.value for score in known])),
        np.mean([score.influence for score in known], axis=0),
        np.mean([score.learnt for score in known], axis=0),
    )


# -- measures: what a prediction is worth, row by row ----------------------------------
# A measure takes predictions and outcomes of some rows and returns
# :class:`~steadytree.evaluation.scores.Parts`. Whatever is printed (sensitivity, R², predictive
# values) is one of these means or a smooth function of several.

Measure = Callable[[Predictions, NDArray[Any]], Parts]
PerRow = Callable[[Predictions, NDArray[Any]], NDArray[Any]]


def area_of(column: int) -> Measure:
    """Area under the ROC curve of one class against the rest."""

    def area(predicted: Predictions, y: NDArray[Any]) -> Parts:
        return auc_parts(y == column, *predicted.ranks(column))

    return area


def recall_of(column: int) -> Measure:
    """Share of the rows of a class that are decided so: sensitivity, specificity."""

    def recall(predicted: Predictions, y: NDArray[Any]) -> Parts:
        return mean_parts(predicted.label == column, y == column)

    return recall


def mean_of(amount: PerRow) -> Measure:
    """Mean of an amount over all rows."""

    def mean(predicted: Predictions, y: NDArray[Any]) -> Parts:
        return mean_parts(amount(predicted, y), _everyone(y))

    return mean


def flagged(column: int) -> Measure:
    """Share of all rows that are decided so."""
    return mean_of(lambda predicted, y: predicted.label == column)


def share_errors(column: int) -> Measure:
    """Mean predicted share of a class minus its rate: above 0, more is predicted than happens."""
    return mean_of(lambda predicted, y: predicted.value[:, column] - (y == column))


def losses(predicted: Predictions, y: NDArray[Any]) -> NDArray[np.float64]:
    """Squared error of each row: of the response, or of the shares (of two classes, one's)."""
    k = predicted.value.shape[1]
    if k == 1:
        return np.asarray((predicted.value[:, 0] - y) ** 2)
    columns = ranked_classes(k)
    errors = predicted.value[:, columns] - (y[:, None] == np.array(columns))
    return np.asarray((errors**2).sum(axis=1))


def decision_costs(decision: Decision) -> PerRow:
    """Cost of each row's decision under a policy: 0 where it is right.

    A threshold t balances a false positive of cost t with a false negative of cost 1 - t;
    class weights are what mistaking a class costs.
    """

    def costs(predicted: Predictions, y: NDArray[Any]) -> NDArray[np.float64]:
        k = predicted.value.shape[1]
        weight = np.ones(k) if decision.class_weight is None else np.array(decision.class_weight)
        if decision.threshold is not None:
            weight = np.full(k, decision.threshold)
            weight[decision.position] = 1 - decision.threshold
        return np.asarray(np.where(predicted.label == y, 0.0, weight[y]))

    return costs


def mean_cost(decision: Decision) -> Measure:
    """Mean cost of the decisions under a policy."""
    return mean_of(decision_costs(decision))


def squared_errors(predicted: Predictions, y: NDArray[Any]) -> Parts:
    """Mean squared error; of shares it is the Brier score."""
    return mean_parts(losses(predicted, y), _everyone(y))


def absolute_errors(predicted: Predictions, y: NDArray[Any]) -> Parts:
    """Mean absolute error of a response."""
    return mean_parts(np.abs(predicted.value[:, 0] - y), _everyone(y))


def errors(predicted: Predictions, y: NDArray[Any]) -> Parts:
    """Mean error of a response, predicted minus observed."""
    return mean_parts(predicted.value[:, 0] - y, _everyone(y))


def _everyone(y: NDArray[Any]) -> NDArray[np.bool_]:
    return np.ones(len(y), dtype=bool)


# -- intervals that hold in small samples too, and are never a point ----------------------
# A proportion or an area under the ROC curve near 0 or 1 has an estimated error near 0, which
# says nothing: ten right out of ten is no proof. So their intervals ask which true values make
# the estimate plausible, with the error that *those* values imply (Wilson's idea). For the AUC
# that error is Hanley and McNeil's, scaled to DeLong's as far as the rows that are ranked
# wrongly can tell the two apart. A Brier score is asked in the same way: it is carried by the
# few rows that come out otherwise than expected, and by luck there may be too few of them.
# Simulated coverage: research/benchmarks/coverage.md.


UNKNOWN: Interval = (float("nan"), float("nan"))

PRIOR_ROWS = 4.0
"""Hanley and McNeil's error counts as much as this many rows of evidence for DeLong's."""


def quantile(level: float, n_groups: int | None = None) -> float:
    """Two-sided quantile: normal, or Student's where few groups carry the error."""
    if n_groups is None:
        return float(ndtri(0.5 + level / 2))
    return float(stdtrit(max(n_groups - 1, 1), 0.5 + level / 2))


def wilson(successes: float, trials: float, level: float = 0.95) -> Interval:
    """Wilson's interval of a proportion; (NaN, NaN) without trials."""
    if trials <= 0:
        return UNKNOWN
    return proportion_interval(successes / trials, trials, quantile(level))


def proportion_interval(share: float, trials: float, z: float, extra: float = 0.0) -> Interval:
    """Wilson's interval of a proportion that has an ``extra`` variance of another source.

    The true values p with (share − p)² ≤ z² (p (1 − p) / trials + extra).
    """
    if trials <= 0 or np.isnan(share):
        return UNKNOWN
    square = z * z / trials
    centre = share + square / 2
    inside = square * (share * (1 - share) + square / 4) + z * z * extra * (1 + square)
    half = float(np.sqrt(max(inside, 0.0)))
    # At the ends centre and half are equal; rounding must not hide that the end is reached.
    low = 0.0 if share <= 0 else max(0.0, (centre - half) / (1 + square))
    high = 1.0 if share >= 1 else min(1.0, (centre + half) / (1 + square))
    return low, high


def area_excess(area: float, sizes: tuple[int, int], error: float) -> float:
    """How many times the variance of an area is what Hanley and McNeil expect.

    Where hardly any row is ranked wrongly DeLong's error has nothing to rest on, and theirs
    stands.
    """
    expected = _area_variance(area, sizes) if min(sizes) > 0 else 0.0
    if not expected > 0:
        return 1.0
    evidence = 4 * min(sizes) * area * (1 - area)
    ratio = error**2 / expected
    return float(max(ratio, (evidence * ratio + PRIOR_ROWS) / (evidence + PRIOR_ROWS)))


def auc_interval(
    area: float, sizes: tuple[int, int], z: float, *, excess: float = 1.0, extra: float = 0.0
) -> Interval:
    """Interval of an area under the ROC curve: the true areas that make this one plausible.

    ``sizes`` are the positives and the negatives, ``extra`` is a variance of another source.
    """
    if min(sizes) <= 0 or np.isnan(area):
        return UNKNOWN

    def beyond(true: float) -> float:
        variance = excess * _area_variance(true, sizes) + extra
        return abs(true - area) - z * float(np.sqrt(variance))

    return _lower(beyond, area), 1 - _lower(lambda gap: beyond(1 - gap), 1 - area)


def _area_variance(area: float, sizes: tuple[int, int]) -> float:
    """Hanley and McNeil's variance in Newcombe's symmetric form (his method 5)."""
    mean = sum(sizes) / 2 - 1
    spread = 1 + mean * ((1 - area) / (2 - area) + area / (1 + area))
    return area * (1 - area) * spread / (sizes[0] * sizes[1])


def _lower(beyond: Callable[[float], float], area: float) -> float:
    """Least value that is not beyond what is plausible, from 0 up to the estimate."""
    close = min(area, 1 - 1e-9)
    if close <= 0 or beyond(0.0) <= 0:
        return 0.0
    return float(brentq(beyond, 0.0, close)) if beyond(close) < 0 else area


def mean_interval(score: Score, z: float, error: float) -> Interval:
    """Interval of a mean: the estimate with the same margin on either side."""
    return score.value - z * error, score.value + z * error


def loss_interval(score: Score, z: float, error: float) -> Interval:
    """Interval of a mean of losses: the true values that make this one plausible.

    Where few rows carry the mean, its variance is proportional to it: the true values m with
    (mean - m)² ≤ z² · error² · m / mean. No loss is below 0.
    """
    mean = score.value
    if not mean > 0:
        low, high = mean_interval(score, z, error)
        return max(low, 0.0), max(high, 0.0)
    shift = (z * error) ** 2 / mean / 2
    high = mean + shift + float(np.sqrt(shift * (2 * mean + shift)))
    return mean * (mean / high), high  # the two ends multiply to the mean squared


def half_width(
    change: Score,
    level: float,
    *,
    groups: NDArray[np.intp] | None,
    extra: float = 0.0,
    least: float = 0.0,
) -> float:
    """Half the width of the interval of a paired change.

    Student's quantile, with the degrees of freedom that the rows which carry the change allow
    (Satterthwaite, from the influences' kurtosis): three changed rows among a thousand are
    three rows. ``extra`` is a variance of another source, ``least`` the error of a change that
    no row showed but some could have.
    """
    influence = change.influence
    if groups is not None:
        influence = np.bincount(groups, weights=influence).astype(np.float64)
    error = max(float(np.sqrt(standard_error(change.influence, groups) ** 2 + extra)), least)
    if not error > 0:
        return 0.0
    n, squares = influence.size, influence**2
    free = n - 1.0
    if squares.sum() > 0:
        kurtosis = n * float((squares**2).sum() / squares.sum() ** 2)
        free = min(free, 2 * n / max(kurtosis - 1, 1e-9))
    return error * float(stdtrit(max(free, 1.0), 0.5 + level / 2))
