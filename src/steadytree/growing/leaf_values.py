"""What a leaf predicts: estimated from real rows, steadied by what the deployed tree said.

Re-estimating the leaves of a tree changes no rule, so it is free in every retraining. The
deployed tree's value counts as a few rows of evidence.
"""

from __future__ import annotations

import numpy as np

from steadytree.core.tree import labels_from_shares
from steadytree.growing.binning import FloatArray

__all__ = ["natural_label", "shares_of", "shrunk_mean"]

PRIOR_ROWS = 2.0
"""How many rows of evidence the deployed tree's own leaf value counts for."""


def shrunk_mean(
    weight: float, total: FloatArray, prior: FloatArray | None, prior_weight: float
) -> FloatArray | None:
    """Mean of the rows of a leaf, with the prior as ``prior_weight`` further rows.

    Returns None where there is neither a row nor a prior.
    """
    if prior is None or prior_weight <= 0:
        return total / weight if weight > 0 else None
    return np.asarray((total + prior_weight * prior) / (weight + prior_weight))


def shares_of(value: FloatArray, n_classes: int | None) -> FloatArray:
    """Return all class shares from the target columns (two classes are kept as one column)."""
    if n_classes == 2:
        positive = float(np.clip(value[0], 0.0, 1.0))
        return np.array([1.0 - positive, positive])
    if n_classes is None:
        return value
    shares = np.clip(value, 0.0, None)
    total = shares.sum()
    return np.asarray(shares / total if total > 0 else np.full(n_classes, 1.0 / n_classes))


def natural_label(shares: FloatArray, decision_threshold: float | None) -> int:
    """Return the label that the shares themselves give."""
    return int(labels_from_shares(shares[None, :], decision_threshold)[0])
