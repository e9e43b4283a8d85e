"""A tree as a Graphviz picture: ``dot -Tsvg tree.dot``."""

from __future__ import annotations

from collections.abc import Sequence

from steadytree.formats.pages.pictures import draw_tree
from steadytree.plugins import Tree

SUFFIXES = (".dot", ".gv")
# In a label Graphviz reads entities and backslashes; a quote would end it.
_ESCAPES = {"\\": "\\\\", '"': '\\"', "&": "&amp;", "<": "&lt;", ">": "&gt;"}


def write(tree: Tree) -> str:
    """Return the tree in the DOT language."""
    boxes, arrows = draw_tree(tree)
    return "\n".join(
        [
            "digraph tree {",
            '  graph [charset="UTF-8"];',
            '  node [shape=box, style=rounded, fontname="Helvetica"];',
            '  edge [fontname="Helvetica"];',
            *(f"  n{node} [label={_text(lines)}];" for node, _, lines in boxes),
            *(f"  n{start} -> n{end} [label={_text([words])}];" for start, end, words in arrows),
            "}",
            "",
        ]
    )


def _text(lines: Sequence[str]) -> str:
    escaped = ("".join(_ESCAPES.get(c, c) for c in line) for line in lines)
    return '"' + "\\n".join(escaped) + '"'
