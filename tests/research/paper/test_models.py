"""The learners of the experiments against scikit-learn's own."""

from __future__ import annotations

import numpy as np
import pytest

from research.paper.models import (
    cross_validated_tree,
    grow_batches,
    grow_forest,
    load_problem,
)
from research.paper.settings import generator


@pytest.fixture(scope="module")
def problem():
    return load_problem("wdbc")


def test_the_cross_validated_tree_comes_from_the_grid(problem) -> None:
    rows = np.arange(0, len(problem.y), 2)
    tree = cross_validated_tree(
        problem, rows, depths=(2, 4), min_leaves=(5, 40), rng=generator(0, "cv")
    )
    again = cross_validated_tree(
        problem, rows, depths=(2, 4), min_leaves=(5, 40), rng=generator(0, "cv")
    )
    assert tree == again
    assert tree.depth <= 4
    assert tree.weight[tree.is_leaf].min() >= 5


def test_collections_come_bootstrap_by_bootstrap(problem) -> None:
    rows = np.arange(len(problem.y))
    options = {"depths": (2, 3), "min_leaves": (5, 30)}
    first, second = grow_batches(
        problem, [rows[:200], rows], n_bootstraps=3, rng=generator(0), **options
    )
    assert len(first) == len(second) == 12
    assert all(tree.weight[0] == 200 for tree in first)
    assert max(tree.depth for tree in first[:2]) <= 2
    fewer, _ = grow_batches(
        problem, [rows[:200], rows], n_bootstraps=3, rng=generator(0), **options
    )
    assert fewer[0] == first[0]


def test_separate_fits_vary_more_than_cuts(problem) -> None:
    rows = np.arange(len(problem.y))
    options = {"depths": range(6, 13), "min_leaves": (50,), "n_bootstraps": 4}
    cut, separate = (
        grow_batches(problem, [rows], rng=generator(0), nested=nested, **options)[0]
        for nested in (True, False)
    )
    assert len(cut) == len(separate) == 28
    assert len({t.threshold.tobytes() for t in cut}) == 4
    assert len({t.threshold.tobytes() for t in separate}) > 4


def test_the_forest_is_described_by_feature() -> None:
    problem = load_problem("colon")
    rows = np.arange(len(problem.y))
    forest, described = grow_forest(problem, rows, size=5, seed=0)
    assert len(described["importances"]) == problem.space.n_features
    assert described["importances"].sum() == pytest.approx(1)
    assert described["nodes"] == max(m.tree_.node_count for m in forest.estimators_)


def test_a_row_limit_keeps_crashes_whole() -> None:
    problem = load_problem("nasscds", 500)
    full = load_problem("nasscds")
    assert abs(len(problem.y) - 500) < 30
    assert problem.space == full.space
    sizes = dict(zip(*np.unique(full.groups, return_counts=True), strict=True))
    for group, count in zip(*np.unique(problem.groups, return_counts=True), strict=True):
        assert sizes[group] == count
