"""Rows that are handed over together: a table, its outcomes, and what else belongs to each row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadytree.exceptions import InputError
from steadytree.tree.rows import CodedRows, row_hashes

# -- Rows and groups that are among the old rows as well as among the new ones --
# A score is honest for rows that nothing was trained on. Where the two tables overlap (a
# sliding window, the whole history passed as old rows, a patient with visits in both) the old
# rows would show the recipe what it is scored on, and the deployed tree has seen it already. On
# pure noise that alone gives an AUC of 0.6.

BoolArray = NDArray[np.bool_]

CHANCE_ERRORS = 3.0
CLEAR_SHARE = 0.05
FEWEST_SCORED = 20
FEWEST_PER_CLASS = 5


@dataclass(frozen=True, eq=False)
class Copies:
    """New rows that recur among the old rows, beyond what chance explains.

    Attributes
    ----------
    new : bool array
        Which new rows are also among the old rows.
    old : bool array
        Which old rows are their copies; a row that occurs twice in both has two.
    """

    new: BoolArray
    old: BoolArray


def find_copies(new: CodedRows, old: CodedRows) -> Copies | None:
    """Find the new rows that are also among the old ones: equal in all features and outcome.

    Where features take few values rows are equal by chance. How often that happens the old rows
    show among themselves: as many of them have a twin among the others as new rows would have
    by chance. Of the new rows that chance does not explain, a clear share must recur, the larger
    the more rows are equal by chance, and more than three standard errors; else None is returned.
    """
    in_new, in_old = row_hashes(new), row_hashes(old)
    recurs = np.isin(in_new, in_old)
    values, which, count = np.unique(in_old, return_inverse=True, return_counts=True)
    by_chance = float((count[which] > 1).mean())
    if not beyond_chance(float(recurs.mean()), len(new), by_chance):
        return None
    # As many copies of a row as there are new ones: the first of them.
    order = np.argsort(which, kind="stable")
    start = np.concatenate([[0], np.cumsum(count)[:-1]])
    nth = np.empty(len(old), dtype=np.int64)
    nth[order] = np.arange(len(old)) - start[which[order]]
    found, times = np.unique(in_new, return_counts=True)
    at = np.clip(np.searchsorted(found, values), 0, len(found) - 1)
    wanted = np.where(found[at] == values, times[at], 0)
    return Copies(recurs, nth < wanted[which])


def beyond_chance(share: float, n: int, by_chance: float) -> bool:
    """Whether a share of ``n`` new rows that recur is more than rows that are equal by chance."""
    expected = n * by_chance
    slack = CHANCE_ERRORS * np.sqrt(expected * (1 - by_chance) + 1)
    beyond = (share - by_chance) / max(1 - by_chance, 1e-12)
    return bool(share * n > expected + slack and beyond > CLEAR_SHARE + by_chance)


def scored_rows(seen: BoolArray, y: NDArray[np.int64], n_classes: int | None) -> BoolArray | None:
    """Choose the new rows to score on: those the deployed tree has not seen, if they are enough.

    None where they are not: then all rows are scored.
    """
    unseen = ~seen
    if unseen.sum() < FEWEST_SCORED:
        return None
    if n_classes is not None:
        there = np.bincount(y, minlength=n_classes) > 0
        if np.bincount(y[unseen], minlength=n_classes)[there].min() < FEWEST_PER_CLASS:
            return None
    return unseen


# -- Which rows the rules are searched on, where there are more than the search needs --
# A tree that people read has some twenty leaves: a hundred thousand rows say all there is to say
# about where its cuts should lie, and a million take ten times as long to say it. So beyond
# ``STRUCTURE_ROWS`` teacher and search are given a sample: drawn with the seed, each class in its
# share, and at least half of it new rows as far as there are any. What leaves predict, and the
# rows they count, come from all rows.

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


# -- Rows that are handed over together: a table, its outcomes, and what else belongs to each row --


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows for ``retrain(old=..., test=...)``; a plain ``(X, y)`` does where that is all.

    Attributes
    ----------
    X, y
        Predictors and outcomes. A table may stay on disk, as the new rows may; the other
        entries are then names of columns.
    sample_weight : array, optional
        Weights in training.
    groups : array, optional
        Groups of the rows: while a group's new rows are scored, its old rows are not trained on.

    Examples
    --------
    >>> import steadytree as st
    >>> st.Rows([[1.0], [2.0]], [0, 1], groups=["a", "b"]).y
    [0, 1]
    """

    X: Any
    y: Any
    sample_weight: Any = None
    groups: Any = None


def read_rows(given: Any, name: str) -> Rows | None:
    """Return rows as they were given, as :class:`Rows` or as a pair; None for none."""
    if given is None or isinstance(given, Rows):
        return given
    if isinstance(given, (tuple, list)) and len(given) == 2:
        return Rows(*given)
    raise InputError(
        f"expected {name}=(X, y) or {name}=Rows(X, y, ...), got {type(given).__name__}; "
        "pass the rows together with their outcomes"
    )


def name_of(part: str, which: str) -> str:
    """Return what a part of the "new" or the "old" rows is called in messages: "old X"."""
    return part if which == "new" else f"old {part}"
