"""Trees rewritten as a deployed pipeline, or a table of one-hot columns, has them.

A pipeline with an imputer treats a missing income as, say, the median, so that no rule of its tree
can tell the two. A new tree that is to run in it can do nothing else: rows without an income are
learnt from as rows of the median, the column cannot be missing as far as the search knows, and
every split of a new tree sends missing values where it sends the median. Then the tree decides raw
rows as the pipeline will.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from steadytree._text import quoted, some_of
from steadytree.exceptions import InputError
from steadytree.tree.space import FeatureSpace

if TYPE_CHECKING:
    from steadytree.tree.tree import Tree

# -- categories that a deployed pipeline cannot tell apart -------------------------------
# A pipeline lumps infrequent categories together, and knows none that arrived since it was fitted.
# Rows of such categories are learnt from as rows of one of them, and every split of a new tree
# sends all of them the same way. Then the tree decides raw rows as the pipeline will.

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
        entry = named[name]
        code = {c: float(k) for k, c in enumerate(categories)}
        stands_for = np.arange(len(categories), dtype=np.float64)
        for group in entry["same"]:
            members = [code[c] for c in group if c in code]
            stands_for[np.array(members, dtype=np.intp)] = min(members, default=0.0)
        known = set(entry["categories"])
        fresh = [k for k, c in enumerate(categories) if c not in known]
        unseen: float | None = float(fresh[0]) if fresh else None
        if entry["unseen"] == "missing":
            unseen = float("nan")
        elif entry["unseen"] != "own" and entry["unseen"][0] in code:
            unseen = float(stands_for[int(code[entry["unseen"][0]])])
        if fresh and unseen is not None:
            stands_for[fresh] = unseen
        found[feature] = Lumps(stands_for, unseen)
    return found


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


# -- missing values that a deployed pipeline fills in ------------------------------------

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


def recoded_entries(tree: Tree) -> dict[str, Any]:
    """Return what the metadata of a tree made from this one should say of its pipeline."""
    entries = (IMPUTED, TAKES_MISSING, LUMPED)
    return {name: tree.metadata[name] for name in entries if tree.metadata.get(name)}


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
    return _asked_beside(one, feature) == _asked_beside(two, feature)


def _asked_beside(tree: Tree, feature: int) -> list[tuple[Any, ...]]:
    """List the splits and leaves that rows without a feature may meet, left before right."""
    out: list[tuple[Any, ...]] = []
    waiting = [0]
    while waiting:
        node = waiting.pop()
        left, right = int(tree.children_left[node]), int(tree.children_right[node])
        if tree.is_leaf[node]:
            out.append((int(tree.label[node]), tree.value[node].tolist()))
        elif tree.feature[node] == feature:
            waiting.append(left if tree.missing_left[node] else right)
        else:
            split = (
                int(tree.feature[node]),
                # NaN is not equal to itself.
                None if np.isnan(tree.threshold[node]) else float(tree.threshold[node]),
                tree.left_categories[node],
                bool(tree.missing_left[node]),
                bool(tree.unseen_left[node]),
            )
            out.append(split)
            waiting += (right, left)
    return out


# -- one-hot columns, rewritten as the categorical feature itself -----------------------
# ``colour_red <= 0.5`` says "colour is not red". Compared column by column, such splits look like
# unrelated features; recombined, {red} against {red, blue} is as close as it should be (the
# paper's category sets, Section 2.2).

MISSING = -1  # the "category" of a column that says "missing"


def categories_left(threshold: float, mine: int, count: int) -> tuple[tuple[int, ...], bool]:
    """Read a cut of the 0/1 column of one of ``count`` categories as a set of categories.

    Returns the categories that go left and whether missing values do; ``mine`` is the
    column's category, or ``MISSING``.
    """
    zeros_left, ones_left = threshold >= 0, threshold >= 1
    left = tuple(c for c in range(count) if (ones_left if c == mine else zeros_left))
    return left, ones_left if mine == MISSING else zeros_left


def recombine_one_hot(tree: Tree, space: FeatureSpace) -> Tree:
    """Merge the one-hot columns that a space groups into categorical features, node by node.

    The categorical feature takes the place of its group's first column. A row with no
    column set (missing or unknown category) goes where zeros went.
    """
    names = tree.feature_names or ()
    wanted = {g: columns for g, columns in space.one_hot.items() if {*names} & {*columns}}
    owner = {column: group for group, columns in wanted.items() for column in columns}
    if not wanted:
        return tree
    lacking = [column for column in owner if column not in names]
    if lacking or set(wanted) & set(names):
        got = f"one without {quoted(lacking)}" if lacking else "one with the feature itself as well"
        raise InputError(
            f"expected a tree over all one-hot columns of {some_of(list(wanted))}, got {got}; "
            "list the columns it was grown on in FeatureSpace(one_hot=)"
        )
    categories: dict[str, tuple[Any, ...] | None] = {}
    for name, listed in zip(names, tree.categories, strict=True):
        owned_by = owner.get(name)
        categories[owned_by or name] = tuple(wanted[owned_by].values()) if owned_by else listed
    position = {name: j for j, name in enumerate(categories)}
    new_index = np.array([position[owner.get(name, name)] for name in names])
    sets = list(tree.left_categories)
    missing_left = tree.missing_left.copy()
    unseen_left = tree.unseen_left.copy()
    for node in np.flatnonzero(tree.feature >= 0).tolist():
        name = names[tree.feature[node]]
        if name not in owner:
            continue
        columns = wanted[owner[name]]
        sets[node], missing_left[node] = categories_left(
            float(tree.threshold[node]), list(columns).index(name), len(columns)
        )
        unseen_left[node] = missing_left[node]
    return tree.replace(
        feature=np.where(tree.feature >= 0, new_index[tree.feature], -1),
        left_categories=tuple(sets),
        missing_left=missing_left,
        unseen_left=unseen_left,
        n_features=len(categories),
        feature_names=tuple(categories),
        categories=tuple(categories.values()),
        space=None if tree.space is None or tree.space.names == names else tree.space,
    )
