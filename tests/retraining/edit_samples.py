"""Deployed trees with rows to learn from, for the tests of the search."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from steadytree.growing.best_first import TaughtRows
from steadytree.growing.fitting import ColumnEncoder
from steadytree.growing.leaf_values import target_columns
from steadytree.retraining.edits.candidates import EditLimits
from steadytree.retraining.edits.search import PricedEdits
from steadytree.tree.tree import Tree
from tests.growing.mixed import mixed_table, space_of

PRICES = (np.inf, 0.5, 0.2, 0.05, 0.0)
LIMITS = EditLimits(min_leaf=10, max_depth=6, max_leaves=12)


def problem(task="binary", seed=0, n=400):
    """A deployed CART tree on some rows, and other rows with soft targets."""
    X, y = mixed_table(n, seed, task=task)
    space = space_of(X, y, task)
    encoder = ColumnEncoder(space)
    kind = DecisionTreeRegressor if task == "regression" else DecisionTreeClassifier
    model = kind(max_leaf_nodes=5, min_samples_leaf=5, random_state=seed)
    deployed = encoder.to_tree(model.fit(encoder.transform(space.encode(X))[:80], y[:80]))
    n_classes = None if task == "regression" else len(deployed.classes)
    coded = deployed.round_values(space.encode(X))
    rng = np.random.default_rng(seed)
    soft = target_columns(y, n_classes) * 0.8 + 0.1 * rng.random((n, 1))
    if n_classes == 3:
        soft /= soft.sum(axis=1, keepdims=True)
    return deployed, TaughtRows(coded, soft, np.ones(n), n, n_classes), space, X, y


def search(deployed, taught, space, locked=(), limits=LIMITS, decision=None, **changes):
    return PricedEdits(
        deployed,
        taught,
        space,
        limits=replace(limits, **changes),
        locked=locked,
        decision=decision,
    )


def stump(threshold, space, shares=(0.2, 0.8), **more):
    share = np.array([0.5, *shares])
    return Tree(
        children_left=[1, -1, -1],
        children_right=[2, -1, -1],
        feature=[0, -1, -1],
        threshold=[threshold, np.nan, np.nan],
        value=np.column_stack([1 - share, share]),
        classes=(0, 1),
        n_features=space.n_features,
        feature_names=space.names,
        categories=space.categories,
        space=space,
        **more,
    )
