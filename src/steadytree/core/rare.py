"""Categories that few people have are not named: the name may be that of one of them.

A rule that sends three villages to the left names three villages; where one of them has two
rows, the rule is about two people. In what is shown such categories are called "rare category 1",
by their position, so that everything else about them stays as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadytree.core.space import FeatureSpace
from steadytree.core.tree import Tree

__all__ = ["Names", "count_categories", "rare_names", "space_without_names", "tree_without_names"]

Names = Mapping[str, Mapping[Any, str]]
"""For each feature, by its label, what its rare categories are called instead."""


def count_categories(
    space: FeatureSpace, coded: NDArray[np.float64]
) -> dict[int, NDArray[np.intp]]:
    """Count the rows of each category of each feature; one-hot columns are not counted."""
    out = {}
    for j, names in enumerate(space.categories):
        if names is None or space.feature_labels[j] in space.one_hot:
            continue
        codes = coded[:, j]
        codes = codes[~np.isnan(codes)].astype(np.intp)
        out[j] = np.bincount(codes, minlength=len(names)).astype(np.intp)
    return out


def rare_names(
    space: FeatureSpace, counts: Mapping[int, NDArray[np.intp]], min_cell: int
) -> dict[str, dict[Any, str]]:
    """Say what the categories with fewer than ``min_cell`` rows are called."""
    out: dict[str, dict[Any, str]] = {}
    for j, count in counts.items():
        rare = [c for c, n in zip(space.categories[j] or (), count, strict=True) if n < min_cell]
        if rare:
            label = space.feature_labels[j]
            out[label] = {c: f"rare category {i}" for i, c in enumerate(rare, 1)}
    return out


def space_without_names(space: FeatureSpace, names: Names) -> FeatureSpace:
    """Return the space with its rare categories called otherwise."""
    return space.replace(categories=_renamed(space.feature_labels, space.categories, names))


def tree_without_names(tree: Tree, names: Names) -> Tree:
    """Return the tree with its rare categories called otherwise, in its space as well.

    The space says what can be missing: rules in words need it.
    """
    categories = _renamed(tree.feature_labels, tree.categories, names)
    space = None if tree.space is None else space_without_names(tree.space, names)
    return tree.replace(categories=categories, space=space)


def _renamed(labels: Any, categories: Any, names: Names) -> tuple[Any, ...]:
    return tuple(
        None if known is None else tuple(names.get(label, {}).get(c, c) for c in known)
        for label, known in zip(labels, categories, strict=True)
    )
