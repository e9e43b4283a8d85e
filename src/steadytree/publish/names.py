"""Names that may be those of people: categories that fewer than five people have.

A rule that sends three villages to the left names three villages; where one of them has two
rows, the rule is about two people. Such categories are called "rare category 1", by their
position, so that everything else about them stays as it is. So are all categories of a feature
that a tree does not use: nobody needs their names.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from steadytree.publish.rounding import public_decision
from steadytree.tree.printing import reaching_values
from steadytree.tree.space import FeatureSpace
from steadytree.tree.tree import Tree

if TYPE_CHECKING:
    from steadytree.diff import ConditionChange, Rule, TreeDiff
    from steadytree.tree.words import Condition

RARE = 5
"""Categories of fewer people are not named."""

Names = Mapping[str, Mapping[Any, str]]
"""For each feature, by its label, what its rare categories are called instead."""


def count_categories(
    space: FeatureSpace, coded: NDArray[np.float64], features: Iterable[int]
) -> dict[int, NDArray[np.intp]]:
    """Count the rows of each category of some features; one-hot columns are not counted.

    Parameters
    ----------
    space : FeatureSpace
    coded : float array
        Rows in its codes.
    features : iterable of int

    Returns
    -------
    dict
    """
    counts = {}
    for j in features:
        names = space.categories[j]
        # One-hot columns have no names of their own.
        if names is None or space.feature_labels[j] in space.one_hot:
            continue
        codes = coded[:, j]
        counts[j] = np.bincount(codes[~np.isnan(codes)].astype(np.intp), minlength=len(names))
    return counts


def rare_names(
    space: FeatureSpace, counts: Mapping[int, NDArray[np.intp]]
) -> dict[str, dict[Any, str]]:
    """Say what the categories with fewer than five rows are called.

    Parameters
    ----------
    space : FeatureSpace
    counts : mapping of int to int array
        Rows of each category of a feature, as in ``TreeDiff.category_counts``.

    Returns
    -------
    dict
    """
    return {
        space.feature_labels[j]: _numbered(
            c for c, n in zip(space.categories[j] or (), count, strict=True) if n < RARE
        )
        for j, count in counts.items()
    }


def rare_of_tree(tree: Tree) -> dict[str, dict[Any, str]]:
    """Say what the tree itself knows to be rare: what it sends where few people were counted."""
    seen = None if tree.observed is None else tree.observed.rows()
    if seen is None and not (np.asarray(tree.weight) == 1).all():
        seen = np.asarray(tree.weight)
    rare: dict[str, set[Any]] = {}
    reach = reaching_values(
        tree.children_left.tolist(),
        tree.children_right.tolist(),
        tree.feature.tolist(),
        tree.left_categories,
        tree.missing_left.tolist(),
        tree.unseen_left.tolist(),
        tree.categories,
    )
    for node, (codes, _, _) in reach.items():
        inside = tree.left_categories[node]
        if codes is None or inside is None or seen is None:
            continue
        j = int(tree.feature[node])
        sides = ((tree.children_left[node], True), (tree.children_right[node], False))
        for child, left in sides:
            if seen[int(child)] < RARE:
                found = {(tree.categories[j] or ())[c] for c in codes if (c in inside) == left}
                rare.setdefault(tree.feature_labels[j], set()).update(found)
    out = {}
    for j, known in enumerate(tree.categories):
        label = tree.feature_labels[j]
        unused = j not in tree.used_features
        if known is not None:
            out[label] = _numbered(c for c in known if unused or c in rare.get(label, ()))
    return out


def _numbered(categories: Iterable[Any]) -> dict[Any, str]:
    return {c: f"rare category {i}" for i, c in enumerate(categories, 1)}


def renamed_space(space: FeatureSpace, names: Names) -> FeatureSpace:
    """Return the space with its rare categories called otherwise."""
    return space.replace(categories=_renamed(space.feature_labels, space.categories, names))


def renamed_tree(tree: Tree, names: Names) -> Tree:
    """Return the tree with its rare categories called otherwise, in its space as well."""
    categories = _renamed(tree.feature_labels, tree.categories, names)
    space = None if tree.space is None else renamed_space(tree.space, names)
    return tree.replace(categories=categories, space=space)


def _renamed(labels: Any, categories: Any, names: Names) -> tuple[Any, ...]:
    return tuple(
        None if known is None else tuple(names.get(label, {}).get(c, c) for c in known)
        for label, known in zip(labels, categories, strict=True)
    )


# -- a diff ----------------------------------------------------------------------------


def names_of_diff(diff: TreeDiff) -> dict[str, dict[Any, str]]:
    """Say what the rare categories of a diff are called: in both trees, and in the space, alike."""
    trees = (diff.old, diff.new)
    known = rare_names(diff.space, diff.category_counts)
    own = [rare_of_tree(tree) for tree in trees]
    used = {tree.feature_labels[j] for tree in trees for j in tree.used_features}
    out = {}
    for label, categories in zip(diff.space.feature_labels, diff.space.categories, strict=True):
        rare: set[Any] = set(categories or ())
        if label in used:
            rare = set(known.get(label, ())) if label in known else set()
            if label not in known:
                for tree, found in zip(trees, own, strict=True):
                    if label in {tree.feature_labels[j] for j in tree.used_features}:
                        rare.update(found.get(label, ()))
        if categories is not None:
            out[label] = _numbered(c for c in categories if c in rare)
    return out


def rare_words(diff: TreeDiff) -> set[str]:
    """Return the names that a diff for others does not hold, as texts write them."""
    return {str(category) for known in names_of_diff(diff).values() for category in known}


def names_for_others(diff: TreeDiff) -> TreeDiff:
    """Return a diff without names of rare categories, ranges of features and exact thresholds.

    A shift as a share of its feature's range would tell the range, that is, the extremes; a
    threshold taken from the rate of the training rows would count them.

    Parameters
    ----------
    diff : TreeDiff

    Returns
    -------
    TreeDiff
    """
    names = names_of_diff(diff)

    def several(name: str | None, categories: tuple[Any, ...]) -> tuple[Any, ...]:
        other = names.get(name or "", {})
        return tuple(other.get(category, category) for category in categories)

    def condition(given: Condition | None) -> Any:
        if given is None or given.allowed is None:
            return given
        return replace(given, allowed=several(given.name, given.allowed))

    def rule(given: Rule | None) -> Rule | None:
        if given is None:
            return None
        return replace(given, conditions=tuple(map(condition, given.conditions)))

    def changed(given: ConditionChange) -> ConditionChange:
        return replace(
            given,
            old=condition(given.old),
            new=condition(given.new),
            gained=several(given.name, given.gained),
            lost=several(given.name, given.lost),
            share_of_range=None,
        )

    old, new = (
        renamed_tree(tree, names).replace(decision=public_decision(tree.decision))
        for tree in (diff.old, diff.new)
    )
    return replace(
        diff,
        rules=tuple(
            replace(
                one, old=rule(one.old), new=rule(one.new), changes=tuple(map(changed, one.changes))
            )
            for one in diff.rules
        ),
        splits=tuple(
            replace(
                split,
                categories=several(split.name, split.categories),
                new_categories=several(split.new_name, split.new_categories),
                share_of_range=None,
            )
            for split in diff.splits
        ),
        old=old,
        new=old if diff.new is diff.old else new,
        space=renamed_space(diff.space, names),
        category_counts={},
    )
