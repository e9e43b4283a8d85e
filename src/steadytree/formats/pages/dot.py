"""A tree as a Graphviz picture: ``dot -Tsvg tree.dot``."""

from __future__ import annotations

from steadytree.formats.pages.pictures import Box, draw_tree, label_colour
from steadytree.plugins import INK, Tree, tint

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
            f'  node [shape=box, style="rounded,filled", fillcolor="#FFFFFF", color="{INK}", '
            f'fontcolor="{INK}", fontname="Helvetica"];',
            f'  edge [color="{INK}", fontcolor="{INK}", fontname="Helvetica"];',
            *(f"  n{box.node} [{_attributes(tree, box)}];" for box in boxes),
            *(f"  n{a.start} -> n{a.end} [label={_text((a.words,))}];" for a in arrows),
            "}",
            "",
        ]
    )


def _attributes(tree: Tree, box: Box) -> str:
    label = f"label={_text(box.lines)}"
    if not (box.is_leaf and tree.is_classifier):
        return label
    colour = label_colour(box.label)
    return f'{label}, fillcolor="{tint(colour)}", color="{colour}"'


def _text(lines: tuple[str, ...]) -> str:
    escaped = ("".join(_ESCAPES.get(c, c) for c in line) for line in lines)
    return '"' + "\\n".join(escaped) + '"'
