"""Put a tree and a feature space side by side: same features, categories and classes.

A distance between trees over different columns is a number without meaning. Names are
matched, never guessed; where that fails the error names the culprits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from steadytree._text import quoted, some_of
from steadytree.exceptions import FeatureAlignmentError
from steadytree.tree.decision import Decision
from steadytree.tree.one_hot import recombine_one_hot
from steadytree.tree.space import FeatureSpace
from steadytree.tree.values import bit_set, codes_in

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
    columns: dict[Any, _Columns] = {}
    out = []
    for tree in trees:
        if space.one_hot and tree.feature_names is not None:
            names = set(tree.feature_names)
            groups = {g: columns for g, columns in space.one_hot.items() if names & set(columns)}
            tree = recombine_one_hot(tree, groups) if groups else tree
        key = (tree.feature_names, tree.n_features, tree.categories)
        if key not in columns:
            columns[key] = _Columns(tree, space)
        out.append(columns[key].align(tree))
    return out


class _Columns:
    """Where the columns of a tree are among those of a space, for all trees with these."""

    def __init__(self, tree: Tree, space: FeatureSpace) -> None:
        self.space = space
        where = _positions(tree, space)
        # Leaves have feature -1, which is the last entry, and keep it.
        self.where = np.append(where, -1)
        kinds = zip(tree.categories, where.tolist(), strict=True)
        # Nothing to look up where all features are numeric in both.
        self.plain = all(c is None and space.categories[k] is None for c, k in kinds)

    def align(self, tree: Tree) -> AlignedTree:
        feature = self.where[tree.feature]
        if self.plain:
            return AlignedTree(tree, self.space, feature, tree.left_categories, False)  # type: ignore[arg-type]
        maps = {
            j: _code_map(tree, self.space, j, int(self.where[j]))
            for j in sorted(tree.used_features)
        }
        masks: list[int | None] = [None] * tree.n_nodes
        for node, codes in enumerate(tree.left_categories):
            if codes is None:
                continue
            known, every = maps[int(tree.feature[node])] or ((), 0)
            count = len(self.space.categories[int(feature[node])] or ())
            mask = bit_set([known[code] for code in codes], count)
            missing = every & 1 << count
            if tree.missing_left[node]:
                mask |= missing
            if tree.unseen_left[node]:
                mask |= every & ~missing & ~bit_set(known, count)
            masks[node] = mask
        by_set = any(mask is not None for mask in masks)
        return AlignedTree(tree, self.space, feature, tuple(masks), by_set)


def _positions(tree: Tree, space: FeatureSpace) -> NDArray[np.int64]:
    """Position in the space of each of a tree's features."""
    if tree.feature_names is None or space.names is None:
        if tree.n_features != space.n_features:
            raise FeatureAlignmentError(
                f"expected a tree over {space.n_features} features like the space, "
                f"got one over {tree.n_features}; compare trees over the same columns"
            )
        return np.arange(tree.n_features)
    position = {name: j for j, name in enumerate(space.names)}
    unknown = [name for name in tree.feature_names if name not in position]
    if unknown:
        raise FeatureAlignmentError(
            f"expected features of the space {some_of(space.names)}, "
            f"got a tree with {some_of(unknown)} as well; "
            "build the space from data that has these columns"
        )
    return np.array([position[name] for name in tree.feature_names], dtype=np.int64)


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
            "use the same encoding for both (see as_tree(..., one_hot=...))"
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
