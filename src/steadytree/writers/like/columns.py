"""A tree over the columns of the model in whose form it is written."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from steadytree.exceptions import FeatureAlignmentError
from steadytree.tree.tree import Tree

__all__ = ["over_columns"]


def over_columns(tree: Tree, names: Sequence[str] | None, n_columns: int, what: str) -> Tree:
    """Return a tree over columns found by name, or by position where one side has no names.

    Refuses a tree that asks about a column that ``what`` does not have.
    """
    if names is None or tree.feature_names is None:
        if tree.n_features != n_columns:
            raise FeatureAlignmentError(
                f"expected a tree over the {n_columns} columns of {what}, got one over "
                f"{tree.n_features}; give both the names of their columns"
            )
        named = None if names is None else tuple(names)
        return tree.replace(feature_names=named, space=None)
    place = {name: position for position, name in enumerate(names)}
    lacking = [f for f in sorted(tree.used_features) if tree.feature_names[f] not in place]
    if lacking:
        raise FeatureAlignmentError(
            f"expected a tree over the columns of {what}, got splits on "
            f"{', '.join(repr(tree.feature_names[f]) for f in lacking)}, which it does not have; "
            "retrain without them: forbid="
        )
    own = {name: f for f, name in enumerate(tree.feature_names)}
    moved = np.array([place.get(name, -1) for name in tree.feature_names])
    return tree.replace(
        feature=np.where(tree.is_leaf, -1, moved[tree.feature]),
        n_features=n_columns,
        feature_names=tuple(names),
        categories=tuple(tree.categories[own[n]] if n in own else None for n in names),
        space=None,
    )
