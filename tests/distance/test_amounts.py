"""Paths in whole numbers: what is rounded, and that nothing is lost afterwards."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from steadytree.core.paths import Paths
from steadytree.distance.amounts import Measure, cost_matrix, in_quanta
from steadytree.distance.options import check_options
from tests import naive
from tests.golden import MID_1, UNIT
from tests.strategies import Kind, random_space, random_tree


@pytest.mark.parametrize(
    ("weight", "bits"), [(0.0, 44), (1.0, 44), (256.0, 44), (257.0, 43), (1e6, 32)]
)
def test_an_enormous_label_weight_costs_digits(weight: float, bits: int) -> None:
    measure = Measure.of(check_options(label_weight=weight))
    assert measure.bits == bits
    assert measure.label_weight % 2 == 0
    assert measure.label_weight * measure.quantum == pytest.approx(weight, rel=1e-12)
    assert measure.label_weight <= 2**52


@pytest.mark.parametrize("outcome", ["label", "distribution", "impurity"])
@pytest.mark.parametrize("seed", range(12))
def test_costs_are_those_of_the_definition(seed: int, outcome: str) -> None:
    rng = Random(seed)
    kind = Kind(regression=seed % 4 == 0)
    outcome = "label" if kind.regression else outcome
    space = random_space(rng, kind)
    a, b = (random_tree(rng, space, kind, max_leaves=9) for _ in range(2))
    options = check_options(label_weight=0.7, outcome=outcome)
    first, second = (Paths.from_tree(tree, space, classes=space.classes) for tree in (a, b))
    ours = cost_matrix(first, second, options)
    plain = naive.cost_matrix(
        naive.naive_paths(a, space), naive.naive_paths(b, space), space, 0.7, outcome
    )
    np.testing.assert_allclose(ours, plain, rtol=1e-9, atol=1e-12)
    (left, _), coordinates = in_quanta([first, second], Measure.of(options))
    assert (left.x == np.rint(left.x)).all()
    assert set(coordinates) == set(first.coord) | set(second.coord)


def test_the_mass_is_the_distance_to_nothing() -> None:
    paths = Paths.from_tree(MID_1, UNIT)
    metric = Measure.of(check_options(variant="metric"))
    np.testing.assert_allclose(metric.unmatched_numbers(paths), [0.75, 0.75])
    assert metric.mass(paths) == 1.5
