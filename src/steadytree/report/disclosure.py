"""Keep single people out of the tables: which cells to mask, and how coarsely to round.

A number about fewer than ``min_cell`` people is not shown. That alone does not protect it:
with the total and all other cells known, the last one can be computed. So where one cell of
a partition is masked, others are masked with it until those masked hold ``min_cell`` people or
more and are at least two. Shares are rounded so that one step stands for at least
``min_cell`` people, which also stops a small difference between two tables from being read
as a head count.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steadytree.core.space import FeatureSpace
from steadytree.core.tree import Tree

__all__ = [
    "PeopleCount",
    "coarse_mean",
    "coarse_share",
    "few",
    "hidden_leaves",
    "mask_partition",
    "rests_on_few",
    "share_step",
]

_STEPS = (0.01, 0.02, 0.05, 0.1)


def few(count: float, min_cell: int) -> bool:
    """Whether a count is of some people, but of too few; nobody is not a person."""
    return 0 < count < min_cell


@dataclass(frozen=True)
class PeopleCount:
    """How many of some people, as far as it may be told: every page gets its counts from here.

    A number that is not told is None, and the count ``replaced`` by words: "fewer than 5".
    """

    count: int | None
    total: int | None
    replaced: str | None = None

    @classmethod
    def of(cls, count: float, total: int, min_cell: int) -> PeopleCount:
        """Mask the count where it, or the rest, is of too few people."""
        count = round(count)
        if total < min_cell:
            return cls(None, None, "a number that is not shown")
        if few(count, min_cell):
            return cls(None, total, f"fewer than {min_cell}")
        if few(total - count, min_cell):
            return cls(None, total, f"all but fewer than {min_cell}")
        return cls(count, total)

    @property
    def masked(self) -> bool:
        """Whether the count is not told."""
        return self.count is None

    @property
    def share(self) -> float | None:
        """Share of the people; None where not told."""
        return None if self.count is None or not self.total else self.count / self.total


def mask_partition(
    counts: Sequence[float], min_cell: int, *, primary: Sequence[bool] | None = None
) -> NDArray[np.bool_]:
    """Say which cells of a partition to mask when its total is known.

    The ``primary`` cells (by default those of 1 to ``min_cell - 1`` people), and the smallest
    others needed to hide them: at least two cells and at least ``min_cell`` people are masked
    together, or every cell is.
    """
    sizes = np.asarray(counts, dtype=np.float64)
    own = [few(size, min_cell) for size in sizes] if primary is None else primary
    masked = np.array(own, dtype=bool)
    if not masked.any():
        return masked
    # An empty cell hides nothing: everybody sees that it is empty.
    others = [i for i in np.argsort(sizes, kind="stable") if not masked[i] and sizes[i] > 0]
    while others and (masked.sum() < 2 or sizes[masked].sum() < min_cell):
        masked[others.pop(0)] = True
    return masked


def share_step(n_rows: float, min_cell: int) -> float:
    """Smallest step to round shares to so that one step is ``min_cell`` people or more."""
    return next((step for step in _STEPS if step * n_rows >= min_cell), _STEPS[-1])


def coarse_share(share: float, n_rows: float, min_cell: int) -> float:
    """Share rounded to the step that protects single people among ``n_rows``.

    What would be rounded to nobody becomes half a step: some, but few.
    """
    step = share_step(n_rows, min_cell)
    steps = round(share / step)
    return round(step / 2 if steps == 0 and share > 0 else steps * step, 4)


def rests_on_few(tree: Tree, node: int, min_cell: int) -> bool:
    """Whether fewer people than ``min_cell`` stand behind a leaf (of a tree of people)."""
    return bool(tree.weight[node] < min_cell <= tree.weight[0])


def hidden_leaves(tree: Tree, min_cell: int) -> set[int]:
    """Leaves at which what was observed is not told: too few people, or needed to protect such.

    Counted are the people of each outcome, old and new rows apart: a tree before and after a
    retraining differ by the new ones, whom nobody may compute from the two.
    """
    seen = tree.observed
    if seen is None:
        return set()
    leaves = tree.leaves
    rows = seen.rows()[leaves]
    counts = seen.counts[leaves] if seen.is_classifier else seen.counts[leaves][..., :1]
    masked = np.zeros(len(leaves), dtype=bool)
    for cells in (counts, counts.sum(axis=1, keepdims=True), counts.sum(axis=2, keepdims=True)):
        masked |= ((cells > 0) & (cells < min_cell)).any(axis=(1, 2))
    before = None
    while before is None or (masked != before).any():
        before = masked.copy()
        for column in (rows, *counts.sum(axis=1).T):
            if masked.any():
                masked |= mask_partition(column.tolist(), min_cell, primary=masked.tolist())
    return {int(leaf) for leaf, flag in zip(leaves, masked, strict=True) if flag}


def coarse_mean(mean: float, space: FeatureSpace) -> float:
    """Round a mean of too few responses to a twentieth of the response range."""
    low, high = space.response_range or (0.0, 0.0)
    step = (high - low) / 20
    if step > 0:
        mean = low + round((mean - low) / step) * step
    return float(f"{mean:.4g}")
