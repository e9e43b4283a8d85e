"""The compiled kernels: against scipy, against the fallback, and against themselves."""

from __future__ import annotations

import dataclasses
import itertools
import os
import subprocess
import sys
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from steadytree import FeatureSpace, as_tree
from steadytree.core.paths import Paths
from steadytree.distance._solver import backend, kernels
from steadytree.distance._solver import scipy_solver as fallback
from steadytree.distance._solver.assignment import assign, index_bits
from steadytree.distance._solver.pack import pack
from steadytree.distance.options import DistanceOptions
from steadytree.distance.variants import assign as scipy_assign
from steadytree.distance.variants import cost_matrix
from tests.strategies import Kind, random_space, random_tree

VARIANTS = ("paper", "metric", "cover")
OUTCOMES = ("label", "distribution", "impurity")


def check_assignment(cost: np.ndarray) -> None:
    rows, columns = linear_sum_assignment(cost)
    best = int(cost[rows, columns].sum())
    for packed in (True, False):
        total, found = assign(cost, packed=packed)
        assert total == best
        assert np.unique(found).size == cost.shape[0]
        assert int(cost[np.arange(cost.shape[0]), found].sum()) == best


def random_costs(rng: np.random.Generator, n: int, m: int, kind: int) -> np.ndarray:
    if kind == 0:  # many ties
        return rng.integers(0, 4, (n, m))
    if kind == 1:
        return rng.integers(-(10**12), 10**12, (n, m))
    if kind == 2:  # every matching is optimal
        return np.full((n, m), 7)
    if kind == 3:  # all rows prefer the same columns
        return (
            rng.integers(0, 1000, (n, 1))
            + rng.integers(-2000, 100, (1, m))
            + rng.integers(0, 30, (n, m))
        )
    x, y = rng.random((n, 3)), rng.random((m, 3))
    distances = np.abs(x[:, None] - y).sum(axis=2) - 3 * rng.random(m)
    return (distances * 2**40).astype(np.int64)


@pytest.mark.parametrize("kind", range(5))
def test_assignment_agrees_with_scipy(kind: int) -> None:
    rng = np.random.default_rng(kind)
    for _ in range(600):
        n = int(rng.integers(1, 30))
        m = n + int(rng.integers(0, 40)) * int(rng.random() < 0.8)
        check_assignment(random_costs(rng, n, m, kind).astype(np.int64))


@pytest.mark.parametrize(
    ("n", "m"),
    [
        *[(1, 1), (1, 2), (1, 50), (2, 2), (2, 40), (12, 13), (13, 13), (90, 100), (64, 300)],
        *[(96, 96), (96, 97), (120, 121), (150, 400), (200, 205), (100, 1500)],  # auction first
    ],
)
def test_assignment_shapes(n: int, m: int) -> None:
    rng = np.random.default_rng(n * m)
    for kind in range(5):
        check_assignment(random_costs(rng, n, m, kind).astype(np.int64))


@given(st.data())
@settings(max_examples=150, deadline=None)
def test_assignment_of_any_small_matrix(data: st.DataObject) -> None:
    n = data.draw(st.integers(1, 6))
    m = data.draw(st.integers(n, 20))
    numbers = st.lists(st.integers(-5, 5), min_size=n * m, max_size=n * m)
    check_assignment(np.array(data.draw(numbers), dtype=np.int64).reshape(n, m))


def test_more_than_4096_columns_are_not_packed() -> None:
    assert index_bits(4095, 10.0) > 0
    assert index_bits(4096, 10.0) == 0
    assert index_bits(100, 2.0**55) == 0  # no room beside the costs
    rng = np.random.default_rng(0)
    check_assignment(rng.integers(0, 1000, (7, 4500)))


def options(variant: str, outcome: str, weight: float) -> DistanceOptions:
    return DistanceOptions(variant, weight, outcome, None, None, False)


def scipy_distance(a: Paths, b: Paths, chosen: DistanceOptions) -> float:
    cost = cost_matrix(a, b, chosen)
    rows, columns, price = scipy_assign(a, b, cost, chosen)
    taken = rows if a.n_paths >= b.n_paths else columns
    return float(cost[rows, columns].sum() + np.delete(price, taken).sum())


def random_collection(seed: int, count: int = 6) -> tuple[list[Paths], bool]:
    rng = Random(seed)
    kind = rng.choice(
        [
            Kind(categorical=False, missing=False),
            Kind(categorical=False),
            Kind(numeric=False),
            Kind(),
            Kind(regression=True),
        ]
    )
    space = random_space(rng, kind)
    trees = [
        random_tree(rng, space, kind, n_leaves=rng.choice([1, 2, 3, 5, 9, 14, 25, 40]))
        for _ in range(count)
    ]
    return [Paths.from_tree(t, space, classes=space.classes) for t in trees], kind.regression


@pytest.mark.parametrize("variant", VARIANTS)
def test_kernels_and_fallback_agree_with_plain_scipy(variant: str) -> None:
    for seed in range(25):
        paths, regression = random_collection(seed)
        for outcome in OUTCOMES[: 1 if regression else 3]:
            weight = (0.0, 1.0, 0.3, 24.0, 5000.0)[seed % 5]
            packed = pack(paths, label_weight=weight, outcome=outcome, variant=variant)
            distances = kernels.pairwise(packed)
            chosen = options(variant, outcome, weight)
            for i, j in itertools.product(range(len(paths)), repeat=2):
                plain = scipy_distance(paths[i], paths[j], chosen)
                assert distances[i, j] == pytest.approx(plain, rel=1e-9, abs=1e-12 * (1 + weight))
            # Whole numbers all the way: not close, equal.
            np.testing.assert_array_equal(fallback.pairwise(packed), distances)
            assert (np.diag(distances) == 0).all()
            np.testing.assert_array_equal(distances, distances.T)


def breast_cancer_paths(count: int, *, max_depth: int = 8) -> list[Paths]:
    X, y = load_breast_cancer(return_X_y=True)
    space = FeatureSpace.from_data(X)
    rng = np.random.default_rng(0)
    out = []
    for k in range(count):
        rows = rng.choice(len(y), len(y))
        model = DecisionTreeClassifier(max_depth=1 + k % max_depth, random_state=k)
        out.append(Paths.from_tree(as_tree(model.fit(X[rows], y[rows])), space))
    return out


def test_result_does_not_depend_on_threads_order_or_company() -> None:
    paths = breast_cancer_paths(40)
    keys = {"label_weight": 1.0, "outcome": "label", "variant": "paper"}
    first, second = pack(paths[:25], **keys), pack(paths[20:], **keys)
    distances = kernels.pairwise(first, second, 1)
    for n_jobs in (2, 3, None):
        np.testing.assert_array_equal(kernels.pairwise(first, second, n_jobs), distances)
    np.testing.assert_array_equal(kernels.pairwise(second, first), distances.T)
    np.testing.assert_array_equal(kernels.pairwise(pack(paths, **keys))[:25, 20:], distances)
    one = kernels.pairwise(pack(paths[3:4], **keys), pack(paths[30:31], **keys))
    assert one[0, 0] == distances[3, 10]
    np.testing.assert_array_equal(fallback.pairwise(first, second, 2), distances)


def test_identical_trees_are_packed_once() -> None:
    paths = breast_cancer_paths(12)
    keys = {"label_weight": 1.0, "outcome": "label", "variant": "paper"}
    given_twice = [*paths, *paths[::-1]]
    packed = pack(given_twice, **keys)
    assert packed.n_distinct == len(paths)
    np.testing.assert_array_equal(packed.inverse, [*range(12), *range(11, -1, -1)])
    everything = pack(given_twice, deduplicate=False, **keys)
    assert everything.n_distinct == 24
    np.testing.assert_array_equal(kernels.pairwise(packed), kernels.pairwise(everything))


def stump_pair(swap: bool) -> Paths:
    """The same four boxes, split first on one feature or first on the other."""
    rng = np.random.default_rng(1)
    X = rng.random((400, 2))
    X[:, :] = np.where(X < 0.5, 0.25, 0.75)
    y = ((X[:, 0] < 0.5) ^ (X[:, 1] < 0.5)).astype(int)
    weight = np.where(X[:, int(swap)] < 0.5, 1.0, 3.0)
    model = DecisionTreeClassifier(max_depth=2, max_features=2, random_state=0)
    tree = as_tree(model.fit(X, y, sample_weight=weight))
    return Paths.from_tree(tree, FeatureSpace.from_data(np.array([[0.0, 0.0], [1.0, 1.0]])))


def test_digest_ignores_the_order_of_splits_but_not_outcomes() -> None:
    a, b = stump_pair(False), stump_pair(True)
    assert a.op_coord.tolist() != b.op_coord.tolist()  # built in another order
    keys = {"label_weight": 1.0, "variant": "paper"}
    packed = pack([a, b], outcome="label", **keys)
    assert packed.n_distinct == 1
    assert kernels.pairwise(packed)[0, 1] == 0.0
    # Trees that differ in a share only are one tree for labels, two for distributions.
    paths = breast_cancer_paths(1)[0]
    value = paths.value.copy()
    value[0] = value[0, ::-1] * 0.4 + value[0] * 0.6
    other = dataclasses.replace(paths, value=value)
    assert pack([paths, other], outcome="label", **keys).n_distinct == 1
    assert pack([paths, other], outcome="distribution", **keys).n_distinct == 2


def test_regression_trees_differ_by_value() -> None:
    X, y = load_diabetes(return_X_y=True)
    space = FeatureSpace.from_data(X, y, task="regression")
    trees = [
        as_tree(DecisionTreeRegressor(max_depth=4, random_state=k).fit(X[k::2], y[k::2]))
        for k in (0, 1)
    ]
    paths = [Paths.from_tree(t, space) for t in trees]
    for variant in VARIANTS:
        packed = pack(paths, label_weight=2.0, outcome="label", variant=variant)
        plain = scipy_distance(paths[0], paths[1], options(variant, "label", 2.0))
        assert kernels.pairwise(packed)[0, 1] == pytest.approx(plain, rel=1e-9)


def test_fallback_is_chosen_without_numba() -> None:
    code = "from steadytree.distance._solver import backend; print(backend().__name__)"
    blocked = "import sys; sys.modules['numba'] = None; " + code
    for command, env in ((code, {"STEADYTREE_NO_NUMBA": "1"}), (blocked, {})):
        done = subprocess.run(
            [sys.executable, "-c", command],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, **env},
        )
        assert done.stdout.strip() == "steadytree.distance._solver.scipy_solver"
    assert backend() is kernels


def test_numba_is_not_imported_before_a_distance() -> None:
    code = "import sys, steadytree; print('numba' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_two_small_trees_are_compared_without_numba() -> None:
    code = """
import sys
import steadytree as st
from sklearn.datasets import load_iris
from sklearn.tree import DecisionTreeClassifier
X, y = load_iris(return_X_y=True)
trees = [DecisionTreeClassifier(max_depth=d, random_state=0).fit(X, y) for d in range(1, 6)]
space = st.FeatureSpace.from_data(X)
few = st.pairwise_tree_distances(trees, space=space)
assert "numba" not in sys.modules
import steadytree.distance._solver.kernels
again = st.pairwise_tree_distances(trees, space=space)
assert "numba" in sys.modules
assert (few == again).all()
"""
    subprocess.run([sys.executable, "-c", code], check=True)
