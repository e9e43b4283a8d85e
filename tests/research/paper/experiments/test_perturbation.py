"""How the distance answers to a change of known size."""

from __future__ import annotations

import numpy as np
import pytest

from research.paper.experiments import perturbation
from research.paper.experiments.perturbation import (
    clip_thresholds,
    literal_distance,
    literal_parts,
)
from research.paper.models import cross_validated_tree, load_problem
from research.paper.settings import generator
from steadytree.distance.distances import tree_distance
from steadytree.estimators.assessment import perturb_thresholds
from steadytree.tree.tree import Tree
from tests.research.paper.tiny import TINY, job


@pytest.fixture(scope="module")
def cv_tree() -> tuple[Tree, object]:
    problem = load_problem("colon")
    rows = np.arange(len(problem.y))
    tree = cross_validated_tree(
        problem, rows, depths=(4, 5), min_leaves=(10,), rng=generator(0, "p")
    )
    return tree, problem.space


def test_literal_and_clipped_agree_while_thresholds_stay_inside(cv_tree) -> None:
    tree, space = cv_tree
    moved = perturb_thresholds(tree, 0.01, np.random.default_rng(0))
    assert clip_thresholds(moved, space) == moved
    assert literal_distance(tree, moved, space) == pytest.approx(
        tree_distance(tree, moved, space=space), abs=1e-9
    )
    assert literal_distance(tree, tree, space) == 0


def test_a_threshold_outside_the_range_is_clipped_or_counted_in_full() -> None:
    problem = load_problem("wdbc")
    rows = np.arange(len(problem.y))
    stump = cross_validated_tree(
        problem, rows, depths=(1,), min_leaves=(10,), rng=generator(0, "s")
    )
    j = int(stump.feature[0])
    low, high = problem.space.lower[j], problem.space.upper[j]
    width = high - low
    far = stump.replace(threshold=[high + 2 * width, np.nan, np.nan], label=stump.label)
    inside = clip_thresholds(far, problem.space)
    assert inside.threshold[0] == high
    # Both paths move one bound by (high + 2 width - t) / 2 width.
    expected = 2 * (high + 2 * width - stump.threshold[0]) / (2 * width)
    assert literal_distance(stump, far, problem.space) == pytest.approx(expected)


def test_direct_perturbation_grows_with_its_size() -> None:
    found = perturbation.compute_direct(job("direct", "wdbc", perturbations=2))
    assert len(found["depth"]) == 2
    for row in found["literal"]:
        assert 0 < row[0] < row[-1]


def test_categories_as_codes_move_too() -> None:
    problem = load_problem("colon", codes=True)
    assert not any(problem.space.categories)
    levels = load_problem("colon").table["rx"].cat.codes
    np.testing.assert_array_equal(problem.table["rx"], levels)
    # Missing categories stay missing.
    assert (
        problem.table["differ"].isna().sum() == load_problem("colon").table["differ"].isna().sum()
    )
    found = perturbation.compute_direct(job("direct", "colon", perturbations=2))
    for entry in found.values():
        assert len(entry) == 2
    for row, literal in zip(found["codes"], found["codes_literal"], strict=True):
        assert 0 < row[0] <= row[-1]
        assert 0 < literal[0] <= literal[-1]


def test_the_parts_of_a_literal_distance_are_its_sum(cv_tree) -> None:
    tree, space = cv_tree
    moved = perturb_thresholds(tree, 1.0, np.random.default_rng(0))
    parts = literal_parts(tree, moved, space)
    assert sum(parts.values()) == pytest.approx(literal_distance(tree, moved, space))
    used = {tree.feature_labels[j] for j in tree.feature[np.isfinite(tree.threshold)]}
    # Where paths of other features are matched, these count as well.
    assert {name for name, part in parts.items() if part} >= used
    found = perturbation.compute_direct(job("direct", "wdbc", perturbations=1))
    top = found["literal_top"][0]
    assert top["feature"] in load_problem("wdbc").space.feature_labels
    assert 0 < top["share"] <= 1


def test_indirect_perturbation_repeats_itself() -> None:
    one = perturbation.compute_indirect(job("indirect", "colon"))
    two = perturbation.compute_indirect(job("indirect", "colon"))
    assert one == two
    assert len(one["distance"]) == len(TINY.replaced_shares)
