"""A small mixed problem: numbers, categories and missing values, for the learners' tests."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from steadytree.tree.space import FeatureSpace


def mixed_table(n: int, seed: int, *, task: str = "binary") -> tuple[pd.DataFrame, NDArray[Any]]:
    """Rows whose outcome depends on a number, a category set and on being missing."""
    rng = np.random.default_rng(seed)
    age = rng.uniform(20, 90, n)
    dose = np.where(rng.random(n) < 0.2, np.nan, rng.normal(0, 1, n))
    colour = rng.choice(["red", "green", "blue", "grey"], n)
    noise = rng.normal(0, 1, n)
    signal = 2 * (age > 55) + 1.5 * np.isin(colour, ["red", "grey"]) + 1.2 * np.isnan(dose) - 2
    X = pd.DataFrame({"age": age, "dose": dose, "colour": colour, "noise": noise})
    if task == "regression":
        return X, signal + rng.normal(0, 0.5, n)
    if task == "multiclass":
        return X, np.digitize(signal + rng.normal(0, 0.7, n), [-1, 0.7]).astype(np.int64)
    return X, (rng.random(n) < 1 / (1 + np.exp(-signal))).astype(np.int64)


def space_of(X: pd.DataFrame, y: NDArray[Any], task: str) -> FeatureSpace:
    """The space of the table."""
    kind = "regression" if task == "regression" else "classification"
    return FeatureSpace.from_data(X, y, task=kind)
