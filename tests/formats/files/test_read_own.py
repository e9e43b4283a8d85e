"""Our own tree files, by their name or by what they begin with."""

from __future__ import annotations

from pathlib import Path

import pytest

import steadytree as st
from steadytree.exceptions import InputError, TreeFormatError
from tests.foreign import random_tree
from tests.formats.contract import Case


def make_case(seed: int, folder: Path) -> Case:
    tree = random_tree(seed, kind=("binary", "multiclass", "regression")[seed % 3])
    return Case.of_tree(st.save_tree(tree, folder / "tree.json"), tree, seed)


def test_the_beginning_tells_where_the_name_does_not(tmp_path: Path) -> None:
    tree = random_tree(0)
    path = st.save_tree(tree, tmp_path / "model.v1")
    assert st.as_tree(path) == tree
    with pytest.raises(InputError, match="expected tree_index below 1"):
        st.as_tree(path, tree_index=3)


def test_files_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(TreeFormatError, match="expected a readable tree file, got a folder"):
        st.as_tree(tmp_path)
    with pytest.raises(TreeFormatError, match="got No such file or directory"):
        st.as_tree(tmp_path / "none.json")
    other = tmp_path / "picture.png"
    other.write_bytes(b"\x89PNG")
    with pytest.raises(TreeFormatError, match="expected a model file of a kind that can be read"):
        st.as_tree(other)


def sample_files(folder: Path) -> list[Path]:
    return [
        st.save_tree(random_tree(seed, kind=kind, depth=3), folder / f"{kind}.json")
        for seed, kind in enumerate(("binary", "multiclass", "regression"))
    ]
