"""What a tree says about rows: shares or responses, and decisions, in one pair of arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadytree.core.tree import Tree

__all__ = ["Predictions", "predict_rows"]

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Predictions:
    """Predictions of one model for a set of rows.

    Attributes
    ----------
    value : float array (n, k)
        Class shares, or the response (k = 1); NaN rows were never predicted.
    label : int array (n,)
        Position of the decision in the classes; zeros for regression.
    """

    value: FloatArray
    label: NDArray[np.int32]

    def take(self, rows: NDArray[Any]) -> Predictions:
        """Return the predictions of some rows."""
        return Predictions(self.value[rows], self.label[rows])


def predict_rows(tree: Tree, coded: FloatArray) -> Predictions:
    """Predict rows coded in the tree's features, rounded as its learner rounds them."""
    leaf = tree.apply_coded(tree.round_values(coded))
    return Predictions(tree.value[leaf], tree.label[leaf])
