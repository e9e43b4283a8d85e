"""Read the tree files that :func:`save_tree` writes."""

from __future__ import annotations

from pathlib import Path

from steadytree.plugins import Tree, choose_tree, load_tree

FILES = "steadytree's own JSON (.json)"


def reads_file(path: Path, start: bytes) -> bool:
    """Whether a file is ours: JSON, by its name, that no other reader claimed before."""
    return path.suffix.lower() == ".json" or b'"steadytree' in start


def read_file(path: Path, tree_index: int | None = None) -> Tree:
    """Read a file as :func:`load_tree` does."""
    choose_tree(1, tree_index, "a tree file")
    return load_tree(path)
