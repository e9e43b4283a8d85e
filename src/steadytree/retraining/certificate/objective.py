r"""The objective that a certificate bounds, for any tree: in numbers that leaves add up to.

.. math:: J(T) = missed(T) + \mu\,\frac{d'(A, T)}{m(A)} + c\,[T \ne A],

with the leaves estimated afresh and each carrying the best of the labels that the label rule
permits. The edit cost c counts once, because any tree can be had by one edit, a rebuilt root;
a tree of several edits is thus compared as kindly as all others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from steadytree.evaluation.intervals import quantile
from steadytree.growing.binning import FloatArray
from steadytree.growing.leaf_values import INTERVAL
from steadytree.growing.nodes import SearchNode
from steadytree.retraining.certificate import leaf_loops, subtree_loops
from steadytree.retraining.certificate.family import row_sums
from steadytree.retraining.certificate.leaf_loops import Judging, Leaves
from steadytree.retraining.edits.search import PricedEdits

__all__ = ["LeafwiseObjective", "Terms"]


@dataclass(frozen=True, eq=False)
class Terms:
    """Leaves of one tree as the bound sees them, and what follows.

    ``partner`` is the old rule of each leaf (their number: none), ``multipliers`` those at
    which each leaf wants just that.
    """

    leaves: Leaves
    value: float
    area: float
    partner: Any
    multipliers: FloatArray


class LeafwiseObjective:
    """J of any tree at one price, from sums over its leaves.

    ``constant`` is what does not depend on the tree (but for the edit cost), ``ranking`` what
    the area between the ranking curve and the diagonal is worth (twice AUC minus one).
    """

    def __init__(self, search: PricedEdits, price: float) -> None:
        self.search, self.price = search, price
        criterion, anchor = search.criterion, search.anchor
        self.stats = row_sums(search)
        self.total = self.stats.sum(axis=0)
        self.judging = _judging(search, self.total)
        self.edit_cost = search.edit_cost
        self.ranking = self.constant = 0.0
        if search.n_classes is not None:
            share = criterion.auc_share
            self.constant = -(1 - share) * criterion.best_deviance / criterion.deviance_room
            if share:
                self.constant += share * (criterion.best_auc - 0.5) / criterion.auc_room
                if min(self.judging.positives, self.judging.negatives) > 0:
                    self.ranking = share / (2 * criterion.auc_room)
        # Every old rule pays for itself until a leaf becomes its partner.
        self.constant += price * float(self.judging.rule_price.sum())
        self.unit = anchor.measure.quantum / anchor.mass

    def terms(self, root: SearchNode) -> Terms:
        """Judge a tree; leaves without enough rows are judged like the others."""
        columns = self.search.anchor.columns(root, {})
        half = self.search.anchor.measure.label_weight // 2
        away = np.vstack([columns.cost, columns.feature_cost + half]).T * self.unit
        n, width = len(columns.leaves), max(self.judging.n_classes, 2)
        leaves = Leaves(np.zeros(n), np.zeros(n), np.zeros(n), np.zeros((n, away.shape[1])))
        judging = self.judging._replace(min_leaf=0.0)
        room = np.zeros(width), np.zeros(width), np.zeros(width, dtype=bool)
        for i, leaf in enumerate(columns.leaves):
            sums = self.stats[leaf.rows].sum(axis=0)
            leaf_loops.describe(sums, np.ascontiguousarray(away[i]), judging, leaves, i, *room)
        for i in np.flatnonzero(np.isinf(leaves.fixed)).tolist():
            self._without_rows(leaves, i, columns.leaves[i], away[i])
        partner = np.zeros(n, dtype=np.int64)
        multipliers = np.zeros(away.shape[1] - 1)
        moved = subtree_loops.assign(leaves.reach, n, partner, multipliers)
        loss, area = subtree_loops.tree_value(leaves.fixed, leaves.events, leaves.others, n)
        value = self.constant + loss - self.ranking * area + self.price * moved
        return Terms(leaves, float(value), float(area), partner, multipliers)

    def _without_rows(self, leaves: Leaves, i: int, leaf: SearchNode, away: FloatArray) -> None:
        """Judge a leaf of the deployed tree that no real row reaches, by what it says itself."""
        judging, outcome = self.judging, float(self.search.outcome(leaf))
        leaves.fixed[i] = 0.0 if judging.n_classes else leaf.loss * judging.loss_unit
        leaves.reach[i] = away
        if judging.n_classes:
            cost = (judging.rule_outcome != outcome) * judging.label_cost
        else:
            cost = np.abs(judging.rule_outcome - outcome * judging.label_cost)
        leaves.reach[i, :-1] += cost - judging.rule_price

    def edited(self, root: SearchNode) -> float:
        """Return the edit cost: 0 only where no rule of the deployed tree is touched."""
        return 0.0 if _same_rules(root, self.search.start) else self.edit_cost

    def of(self, root: SearchNode) -> float:
        """Objective of a tree, the edit cost counted once."""
        return self.terms(root).value + self.edited(root)


def _same_rules(one: SearchNode, two: SearchNode) -> bool:
    if one.is_leaf or two.is_leaf:
        return one.is_leaf and two.is_leaf
    (split, *kids), (other, *others) = one.parts, two.parts
    return split == other and all(_same_rules(*pair) for pair in zip(kids, others, strict=True))


def _judging(search: PricedEdits, total: FloatArray) -> Judging:
    make, criterion, anchor = search.make, search.criterion, search.anchor
    n = search.n_classes or 0
    unit = anchor.measure.quantum / anchor.mass
    label_cost = anchor.measure.label_weight * unit
    leaves = anchor.columns(search.start, {}).leaves
    own = np.array([float(search.outcome(leaf)) for leaf in leaves])
    outcome = anchor.rule_outcomes[:, 0].astype(np.float64)
    inherited = np.zeros(max(n, 2), dtype=bool)
    decision, loss_unit = search.decision, 0.0
    low, high = search.space.response_range or (0.0, 0.0)
    if n == 0:
        own, outcome = own * label_cost, outcome * unit
        loss_unit = 1 / criterion.spread
    else:
        loss_unit = (1 - criterion.auc_share) / criterion.deviance_room
        if decision.steady > 0:
            inherited[[leaf.inherited_label for leaf in leaves]] = True
    half = anchor.measure.label_weight // 2
    return Judging(
        n_classes=n,
        min_leaf=float(max(search.limits.min_leaf, 1)),
        loss_unit=float(loss_unit),
        positives=float(total[4]) if n == 2 else 0.0,
        negatives=float(total[3] - total[4]) if n == 2 else 0.0,
        strength=float(make.steadying.strength),
        unit=float(make.steadying.unit),
        spread=float(make.steadying.spread),
        interval=float(quantile(INTERVAL)),
        threshold=float("nan") if decision.threshold is None else float(decision.threshold),
        positive=int(decision.position),
        class_weight=np.array(decision.class_weight or [1.0] * max(n, 2), dtype=np.float64),
        label_errors=float(decision.steady),
        inherited=inherited,
        low=float(low),
        high=float(high),
        rule_outcome=outcome,
        rule_price=(anchor.rules.sum(axis=1) + half) * unit,
        own_outcome=own,
        label_cost=float(label_cost),
    )
