"""Trees as scikit-learn estimators: finished, stable and distilled ones."""

from __future__ import annotations

from steadytree.estimators.distilled import DistilledTreeClassifier, DistilledTreeRegressor
from steadytree.estimators.predictor import TreeClassifier, TreeRegressor
from steadytree.estimators.stable import StableTreeClassifier, StableTreeRegressor

__all__ = [
    "DistilledTreeClassifier",
    "DistilledTreeRegressor",
    "StableTreeClassifier",
    "StableTreeRegressor",
    "TreeClassifier",
    "TreeRegressor",
]
