"""Put trees and a feature space side by side: same features, categories and classes.

A distance between trees over different columns is a number without meaning. Names are
matched, never guessed; where that fails the error names the culprits.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from steadytree._text import quoted, some_of
from steadytree.exceptions import FeatureAlignmentError
from steadytree.tree.columns import NO_VALUE, bit_set, central_range, codes_in, column_names
from steadytree.tree.decision import Decision
from steadytree.tree.recoded import never_missing, recombine_one_hot
from steadytree.tree.space import FeatureSpace

if TYPE_CHECKING:
    from steadytree.tree.tree import Tree


@dataclass(frozen=True)
class AlignedTree:
    """A tree with its splits written in the features and categories of a space.

    ``feature[i]`` is the space's feature at node i (-1: leaf); ``left_mask[i]`` is, for
    a categorical split, the bit set of the categories that go left (the bit after the
    last category stands for "missing").
    """

    tree: Tree
    space: FeatureSpace
    feature: NDArray[np.int64]
    left_mask: tuple[int | None, ...]
    by_set: bool  # whether any split is by a set of categories


def align_tree(tree: Tree, space: FeatureSpace) -> AlignedTree:
    """Match a tree's features and categories with those of a space, by name.

    Without names on either side, features are matched by position.
    """
    return align_trees([tree], space)[0]


def align_trees(trees: Sequence[Tree], space: FeatureSpace) -> list[AlignedTree]:
    """Match trees with a space as :func:`align_tree`; columns in common are matched once."""
    positions: dict[Any, tuple[NDArray[np.int64], bool]] = {}
    out = []
    for tree in trees:
        tree = recombine_one_hot(tree, space) if space.one_hot else tree
        columns = (tree.feature_names, tree.n_features, tree.categories)
        if columns not in positions:
            where = _positions(tree, space)
            kinds = zip(tree.categories, where.tolist(), strict=True)
            numeric = all(c is None and space.categories[k] is None for c, k in kinds)
            # Leaves have feature -1, which is the last entry, and keep it.
            positions[columns] = np.append(where, -1), numeric
        where, numeric = positions[columns]
        masks = tree.left_categories if numeric else _left_masks(tree, space, where)
        by_set = not numeric and any(mask is not None for mask in masks)
        out.append(AlignedTree(tree, space, where[tree.feature], masks, by_set))  # type: ignore[arg-type]
    return out


def _left_masks(
    tree: Tree, space: FeatureSpace, where: NDArray[np.int64]
) -> tuple[int | None, ...]:
    """Bit set of the space's categories that go left at each node."""
    maps = {j: _code_map(tree, space, j, int(where[j])) for j in sorted(tree.used_features)}
    masks: list[int | None] = [None] * tree.n_nodes
    for node, codes in enumerate(tree.left_categories):
        if codes is None:
            continue
        j = int(tree.feature[node])
        known, every = maps[j] or ((), 0)
        count = len(space.categories[int(where[j])] or ())
        mask = bit_set([known[code] for code in codes], count)
        missing = every & 1 << count
        if tree.missing_left[node]:
            mask |= missing
        if tree.unseen_left[node]:
            mask |= every & ~missing & ~bit_set(known, count)
        masks[node] = mask
    return tuple(masks)


def _positions(tree: Tree, space: FeatureSpace) -> NDArray[np.int64]:
    """Position in the space of each of a tree's features."""
    if tree.feature_names is None or space.names is None:
        if tree.n_features != space.n_features:
            raise FeatureAlignmentError(
                f"expected a tree over {space.n_features} features like the space, "
                f"got one over {tree.n_features}; compare trees over the same columns"
            )
        return np.arange(tree.n_features)
    unknown = [name for name in tree.feature_names if name not in space.position]
    if unknown:
        raise FeatureAlignmentError(
            f"expected features of the space {some_of(space.names)}, "
            f"got a tree with {some_of(unknown)} as well; "
            "build the space from data that has these columns"
        )
    return np.array([space.position[name] for name in tree.feature_names], dtype=np.int64)


def _code_map(
    tree: Tree, space: FeatureSpace, j: int, k: int
) -> tuple[tuple[int, ...], int] | None:
    """Space code of each of the tree's categories, and the bit set of all categories."""
    ours, theirs = tree.categories[j], space.categories[k]
    if (ours is None) != (theirs is None):
        kinds = ("numeric", "categorical")
        raise FeatureAlignmentError(
            f"expected feature {quoted(space.feature_labels[k])} to be {kinds[theirs is not None]} "
            f"as in the space, got a tree that treats it as {kinds[ours is not None]}; "
            "use the same encoding for both, or name one-hot columns in FeatureSpace(one_hot=)"
        )
    if ours is None or theirs is None:
        return None
    position = {category: i for i, category in enumerate(theirs)}
    unknown = [category for category in ours if category not in position]
    if unknown:
        raise FeatureAlignmentError(
            f"expected categories {some_of(theirs)} of feature {quoted(space.feature_labels[k])}, "
            f"got a tree that knows {some_of(unknown)} as well; "
            "build the space from data that has these categories"
        )
    every = (1 << (len(theirs) + bool(space.can_be_missing[k]))) - 1
    return tuple(position[category] for category in ours), every


def align_classes(trees: Sequence[Tree], space: FeatureSpace) -> tuple[Any, ...] | None:
    """One list of classes for all trees: the space's, or the union in order of meeting.

    Returns None for regression trees.
    """
    kinds = {tree.is_classifier for tree in trees}
    if len(kinds) > 1:
        raise FeatureAlignmentError(
            "expected trees for the same task, got classification and regression together; "
            "compare like with like"
        )
    if kinds == {False}:
        return None
    if space.classes is not None:
        known = set(space.classes)
        for tree in trees:
            unknown = [c for c in tree.classes or () if c not in known]
            if unknown:
                raise FeatureAlignmentError(
                    f"expected classes {some_of(space.classes)} as in the space, "
                    f"got a tree with {some_of(unknown)}; relabel it or widen the space"
                )
        return space.classes
    first = trees[0].classes or ()
    union = dict.fromkeys(first)
    for tree in trees[1:]:
        if not set(tree.classes or ()) & set(first):
            raise FeatureAlignmentError(
                f"expected trees with classes in common, got {some_of(first)} "
                f"and {some_of(tree.classes or ())}; use the same labels for both"
            )
        union.update(dict.fromkeys(tree.classes or ()))
    return tuple(union)


def common_space(trees: Sequence[Tree], space: FeatureSpace | None) -> FeatureSpace:
    """Return the space to compare in: the one given, or the one stored with the trees.

    An unnamed space takes the names of the first tree that has any, so that two trees
    whose columns come in another order are still matched by name.
    """
    if space is None:
        stored = [tree.space for tree in trees if tree.space is not None]
        if not stored:
            raise FeatureAlignmentError(
                "expected space=..., got none, and none is stored with the trees: a tree carries "
                "thresholds, not ranges; pass space=FeatureSpace.from_data(X_reference)"
            )
        space = stored[0]
        others = [other for other in stored[1:] if other is not space]
        if any(_geometry(other) != _geometry(space) for other in others):
            raise FeatureAlignmentError(
                "expected one space for all trees, got trees with different stored spaces; "
                "distances over different spaces must not be mixed: pass space=... explicitly"
            )
    if not isinstance(space, FeatureSpace):
        raise FeatureAlignmentError(
            f"expected space to be a FeatureSpace, got {type(space).__name__}; "
            "make one with FeatureSpace.from_data(X_reference)"
        )
    if space.names is None:
        named = next((tree for tree in trees if tree.feature_names is not None), None)
        if named is not None and named.n_features == space.n_features:
            space = space.replace(names=named.feature_names)
    return space


def _geometry(space: FeatureSpace) -> dict[str, Any]:
    """Return what distances depend on; an order of categories is not part of it."""
    others = ("classes", "one_hot", "ordered")
    return {name: value for name, value in space.to_dict().items() if name not in others}


def tree_in_space(tree: Tree, space: FeatureSpace, classes: tuple[Any, ...] | None = None) -> Tree:
    """Write a tree in the columns, categories and (if given) classes of a space.

    A tree grown on a resample may know fewer categories or classes. Classes it never met
    get share 0; categories it never met go where its splits send them.
    """
    if space.names is None and tree.feature_names is not None:
        space = space.replace(names=tree.feature_names)
    if (tree.feature_names, tree.categories) != (space.names, space.categories):
        aligned = align_tree(tree, space)
        tree, missing_left = aligned.tree, aligned.tree.missing_left.copy()
        sets: list[tuple[int, ...] | None] = [None] * tree.n_nodes
        for node, mask in enumerate(aligned.left_mask):
            if mask is None:
                continue
            j = int(aligned.feature[node])
            count = len(space.categories[j] or ())
            sets[node] = tuple(codes_in(mask, count))
            if space.can_be_missing[j]:
                missing_left[node] = bool(mask >> count & 1)
        tree = tree.replace(
            feature=aligned.feature,
            left_categories=tuple(sets),
            missing_left=missing_left,
            n_features=space.n_features,
            feature_names=space.names,
            categories=space.categories,
        )
    if classes is not None and tree.classes not in (None, classes):
        position = {c: at for at, c in enumerate(classes)}
        where = np.array([position[c] for c in tree.classes or ()])
        value = np.zeros((tree.n_nodes, len(classes)))
        value[:, where] = tree.value
        seen = tree.observed
        tree = tree.replace(
            value=value,
            classes=classes,
            label=where[tree.label],
            observed=None if seen is None else seen.with_classes(where, len(classes)),
            # By name: the classes may stand in another order.
            decision=Decision(steady=tree.decision.steady)
            if len(classes) != 2
            else replace(tree.decision, resolved=None),
        )
    return tree if tree.space is space else tree.replace(space=space)


# -- one space for two trees -----------------------------------------------------------
# A retrained tree may know a category, or use a column, that the deployed tree's space does not
# have, and has to be measured against it all the same. The deployed tree's ranges stay the
# yardstick. What it lacks comes from rows, of which no single one may decide how far a feature
# ranges; only where there are none from the other tree's own space, and then that is said: a tree
# that brings its own yardstick can make any change look small.

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
    for j, (own, found) in enumerate(zip(tree.categories, seen.categories, strict=True)):
        ordered[j] &= set(own or ()) <= set(found or ())
        if own is None or ordered[j]:
            categories.append(found)
        else:
            more = (found or ()) if joined else ()
            categories.append(joined_categories(own, more, ordered=False))
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
    kinds = dict(zip(tree.feature_names, tree.categories, strict=True))
    used = {tree.feature_names[j] for j in tree.used_features}
    stated_by_tree: list[str] = []
    categories = list(space.categories)
    for k, name in enumerate(space.names):
        known, more = space.categories[k], kinds.get(name)
        if known is None or more is None:
            continue
        in_order = bool(space.ordered[k]) and _is_ordered(tree.space, name)
        categories[k] = joined = joined_categories(known, more, ordered=in_order)
        if name in used and len(joined) > 2 * len(known):
            stated_by_tree.append(name)
    if tuple(categories) != space.categories:
        space = space.replace(categories=tuple(categories))
    names = tuple(name for name in tree.feature_names if name not in space.position)
    needed = [name for name in names if name in used]
    columns = set(() if X is None else column_names(X) or ())
    if not names:
        return JoinedSpace(space, tuple(stated_by_tree))
    if columns and set(needed) <= columns:
        lists = tuple(kinds[name] for name in names)
        places = [names.index(name) for name in needed]
        added = FeatureSpace.of_known_features(X, names, lists, needed=places, tails=TAILS)
        added = added.replace(
            categories=tuple(
                None if listed is None else joined_categories(listed, more or (), ordered=False)
                for listed, more in zip(lists, added.categories, strict=True)
            )
        )
        at = list(range(len(names)))
    elif tree.space is not None and set(names) <= set(tree.space.names or ()):
        stated_by_tree += needed
        added = tree.space
        at = [added.position[name] for name in names]
    else:
        return JoinedSpace(space, tuple(stated_by_tree))
    wider = space.replace(
        lower=np.concatenate([space.lower, added.lower[at]]),
        upper=np.concatenate([space.upper, added.upper[at]]),
        categories=(*space.categories, *(added.categories[j] for j in at)),
        can_be_missing=np.concatenate([space.can_be_missing, added.can_be_missing[at]]),
        ordered=np.concatenate([space.ordered, added.ordered[at]]),
        names=(*(space.names or ()), *names),
    )
    return JoinedSpace(wider, tuple(stated_by_tree))


def _is_ordered(space: FeatureSpace | None, name: str) -> bool:
    named = space is not None and name in (space.names or ())
    return space is not None and named and bool(space.ordered[space.position[name]])


def joined_order(one: Sequence[Any], other: Sequence[Any]) -> tuple[Any, ...] | None:
    """One order that agrees with two; None where they contradict or leave a place open."""
    shared = [c for c in one if c in {*other}]
    if shared != [c for c in other if c in {*one}]:
        return None
    out: list[Any] = []
    rest = [list(one), list(other)]
    for stop in (*shared, None):
        ends = [len(r) if stop is None else r.index(stop) for r in rest]
        if all(ends):
            return None
        out += (*rest[0][: ends[0]], *rest[1][: ends[1]], *([] if stop is None else [stop]))
        rest = [r[end + 1 :] for r, end in zip(rest, ends, strict=True)]
    return tuple(out)


def joined_categories(
    known: Sequence[Any], more: Sequence[Any], *, ordered: bool
) -> tuple[Any, ...]:
    """Known categories with those that came as well: in their place of an order, or after.

    ``ordered``: both are in order.
    """
    listed = {*known, NO_VALUE}
    fresh = [c for c in more if c not in listed]
    order = joined_order(known, more) if fresh and ordered else None
    return (*known, *fresh) if order is None else order
