"""Let scikit-learn grow trees on mixed data, and read the result in the user's columns.

scikit-learn's trees take numbers only. Numeric columns pass as they are (NaN = missing), and
so do ordered categories, as their position in the order; any other categorical feature
becomes one 0/1 column per category, plus one for "missing" where that can happen. A tree
grown on these columns is written back, node by node, as a :class:`Tree` over the original
features with category sets.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadytree.core.decision import Decision
from steadytree.core.one_hot import MISSING, categories_left
from steadytree.core.space import FeatureSpace
from steadytree.core.tree import Tree

__all__ = ["ColumnEncoder"]


class ColumnEncoder:
    """Columns for scikit-learn from a coded table, and the way back.

    Parameters
    ----------
    space : FeatureSpace
        Says which features are categorical and which can be missing.

    Attributes
    ----------
    column_feature : int array (n_columns,)
        The feature each column comes from.
    column_category : int array (n_columns,)
        For a 0/1 column its category code (-1: "missing"); -2 for a column of numbers or of
        positions in an order.
    """

    def __init__(self, space: FeatureSpace) -> None:
        self.space = space
        features: list[int] = []
        categories: list[int] = []
        for j, cats in enumerate(space.categories):
            if cats is None or space.by_order[j]:
                features.append(j)
                categories.append(-2)
                continue
            codes = [*range(len(cats)), *([MISSING] if space.can_be_missing[j] else [])]
            # Two columns that are each other's complement would be the same split twice.
            kept = codes[1:] if len(codes) == 2 else codes
            features += [j] * len(kept)
            categories += kept
        self.column_feature = np.array(features, dtype=np.int64)
        self.column_category = np.array(categories, dtype=np.int64)

    @property
    def n_columns(self) -> int:
        """Number of columns scikit-learn sees."""
        return int(self.column_feature.size)

    @property
    def is_trivial(self) -> bool:
        """Whether all features are numeric: the columns are the features."""
        return not any(self.space.categories)

    def transform(self, coded: NDArray[np.float64]) -> NDArray[np.float32]:
        """Columns for scikit-learn from a table coded by ``space.encode``."""
        if self.is_trivial:
            return coded.astype(np.float32)
        out = np.empty((len(coded), self.n_columns), dtype=np.float32)
        for k, (j, category) in enumerate(
            zip(self.column_feature.tolist(), self.column_category.tolist(), strict=True)
        ):
            values = coded[:, j]
            if category == -2:
                out[:, k] = values
            elif category == MISSING:
                out[:, k] = np.isnan(values)
            else:
                out[:, k] = values == category
        return out

    def split(
        self, column: int, threshold: float, missing_left: bool
    ) -> tuple[int, float, tuple[int, ...] | None, bool]:
        """One split on a column in the original feature: as in Tree, feature to missing_left."""
        j, category = int(self.column_feature[column]), int(self.column_category[column])
        count = len(self.space.categories[j] or ())
        if category == -2 and count == 0:
            return j, threshold, None, missing_left
        if category == -2:
            left = tuple(code for code in range(count) if code <= threshold)
            return j, np.nan, left, missing_left
        return j, np.nan, *categories_left(threshold, category, count)

    def to_tree(
        self,
        model: Any,
        *,
        classes: tuple[Any, ...] | None = None,
        decision: Decision | float | None = None,
        metadata: dict[str, Any] | None = None,
    ) -> Tree:
        """Write a scikit-learn tree grown on the columns as a tree over the features.

        ``classes`` are all classes of the problem, where a bootstrap may have lost some; by
        default the model's own.
        """
        inner = model.tree_
        raw = np.asarray(inner.value)[:, 0, :]
        own = tuple(np.asarray(model.classes_).tolist()) if hasattr(model, "classes_") else None
        value = raw
        if own is not None:
            classes = classes or own
            shares = raw / raw.sum(axis=1, keepdims=True)
            value = np.zeros((len(raw), len(classes)))
            value[:, [classes.index(c) for c in own]] = shares
        n = inner.node_count
        feature = np.full(n, -1, dtype=np.int32)
        threshold = np.full(n, np.nan)
        missing_left = np.zeros(n, dtype=bool)
        sets: list[tuple[int, ...] | None] = [None] * n
        if self.is_trivial:
            feature = np.where(inner.children_left >= 0, inner.feature, -1)
            threshold, missing_left = inner.threshold, inner.missing_go_to_left.astype(bool)
        else:
            for node in np.flatnonzero(inner.children_left >= 0).tolist():
                feature[node], threshold[node], sets[node], missing_left[node] = self.split(
                    int(inner.feature[node]),
                    float(inner.threshold[node]),
                    bool(inner.missing_go_to_left[node]),
                )
        return Tree(
            children_left=inner.children_left,
            children_right=inner.children_right,
            feature=feature,
            threshold=threshold,
            left_categories=tuple(sets),
            missing_left=missing_left,
            value=value,
            weight=inner.weighted_n_node_samples,
            classes=classes if own is not None else None,
            n_features=self.space.n_features,
            feature_names=self.space.names,
            categories=self.space.categories,
            precision="float32",
            decision=Decision.of(decision),
            impurity=inner.impurity,
            space=self.space,
            metadata={"n_training_rows": int(inner.n_node_samples[0]), **(metadata or {})},
        )
