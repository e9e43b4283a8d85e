"""Nested conditions, and how they are laid flat into the arrays of a tree.

Apart from the tree itself, so that it can be made of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from steadytree.core.decision import Decision
from steadytree.core.limits import MAX_DEPTH, MAX_NODES, check_value_cells
from steadytree.exceptions import TreeFormatError

__all__ = ["Branch", "Leaf", "Node", "laid_flat"]


@dataclass(frozen=True, eq=False)
class Leaf:
    """An end of the tree: class shares or a response, their weight, and a label if kept."""

    value: Sequence[float]
    weight: float = 1.0
    label: int | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class Branch:
    """A condition with two sides.

    ``value``, ``weight`` and ``label`` are those of the node where the source knows them; by
    default the mean and the sum of what lies below. ``unseen_left=None``: where missing goes.
    """

    feature: int
    left: Node = field(repr=False)
    right: Node = field(repr=False)
    threshold: float = np.nan
    left_categories: tuple[int, ...] | None = None
    missing_left: bool
    unseen_left: bool | None = None
    value: Sequence[float] | None = None
    weight: float | None = None
    label: int | None = None


Node = Leaf | Branch


def laid_flat(root: Node, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arrays of nested conditions beside ``fields``, the others of a tree."""
    nodes: list[Node] = []
    children: list[list[int]] = []
    waiting: list[tuple[Node, int, int, int]] = [(root, -1, 0, 0)]
    while waiting:
        node, parent, side, depth = waiting.pop()
        here = len(nodes)
        if here >= MAX_NODES or depth > MAX_DEPTH:
            raise TreeFormatError(
                f"expected at most {MAX_NODES:,} nodes on {MAX_DEPTH:,} levels, got more; "
                "nobody could read such a tree"
            )
        nodes.append(node)
        children.append([-1, -1])
        if parent >= 0:
            children[parent][side] = here
        if isinstance(node, Branch):
            waiting += ((node.right, here, 1, depth + 1), (node.left, here, 0, depth + 1))
    check_value_cells(len(nodes), len(fields.get("classes") or (0,)))
    values, weights, given = _fill_in(nodes, children)
    sides = np.array(children, dtype=np.int32).reshape(-1, 2)
    splits = [node if isinstance(node, Branch) else None for node in nodes]
    return {
        "children_left": sides[:, 0],
        "children_right": sides[:, 1],
        "feature": np.array([-1 if s is None else s.feature for s in splits]),
        "threshold": np.array([np.nan if s is None else s.threshold for s in splits]),
        "left_categories": tuple(None if s is None else s.left_categories for s in splits),
        "missing_left": np.array([s is not None and s.missing_left for s in splits]),
        "unseen_left": np.array(
            [
                s is not None and (s.missing_left if s.unseen_left is None else s.unseen_left)
                for s in splits
            ]
        ),
        "value": np.array(values, dtype=np.float64),
        "weight": np.array(weights),
        **_labels(given, values, fields),
        **fields,
    }


def _fill_in(
    nodes: list[Node], children: list[list[int]]
) -> tuple[list[Any], list[float], list[int | None]]:
    """Values, weights and given labels, from the leaves upwards where a source has none."""
    values: list[Any] = [None] * len(nodes)
    weights = [0.0] * len(nodes)
    labels: list[int | None] = [node.label for node in nodes]
    for here in reversed(range(len(nodes))):
        node, (left, right) = nodes[here], children[here]
        if isinstance(node, Leaf):
            values[here], weights[here] = np.asarray(node.value, dtype=np.float64), node.weight
            continue
        both = weights[left] + weights[right]
        weights[here] = both if node.weight is None else float(node.weight)
        if node.value is not None:
            values[here] = np.asarray(node.value, dtype=np.float64)
            continue
        share = weights[left] / both if both > 0 else 0.5
        # What is not finite in a stranger's leaves is for the tree to refuse, naming the node.
        with np.errstate(over="ignore", invalid="ignore"):
            values[here] = share * values[left] + (1 - share) * values[right]
    return values, weights, labels


def _labels(
    given: list[int | None], values: list[Any], fields: Mapping[str, Any]
) -> dict[str, Any]:
    """Labels where some are given; the others follow their shares under the tree's policy."""
    if all(label is None for label in given):
        return {}
    policy = Decision.of(fields.get("decision")).resolve(fields["classes"])
    own = policy.labels(np.array(values, dtype=np.float64))
    return {
        "label": np.array(
            [o if g is None else g for g, o in zip(given, own, strict=True)], dtype=np.int32
        )
    }
