r"""What a search minimises: what a tree misses of what the teacher sees, and how far it has gone.

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

The distance to the deployed tree is exact for every candidate, and kept incremental: its paths
never change, and an edit changes few paths of the candidate. So each subtree keeps the columns of
the cost matrix that belong to its leaves; a candidate's matrix is put together from its parts, and
only the paths below the edit are computed. The number is ``tree_distance(..., variant="metric")``,
bit for bit: boxes, tightenings and whole-number amounts are those of ``tree.paths`` and
``distance.equations``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from steadytree._io import check_matching
from steadytree.distance._solver import assign
from steadytree.distance.equations import Measure, check_options
from steadytree.growing.best_first import FloatArray, Split
from steadytree.growing.nodes import NodeFactory, SearchNode, Way
from steadytree.tree.columns import bit_set
from steadytree.tree.space import FeatureSpace
from steadytree.tree.walk import Box, Boxes, Side

AUC_SHARE = 0.5
FLOOR = 0.1


def expected_auc(sums: FloatArray) -> FloatArray:
    """AUC of leaves (rows: weight, events) that are ranked by their own share of events.

    Of one tree or of several; leaves without weight are none. Ties need no care: leaves of one
    share exchange equal products.
    """
    total, positive = sums[..., 0], sums[..., 1]
    negative = total - positive
    with np.errstate(invalid="ignore", divide="ignore"):
        order = np.argsort(positive / total, axis=-1)
    positive, negative = (np.take_along_axis(part, order, axis=-1) for part in (positive, negative))
    below = np.cumsum(negative, axis=-1) - negative / 2
    pairs = positive.sum(axis=-1) * negative.sum(axis=-1)
    ranked = (positive * below).sum(axis=-1)
    return np.where(pairs > 0, ranked / np.where(pairs > 0, pairs, 1.0), 0.5)


def deviance(sums: FloatArray) -> FloatArray:
    """Cross-entropy of leaves (rows: weight, then classes) that predict their own shares.

    Of one tree or of several; leaves without weight are none.
    """
    total, parts = sums[..., :1], sums[..., 1:]
    if parts.shape[-1] == 1:
        parts = np.concatenate([parts, total - parts], axis=-1)
    parts = np.where(total > 0, np.maximum(parts, 1e-12), 0.0)
    whole = parts.sum(axis=-1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        lost = np.where(total > 0, parts * np.log(parts / whole), 0.0)
    return np.asarray(-lost.sum(axis=(-2, -1)))


class Criterion:
    """Judges trees on one table of taught rows; 0 says all that the teacher does, 1 nothing.

    The teacher counts as seeing at least the share ``FLOOR`` of the outcome. ``spread`` is that of
    the targets of the search, with the same floor for a response.
    """

    def __init__(self, make: NodeFactory) -> None:
        taught, real = make.taught, slice(make.taught.n_real)
        self.n_classes, weight = taught.n_classes, taught.weight
        self.spread = max(_spread(make.targets, weight), 1e-12)
        if self.n_classes is None:
            outcome = _spread(taught.observed, weight[real]) / weight[real].sum()
            self.spread = max(self.spread, FLOOR * outcome * float(weight.sum()))
            return
        rows = weight[real, None] * np.hstack([np.ones((taught.n_real, 1)), taught.targets[real]])
        one_leaf = float(deviance(rows.sum(axis=0)[None, :]))
        self.best_deviance = float(deviance(rows))
        self.deviance_room = max(one_leaf - self.best_deviance, FLOOR * one_leaf, 1e-12)
        self.auc_share = AUC_SHARE if self.n_classes == 2 else 0.0
        self.best_auc = float(expected_auc(rows)) if self.auc_share else 0.5
        self.auc_room = max(self.best_auc - 0.5, FLOOR)

    def missed(self, root: SearchNode) -> float:
        """Share of what the teacher sees that the tree misses."""
        return float(self.missed_by_each([leaf_sums(root)], [root.loss])[0])

    def missed_by_each(self, leaves: Sequence[FloatArray], losses: Sequence[float]) -> FloatArray:
        """Share that each of several trees misses, from its leaves' sums and its loss."""
        if self.n_classes is None or not leaves:
            return np.array(losses) / self.spread
        most = max(len(sums) for sums in leaves)
        every = np.zeros((len(leaves), most, leaves[0].shape[1]))
        for i, sums in enumerate(leaves):
            every[i, : len(sums)] = sums
        out = (1 - self.auc_share) * (deviance(every) - self.best_deviance) / self.deviance_room
        if self.auc_share:
            out += self.auc_share * (self.best_auc - expected_auc(every)) / self.auc_room
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


Outcome = Callable[[SearchNode], float]


@dataclass(frozen=True, slots=True)
class Columns:
    """Cost columns of the leaves of a subtree (only those that some value can reach)."""

    cost: FloatArray  # (n_anchor_paths, n_leaves): feature part, in quanta
    feature_cost: NDArray[np.int64]  # (n_leaves,): to the path without conditions, in quanta
    leaves: tuple[SearchNode, ...]

    @classmethod
    def put_together(cls, parts: Sequence[Columns]) -> Columns:
        """Columns of the leaves of several subtrees, in their order."""
        return cls(
            np.concatenate([p.cost for p in parts], axis=1),
            np.concatenate([p.feature_cost for p in parts]),
            tuple(leaf for p in parts for leaf in p.leaves),
        )

    def part(self, start: int, stop: int | None) -> Columns:
        """Columns of some of the leaves."""
        at = slice(start, stop)
        return Columns(self.cost[:, at], self.feature_cost[at], self.leaves[at])


class AnchoredDistance:
    """Distance of candidates to one deployed tree.

    An outcome is the label of a leaf, or its response scaled to [0, 1]; ``anchor_outcome``
    gives that of the deployed tree as deployed. ``rules`` and ``rule_outcomes`` are its paths
    and their outcomes in quanta, ``mass`` its mass.
    """

    def __init__(
        self,
        space: FeatureSpace,
        root: SearchNode,
        *,
        anchor_outcome: Outcome,
        classifier: bool,
    ) -> None:
        self.measure = Measure.of(check_options(variant="metric"))
        self.boxes = Boxes(space)
        self.classifier = classifier
        leaves = list(self._leaf_boxes(root, {}))
        self.rules = self.amounts([box for _, box in leaves])
        self.rule_outcomes = self.outcomes([leaf for leaf, _ in leaves], anchor_outcome)
        self._half_label = self.measure.label_weight // 2
        self._rule_price = self.rules.sum(axis=1) + self._half_label
        self.mass = int(self._rule_price.sum()) * self.measure.quantum

    def sides(self, split: Split, box: Box) -> tuple[Side | None, Side | None]:
        """Return what a split leaves of a box left and right; None where no value passes."""
        j, mask = split.feature, None
        if split.left is not None:
            mask = bit_set(split.left, self.boxes.count[j])
            if self.boxes.can_miss[j] and split.missing_left:
                mask |= 1 << (self.boxes.count[j] - 1)
        return self.boxes.split(box, j, split.threshold, mask, split.missing_left)

    def _leaf_boxes(self, node: SearchNode, box: Box) -> Iterator[tuple[SearchNode, Box]]:
        if node.is_leaf:
            yield node, box
            return
        split, *children = node.parts
        for child, side in zip(children, self.sides(split, box), strict=True):
            if side is not None:
                yield from self._leaf_boxes(child, {**box, split.feature: side})

    def amounts(self, boxes: Sequence[Box]) -> NDArray[np.int64]:
        """Half of each tightening of some boxes, in quanta: one row per box."""
        check_matching(len(boxes), self.boxes.start[-1], "bounds and categories")
        x = np.zeros((len(boxes), self.boxes.start[-1]))
        for i, box in enumerate(boxes):
            for side in box.values():
                for coordinate, amount in side.tightening.items():
                    x[i, coordinate] = amount
        return self.measure.tightenings(x)

    def outcomes(self, leaves: Sequence[SearchNode], outcome: Outcome) -> NDArray[np.int64]:
        """Outcomes of leaves as they are compared: one row per leaf."""
        values = np.array([outcome(leaf) for leaf in leaves])
        return self.measure.outcomes(values, values[:, None], self.classifier)

    def columns(self, node: SearchNode, box: Box) -> Columns:
        """Cost columns of a subtree; a node always sits in the same box, so they are kept."""
        kept: Columns | None = node.cache.get("columns")
        if kept is None and node.is_leaf:
            amounts = self.amounts([box])
            kept = Columns(cdist(self.rules, amounts, "cityblock"), amounts.sum(axis=1), (node,))
        elif kept is None:
            split, *children = node.parts
            reached = zip(children, self.sides(split, box), strict=True)
            kept = Columns.put_together(
                [self.columns(c, {**box, split.feature: s}) for c, s in reached if s is not None]
            )
        node.cache["columns"] = kept
        return kept

    def distance(self, root: SearchNode, outcome: Outcome) -> float:
        """D' of a candidate to the deployed tree."""
        theirs = self.columns(root, {})
        return self.distance_of(theirs, self.outcomes(theirs.leaves, outcome))

    def distance_of(self, theirs: Columns, outcomes: NDArray[np.int64]) -> float:
        """D' of the tree that has these columns and outcomes of its leaves."""
        cost = theirs.cost + self.measure.outcome_costs(
            self.rule_outcomes, outcomes, self.classifier
        )
        if cost.shape[0] >= cost.shape[1]:
            *_, total = assign(cost, lambda: self._rule_price)
        else:
            *_, total = assign(cost.T, lambda: theirs.feature_cost + self._half_label)
        return total * self.measure.quantum


# One tree of a search is laid out by its leaves, so that an edit exchanges a part of it: their
# sums, the columns of its cost matrix and its outcomes are put together once, and each candidate
# only replaces those of its place.


@dataclass(frozen=True, eq=False)
class Place:
    """Where a node sits in a tree.

    Attributes
    ----------
    way : tuple of (node, bool)
        The nodes above, and which side the way takes at each.
    first_leaf : int
        Number of the leaves before its own.
    first_column : int
        The same among the leaves that some value can reach.
    box : Box or None
        What the conditions above allow; None: no value gets here.
    """

    node: SearchNode
    way: Way
    first_leaf: int
    first_column: int
    box: Box | None


class TreeInParts:
    """A tree whose parts can be exchanged."""

    def __init__(self, root: SearchNode, anchor: AnchoredDistance, outcome: Outcome) -> None:
        self.root, self.anchor, self.outcome = root, anchor, outcome
        self.columns = anchor.columns(root, {})
        self.outcomes = anchor.outcomes(self.columns.leaves, outcome)
        self.sums = leaf_sums(root)
        self.places = list(self._walk(Place(root, (), 0, 0, {})))
        self.distance = anchor.distance_of(self.columns, self.outcomes)
        """D' of the tree as it is."""
        self._with: dict[SearchNode, float] = {}

    def _walk(self, place: Place) -> Iterator[Place]:
        yield place
        if place.node.is_leaf:
            return
        split, left, right = place.node.parts
        sides = (None, None) if place.box is None else self.anchor.sides(split, place.box)
        leaf, column = place.first_leaf, place.first_column
        for child, side, on_left in ((left, sides[0], True), (right, sides[1], False)):
            box = None if side is None else {**(place.box or {}), split.feature: side}
            inner = Place(child, (*place.way, (place.node, on_left)), leaf, column, box)
            yield from self._walk(inner)
            leaf += child.n_leaves
            column += self._n_columns(inner)

    def _n_columns(self, place: Place) -> int:
        if place.box is None:
            return 0
        return len(self.anchor.columns(place.node, place.box).leaves)

    def sums_with(self, place: Place, new: SearchNode) -> FloatArray:
        """Leaves' sums of the tree with another node in a place."""
        after = place.first_leaf + place.node.n_leaves
        return np.concatenate([self.sums[: place.first_leaf], leaf_sums(new), self.sums[after:]])

    def distance_with(self, place: Place, new: SearchNode) -> float:
        """D' of the tree with another node in a place."""
        if place.box is None:
            return self.distance
        kept = self._with.get(new)
        if kept is not None:  # the same edit at another price
            return kept
        mine, start = self.columns, place.first_column
        stop = start + self._n_columns(place)
        inside = self.anchor.columns(new, place.box)
        outcomes: NDArray[np.int64] = self.anchor.outcomes(inside.leaves, self.outcome)
        found = self._with[new] = self.anchor.distance_of(
            Columns.put_together([mine.part(0, start), inside, mine.part(stop, None)]),
            np.concatenate([self.outcomes[:start], outcomes, self.outcomes[stop:]]),
        )
        return found
