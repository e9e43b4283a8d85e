"""Which rows the rules are searched on, where there are more than the search needs.

A tree that people read has some twenty leaves: a hundred thousand rows say all there is to say
about where its cuts should lie, and a million take ten times as long to say it. So beyond
``STRUCTURE_ROWS`` teacher and search are given a sample: drawn with the seed, each class in its
share, and at least half of it new rows as far as there are any. What leaves predict, and the
rows they count, come from all rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadytree.core.rows import CodedRows

__all__ = ["STRUCTURE_ROWS", "draw_ordinals", "draw_rows", "share_sample", "with_rate"]

STRUCTURE_ROWS = 100_000
"""Most real rows, old and new together, that rules are searched on."""


def share_sample(n_old: int, n_new: int, most: int) -> tuple[int, int]:
    """Rows to draw of the old and of the new ones: by their share, at least half of them new."""
    if n_old + n_new <= most:
        return n_old, n_new
    new = min(n_new, max(round(most * n_new / (n_old + n_new)), most // 2))
    return min(n_old, most - new), new


def draw_rows(y: NDArray[Any], wanted: int, *, classifier: bool, seed: int) -> NDArray[np.intp]:
    """Draw rows without replacement, in their order; each class in its share, at least once."""
    if wanted >= len(y):
        return np.arange(len(y))
    strata = [np.flatnonzero(y == k) for k in np.unique(y)] if classifier else [np.arange(len(y))]
    drawn = draw_ordinals([len(rows) for rows in strata], wanted, seed)
    return np.sort(np.concatenate([rows[at] for rows, at in zip(strata, drawn, strict=True)]))


def draw_ordinals(counts: Sequence[int], wanted: int, seed: int) -> list[NDArray[np.int64]]:
    """Draw from classes of which only the numbers of rows are known: which rows of each.

    The first row of a class is 0; each class that has rows is drawn at least once.
    """
    rng, total = np.random.default_rng(seed), sum(counts)
    return [
        np.sort(rng.choice(n, min(n, max(1, round(wanted * n / total))), replace=False))
        for n in counts
    ]


def with_rate(rows: CodedRows, times: float) -> CodedRows:
    """Let each row of a sample stand for ``times`` rows; a rounding of 1 is 1."""
    return rows if abs(times - 1) < 0.01 else replace(rows, weight=rows.weights * times)
