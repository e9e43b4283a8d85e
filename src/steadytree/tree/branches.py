"""A tree as nested conditions, for whoever builds or rewrites one node at a time.

Flat arrays are quick to compute with and awkward to assemble. Readers describe a stranger's
tree as a :class:`Branch` with two sides, down to each :class:`Leaf`, and :func:`build_tree`
lays it flat. A part may stand in several places: it is written out in each.
"""

from __future__ import annotations

from typing import Any

from steadytree.tree.nested import Branch, Leaf, Node, laid_flat
from steadytree.tree.tree import Tree


def build_tree(root: Node, **fields: Any) -> Tree:
    """Lay nested conditions flat; ``fields`` are the others of :class:`Tree`."""
    return Tree(**laid_flat(root, fields))


def nested_nodes(tree: Tree) -> Node:
    """Return a tree as nested conditions: what :func:`build_tree` lays flat again."""
    made: dict[int, Node] = {}
    for node in reversed(tree.preorder.tolist()):
        value, weight = tree.value[node], float(tree.weight[node])
        label = int(tree.label[node]) if tree.is_classifier else None
        if tree.is_leaf[node]:
            made[node] = Leaf(value, weight, label)
            continue
        made[node] = Branch(
            feature=int(tree.feature[node]),
            left=made[int(tree.children_left[node])],
            right=made[int(tree.children_right[node])],
            threshold=float(tree.threshold[node]),
            left_categories=tree.left_categories[node],
            missing_left=bool(tree.missing_left[node]),
            unseen_left=bool(tree.unseen_left[node]),
            value=value,
            weight=weight,
            label=label,
        )
    return made[0]
