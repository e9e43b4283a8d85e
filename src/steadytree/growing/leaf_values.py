"""What a leaf predicts: estimated from real rows, steadied by what the deployed tree said.

Re-estimating the leaves of a tree changes no rule, so it is free in every retraining. The
deployed tree's value counts as a few rows of evidence, and its label stays unless the
evidence pays for changing it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from steadytree.core.tree import Tree, labels_from_shares
from steadytree.growing.binning import FloatArray

__all__ = ["label_evidence", "natural_label", "reestimate_leaves", "shares_of", "shrunk_mean"]

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


def label_evidence(
    weight: float, shares: FloatArray, kept: int, natural: int, decision_threshold: float | None
) -> float:
    """Squared error that speaks against the label kept: the shares' way to the boundary.

    On the scale of a loss with one column for two classes and one per class for more.
    """
    if shares.size == 2:
        boundary = 0.5 if decision_threshold is None else decision_threshold
        return float(weight * (shares[1] - boundary) ** 2)
    return float(weight * (shares[natural] - shares[kept]) ** 2 / 2)


def reestimate_leaves(
    tree: Tree,
    coded: FloatArray,
    targets: FloatArray,
    weight: FloatArray,
    *,
    prior_rows: float = PRIOR_ROWS,
) -> Tree:
    """Return the tree with new leaf values and weights; rules and labels stay.

    Parameters
    ----------
    tree : Tree
    coded : array (n, n_features)
        Rows coded as ``tree.encode`` would.
    targets : array (n, k)
        Class indicators or soft targets for each class, or the response (k = 1).
    weight : array (n,)
    prior_rows : float
        Weight of the tree's own value in each node.
    """
    leaf = tree.apply_coded(coded)
    n = tree.n_nodes
    mass = np.bincount(leaf, weights=weight, minlength=n)
    total = np.stack(
        [np.bincount(leaf, weights=weight * t, minlength=n) for t in targets.T], axis=1
    )
    for node in tree.preorder[::-1].tolist():
        if not tree.is_leaf[node]:
            kids = [int(tree.children_left[node]), int(tree.children_right[node])]
            mass[node], total[node] = mass[kids].sum(), total[kids].sum(axis=0)
    known = mass + prior_rows > 0
    value = np.where(
        known[:, None],
        (total + prior_rows * tree.value) / np.where(known, mass + prior_rows, 1.0)[:, None],
        tree.value,
    )
    label: NDArray[np.int32] | None = tree.label
    return tree.replace(value=value, weight=mass, label=label, impurity=None)
