"""What readers of model files share: bounded reading, and a table of nodes made into conditions.

A stranger's file may be huge, cut off, or describe nodes that point at each other. Whoever reads
one takes its bytes, its JSON and its children through here: the answer is a value or a
:class:`TreeFormatError`, in bounded time and memory.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from steadytree.core.branches import MAX_NODES, Branch, Node
from steadytree.core.tree_checks import MAX_DEPTH
from steadytree.exceptions import TreeFormatError

__all__ = [
    "MAX_BYTES",
    "MAX_CATEGORIES",
    "MAX_FEATURES",
    "check_category_sizes",
    "check_features",
    "nest_nodes",
    "parse_json",
    "read_bytes",
    "split_around_missing",
]

MAX_BYTES = 256 * 2**20
"""Size of the largest model file that is read."""
MAX_FEATURES = 1_000_000
MAX_CATEGORIES = 100_000
"""Categories of one feature; what one-tree models have comes nowhere near."""
MAX_CATEGORY_CELLS = 10_000_000
"""Categories summed over all splits by category: what deciding with them keeps in memory."""


def read_bytes(path: Path, max_bytes: int = MAX_BYTES) -> bytes:
    """Return what a file holds, if it is not larger than a model file can be."""
    try:
        with path.open("rb") as file:
            # One byte more than allowed: the size a file claims may be wrong, as for a device.
            content = file.read(max_bytes + 1)
    except OSError as error:
        raise TreeFormatError(
            f"expected a readable model file, got {error.strerror}: {path}"
        ) from error
    if len(content) > max_bytes:
        raise TreeFormatError(f"{path}: expected a file of at most {max_bytes:,} bytes, got more")
    return content


def parse_json(content: bytes | str) -> Any:
    """Return what JSON says, whatever is in it; NaN and infinities are left to the caller."""
    try:
        # Strictly: json itself would let halves of characters pass.
        return json.loads(content if isinstance(content, str) else content.decode("utf-8-sig"))
    except json.JSONDecodeError as error:
        raise TreeFormatError(
            f"expected JSON, got {error.msg} at line {error.lineno}, column {error.colno}; "
            "the file may be cut off"
        ) from None
    except UnicodeDecodeError as error:
        raise TreeFormatError(f"expected JSON in UTF-8, got other bytes at {error.start}") from None
    except RecursionError:
        raise TreeFormatError("expected JSON of a model, got lists nested too deeply") from None
    except ValueError as error:
        raise TreeFormatError(f"expected JSON of a model, got {error}") from None


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
