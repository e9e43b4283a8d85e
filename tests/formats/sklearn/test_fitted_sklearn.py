"""Nodes in a scikit-learn tree: the layout of the installed version, parents before children."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.model_selection import FixedThresholdClassifier

from steadytree.formats.sklearn.write_sklearn import (
    children_last,
    decided_by_threshold,
    fitted_tree,
)
from tests.foreign import probe_rows, random_tree


@pytest.mark.parametrize("seed", range(3))
def test_nodes_are_those_of_the_tree(seed: int) -> None:
    tree = children_last(random_tree(seed, categorical=False, precision="float32"))
    model = fitted_tree(tree, tree.value)
    rows = probe_rows(tree, 2_000, seed, singles=True)
    np.testing.assert_array_equal(model.apply(rows), tree.apply(rows))
    np.testing.assert_array_equal(model.predict_proba(rows), tree.predict_proba(rows))


def test_children_come_after_their_parents() -> None:
    tree = random_tree(1, categorical=False)
    swapped = tree.n_nodes - 1 - np.arange(tree.n_nodes)  # the last node first, but for the root
    swapped = np.concatenate([[0], swapped[:-1]])
    place = np.argsort(swapped)

    def moved(children: np.ndarray) -> np.ndarray:
        return np.where(children[swapped] < 0, -1, place[children[swapped]])

    other = tree.replace(
        children_left=moved(tree.children_left),
        children_right=moved(tree.children_right),
        **{
            name: getattr(tree, name)[swapped]
            for name in ("feature", "threshold", "value", "missing_left", "weight", "label")
        },
    )
    rows = probe_rows(tree, 1_000)
    np.testing.assert_array_equal(other.predict(rows), tree.predict(rows))
    ordered = children_last(other)
    inner = np.flatnonzero(~ordered.is_leaf)
    assert (ordered.children_left[inner] > inner).all()
    assert (ordered.children_right[inner] > inner).all()
    np.testing.assert_array_equal(ordered.predict(rows), tree.predict(rows))


def test_a_threshold_goes_around_it() -> None:
    tree = children_last(random_tree(2, categorical=False, precision="float32").relabelled(0.3))
    around = decided_by_threshold(fitted_tree(tree, tree.value), tree)
    assert isinstance(around, FixedThresholdClassifier)
    rows = probe_rows(tree, 1_000, singles=True)
    np.testing.assert_array_equal(around.predict(rows), tree.predict(rows))
