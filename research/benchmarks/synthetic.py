"""Rows that are hard enough to need deep trees: many clusters, few informative features."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray
from sklearn.datasets import make_classification


def hard_rows(
    n_rows: int, n_features: int, *, n_informative: int = 14, majority: float = 0.93
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Features and outcomes of two classes, the same at every call."""
    X, y = make_classification(
        n_rows,
        n_features,
        n_informative=n_informative,
        n_redundant=8,
        n_clusters_per_class=6,
        weights=[majority],
        flip_y=0.03,
        class_sep=0.8,
        random_state=0,
    )
    return X, y
