"""A quick stable tree and a small table, for the estimators' tests."""

from __future__ import annotations

from typing import Any

import numpy as np

from steadytree.estimators import StableTreeClassifier

GRID = {"max_depth": [2, 3, 5], "min_samples_leaf": [5, 20]}


def small(**options: Any) -> StableTreeClassifier:
    return StableTreeClassifier(
        **{"param_grid": GRID, "n_bootstraps": 3, "random_state": 0, **options}
    )


def three_columns(n: int = 120) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, 3)), np.arange(n) % 2
