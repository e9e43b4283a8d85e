"""One space for the deployed tree, the old rows and the new ones.

The deployed tree brings its space; the new rows may go beyond it. A new category and values
newly missing are added, and the user is told. Ranges stay: they are the yardstick of every
comparison with this tree, and rows that could widen them could make any change look small.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadytree._text import plain_spelling, quoted
from steadytree.evaluation.plan_check import OUTSIDE_SHARE, UNKNOWN_SHARE
from steadytree.exceptions import InputError
from steadytree.plugins import as_tree
from steadytree.tree.alignment import (
    joined_categories,
    joined_order,
    response_range_of_rows,
    space_of_rows,
    space_of_rows_note,
)
from steadytree.tree.columns import NO_VALUE, column_names, declared_categories
from steadytree.tree.recoded import never_missing
from steadytree.tree.space import FeatureSpace
from steadytree.tree.tree import Tree

FloatArray = NDArray[np.float64]

# The deployed tree's order of categories holds, and one against it is refused.
# Rules divide ordered categories along their order, so that a batch whose column declares
# another order would have its rules written along the wrong one. Which of the two is right
# only the user knows (an order made by ``as_ordered()`` is the alphabet's). Rows without a
# declared order, read from a file, follow the deployed one.


def check_orders(space: FeatureSpace, X: Any, table: str) -> None:
    """Refuse a table that declares another order than the space has."""
    for j, order in _declared(space, X):
        name, known = space.feature_labels[j], space.categories[j] or ()
        shared = set(known) & set(order)
        contradicts = [c for c in known if c in shared] != [c for c in order if c in shared]
        if space.ordered[j] and contradicts:
            raise InputError(
                f"expected the known order {_words(known)} of {name!r}, got "
                f"{_words(order)} in {table}; put the categories in one order first: "
                f"{_fix(name, known)}"
            )


def check_place(name: str, known: Sequence[Any], now: Sequence[Any], *, ordered: bool) -> None:
    """Refuse categories of which nobody says where in an order they are."""
    listed = {*known, NO_VALUE}
    fresh = [c for c in now if c not in listed]
    if fresh and (not ordered or joined_order(known, now) is None):
        raise InputError(
            f"expected the place of every category in the order {_words(known)} of {name!r}, got "
            f"{', '.join(map(repr, fresh[:5]))} besides; declare the whole order, each in its "
            f"place: {_fix(name, [*known, *fresh])}, or make them missing"
        )


def unused_orders(space: FeatureSpace, X: Any) -> list[str]:
    """Name the columns that declare an order where the space has none."""
    return [
        f"the order {_words(order)} of {space.feature_labels[j]!r} is not used, as the deployed "
        "tree knows none; to let new rules follow it, pass space=FeatureSpace.from_data(X)"
        for j, order in _declared(space, X)
        if len(space.categories[j] or ()) > 2 and not space.ordered[j]
    ]


def _declared(space: FeatureSpace, X: Any) -> Iterator[tuple[int, tuple[Any, ...]]]:
    """Position and declared order of the categorical features whose columns declare one."""
    have = column_names(X)
    if have is None:
        return
    for j, name in enumerate(space.feature_labels):
        if space.categories[j] is not None and name in have:
            listed, ordered = declared_categories(X, name)
            if ordered and listed is not None:
                yield j, listed


def _words(categories: Sequence[Any]) -> str:
    shown = [str(c) for c in categories]
    if len(shown) > 6:
        shown = [*shown[:3], "...", *shown[-2:]]
    return " < ".join(shown)


def _fix(name: str, order: Sequence[Any]) -> str:
    return f"X[{name!r}].cat.set_categories({list(order)!r}, ordered=True)"


# Categories that are called otherwise than before are noticed, rather than learnt from.
# 0 and 1 where the deployed tree knows "no" and "yes", "Yes" for "yes": coded as they come, such
# values are new categories, and the search would write rules about them. So they are said plainly
# before anything is trained.


def check_categories(
    name: str, known: Sequence[Any], now: Sequence[Any], codes: FloatArray
) -> str | None:
    """Say which categories are new; refuse a column of which most values are unknown.

    ``now`` holds the known categories and the new ones, ``codes`` the positions in it.
    Returns a note, or None where nothing is new.
    """
    listed = set(known)
    at = [code for code, category in enumerate(now) if category not in listed]
    fresh = [now[code] for code in at]
    if not fresh:
        return None
    spelling = {_plainly(c): c for c in known}
    other = {c: spelling[_plainly(c)] for c in fresh if _plainly(c) in spelling}
    present = ~np.isnan(codes)
    unknown = float(np.isin(codes[present], at).mean())
    if unknown > UNKNOWN_SHARE:
        fix = f"X[{name!r}].replace({other!r})" if other else f"X[{name!r}].map({{...: ...}})"
        raise InputError(
            f"expected the deployed tree's categories of {name!r} ({_some(known)}), got "
            f"{_some(fresh)} in {unknown:.0%} of the new rows; if these are other names for the "
            f"same, map them first: {fix}; if they are new categories, pass "
            "space=FeatureSpace.from_data(...) made from old and new rows"
        )
    if other:
        pairs = ", ".join(f"{new!r} beside {old!r}" for new, old in list(other.items())[:5])
        return f"new categories of {name!r} that may be other spellings: {pairs}"
    return f"new categories of {name!r}: {_some(fresh)}"


def _plainly(category: Any) -> str:
    """Write a category so that spellings of the same are equal: case, blanks, 1 and 1.0."""
    text = plain_spelling(category)
    try:
        return f"{float(text):g}"
    except ValueError:
        return text


def _some(categories: Sequence[Any]) -> str:
    shown = ", ".join(repr(c) for c in categories[:5])
    return shown + (", ..." if len(categories) > 5 else "")


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
    space_note = ""
    if base is None:
        # The tree has no ranges: take them from the rows it was trained on, or else from these.
        old = X_old is not None
        base = space_of_rows(tree, X_old if old else X_new, needed=needed, joined=old)
        space_note = space_of_rows_note("deployed", "old rows" if old else "new rows")
    else:
        base = never_missing(base, tree)
    for table, name in ((X_new, "X"), (X_old, "old X")):
        check_orders(base, table, name)
    # Fresh categories first: with them the table is coded once and for all.
    wider = _with_categories(base, seen)
    coded = refuse_infinities(wider.encode(X_new, needed), wider, "X")
    fixed, notes = _extended(base, wider, seen, coded)
    return CodedInSpace(fixed, base, coded, () if space_note else notes, needed, space_note)


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


def _extended(
    base: FeatureSpace, wider: FeatureSpace, seen: FeatureSpace, coded: FloatArray
) -> tuple[FeatureSpace, tuple[str, ...]]:
    """Let be missing what is; say what was added, and where many values lie out of range."""
    notes: list[str] = []
    missing = base.can_be_missing.copy()
    for j, name in enumerate(base.feature_labels):
        known, now = base.categories[j], wider.categories[j]
        if known is not None and now is not None:
            note = check_categories(name, known, now, coded[:, j])
            if base.ordered[j]:
                check_place(name, known, seen.categories[j] or (), ordered=bool(seen.ordered[j]))
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
    if not np.array_equal(missing, base.can_be_missing):
        wider = wider.replace(can_be_missing=missing)
    return wider, tuple(notes)


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
