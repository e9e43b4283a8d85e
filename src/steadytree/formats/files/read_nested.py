"""Read JSON files of nested conditions: written by hand, or as the format "dict"."""

from __future__ import annotations

import re
from pathlib import Path

from steadytree.plugins import Tree, TreeFormatError, choose_tree, parse_json, read_bytes

FILES = "nested conditions as JSON (.json)"

_BEGINS = re.compile(rb'\s*\{\s*"')
# What stands at the beginning of such a file, and what only in those of others.
_ENTRIES = re.compile(rb'"(tree|feature|threshold|categories|left|right|label|shares|value)"\s*:')
_OF_OTHERS = re.compile(rb'"(format|nodes|learner|model_info|features_info)"\s*:')


def reads_file(path: Path, start: bytes) -> bool:
    """Whether a file is an object with such entries and none of those of other formats."""
    start = start.removeprefix(b"\xef\xbb\xbf")
    return bool(_BEGINS.match(start) and _ENTRIES.search(start) and not _OF_OTHERS.search(start))


def read_file(path: Path, tree_index: int | None = None) -> Tree:
    """Parse a file; errors say where in the tree."""
    choose_tree(1, tree_index, "a file of nested conditions")
    content = read_bytes(path).removeprefix(b"\xef\xbb\xbf")
    try:
        return Tree.from_nested_dict(parse_json(content))
    except TreeFormatError as error:
        raise TreeFormatError(f"{path}: {error}") from None
