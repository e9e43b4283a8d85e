"""The compiled kernels: against plain arithmetic, against scipy, and against themselves."""

from __future__ import annotations

import dataclasses
import itertools
import math

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from steadytree import FeatureSpace, as_tree
from steadytree.distance._solver import kernels, pairwise_by_scipy
from steadytree.distance._solver.assignment import N_VECTORS
from steadytree.distance._solver.pack import LANES, pack, padded_length
from steadytree.tree.paths import Paths
from tests.distance.solver.examples import (
    OUTCOMES,
    VARIANTS,
    breast_cancer_paths,
    measure,
    plain_distance,
    random_collection,
)
from tests.golden import HOLES, build


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("seed", range(25))
def test_both_solvers_agree_with_plain_arithmetic(variant: str, seed: int) -> None:
    paths, regression = random_collection(seed)
    for outcome in OUTCOMES[: 1 if regression else 3]:
        weight = (0.0, 1.0, 0.3, 24.0, 5000.0)[seed % 5]
        chosen = measure(variant, outcome, weight)
        distances = kernels.pairwise(pack(paths, chosen))
        for i, j in itertools.product(range(len(paths)), repeat=2):
            plain = plain_distance(paths[i], paths[j], variant, outcome, weight)
            assert distances[i, j] == pytest.approx(plain, rel=1e-9, abs=1e-12 * (1 + weight))
        # Whole numbers all the way: not close, equal.
        np.testing.assert_array_equal(pairwise_by_scipy(paths, None, chosen), distances)
        assert (np.diag(distances) == 0).all()
        np.testing.assert_array_equal(distances, distances.T)


def test_result_does_not_depend_on_threads_order_or_company() -> None:
    paths = breast_cancer_paths(40)
    chosen = measure()
    first, second = pack(paths[:25], chosen), pack(paths[20:], chosen)
    distances = kernels.pairwise(first, second, 1)
    for n_jobs in (2, 3, None):
        np.testing.assert_array_equal(kernels.pairwise(first, second, n_jobs), distances)
    np.testing.assert_array_equal(kernels.pairwise(second, first), distances.T)
    np.testing.assert_array_equal(kernels.pairwise(pack(paths, chosen))[:25, 20:], distances)
    one = kernels.pairwise(pack(paths[3:4], chosen), pack(paths[30:31], chosen))
    assert one[0, 0] == distances[3, 10]
    for n_jobs in (1, 2):
        slowly = pairwise_by_scipy(paths[:25], paths[20:], chosen, n_jobs)
        np.testing.assert_array_equal(slowly, distances)


def test_regression_trees_differ_by_value() -> None:
    X, y = load_diabetes(return_X_y=True)
    space = FeatureSpace.from_data(X, y, task="regression")
    trees = [
        as_tree(DecisionTreeRegressor(max_depth=4, random_state=k).fit(X[k::2], y[k::2]))
        for k in (0, 1)
    ]
    paths = [Paths.from_tree(t, space) for t in trees]
    for variant in VARIANTS:
        packed = pack(paths, measure(variant, weight=2.0))
        plain = plain_distance(paths[0], paths[1], variant, "label", 2.0)
        assert kernels.pairwise(packed)[0, 1] == pytest.approx(plain, rel=1e-9)


def backwards(paths: Paths) -> Paths:
    """The same walk, with the operations of every node the other way round."""
    walk = paths.operations
    order = np.concatenate(
        [
            np.arange(start, end, dtype=np.intp)[::-1]
            for start, end in itertools.pairwise(walk.start.tolist())
        ]
    )
    turned = walk._replace(coord=walk.coord[order], old=walk.old[order], new=walk.new[order])
    return dataclasses.replace(paths, operations=turned)


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_operations_of_a_node_may_come_in_any_order(variant: str) -> None:
    """Where only missing values get through, a bound falls: first, in between or last."""
    trees = [
        build((0, 0.5, (0, 0.7, "no", "yes", False), "no", True)),
        build((0, 0.6, "no", (1, 0.5, "no", "yes"), False)),
        build((0, math.inf, "no", "yes", False)),
    ]
    paths = Paths.from_trees(trees, HOLES)
    turned = [backwards(one) for one in paths]
    falls = [(one.operations.new < one.operations.old).any() for one in paths]
    assert falls == [True, False, False]
    # The last of a node's operations is that one, once they are turned round.
    walk = turned[0].operations
    assert (walk.new < walk.old)[walk.start[1:] - 1].any()
    distances = kernels.pairwise(pack(paths, measure(variant), deduplicate=False))
    for i, j in itertools.product(range(3), repeat=2):
        plain = plain_distance(paths[i], paths[j], variant, "label", 1.0)
        assert distances[i, j] == pytest.approx(plain, rel=1e-9, abs=1e-12)
    again = kernels.pairwise(pack(turned, measure(variant), deduplicate=False))
    np.testing.assert_array_equal(again, distances)


@pytest.mark.parametrize(("first", "second"), [([2, 9], [3]), ([2], [30, 5]), ([64], [64])])
def test_every_part_of_a_pairs_memory_has_the_room_it_needs(
    first: list[int], second: list[int]
) -> None:
    """What ``solve_rectangular`` asks for; nothing looks whether it writes too far."""
    a, b = (pack(grown_paths(leaves), measure()) for leaves in (first, second))
    n, m = sorted((max(first), max(second)))
    depth, n_paths = max(a.max_depth, b.max_depth), sum(first) + sum(second)
    problem = kernels._Problem(a, b)
    width, *starts = problem.layout
    assert width >= m + 2 * LANES
    room = np.diff([0, *starts, problem.memory])
    area = (n + 2 * LANES) * (m + 2 * LANES)
    rows = (depth + 2) * padded_length(m)
    needed = [N_VECTORS * width, area, area, area, rows, depth + 1, n_paths]
    assert (room >= needed).all()


def grown_paths(leaves: list[int], n_features: int = 12) -> list[Paths]:
    """Trees grown to given numbers of leaves on resamples of one table."""
    rng = np.random.default_rng(0)
    X = rng.random((5000, n_features))
    y = (X[:, :4].sum(axis=1) + rng.normal(0, 1, len(X)) > 2).astype(int)
    space = FeatureSpace.from_data(X)
    trees = []
    for count in leaves:
        rows = rng.choice(len(y), len(y))
        model = DecisionTreeClassifier(max_leaf_nodes=count, random_state=0)
        trees.append(as_tree(model.fit(X[rows], y[rows])))
    return Paths.from_trees(trees, space)


@pytest.mark.parametrize("variant", VARIANTS)
def test_what_a_tree_learns_in_one_pair_does_not_change_the_next(variant: str) -> None:
    paths = grown_paths([30, 2, 64, 128, 100, 40, 110, 64, 7])
    chosen = measure(variant, weight=3.0)
    together = kernels.pairwise(pack(paths, chosen), pack(paths[::-1], chosen))[:, ::-1]
    np.testing.assert_array_equal(together, kernels.pairwise(pack(paths, chosen)))
    np.testing.assert_array_equal(together, pairwise_by_scipy(paths, None, chosen))


@pytest.mark.parametrize("variant", ["paper", "metric"])
def test_large_trees_keep_room_for_column_numbers(variant: str) -> None:
    """Without it every step of a search looks for its column: 512 leaves took 2.5 times as long."""
    paths = grown_paths([512, 500])
    packed = pack(paths, measure(variant))
    assert packed.max_paths == 512
    assert kernels._Problem(packed, packed).shift == 9
    slowly = pairwise_by_scipy(paths, None, measure(variant))
    np.testing.assert_array_equal(kernels.pairwise(packed), slowly)
