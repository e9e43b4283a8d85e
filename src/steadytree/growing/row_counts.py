"""Rows and outcomes at every node of trees, counted in batches.

The rules of a tree can be searched on a sample; what its leaves predict and how many people
they hold must come from every row. A table of a million rows, or one that does not fit in
memory, is therefore read in batches, once for all trees of a search.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadytree.core.rows import CodedRows
from steadytree.growing.binning import FloatArray
from steadytree.growing.routing import Branching, FlatTree

__all__ = ["NodeCounts", "RowBatch", "RowBatches", "count_rows", "outcome_counts"]


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
