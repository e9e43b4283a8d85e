"""Which solver runs: a matter of sizes, and of whether numba is there."""

from __future__ import annotations

import os
import subprocess
import sys

from steadytree.distance import _solver
from steadytree.distance._solver import compiled_solver, kernels
from tests.distance.solver.examples import breast_cancer_paths


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
