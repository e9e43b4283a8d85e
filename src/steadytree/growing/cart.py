"""Cross-validated CART, the usual way to retrain, as a row to compare with.

The grid is the paper's (depth 3 to 12, min leaf 3 to 50). Each minimum leaf is grown once
per fold to the largest depth and cut, which gives the settings' predictions at a tenth of
the work.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from steadytree.core.rows import CodedRows
from steadytree.core.space import FeatureSpace
from steadytree.core.tree import Tree
from steadytree.evaluation.folds import Fold, make_folds
from steadytree.evaluation.scores import score_rows
from steadytree.growing.encoding import ColumnEncoder

__all__ = ["cross_validated_cart", "grid_scores"]

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
    scores = grid_scores(
        grow,
        lambda value, test: score_rows(rows.y[test], value, classifier=classes is not None).value,
        rows.coded,
        folds,
        depths=DEPTHS,
        min_leaves=MIN_LEAVES,
    )
    i, k = divmod(int(scores.argmax()), len(DEPTHS))
    tree = grow(np.arange(len(rows)), MIN_LEAVES[i], DEPTHS[k])
    return tree.relabelled(decision_threshold).replace(
        classes=classes,
        metadata={"min_samples_leaf": MIN_LEAVES[i], "max_depth": DEPTHS[k], "edits": []},
    )


def grid_scores(
    grow: Callable[[NDArray[np.intp], int, int], Tree],
    score: Callable[[NDArray[np.float64], NDArray[np.intp]], float],
    coded: NDArray[np.float64],
    folds: Iterable[Fold],
    *,
    depths: Sequence[int],
    min_leaves: Sequence[int],
) -> NDArray[np.float64]:
    """Sum over the folds the score of every setting of a grid; who chooses breaks the ties.

    Parameters
    ----------
    grow : callable
        Rows, minimum leaf and depth -> tree.
    score : callable
        Predictions and the rows they are for -> score; NaN counts as 0.
    coded : float array (n, n_features)
    folds : iterable of (train, test)
    depths, min_leaves : sequence of int

    Returns
    -------
    float array (n_min_leaves, n_depths)
    """
    total = np.zeros((len(min_leaves), len(depths)))
    for train, test in folds:
        for i, min_leaf in enumerate(min_leaves):
            deep = grow(train, min_leaf, max(depths))
            for k, value in enumerate(_cut_predictions(deep, coded[test], depths)):
                found = score(value, test)
                total[i, k] += 0.0 if np.isnan(found) else found
    return total


def _cut_predictions(
    tree: Tree, coded: NDArray[np.float64], depths: Sequence[int]
) -> Iterator[NDArray[np.float64]]:
    """Predictions of the tree cut at each depth, its rows sent down only once."""
    inner = np.flatnonzero(~tree.is_leaf)
    parent = np.zeros(tree.n_nodes, dtype=np.intp)
    for children in (tree.children_left, tree.children_right):
        parent[children[inner]] = inner
    leaf = tree.apply_coded(tree.round_values(coded))
    for depth in depths:
        node = np.arange(tree.n_nodes)
        while (deep := tree.node_depth[node] > depth).any():
            node[deep] = parent[node[deep]]
        yield tree.value[node[leaf]]
