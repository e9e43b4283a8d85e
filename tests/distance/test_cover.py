"""``variant="cover"`` is what the author's package dt-distance 0.1.4 computes."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from dt_distance.distance_calculator import DistanceCalculator
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

import steadytree as st


def published(a: Any, b: Any, X: np.ndarray, y: np.ndarray, weight: float) -> float:
    calculator = DistanceCalculator(
        a,
        b,
        X=X,
        y=y,
        max_depth=5,
        normalize_distance=False,
        round_digits=12,
        outcome_weight_in_path=weight,
    )
    return float(calculator.compute_tree_distance())


@pytest.mark.parametrize("load", [load_breast_cancer, load_iris, load_wine])
@pytest.mark.parametrize("weight", [1.0, 0.0, 12.0])
def test_equal_to_the_published_package(load: Any, weight: float) -> None:
    X, y = load(return_X_y=True)
    rng = np.random.default_rng(0)
    space = st.FeatureSpace.from_data(X, y)
    models = []
    for depth, kind in itertools.product(
        (0, 1, 3, 5), (DecisionTreeClassifier, ExtraTreeClassifier)
    ):
        rows = rng.choice(len(X), len(X))
        model = kind(max_depth=depth or 1, random_state=depth, ccp_alpha=0.0 if depth else 9.0)
        models.append(model.fit(X[rows], y[rows]))
    ours = st.pairwise_tree_distances(models, space=space, variant="cover", label_weight=weight)
    for i, j in itertools.combinations_with_replacement(range(len(models)), 2):
        expected = published(models[i], models[j], X, y, weight)
        assert ours[i, j] == pytest.approx(expected, abs=1e-6)
        assert ours[j, i] == pytest.approx(expected, abs=1e-6)
    assert ours.max() > 1


def test_it_is_another_number_than_the_papers() -> None:
    X, y = load_iris(return_X_y=True)
    space = st.FeatureSpace.from_data(X, y)
    small = DecisionTreeClassifier(max_depth=1, random_state=0).fit(X, y)
    large = DecisionTreeClassifier(max_depth=4, random_state=0).fit(X, y)
    cover = st.tree_distance(small, large, space=space, variant="cover")
    assert cover != pytest.approx(st.tree_distance(small, large, space=space))
    same_size = DecisionTreeClassifier(max_depth=1, random_state=0, splitter="random").fit(X, y)
    # With equally many paths nothing is left over, and the two problems are one.
    assert st.tree_distance(small, same_size, space=space, variant="cover") == pytest.approx(
        st.tree_distance(small, same_size, space=space), rel=1e-12
    )
