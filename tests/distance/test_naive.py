"""The public distances against the slow, obviously right ones of ``tests.naive``."""

from __future__ import annotations

import itertools
import warnings
from random import Random
from typing import Any

import numpy as np
import pytest
from sklearn.tree import ExtraTreeClassifier

import steadytree as st
from steadytree.exceptions import ClippedThresholdWarning
from steadytree.tree.paths import Paths
from tests.naive import (
    cost_matrix,
    linear_program,
    matching_of,
    naive_path_distance,
    naive_paths,
    objective,
    unmatched_costs,
)
from tests.strategies import Kind, random_space, random_tree

KINDS = {
    "numeric": Kind(categorical=False, missing=False),
    "numeric, unnamed": Kind(categorical=False, missing=False, names=False),
    "numeric, missing": Kind(categorical=False),
    "categorical": Kind(numeric=False, missing=False),
    "categorical, missing": Kind(numeric=False),
    "mixed": Kind(),
    "mixed, thresholds outside": Kind(outside=True),
    "regression": Kind(regression=True),
    "regression, values outside": Kind(regression=True, outside=True),
}
VARIANTS = ("paper", "metric", "cover")


def agree(ours: Any, naive: Any) -> None:
    np.testing.assert_allclose(ours, naive, rtol=1e-9, atol=1e-12)


def options_for(rng: Random, space: st.FeatureSpace, variant: str, depth: int) -> dict[str, Any]:
    """Other options at random, so that all combinations turn up."""
    normalisations = [None, None, "bound"] + (["relative"] if variant == "metric" else [])
    return {
        "variant": variant,
        "label_weight": rng.choice([1.0, 0.0, 0.3, 24.0]),
        "outcome": "label"
        if space.classes is None
        else rng.choice(["label", "distribution", "impurity"]),
        "normalize": rng.choice(normalisations),
        "max_depth": depth + rng.randint(0, 2),
        "merge_equal_siblings": rng.random() < 0.3,
    }


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("seed", range(8))
def test_random_trees_against_every_matching(kind: str, seed: int) -> None:
    rng = Random(f"{kind} {seed}")
    space = random_space(rng, KINDS[kind])
    trees = [random_tree(rng, space, KINDS[kind], max_leaves=6) for _ in range(30)]
    with warnings.catch_warnings():
        if KINDS[kind].outside:
            warnings.simplefilter("ignore", ClippedThresholdWarning)
        for variant in VARIANTS:
            options = options_for(rng, space, variant, max(tree.depth for tree in trees))
            ours = st.pairwise_tree_distances(trees, space=space, **options)
            merge = options.pop("merge_equal_siblings")
            paths = [naive_paths(tree, space, merge_equal_siblings=merge) for tree in trees]
            for i in range(len(trees)):
                j = (i + 1) % len(trees)
                agree(ours[i, j], naive_path_distance(paths[i], paths[j], space, **options))


@pytest.mark.parametrize("kind", ["numeric", "mixed", "mixed, thresholds outside", "regression"])
@pytest.mark.filterwarnings("ignore::steadytree.exceptions.ClippedThresholdWarning")
@pytest.mark.parametrize("seed", range(5))
def test_random_trees_against_the_linear_program(kind: str, seed: int) -> None:
    rng = Random(f"{kind} {seed} larger")
    space = random_space(rng, KINDS[kind], n_features=rng.randint(3, 12))
    trees = [random_tree(rng, space, KINDS[kind], n_leaves=rng.randint(7, 40)) for _ in range(4)]
    for variant in VARIANTS:
        options = options_for(rng, space, variant, max(tree.depth for tree in trees))
        ours = st.pairwise_tree_distances(trees, space=space, **options)
        merge = options.pop("merge_equal_siblings")
        paths = [naive_paths(tree, space, merge_equal_siblings=merge) for tree in trees]
        for i, j in itertools.combinations(range(len(trees)), 2):
            agree(ours[i, j], naive_path_distance(paths[i], paths[j], space, **options))


def test_three_hundred_leaves_against_the_linear_program() -> None:
    rng = np.random.default_rng(3)
    X = rng.random((3000, 6)).round(3)
    y = rng.integers(0, 3, 3000)
    space = st.FeatureSpace.from_data(X)
    a, b = (
        st.as_tree(ExtraTreeClassifier(max_leaf_nodes=n, random_state=n).fit(X, y))
        for n in (300, 280)
    )
    large, small = naive_paths(a, space), naive_paths(b, space)
    assert (len(large), len(small)) == (300, 280)
    cost = cost_matrix(large, small, space)
    for variant in VARIANTS:
        unmatched = unmatched_costs(large, cost, space, variant, 1.0)
        optimum, solution = linear_program(cost, unmatched, cover=variant == "cover")
        matching = matching_of(solution, len(small))
        agree(optimum, objective(cost, unmatched, matching))
        agree(st.tree_distance(a, b, space=space, variant=variant), optimum)
        agree(st.tree_distance(b, a, space=space, variant=variant), optimum)


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.filterwarnings("ignore::steadytree.exceptions.ClippedThresholdWarning")
def test_paths_hold_what_the_way_to_the_leaf_demands(kind: str) -> None:
    rng = Random(f"paths {kind}")
    for _ in range(40):
        space = random_space(rng, KINDS[kind])
        tree = random_tree(rng, space, KINDS[kind], max_leaves=9)
        merge = rng.random() < 0.5
        ours = Paths.from_tree(tree, space, merge_equal_siblings=merge)
        naive = naive_paths(tree, space, merge_equal_siblings=merge)
        assert ours.leaf.tolist() == [path.leaf for path in naive]
        for p, path in enumerate(naive):
            if tree.classes is not None:
                assert tree.classes[ours.label[p]] == path.label
                assert dict(zip(tree.classes, ours.value[p], strict=True)) == path.shares
            stated = {c.feature: c for c in ours.conditions_of(p)}
            for j, bounds in path.numeric.items():
                if j in stated:
                    assert stated[j].present == bounds.present
                    clipped = np.clip(
                        [stated[j].lower, stated[j].upper], space.lower[j], space.upper[j]
                    )
                    assert clipped.tolist() == [bounds.lower, bounds.upper]
                else:
                    assert (bounds.lower, bounds.upper) == (space.lower[j], space.upper[j])
                    assert bounds.present
            for j, allowed in path.allowed.items():
                cats = space.categories[j] or ()
                expected = tuple(c for c in cats if c in allowed)
                assert (stated[j].allowed if j in stated else cats) == expected


@pytest.mark.parametrize("seed", range(30))
def test_the_linear_relaxation_has_integer_vertices(seed: int) -> None:
    """Corollary 1 of the paper: its optimum is a matching, and the integer optimum."""
    rng = Random(seed)
    space = random_space(rng, Kind())
    a = naive_paths(random_tree(rng, space, Kind(), max_leaves=12), space)
    b = naive_paths(random_tree(rng, space, Kind(), max_leaves=12), space)
    large, small = (a, b) if len(a) >= len(b) else (b, a)
    cost = cost_matrix(large, small, space)
    unmatched = unmatched_costs(large, cost, space, "paper", 1.0)
    optimum, solution = linear_program(cost, unmatched)
    np.testing.assert_allclose(solution, solution.round(), atol=1e-9)
    matching = matching_of(solution, len(small))
    assert sorted(matching.values()) == list(range(len(small)))
    agree(optimum, objective(cost, unmatched, matching))
    # And so is every vertex: whatever we minimise over the same constraints.
    anything = np.random.default_rng(seed).normal(size=cost.shape)
    _, vertex = linear_program(anything, np.zeros(len(large)).tolist())
    np.testing.assert_allclose(vertex, vertex.round(), atol=1e-9)
