"""How mixed the outcomes at a node are, and how much each feature of a tree sorts them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from steadytree.core.tree import Tree

__all__ = ["feature_importances", "node_impurity"]


def node_impurity(tree: Tree) -> NDArray[np.float64]:
    """Gini of the shares; variance of the leaf values below a node, for regression."""
    if tree.classes is not None:
        return np.asarray(1 - (tree.value**2).sum(axis=1))
    value, weight, impurity = tree.value[:, 0], tree.weight, np.zeros(tree.n_nodes)
    with np.errstate(over="ignore", invalid="ignore"):  # values near the largest float
        for node in tree.preorder[::-1].tolist():
            if tree.is_leaf[node] or not weight[node] > 0:
                continue
            for child in (tree.children_left[node], tree.children_right[node]):
                within = impurity[child] + (value[child] - value[node]) ** 2
                impurity[node] += weight[child] * within / weight[node]
    return np.nan_to_num(impurity, nan=0.0)


def feature_importances(tree: Tree) -> NDArray[np.float64]:
    """Return the normalised total decrease of impurity brought by each feature."""
    split = np.flatnonzero(~tree.is_leaf)
    total = tree.weight * tree.impurity
    gain = total[split] - total[tree.children_left[split]] - total[tree.children_right[split]]
    out = np.bincount(tree.feature[split], weights=gain, minlength=tree.n_features)
    summed = out.sum()
    return np.asarray(out / summed if summed > 0 else out, dtype=np.float64)
