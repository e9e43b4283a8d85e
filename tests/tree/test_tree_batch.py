"""Trees built together are those built one by one, and so are the complaints."""

from __future__ import annotations

from itertools import pairwise
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as hs

from steadytree.exceptions import TreeFormatError
from steadytree.tree.tree import Tree
from steadytree.tree.tree_batch import build_trees
from tests.strategies import Kind, examples, random_space, random_tree, shuffled_copy

NODES = (
    "children_left", "children_right", "feature", "threshold", "value", "weight",
    "missing_left", "label", "impurity",
)  # fmt: skip


def together(trees: list[Tree]) -> tuple[Any, ...]:
    """The arguments that give these trees."""
    first = np.cumsum([0, *(tree.n_nodes for tree in trees)])
    nodes = {name: np.concatenate([getattr(tree, name) for tree in trees]) for name in NODES}
    shared = {
        "n_features": trees[0].n_features,
        "classes": trees[0].classes,
        "feature_names": trees[0].feature_names,
        "precision": "float32",
    }
    return (
        first,
        nodes,
        shared,
        [{"observed": None, "metadata": {"k": k}} for k in range(len(trees))],
    )


def one_by_one(first: Any, nodes: Any, shared: Any, own: Any) -> list[Tree]:
    parts = [slice(*ends) for ends in pairwise(first.tolist())]
    return [
        Tree(**{name: column[part] for name, column in nodes.items()}, **shared, **fields)
        for part, fields in zip(parts, own, strict=True)
    ]


@examples(80)
@given(hs.randoms(use_true_random=False), hs.booleans(), hs.booleans())
def test_the_same_trees_as_one_by_one(rng: Random, regression: bool, shuffled: bool) -> None:
    kind = Kind(categorical=False, regression=regression)
    space = random_space(rng, kind)
    trees = [random_tree(rng, space, kind, max_leaves=9) for _ in range(4)]
    if shuffled:  # children need not come after their parents
        trees = [shuffled_copy(rng, tree, space) for tree in trees]
        names = sorted(trees[0].feature_names or ())
        trees = [tree.replace(feature_names=names) for tree in trees]
    arguments = together(trees)
    built = build_trees(*arguments)
    assert built == one_by_one(*arguments)
    for tree in built:
        assert tree == tree.replace()  # passes every check
        for name in NODES:
            assert not getattr(tree, name).flags.writeable
        assert tree.metadata["k"] in range(4)


@pytest.mark.parametrize(
    ("name", "at", "wrong", "words"),
    [
        ("children_left", 0, 9, "expected a child in"),
        ("children_left", 0, 0, "got a cycle or two parents"),
        ("children_right", 0, 1, "got a cycle or two parents"),
        ("children_right", 1, 2, "expected two children or none"),
        ("feature", 0, 3, "expected feature in"),
        ("threshold", 0, np.nan, "expected a threshold"),
        ("value", 1, [0.7, 0.7], "expected class shares"),
        ("value", 1, [np.inf, 0.0], "expected finite values"),
        ("weight", 2, -1.0, "expected a weight"),
        ("label", 2, 2, "expected a label"),
    ],
)
def test_what_is_wrong_is_said_as_for_one_tree(name: str, at: int, wrong: Any, words: str) -> None:
    good = Tree(
        children_left=np.array([1, -1, -1]),
        children_right=np.array([2, -1, -1]),
        feature=np.array([0, -1, -1]),
        threshold=np.array([0.5, np.nan, np.nan]),
        value=np.array([[0.5, 0.5], [1.0, 0.0], [0.0, 1.0]]),
        n_features=2,
        classes=("no", "yes"),
    )
    first, nodes, shared, own = together([good, good])
    assert build_trees(first, nodes, shared, own) == one_by_one(first, nodes, shared, own)
    nodes[name][3 + at] = wrong
    with pytest.raises(TreeFormatError, match=words):
        build_trees(first, nodes, shared, own)
