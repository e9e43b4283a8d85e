"""Nested conditions, laid flat into the arrays of a tree."""

from __future__ import annotations

import numpy as np
import pytest

from steadytree.exceptions import TreeFormatError
from steadytree.tree.nested import Branch, Leaf, Node, laid_flat
from steadytree.tree.tree import Tree


def test_parents_come_first_and_left_before_right() -> None:
    inner = Branch(
        feature=1, left=Leaf([1.0]), right=Leaf([2.0], 3.0), threshold=0, missing_left=False
    )
    root = Branch(feature=0, left=inner, right=Leaf([5.0]), threshold=1, missing_left=True)
    fields = laid_flat(root, {"n_features": 2})
    assert fields["children_left"].tolist() == [1, 2, -1, -1, -1]
    assert fields["children_right"].tolist() == [4, 3, -1, -1, -1]
    assert fields["missing_left"].tolist() == [True, False, False, False, False]
    # Sums and weighted means of what lies below.
    assert fields["weight"].tolist() == [5, 4, 1, 3, 1]
    np.testing.assert_allclose(fields["value"][:2, 0], [2.4, 1.75])
    assert Tree(**fields).predict([[2, 0], [0, 1]]).tolist() == [5.0, 2.0]


def test_labels_that_are_given_stay_and_others_follow_their_shares() -> None:
    root = Branch(
        feature=0,
        left=Leaf([0.9, 0.1], label=1),
        right=Leaf([0.8, 0.2]),
        threshold=0,
        missing_left=True,
    )
    fields = laid_flat(root, {"n_features": 1, "classes": ("a", "b")})
    assert fields["label"].tolist() == [0, 1, 0]


def test_a_part_that_stands_in_many_places_is_bounded() -> None:
    node: Node = Leaf([0.0])
    for _ in range(30):
        node = Branch(feature=0, left=node, right=node, threshold=0, missing_left=True)
    with pytest.raises(TreeFormatError, match="at most 1,000,000 nodes"):
        laid_flat(node, {"n_features": 1})
