"""What a leaf predicts: the rate of its rows, steadied by the teacher as far as the data allow.

The plain rate of a few rows is noisy, and a teacher's mean is a number that nobody can count.
So the teacher's mean counts as some further rows of the leaf. How many is read off the tree
itself (empirical Bayes): where the observed rates lie no farther from the teacher than chance
explains, the teacher may count much; where they do, little. A leaf's own rows always keep the
upper hand: the prediction never leaves the 95 % interval of the rate they show, and a teacher
who lies beyond that interval counts the less the farther, so that 43 of 43 never reads 45 %.
Without the rows of before, what a deployed leaf said counts as rows of its own, within the same
limits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from steadytree.evaluation.scores import wilson

FloatArray = NDArray[np.float64]

FEWEST_ROWS, MOST_ROWS = 10.0, 200.0
"""The teacher's mean counts for at least and at most so many rows."""
INTERVAL = 0.95
OLD_SHARES = (1.0, 0.5, 0.25, 0.1, 0.05, 0.02, 0.0)
LIKELIHOOD_DROP = 1.92
"""A larger share of the old rows is kept while the new rows' log-likelihood is within this of
the best: the 95 % likelihood-ratio limit."""


# -- the teacher's columns: of two classes the share of the second, of more every share ---------


def target_columns(y: NDArray[Any], n_classes: int | None) -> FloatArray:
    """Outcomes in the teacher's columns: one for two classes, one per class for more."""
    if n_classes is None:
        return np.asarray(y, dtype=np.float64)[:, None]
    return share_columns(np.eye(n_classes)[y], n_classes)


def share_columns(shares: FloatArray, n_classes: int | None) -> FloatArray:
    """Class shares in the teacher's columns: of two classes, the share of the second."""
    return shares[..., 1:] if n_classes == 2 else shares


def shares_of(value: FloatArray, n_classes: int | None) -> FloatArray:
    """Return all class shares from the teacher's columns: the way back of share_columns."""
    if n_classes == 2:
        positive = float(np.clip(value[0], 0.0, 1.0))
        return np.array([1.0 - positive, positive])
    if n_classes is None:
        return value
    shares = np.clip(value, 0.0, None)
    total = shares.sum()
    return np.asarray(shares / total if total > 0 else np.full(n_classes, 1.0 / n_classes))


def stabilised(shares: FloatArray) -> FloatArray:
    """Arcsine of the square root: squared error then weighs shares as the deviance does."""
    return np.asarray(np.arcsin(np.sqrt(np.clip(shares, 0.0, 1.0))))


# -- what a leaf predicts ------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class LeafRows:
    """Sums over the real rows of a leaf, in the teacher's columns.

    ``old`` and ``new`` hold the weight, then the weighted outcomes; ``teacher`` is the mean of
    the teacher's targets over all of them.
    """

    old: FloatArray
    new: FloatArray
    teacher: FloatArray


@dataclass(frozen=True)
class Steadying:
    """How the predictions of one tree are steadied.

    Attributes
    ----------
    strength : float
        As how many rows (of mean weight) the teacher's mean counts in a leaf.
    old_share : float
        What an old row counts beside a new one.
    unit : float
        Mean weight of a row.
    classifier : bool
    spread : float
        Variance of the response within a leaf; unused for classes.
    """

    strength: float = FEWEST_ROWS
    old_share: float = 1.0
    unit: float = 1.0
    classifier: bool = True
    spread: float = 0.0

    def predict(
        self, rows: LeafRows, before: FloatArray | None = None, rows_before: float = 0.0
    ) -> tuple[FloatArray, FloatArray, float]:
        """Return what a leaf predicts, what steadies it, and the weight of that.

        ``before`` is what the deployed leaf said, from ``rows_before`` rows that are not at
        hand any more.
        """
        total = self.old_share * rows.old + rows.new
        weight, outcomes = float(total[0]), total[1:]
        if weight <= 0:
            return rows.teacher, rows.teacher, 0.0
        strength = self.strength * self.unit
        if before is None or rows_before <= 0:
            by = rows.teacher
            strength = min(strength, self._most(weight, outcomes, by))
        else:
            past = min(rows_before * self.unit, self._most(weight, outcomes, before))
            both = (weight + past, outcomes + past * before)
            strength = min(strength, self._most(*both, rows.teacher))
            by = (past * before + strength * rows.teacher) / max(past + strength, 1e-300)
            strength = min(past + strength, self._most(weight, outcomes, by))
        return (outcomes + strength * by) / (weight + strength), by, strength

    def _most(self, weight: float, outcomes: FloatArray, teacher: FloatArray) -> float:
        """Weight that a steadying value may have beside the rows' own.

        Within the interval of the rows' rate as much as it likes; beyond, it moves the
        prediction by at most the interval's arm times arm over way.
        """
        n, most = weight / self.unit, np.inf
        for rate, target in zip(outcomes / weight, teacher, strict=True):
            if self.classifier:
                low, high = wilson(min(max(rate, 0.0), 1.0) * n, n, INTERVAL)
            else:
                half = 1.96 * np.sqrt(self.spread / n)
                low, high = rate - half, rate + half
            room = (high - rate) if target > rate else (rate - low)
            way = abs(target - rate)
            if way > room:
                moves = max(room, 0.0) ** 2 / way
                most = min(most, weight * moves / (way - moves))
        return float(most)


def estimate_steadying(
    leaves: list[LeafRows], *, unit: float, classifier: bool, spread: float, drifted: bool
) -> Steadying:
    """Estimate from the leaves of a tree how much the teacher may steady them.

    With v the variance of one row's outcome around the teacher's mean t and n rows, the
    observed mean o has E(o - t)² = v / n + τ²; the τ² that the leaves show gives the strength
    v / τ². Old rows count in full unless the drift switch found that the new ones no longer
    follow them; then as much as the new rows' likelihood allows.
    """
    old_share = _old_share(leaves, unit, spread) if drifted else 1.0
    excess = scale = 0.0
    for leaf in leaves:
        total = old_share * leaf.old + leaf.new
        n = float(total[0]) / unit
        if n <= 0:
            continue
        gap = float(((total[1:] / total[0] - leaf.teacher) ** 2).sum())
        one = _variance(leaf.teacher) if classifier else spread
        excess += n * gap - one
        scale += n * one
    strength = MOST_ROWS
    if excess > 0 and scale > 0:
        strength = float(np.clip(scale / excess, FEWEST_ROWS, MOST_ROWS))
    return Steadying(strength, old_share, unit, classifier, spread)


def _variance(shares: FloatArray) -> float:
    """Variance of one row's class, summed over the teacher's columns."""
    return float((shares * (1 - shares)).sum())


def _old_share(leaves: list[LeafRows], unit: float, spread: float) -> float:
    """Largest share of the old rows that the new rows do not contradict."""
    fits = [sum(_fit(leaf, share, unit, spread) for leaf in leaves) for share in OLD_SHARES]
    best = max(fits)
    return next(s for s, fit in zip(OLD_SHARES, fits, strict=True) if fit >= best - LIKELIHOOD_DROP)


def _fit(leaf: LeafRows, share: float, unit: float, spread: float) -> float:
    """Log-likelihood of a leaf's new rows if its old rows count so much."""
    n_old, n_new = share * leaf.old[0] / unit, leaf.new[0] / unit
    if n_new <= 0:
        return 0.0
    if spread > 0:  # a response: normal, with next to no knowledge beside the old rows
        prior = n_old + 0.01
        mean = leaf.old[1] / leaf.old[0] if leaf.old[0] > 0 else leaf.new[1] / leaf.new[0]
        variance = spread * (1 / prior + 1 / n_new)
        return float(-0.5 * (np.log(variance) + (leaf.new[1] / leaf.new[0] - mean) ** 2 / variance))
    before, now = share * leaf.old[1:] / unit, leaf.new[1:] / unit
    if before.size == 1:  # the share of the second of two classes
        before, now = np.append(before, n_old - before), np.append(now, n_new - now)
    before, now = np.maximum(before, 0.0) + 0.5, np.maximum(now, 0.0)
    total, more = before.sum(), now.sum()
    ways = gammaln(total) - gammaln(total + more)
    return float(ways + (gammaln(before + now) - gammaln(before)).sum())
