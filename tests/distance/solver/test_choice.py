"""Which solver runs: a matter of sizes, and of whether numba is there."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys

import pytest

from steadytree import _io as limits
from steadytree.distance import _solver
from steadytree.distance._solver import compiled_solver, kernels
from steadytree.exceptions import InputError
from steadytree.tree.paths import Paths
from tests.distance.solver.examples import breast_cancer_paths, measure, plain_distance
from tests.golden import MID_2, UNIT, build


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


def test_sizes_alone_decide() -> None:
    small, large = breast_cancer_paths(2), breast_cancer_paths(8)
    assert _solver._is_small(small, small)
    assert _solver._is_small(large, large)
    assert not _solver._is_small(large * 3, large * 3)  # 576 pairs
    deep = [p for p in large if p.n_paths > 8]
    assert not _solver._is_small(deep * 5, deep * 30)


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
