"""What a variant is and how a stranger adds one; paths in whole numbers."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest

import steadytree as st
from steadytree import _io as limits
from steadytree.distance import VARIANTS, Variant
from steadytree.distance.equations import Measure, check_options, cost_matrix, in_quanta
from steadytree.exceptions import InputError
from steadytree.tree.paths import Paths
from tests import naive
from tests.golden import MID_1, MID_2, UNIT
from tests.naive import best_of_all, metric_weight, naive_paths
from tests.strategies import Kind, random_space, random_tree


@pytest.fixture
def flat(monkeypatch: pytest.MonkeyPatch) -> str:
    """An unmatched path costs lambda, whatever it demands."""
    entry = Variant(
        "the label weight",
        lambda lone: np.full_like(lone.feature_cost, 2 * lone.half_label_weight),
    )
    monkeypatch.setitem(VARIANTS, "flat", entry)
    return "flat"


@pytest.fixture
def twice(monkeypatch: pytest.MonkeyPatch) -> str:
    """Twice the metric's cost: no metric by our definition, but said to be one."""
    entry = Variant(
        "twice its distance to the path without conditions",
        lambda lone: 2 * (lone.feature_cost + lone.half_label_weight),
        is_metric=True,
    )
    monkeypatch.setitem(VARIANTS, "twice", entry)
    return "twice"


@pytest.mark.parametrize("seed", range(40))
def test_a_new_variant_against_every_matching(flat: str, twice: str, seed: int) -> None:
    rng = Random(seed)
    kind = Kind(regression=seed % 4 == 0)
    space = random_space(rng, kind)
    a, b = (random_tree(rng, space, kind, max_leaves=5) for _ in range(2))
    weight = rng.choice([0.0, 1.0, 0.3, 7.0])
    large, small = naive_paths(a, space), naive_paths(b, space)
    if len(large) < len(small):
        large, small = small, large
    cost = naive.cost_matrix(large, small, space, weight)
    for variant, alone in (
        (flat, [weight] * len(large)),
        (twice, [2 * metric_weight(p, space, weight) for p in large]),
    ):
        options: dict[str, Any] = {"space": space, "variant": variant, "label_weight": weight}
        distance = st.tree_distance(a, b, **options)
        assert distance == pytest.approx(best_of_all(cost, alone), rel=1e-9, abs=1e-12)
        matching = st.match_paths(a, b, **options)
        assert matching.distance == distance
        for lone in matching.unmatched:
            assert lone.cost == pytest.approx(alone[lone.path], rel=1e-9, abs=1e-12)
        # Many pairs go through the compiled solver.
        assert (st.pairwise_tree_distances([a] * 30, [b] * 30, **options) == distance).all()


def test_options_know_a_new_variant(flat: str, twice: str) -> None:
    with pytest.raises(InputError, match=r"one of \['paper', 'metric', 'cover', 'flat', 'twice'\]"):
        st.tree_distance(MID_1, MID_2, space=UNIT, variant="round")
    with pytest.raises(InputError, match='expected variant="metric" or variant="twice" with'):
        st.tree_distance(MID_1, MID_2, space=UNIT, variant=flat, normalize="relative")
    options: dict[str, Any] = {"space": UNIT, "variant": twice, "normalize": "relative"}
    # Two stumps at mid-range: distance 1, masses 2 * 2 * (1/4 + 1/2) each.
    assert st.tree_distance(MID_1, MID_2, **options) == pytest.approx(2 / 7)
    assert st.match_paths(MID_1, MID_2, **options).distance == pytest.approx(2 / 7)


# -- paths in whole numbers ------------------------------------------------------------------


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
