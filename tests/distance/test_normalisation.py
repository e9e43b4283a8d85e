"""The bound, the dissimilarity and the label weight."""

from __future__ import annotations

import itertools
from random import Random
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.tree import DecisionTreeClassifier

import steadytree as st
from tests.golden import MID_1, MID_2, UNIT, build
from tests.naive import metric_weight, naive_paths
from tests.strategies import Kind, random_space, random_tree


def test_the_bound() -> None:
    assert st.distance_bound(0) == 1.0
    assert st.distance_bound(4) == 144.0
    assert st.distance_bound(12, 24) == 2**12 * 48
    assert st.distance_bound(3, 0.0) == 48.0


def test_bound_divides_by_the_bound_of_the_depth_given() -> None:
    raw = st.tree_distance(MID_1, MID_2, space=UNIT)
    for depth, weight in itertools.product((1, 2, 12), (0.5, 1.0, 24.0)):
        for variant in ("paper", "metric", "cover"):
            options: dict[str, Any] = {"space": UNIT, "variant": variant, "label_weight": weight}
            share = st.tree_distance(MID_1, MID_2, normalize="bound", max_depth=depth, **options)
            assert share == pytest.approx(
                st.tree_distance(MID_1, MID_2, **options) / st.distance_bound(depth, weight)
            )
    assert raw == pytest.approx(1.0)


def test_a_bound_of_zero() -> None:
    """Single leaves whose labels do not count cannot differ."""
    options: dict[str, Any] = {
        "space": UNIT,
        "normalize": "bound",
        "max_depth": 0,
        "label_weight": 0.0,
    }
    assert st.tree_distance(build("no"), build("yes"), **options) == 0.0
    assert st.match_paths(build("no"), build("yes"), **options).distance == 0.0


def test_the_bound_of_the_pair_would_invert_rankings() -> None:
    """Why max_depth is asked for: each pair over its own depth turns the order round."""
    deep_a = build((0, 0.5, (1, 0.5, (0, 0.25, "no", "yes"), "no"), "yes"))
    deep_b = build((1, 0.4, (0, 0.4, (1, 0.2, "yes", "no"), "yes"), "no"))
    shallow, deep = (
        st.tree_distance(a, b, space=UNIT) for a, b in ((MID_1, MID_2), (deep_a, deep_b))
    )
    assert shallow < deep
    assert shallow / st.distance_bound(1) > deep / st.distance_bound(3)
    one, two = (
        st.tree_distance(a, b, space=UNIT, normalize="bound", max_depth=3)
        for a, b in ((MID_1, MID_2), (deep_a, deep_b))
    )
    assert one < two


def test_balanced_is_twice_the_depth() -> None:
    a, b = build((0, 0.5, "no", "no")), build((0, 0.5, "yes", "no"))
    for depth in (1, 4):
        balanced = st.tree_distance(a, b, space=UNIT, label_weight="balanced", max_depth=depth)
        assert balanced == st.tree_distance(a, b, space=UNIT, label_weight=2.0 * depth)
    assert st.tree_distance(a, b, space=UNIT, label_weight="balanced", max_depth=1) == 2.0


@pytest.mark.parametrize("seed", range(20))
def test_relative_is_the_distance_over_the_masses(seed: int) -> None:
    rng = Random(seed)
    kind = Kind(regression=seed % 4 == 0)
    space = random_space(rng, kind)
    a, b = (random_tree(rng, space, kind) for _ in range(2))
    weight = rng.choice([1.0, 0.5, 8.0])
    d = st.tree_distance(a, b, space=space, variant="metric", label_weight=weight)
    mass = sum(
        metric_weight(path, space, weight) for tree in (a, b) for path in naive_paths(tree, space)
    )
    relative = st.tree_distance(
        a, b, space=space, variant="metric", label_weight=weight, normalize="relative"
    )
    assert relative == pytest.approx(2 * d / (mass + d), rel=1e-9, abs=1e-12)
    matching = st.match_paths(a, b, space=space, label_weight=weight)
    assert matching.relative == pytest.approx(relative, rel=1e-9, abs=1e-12)


def test_a_matrix_is_normalised_cell_by_cell() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    space = st.FeatureSpace.from_data(X, y)
    rng = np.random.default_rng(0)
    trees = []
    for depth in (1, 2, 4, 4):
        rows = rng.choice(len(X), len(X))
        trees.append(DecisionTreeClassifier(max_depth=depth, random_state=0).fit(X[rows], y[rows]))
    for options in (
        {"variant": "metric", "normalize": "relative"},
        {"variant": "metric", "normalize": "bound", "max_depth": 5},
        {"variant": "paper", "normalize": "bound", "max_depth": 4, "label_weight": "balanced"},
    ):
        matrix = st.pairwise_tree_distances(trees, space=space, **options)
        part = st.pairwise_tree_distances(trees[:2], trees[1:], space=space, **options)
        for i, j in itertools.product(range(4), repeat=2):
            single = st.tree_distance(trees[i], trees[j], space=space, **options)
            assert matrix[i, j] == pytest.approx(single, rel=1e-12, abs=1e-15)
        np.testing.assert_allclose(part, matrix[:2, 1:], rtol=1e-12, atol=1e-15)
        assert (np.diag(matrix) == 0).all()
