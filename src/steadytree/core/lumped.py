"""Categories that a deployed pipeline cannot tell apart are one category to a new tree.

A pipeline lumps infrequent categories together, and knows none that arrived since it was fitted.
Rows of such categories are learnt from as rows of one of them, and every split of a new tree
sends all of them the same way. Then the tree decides raw rows as the pipeline will.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from steadytree.core.space import FeatureSpace

if TYPE_CHECKING:
    from steadytree.core.tree import Tree

__all__ = [
    "LUMPED",
    "Lumps",
    "lump",
    "lumped_codes",
    "lumped_entry",
    "may_be_missing",
    "sides_as_lumped",
]

LUMPED = "pipeline_categories"
"""Where a tree's metadata says, by column, which categories its pipeline knows and lumps."""


@dataclass(frozen=True)
class Lumps:
    """What stands for each category of a feature.

    ``stands_for[code]``: the code of the category that stands for it, NaN: a missing value.
    ``unseen``: the same for a category that nobody has met; None: a point of its own.
    """

    stands_for: NDArray[np.float64]
    unseen: float | None


def lumped_codes(tree: Tree, space: FeatureSpace) -> dict[int, Lumps]:
    """Return what stands for the categories of features whose pipeline lumps them."""
    named: Mapping[str, Any] = tree.metadata.get(LUMPED) or {}
    found: dict[int, Lumps] = {}
    for feature, name in enumerate(space.feature_labels):
        categories = space.categories[feature]
        if name not in named or categories is None:
            continue
        told = named[name]
        code = {c: float(k) for k, c in enumerate(categories)}
        stands_for = np.arange(len(categories), dtype=np.float64)
        for group in told["same"]:
            members = [code[c] for c in group if c in code]
            stands_for[np.array(members, dtype=np.intp)] = min(members, default=0.0)
        known = set(told["categories"])
        fresh = [k for k, c in enumerate(categories) if c not in known]
        unseen: float | None = float(fresh[0]) if fresh else None
        if told["unseen"] == "missing":
            unseen = float("nan")
        elif told["unseen"] != "own" and told["unseen"][0] in code:
            unseen = float(stands_for[int(code[told["unseen"][0]])])
        if fresh and unseen is not None:
            stands_for[fresh] = unseen
        found[feature] = Lumps(stands_for, unseen)
    return found


def lumped_entry(tree: Tree) -> dict[str, Any]:
    """Return what the metadata of a tree made from this one should say."""
    return {LUMPED: tree.metadata[LUMPED]} if tree.metadata.get(LUMPED) else {}


def lump(coded: NDArray[np.float64], lumps: Mapping[int, Lumps]) -> NDArray[np.float64]:
    """Return coded rows with what stands for each category in its place."""
    if not lumps:
        return coded
    out = coded.copy()
    for feature, one in lumps.items():
        known = ~np.isnan(out[:, feature])
        out[known, feature] = one.stands_for[out[known, feature].astype(np.intp)]
    return out


def may_be_missing(space: FeatureSpace, lumps: Mapping[int, Lumps]) -> FeatureSpace:
    """Return a space in which features can be missing of which a category counts as missing."""
    flags = space.can_be_missing.copy()
    for feature, one in lumps.items():
        flags[feature] |= np.isnan(one.stands_for).any()
    same = np.array_equal(flags, space.can_be_missing)
    return space if same else space.replace(can_be_missing=flags)


def sides_as_lumped(tree: Tree, lumps: Mapping[int, Lumps]) -> Tree:
    """Return a tree whose splits send each category where what stands for it goes."""
    sets, unseen_left = list(tree.left_categories), tree.unseen_left.copy()
    for node, codes in enumerate(tree.left_categories):
        one = lumps.get(int(tree.feature[node]))
        if codes is None or one is None:
            continue
        left, missing = set(codes), bool(tree.missing_left[node])

        def goes_left(code: float, left: set[int] = left, missing: bool = missing) -> bool:
            return missing if np.isnan(code) else int(code) in left

        sides = [goes_left(code) for code in one.stands_for.tolist()]
        sets[node] = tuple(np.flatnonzero(sides).tolist())
        if one.unseen is not None:
            unseen_left[node] = goes_left(one.unseen)
    same = np.array_equal(unseen_left, tree.unseen_left)
    if tuple(sets) == tree.left_categories and same:
        return tree
    return tree.replace(left_categories=tuple(sets), unseen_left=unseen_left)
