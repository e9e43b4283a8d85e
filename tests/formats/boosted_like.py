"""Trees to put into the place of boosted ones."""

from __future__ import annotations

import numpy as np
import pandas as pd

import steadytree as st


def edited(tree: st.Tree, frame: pd.DataFrame, seed: int, *, apart: bool) -> st.Tree:
    """Move thresholds to midpoints of data, draw other categories, ways for missing and values.

    ``apart``: missing values and categories never met may go different ways.
    """
    rng = np.random.default_rng(seed)
    threshold, sets = tree.threshold.copy(), list(tree.left_categories)
    for node in np.flatnonzero(~tree.is_leaf).tolist():
        name, cats = (t[tree.feature[node]] for t in (tree.feature_labels, tree.categories))
        if cats is not None:
            sets[node] = tuple(np.flatnonzero(rng.random(len(cats)) < 0.5).tolist())
            continue
        values = np.unique(frame[name].dropna())
        at = rng.integers(len(values) - 1)
        threshold[node] = (values[at] + values[at + 1]) / 2
        if rng.random() < 0.1:
            threshold[node] = rng.choice([-np.inf, np.inf])
    missing_left = rng.random(tree.n_nodes) < 0.5
    value = np.exp(rng.normal(size=(tree.n_nodes, 1)))
    if tree.is_classifier:
        share = rng.choice([0.0, 0.2, 0.5, 0.5 + 1e-16, 0.7, 1.0, rng.random()], tree.n_nodes)
        value = np.column_stack([1 - share, share])
    return tree.replace(
        threshold=threshold,
        left_categories=tuple(sets),
        missing_left=missing_left,
        unseen_left=rng.random(tree.n_nodes) < 0.5 if apart else missing_left,
        value=value,
        label=None,
        impurity=None,
    )
