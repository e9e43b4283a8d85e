"""Nested conditions and flat arrays are the same tree."""

from __future__ import annotations

import numpy as np
import pytest

from steadytree.exceptions import TreeFormatError
from steadytree.tree.branches import build_tree, nested_nodes
from steadytree.tree.nested import Branch, Leaf
from tests.foreign import random_tree


@pytest.mark.parametrize("kind", ["binary", "multiclass", "regression"])
@pytest.mark.parametrize("seed", range(5))
def test_there_and_back(kind: str, seed: int) -> None:
    tree = random_tree(seed, kind=kind, kept_labels=kind != "regression")
    again = build_tree(
        nested_nodes(tree),
        n_features=tree.n_features,
        feature_names=tree.feature_names,
        categories=tree.categories,
        classes=tree.classes,
    )
    assert again == tree.prune_at()


def test_inner_nodes_are_filled_in_from_below() -> None:
    stump = Branch(
        feature=0,
        threshold=1.0,
        missing_left=True,
        left=Leaf([1.0, 0.0], 3.0),
        right=Leaf([0.0, 1.0], 1.0),
    )
    tree = build_tree(stump, n_features=1, classes=("no", "yes"))
    np.testing.assert_allclose(tree.value[0], [0.75, 0.25])
    assert tree.weight[0] == 4
    assert not tree.tells_unseen_from_missing


def test_a_part_may_stand_in_two_places() -> None:
    leaf = Leaf([1.0])
    twice = Branch(feature=0, threshold=0.0, missing_left=True, left=leaf, right=leaf)
    tree = build_tree(twice, n_features=1)
    assert tree.n_leaves == 2


def test_too_many_nodes_are_refused_in_bounded_time() -> None:
    node: Leaf | Branch = Leaf([1.0])
    for _ in range(60):  # 2 to the 60th leaves
        node = Branch(feature=0, threshold=0.0, missing_left=True, left=node, right=node)
    with pytest.raises(TreeFormatError, match="expected at most 1,000,000 nodes"):
        build_tree(node, n_features=1)
