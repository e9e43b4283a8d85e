"""What a path demands of each feature, and how much that tightens the space.

One condition at a time: a box is split at a condition into its two sides. ``core.walk`` does
the same for whole trees.
"""

from __future__ import annotations

from itertools import accumulate
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from steadytree.core.alignment import AlignedTree
from steadytree.core.bit_sets import codes_in
from steadytree.core.space import FeatureSpace
from steadytree.core.words import NumericState

__all__ = ["Box", "Boxes", "Side", "coordinate_start"]

FloatArray = NDArray[np.float64]
State = NumericState | int


class Side(NamedTuple):
    """What a path demands of one feature, and how much that tightens the space."""

    state: State
    tightening: dict[int, float]  # by coordinate, only those above 0
    weight: float  # the feature's part of eq. (weight-path)


# A box: the features that a path restricts.
Box = dict[int, Side]


def coordinate_start(space: FeatureSpace) -> NDArray[np.int64]:
    """First coordinate of each feature; the last entry is the number of coordinates.

    Numeric: upper side, lower side, and (if it can be missing) present, missing.
    Categorical: one per category, and one for missing.
    """
    return np.array(Boxes(space).start, dtype=np.int64)


class Boxes:
    """How a condition narrows a box of one space, and how much a box tightens the space."""

    def __init__(self, space: FeatureSpace) -> None:
        self.space = space
        lower, upper = space.lower.tolist(), space.upper.tolist()
        self.ranges = list(zip(lower, upper, space.scales, strict=True))
        self.can_miss: list[bool] = space.can_be_missing.tolist()
        # Categories of a feature, "missing" included; 0: numeric.
        self.count = [
            0 if categories is None else len(categories) + missing
            for categories, missing in zip(space.categories, self.can_miss, strict=True)
        ]
        sizes = [
            count or 2 + 2 * missing
            for count, missing in zip(self.count, self.can_miss, strict=True)
        ]
        self.start = [0, *accumulate(sizes)]

    def state(self, box: Box, j: int) -> State:
        """Return what a box demands of a feature; everything passes where it has no say."""
        if j in box:
            return box[j].state
        if self.count[j]:
            return (1 << self.count[j]) - 1
        return (-np.inf, np.inf, True, self.can_miss[j])

    def split(
        self, box: Box, j: int, threshold: float, mask: int | None, missing_left: bool
    ) -> tuple[Side | None, Side | None]:
        """Feature j of a box on the left and right of a split; None where nothing passes.

        ``mask`` is the bit set of the categories that go left (the bit after the last one is
        "missing"), None for a split at a threshold.
        """
        state = self.state(box, j)
        if isinstance(state, int):
            assert mask is not None
            return self._side(j, state & mask or None), self._side(j, state & ~mask or None)
        low, high, present, missing = state
        return (
            self._numeric(j, low, min(high, threshold), present, missing and missing_left),
            self._numeric(j, max(low, threshold), high, present, missing and not missing_left),
        )

    def _numeric(
        self, j: int, low: float, high: float, present: bool, missing: bool
    ) -> Side | None:
        """One side of a threshold; None where neither a number nor "missing" gets through."""
        present = present and low < high
        return self._side(j, (low, high, present, missing) if present or missing else None)

    def _side(self, j: int, state: State | None) -> Side | None:
        if state is None:
            return None
        first = self.start[j]
        if isinstance(state, int):
            count = self.count[j]
            out = {first + c: 2.0 / count for c in codes_in(~state, count)}
            return Side(state, out, (count - len(out)) / count if out else 0.0)
        low, high, present, missing = state
        lower, upper, scale = self.ranges[j]
        out = {}
        weight = 0.0
        if present and upper > lower:
            if scale is None:  # over the range: written out, most time is spent here
                span = upper - lower
                top = max((upper - high) / span, 0.0)
                bottom = max((low - lower) / span, 0.0)
            else:
                top, bottom = scale.above(high), scale.below(low)
            if top > 0:
                out[first] = top = min(top, 1.0)
            if bottom > 0:
                out[first + 1] = bottom = min(bottom, 1.0)
            if out:
                weight = max(1.0 - top - bottom, 0.0)
        if self.can_miss[j] and not (present and missing):
            out[first + (3 if present else 2)] = 1.0
            weight += 0.5
        return Side(state, out, weight)

    def cuts(
        self, feature: NDArray[np.int64], threshold: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """How much each threshold tightens its feature: as an upper and as a lower bound.

        Entries without a threshold (NaN) mean nothing. The numbers are those of ``split``, bit
        for bit.
        """
        lower, upper = self.space.lower[feature], self.space.upper[feature]
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            span = upper - lower
            above = np.where(span > 0, (upper - threshold) / span, 0.0)
            below = np.where(span > 0, (threshold - lower) / span, 0.0)
        above, below = (np.minimum(np.maximum(x, 0.0), 1.0) for x in (above, below))
        if any(scale is not None for scale in self.space.scales):
            # Spans beyond the largest number come with a scale as well.
            for i in (~np.isnan(threshold)).nonzero()[0].tolist():
                scale = self.space.scales[feature[i]]
                if scale is not None:
                    above[i] = scale.above(float(threshold[i]))
                    below[i] = scale.below(float(threshold[i]))
        return above, below

    def box_of(self, aligned: AlignedTree, node: int) -> Box:
        """Return the box of one node that some value can reach."""
        tree = aligned.tree
        way = [node]
        while way[-1] != 0:
            way.append(int(tree.parent[way[-1]]))
        box: Box = {}
        for parent, child in zip(way[:0:-1], way[-2::-1], strict=True):
            j = int(aligned.feature[parent])
            sides = self.split(
                box,
                j,
                float(tree.threshold[parent]),
                aligned.left_mask[parent],
                bool(tree.missing_left[parent]),
            )
            side = sides[int(tree.children_left[parent] != child)]
            assert side is not None, "expected a node that some value can reach"
            box[j] = side
        return box
