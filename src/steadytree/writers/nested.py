"""A tree as nested dictionaries and as JSON: for every system that has no format of its own.

The form is that of :meth:`Tree.from_nested_dict`, which reads it again.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from steadytree.core.atomic import write_atomic
from steadytree.core.nested import tree_to_nested
from steadytree.core.tree import Tree
from steadytree.exceptions import InputError

__all__ = ["SUFFIXES", "save", "write"]

SUFFIXES = (".json",)


def write(tree: Tree) -> dict[str, Any]:
    """Return the tree as nested dictionaries of plain values."""
    return tree_to_nested(tree)


def save(content: dict[str, Any], path: Path) -> Path:
    """Write the dictionaries as JSON."""
    try:
        text = json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False)
    except RecursionError:
        raise InputError(
            "expected a tree that JSON can nest, got one with too many levels; "
            "save it with save_tree, which writes it flat"
        ) from None
    return write_atomic(path, f"{text}\n")
