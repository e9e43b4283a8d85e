r"""Intervals that hold in small samples too, and are never a point.

A proportion or an area under the ROC curve near 0 or 1 has an estimated error near 0, which
says nothing: ten right out of ten is no proof. So their intervals ask which true values make
the estimate plausible, with the error that *those* values imply (Wilson's idea). For the AUC
that error is Hanley and McNeil's, scaled to DeLong's as far as the rows that are ranked
wrongly can tell the two apart. A Brier score is asked in the same way: it is carried by the
few rows that come out otherwise than expected, and by luck there may be too few of them.
Simulated coverage: research/benchmarks/coverage.md.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import ndtri, stdtrit

from steadytree.evaluation.scores import Score, standard_error

FloatArray = NDArray[np.float64]
Interval = tuple[float, float]

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
