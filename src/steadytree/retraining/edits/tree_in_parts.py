"""One tree of a search laid out by its leaves, so that an edit exchanges a part of it.

Most of a tree is untouched by an edit. Its leaves' sums, the columns of its cost matrix and its
outcomes are therefore put together once, and each candidate only replaces those of its place.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steadytree.core.boxes import Box
from steadytree.growing.binning import FloatArray
from steadytree.growing.nodes import SearchNode, Way
from steadytree.retraining.edits.criterion import leaf_sums
from steadytree.retraining.edits.distance import AnchoredDistance, Columns, Outcome

__all__ = ["Place", "TreeInParts"]


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

    @property
    def depth(self) -> int:
        """Number of conditions above."""
        return len(self.way)


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
