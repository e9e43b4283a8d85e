"""A tree's nodes inside a fitted scikit-learn tree, and its threshold around one.

scikit-learn has no call that takes nodes; what it restores from a pickle is filled in instead, in
the layout of the installed version.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadytree.readers.sklearn.trees import NOT_OBSERVED
from steadytree.tree.tree import Tree

__all__ = ["children_last", "decided_by_threshold", "fitted_tree"]


def children_last(tree: Tree) -> Tree:
    """Return a tree whose nodes are numbered above their parents', as scikit-learn expects."""
    inner = np.flatnonzero(~tree.is_leaf)
    first = np.minimum(tree.children_left, tree.children_right)[inner]
    return tree if (first > inner).all() else tree.prune_at()


def fitted_tree(tree: Tree, shares: NDArray[np.float64], kind: Any = None) -> Any:
    """Return a fitted scikit-learn tree with the nodes of a tree over numbers.

    ``shares`` are its node values; ``kind`` is an unfitted model to fill, by default a new one.
    """
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
    from sklearn.tree._tree import Tree as SklearnTree

    model = kind
    if model is None:
        model = DecisionTreeClassifier() if tree.is_classifier else DecisionTreeRegressor()
    model.n_features_in_ = model.max_features_ = tree.n_features
    model.n_outputs_ = 1
    if tree.feature_names is not None:
        model.feature_names_in_ = np.array(tree.feature_names, dtype=object)
    n_values = 1
    if tree.classes is not None:
        model.classes_ = tree.class_names(np.arange(len(tree.classes)))
        n_values = len(tree.classes)
        model.n_classes_ = np.int64(n_values)
    inside = SklearnTree(tree.n_features, np.array([n_values], dtype=np.intp), 1)
    inside.__setstate__(
        {
            "max_depth": tree.depth,
            "node_count": tree.n_nodes,
            "nodes": _node_table(tree),
            "values": np.ascontiguousarray(shares[:, None, :]),
        }
    )
    model.tree_ = inside
    if not _values_are_observed(tree):
        setattr(model, NOT_OBSERVED, True)
    return model


def _values_are_observed(tree: Tree) -> bool:
    """Whether a tree predicts what was observed in its nodes, as scikit-learn's own trees do."""
    if tree.observed is None:
        return False
    return bool(np.allclose(tree.value, tree.observed.rate(), rtol=1e-12, atol=0))


def _node_table(tree: Tree) -> NDArray[Any]:
    """Return the nodes as the installed scikit-learn lays them out."""
    from sklearn.tree import DecisionTreeRegressor

    # Of a tree that it has fitted itself: versions differ in the columns.
    layout = DecisionTreeRegressor().fit([[0.0]], [0.0]).tree_.__getstate__()["nodes"].dtype
    rows = tree.weight if tree.observed is None else tree.observed.rows()
    columns = {
        "left_child": tree.children_left,
        "right_child": tree.children_right,
        "feature": np.where(tree.is_leaf, -2, tree.feature),
        "threshold": np.where(tree.is_leaf, -2.0, tree.threshold),
        "impurity": tree.impurity,
        "n_node_samples": np.round(rows).astype(np.int64),
        "weighted_n_node_samples": tree.weight,
        "missing_go_to_left": tree.missing_left & ~tree.is_leaf,
    }
    table = np.zeros(tree.n_nodes, dtype=layout)
    for name, values in columns.items():
        table[name] = values
    return table


def decided_by_threshold(model: Any, tree: Tree) -> Any:
    """Let a fitted classifier decide by the tree's threshold, where it has one."""
    if tree.decision_threshold is None:
        return model
    from sklearn.frozen import FrozenEstimator
    from sklearn.model_selection import FixedThresholdClassifier

    around = FixedThresholdClassifier(
        FrozenEstimator(model),
        threshold=tree.decision_threshold,
        pos_label=(tree.classes or ())[tree.decision.position],
        response_method="predict_proba",
    )
    # What fit() would set; there are no rows to call it with.
    around.estimator_ = model
    for name in ("n_features_in_", "feature_names_in_"):
        if hasattr(model, name):
            setattr(around, name, getattr(model, name))
    return around
