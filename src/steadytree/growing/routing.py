"""A tree of linked nodes as flat arrays, to send many rows through it at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from steadytree.growing._loops import loops
from steadytree.growing.best_first import FloatArray, IndexArray, Split
from steadytree.tree.rows import CodedRows


class Branching(Protocol):
    """A node with a condition and two sides, or none."""

    @property
    def is_leaf(self) -> bool:
        """Whether the node has no condition."""
        ...

    @property
    def parts(self) -> tuple[Split, Any, Any]:
        """Condition and both sides of an inner node."""
        ...


@dataclass(frozen=True, eq=False)
class FlatTree:
    """Nodes in the order parents before their children, left before right.

    ``leaf`` numbers the leaves from the left (-1: an inner node), ``category_set`` the rows of
    ``sets`` that go left (-1: a threshold); ``leaves`` are the nodes they were made from.
    """

    feature: NDArray[np.int64]
    threshold: FloatArray
    category_set: NDArray[np.int64]
    missing_left: NDArray[np.bool_]
    children: NDArray[np.int64]
    leaf: NDArray[np.int64]
    sets: NDArray[np.bool_]
    leaves: tuple[Any, ...]

    @classmethod
    def of(cls, root: Branching) -> FlatTree:
        """Flatten a tree."""
        splits: list[Split | None] = []
        children: list[tuple[int, int]] = []
        leaf: list[int] = []
        leaves: list[Any] = []

        def add(node: Branching) -> int:
            at = len(splits)
            children.append((-1, -1))
            if node.is_leaf:
                splits.append(None)
                leaf.append(len(leaves))
                leaves.append(node)
                return at
            split, left, right = node.parts
            splits.append(split)
            leaf.append(-1)
            children[at] = add(left), add(right)
            return at

        add(root)
        given = [split.left for split in splits if split is not None and split.left is not None]
        width = 1 + max((max(codes, default=0) for codes in given), default=0)
        numbers = np.full(len(splits), -1, dtype=np.int64)
        sets = np.zeros((len(given) + 1, width), dtype=np.bool_)
        count = 0
        for at, split in enumerate(splits):
            if split is not None and split.left is not None:
                sets[count, list(split.left)] = True
                numbers[at] = count
                count += 1
        return cls(
            np.array([-1 if s is None else s.feature for s in splits], dtype=np.int64),
            np.array([np.nan if s is None else s.threshold for s in splits]),
            numbers,
            np.array([s is not None and s.missing_left for s in splits]),
            np.array(children, dtype=np.int64).reshape(-1, 2),
            np.array(leaf, dtype=np.int64),
            sets,
            tuple(leaves),
        )

    def with_root(self, split: Split, *, flipped: bool = False) -> FlatTree:
        """Return the same tree with another condition at the root, maybe its sides exchanged."""
        feature, threshold = self.feature.copy(), self.threshold.copy()
        missing = self.missing_left.copy()
        feature[0], threshold[0], missing[0] = split.feature, split.threshold, split.missing_left
        children, numbers, sets = self.children, self.category_set.copy(), self.sets
        numbers[0] = -1
        if flipped:
            children = children.copy()
            children[0] = children[0, ::-1]
        if split.left is not None:
            width = max(sets.shape[1], 1 + max(split.left, default=0))
            wider = np.zeros((len(sets) + 1, width), dtype=np.bool_)
            wider[:-1, : sets.shape[1]] = sets
            wider[-1, list(split.left)] = True
            numbers[0], sets = len(sets), wider
        return replace(
            self,
            feature=feature,
            threshold=threshold,
            missing_left=missing,
            children=children,
            category_set=numbers,
            sets=sets,
        )

    def route(self, coded: FloatArray, rows: IndexArray) -> NDArray[np.intp]:
        """Return the number of the leaf that each of some rows of a coded table reaches."""
        reached: NDArray[np.intp] = loops().route(
            coded,
            rows,
            self.feature,
            self.threshold,
            self.category_set,
            self.missing_left,
            self.children,
            self.leaf,
            self.sets,
        )
        return reached


# -- Rows and outcomes at every node of trees, counted in batches --
# The rules of a tree can be searched on a sample; what its leaves predict and how many people
# they hold must come from every row. A table of a million rows, or one that does not fit in
# memory, is therefore read in batches, once for all trees of a search.


@dataclass(frozen=True, eq=False)
class RowBatch:
    """Some rows, all of before or all new ones.

    ``outcomes`` has a column per class (1 in that of the row), or the columns "one row" and
    response; rows without weight count for nothing.
    """

    coded: FloatArray
    outcomes: FloatArray
    weight: FloatArray
    old: bool = False

    @classmethod
    def of(cls, rows: CodedRows, n_classes: int | None, *, old: bool) -> RowBatch:
        """Make a batch of coded rows."""
        return cls(rows.coded, outcome_counts(rows.y, n_classes), rows.weights, old)


RowBatches = Callable[[], Iterable[RowBatch]]
"""Goes through all rows anew at every call."""


@dataclass(frozen=True, eq=False)
class NodeCounts:
    """Sums over the rows of each node, parents before their children, left before right.

    Both arrays are (n_nodes, 2, width): old rows, then new rows, in the columns of
    ``RowBatch.outcomes``; each row counts once, or by its weight.
    """

    counts: FloatArray
    weighted: FloatArray


def outcome_counts(y: NDArray[Any], n_classes: int | None) -> FloatArray:
    """Outcomes in the columns that are counted."""
    if n_classes is None:
        return np.column_stack([np.ones(len(y)), np.asarray(y, dtype=np.float64)])
    return np.asarray(np.eye(n_classes)[y])


def count_rows(roots: Sequence[Branching], batches: Iterable[RowBatch]) -> list[NodeCounts]:
    """Count the rows of all batches at every node of several trees, in one pass."""
    if not roots:
        return []
    trees = [FlatTree.of(root) for root in roots]
    sums: list[FloatArray] = []
    for batch in batches:
        width = batch.outcomes.shape[1]
        sums = sums or [np.zeros((len(tree.leaf), 2, 2, width)) for tree in trees]
        every = np.arange(len(batch.coded))
        once = (batch.weight > 0)[:, None] * batch.outcomes
        weighted = batch.weight[:, None] * batch.outcomes
        for tree, total in zip(trees, sums, strict=True):
            at = np.flatnonzero(tree.leaf >= 0)
            reached = tree.route(batch.coded, every)
            for kind, values in enumerate((once, weighted)):
                for column in range(width):
                    counted = np.bincount(reached, values[:, column], len(at))
                    total[at, kind, int(not batch.old), column] += counted
    if not sums:
        raise ValueError("expected at least one batch of rows, got none")
    for tree, total in zip(trees, sums, strict=True):
        for node in range(len(total) - 1, -1, -1):  # children come after their parents
            if tree.leaf[node] < 0:
                total[node] = total[tree.children[node]].sum(axis=0)
    return [NodeCounts(total[:, 0], total[:, 1]) for total in sums]
