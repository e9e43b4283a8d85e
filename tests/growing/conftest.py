from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_iris

from steadytree.growing.fitting import TrainingData
from tests.growing.samples import training_data


@pytest.fixture(scope="module")
def cancer() -> TrainingData:
    return training_data(*load_breast_cancer(return_X_y=True))


@pytest.fixture(scope="module")
def mixed() -> tuple[pd.DataFrame, np.ndarray]:
    """Iris with a category made from a length, a boolean, a string and missing values."""
    X, y = load_iris(return_X_y=True, as_frame=True)
    X.columns = ["sepal_length", "sepal_width", "petal_length", "petal_width"]
    X["size"] = pd.cut(
        X["petal_length"], [0, 2, 4.5, 5.5, 9], labels=["s", "m", "l", "xl"], ordered=False
    )
    X["wide"] = X["sepal_width"] > 3
    X["word"] = np.where(X["petal_width"] > 1.5, "broad", "narrow")
    X.loc[::7, "petal_width"] = np.nan
    X.loc[::5, "size"] = np.nan
    return X, y.map({0: "setosa", 1: "versicolor", 2: "virginica"}).to_numpy()
