"""One space for the deployed tree, the old rows and the new ones.

The deployed tree brings its space; the new rows may go beyond it. A new category and values
newly missing are added, and the user is told. Ranges stay: they are the yardstick of every
comparison with this tree, and rows that could widen them could make any change look small.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadytree.core.imputed import never_missing
from steadytree.core.joined_spaces import (
    joined_categories,
    response_range_of_rows,
    space_of_rows,
    space_of_rows_note,
)
from steadytree.core.quoting import quoted
from steadytree.core.space import FeatureSpace
from steadytree.core.tree import Tree
from steadytree.evaluation.changed_columns import OUTSIDE_SHARE
from steadytree.exceptions import InputError
from steadytree.readers import as_tree
from steadytree.retraining.coding import check_categories
from steadytree.retraining.orders import check_orders, check_place

__all__ = ["CodedInSpace", "code_in_space", "refuse_infinities", "with_outcome"]

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class CodedInSpace:
    """The space and the new rows in it; ``base`` is the space before anything was added.

    ``notes`` say where the new rows go beyond it, ``space_note`` where its ranges come from if
    none are stored.
    """

    space: FeatureSpace
    base: FeatureSpace
    coded: FloatArray
    notes: tuple[str, ...]
    needed: Collection[int] | None
    space_note: str = ""


def code_in_space(tree: Tree, space: FeatureSpace | None, X_new: Any, X_old: Any) -> CodedInSpace:
    """Fix the space, code the new rows in it, and note where they went beyond it."""
    if space is not None and not isinstance(space, FeatureSpace):
        raise InputError(
            f"expected space to be a FeatureSpace, got {type(space).__name__}; "
            "make one with FeatureSpace.from_data(X)"
        )
    base = space if space is not None else tree.space
    if base is not None and base.names is None and tree.feature_names is not None:
        base = base.replace(names=tree.feature_names)
    if base is not None and base.one_hot and tree.space is None:
        tree = as_tree(tree, space=base)
    names = tree.feature_names if base is None else base.names
    categories = tree.categories if base is None else base.categories
    needed = _needed(tree, names)
    seen = FeatureSpace.of_known_features(X_new, names, categories, needed=needed)
    seen = never_missing(seen, tree)
    if base is None:
        # The tree has no ranges: take them from the rows it was trained on, or else from these.
        old = X_old is not None
        base = space_of_rows(tree, X_old if old else X_new, needed=needed, joined=old)
        check_orders(base, X_new, "X")
        every = _with_categories(base, seen)
        every = every.replace(can_be_missing=base.can_be_missing | seen.can_be_missing)
        coded = refuse_infinities(every.encode(X_new, needed), every, "X")
        for j, cats in enumerate(base.categories):
            if cats is not None and every.categories[j] != cats:
                _check_categories(base, seen, j, every.categories[j] or (), coded[:, j])
        note = space_of_rows_note("deployed", "old rows" if old else "new rows")
        return CodedInSpace(every, base, coded, (), needed, space_note=note)
    base = never_missing(base, tree)
    for table, name in ((X_new, "X"), (X_old, "old X")):
        check_orders(base, table, name)
    # Fresh categories first: with them the table is coded once and for all.
    wider = _with_categories(base, seen)
    coded = refuse_infinities(wider.encode(X_new, needed), wider, "X")
    fixed, notes = _extended(base, wider, seen, coded)
    return CodedInSpace(fixed, base, coded, notes, needed)


def _needed(tree: Tree, names: tuple[str, ...] | None) -> Collection[int] | None:
    """Positions in ``names`` of the features that the tree uses; None: all are needed."""
    if names is None or tree.feature_names is None:
        return None
    used = {tree.feature_names[j] for j in tree.used_features}
    return frozenset(j for j, name in enumerate(names) if name in used)


def _with_categories(space: FeatureSpace, seen: FeatureSpace) -> FeatureSpace:
    """Return the space with its own categories and those that were met as well."""
    categories = tuple(
        None if mine is None else joined_categories(mine, also or (), ordered=bool(in_order))
        for mine, also, in_order in zip(
            space.categories, seen.categories, space.ordered & seen.ordered, strict=True
        )
    )
    return space if categories == space.categories else space.replace(categories=categories)


def _check_categories(
    base: FeatureSpace, seen: FeatureSpace, j: int, now: Sequence[Any], codes: FloatArray
) -> str | None:
    """Return a note on new categories of a feature, or refuse them."""
    name, known = base.feature_labels[j], base.categories[j] or ()
    note = check_categories(name, known, now, codes)
    if base.ordered[j]:
        check_place(name, known, seen.categories[j] or (), ordered=bool(seen.ordered[j]))
    return note


def _extended(
    base: FeatureSpace, wider: FeatureSpace, seen: FeatureSpace, coded: FloatArray
) -> tuple[FeatureSpace, tuple[str, ...]]:
    """Let be missing what is; say what was added, and where many values lie out of range."""
    notes: list[str] = []
    missing = base.can_be_missing.copy()
    for j, name in enumerate(base.feature_labels):
        known, now = base.categories[j], wider.categories[j]
        if known is not None and now is not None:
            note = _check_categories(base, seen, j, now, coded[:, j])
            if note is not None:
                notes.append(note)
        else:
            values = coded[:, j]
            with np.errstate(invalid="ignore"):
                outside = (values < base.lower[j]) | (values > base.upper[j])
            if outside.mean() > OUTSIDE_SHARE:
                notes.append(f"{outside.mean():.0%} of {name!r} out of range")
        if seen.can_be_missing[j] and not missing[j]:
            missing[j] = True
            notes.append(f"missing values in {name!r}")
    if np.array_equal(missing, base.can_be_missing):
        return wider, tuple(notes)
    return wider.replace(can_be_missing=missing), tuple(notes)


def with_outcome(
    space: FeatureSpace, tree: Tree, y_new: NDArray[Any], y_old: NDArray[Any] | None
) -> FeatureSpace:
    """Return the space with the deployed tree's classes, or a range of responses."""
    if tree.classes is not None:
        return space.replace(classes=tree.classes, response_range=None)
    if space.response_range is not None:
        return space
    response = response_range_of_rows(tree, y_new if y_old is None else y_old)
    return space.replace(response_range=response, classes=None)


def refuse_infinities(coded: FloatArray, space: FeatureSpace, name: str) -> FloatArray:
    """Return coded rows as they are if all their numbers are finite or missing."""
    if np.isinf(coded).any():
        culprits = [space.feature_labels[j] for j in np.flatnonzero(np.isinf(coded).any(axis=0))]
        raise InputError(
            f"expected finite numbers in {name}, got an infinity in {quoted(culprits)}; "
            "replace infinities with a number or with missing"
        )
    return coded
