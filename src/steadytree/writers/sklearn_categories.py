"""Columns of codes, so that scikit-learn's trees, which compare numbers, can ask about categories.

For every set of categories that a tree asks about, one column is coded: those that go left come
first, the others behind them, and categories never met on the side where the tree sends them. A
split on the set is then one threshold, and the tree stays what it is, node for node.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from steadytree.core.tree import Tree
from steadytree.exceptions import UnsupportedModelError
from steadytree.writers.split_tests import SplitTest, split_test

__all__ = ["coded_columns"]


def coded_columns(tree: Tree) -> tuple[Any, Tree]:
    """Return a fitted ``ColumnTransformer``, and the tree over the columns that it makes."""
    from sklearn.compose import ColumnTransformer
    from sklearn.preprocessing import OrdinalEncoder

    numbers = [j for j, categories in enumerate(tree.categories) if categories is None]
    feature, threshold = np.array(tree.feature), np.array(tree.threshold)
    parts: list[Any] = []
    found: dict[Any, tuple[int, float]] = {}
    for node in np.flatnonzero(~tree.is_leaf).tolist():
        column = int(tree.feature[node])
        if tree.left_categories[node] is None:
            feature[node] = numbers.index(column)
            continue
        test = split_test(tree, node)
        key = (column, test.left, test.missing_left, test.unseen_left)
        if key not in found:
            coded, unknown, cut = _coding(test)
            found[key] = len(numbers) + len(found), cut
            encoder = OrdinalEncoder(
                categories=[coded], handle_unknown="use_encoded_value", unknown_value=unknown
            )
            parts.append((f"set {len(found)} of {test.name}", encoder, [_column(tree, column)]))
        feature[node], threshold[node] = found[key]
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


def _coding(test: SplitTest) -> tuple[NDArray[Any], int, float]:
    """Return the categories in the order of their codes, the code of others, and the cut."""
    if _are_numbers(test.left + test.right):
        # scikit-learn wants numbers in order: only the side that is named is coded.
        named, means_left = test.listed
        coded = np.array([*sorted(float(c) for c in named), np.nan])
        return (coded, len(coded), len(named) - 0.5) if means_left else (coded, -1, -0.5)
    if not all(isinstance(c, str) for c in test.left + test.right):
        raise UnsupportedModelError(
            f"expected categories of {test.name!r} that are all text or all numbers, as "
            "scikit-learn's encoders do, got both; write them alike, or export to Python"
        )
    # NaN goes where the split sends missing values; None is coded, so it stands on that side.
    left = [*test.left, None] if test.missing_left else [*test.left]
    right = [*test.right] if test.missing_left else [None, *test.right]
    ordered = np.array([*left, *right, np.nan], dtype=object)
    return ordered, -1 if test.unseen_left else len(ordered), len(left) - 0.5


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
