"""Which solver runs, and that both give the same numbers, in any company."""

from __future__ import annotations

import dataclasses
import itertools
import os
import subprocess
import sys

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from steadytree import FeatureSpace, as_tree
from steadytree import _io as limits
from steadytree.distance import _solver
from steadytree.distance._solver import assign, compiled_solver, kernels, match, pairwise_by_scipy
from steadytree.distance._solver.assignment import N_VECTORS
from steadytree.distance._solver.pack import LANES, pack, padded_length
from steadytree.distance.equations import in_quanta
from steadytree.exceptions import InputError
from steadytree.tree.paths import Paths
from tests.distance.examples import (
    OUTCOMES,
    VARIANTS,
    breast_cancer_paths,
    measure,
    plain_distance,
    random_collection,
)
from tests.golden import MID_2, UNIT, build


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


# -- equal trees once ------------------------------------------------------------------------


def test_identical_trees_are_packed_once() -> None:
    paths = breast_cancer_paths(12)
    given_twice = [*paths, *paths[::-1]]
    packed = pack(given_twice, measure())
    assert packed.n_distinct == len(paths)
    np.testing.assert_array_equal(packed.inverse, [*range(12), *range(11, -1, -1)])
    everything = pack(given_twice, measure(), deduplicate=False)
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
    assert a.walked.op_coord.tolist() != b.walked.op_coord.tolist()  # built in another order
    packed = pack([a, b], measure())
    assert packed.n_distinct == 1
    assert kernels.pairwise(packed)[0, 1] == 0.0
    assert pairwise_by_scipy([a, b], None, measure())[0, 1] == 0.0
    # Trees that differ in a share only are one tree for labels, two for distributions.
    paths = breast_cancer_paths(1)[0]
    value = paths.value.copy()
    value[0] = value[0, ::-1] * 0.4 + value[0] * 0.6
    other = dataclasses.replace(paths, value=value)
    assert pack([paths, other], measure()).n_distinct == 1
    assert pack([paths, other], measure(outcome="distribution")).n_distinct == 2


# -- one pair --------------------------------------------------------------------------------


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_matching_and_its_total(variant: str) -> None:
    small, large = breast_cancer_paths(4)[1::2]
    for first, second in ((small, large), (large, small), (large, large)):
        (a, b), _ = in_quanta([first, second], measure(variant))
        found = match(a, b)
        lone = np.delete(
            np.arange(max(len(a.x), len(b.x))),
            found.rows if len(a.x) >= len(b.x) else found.columns,
        )
        total = found.cost[found.rows, found.columns].sum() + found.price[lone].sum()
        assert total == found.total
        plain = plain_distance(first, second, variant, "label", 1.0)
        assert found.total * 2.0**-44 == pytest.approx(plain, rel=1e-9)


def test_the_nearest_column_is_the_price_where_nobody_gives_one() -> None:
    cost = np.array([[5.0], [1.0], [3.0]])
    rows, columns, price, total = assign(cost, lambda: None)
    assert price.tolist() == [5, 1, 3]
    assert len(rows) == len(columns) == 1
    assert total == 9
    *_, total = assign(cost, lambda: np.array([4, 4, 4]))
    assert total == 9
    *_, total = assign(cost[:1], lambda: pytest.fail("all have a partner"))
    assert total == 5


def test_equal_trees_are_solved_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    monkeypatch.setattr(_solver, "match", lambda a, b: calls.append(1) or match(a, b))
    paths = breast_cancer_paths(3)
    distances = pairwise_by_scipy([*paths, *paths], None, measure())
    assert len(calls) == 3
    np.testing.assert_array_equal(distances[:3, :3], distances[3:, :3])
    assert (np.diag(distances) == 0).all()


# -- which solver ----------------------------------------------------------------------------


def test_scipy_is_chosen_without_numba() -> None:
    code = "from steadytree.distance._solver import compiled_solver; print(compiled_solver())"
    blocked = "import sys; sys.modules['numba'] = None; " + code
    for command, env in ((code, {"STEADYTREE_NO_NUMBA": "1"}), (blocked, {})):
        done = subprocess.run(
            [sys.executable, "-c", command],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, **env},
        )
        assert done.stdout.strip() == "None"
    assert compiled_solver() is kernels


def chain(n_leaves: int) -> Paths:
    """Split the first feature again and again, into as many leaves."""
    node: object = "no"
    for k in range(1, n_leaves):
        node = (0, k / n_leaves, node, "yes" if k % 2 else "no")
    return Paths.from_tree(build(node), UNIT)


def test_where_small_ends() -> None:
    stump = chain(2)
    assert _solver._is_small([stump] * 20, [stump] * 25)  # 500 pairs
    assert not _solver._is_small([stump] * 3, [stump] * 167)  # 501
    # 500 pairs of 20 rules with 20; the largest trees count.
    assert _solver._is_small([chain(20)] * 20, [chain(20)] * 25)
    assert not _solver._is_small([chain(20)] * 20, [*[stump] * 24, chain(21)])
    assert not _solver._is_small([*[stump] * 24, chain(21)], [chain(20)] * 20)


@pytest.mark.parametrize("without_numba", ["", "1"])
@pytest.mark.parametrize("copies", [1, 150])  # scipy, and the kernels if they are there
def test_every_pair_gets_its_distance_whichever_solver_runs(
    copies: int, without_numba: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STEADYTREE_NO_NUMBA", without_numba)
    a, b = [chain(1), chain(3)], [chain(2), chain(5), Paths.from_tree(MID_2, UNIT)]
    for other in (None, b):
        many = _solver.pairwise(a * copies, other and other * copies, measure("metric"), 1)
        for (i, p), (j, q) in itertools.product(enumerate(a), enumerate(other or a)):
            plain = plain_distance(p, q, "metric", "label", 1.0)
            assert many[i, j] == pytest.approx(plain, rel=1e-9, abs=1e-12)
            assert (many[i :: len(a), j :: len(other or a)] == many[i, j]).all()


@pytest.mark.parametrize("copies", [1, 30])
def test_the_largest_pair_must_fit_into_memory(
    copies: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """24 bytes for each pair of rules; asked before anything is laid out."""
    a, b = [chain(2), chain(7)] * copies, [chain(2), chain(5)] * copies
    monkeypatch.setattr(limits, "MAX_MATCHING_BYTES", 24 * 7 * 5)
    assert _solver.pairwise(a, b, measure()).shape == (2 * copies, 2 * copies)
    with pytest.raises(InputError, match="got 7 rules against 7 rules"):
        _solver.pairwise(a, None, measure())
    monkeypatch.setattr(limits, "MAX_MATCHING_BYTES", 24 * 7 * 5 - 1)
    with pytest.raises(InputError, match="got 7 rules against 5 rules"):
        _solver.pairwise(a, b, measure())


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
