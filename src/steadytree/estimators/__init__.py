"""Trees as scikit-learn estimators: finished, stable and distilled ones."""

from __future__ import annotations

from steadytree.estimators.predictor import TreeClassifier, TreeRegressor
from steadytree.estimators.stable import StableTreeClassifier, StableTreeRegressor

__all__ = ["StableTreeClassifier", "StableTreeRegressor", "TreeClassifier", "TreeRegressor"]
