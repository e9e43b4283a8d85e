"""Columns of codes, so that scikit-learn's trees, which compare numbers, can ask about categories.

For every set of categories that a tree asks about there is one column: 0 for what goes left, 1
for what goes right. An encoder puts those that go left first, the others behind them, missing
values and categories never met on the side where the tree sends them; a binarizer cuts between.
The tree stays what it is, node for node.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from steadytree.exceptions import UnsupportedModelError
from steadytree.tree.tree import Tree
from steadytree.writers.split_tests import SplitTest, split_test

__all__ = ["coded_columns"]


def coded_columns(tree: Tree) -> tuple[Any, Tree]:
    """Return a fitted ``ColumnTransformer``, and the tree over the columns that it makes."""
    from sklearn.compose import ColumnTransformer

    numbers = [j for j, categories in enumerate(tree.categories) if categories is None]
    place = {j: at for at, j in enumerate(numbers)}
    feature, threshold = np.array(tree.feature), np.array(tree.threshold)
    parts: list[Any] = []
    found: dict[Any, int] = {}
    for node in np.flatnonzero(~tree.is_leaf).tolist():
        column = int(tree.feature[node])
        if tree.left_categories[node] is None:
            feature[node] = place[column]
            continue
        test = split_test(tree, node)
        key = (column, test.left, test.missing_left, test.unseen_left)
        if key not in found:
            found[key] = len(numbers) + len(found)
            name = f"set {len(found)} of {test.name}"
            parts.append((name, _side_column(test), [_column(tree, column)]))
        feature[node], threshold[node] = found[key], 0.5
    if numbers:
        kept = [_column(tree, column) for column in numbers]
        parts.insert(0, ("numbers", "passthrough", kept))
    columns = ColumnTransformer(parts).fit(_frame_like(tree))
    changes: dict[str, Any] = {
        "feature": feature,
        "threshold": threshold,
        "n_features": len(numbers) + len(found),
        "left_categories": (),
        "unseen_left": None,
        "categories": (),
        "feature_names": None,
    }
    return columns, tree.replace(**changes)


def _column(tree: Tree, feature: int) -> str | int:
    return feature if tree.feature_names is None else tree.feature_names[feature]


def _side_column(test: SplitTest) -> Any:
    """Return steps that make 0 of what goes left and 1 of what goes right."""
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import Binarizer, OrdinalEncoder

    coded, n_left = _in_order(test)
    encoder = OrdinalEncoder(
        categories=[coded],
        handle_unknown="use_encoded_value",
        unknown_value=-1 if test.unseen_left else len(coded),
        encoded_missing_value=-2 if test.missing_left else len(coded) + 1,
    )
    return Pipeline([("codes", encoder), ("side", Binarizer(threshold=n_left - 0.5))])


def _in_order(test: SplitTest) -> tuple[NDArray[Any], int]:
    """Return the categories in the order of their codes, and how many of them go left."""
    every = test.left + test.right
    if _are_numbers(every):
        # scikit-learn wants numbers in order: only one side is named, the other is as unseen.
        named, means_left = test.listed
        if not named:
            named, means_left = every, test.unseen_left
        return np.array([*sorted(float(c) for c in named), np.nan]), len(named) * means_left
    if not all(isinstance(c, str) for c in every):
        raise UnsupportedModelError(
            f"expected categories of {test.name!r} that are all text or all numbers, as "
            "scikit-learn's encoders do, got both; write them alike, or export to Python"
        )
    # NaN has a code of its own; None is a category, and stands on the same side.
    left = [*test.left, None] if test.missing_left else [*test.left]
    right = [*test.right] if test.missing_left else [None, *test.right]
    return np.array([*left, *right, np.nan], dtype=object), len(left)


def _are_numbers(categories: tuple[Any, ...]) -> bool:
    return all(isinstance(c, (bool, int, float)) and float(c) == c for c in categories)


def _frame_like(tree: Tree) -> Any:
    """Return a row of the kind the tree reads, from which encoders learn their columns' types."""
    texts = [
        categories is not None and not _are_numbers(categories) for categories in tree.categories
    ]
    if tree.feature_names is None:
        return np.zeros((1, tree.n_features), dtype=object if any(texts) else np.float64)
    return pd.DataFrame(
        {
            name: pd.Series([0], dtype=object if text else np.float64)
            for name, text in zip(tree.feature_names, texts, strict=True)
        }
    )
