"""Notice that a column of the rows is not what the trees were made for.

A plan counts rows. Where a column that the trees use is empty, in other units or coded
otherwise, every row goes to the same side of every split on it: two trees that differ there
decide alike, and a limit on changed decisions is held by rows that say nothing. So each column
in use is held against what the trees and their space remember of it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from steadytree.tree.columns import column_names, column_values
from steadytree.tree.space import FeatureSpace
from steadytree.tree.tree import Tree

FloatArray = NDArray[np.float64]

ORDER_OF_MAGNITUDE = 10.0
OUTSIDE_SHARE = 0.05
"""More values than this share beyond the known range are more than a few outliers."""
MOST_OUTSIDE = 0.5
"""Beyond the known range a move of a threshold costs nothing: no limit on change holds there."""
FEWEST_VALUES = 20
UNKNOWN_SHARE = 0.5
"""A column is taken for coded otherwise where more than this share of its values is unknown."""
MISSING_SHARE = 0.5
"""A column that was never missing is taken for broken where more than this share of it is."""
EXPECTED_SHARE = 0.05
CHANCE = 1e-6
"""A side that had ``EXPECTED_SHARE`` of the rows or more is not left empty by chance if that is
less likely than this."""


def changed_columns(
    trees: Sequence[Tree],
    space: FeatureSpace,
    coded: FloatArray,
    *,
    old: FloatArray | None = None,
    unknown: Mapping[int, float] | None = None,
    everywhere: bool = False,
) -> dict[int, str]:
    """Say which columns that the trees use do not look like those they were made for, and why.

    Parameters
    ----------
    trees : sequence of Tree
        Written in ``space``.
    space : FeatureSpace
        What is known of each feature: its range, its categories, whether it can be missing.
    coded : array
        The rows as the space codes them.
    old : array, optional
        Earlier rows, coded alike.
    unknown : mapping of int to float, optional
        Share of the values of a categorical column that are none of its categories.
    everywhere : bool, default False
        Look for other units in columns that no tree uses as well.

    Returns
    -------
    dict
        By position of the feature, words that go on after its name: "is empty in these rows".
    """
    found: dict[int, str] = {}
    used = frozenset[int]().union(*(tree.used_features for tree in trees))
    if not len(coded):
        return found
    for j in sorted(used):
        gone = float(np.isnan(coded[:, j]).mean())
        strange = (unknown or {}).get(j, 0.0)
        if strange > UNKNOWN_SHARE:
            found[j] = f"has unknown categories in {strange:.0%} of these rows"
        elif gone == 1:
            found[j] = "is empty in these rows"
        elif gone > MISSING_SHARE and not space.can_be_missing[j]:
            found[j] = f"is missing in {gone:.0%} of these rows and never was before"
    among = None if everywhere else used
    for tree in trees:
        found = {**changed_units(space, tree, coded, old, among=among), **found}
    for tree in trees:
        open_ones = sorted(tree.used_features - set(found))
        reached = _reached(tree, coded) if open_ones else None
        for j in open_ones:
            if reached is not None and (words := _one_sided(tree, j, reached)):
                found[j] = words
    for j in sorted(used - set(found)):
        if (beyond := _share_outside(space, j, coded[:, j])) > MOST_OUTSIDE:
            found[j] = f"lies outside the known range in {beyond:.0%} of these rows"
    return found


def _share_outside(space: FeatureSpace, j: int, values: FloatArray) -> float:
    """Share of a numeric column's values that lie beyond the range."""
    values = values[~np.isnan(values)]
    if space.categories[j] is not None or values.size < FEWEST_VALUES:
        return 0.0
    return float(((values < space.lower[j]) | (values > space.upper[j])).mean())


def unknown_shares(
    X: Any, space: FeatureSpace, coded: FloatArray, among: Collection[int]
) -> dict[int, float]:
    """Share of each categorical column's values that are there but none of its categories."""
    names = column_names(X)
    shares = {}
    for j in among:
        name = space.feature_labels[j] if names is not None else j
        if space.categories[j] is None or (names is not None and name not in names):
            continue
        there = ~np.asarray(pd.isna(column_values(X, name)), dtype=bool)
        if there.any():
            shares[j] = float(np.isnan(coded[there, j]).mean())
    return shares


def _reached(tree: Tree, coded: FloatArray) -> FloatArray:
    """Count the rows that come to each node."""
    leaves = tree.apply_coded(tree.round_values(coded))
    reached = np.bincount(leaves, minlength=tree.n_nodes).astype(np.float64)
    for node in tree.preorder[::-1].tolist():
        if not tree.is_leaf[node]:
            reached[node] = reached[tree.children_left[node]] + reached[tree.children_right[node]]
    return reached


def _one_sided(tree: Tree, j: int, reached: FloatArray) -> str | None:
    """Say that no row goes to a side where many went before, at every split on a feature."""
    empty_share = 0.0
    for node in np.flatnonzero(tree.feature == j).tolist():
        sides = [tree.children_left[node], tree.children_right[node]]
        count, weight = reached[sides], tree.weight[sides]
        if count.sum() < FEWEST_VALUES or not weight.sum() > 0:
            continue
        if count.all():
            return None
        share = float((weight / weight.sum())[count == 0].max())
        if share >= EXPECTED_SHARE and (1 - share) ** count.sum() < CHANCE:
            empty_share = max(empty_share, share)
    if not empty_share:
        return None
    return f"sends all of these rows to one side, where {empty_share:.0%} went to the other before"


def changed_units(
    space: FeatureSpace,
    tree: Tree,
    new: FloatArray,
    old: FloatArray | None,
    *,
    among: Collection[int] | None = None,
) -> dict[int, str]:
    """Say which numeric columns moved by an order of magnitude.

    Against the stored range: the new values go ten times beyond it (and more than a few of
    them), or all stay below a tenth of it, on one side of every threshold of the tree. Against
    old rows: their medians, zeros left out, differ ten times. ``tree`` is written in ``space``.
    """
    found = {}
    for j in range(space.n_features) if among is None else sorted(among):
        values = new[:, j][~np.isnan(new[:, j])]
        if space.categories[j] is not None or values.size < FEWEST_VALUES:
            continue
        was = float(max(abs(space.lower[j]), abs(space.upper[j])))
        now = float(np.abs(values).max())
        moved = _beyond(values, space, j, was, now) or _shrunk(values, tree, j, was, now)
        if not moved and old is not None:
            before = old[:, j][~np.isnan(old[:, j])]
            moved = _medians_differ(before, values)
            was = float(np.abs(before).max()) if moved else was
        if moved:
            found[j] = f"runs to about {_number(now)}; it ran to about {_number(was)}: other units?"
    return found


def _beyond(values: FloatArray, space: FeatureSpace, j: int, was: float, now: float) -> bool:
    outside = _share_outside(space, j, values)
    return bool(was > 0 and now >= ORDER_OF_MAGNITUDE * was and outside > OUTSIDE_SHARE)


def _shrunk(values: FloatArray, tree: Tree, j: int, was: float, now: float) -> bool:
    cuts = tree.threshold[(tree.feature == j) & np.isfinite(tree.threshold)]
    one_side = ((cuts < values.min()) | (cuts >= values.max())).all()
    return bool(cuts.size and one_side and now * ORDER_OF_MAGNITUDE <= was)


def _medians_differ(old: FloatArray, new: FloatArray) -> bool:
    sizes = [np.abs(part[part != 0]) for part in (old, new)]
    if min(part.size for part in sizes) < FEWEST_VALUES:
        return False
    low, high = sorted(float(np.median(part)) for part in sizes)
    return high >= ORDER_OF_MAGNITUDE * low


def _number(value: float) -> str:
    """Write the size of a number; the largest value itself may be one person's."""
    size = float(f"{value:.0e}")
    return f"{size:,.0f}" if 1000 <= size < 1e15 else f"{size:g}"
