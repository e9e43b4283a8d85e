"""What the distance measures, looked at from outside the paper."""

from __future__ import annotations

import numpy as np

from reproduction.experiments import geometry


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
