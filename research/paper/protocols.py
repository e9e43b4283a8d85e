"""Which rows grow the trees, which choose among them, and which are reported on.

``"paper"``: 67 % train; the other 33 % both choose the tree and are reported on (the paper,
Sections 1.4 and 3.1). Rows are drawn without regard to the outcome, and every tree is fitted by
itself with a random seed of its own: nothing in the paper says otherwise.
``"honest"``: 33 % are set aside untouched; a quarter of the 67 % chooses, the rest trains. Every
part keeps the prevalence, and depths are cuts of one tree (both steady the results). Either way
the training rows are halved into X0 and X1 (Section 3.1).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from research.paper.settings import PROTOCOLS
from steadytree.exceptions import InputError

__all__ = [
    "TEST_SHARE",
    "VALIDATION_SHARE",
    "Split",
    "folds",
    "grows_nested",
    "make_split",
    "partition",
]

Rows = NDArray[np.intp]

TEST_SHARE = 0.33
VALIDATION_SHARE = 0.25
FIRST_BATCH = 0.5
_REDRAWS = 100  # of a split that leaves one side without an outcome


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
    *,
    stratify: bool = True,
) -> tuple[Rows, Rows]:
    """Divide rows at random into a share and the rest; both sorted.

    With groups, each group stays on one side. Without, the outcome keeps its prevalence on both
    sides, or with ``stratify=False`` only its presence.
    """
    taken = np.zeros(len(rows), dtype=bool)
    if groups is None and not stratify:
        for _ in range(_REDRAWS):
            taken[:] = False
            taken[rng.permutation(len(rows))[: round(share * len(rows))]] = True
            if all(np.unique(y[side]).size > 1 for side in (rows[taken], rows[~taken])):
                break
    elif groups is None:
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
    """Make one split under a protocol."""
    if protocol not in PROTOCOLS:
        raise InputError(f"expected protocol to be one of {list(PROTOCOLS)}, got {protocol!r}")
    stratify = protocol != "paper"
    report, rest = partition(np.arange(len(y)), y, groups, TEST_SHARE, rng, stratify=stratify)
    if protocol == "paper":
        train, choose = rest, report
    else:
        choose, train = partition(rest, y, groups, VALIDATION_SHARE, rng)
    first, _ = partition(train, y, groups, FIRST_BATCH, rng, stratify=stratify)
    return Split(train=train, first=first, choose=choose, report=report)


def grows_nested(protocol: str) -> bool:
    """Whether the depths of a collection are cuts of one tree, or fits of their own."""
    return protocol != "paper"


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
