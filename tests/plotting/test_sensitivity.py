"""The display of sensitivity draws what was measured."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.tree import DecisionTreeClassifier

from steadytree.estimators.assessment import measure_sensitivity
from steadytree.exceptions import InputError
from steadytree.plotting import (
    SensitivityDisplay,
)
from tests.report import samples


def test_sensitivity_draws_means_and_spread_of_both_experiments() -> None:
    X, y = samples.breast_cancer()
    display = SensitivityDisplay.from_estimator(
        DecisionTreeClassifier(max_depth=3, random_state=0),
        X,
        y,
        amounts=(0.1, 0.5, 1.0),
        n_repeats=3,
        random_state=0,
    )
    assert set(display.lines_) == {"thresholds", "data"}
    for kind, line in display.lines_.items():
        rows = display.results[display.results["perturbation"] == kind]
        np.testing.assert_allclose(
            line.get_ydata(), rows.groupby("amount")["distance"].mean().to_numpy()
        )
    # Small shakes of the thresholds move the tree less than large ones.
    assert display.lines_["thresholds"].get_ydata()[0] < display.lines_["thresholds"].get_ydata()[2]
    assert [ax.get_xlabel() for ax in display.ax_] == [
        "Largest change of a threshold",
        "Share of the training rows replaced",
    ]


def test_sensitivity_refuses_unknown_tables() -> None:
    with pytest.raises(InputError, match="expected rows with perturbation"):
        SensitivityDisplay(
            pd.DataFrame({"perturbation": ["other"], "amount": [1], "distance": [1]})
        )


def test_a_display_of_sensitivity_draws_what_was_measured() -> None:
    X, y = load_iris(return_X_y=True)
    model = DecisionTreeClassifier(max_depth=2, random_state=0)
    options = {"amounts": (0.2, 0.8), "n_repeats": 2, "random_state": 0}
    measured = measure_sensitivity(model, X, y, **options)
    assert not hasattr(model, "tree_")
    pd.testing.assert_frame_equal(
        SensitivityDisplay.from_estimator(model, X, y, **options).results, measured
    )
