"""The retraining example of Section 2.5."""

from __future__ import annotations

import pytest

from research.paper.experiments import example
from tests.research.paper.tiny import job


def test_the_example_compares_half_with_all() -> None:
    found = example.compute(job("example", "colon", "paper"))
    for method in ("cv", "pareto"):
        one = found[method]
        assert one["distance_bound"] == pytest.approx(one["distance"] / 144)
        assert max(one["depths"]) <= 4
        assert len(one["files"]) == 2
