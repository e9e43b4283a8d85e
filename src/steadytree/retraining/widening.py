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

from steadytree._text import quoted, some_of
from steadytree.evaluation.plan_check import FAR_OUTSIDE, UNKNOWN_SHARE
from steadytree.exceptions import InputError
from steadytree.plugins import as_tree
from steadytree.tree.alignment import (
    joined_categories,
    joined_order,
    response_range_of_rows,
    space_of_rows,
    space_of_rows_note,
)
from steadytree.tree.columns import NO_VALUE
from steadytree.tree.recoded import never_missing
from steadytree.tree.space import FeatureSpace
from steadytree.tree.tree import Tree

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class CodedInSpace:
    """The space and the rows in it; ``base`` is the space before anything was added.

    ``notes`` say where the new rows go beyond it, ``space_note`` where its ranges come from if
    none are stored.
    """

    space: FeatureSpace
    base: FeatureSpace
    new: FloatArray
    old: FloatArray | None
    notes: tuple[str, ...]
    space_note: str = ""


def code_in_space(tree: Tree, space: FeatureSpace | None, X_new: Any, X_old: Any) -> CodedInSpace:
    """Fix the space, code the rows in it, and note where the new ones went beyond it."""
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
    space_note = ""
    if base is None:
        # The tree has no ranges: take them from the rows it was trained on, or else from these.
        old = X_old is not None
        base = space_of_rows(tree, X_old if old else X_new, needed=needed, joined=old)
        space_note = space_of_rows_note("deployed", "old rows" if old else "new rows")
    else:
        base = never_missing(base, tree)
    # Fresh categories first: with them each table is coded once and for all.
    wider = _with_categories(base, seen)
    new = _finite(wider.encode(X_new, needed), wider, "X")
    fixed, notes = _extended(base, wider, seen, new)
    before = None if X_old is None else _finite(fixed.encode(X_old, needed), fixed, "old X")
    return CodedInSpace(fixed, base, new, before, () if space_note else notes, space_note)


def _needed(tree: Tree, names: tuple[str, ...] | None) -> Collection[int] | None:
    """Positions in ``names`` of the features that the tree uses; None: all are needed."""
    if names is None or tree.feature_names is None:
        return None
    used = {tree.feature_names[j] for j in tree.used_features}
    return frozenset(j for j, name in enumerate(names) if name in used)


def _with_categories(space: FeatureSpace, seen: FeatureSpace) -> FeatureSpace:
    """Return the space with its own categories and those that came as well."""
    categories = tuple(
        None if mine is None else joined_categories(mine, also or (), ordered=bool(in_order))
        for mine, also, in_order in zip(
            space.categories, seen.categories, space.ordered & seen.ordered, strict=True
        )
    )
    return space if categories == space.categories else space.replace(categories=categories)


def _extended(
    base: FeatureSpace, wider: FeatureSpace, seen: FeatureSpace, coded: FloatArray
) -> tuple[FeatureSpace, tuple[str, ...]]:
    """Let be missing what is; say what was added, and where many values lie out of range."""
    notes: list[str] = []
    missing = base.can_be_missing.copy()
    for j, name in enumerate(base.feature_labels):
        known, now, values = base.categories[j], wider.categories[j], coded[:, j]
        if known is not None and now is not None:
            fresh = _new_categories(name, known, now, values)
            if base.ordered[j]:
                _check_order(name, known, seen.categories[j] or (), ordered=bool(seen.ordered[j]))
            if fresh:
                notes.append(f"new categories of {name!r}: {some_of(fresh)}")
        else:
            with np.errstate(invalid="ignore"):
                outside = (values < base.lower[j]) | (values > base.upper[j])
            if outside.mean() > FAR_OUTSIDE:
                notes.append(f"{outside.mean():.0%} of {name!r} out of range")
        if seen.can_be_missing[j] and not missing[j]:
            missing[j] = True
            notes.append(f"missing values in {name!r}")
    if not np.array_equal(missing, base.can_be_missing):
        wider = wider.replace(can_be_missing=missing)
    return wider, tuple(notes)


def _new_categories(
    name: str, known: Sequence[Any], now: Sequence[Any], codes: FloatArray
) -> list[Any]:
    """Return the categories that are new; refuse a column of which most values are unknown.

    0 and 1 where the deployed tree knows "no" and "yes": coded as they come, such values are new
    categories, and the search would write rules about them. ``now`` holds the known categories
    and the new ones, ``codes`` the positions in it.
    """
    listed = set(known)
    at = [code for code, category in enumerate(now) if category not in listed]
    fresh = [now[code] for code in at]
    unknown = float(np.isin(codes[~np.isnan(codes)], at).mean()) if at else 0.0
    if unknown > UNKNOWN_SHARE:
        raise InputError(
            f"expected the deployed tree's categories of {name!r} ({some_of(known)}), got "
            f"{some_of(fresh)} in {unknown:.0%} of the new rows; if these are other names for the "
            f"same, map them first: X[{name!r}].map({{...: ...}}); if they are new categories, "
            "pass space=FeatureSpace.from_data(...) made from old and new rows"
        )
    return fresh


def _check_order(name: str, known: Sequence[Any], now: Sequence[Any], *, ordered: bool) -> None:
    """Refuse another order than the known one, and categories without a place in it.

    Rules divide ordered categories along their order. Which of two orders is right only the user
    knows; rows that declare none follow the known one.
    """
    came = [category for category in now if category != NO_VALUE]
    fresh = [category for category in came if category not in known]
    if (joined_order(known, came) is None) if ordered else fresh:
        order = " < ".join(map(str, known))
        raise InputError(
            f"expected categories in the known order {order} of {name!r}, each in its place, got "
            f"{some_of(came if ordered else fresh)}; declare the whole order: "
            f"X[{name!r}].cat.set_categories([...], ordered=True), or make values missing"
        )


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


def _finite(coded: FloatArray, space: FeatureSpace, name: str) -> FloatArray:
    """Return coded rows as they are if all their numbers are finite or missing."""
    if np.isinf(coded).any():
        culprits = [space.feature_labels[j] for j in np.flatnonzero(np.isinf(coded).any(axis=0))]
        raise InputError(
            f"expected finite numbers in {name}, got an infinity in {quoted(culprits)}; "
            "replace infinities with a number or with missing"
        )
    return coded
