"""Trees to draw, and what overlaps in a figure."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from steadytree.plugins import as_tree
from steadytree.tree.space import FeatureSpace
from tests.report import samples


def bootstrap_trees(n: int, *, most_leaves: int = 12) -> tuple[list[Any], FeatureSpace]:
    X, y = samples.breast_cancer()
    space = FeatureSpace.from_data(X, y)
    rng = np.random.default_rng(0)
    trees = []
    for i in range(n):
        rows = rng.integers(0, len(X), len(X))
        leaves = int(rng.integers(2, most_leaves + 1))
        model = DecisionTreeClassifier(max_leaf_nodes=leaves, max_features=10, random_state=i)
        trees.append(as_tree(model.fit(X.iloc[rows], y[rows]), space=space))
    return trees, space


def text_boxes(ax: Any, texts: list[Any]) -> list[Any]:
    renderer = ax.figure.canvas.get_renderer()
    ax.figure.canvas.draw()
    return [(t.get_bbox_patch() or t).get_window_extent(renderer) for t in texts if t.get_text()]


def overlapping(boxes: list[Any]) -> int:
    return sum(
        min(a.x1, b.x1) - max(a.x0, b.x0) > 1 and min(a.y1, b.y1) - max(a.y0, b.y0) > 1
        for a, b in combinations(boxes, 2)
    )
