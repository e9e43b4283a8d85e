"""Small searches for the tests of certificates."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from steadytree.growing.best_first import TaughtRows
from steadytree.growing.fitting import ColumnEncoder
from steadytree.growing.leaf_values import target_columns
from steadytree.growing.nodes import leaves_of
from steadytree.retraining.edits.candidates import EditLimits
from steadytree.retraining.edits.search import PricedEdits
from steadytree.tree.decision import STEADY
from tests.growing.mixed import mixed_table, space_of

LIMITS = EditLimits(min_leaf=6, max_depth=2, max_leaves=4)
TASKS = ("binary", "multiclass", "regression")


def small_search(task, seed, n=80, leaves=3, steady=STEADY, limits=LIMITS, deployed_share=0.0):
    """A deployed tree of few leaves, and rows with weights, soft targets and missing values."""
    X, y = mixed_table(n, seed, task=task)
    space = space_of(X, y, task)
    encoder = ColumnEncoder(space)
    kind = DecisionTreeRegressor if task == "regression" else DecisionTreeClassifier
    model = kind(max_leaf_nodes=leaves, min_samples_leaf=5, random_state=seed)
    deployed = encoder.to_tree(model.fit(encoder.transform(space.encode(X))[: n // 2], y[: n // 2]))
    n_classes = None if task == "regression" else len(deployed.classes)
    coded = deployed.round_values(space.encode(X))
    rng = np.random.default_rng(seed)
    soft = target_columns(y, n_classes) * 0.6 + 0.3 * rng.random((n, 1))
    if n_classes == 3:
        soft /= soft.sum(axis=1, keepdims=True)
    weight = rng.uniform(0.5, 2.0, n)
    taught = TaughtRows(
        coded,
        soft,
        weight,
        n,
        n_classes,
        target_columns(y, n_classes),
        deployed_share=deployed_share,
    )
    decision = replace(deployed.decision, steady=steady) if n_classes else None
    run = PricedEdits(deployed, taught, space, limits=limits, decision=decision)
    if deployed_share:
        for leaf in leaves_of(run.start):
            leaf.rows_before = 200.0
    return run
