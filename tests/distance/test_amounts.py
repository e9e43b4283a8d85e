"""Paths in whole numbers: what is rounded, and that nothing is lost afterwards."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from steadytree import _io as limits
from steadytree.distance.variants import Measure, check_options, cost_matrix, in_quanta
from steadytree.exceptions import InputError
from steadytree.tree.paths import Paths
from tests import naive
from tests.golden import MID_1, MID_2, UNIT
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


def test_impurity_is_that_of_gini_times_the_label_weight() -> None:
    measure = Measure.of(check_options(label_weight=3.0, outcome="impurity"))
    shares = np.array([[1.0, 0.0], [0.5, 0.5], [0.75, 0.25]])
    found = measure.outcomes(np.array([0, 0, 0]), shares, is_classifier=True)
    assert (found * measure.quantum).tolist() == [[0.0], [1.5], [1.125]]


def test_one_tree_alone_can_be_written_in_quanta() -> None:
    paths = Paths.from_tree(MID_1, UNIT)
    ((amounts,), coordinates) = in_quanta([paths], Measure.of(check_options()))
    assert coordinates.tolist() == [0, 1]  # upper and lower side of the first feature
    assert (amounts.x * 2.0**-44).tolist() == [[0.25, 0.0], [0.0, 0.25]]


def test_trees_that_would_fill_the_memory_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    # 2 rules over the 4 bounds of two features: 24 bytes for each pair.
    paths = [Paths.from_tree(tree, UNIT) for tree in (MID_1, MID_2)]
    monkeypatch.setattr(limits, "MAX_MATCHING_BYTES", 24 * 8)
    assert cost_matrix(*paths, check_options()).tolist() == [[0.5, 1.5], [1.5, 0.5]]
    monkeypatch.setattr(limits, "MAX_MATCHING_BYTES", 24 * 8 - 1)
    with pytest.raises(InputError, match="got 2 rules against 4 bounds and categories, which"):
        cost_matrix(*paths, check_options())


def test_the_mass_is_the_distance_to_nothing() -> None:
    paths = Paths.from_tree(MID_1, UNIT)
    metric = Measure.of(check_options(variant="metric"))
    np.testing.assert_allclose(metric.unmatched_numbers(paths), [0.75, 0.75])
    assert metric.mass(paths) == 1.5
