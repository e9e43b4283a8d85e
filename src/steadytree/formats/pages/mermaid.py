"""A tree as a Mermaid picture, which GitHub, GitLab and many wikis draw from text."""

from __future__ import annotations

from steadytree.formats.pages.pictures import draw_tree, label_colour
from steadytree.plugins import INK, Tree, tint

SUFFIXES = (".mmd", ".mermaid")
# What Mermaid may read as a mark, an entity, HTML, Markdown, mathematics or a comment.
_MARKS = '"#<>&`\\*|;$[]{}%'


def write(tree: Tree) -> str:
    """Return the tree as a Mermaid flow chart."""
    boxes, arrows = draw_tree(tree)
    lines = ["flowchart TD"]
    for box in boxes:
        left, right = ('(["', '"])') if box.is_leaf else ('["', '"]')
        lines.append(f"  n{box.node}{left}{'<br/>'.join(map(_escaped, box.lines))}{right}")
    lines += [f'  n{a.start} -->|"{_escaped(a.words)}"| n{a.end}' for a in arrows]
    leaves = [box for box in boxes if box.is_leaf and tree.is_classifier]
    for label in sorted({box.label for box in leaves}):
        colour = label_colour(label)
        lines.append(f"  classDef label{label} fill:{tint(colour)},stroke:{colour},color:{INK}")
        nodes = ",".join(f"n{box.node}" for box in leaves if box.label == label)
        lines.append(f"  class {nodes} label{label}")
    return "\n".join([*lines, ""])


def _escaped(text: str) -> str:
    return "".join(f"#{ord(c)};" if c in _MARKS else c for c in text)
