"""What readers of model files share: a table of nodes made into conditions.

A stranger's file may describe nodes that point at each other, or features and categories that are
not there. Whoever reads one takes its children through here: the answer is a tree of conditions or
a :class:`TreeFormatError`, in bounded time and memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from steadytree.plugins import (
    MAX_CATEGORIES,
    MAX_CATEGORY_CELLS,
    MAX_DEPTH,
    MAX_NODES,
    Branch,
    Node,
    TreeFormatError,
)


def node_table(
    root: Any, sides_of: Callable[[Any], tuple[Any, Any] | None]
) -> tuple[list[Any], list[list[int] | None]]:
    """List a node and all below it, each with the positions of its two sides; None for a leaf."""
    nodes: list[Any] = []
    children: list[list[int] | None] = []
    waiting: list[tuple[Any, list[int] | None, int]] = [(root, None, 0)]
    while waiting:
        node, of_parent, side = waiting.pop()
        if len(nodes) >= MAX_NODES:
            raise TreeFormatError(f"expected at most {MAX_NODES:,} nodes, got more")
        if of_parent is not None:
            of_parent[side] = len(nodes)
        sides = sides_of(node)
        own = None if sides is None else [-1, -1]
        nodes.append(node)
        children.append(own)
        if sides is not None:
            waiting += ((sides[1], own, 1), (sides[0], own, 0))
    return nodes, children


def nest_nodes(
    children: Sequence[Sequence[int] | None],
    leaf: Callable[[int], Node],
    split: Callable[[int, Node, Node], Node],
) -> Node:
    """Make nested conditions of a table of nodes, the root first, each reached at most once.

    ``children`` holds for each node its left and right child, or None for a leaf; ``leaf`` and
    ``split`` make a node of its position and its two sides. Nodes that the root does not reach
    are left out: some libraries keep pruned ones.
    """
    n = len(children)
    if not 0 < n <= MAX_NODES:
        raise TreeFormatError(f"expected 1 to {MAX_NODES:,} nodes, got {n:,}")
    reached = bytearray(n)
    order: list[int] = []
    waiting = [(0, 0)]
    while waiting:
        node, depth = waiting.pop()
        if not 0 <= node < n:
            raise TreeFormatError(f"expected a child in [0, {n}), got {node}")
        if reached[node]:
            raise TreeFormatError(
                f"node {node}: expected one way to reach it, got a cycle or two parents"
            )
        if depth > MAX_DEPTH:
            raise TreeFormatError(f"expected at most {MAX_DEPTH} levels, got a deeper tree")
        reached[node] = 1
        order.append(node)
        sides = children[node]
        if sides is not None:
            waiting += ((sides[1], depth + 1), (sides[0], depth + 1))
    built: dict[int, Node] = {}
    for node in reversed(order):
        sides = children[node]
        if sides is None:
            built[node] = leaf(node)
        else:
            built[node] = split(node, built.pop(sides[0]), built.pop(sides[1]))
    return built[0]


def check_category_sizes(n_categories: Sequence[int]) -> None:
    """Refuse more categories than a tree can hold; one number for each split by category."""
    largest, total = max(n_categories, default=0), sum(n_categories)
    if largest > MAX_CATEGORIES or total > MAX_CATEGORY_CELLS:
        raise TreeFormatError(
            f"expected at most {MAX_CATEGORIES:,} categories of a feature and "
            f"{MAX_CATEGORY_CELLS:,} over all splits, got {largest:,} and {total:,}"
        )


def check_features(features: Sequence[int], n_features: int) -> None:
    """Refuse splits on features that are not there, before a large number is cut to 32 bits."""
    for node, j in enumerate(features):
        if not 0 <= j < n_features:
            raise TreeFormatError(f"node {node}: expected feature in [0, {n_features}), got {j}")


def split_around_missing(
    feature: int,
    threshold: float,
    missing: tuple[float, float],
    missing_left: bool,
    left: Node,
    right: Node,
) -> Branch:
    """Make a split at which some values count as missing: one condition, or up to three.

    ``missing`` holds the largest value below those that do, and the largest of them.
    """
    low, high = missing

    def at(t: float, below: Node, above: Node) -> Branch:
        return Branch(
            feature=feature, left=below, right=above, threshold=t, missing_left=missing_left
        )

    if missing_left and low <= threshold < high:
        threshold = high
    elif not missing_left and low < threshold <= high:
        threshold = low
    if missing_left and threshold < low:
        return at(threshold, left, at(low, right, at(high, left, right)))
    if not missing_left and threshold > high:
        return at(threshold, at(low, left, at(high, right, left)), right)
    return at(threshold, left, right)
