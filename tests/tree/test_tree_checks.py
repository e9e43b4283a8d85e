"""Arrays that are no tree are refused, the first bad node named."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import steadytree as st
from steadytree._io import MAX_DEPTH
from steadytree.exceptions import TreeFormatError
from steadytree.tree.checks import check_category_sets, check_shape_of_tree


def chain(depth: int) -> dict[str, Any]:
    """A tree that goes down one side for so many levels."""
    n = 2 * depth + 1
    split = np.arange(n) % 2 == 0
    split[-1] = False
    at = np.arange(n)
    return {
        "children_left": np.where(split, at + 1, -1),
        "children_right": np.where(split, at + 2, -1),
        "feature": np.where(split, 0, -1),
        "threshold": np.zeros(n),
        "value": np.tile([1.0, 0.0], (n, 1)),
        "n_features": 1,
        "classes": (0, 1),
    }


def test_depth_is_bounded() -> None:
    assert st.Tree(**chain(MAX_DEPTH)).depth == MAX_DEPTH
    with pytest.raises(TreeFormatError, match=f"expected at most {MAX_DEPTH} levels, got a deeper"):
        st.Tree(**chain(MAX_DEPTH + 1))
    with pytest.raises(TreeFormatError, match="expected at most 1000 levels"):
        st.Tree(**chain(300_000))


@pytest.mark.parametrize(
    ("left", "right", "message"),
    [
        ([1, -1, -1], [2, 2, -1], "node 1: expected two children or none"),
        ([1, -1, -1], [3, -1, -1], r"node 0: expected a child in \[0, 3\), got 3"),
        ([1, -1, -1], [1, -1, -1], "node 1: expected one way to reach it, got a cycle"),
        ([1, -1, 3, -1, -1], [4, -1, 2, -1, -1], "the root, got|two parents|form a cycle"),
    ],
)
def test_the_first_bad_node_is_named(left: list[int], right: list[int], message: str) -> None:
    with pytest.raises(TreeFormatError, match=message):
        check_shape_of_tree(np.array(left, dtype=np.int32), np.array(right, dtype=np.int32))


@pytest.mark.parametrize("seed", range(20))
def test_any_numbering_of_a_tree_is_accepted(seed: int) -> None:
    rng = np.random.default_rng(seed)
    left, right = [-1], [-1]
    for _ in range(rng.integers(0, 12)):
        leaf = int(rng.choice(np.flatnonzero(np.array(left) == -1)))
        left[leaf], right[leaf] = len(left), len(left) + 1
        left += [-1, -1]
        right += [-1, -1]
    order = np.concatenate([[0], 1 + rng.permutation(len(left) - 1)])  # the root stays first
    place = np.argsort(order)

    def renumbered(side: list[int]) -> np.ndarray:
        old = np.array(side)[order]
        return np.where(old < 0, -1, place[old]).astype(np.int32)

    leaf = check_shape_of_tree(renumbered(left), renumbered(right))
    np.testing.assert_array_equal(leaf, np.array(left)[order] == -1)


def test_category_sets_stand_where_features_are_categorical() -> None:
    feature = np.array([0, -1, -1], dtype=np.int32)
    assert check_category_sets([(2, 0, 2), None, None], feature, (("a", "b", "c"),))[0] == (0, 2)
    with pytest.raises(TreeFormatError, match="node 0: expected a category set"):
        check_category_sets([None, None, None], feature, (("a", "b"),))
    with pytest.raises(TreeFormatError, match=r"category codes in \[0, 2\), got \[2\]"):
        check_category_sets([(2,), None, None], feature, (("a", "b"),))
