"""How sure a number is that was computed from repeated splits of the same rows.

Splits of one data set share most of their training rows, so the usual standard error over splits
is too small. The correction of Nadeau and Bengio (2003) for a mean over J splits is

    variance = (1/J + rows left out / rows used) · s²,

which is the jackknife variance over splits times 1 + J · (left out / used). In the second form it
serves any statistic, not only a mean. Data sets have no rows in common: their variances add.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.stats import t as student

from research.paper.findings.observed import Observed

__all__ = ["Estimate", "estimate", "exact"]


@dataclass(frozen=True)
class Estimate:
    """A number with the interval that the splits leave for it.

    Attributes
    ----------
    value, low, high : float
    splits : int
        Splits of the data set with the fewest; 0 where nothing was drawn at random.
    """

    value: float
    low: float
    high: float
    splits: int

    @property
    def is_exact(self) -> bool:
        """Whether nothing was drawn at random: one exception is one too many."""
        return self.splits == 0


def exact(value: float) -> Estimate:
    """Return a number without uncertainty."""
    return Estimate(value, value, value, 0)


def estimate(
    statistic: Callable[[Observed], float],
    observed: Observed,
    *,
    level: float,
    overlap: float,
) -> Estimate:
    """Compute a statistic and its corrected interval over splits.

    Parameters
    ----------
    statistic : callable
        Takes all observations, or those without one split of one data set.
    observed : Observed
        Only what the statistic reads: each of its splits is left out in turn.
    level : float
        Of the interval, between 0 and 1.
    overlap : float
        Rows left out of training over rows used.

    Returns
    -------
    Estimate
    """
    value = statistic(observed)
    variance, fewest = 0.0, 0
    for key, splits in observed.groups():
        n = len(splits)
        if n < 2:
            raise ValueError(f"expected at least two splits of {key} for an interval, got {n}")
        without = np.array([statistic(observed.without(key, split)) for split in splits])
        jackknife = (n - 1) / n * float(((without - without.mean()) ** 2).sum())
        variance += jackknife * (1 + n * overlap)
        fewest = min(fewest or n, n)
    # As few degrees of freedom as the smallest data set has: rather too wide than too narrow.
    half = float(student.ppf((1 + level) / 2, fewest - 1)) * np.sqrt(variance)
    return Estimate(value, value - half, value + half, fewest)
