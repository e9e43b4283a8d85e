"""Which rows grow the trees, which choose among them, and which are reported on.

``"paper"``: 67 % train; the other 33 % both choose the tree and are reported on (the paper,
Sections 1.4 and 3.1). ``"honest"``: the same 33 % are set aside untouched; a quarter of the 67 %
chooses, the rest trains. Either way the training rows are halved into X0 and X1 (Section 3.1).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reproduction.settings import PROTOCOLS
from steadytree.exceptions import InputError

__all__ = ["TEST_SHARE", "VALIDATION_SHARE", "Split", "folds", "make_split", "partition"]

Rows = NDArray[np.intp]

TEST_SHARE = 0.33
VALIDATION_SHARE = 0.25
FIRST_BATCH = 0.5


@dataclass(frozen=True)
class Split:
    """Row numbers of one split.

    Attributes
    ----------
    train : int array
        Rows that grow trees (X).
    first : int array
        The first batch, part of ``train`` (X0).
    choose : int array
        Rows on which a tree is chosen.
    report : int array
        Rows whose score is reported; the same as ``choose`` in the paper's protocol.
    """

    train: Rows
    first: Rows
    choose: Rows
    report: Rows


def partition(
    rows: Rows,
    y: NDArray[np.int64],
    groups: NDArray[np.int64] | None,
    share: float,
    rng: np.random.Generator,
) -> tuple[Rows, Rows]:
    """Divide rows at random into a share and the rest; both sorted.

    Without groups the outcome keeps its prevalence on both sides; with groups, each group stays
    on one side.
    """
    taken = np.zeros(len(rows), dtype=bool)
    if groups is None:
        for value in np.unique(y[rows]):
            member = np.flatnonzero(y[rows] == value)
            taken[rng.permutation(member)[: round(share * member.size)]] = True
    else:
        names, inside, sizes = np.unique(groups[rows], return_inverse=True, return_counts=True)
        order = rng.permutation(names.size)
        before = np.concatenate([[0], np.cumsum(sizes[order])[:-1]])
        chosen = np.zeros(names.size, dtype=bool)
        chosen[order[before < share * len(rows)]] = True
        taken = chosen[inside]
    return np.sort(rows[taken]), np.sort(rows[~taken])


def make_split(
    y: NDArray[np.int64],
    groups: NDArray[np.int64] | None,
    *,
    protocol: str,
    rng: np.random.Generator,
) -> Split:
    """Make one split; with the same generator state both protocols hold out the same rows."""
    if protocol not in PROTOCOLS:
        raise InputError(f"expected protocol to be one of {list(PROTOCOLS)}, got {protocol!r}")
    report, rest = partition(np.arange(len(y)), y, groups, TEST_SHARE, rng)
    if protocol == "paper":
        train, choose = rest, report
    else:
        choose, train = partition(rest, y, groups, VALIDATION_SHARE, rng)
    first, _ = partition(train, y, groups, FIRST_BATCH, rng)
    return Split(train=train, first=first, choose=choose, report=report)


def folds(
    rows: Rows,
    y: NDArray[np.int64],
    groups: NDArray[np.int64] | None,
    n_folds: int,
    rng: np.random.Generator,
) -> Iterator[tuple[Rows, Rows]]:
    """Yield (train, test) rows of a cross-validation, prevalence or groups kept as above."""
    fold = np.empty(len(rows), dtype=np.intp)
    if groups is None:
        start = 0
        for value in np.unique(y[rows]):
            member = rng.permutation(np.flatnonzero(y[rows] == value))
            # Each class goes on dealing where the last one stopped, so that sizes differ by one.
            fold[member] = (start + np.arange(member.size)) % n_folds
            start += member.size
    else:
        names, inside = np.unique(groups[rows], return_inverse=True)
        fold = (rng.permutation(names.size) % n_folds)[inside]
    for k in range(n_folds):
        yield rows[fold != k], rows[fold == k]
