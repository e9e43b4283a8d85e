"""A tree as a Mermaid picture, which GitHub, GitLab and many wikis draw from text."""

from __future__ import annotations

from steadytree.formats.pages.pictures import draw_tree
from steadytree.plugins import Tree

SUFFIXES = (".mmd", ".mermaid")
# What Mermaid may read as a mark, an entity, HTML, Markdown, mathematics or a comment.
_MARKS = '"#<>&`\\*|;$[]{}%'


def write(tree: Tree) -> str:
    """Return the tree as a Mermaid flow chart."""
    boxes, arrows = draw_tree(tree)
    lines = ["flowchart TD"]
    for node, is_leaf, words in boxes:
        left, right = ('(["', '"])') if is_leaf else ('["', '"]')
        lines.append(f"  n{node}{left}{'<br/>'.join(map(_escaped, words))}{right}")
    lines += [f'  n{start} -->|"{_escaped(words)}"| n{end}' for start, end, words in arrows]
    return "\n".join([*lines, ""])


def _escaped(text: str) -> str:
    return "".join(f"#{ord(c)};" if c in _MARKS else c for c in text)
