"""Cross-validated CART, the usual way to retrain, as a row to compare with.

The grid is the paper's (depth 3 to 12, min leaf 3 to 50). Each minimum leaf is grown once
per fold to the largest depth and truncated, which gives the settings' trees at a tenth of
the work.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from steadytree.core.rows import CodedRows
from steadytree.core.space import FeatureSpace
from steadytree.core.tree import Tree
from steadytree.evaluation.folds import make_folds
from steadytree.evaluation.predictions import predict_rows
from steadytree.evaluation.scores import score_rows
from steadytree.growing.encoding import ColumnEncoder

__all__ = ["cross_validated_cart"]

DEPTHS = tuple(range(3, 13))
MIN_LEAVES = (3, 5, 10, 30, 50)


def cross_validated_cart(
    space: FeatureSpace,
    rows: CodedRows,
    *,
    classes: tuple[Any, ...] | None,
    decision_threshold: float | None = None,
    n_folds: int = 5,
    seed: int = 0,
) -> Tree:
    """Grow CART with depth and leaf size chosen by cross-validated AUC (or R²)."""
    encoder = ColumnEncoder(space)
    columns = encoder.transform(rows.coded)
    kind = DecisionTreeRegressor if classes is None else DecisionTreeClassifier
    everyone = None if classes is None else tuple(range(len(classes)))

    def grow(some: NDArray[np.intp], min_leaf: int, depth: int) -> Tree:
        model = kind(max_depth=depth, min_samples_leaf=min_leaf, random_state=seed)
        weight = None if rows.weight is None else rows.weight[some]
        model.fit(columns[some], rows.y[some], sample_weight=weight)
        return encoder.to_tree(model, classes=everyone)

    # A class with a single row cannot be in every fold: then the rows are halved as they are.
    folds = make_folds(rows.y, classifier=classes is not None, n_folds=n_folds, seed=seed)
    folds = folds or make_folds(rows.y, classifier=False, n_folds=2, seed=seed)
    scores = np.zeros((len(MIN_LEAVES), len(DEPTHS)))
    for train, test in folds:
        for i, min_leaf in enumerate(MIN_LEAVES):
            deep = grow(train, min_leaf, DEPTHS[-1])
            for k, depth in enumerate(DEPTHS):
                value = predict_rows(deep.truncate(depth), rows.coded[test]).value
                score = score_rows(rows.y[test], value, classifier=classes is not None).value
                scores[i, k] += 0.0 if np.isnan(score) else score
    i, k = divmod(int(scores.argmax()), len(DEPTHS))
    tree = grow(np.arange(len(rows)), MIN_LEAVES[i], DEPTHS[k])
    return tree.relabelled(decision_threshold).replace(
        classes=classes,
        metadata={"min_samples_leaf": MIN_LEAVES[i], "max_depth": DEPTHS[k], "edits": []},
    )
