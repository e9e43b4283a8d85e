"""How the distance answers to a change of known size."""

from __future__ import annotations

import numpy as np
import pytest

from reproduction.experiments import perturbation
from reproduction.experiments.perturbation import clip_thresholds, literal_distance
from reproduction.models import cross_validated_tree, load_problem
from reproduction.settings import generator
from steadytree.assessment import perturb_thresholds
from steadytree.core.tree import Tree
from steadytree.distance.distances import tree_distance
from tests.reproduction.tiny import TINY, job


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


def test_indirect_perturbation_repeats_itself() -> None:
    one = perturbation.compute_indirect(job("indirect", "colon"))
    two = perturbation.compute_indirect(job("indirect", "colon"))
    assert one == two
    assert len(one["distance"]) == len(TINY.replaced_shares)
