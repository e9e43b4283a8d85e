"""Trees rewritten as a deployed pipeline, or a table of one-hot columns, has them.

A pipeline with an imputer treats a missing income as, say, the median, so that no rule of its tree
can tell the two. A new tree that is to run in it can do nothing else: rows without an income are
learnt from as rows of the median, the column cannot be missing as far as the search knows, and
every split of a new tree sends missing values where it sends the median. Then the tree decides raw
rows as the pipeline will.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from steadytree._text import quoted, some_of
from steadytree.exceptions import InputError
from steadytree.tree.space import FeatureSpace

if TYPE_CHECKING:
    from steadytree.tree.tree import Tree

FloatArray = NDArray[np.float64]

# -- values that a deployed pipeline cannot tell apart ------------------------------------
# A pipeline fills in missing values, lumps infrequent categories together, and knows none that
# arrived since it was fitted. Rows of such values are learnt from as rows of what stands for them,
# and every split of a new tree sends all of them the same way.

IMPUTED = "imputed"
"""Where a tree's metadata names the columns, and what stands for a missing value of each."""

TAKES_MISSING = "takes_missing"
"""Where it names columns of numbers whose missing values its pipeline fills in and flags."""

LUMPED = "pipeline_categories"
"""Where it says, by column, which categories its pipeline knows and lumps."""


@dataclass(frozen=True)
class StandIn:
    """What stands for the values of a feature.

    ``missing``: the number, or the code of the category, that stands for a missing value; NaN:
    it stays missing. ``codes[code]``: the code of what stands for a category, NaN: a missing
    value; empty: each stands for itself. ``unseen``: the same for a category that nobody has met;
    None: a point of its own.
    """

    missing: float = math.nan
    codes: FloatArray = field(default_factory=lambda: np.zeros(0))
    unseen: float | None = None


def stand_ins(tree: Tree, space: FeatureSpace) -> dict[int, StandIn]:
    """Return what stands for the values of features whose pipeline does not tell all apart."""
    filled: Mapping[str, Any] = tree.metadata.get(IMPUTED) or {}
    lumped: Mapping[str, Any] = tree.metadata.get(LUMPED) or {}
    found: dict[int, StandIn] = {}
    for feature, name in enumerate(space.feature_labels):
        categories = space.categories[feature]
        missing = math.nan
        if name in filled and categories is None:
            missing = float(filled[name])
        elif categories is not None and name in filled and filled[name] in categories:
            missing = float(categories.index(filled[name]))
        if categories is not None and name in lumped:
            found[feature] = StandIn(missing, *_lumped(lumped[name], categories))
        elif not math.isnan(missing):
            found[feature] = StandIn(missing)
    return found


def _lumped(
    entry: Mapping[str, Any], categories: tuple[Any, ...]
) -> tuple[FloatArray, float | None]:
    """Return the code of what stands for each category, and for one that nobody has met."""
    code = {c: float(k) for k, c in enumerate(categories)}
    codes = np.arange(len(categories), dtype=np.float64)
    for group in entry["same"]:
        members = [code[c] for c in group if c in code]
        codes[np.array(members, dtype=np.intp)] = min(members, default=0.0)
    known = set(entry["categories"])
    fresh = [k for k, c in enumerate(categories) if c not in known]
    unseen: float | None = float(fresh[0]) if fresh else None
    if entry["unseen"] == "missing":
        unseen = math.nan
    elif entry["unseen"] != "own" and entry["unseen"][0] in code:
        unseen = float(codes[int(code[entry["unseen"][0]])])
    if fresh and unseen is not None:
        codes[fresh] = unseen
    return codes, unseen


def fill_in(coded: FloatArray, found: Mapping[int, StandIn]) -> FloatArray:
    """Return coded rows with what stands for each value in its place."""
    if not found:
        return coded
    out = coded.copy()
    for feature, one in found.items():
        column = out[:, feature]
        if one.codes.size:
            known = ~np.isnan(column)
            column[known] = one.codes[column[known].astype(np.intp)]
        column[np.isnan(column)] = one.missing
    return out


def with_stand_ins(tree: Tree, found: Mapping[int, StandIn]) -> Tree:
    """Return a tree whose splits send each value where what stands for it goes."""
    sets = list(tree.left_categories)
    missing_left, unseen_left = tree.missing_left.copy(), tree.unseen_left.copy()
    for node in np.flatnonzero(np.isin(tree.feature, [*found])).tolist():
        one, codes = found[int(tree.feature[node])], tree.left_categories[node]
        if not math.isnan(one.missing):
            value = tree.round_values(np.array([one.missing]))
            missing_left[node] = tree.goes_left(np.array([node]), value)[0]
        if codes is None or not one.codes.size:
            continue
        listed = np.isin(one.codes, codes) | (np.isnan(one.codes) & missing_left[node])
        sets[node] = tuple(np.flatnonzero(listed).tolist())
        if one.unseen is not None:
            as_missing = math.isnan(one.unseen)
            unseen_left[node] = missing_left[node] if as_missing else one.unseen in codes
    changed = tree.replace(
        left_categories=tuple(sets), missing_left=missing_left, unseen_left=unseen_left
    )
    return tree if changed == tree else changed


def never_missing(space: FeatureSpace, tree: Tree) -> FeatureSpace:
    """Return a space in which the columns that a tree has filled in cannot be missing."""
    named = tree.metadata.get(IMPUTED) or {}
    filled = np.array([name in named for name in space.feature_labels], dtype=bool)
    return _with_missing(space, space.can_be_missing & ~filled)


def may_be_missing(space: FeatureSpace, found: Mapping[int, StandIn]) -> FeatureSpace:
    """Return a space in which features can be missing of which a category counts as missing."""
    flags = space.can_be_missing.copy()
    for feature, one in found.items():
        flags[feature] |= np.isnan(one.codes).any()
    return _with_missing(space, flags)


def _with_missing(space: FeatureSpace, flags: NDArray[np.bool_]) -> FeatureSpace:
    same = np.array_equal(flags, space.can_be_missing)
    return space if same else space.replace(can_be_missing=flags)


def recoded_entries(tree: Tree) -> dict[str, Any]:
    """Return what the metadata of a tree made from this one should say of its pipeline."""
    entries = (IMPUTED, TAKES_MISSING, LUMPED)
    return {name: tree.metadata[name] for name in entries if tree.metadata.get(name)}


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
