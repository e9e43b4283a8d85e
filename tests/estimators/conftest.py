from __future__ import annotations

import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer

from steadytree.estimators import StableTreeClassifier
from tests.estimators.samples import small


@pytest.fixture(scope="module")
def cancer() -> tuple[pd.DataFrame, pd.Series]:
    return load_breast_cancer(return_X_y=True, as_frame=True)


@pytest.fixture(scope="module")
def fitted(cancer: tuple[pd.DataFrame, pd.Series]) -> StableTreeClassifier:
    return small().fit(*cancer)
