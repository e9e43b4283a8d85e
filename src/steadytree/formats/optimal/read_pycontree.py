"""Read the optimal trees of pycontree: thresholds on the numbers themselves."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadytree.plugins import (
    Branch,
    Leaf,
    Node,
    Tree,
    build_tree,
    choose_tree,
    is_a,
    not_fitted,
    with_version,
)

NUMBERED_CLASSES = True


def reads(model: Any) -> bool:
    """Whether this is a ConTree."""
    return is_a(model, "pycontree", "ConTree")


def read(model: Any, tree_index: int | None = None) -> Tree:
    """Convert a fitted ConTree, leaf by leaf the same labels.

    ``x <= threshold`` goes left, in doubles. The model keeps its training rows, of which the
    shares of each leaf are counted, as its ``predict_proba`` does. It refuses missing values;
    the tree sends them with the heavier side.
    """
    if getattr(model, "tree_", None) is None:
        raise not_fitted(model)
    choose_tree(1, tree_index, "a ConTree")
    classes, codes = np.unique(model.train_y_, return_inverse=True)
    position = {label: k for k, label in enumerate(classes.tolist())}
    table = np.asarray(model.train_X_, dtype=np.float64)

    def convert(node: Any, rows: NDArray[np.intp]) -> Node:
        counts = np.bincount(codes[rows], minlength=len(classes)).astype(np.float64)
        if node.is_leaf_node():
            label = position[int(node.get_label())]
            counts = counts if rows.size else np.eye(len(classes))[label]
            return Leaf(counts / counts.sum(), float(rows.size), label)
        feature, threshold = int(node.get_split_feature()), float(node.get_split_threshold())
        below = table[rows, feature] <= threshold
        return Branch(
            feature=feature,
            threshold=threshold,
            left=convert(node.get_left(), rows[below]),
            right=convert(node.get_right(), rows[~below]),
            missing_left=2 * int(below.sum()) >= rows.size,
        )

    names = getattr(model, "feature_names_in_", None)
    return build_tree(
        convert(model.get_tree(), np.arange(len(table))),
        n_features=table.shape[1],
        classes=tuple(classes.tolist()),
        feature_names=None if names is None else tuple(map(str, names)),
        metadata={"source": f"{with_version('pycontree')} ConTree", "n_training_rows": len(table)},
    )
