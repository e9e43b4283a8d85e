"""Divide the rows: holdout, first batch, folds; every part keeps every class it can."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadytree.core.rows import CodedRows
from steadytree.evaluation.folds import assign_folds
from steadytree.evaluation.holdout import Holdout
from steadytree.exceptions import InputError, SteadyTreeWarning
from steadytree.growing.fitting import TrainingData

__all__ = ["Division", "check_batches", "check_first_batch", "check_share", "divide"]

Rows = NDArray[np.int64]

FOLDS = 5  # of the holdout, for the honest estimate


@dataclass(frozen=True, eq=False)
class Division:
    """How the rows were divided."""

    first: Rows  # X0
    training: Rows  # X, which holds X0
    held: Rows  # set apart for the holdout
    holdout: Holdout
    """What candidates are scored on: the rows set apart, the user's own, or, out of bag, all."""
    out_of_bag: bool

    def scored_rows(self, in_bag: NDArray[np.bool_]) -> list[Rows]:
        """Rows of the holdout that the trees of each bootstrap are scored on."""
        if self.out_of_bag:
            return [self.training[~bag[self.training]] for bag in in_bag]
        return [np.arange(len(self.holdout.rows))] * len(in_bag)


def divide(
    data: TrainingData,
    *,
    first_batch: float | NDArray[np.bool_],
    holdout: float | str | CodedRows,
    rng: np.random.Generator,
) -> Division:
    """Set the holdout apart, then the first batch (X0 of the paper) from the rest (X).

    Either is a share or the user's own: a mask, and rows coded in the same space. A holdout
    may also be "oob".
    """
    y, classes = data.rows.y, data.classes
    every = np.arange(len(y))
    strata = None if classes is None else y
    if not isinstance(first_batch, float):
        check_batches(np.flatnonzero(first_batch), every)
        # A holdout of the same mix of early and late rows.
        strata = first_batch.astype(np.int64) + (0 if strata is None else 2 * strata)
    held, training = every[:0], every
    scored = holdout if isinstance(holdout, CodedRows) else data.rows
    if isinstance(holdout, float):
        held, training = split_share(every, strata, holdout, rng)
        scored = scored.take(held)
    if classes is not None:
        own = isinstance(holdout, CodedRows)
        check_holdout_classes(scored.y, classes, y_all=None if own else y)
    folds = assign_folds(scored.y, classifier=classes is not None, most=FOLDS, rng=rng)
    if isinstance(first_batch, float):
        strata = None if classes is None else y[training]
        first, _ = split_share(training, strata, first_batch, rng)
    else:
        first = training[first_batch[training]]
    check_batches(first, training)
    measured = Holdout(scored.with_weight(scored.weight), classes, folds)
    return Division(first, training, held, measured, isinstance(holdout, str))


def check_share(share: Any, name: str, *, other: str = "") -> None:
    """Refuse what is not a share strictly between 0 and 1."""
    if isinstance(share, bool) or not isinstance(share, Real) or not 0 < float(share) < 1:
        raise InputError(f"expected {name} to be a share between 0 and 1{other}, got {share!r}")


def split_share(
    rows: Rows, strata: NDArray[Any] | None, share: float, rng: np.random.Generator
) -> tuple[Rows, Rows]:
    """Draw a random share of the rows, stratified; returns the rows drawn and the rest.

    A stratum of two rows or more has at least one on either side; a single row stays in
    the rest.
    """
    groups = np.zeros(rows.size, dtype=np.int64) if strata is None else strata
    _, group = np.unique(groups, return_inverse=True)
    size = np.bincount(group)
    exact = share * size
    take = np.floor(exact).astype(np.int64)
    # Largest remainders first, so that the total is the share of all rows.
    short = round(share * rows.size) - int(take.sum())
    order = np.lexsort((rng.random(size.size), -(exact - take)))
    take[order[: max(short, 0)]] += 1
    take = np.where(size >= 2, np.clip(take, 1, np.maximum(size - 1, 1)), 0)
    drawn = np.zeros(rows.size, dtype=bool)
    for g, count in enumerate(take):
        members = np.flatnonzero(group == g)
        drawn[rng.permutation(members)[:count]] = True
    return rows[drawn], rows[~drawn]


def check_first_batch(first_batch: Any, n_rows: int) -> NDArray[np.bool_]:
    """Return the user's own first batch (a mask or row positions) as a mask."""
    given = np.asarray(first_batch)
    if given.ndim != 1:
        raise InputError(
            f"expected first_batch in fit to be a mask or row positions, got shape {given.shape}; "
            "a share is a parameter of the estimator"
        )
    if given.dtype == bool:
        if given.size != n_rows:
            raise InputError(f"expected a first_batch mask of {n_rows} rows, got {given.size}")
        return given
    if given.size and given.dtype.kind not in "iu":
        raise InputError(
            "expected first_batch in fit to be a mask or row positions, "
            f"got values of type {given.dtype}"
        )
    if given.size and not (given.min() >= 0 and given.max() < n_rows):
        raise InputError(
            f"expected first_batch row positions in [0, {n_rows}), "
            f"got {given.min()} to {given.max()}"
        )
    mask = np.zeros(n_rows, dtype=bool)
    mask[given.astype(np.int64)] = True
    return mask


def check_batches(first: Rows, training: Rows) -> None:
    """Refuse a first batch that is empty or leaves nothing to arrive later."""
    if first.size == 0:
        raise InputError(
            f"expected the first batch to hold some of the {training.size} training rows, got none "
            "(is it an empty mask, or a date before all rows?)"
        )
    if first.size == training.size:
        raise InputError(
            f"expected the first batch to leave some of the {training.size} training rows for "
            "later, got all of them: without new rows there is no change to be stable against"
        )


def check_holdout_classes(
    y: NDArray[Any], classes: NDArray[Any], *, y_all: NDArray[Any] | None = None
) -> None:
    """Refuse a holdout without a class; a class with a single row is only warned about.

    ``y_all`` are the classes of all rows, where the holdout was drawn from them.
    """
    there = np.bincount(y, minlength=len(classes)) > 0
    absent = classes[~there].tolist()
    if not absent:
        return
    single = y_all is not None and (np.bincount(y_all)[~there] == 1).all()
    if single and there.sum() >= 2:
        warnings.warn(
            f"expected every class in the holdout, got a single row of {absent}: it is kept for "
            "training, and the score speaks of the other classes",
            SteadyTreeWarning,
            stacklevel=4,
        )
        return
    raise InputError(
        f"expected every class in the holdout, got no row of {absent}; "
        'use a larger holdout, holdout="oob", or other X_val and y_val'
    )
