"""What the distance measures, looked at from outside the paper."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from research.paper.experiments import geometry
from research.paper.settings import LARGEST_DEPTH
from steadytree.distance.equations import distance_bound
from steadytree.plugins import as_tree
from steadytree.tree.tree import Tree


def test_triangle_violations_are_counted() -> None:
    distances = np.array([[0, 1, 5], [1, 0, 1], [5, 1, 0]], dtype=float)
    found = geometry.triangle_violations(distances)
    assert found == {"triples": 1, "violated": 1, "share": 1.0, "worst_ratio": 2.5}
    distances[0, 2] = distances[2, 0] = 2
    assert geometry.triangle_violations(distances)["violated"] == 0


def test_partial_rank_correlation_removes_a_common_cause() -> None:
    rng = np.random.default_rng(0)
    cause = rng.normal(size=4000)
    a, b = cause + 0.5 * rng.normal(size=4000), cause + 0.5 * rng.normal(size=4000)
    assert geometry.rank_correlation(a, b) > 0.7
    assert abs(geometry.partial_rank_correlation(a, b, cause)) < 0.05
    assert geometry.rank_correlation(a, np.ones(4000)) is None


def test_either_normaliser_tells_what_the_closest_tree_saves_and_costs() -> None:
    def tree(cuts: int) -> Tree:
        """A tree of one feature that is as deep as it has cuts."""
        nested: dict[str, Any] = {"label": "no"}
        for cut in range(cuts, 0, -1):
            left = {"label": "yes"}
            nested = {"feature": "a", "threshold": float(cut), "left": left, "right": nested}
        return as_tree({"features": ["a"], "tree": nested})

    trees, reference = [tree(1), tree(3)], [tree(1)]
    distances = np.array([[3.0], [8.0]])
    choose, report = np.array([0.7, 0.8]), np.array([0.6, 0.9])
    found = geometry.normaliser(distances, trees, reference, choose, report)
    bounds = {depth: distance_bound(depth) for depth in (1, 3, LARGEST_DEPTH)}
    assert found["fixed"]["closest_distance"] == 3 / bounds[LARGEST_DEPTH]
    assert found["fixed"]["best_distance"] == 8 / bounds[LARGEST_DEPTH]
    assert found["fixed"]["price"] == pytest.approx(0.3)
    # By the bound of each pair the deeper tree is the closer one, and the best as well.
    assert 8 / bounds[3] < 3 / bounds[1]
    assert found["pair"]["closest_distance"] == found["pair"]["best_distance"] == 8 / bounds[3]
    assert found["pair"]["price"] == 0
