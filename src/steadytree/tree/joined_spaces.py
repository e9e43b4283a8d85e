"""One space for two trees: the deployed one's, with what the other needs besides.

A retrained tree may know a category, or use a column, that the deployed tree's space does not
have, and has to be measured against it all the same. The deployed tree's ranges stay the
yardstick. What it lacks comes from rows, of which no single one may decide how far a feature
ranges; only where there are none from the other tree's own space, and then that is said: a tree
that brings its own yardstick can make any change look small.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadytree.tree.columns import NO_VALUE, central_range, column_names
from steadytree.tree.recoded import never_missing
from steadytree.tree.space import FeatureSpace
from steadytree.tree.tree import Tree

TAILS = 0.005
"""Share of the rows beyond either end of a range that is taken from rows."""


@dataclass(frozen=True)
class JoinedSpace:
    """A space, and the features whose extent in it nobody but the new tree states."""

    space: FeatureSpace
    own_word: tuple[str, ...] = ()


def space_of_rows(
    tree: Tree, X: Any, *, needed: Collection[int] | None = None, joined: bool = True
) -> FeatureSpace:
    """Return the space of a tree that stores none: what rows show, out to its thresholds.

    Of each column the middle 99 %, so that one value of 999 does not make every other move
    look small; and one row without a value does not make the column one that can be missing.

    Parameters
    ----------
    tree : Tree
    X : array or frame
    needed : collection of int, optional
        Features whose columns must be there; by default all.
    joined : bool, default True
        Whether categories that only the rows have come after those of the tree.
    """
    seen = FeatureSpace.of_known_features(
        X, tree.feature_names, tree.categories, needed=needed, tails=TAILS
    )
    seen = never_missing(_with_categories_of(tree, seen, joined), tree)
    lower, upper = seen.lower.copy(), seen.upper.copy()
    for node in np.flatnonzero(np.isfinite(tree.threshold)).tolist():
        j, t = int(tree.feature[node]), float(tree.threshold[node])
        lower[j], upper[j] = min(lower[j], t), max(upper[j], t)
    return seen.replace(lower=lower, upper=upper)


def space_of_rows_note(owner: str, rows: str) -> str:
    """Say what distances are measured over where a tree stores no space."""
    return (
        f"No ranges are stored with the {owner} tree: distances are over those of the {rows}, "
        f"from the {100 * TAILS:g} to the {100 - 100 * TAILS:g} % point of each column."
    )


def response_range_of_rows(tree: Tree, y: NDArray[Any]) -> tuple[float, float]:
    """Return the range of responses of a tree that stores none, out to what it predicts."""
    low, high = central_range(np.asarray(y, dtype=np.float64), TAILS)
    values = tree.value[:, 0]
    return min(low, float(values.min())), max(high, float(values.max()))


def _with_categories_of(tree: Tree, seen: FeatureSpace, joined: bool) -> FeatureSpace:
    """Return the space of some rows with the categories of a tree that has no space.

    An order that the rows declare holds if it has every category of the tree. Otherwise
    categories that were met as well come after the tree's, if they are to be ``joined``.
    """
    categories: list[tuple[Any, ...] | None] = []
    ordered = seen.ordered.copy()
    for j, (mine, met) in enumerate(zip(tree.categories, seen.categories, strict=True)):
        ordered[j] &= set(mine or ()) <= set(met or ())
        if mine is None or ordered[j]:
            categories.append(met)
        else:
            categories.append(joined_categories(mine, (met or ()) if joined else (), ordered=False))
    return seen.replace(categories=tuple(categories), ordered=ordered)


def joined_space(space: FeatureSpace, tree: Tree, X: Any = None) -> JoinedSpace:
    """Return a space with the categories and columns besides that a tree needs.

    Parameters
    ----------
    space : FeatureSpace
        Its ranges, categories and columns stay, in their order.
    tree : Tree
        The tree to be written in it.
    X : array or frame, optional
        Rows, from which the range of a further column is taken.
    """
    if space.one_hot or space.names is None or tree.feature_names is None:
        return JoinedSpace(space)  # matched by position, or column by column
    at = {name: j for j, name in enumerate(tree.feature_names)}
    used = {tree.feature_names[j] for j in tree.used_features}
    own: list[str] = []
    categories = list(space.categories)
    for k, name in enumerate(space.names):
        known, met = space.categories[k], tree.categories[at[name]] if name in at else None
        if known is None or met is None:
            continue
        in_order = bool(space.ordered[k]) and _ordered(tree, name)
        joined = joined_categories(known, met, ordered=in_order)
        categories[k] = joined
        if name in used and len(joined) > 2 * len(known):
            own.append(name)
    if tuple(categories) != space.categories:
        space = space.replace(categories=tuple(categories))
    there = set(space.names or ())
    names = tuple(name for name in tree.feature_names if name not in there)
    if not names:
        return JoinedSpace(space, tuple(own))
    needed = [name for name in names if name in used]
    kinds = tuple(tree.categories[at[name]] for name in names)
    have = set(() if X is None else column_names(X) or ())
    if have and set(needed) <= have:
        places = [names.index(name) for name in needed]
        added = FeatureSpace.of_known_features(X, names, kinds, needed=places, tails=TAILS)
        added = added.replace(
            categories=tuple(
                None if kind is None else joined_categories(kind, met or (), ordered=False)
                for kind, met in zip(kinds, added.categories, strict=True)
            )
        )
    elif tree.space is not None and set(names) <= set(tree.space.names or ()):
        own += needed
        added = _part(tree.space, names)
    else:
        return JoinedSpace(space, tuple(own))
    return JoinedSpace(_side_by_side(space, added), tuple(own))


def _ordered(tree: Tree, name: str) -> bool:
    if tree.space is None:
        return False
    names = tree.space.names or ()
    return name in names and bool(tree.space.ordered[names.index(name)])


def _part(space: FeatureSpace, names: Sequence[str]) -> FeatureSpace:
    """Return some of the features of a space."""
    at = [(space.names or ()).index(name) for name in names]
    return FeatureSpace(
        lower=space.lower[at],
        upper=space.upper[at],
        categories=tuple(space.categories[j] for j in at),
        can_be_missing=space.can_be_missing[at],
        ordered=space.ordered[at],
        names=tuple(names),
    )


def _side_by_side(space: FeatureSpace, added: FeatureSpace) -> FeatureSpace:
    """Return a space with further features after its own."""
    return space.replace(
        lower=np.concatenate([space.lower, added.lower]),
        upper=np.concatenate([space.upper, added.upper]),
        categories=(*space.categories, *added.categories),
        can_be_missing=np.concatenate([space.can_be_missing, added.can_be_missing]),
        ordered=np.concatenate([space.ordered, added.ordered]),
        names=(*(space.names or ()), *(added.names or ())),
        knots=(*space.knots, *(None,) * added.n_features) if space.knots else (),
    )


def joined_order(one: Sequence[Any], other: Sequence[Any]) -> tuple[Any, ...] | None:
    """One order that agrees with two; None where they contradict or leave a place open."""
    both = set(one) & set(other)
    shared = [c for c in one if c in both]
    if shared != [c for c in other if c in both]:
        return None
    out: list[Any] = []
    for mine, theirs, end in zip_longest(_gaps(one, shared), _gaps(other, shared), shared):
        if mine and theirs:
            return None
        out += [*mine, *theirs, *([] if end is None else [end])]
    return tuple(out)


def _gaps(order: Sequence[Any], shared: Sequence[Any]) -> Iterator[list[Any]]:
    """Categories before each of the shared ones, and after the last."""
    marks = set(shared)
    gap: list[Any] = []
    for category in order:
        if category in marks:
            yield gap
            gap = []
        else:
            gap.append(category)
    yield gap


def joined_categories(
    known: Sequence[Any], met: Sequence[Any], *, ordered: bool
) -> tuple[Any, ...]:
    """Known categories with those that were met as well: in their place of an order, or after.

    ``ordered``: both are in order.
    """
    listed = {*known, NO_VALUE}
    fresh = [c for c in met if c not in listed]
    order = joined_order(known, met) if fresh and ordered else None
    return (*known, *fresh) if order is None else order
