"""Training data for the learners' tests, a learner of our own, and when two trees are one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from steadytree.growing.best_first import Grown, GrowthRules
from steadytree.growing.fitting import TrainingData
from steadytree.tree.rows import CodedRows
from steadytree.tree.space import FeatureSpace
from steadytree.tree.tree import Tree


def grow_best_first(table, weight, targets, rows, *, max_leaves, min_leaf, max_depth):
    """Grow a tree on some rows that minimises the weighted squared error to the targets."""
    layers = np.column_stack([np.ones(len(weight)), weight, weight[:, None] * targets])
    return Grown(GrowthRules(table, layers, min_leaf, max_depth), rows).extend(max_leaves)


def training_data(X: Any, y: Any, *, regression: bool = False, weights: Any = None) -> TrainingData:
    task = "regression" if regression else "classification"
    space = FeatureSpace.from_data(X, y, task=task)
    classes, codes = (None, np.asarray(y)) if regression else np.unique(y, return_inverse=True)
    rows = CodedRows(space.encode(X), codes, weights, table=X)
    return TrainingData.from_rows(rows, space=space, classes=classes)


def same_rules(a: Tree, b: Tree) -> bool:
    return (
        np.array_equal(a.children_left, b.children_left)
        and np.array_equal(a.feature, b.feature)
        and np.allclose(a.threshold, b.threshold, equal_nan=True)
        and a.left_categories == b.left_categories
    )


class ReadsFrames:
    """Splits on whether a word is "broad"; takes no weights."""

    _estimator_type = "classifier"

    def __init__(self, word: str = "broad") -> None:
        self.word = word

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        return {"word": self.word}

    def set_params(self, **params: Any) -> ReadsFrames:
        self.word = params.get("word", self.word)
        return self

    def fit(self, X: pd.DataFrame, y: np.ndarray) -> ReadsFrames:
        known = sorted(X["word"].unique())
        is_word = (X["word"] == self.word).to_numpy()
        classes, codes = np.unique(y, return_inverse=True)
        shares = [
            np.bincount(codes[part], minlength=len(classes)) / max(part.sum(), 1)
            for part in (np.ones_like(is_word), is_word, ~is_word)
        ]
        self.tree = Tree(
            children_left=[1, -1, -1],
            children_right=[2, -1, -1],
            feature=[0, -1, -1],
            threshold=[np.nan] * 3,
            left_categories=((known.index(self.word),), None, None),
            missing_left=[True, False, False],
            value=np.array(shares),
            n_features=1,
            feature_names=("word",),
            categories=(tuple(known),),
            classes=tuple(classes.tolist()),
        )
        return self

    def to_tree(self) -> Tree:
        return self.tree
