"""Rows and outcomes at every node of trees, counted in batches.

The rules of a tree can be searched on a sample; what its leaves predict and how many people
they hold must come from every row. A table of a million rows, or one that does not fit in
memory, is therefore read in batches, once for all trees of a search.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from steadytree.core.rows import CodedRows
from steadytree.growing.binning import FloatArray, Split

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


class Branching(Protocol):
    """What is counted at: a node with a condition and two sides, or none."""

    @property
    def is_leaf(self) -> bool:
        """Whether the node has no condition."""
        ...

    @property
    def parts(self) -> tuple[Split, Any, Any]:
        """Condition and both sides of an inner node."""
        ...


def outcome_counts(y: NDArray[Any], n_classes: int | None) -> FloatArray:
    """Outcomes in the columns that are counted."""
    if n_classes is None:
        return np.column_stack([np.ones(len(y)), np.asarray(y, dtype=np.float64)])
    return np.asarray(np.eye(n_classes)[y])


def count_rows(roots: Sequence[Branching], batches: Iterable[RowBatch]) -> list[NodeCounts]:
    """Count the rows of all batches at every node of several trees, in one pass."""
    sizes = [_n_nodes(root) for root in roots]
    sums: list[FloatArray] = []
    for batch in batches:
        width = batch.outcomes.shape[1]
        sums = sums or [np.zeros((2, 2, size, width)) for size in sizes]
        every = np.arange(len(batch.coded))
        once = (batch.weight > 0)[:, None] * batch.outcomes
        weighted = batch.weight[:, None] * batch.outcomes
        for root, size, total in zip(roots, sizes, sums, strict=True):
            leaf = np.empty(len(every), dtype=np.intp)
            _place(root, 0, batch.coded, every, leaf)
            for kind, values in enumerate((once, weighted)):
                for column in range(width):
                    reached = np.bincount(leaf, values[:, column], size)
                    total[kind, int(not batch.old), :, column] += reached
    if not sums and roots:
        raise ValueError("expected at least one batch of rows, got none")
    for root, total in zip(roots, sums, strict=True):
        _add_up(root, 0, total)
    return [NodeCounts(*np.moveaxis(total, 2, 1)) for total in sums]


def _n_nodes(node: Branching) -> int:
    return 1 if node.is_leaf else 1 + sum(_n_nodes(side) for side in node.parts[1:])


def _place(
    node: Branching, at: int, coded: FloatArray, rows: NDArray[np.intp], leaf: NDArray[np.intp]
) -> int:
    """Write the position of the leaf that each row reaches; return the next free position."""
    if node.is_leaf:
        leaf[rows] = at
        return at + 1
    split, left, right = node.parts
    goes = split.goes_left(coded[rows, split.feature])
    following = _place(left, at + 1, coded, rows[goes], leaf)
    return _place(right, following, coded, rows[~goes], leaf)


def _add_up(node: Branching, at: int, total: FloatArray) -> int:
    """Give every inner node the sums of its two sides; return the next free position."""
    if node.is_leaf:
        return at + 1
    _, left, right = node.parts
    second = _add_up(left, at + 1, total)
    following = _add_up(right, second, total)
    total[:, :, at] = total[:, :, at + 1] + total[:, :, second]
    return following
