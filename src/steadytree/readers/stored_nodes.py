"""What readers of model files share: a table of nodes made into conditions.

A stranger's file may describe nodes that point at each other, or features and categories that are
not there. Whoever reads one takes its children through here: the answer is a tree of conditions or
a :class:`TreeFormatError`, in bounded time and memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from steadytree._io import MAX_CATEGORIES, MAX_CATEGORY_CELLS, MAX_DEPTH, MAX_NODES
from steadytree.exceptions import TreeFormatError
from steadytree.tree.nested import Branch, Node

__all__ = [
    "check_category_sizes",
    "check_features",
    "nest_nodes",
    "split_around_missing",
]


def nest_nodes(
    children: Sequence[tuple[int, int] | None],
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
    made: dict[int, Node] = {}
    for node in reversed(order):
        sides = children[node]
        if sides is None:
            made[node] = leaf(node)
        else:
            made[node] = split(node, made.pop(sides[0]), made.pop(sides[1]))
    return made[0]


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
