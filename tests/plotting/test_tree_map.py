"""Trees on a plane: near where they are alike, coloured by score, sized by leaves."""

from __future__ import annotations

import numpy as np
import pytest

from steadytree.exceptions import InputError
from steadytree.plotting import (
    TreeMapDisplay,
)
from steadytree.views.many_trees import scale_to_plane
from tests.plotting.figures import bootstrap_trees


def test_scaling_recovers_points_of_the_plane() -> None:
    rng = np.random.default_rng(0)
    points = rng.normal(size=(40, 2))
    distances = np.hypot(*(points[:, None] - points[None]).transpose(2, 0, 1))
    found, stress = scale_to_plane(distances)
    again = np.hypot(*(found[:, None] - found[None]).transpose(2, 0, 1))
    np.testing.assert_allclose(again, distances, atol=1e-6)
    assert stress < 1e-6


def test_scaling_lowers_the_stress_of_the_classical_solution() -> None:
    rng = np.random.default_rng(1)
    points = rng.normal(size=(60, 8))
    distances = np.sqrt(((points[:, None] - points[None]) ** 2).sum(axis=2))
    start = scale_to_plane(distances, max_iter=0)[1]
    end = scale_to_plane(distances)[1]
    assert end < start
    one, zero = scale_to_plane(np.zeros((1, 1)))
    assert one.shape == (1, 2)
    assert zero == 0.0


def test_map_colours_by_score_and_sizes_by_leaves() -> None:
    trees, space = bootstrap_trees(40)
    scores = np.linspace(0.8, 0.95, 40)
    display = TreeMapDisplay.from_trees(
        trees, space=space, scores=scores, marked={"deployed": 0}, score_name="AUC"
    )
    assert len(display.trees_.get_offsets()) == 40
    np.testing.assert_allclose(display.trees_.get_array(), scores)
    leaves = np.array([tree.n_leaves for tree in trees])
    sizes = display.trees_.get_sizes()
    assert np.all(np.diff(sizes[np.argsort(leaves, kind="stable")]) >= -1e-9)
    assert any(t.get_text() == "deployed" for t in display.ax_.texts)
    assert "40 trees" in display.ax_.get_xlabel()
    assert display.figure_.axes[1].get_ylabel() == "AUC"


def test_map_of_a_thousand_points_stays_light() -> None:
    rng = np.random.default_rng(0)
    small = TreeMapDisplay(rng.normal(size=(100, 2)), np.full(100, 8)).plot()
    large = TreeMapDisplay(rng.normal(size=(1000, 2)), np.full(1000, 8)).plot()
    ink = [display.trees_.get_sizes().sum() for display in (small, large)]
    # One size may stand for all points, as it does here.
    per_point = [display.trees_.get_sizes().max() for display in (small, large)]
    assert per_point[1] < per_point[0]
    assert ink[1] < 10 * ink[0]


def test_map_needs_trees() -> None:
    with pytest.raises(InputError, match="one tree or more"):
        TreeMapDisplay.from_trees([])
    with pytest.raises(
        InputError, match="points, n_leaves of one length, got points of 2, n_leaves of 1"
    ):
        TreeMapDisplay(np.zeros((2, 2)), [1])
