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

from collections.abc import Sequence

import numpy as np

from steadytree.growing.best_first import FloatArray
from steadytree.growing.nodes import NodeFactory, SearchNode

AUC_SHARE = 0.5


def expected_auc(sums: FloatArray) -> float:
    """AUC of leaves (rows: weight, events) that are ranked by their own share of events.

    Ties need no care: leaves of one share exchange equal products.
    """
    return float(_expected_aucs(sums[None])[0])


def _expected_aucs(sums: FloatArray) -> FloatArray:
    """AUC of several trees; leaves without weight are none."""
    total, positive = sums[..., 0], sums[..., 1]
    negative = total - positive
    with np.errstate(invalid="ignore", divide="ignore"):
        order = np.argsort(positive / total, axis=1)
    positive, negative = (np.take_along_axis(part, order, axis=1) for part in (positive, negative))
    below = np.cumsum(negative, axis=1) - negative / 2
    pairs = positive.sum(axis=1) * negative.sum(axis=1)
    ranked = (positive * below).sum(axis=1)
    return np.where(pairs > 0, ranked / np.where(pairs > 0, pairs, 1.0), 0.5)


def deviance(sums: FloatArray) -> float:
    """Cross-entropy of leaves (rows: weight, then classes) that predict their own shares."""
    return float(_deviances(sums[None])[0])


def _deviances(sums: FloatArray) -> FloatArray:
    """Cross-entropy of several trees; leaves without weight are none."""
    total, parts = sums[..., :1], sums[..., 1:]
    if parts.shape[-1] == 1:
        parts = np.concatenate([parts, total - parts], axis=-1)
    parts = np.where(total > 0, np.maximum(parts, 1e-12), 0.0)
    whole = parts.sum(axis=-1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        lost = np.where(total > 0, parts * np.log(parts / whole), 0.0)
    return np.asarray(-lost.sum(axis=(1, 2)))


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
        return float(self.missed_by_each([leaves], [loss])[0])

    def missed_by_each(self, leaves: Sequence[FloatArray], losses: Sequence[float]) -> FloatArray:
        """Share that each of several trees misses."""
        if self.n_classes is None or not leaves:
            return np.array(losses) / self.spread
        most = max(len(sums) for sums in leaves)
        every = np.zeros((len(leaves), most, leaves[0].shape[1]))
        for i, sums in enumerate(leaves):
            every[i, : len(sums)] = sums
        out = (1 - self.auc_share) * (_deviances(every) - self.best_deviance) / self.deviance_room
        if self.auc_share:
            out += self.auc_share * (self.best_auc - _expected_aucs(every)) / self.auc_room
        return np.asarray(out)


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
