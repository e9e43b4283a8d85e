r"""Exact metric distance from a fixed tree to every candidate of a search, kept incremental.

The deployed tree's paths never change, and an edit changes few paths of the candidate. So
each subtree keeps the columns of the cost matrix that belong to its leaves; a candidate's
matrix is put together from its parts, and only the paths below the edit are computed.

The number is :math:`d'` of ``tree_distance(..., variant="metric")``: eq. (dist-paths) as
half an L1 distance of tightenings (see ``core.paths``), unmatched paths at half their
tightening plus :math:`\lambda/2`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

from steadytree.core.paths import coordinate_start
from steadytree.core.space import FeatureSpace
from steadytree.core.words import NumericState
from steadytree.growing.binning import FloatArray, Split
from steadytree.growing.nodes import SearchNode

__all__ = ["AnchoredDistance", "Box"]


@dataclass(frozen=True, slots=True)
class Box:
    """What a path demands: its tightenings, and per feature bounds or a bit set."""

    x: FloatArray
    states: dict[int, NumericState | int]


@dataclass(frozen=True, slots=True)
class _Columns:
    """Cost columns of the leaves of a subtree (only those that some value can reach)."""

    cost: FloatArray  # (n_anchor_paths, n_leaves): feature part
    weight: FloatArray  # (n_leaves,): feature part of the unmatched cost
    leaves: tuple[SearchNode, ...]


class AnchoredDistance:
    """Distance of candidates to one deployed tree.

    Parameters
    ----------
    space : FeatureSpace
    root : SearchNode
        The deployed tree.
    outcome : callable
        For a leaf its label (classification) or its response scaled to [0, 1].
    anchor_outcome : callable
        The same for the leaves of the deployed tree as deployed.
    label_weight : float
        λ of eq. (dist-paths).
    """

    def __init__(
        self,
        space: FeatureSpace,
        root: SearchNode,
        *,
        anchor_outcome: Callable[[SearchNode], float],
        classifier: bool,
        label_weight: float = 1.0,
    ) -> None:
        self.space = space
        self.start = coordinate_start(space)
        self.classifier = classifier
        self.label_weight = label_weight
        self.open = Box(np.zeros(int(self.start[-1])), {})
        boxes = list(self._leaf_boxes(root, self.open))
        self._anchor = np.array([box.x for _, box in boxes])
        self._anchor_weight = self._anchor.sum(axis=1) / 2 + label_weight / 2
        self._anchor_outcome = np.array([anchor_outcome(leaf) for leaf, _ in boxes])
        self.mass = float(self._anchor_weight.sum())

    # -- paths --------------------------------------------------------------------

    def step(self, box: Box, split: Split, *, left: bool) -> Box | None:
        """Box after one condition; None where no value gets through."""
        j = split.feature
        cats = self.space.categories[j]
        can_miss = bool(self.space.can_be_missing[j])
        first = int(self.start[j])
        state: NumericState | int
        if cats is not None:
            full = (1 << (len(cats) + can_miss)) - 1
            old = box.states.get(j, full)
            assert isinstance(old, int)
            mask = sum(1 << c for c in split.left or ())
            if can_miss and split.missing_left:
                mask |= 1 << len(cats)
            state = old & mask if left else old & ~mask
            if not state:
                return None
            count = len(cats) + can_miss
            tight = [0.0 if state >> c & 1 else 2.0 / count for c in range(count)]
        else:
            was = box.states.get(j, (-np.inf, np.inf, True, can_miss))
            assert isinstance(was, tuple)
            low, high, present, missing = was
            if left:
                high, missing = min(high, split.threshold), missing and split.missing_left
            else:
                low, missing = max(low, split.threshold), missing and not split.missing_left
            present = present and low < high
            if not (present or missing):
                return None
            state = (low, high, present, missing)
            tight = self._tightening(j, state, can_miss)
        x = box.x.copy()
        x[first : first + len(tight)] = tight
        return Box(x, {**box.states, j: state})

    def _tightening(self, j: int, state: NumericState, can_miss: bool) -> list[float]:
        low, high, present, missing = state
        lower, upper = float(self.space.lower[j]), float(self.space.upper[j])
        span = upper - lower
        top = bottom = 0.0
        if present and span > 0:
            top = min(max((upper - high) / span, 0.0), 1.0)
            bottom = min(max((low - lower) / span, 0.0), 1.0)
        if not can_miss:
            return [top, bottom]
        return [top, bottom, 0.0 if present else 1.0, 0.0 if missing else 1.0]

    def _leaf_boxes(self, node: SearchNode, box: Box) -> list[tuple[SearchNode, Box]]:
        if node.is_leaf:
            return [(node, box)]
        split, left, right = node.parts
        out: list[tuple[SearchNode, Box]] = []
        for child, side in ((left, True), (right, False)):
            inside = self.step(box, split, left=side)
            if inside is not None:
                out += self._leaf_boxes(child, inside)
        return out

    # -- distances ----------------------------------------------------------------

    def columns(self, node: SearchNode, box: Box) -> _Columns:
        """Cost columns of a subtree; a node always sits in the same box, so they are kept."""
        kept = node.cache.get("columns")
        if kept is not None:
            return kept  # type: ignore[no-any-return]
        if node.is_leaf:
            made = _Columns(
                cdist(self._anchor, box.x[None, :], "cityblock") / 2,
                np.array([box.x.sum() / 2]),
                (node,),
            )
        else:
            split, left, right = node.parts
            parts = []
            for child, side in ((left, True), (right, False)):
                inside = self.step(box, split, left=side)
                if inside is not None:
                    parts.append(self.columns(child, inside))
            made = _Columns(
                np.concatenate([p.cost for p in parts], axis=1),
                np.concatenate([p.weight for p in parts]),
                tuple(leaf for p in parts for leaf in p.leaves),
            )
        node.cache["columns"] = made
        return made

    def distance(self, root: SearchNode, outcome: Callable[[SearchNode], float]) -> float:
        """D' of a candidate to the deployed tree."""
        made = self.columns(root, self.open)
        theirs = np.array([outcome(leaf) for leaf in made.leaves])
        apart: NDArray[np.float64] = (
            (self._anchor_outcome[:, None] != theirs[None, :]).astype(np.float64)
            if self.classifier
            else np.abs(self._anchor_outcome[:, None] - theirs[None, :])
        )
        cost = made.cost + self.label_weight * apart
        extra = 0.0
        n, m = cost.shape
        if n > m:
            cost = cost - self._anchor_weight[:, None]
            extra = float(self._anchor_weight.sum())
        elif m > n:
            weight = made.weight + self.label_weight / 2
            cost = cost - weight[None, :]
            extra = float(weight.sum())
        chosen = linear_sum_assignment(cost)
        return float(cost[chosen].sum() + extra)
