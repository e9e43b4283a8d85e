"""Cross-validated CART, the usual way to retrain, as a row to compare with.

The grid is the paper's (depth 3 to 12, min leaf 3 to 50). Each minimum leaf is grown once
per fold to the largest depth and cut, which gives the settings' trees at a tenth of the work.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from steadytree.evaluation.cross_fitting import Fold, make_folds
from steadytree.evaluation.scores import score_rows
from steadytree.growing.collections import PAPER_GRID
from steadytree.growing.fitting import TrainingData
from steadytree.tree.decision import Decision
from steadytree.tree.rows import CodedRows
from steadytree.tree.space import FeatureSpace
from steadytree.tree.tree import Tree


def grow_cart(
    data: TrainingData, some: NDArray[Any], *, max_depth: int, min_samples_leaf: int, seed: int
) -> Tree:
    """Grow CART on some of the rows."""
    kind = DecisionTreeRegressor if data.classes is None else DecisionTreeClassifier
    model = kind(max_depth=max_depth, min_samples_leaf=min_samples_leaf, random_state=seed)
    rows = data.rows
    weight = None if rows.weight is None else rows.weight[some]
    model.fit(data.columns[some], rows.y[some], sample_weight=weight)
    return data.read(model, some.size)


def grid_scores(
    data: TrainingData,
    folds: Sequence[Fold],
    *,
    depths: Sequence[int],
    min_leaves: Sequence[int],
    seed: int,
) -> NDArray[np.float64]:
    """AUC (or R²) of every setting, summed over the folds; a fold without a score counts 0.

    Of shape (n_min_leaves, n_depths).
    """
    y, classifier = data.rows.y, data.classes is not None
    total = np.zeros((len(min_leaves), len(depths)))
    for train, test in folds:
        for i, leaf in enumerate(min_leaves):
            deep = grow_cart(data, train, max_depth=max(depths), min_samples_leaf=leaf, seed=seed)
            for k, value in _values_by_depth(deep, data.rows.coded[test], depths):
                score = score_rows(y[test], value, classifier=classifier).value
                total[i, k] += 0.0 if np.isnan(score) else score
    return total


def _values_by_depth(
    tree: Tree, coded: NDArray[np.float64], depths: Sequence[int]
) -> Iterator[tuple[int, NDArray[np.float64]]]:
    """Predictions of the tree cut at each depth, by climbing from the leaf of each row."""
    node = tree.apply_coded(tree.round_values(coded))
    for k in np.argsort(depths)[::-1].tolist():
        while (below := tree.node_depth[node] > depths[k]).any():
            node = np.where(below, tree.parent[node], node)
        yield k, tree.value[node]


def cross_validated_cart(
    space: FeatureSpace,
    rows: CodedRows,
    *,
    classes: tuple[Any, ...] | None,
    decision: Decision | float | None = None,
    n_folds: int = 5,
    seed: int = 0,
) -> Tree:
    """Grow CART with depth and leaf size chosen by cross-validated AUC (or R²)."""
    # Positions stand for the classes, which may be of several types.
    positions = None if classes is None else np.arange(len(classes))
    data = TrainingData.from_rows(rows, space=space, classes=positions)
    # A class with a single row cannot be in every fold: then the rows are halved as they are.
    folds = make_folds(rows.y, classifier=classes is not None, n_folds=n_folds, seed=seed)
    folds = folds or make_folds(rows.y, classifier=False, n_folds=2, seed=seed)
    depths, min_leaves = PAPER_GRID["max_depth"], PAPER_GRID["min_samples_leaf"]
    scores = grid_scores(data, folds, depths=depths, min_leaves=min_leaves, seed=seed)
    i, k = divmod(int(scores.argmax()), len(depths))
    chosen = {"min_samples_leaf": min_leaves[i], "max_depth": depths[k]}
    tree = grow_cart(data, np.arange(len(rows)), seed=seed, **chosen)
    tree = tree.replace(classes=classes, metadata={**chosen, "edits": []})
    return tree.relabelled(decision)
