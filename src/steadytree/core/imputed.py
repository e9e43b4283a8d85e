"""Missing values that a deployed pipeline fills in, so that no rule can tell them from a value.

A pipeline with an imputer treats a missing income as, say, the median. A new tree that is to
run in it can do nothing else: rows without an income are learnt from as rows of the median,
the column cannot be missing as far as the search knows, and every split of a new tree sends
missing values where it sends the median. Then the tree decides raw rows as the pipeline will.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from steadytree.core.space import FeatureSpace

if TYPE_CHECKING:
    from steadytree.core.tree import Tree

__all__ = [
    "IMPUTED",
    "TAKES_MISSING",
    "fill_in",
    "imputed_codes",
    "imputed_entry",
    "missing_as_imputed",
    "never_missing",
    "same_where_missing",
]

IMPUTED = "imputed"
"""Where a tree's metadata names the columns, and what stands for a missing value of each."""

TAKES_MISSING = "takes_missing"
"""Where it names columns of numbers whose missing values its pipeline fills in and flags."""


def imputed_codes(tree: Tree, space: FeatureSpace) -> dict[int, float]:
    """Return, for features whose missing values are filled in, the code of what stands for them."""
    named: Mapping[str, Any] = tree.metadata.get(IMPUTED) or {}
    found: dict[int, float] = {}
    for feature, name in enumerate(space.feature_labels):
        if name not in named:
            continue
        value, categories = named[name], space.categories[feature]
        if categories is None:
            found[feature] = float(value)
        elif value in categories:
            found[feature] = float(categories.index(value))
    return found


def imputed_entry(tree: Tree) -> dict[str, Any]:
    """Return what the metadata of a tree made from this one should say."""
    said = (IMPUTED, TAKES_MISSING)
    return {key: tree.metadata[key] for key in said if tree.metadata.get(key)}


def never_missing(space: FeatureSpace, tree: Tree) -> FeatureSpace:
    """Return a space in which the columns that a tree has filled in cannot be missing."""
    named = tree.metadata.get(IMPUTED) or {}
    filled = np.array([name in named for name in space.feature_labels], dtype=bool)
    if not (filled & space.can_be_missing).any():
        return space
    return space.replace(can_be_missing=space.can_be_missing & ~filled)


def fill_in(coded: NDArray[np.float64], codes: Mapping[int, float]) -> NDArray[np.float64]:
    """Return coded rows with what stands for missing values in their place."""
    if not codes:
        return coded
    out = coded.copy()
    for feature, code in codes.items():
        column = out[:, feature]
        column[np.isnan(column)] = code
    return out


def missing_as_imputed(tree: Tree, codes: Mapping[int, float]) -> Tree:
    """Return a tree whose splits send missing values where they send what stands for them."""
    asked = np.array([int(f) in codes for f in tree.feature]) & ~tree.is_leaf
    nodes = np.flatnonzero(asked)
    if not nodes.size:
        return tree
    values = np.array([[codes[int(tree.feature[node])] for node in nodes]])
    missing_left = tree.missing_left.copy()
    missing_left[nodes] = tree.goes_left(nodes, tree.round_values(values)[0])
    if np.array_equal(missing_left, tree.missing_left):
        return tree
    return tree.replace(missing_left=missing_left, unseen_left=tree.unseen_left)


def same_where_missing(one: Tree, two: Tree, feature: int) -> bool:
    """Whether rows without a feature end alike in two trees that differ in where these go.

    Compares the two trees without the splits on the feature, node by node.
    """
    waiting = [(0, 0)]
    while waiting:
        a, b = (
            _past(tree, node, feature) for tree, node in zip((one, two), waiting.pop(), strict=True)
        )
        if one.is_leaf[a] != two.is_leaf[b]:
            return False
        if one.is_leaf[a]:
            if one.label[a] != two.label[b] or not np.array_equal(one.value[a], two.value[b]):
                return False
            continue
        if _split(one, a) != _split(two, b):
            return False
        waiting += (
            (int(one.children_left[a]), int(two.children_left[b])),
            (int(one.children_right[a]), int(two.children_right[b])),
        )
    return True


def _past(tree: Tree, node: int, feature: int) -> int:
    """Return the first node at or below one that asks about something else."""
    while tree.feature[node] == feature:
        side = tree.children_left if tree.missing_left[node] else tree.children_right
        node = int(side[node])
    return node


def _split(tree: Tree, node: int) -> tuple[Any, ...]:
    return (
        int(tree.feature[node]),
        # NaN is not equal to itself.
        None if np.isnan(tree.threshold[node]) else float(tree.threshold[node]),
        tree.left_categories[node],
        bool(tree.missing_left[node]),
        bool(tree.unseen_left[node]),
    )
