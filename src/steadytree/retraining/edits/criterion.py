r"""What an edit is judged by: the share of what the teacher sees that a tree misses.

Squared error hardly notices what people judge a tree by: on rare outcomes a split that lifts
the ranking of everybody saves a hundredth of it. So a tree of classes is judged by its leaves'
sums alone. With :math:`P_l` and :math:`N_l` the teacher's expected events and non-events among
the real rows of leaf l,

.. math::
    AUC(T) = \frac{\sum_l P_l (\sum_{m\,below\,l} N_m + N_l / 2)}{P N},\qquad
    D(T) = -\sum_l P_l \log\frac{P_l}{P_l + N_l} + N_l \log\frac{N_l}{P_l + N_l},

the criterion for two classes is half what is missed of the ranking and half of the deviance,

.. math::
    \frac{AUC^* - AUC(T)}{2 \max(AUC^* - 1/2,\ floor)}
    + \frac{D(T) - D^*}{2 \max(D_0 - D^*,\ floor)},

where a star is the teacher's own value and :math:`D_0` that of a single leaf. Several classes
are judged by the deviance, a response by squared error. The floors keep a teacher who sees
nothing from earning an edit.
"""

from __future__ import annotations

import numpy as np

from steadytree.growing.binning import FloatArray
from steadytree.growing.nodes import NodeFactory, SearchNode

__all__ = ["Criterion", "deviance", "expected_auc", "leaf_sums"]

AUC_SHARE = 0.5


def expected_auc(sums: FloatArray) -> float:
    """AUC of leaves (rows: weight, events) that are ranked by their own share of events.

    Ties need no care: leaves of one share exchange equal products.
    """
    total, positive = sums.T
    negative = total - positive
    with np.errstate(invalid="ignore", divide="ignore"):
        order = np.argsort(positive / total)
    positive, negative = positive[order], negative[order]
    below = np.cumsum(negative) - negative / 2
    pairs = positive.sum() * negative.sum()
    return float(positive @ below / pairs) if pairs > 0 else 0.5


def deviance(sums: FloatArray) -> float:
    """Cross-entropy of leaves (rows: weight, then classes) that predict their own shares."""
    total, parts = sums[:, :1], sums[:, 1:]
    if parts.shape[1] == 1:
        parts = np.hstack([parts, total - parts])
    parts = np.maximum(parts, 1e-12)
    return float(-(parts * np.log(parts / parts.sum(axis=1, keepdims=True))).sum())


class Criterion:
    """Judges trees on one table of taught rows; 0 says all that the teacher does, 1 nothing.

    ``floor`` is the least share of the outcome that counts as seen by the teacher. ``spread``
    is that of the targets of the search, with the same floor for a response.
    """

    def __init__(self, make: NodeFactory, *, floor: float) -> None:
        taught, real = make.taught, slice(make.taught.n_real)
        self.n_classes, weight = taught.n_classes, taught.weight
        self.spread = max(_spread(make.targets, weight), 1e-12)
        if self.n_classes is None:
            outcome = _spread(taught.observed, weight[real]) / weight[real].sum()
            self.spread = max(self.spread, floor * outcome * float(weight.sum()))
            return
        rows = weight[real, None] * np.hstack([np.ones((taught.n_real, 1)), taught.targets[real]])
        one_leaf = deviance(rows.sum(axis=0)[None, :])
        self.best_deviance = deviance(rows)
        self.deviance_room = max(one_leaf - self.best_deviance, floor * one_leaf, 1e-12)
        self.auc_share = AUC_SHARE if self.n_classes == 2 else 0.0
        self.best_auc = expected_auc(rows) if self.auc_share else 0.5
        self.auc_room = max(self.best_auc - 0.5, floor, 1e-12)

    def missed(self, root: SearchNode) -> float:
        """Share of what the teacher sees that the tree misses."""
        return self.missed_by(leaf_sums(root), root.loss)

    def missed_by(self, leaves: FloatArray, loss: float) -> float:
        """Share that a tree misses, from its leaves' sums and its loss."""
        if self.n_classes is None:
            return loss / self.spread
        out = (1 - self.auc_share) * (deviance(leaves) - self.best_deviance) / self.deviance_room
        if self.auc_share:
            out += self.auc_share * (self.best_auc - expected_auc(leaves)) / self.auc_room
        return out


def _spread(values: FloatArray, weight: FloatArray) -> float:
    """Weighted sum of squares around the mean, over all columns."""
    mean = np.average(values, axis=0, weights=weight)
    return float((weight[:, None] * (values - mean) ** 2).sum())


def leaf_sums(node: SearchNode) -> FloatArray:
    """Weight and the teacher's sums of each leaf; kept, because edits share subtrees."""
    kept: FloatArray | None = node.cache.get("leaf sums")
    if kept is None:
        if node.is_leaf:
            kept = node.sums[None, 1 : 2 + node.make.k]
        else:
            _, left, right = node.parts
            kept = np.concatenate([leaf_sums(left), leaf_sums(right)])
        node.cache["leaf sums"] = kept
    return kept
