"""Packing: equal trees once, whatever the order of their splits."""

from __future__ import annotations

import dataclasses

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from steadytree import FeatureSpace, as_tree
from steadytree.distance._solver import kernels, pairwise_by_scipy
from steadytree.distance._solver.pack import CLASHING, LANES, pack, padded_length
from steadytree.tree.paths import Paths
from tests.distance.solver.examples import breast_cancer_paths, measure


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
    assert a.operations.coord.tolist() != b.operations.coord.tolist()  # built in another order
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


def test_rows_are_whole_registers_and_lie_beside_each_other() -> None:
    columns = np.arange(1, 2000)
    length = padded_length(columns)
    assert (length % LANES == 0).all()
    assert (length % CLASHING != 0).all()
    assert ((length >= columns) & (length < columns + 2 * LANES)).all()
    assert padded_length(512) == 520
