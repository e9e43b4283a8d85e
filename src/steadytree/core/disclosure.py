"""Keep single people out of the tables: which cells to mask, and how coarsely to round.

A number about fewer than ``min_cell`` people is not shown. That alone does not protect it:
with the total and all other cells known, the last one can be computed. So where one cell of
a partition is masked, others are masked with it until those masked hold ``min_cell`` people or
more and are at least two. Outcomes of too few people are told as a range ("< 5 of 291") that
the total does not narrow. Shares are rounded so that one step stands for at least
``min_cell`` people, which also stops a small difference between two tables from being read
as a head count.

Every output gets what it may say from here: pages, texts, Markdown, JSON and CSV files, MLflow.
What a programmer is handed who has the rows (data frames, attributes) is exact.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from steadytree.core.observed import Observed
from steadytree.core.space import FeatureSpace
from steadytree.core.tree import Tree
from steadytree.core.words import PAGE, PLAIN, WordStyle

__all__ = [
    "MIN_CELL",
    "PeopleCount",
    "ShareBin",
    "ToldCount",
    "coarse_mean",
    "few",
    "mask_partition",
    "masking_note",
    "range_words",
    "rests_on_few",
    "share_bin",
    "share_step",
    "tell_leaves",
    "tell_outcomes",
    "told_share",
    "told_share_words",
]

MIN_CELL = 5
"""Numbers about fewer people are masked, unless another ``min_cell`` is asked for."""

_STEPS = (0.01, 0.02, 0.05, 0.1, 0.2)
# A range that begins (or ends) so near to nobody (or everybody) is told by its other end.
_NEARLY = 0.25
_ROUNDING = 1e-9
# How many times wider a range may be than the numbers it must hide.
_WIDER = (1, 2, 4)


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


# -- shares told as bins ---------------------------------------------------------------


@dataclass(frozen=True)
class ShareBin:
    """A share told as a range, ``low`` included and ``high`` not, of so many people.

    A range covers at least ``min_cell`` whole numbers of people, also at its ends: nobody and
    everybody are not told apart from a few.
    """

    low: float
    high: float

    @property
    def middle(self) -> float:
        """One number for the range, for a bar or a column of numbers."""
        return round((self.low + self.high) / 2, 4)

    def holds(self, share: float) -> bool:
        """Whether a share lies in the range."""
        return self.low <= share + _ROUNDING and (share < self.high or self.high == 1)

    def words(self, style: WordStyle = PAGE) -> str:
        """Write the range: "< 5 %", "20–25 %", "≥ 95 %"."""
        first, last = round(100 * self.low), round(100 * self.high)
        if first <= 0:
            return f"<{style.gap}{last}{style.gap}%"
        return f"{f'≥{style.gap}{first}' if last >= 100 else f'{first}–{last}'}{style.gap}%"


def share_step(n_rows: float, min_cell: int) -> float | None:
    """Smallest step of shares that is ``min_cell`` people or more; None: there is none."""
    return next((step for step in _STEPS if step * n_rows >= min_cell), None)


def share_bin(share: float, n_rows: float, min_cell: int) -> ShareBin | None:
    """Range that a share of so many rows is told as; None where every range would tell."""
    step = share_step(n_rows, min_cell)
    if step is None:
        return None
    at = min(math.floor(share / step + _ROUNDING), round(1 / step) - 1)
    return ShareBin(round(at * step, 4), round((at + 1) * step, 4))


def told_share(count: float, total: float, min_cell: int, *, exact: bool = False) -> float | None:
    """Share as one number: itself where it may be told, else the middle of its range.

    Without ``exact`` only nobody is told exactly. None where no range protects, or none is known.
    """
    if math.isnan(count):
        return None
    people = PeopleCount.of(count, round(total), min_cell)
    if min_cell <= 1 or not round(count) or (exact and not people.masked):
        return people.share if total else None
    told = share_bin(count / total, total, min_cell)
    return None if told is None else told.middle


def told_share_words(
    count: float, total: float, min_cell: int, style: WordStyle = PLAIN, *, exact: bool = False
) -> str:
    """Write a share as :func:`told_share` tells it: "4.2 %", "2–4 %", "not shown"."""
    if math.isnan(count):
        return style.percent(None)
    people = PeopleCount.of(count, round(total), min_cell)
    if min_cell <= 1 or not round(count) or (exact and not people.masked):
        return style.percent(people.share, 1)
    told = share_bin(count / total, total, min_cell)
    return "not shown" if told is None else told.words(style)


def rests_on_few(tree: Tree, node: int, min_cell: int) -> bool:
    """Whether fewer people than ``min_cell`` stand behind a leaf (of a tree of people)."""
    return bool(tree.weight[node] < min_cell <= tree.weight[0])


# -- counts of outcomes ----------------------------------------------------------------


@dataclass(frozen=True)
class ToldCount:
    """How many of ``total`` people have an outcome, as far as it may be told.

    Exactly where ``low`` is ``high``, else from ``low`` to ``high``.
    """

    low: int
    high: int
    total: int

    @property
    def exact(self) -> bool:
        """Whether the number itself is told."""
        return self.low == self.high

    def plus(self, other: ToldCount) -> ToldCount:
        """Add what is told of other people."""
        return ToldCount(self.low + other.low, self.high + other.high, self.total + other.total)

    @property
    def end(self) -> str:
        """Sign that says the range by one number: "<" from nobody on, ">" up to everybody."""
        if self.exact:
            return ""
        few_others = self.total - self.high
        if self.low <= min(_NEARLY * self.high, few_others):
            return "<"
        return ">" if few_others <= _NEARLY * (self.total - self.low) else ""

    def words(self, style: WordStyle = PAGE) -> str:
        """Write the count: "12 of 43", "< 5 of 291", "> 158 of 163", "10–14 of 26"."""
        count = f"{self.low:,}" if self.exact else f"{self.low:,}–{self.high:,}"
        if self.end:
            count = f"<{style.gap}{self.high + 1:,}" if self.end == "<" else ""
            count = count or f">{style.gap}{self.low - 1:,}"
        return f"{count} of {self.total:,}"

    def shares(self, further: float) -> tuple[float, float]:
        """Range of the share among these and so many ``further`` people of unknown outcome."""
        low = 0 if self.end == "<" else self.low
        high = self.total if self.end == ">" else self.high
        return low / (self.total + further), (high + further) / (self.total + further)


def range_words(low: float, high: float, style: WordStyle = PAGE) -> str:
    """Write a range of shares in whole per cent, rounded outwards: "≤ 2 %", "38–54 %"."""
    first, last = math.floor(100 * low + _ROUNDING), math.ceil(100 * high - _ROUNDING)
    if first <= 0:
        return f"≤{style.gap}{last}{style.gap}%"
    return f"{f'≥{style.gap}{first}' if last >= 100 else f'{first}–{last}'}{style.gap}%"


def tell_outcomes(
    counts: Sequence[float],
    rows: Sequence[float],
    min_cell: int,
    *,
    hidden: Sequence[bool] | None = None,
) -> list[ToldCount | None]:
    """Say how many rows of each cell of a partition have an outcome, when its total is known.

    A count of too few people, with or without the outcome, is told as a range. The total and
    all other counts could narrow it; so ranges are widened, and other counts told as ranges,
    until at least as many numbers are possible as "fewer than ``min_cell``" leaves open. Where
    that cannot be had, such counts are None, with others as in :func:`mask_partition`; and so
    are those of ``hidden`` cells.
    """
    c, n = ([round(float(v)) for v in given] for given in (counts, rows))
    unseen = [few(rows_here, min_cell) for rows_here in n]
    if hidden is not None:
        unseen = [one or two for one, two in zip(unseen, hidden, strict=True)]
    seen = [i for i in range(len(c)) if not unseen[i]]
    small = [i for i in seen if few(c[i], min_cell) or few(n[i] - c[i], min_cell)]
    # Leaves of one outcome only say most: they are told as long as possible.
    others = sorted(set(seen) - set(small), key=lambda i: (c[i] in (0, n[i]), n[i]))
    for widen, band, taken in product(_WIDER, _WIDER, range(len(others) + 1)):
        ranges = {i: (c[i], c[i]) for i in seen}
        ranges |= {i: _few_range(c[i], n[i], min_cell, widen) for i in small}
        ranges |= {i: _band(c[i], n[i], band * min_cell) for i in others[:taken]}
        if all(_possible(ranges, c, i) >= max(min_cell - 1, 2) for i in small):
            return [ToldCount(*ranges[i], n[i]) if i in ranges else None for i in range(len(c))]
    masked = [not (i in seen and i not in small) for i in range(len(c))]
    for column in (n, c, n):
        masked = mask_partition(column, min_cell, primary=masked).tolist()
    return [None if masked[i] else ToldCount(c[i], c[i], n[i]) for i in range(len(c))]


def _few_range(count: int, rows: int, min_cell: int, widen: int) -> tuple[int, int]:
    """Range of a count of too few people, or of all but too few."""
    wide = min(widen * min_cell, rows) - 1
    return (1, wide) if few(count, min_cell) else (rows - wide, rows - 1)


def _band(count: int, rows: int, width: int) -> tuple[int, int]:
    low = count // width * width
    return low, min(low + width - 1, rows)


def _possible(ranges: Mapping[int, tuple[int, int]], counts: Sequence[int], at: int) -> int:
    """How many numbers a count can be for whoever knows the total and every range."""
    low, high = ranges[at]
    others = [i for i in ranges if i != at]
    up = sum(ranges[i][1] - counts[i] for i in others)
    down = sum(counts[i] - ranges[i][0] for i in others)
    return min(high, counts[at] + down) - max(low, counts[at] - up) + 1


def tell_leaves(
    tree: Tree,
    seen: Observed | None,
    min_cell: int,
    shown: Sequence[int],
    unfit: Sequence[bool] | None = None,
) -> dict[int, ToldCount | None]:
    """Say how many of the rows ``seen`` at each leaf have an outcome, as far as it may be told.

    ``shown`` is the position of the outcome's class at each leaf, from left to right. Old and
    new rows are counted apart: a tree before and after a retraining differ by the new ones,
    whom nobody may compute from the two. A leaf of a regression tells its rows only. Those that
    are ``unfit`` tell nothing, and others with them.
    """
    leaves = tree.leaves
    if seen is None:
        return {}
    parts = [seen.rows(which)[leaves] for which in ("old", "new")]
    hidden = np.zeros(len(leaves), dtype=bool)
    for rows in (*parts, parts[0] + parts[1]):
        hidden |= mask_partition(rows.tolist(), min_cell)
    if unfit is not None and any(unfit):
        every = (parts[0] + parts[1]).tolist()
        hidden |= mask_partition(every, min_cell, primary=list(unfit))
    out: list[ToldCount | None] = [ToldCount(0, 0, 0)] * len(leaves)
    for part, rows in enumerate(parts):
        counts = np.zeros(len(leaves))
        if seen.is_classifier:
            counts = seen.counts[leaves, part, np.asarray(shown)]
        told = tell_outcomes(counts.tolist(), rows.tolist(), min_cell, hidden=hidden.tolist())
        out = [
            None if one is None or two is None else one.plus(two)
            for one, two in zip(out, told, strict=True)
        ]
    return dict(zip(leaves.tolist(), out, strict=True))


def coarse_mean(mean: float, space: FeatureSpace | None, tree: Tree) -> float:
    """Round a mean of too few responses to a twentieth of the response range.

    Without a space, of the range of the tree's own predictions.
    """
    low, high = float(tree.value.min()), float(tree.value.max())
    if space is not None and space.response_range is not None:
        low, high = space.response_range
    step = (high - low) / 20
    if step > 0:
        mean = low + round((mean - low) / step) * step
    return float(f"{mean:.4g}")


def masking_note(min_cell: int) -> str:
    """Say why numbers are missing, and who may have them; empty where nothing is masked."""
    if min_cell <= 1:
        return ""
    return (
        f"Numbers about fewer than {min_cell} people, and others that would give them away, are "
        "rounded or not shown; --no-masking (in Python min_cell=1) shows them to those who may see."
    )
