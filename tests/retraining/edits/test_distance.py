"""The distance kept during the search is the library's own, bit for bit."""

from __future__ import annotations

import pytest

from steadytree.distance import tree_distance
from steadytree.distance.variants import Measure, check_options
from steadytree.tree.paths import Paths
from tests.retraining.edits.samples import PRICES, problem, search


@pytest.mark.parametrize("task", ["binary", "multiclass", "regression"])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_bit_for_bit_the_metric_distance(task: str, seed: int) -> None:
    deployed, taught, space, *_ = problem(task, seed)
    run = search(deployed, taught, space)
    path = run.path(PRICES)
    assert len({edited.distance for edited in path}) > 1
    for edited in path:
        exact = tree_distance(deployed, edited.tree, space=space, variant="metric")
        assert edited.distance == exact
    mass = Measure.of(check_options(variant="metric")).mass(Paths.from_tree(deployed, space))
    assert run.anchor.mass == pytest.approx(mass, rel=1e-12)
