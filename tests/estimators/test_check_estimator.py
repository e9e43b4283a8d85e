"""scikit-learn's own checks."""

from __future__ import annotations

from typing import Any

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from steadytree.estimators import StableTreeClassifier, StableTreeRegressor

GRID = {"max_depth": [2, 5], "min_samples_leaf": [1, 3]}


def expected_failures(estimator: Any) -> dict[str, str]:
    # A bootstrap draws rows, not weight; scikit-learn exempts its own forests for the same reason.
    return {
        "check_sample_weight_equivalence_on_dense_data": "a row of weight 2 is drawn as one row",
    }


@pytest.mark.filterwarnings("ignore::steadytree.exceptions.SteadyTreeWarning")
@parametrize_with_checks(
    [
        StableTreeClassifier(param_grid=GRID, n_bootstraps=2),
        StableTreeClassifier(
            param_grid=GRID, n_bootstraps=2, holdout="oob", variant="metric", select="balanced"
        ),
        StableTreeRegressor(param_grid=GRID, n_bootstraps=2),
        StableTreeRegressor(param_grid=GRID, n_bootstraps=2, holdout="oob", select="score"),
    ],
    expected_failed_checks=expected_failures,
)
def test_scikit_learn_accepts_stable_trees(estimator: Any, check: Any) -> None:
    check(estimator)
