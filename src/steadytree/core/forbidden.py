"""Features that no rule may use: unseen by whoever learns, and gone from a deployed tree.

They stay columns of the table, so that people can ask what the tree does to each group.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadytree.core.space import FeatureSpace
from steadytree.core.tree import Tree
from steadytree.exceptions import InputError

__all__ = [
    "forbidden_before",
    "forbidden_entry",
    "forbidden_features",
    "unseen",
    "without_splits",
]

FORBIDDEN = "forbidden"
"""Entry of a tree's metadata: names of the features that none of its rules may use."""


def forbidden_entry(space: FeatureSpace, features: Collection[int]) -> dict[str, list[str]]:
    """Entry of the metadata of a tree that was made without some features; none for none."""
    return {FORBIDDEN: [space.feature_labels[j] for j in sorted(features)]} if features else {}


def forbidden_before(tree: Tree) -> tuple[str, ...]:
    """Names of the features that a tree was made without by somebody's wish."""
    listed = tree.metadata.get(FORBIDDEN)
    names = listed if isinstance(listed, (list, tuple)) else ()
    return tuple(name for name in names if name in tree.feature_labels)


def forbidden_features(space: FeatureSpace, forbid: Any) -> frozenset[int]:
    """Positions of the features that the user forbids, by name or position."""
    found = space.positions_of(forbid, "forbid")
    if len(found) == space.n_features:
        raise InputError(
            f"expected forbid to leave a feature for the rules, got all {len(found)} of them; "
            "allow at least one"
        )
    return found


def unseen(coded: NDArray[np.float64], features: Collection[int]) -> NDArray[np.float64]:
    """Return coded rows with some features missing throughout: nobody can learn from these."""
    if not features:
        return coded
    out = coded.copy()
    out[:, sorted(features)] = np.nan
    return out


def without_splits(tree: Tree, features: Collection[int]) -> Tree:
    """Return the tree with every split on some features replaced by its heavier side.

    The conditions below that side stay; those of the lighter side go with the split. What was
    observed in its leaves is dropped: more people reach them now.
    """
    if not tree.used_features & set(features):
        return tree
    kept: list[int] = []
    children: dict[int, tuple[int, int]] = {}

    def resolve(node: int) -> int:
        while int(tree.feature[node]) in features:
            left, right = int(tree.children_left[node]), int(tree.children_right[node])
            node = left if tree.weight[left] >= tree.weight[right] else right
        return node

    stack = [resolve(0)]
    while stack:
        node = stack.pop()
        kept.append(node)
        if not tree.is_leaf[node]:
            children[node] = (
                resolve(int(tree.children_left[node])),
                resolve(int(tree.children_right[node])),
            )
            stack += reversed(children[node])
    place = {node: i for i, node in enumerate(kept)}
    index = np.array(kept)

    def side(which: int) -> list[int]:
        return [place[children[node][which]] if node in children else -1 for node in kept]

    fields: dict[str, Any] = {
        name: getattr(tree, name)[index]
        for name in ("feature", "threshold", "value", "missing_left", "weight", "label")
    }
    if tree.tells_unseen_from_missing:
        fields["unseen_left"] = tree.unseen_left[index]
    return tree.replace(
        **fields,
        children_left=side(0),
        children_right=side(1),
        left_categories=tuple(tree.left_categories[node] for node in kept),
        impurity=None,
        observed=None,
    )
