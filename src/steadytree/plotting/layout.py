"""Where the nodes of a drawn tree go: pure geometry, no drawing.

Two layouts. The *diagram* (root on top, leaves side by side) is for figures. The *outline*
(one line per node, indented by depth) is for the report: two trees fit side by side whatever
their depth, and labels of any length have room. Large trees are folded: `fold_nodes` says
which branches to draw as a single "+12 rules" sign so that the rest stays readable.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np

from steadytree.core.tree import Tree
from steadytree.exceptions import InputError

Children = Sequence[int]
"""Child of each node on one side, -1 for a leaf; node 0 is the root."""

__all__ = ["PlacedNode", "TreeLayout", "fold_nodes", "layout_diagram", "layout_outline"]


@dataclass(frozen=True)
class PlacedNode:
    """One drawn node, by its number and its parent's (-1 above the root).

    ``position`` is the place along the breadth of the tree (diagram) or the line number
    (outline), ``hidden`` the number of leaves folded into the node.
    """

    node: int
    parent: int
    is_left: bool
    depth: int
    position: float
    hidden: int
    is_leaf: bool


@dataclass(frozen=True)
class TreeLayout:
    """Placed nodes in preorder, and the size of the whole: columns by lines."""

    nodes: tuple[PlacedNode, ...]
    depth: int
    breadth: int

    def by_node(self) -> dict[int, PlacedNode]:
        """Placed nodes by their number in the tree."""
        return {placed.node: placed for placed in self.nodes}


def leaves_below(left: Children, right: Children) -> list[int]:
    """Count the leaves under each node; a leaf counts itself."""
    counts = [1] * len(left)
    order, stack = [], [0]
    while stack:
        node = stack.pop()
        if left[node] >= 0:
            order.append(node)
            stack += (left[node], right[node])
    for node in reversed(order):
        counts[node] = counts[left[node]] + counts[right[node]]
    return counts


def fold_nodes(tree: Tree, max_leaves: int, *, important: Collection[int] = ()) -> frozenset[int]:
    """Choose the inner nodes to fold so that at most ``max_leaves`` ends are drawn.

    Branches are opened from the root downwards, those that lead to an ``important`` leaf
    first (a rule that changed must not hide under a sign), then the shallow before the deep
    and the heavy before the light.
    """
    if max_leaves < 1:
        raise InputError(f"expected max_leaves of 1 or more, got {max_leaves}")
    if tree.n_leaves <= max_leaves:
        return frozenset()
    wanted = np.zeros(tree.n_nodes, dtype=bool)
    wanted[list(important)] = True
    left, right = tree.children_left.tolist(), tree.children_right.tolist()
    for node in reversed(tree.preorder.tolist()):
        if left[node] >= 0:
            wanted[node] = wanted[left[node]] or wanted[right[node]]
    depth, weight = tree.node_depth.tolist(), tree.weight.tolist()

    def rank(node: int) -> tuple[bool, int, float, int]:
        return (not wanted[node], depth[node], -weight[node], node)

    ends, queue = 1, [rank(0)]
    while queue and ends < max_leaves:
        node = heapq.heappop(queue)[-1]
        ends += 1
        for child in (left[node], right[node]):
            if left[child] >= 0:
                heapq.heappush(queue, rank(child))
    return frozenset(item[-1] for item in queue)


def layout_outline(left: Children, right: Children, folded: Collection[int] = ()) -> TreeLayout:
    """Place every visible node on a line of its own, parents above their children.

    A ``folded`` node is one line that stands for all below.
    """
    below = leaves_below(left, right)
    closed = set(folded)
    placed: list[PlacedNode] = []
    stack = [(0, -1, False, 0)]
    while stack:
        node, parent, is_left, depth = stack.pop()
        leaf = left[node] < 0
        hidden = below[node] if node in closed and not leaf else 0
        placed.append(PlacedNode(node, parent, is_left, depth, float(len(placed)), hidden, leaf))
        if not leaf and not hidden:
            stack.append((right[node], node, False, depth + 1))
            stack.append((left[node], node, True, depth + 1))
    return TreeLayout(tuple(placed), max(p.depth for p in placed), len(placed))


def layout_diagram(left: Children, right: Children, folded: Collection[int] = ()) -> TreeLayout:
    """Place leaves side by side one unit apart, and each parent midway above its children.

    The leaves below a node occupy an interval of their own, so that no two branches cross
    or overlap.
    """
    outline = layout_outline(left, right, folded)
    ends = [placed.node for placed in outline.nodes if placed.is_leaf or placed.hidden]
    position = {node: float(i) for i, node in enumerate(ends)}
    for placed in reversed(outline.nodes):
        if placed.node not in position:
            position[placed.node] = (position[left[placed.node]] + position[right[placed.node]]) / 2
    nodes = tuple(replace(placed, position=position[placed.node]) for placed in outline.nodes)
    return TreeLayout(nodes, outline.depth, len(ends))
