"""What is proved about the distance: as a program, and as trees that reach its bounds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from research.paper.experiments import propositions
from research.paper.experiments.propositions import Relaxation, attainable, draw_pairs
from research.paper.models import grow_batches, load_problem
from research.paper.settings import generator
from steadytree.distance.distances import tree_distance
from steadytree.distance.equations import distance_bound
from steadytree.tree.paths import Paths
from steadytree.tree.space import FeatureSpace
from steadytree.tree.tree import Tree
from tests.golden import build
from tests.research.paper.tiny import job


@pytest.fixture(scope="module")
def collections():
    problem = load_problem("colon")
    rows = np.arange(len(problem.y))
    grid = {"depths": (2, 3, 5), "min_leaves": (5, 30), "n_bootstraps": 1}
    return problem, grow_batches(problem, [rows[::2], rows], rng=generator(0), **grid)


def test_the_program_is_the_distance_with_a_binary_solution(collections) -> None:
    problem, (first, second) = collections
    for a, b in zip(first, reversed(second), strict=True):
        paths = [Paths.from_tree(t, problem.space) for t in (a, b)]
        program = Relaxation(*paths, label_weight=1.0)
        found = program.check(tree_distance(a, b, space=problem.space), np.random.default_rng(0))
        assert max(found["deviation"], found["random_deviation"], found["difference"]) < 1e-9
        sizes = sorted(p.n_paths for p in paths)
        # No x_p where both have as many paths.
        assert found["variables"] == sizes[0] * sizes[1] + sizes[1] * (sizes[0] != sizes[1])


def test_a_wrong_distance_or_a_mixed_solution_would_be_seen(collections) -> None:
    problem, (first, second) = collections
    program = Relaxation(
        *(Paths.from_tree(t, problem.space) for t in (first[-1], second[-1])), label_weight=1.0
    )
    found = program.check(0.5, np.random.default_rng(0))
    assert found["difference"] > 0.1
    assert propositions._from_binary(np.array([0.0, 1.0, 0.7])) == pytest.approx(0.3)


def test_pairs_of_all_sizes_are_drawn(collections) -> None:
    _, (first, second) = collections
    pairs = draw_pairs(second, first, 5, np.random.default_rng(0))
    sizes = [second[i].n_leaves * first[j].n_leaves for i, j in pairs]
    assert len(set(pairs)) == 5
    assert sizes == sorted(sizes)
    assert sizes[0] < sizes[-1] / 2


# -- the bound ----------------------------------------------------------------------------


def full_tree(depth: int, first: int, cut: Any, label: str, **fields: Any) -> Tree:
    """A complete tree that splits on another feature at every level."""
    node: Any = label
    for level in reversed(range(depth)):
        node = (first + level, cut, node, node)
    return build(node, **fields)


def as_far_as_can_be(depth: int, *, categories: int) -> tuple[Tree, Tree, FeatureSpace]:
    """Two complete trees on features that they do not share, with other labels throughout.

    Without categories the splits are close to the end of each range, as in the paper's proof.
    """
    n = 2 * depth
    if not categories:
        space = FeatureSpace.from_data(np.array([[0.0] * n, [1.0] * n]))
        cut, fields = 1e-6, {"n_features": n}
    else:
        levels = list("abcdefgh"[:categories])
        column = pd.Categorical(levels, categories=levels)
        table = pd.DataFrame({f"f{j}": column for j in range(n)})
        space = FeatureSpace.from_data(table)
        cut = (0,)
        fields = {
            "n_features": n,
            "categories": space.categories,
            "feature_names": tuple(table.columns),
        }
    a, b = (
        full_tree(depth, start, cut, label, **fields)
        for start, label in ((0, "no"), (depth, "yes"))
    )
    return a, b, space


@pytest.mark.parametrize("depth", [1, 2, 3, 4])
@pytest.mark.parametrize("weight", [1.0, 24.0])
@pytest.mark.parametrize("categories", [0, 2, 8])
def test_the_construction_of_the_proof_does_not_reach_the_bound(
    depth: int, weight: float, categories: int
) -> None:
    a, b, space = as_far_as_can_be(depth, categories=categories)
    d = tree_distance(a, b, space=space, label_weight=weight)
    # Every path of one has this distance from every path of the other, on average.
    lost = depth if categories else depth / 2
    assert d == pytest.approx(2**depth * (lost + weight), rel=1e-9)
    assert d <= attainable(depth, weight) * (1 + 1e-12)
    # Half of the features' part of the bound, or a quarter; the labels' part in full.
    share = (d - weight * 2**depth) / (distance_bound(depth, weight) - weight * 2**depth)
    assert share == pytest.approx(0.5 if categories else 0.25, rel=1e-9)


def test_a_unit_finds_no_violation() -> None:
    found = propositions.compute(job("propositions", "wdbc"))
    one = found["corollary_1"]
    assert one["pairs"] == 3
    assert one["programs"] == 6
    for key in ("largest_deviation", "largest_random_deviation", "largest_difference"):
        assert 0 <= one[key] < 1e-9
    for bounds in found["proposition_2"].values():
        assert bounds["pairs"] == 8 * 8
        assert bounds["paper_violated"] == bounds["attainable_violated"] == 0
        assert 0 < bounds["paper_largest_ratio"] < bounds["attainable_largest_ratio"] < 1


def test_a_distance_beyond_a_bound_is_counted() -> None:
    stump, _, _ = as_far_as_can_be(1, categories=2)
    # 2 (1 + 1) = 4 can be, 2 (2 + 1) = 6 is the paper's bound.
    found = propositions._held_against(np.array([[5.0, 3.0]]), [stump], [stump, stump], 1.0)
    assert (found["paper_violated"], found["attainable_violated"]) == (0, 1)
    assert found["paper_largest_ratio"] == pytest.approx(5 / 6)
