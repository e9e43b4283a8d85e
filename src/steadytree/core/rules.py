"""A tree in words: an indented listing, or one line per rule."""

from __future__ import annotations

from typing import Any

from steadytree.core.conditions import format_number
from steadytree.core.tree import Tree

__all__ = ["node_outcome_text", "split_text", "tree_text"]


def split_text(tree: Tree, node: int, *, left: bool) -> str:
    """Condition for going left (or right) at a split, in words."""
    j = int(tree.feature[node])
    name = tree.labels[j]
    assert tree.missing_left is not None
    codes = tree.left_categories[node]
    cats = tree.categories[j]
    if codes is not None and cats is not None:
        chosen = [cats[c] for c in range(len(cats)) if (c in set(codes)) == left]
        if not chosen:
            return f"{name} is missing"
        return f"{name} is {_listed(chosen)}"
    t = float(tree.threshold[node])
    if t == float("inf"):
        return f"{name} is not missing" if left else f"{name} is missing"
    return f"{name} {'<=' if left else '>'} {format_number(t)}"


def _listed(items: list[Any]) -> str:
    words = [str(item) for item in items]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


def node_outcome_text(tree: Tree, node: int, *, shares: bool = True) -> str:
    """Label and its share, or the mean response, of a node."""
    if tree.classes is None:
        return format_number(float(tree.value[node, 0]))
    assert tree.label is not None
    label = int(tree.label[node])
    text = str(tree.classes[label])
    if not shares:
        return text
    # With two classes the share of the positive one is what people compare.
    shown = 1 if len(tree.classes) == 2 else label
    return f"{text} ({tree.classes[shown]}: {100 * tree.value[node, shown]:.1f} %)"


def tree_text(tree: Tree, *, shares: bool = True) -> str:
    """Return an indented listing of the tree, one line per branch and leaf.

    Parameters
    ----------
    tree : Tree
    shares : bool, default True
        Write the class share of each leaf beside its label.
    """
    lines: list[str] = []
    stack: list[tuple[int, int, str]] = [(0, 0, "")]
    while stack:
        node, depth, condition = stack.pop()
        indent = "|   " * (depth - 1) + ("|-- " if depth else "")
        leaf = bool(tree.is_leaf[node])
        outcome = f": {node_outcome_text(tree, node, shares=shares)}" if leaf else ""
        if depth or leaf:
            lines.append(f"{indent}{condition or 'always'}{outcome}")
        if not leaf:
            for side, child in ((False, tree.children_right), (True, tree.children_left)):
                stack.append((int(child[node]), depth + 1, split_text(tree, node, left=side)))
    return "\n".join(lines)
