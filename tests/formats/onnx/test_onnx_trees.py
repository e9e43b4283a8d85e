"""The tables of ONNX's tree operators, read without a file around them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from steadytree.exceptions import TreeFormatError, UnsupportedModelError
from steadytree.formats.conditions import AtMost
from steadytree.formats.forks import Fork
from steadytree.formats.onnx.onnx_trees import fork_tree, leaves_of, read_ensemble
from steadytree.tree.nested import Leaf


def stump(**changed: Any) -> dict[str, Any]:
    return {
        "nodes_treeids": [0, 0, 0],
        "nodes_nodeids": [0, 1, 2],
        "nodes_featureids": [1, 0, 0],
        "nodes_modes": ["BRANCH_GT", "LEAF", "LEAF"],
        "nodes_values": [0.5, 0, 0],
        "nodes_truenodeids": [1, 0, 0],
        "nodes_falsenodeids": [2, 0, 0],
        "target_ids": [0, 0],
        "target_nodeids": [1, 2],
        "target_treeids": [0, 0],
        "target_weights": [3.0, 4.0],
        "base_values": [0.25],
        **changed,
    }


def test_a_stump() -> None:
    ensemble = read_ensemble("TreeEnsembleRegressor", stump())
    split = ensemble.splits[0]
    assert (split.column, split.mode, split.value, split.missing_yes) == (1, "GT", 0.5, False)
    said = leaves_of(ensemble, 0, [1, 2])
    assert said == {1: ([3.25], None), 2: ([4.25], None)}
    root = fork_tree(
        ensemble, ensemble.roots[0], lambda s: AtMost(0, s.value), lambda i: Leaf(said[i][0]), False
    )
    assert isinstance(root, Fork)
    assert [root.choices[0][1].value, root.otherwise.value] == [[3.25], [4.25]]


def test_tensors_stand_for_lists() -> None:
    wide = stump(target_weights=None, target_weights_as_tensor=np.array([0.1, 0.2]))
    ensemble = read_ensemble("TreeEnsembleRegressor", wide)
    assert not ensemble.single
    assert leaves_of(ensemble, 0, [1])[1][0][0] == 0.1 + 0.25


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"post_transform": "TWICE"}, "expected post_transform of"),
        ({"nodes_values": ["a", 0, 0]}, "expected numbers in nodes_values"),
        ({"nodes_featureids": np.array([np.nan, 0, 0])}, "expected numbers in nodes_featureids"),
        ({"nodes_modes": ["LEAF"]}, "expected 3 nodes_modes, got 1"),
        ({"nodes_treeids": [0, 0, 1]}, "expected two children among the nodes of tree 0"),
        ({"target_nodeids": [1, 1]}, "expected one weight per leaf and target"),
        ({"base_values": [float("nan")]}, "expected finite numbers in base_values"),
    ],
)
def test_tables_that_do_not_fit(changed: dict[str, Any], why: str) -> None:
    with pytest.raises(TreeFormatError, match=why):
        read_ensemble("TreeEnsembleRegressor", stump(**changed))


def test_a_leaf_without_weight() -> None:
    lone = stump(target_ids=[0], target_nodeids=[1], target_treeids=[0], target_weights=[1.0])
    with pytest.raises(TreeFormatError, match="a weight for each leaf, got a leaf without"):
        leaves_of(read_ensemble("TreeEnsembleRegressor", lone), 0, [1, 2])


def test_one_class_is_refused() -> None:
    given = {k.replace("target_", "class_"): v for k, v in stump().items()}
    ensemble = read_ensemble("TreeEnsembleClassifier", {**given, "classlabels_int64s": [7]})
    with pytest.raises(UnsupportedModelError, match=r"got 1 classes with weights for \[0\]"):
        leaves_of(ensemble, 0, [1, 2])
