"""Nested dictionaries: written as JSON, read again from the file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import steadytree as st
from steadytree.exceptions import InputError
from steadytree.tree.branches import build_tree
from steadytree.tree.nested import Branch, Leaf, Node
from tests.foreign import random_tree


def run(tree: st.Tree, rows: Any, folder: Path) -> tuple[Any, Any]:
    path = st.export_tree(tree, "dict", folder / "tree.json")
    back = st.Tree.from_nested_dict(json.loads(path.read_text(encoding="utf-8")))
    return back.predict(rows), back.predict_proba(rows) if tree.is_classifier else None


def test_the_suffix_names_the_format(tmp_path: Path) -> None:
    tree = random_tree(0)
    path = st.export_tree(tree, path=tmp_path / "tree.json")
    assert json.loads(path.read_text(encoding="utf-8")) == st.export_tree(tree, "dict")
    assert st.export_tree(tree, "dict", tmp_path / "again.json").read_bytes() == path.read_bytes()


def test_plain_values_only() -> None:
    content = st.export_tree(random_tree(1, kind="multiclass"), "dict")
    assert json.loads(json.dumps(content, allow_nan=False)) == content
    assert set(content) == {"features", "classes", "tree"}


def test_a_class_that_json_cannot_hold() -> None:
    tree = random_tree(0).replace(classes=("no", ("a", "tuple")))
    with pytest.raises(InputError, match="expected classes and categories that are text"):
        st.export_tree(tree, "dict")


def test_more_levels_than_json_nests(tmp_path: Path) -> None:
    node: Node = Leaf([0.0])
    for k in range(999):
        node = Branch(feature=0, left=Leaf([float(k)]), right=node, threshold=-k, missing_left=True)
    tree = build_tree(node, n_features=1)
    content = st.export_tree(tree, "dict")
    back = st.Tree.from_nested_dict(content)
    rows = np.arange(-1000.0, 10)[:, None]
    np.testing.assert_array_equal(back.predict(rows), tree.predict(rows))
    with pytest.raises(InputError, match="save it with save_tree"):
        st.export_tree(tree, "dict", tmp_path / "deep.json")
