"""Nested dictionaries: written as JSON, read again from the file, told by what is in it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import steadytree as st
from steadytree.exceptions import InputError, TreeFormatError
from steadytree.tree.nested import Branch, Leaf, Node, build_tree
from tests.foreign import random_tree
from tests.formats.contract import Case

KINDS = ("binary", "multiclass", "regression")


def make_case(seed: int, folder: Path) -> Case:
    tree = random_tree(
        seed,
        kind=KINDS[seed % 3],
        precision=("float64", "float32")[seed % 2],
        kept_labels=seed % 3 < 2,
    )
    path = st.export_tree(tree, "dict", folder / ("tree.json", "tree.txt")[seed % 2])
    return Case.of_tree(path, tree, seed)


def sample_files(folder: Path) -> list[Path]:
    return [
        st.export_tree(
            random_tree(seed, kind=kind, depth=3), "dict", folder / f"nested {kind}.json"
        )
        for seed, kind in enumerate(KINDS)
    ]


def test_a_file_written_by_hand(tmp_path: Path) -> None:
    path = tmp_path / "by hand.json"
    # As some editors save it.
    path.write_text(
        '{"feature": "format", "threshold": 3, "left": {"value": 1}, "right": {"value": 2}}',
        encoding="utf-8-sig",
    )
    tree = st.as_tree(path)
    assert tree.feature_names == ("format",)
    with pytest.raises(InputError, match="expected tree_index below 1"):
        st.as_tree(path, tree_index=1)
    path.write_text('{"label": "yes"}')
    assert st.as_tree(path).n_leaves == 1


def test_damaged_and_hostile_files(tmp_path: Path) -> None:
    path = tmp_path / "tree.json"
    sides = '"left": {"value": 1}, "right": {"value": 2}}'
    for text, match in (
        ('{"name": "Ada"}', "format: expected an entry, got none"),  # ours by its name
        ('{"feature": "a", "threshold": "x", ' + sides, "tree.json: root: expected a number as th"),
        ('{"feature": "a", "threshold":', "expected JSON, got .* the file may be cut off"),
        ('{"left":' * 100_000 + "1" + "}" * 100_000, "nested too deeply"),
        ('{"feature": 1000000000000000000000, "threshold": 1, ' + sides, "one of the features"),
        ('{"feature": "1", "threshold": NaN, ' + sides, "got nan"),
    ):
        path.write_text(text)
        with pytest.raises(TreeFormatError, match=match):
            st.as_tree(path)


def run(tree: st.Tree, rows: Any, folder: Path) -> tuple[Any, Any]:
    path = st.export_tree(tree, "dict", folder / "tree.json")
    back = st.as_tree(json.loads(path.read_text(encoding="utf-8")))
    return back.predict(rows), back.predict_proba(rows) if tree.is_classifier else None


def test_plain_values_only(tmp_path: Path) -> None:
    content = st.export_tree(random_tree(1, kind="multiclass"), "dict")
    assert json.loads(json.dumps(content, allow_nan=False)) == content
    assert set(content) == {"features", "classes", "tree"}
    tree = random_tree(0)
    path = st.export_tree(tree, path=tmp_path / "tree.json")  # the suffix names the format
    assert json.loads(path.read_text(encoding="utf-8")) == st.export_tree(tree, "dict")
    with pytest.raises(InputError, match="expected classes and categories that are text"):
        st.export_tree(tree.replace(classes=("no", ("a", "tuple"))), "dict")


def test_more_levels_than_json_nests(tmp_path: Path) -> None:
    node: Node = Leaf([0.0])
    for k in range(999):
        node = Branch(feature=0, left=Leaf([float(k)]), right=node, threshold=-k, missing_left=True)
    tree = build_tree(node, n_features=1)
    content = st.export_tree(tree, "dict")
    back = st.as_tree(content)
    rows = np.arange(-1000.0, 10)[:, None]
    np.testing.assert_array_equal(back.predict(rows), tree.predict(rows))
    with pytest.raises(InputError, match="save it with save_tree"):
        st.export_tree(tree, "dict", tmp_path / "deep.json")
