"""Rewrite a tree over one-hot columns as a tree over the categorical feature itself.

``colour_red <= 0.5`` says "colour is not red". Compared column by column, such splits
look like unrelated features; recombined, {red} against {red, blue} is as close as it
should be (the paper's category sets, Section 2.2).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from steadytree._text import quoted
from steadytree.exceptions import InputError

if TYPE_CHECKING:
    from steadytree.tree.tree import Tree

MISSING = -1  # the "category" of a column that says "missing"

Groups = Mapping[str, Mapping[str, Any] | Sequence[str]]


def normalise_groups(groups: Groups) -> dict[str, dict[str, Any]]:
    """Write every group as {column: category}.

    A plain list of columns names its categories by the column without the group's name:
    ``{"colour": ["colour_red"]}`` gives the category "red".
    """
    out: dict[str, dict[str, Any]] = {}
    for group, columns in groups.items():
        if isinstance(columns, Mapping):
            out[group] = dict(columns)
        elif isinstance(columns, str):
            raise InputError(
                f"expected a list of columns for one-hot group {group!r}, got {columns!r}"
            )
        else:
            out[group] = {
                column: column.removeprefix(group).lstrip("_=.") or column for column in columns
            }
        if len(set(out[group].values())) != len(out[group]) or not out[group]:
            raise InputError(
                f"expected distinct categories in one-hot group {group!r}, "
                f"got {quoted(list(out[group].values()))}; give them as {{column: category}}"
            )
    return out


def categories_left(threshold: float, mine: int, count: int) -> tuple[tuple[int, ...], bool]:
    """Read a cut of the 0/1 column of one of ``count`` categories as a set of categories.

    Returns the categories that go left and whether missing values do; ``mine`` is the
    column's category, or ``MISSING``.
    """
    zeros_left, ones_left = threshold >= 0, threshold >= 1
    left = tuple(c for c in range(count) if (ones_left if c == mine else zeros_left))
    return left, ones_left if mine == MISSING else zeros_left


def recombine_one_hot(tree: Tree, groups: Groups) -> Tree:
    """Merge one-hot columns into categorical features, node by node.

    The categorical feature takes the place of its group's first column. A row with no
    column set (missing or unknown category) goes where zeros went. Groups are
    ``{"colour": ["colour_red", "colour_blue"]}`` or, with the categories' own values,
    ``{"colour": {"colour_red": "red", "colour_blue": "blue"}}``.
    """
    wanted = normalise_groups(groups)
    if tree.feature_names is None:
        raise InputError(
            "expected a tree with feature names to recombine one-hot columns, got none; "
            "fit the model on a frame with named columns"
        )
    names = tree.feature_names
    owner: dict[str, str] = {}
    for group, columns in wanted.items():
        lacking = [c for c in columns if c not in names]
        if lacking:
            raise InputError(
                f"expected the columns of one-hot group {group!r} among the tree's features, "
                f"got {quoted(lacking)}, which it does not have"
            )
        if group in names and group not in columns:
            raise InputError(f"expected a new name for the one-hot group, got {group!r}, a column")
        for column in columns:
            if column in owner:
                raise InputError(f"expected {column!r} in one one-hot group, got it in two")
            owner[column] = group
    new_names: list[str] = []
    position: dict[str, int] = {}
    new_index = np.zeros(tree.n_features, dtype=np.int32)
    categories: list[tuple[Any, ...] | None] = []
    for j, name in enumerate(names):
        target = owner.get(name, name)
        if target not in position:
            position[target] = len(new_names)
            new_names.append(target)
            group_columns = wanted.get(target) if name in owner else None
            categories.append(
                tuple(group_columns.values()) if group_columns else tree.categories[j]
            )
        new_index[j] = position[target]
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
        n_features=len(new_names),
        feature_names=tuple(new_names),
        categories=tuple(categories),
        label=tree.label,
        space=None if tree.space is None or tree.space.names == names else tree.space,
    )
