"""Whether flat arrays are a tree at all: what :class:`Tree` asks of a stranger's nodes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadytree._io import MAX_CLASSES, MAX_DEPTH, check_size, check_texts
from steadytree._text import cut, quoted
from steadytree.exceptions import InputError, TreeFormatError
from steadytree.tree.columns import Categories, plain_scalar
from steadytree.tree.decision import Decision

IntArray = NDArray[np.int32]
BoolArray = NDArray[np.bool_]

LEAF = -1


def first_bad(bad: NDArray[np.bool_], message: Any) -> None:
    """Raise for the first node that fails a check, naming the node."""
    if bad.any():
        node = int(bad.argmax())
        raise TreeFormatError(f"node {node}: {message(node)}")


def check_shape_of_tree(left: IntArray, right: IntArray) -> BoolArray:
    """Check that children are in range and every node is reached exactly once.

    Returns which nodes are leaves.
    """
    n = left.size
    leaf = left == LEAF
    if are_plainly_trees(np.array([0, n]), left, right):
        return np.asarray(leaf)
    first_bad(
        leaf != (right == LEAF),
        lambda i: f"expected two children or none, got {left[i]} and {right[i]}",
    )
    for side in (left, right):
        first_bad(
            ~leaf & ((side < 0) | (side >= n)),
            lambda i, side=side: f"expected a child in [0, {n}), got {side[i]}",
        )
    seen = np.bincount(np.concatenate([left[~leaf], right[~leaf], [0]]), minlength=n)
    first_bad(
        seen != 1,
        lambda i: (
            "expected one way to reach it from the root, got "
            + ("a cycle or two parents" if seen[i] else "none")
        ),
    )
    # With one parent each, whatever the root does not reach must lie on a cycle.
    reached, level, depth = 1, np.zeros(1, dtype=np.int64), 0
    while level.size:
        level = level[~leaf[level]]
        level = np.concatenate([left[level], right[level]])
        reached += level.size
        depth += level.size > 0
        if depth > MAX_DEPTH:
            raise TreeFormatError(
                f"expected at most {MAX_DEPTH} levels, got a deeper tree; "
                "nobody could read it, and the file is likely damaged"
            )
    if reached < n:
        raise TreeFormatError(
            f"expected all {n} nodes to be reached from the root, got {reached}: "
            "the others form a cycle"
        )
    return np.asarray(leaf)


def are_plainly_trees(first: NDArray[np.int64], left: IntArray, right: IntArray) -> bool:
    """Whether these are trees, as most are, which is quicker to see than what is wrong.

    Trees lie one after another, from ``first[k]`` to ``first[k + 1]``, children numbered within
    their tree. Every node but the root is a child once and comes after its parent: there is no
    cycle. Few nodes leave no room for depth.
    """
    sizes = np.diff(first)
    inner = (left != LEAF).nonzero()[0]
    ours, theirs = left[inner], right[inner]
    if np.count_nonzero(right != LEAF) != inner.size or sizes.max() >= 2 * MAX_DEPTH:
        return False
    if sizes.size > 1:
        tree = np.searchsorted(first, inner, side="right") - 1
        base, limit = first[tree], first[tree + 1]
        ours, theirs = ours + base, theirs + base
    else:
        limit = first[1]
    if (np.minimum(ours, theirs) <= inner).any() or (np.maximum(ours, theirs) >= limit).any():
        return False
    reached = np.zeros(left.size, dtype=bool)
    reached[ours] = reached[theirs] = True
    return bool(np.count_nonzero(reached) == 2 * inner.size == left.size - sizes.size)


def check_category_sets(
    sets: Sequence[Iterable[int] | None], feature: IntArray, categories: Categories
) -> tuple[tuple[int, ...] | None, ...]:
    """Check that category sets stand where features are categorical; returns them sorted."""
    if len(sets) != feature.size:
        raise TreeFormatError(f"expected {feature.size} left category sets, got {len(sets)}")
    checked: list[tuple[int, ...] | None] = []
    for node, (j, codes) in enumerate(zip(feature.tolist(), sets, strict=True)):
        if j < 0:
            checked.append(None)
            continue
        cats = categories[j]
        if (codes is None) != (cats is None):
            what = "a category set" if codes is None else "a threshold"
            kind = "categorical" if codes is None else "numeric"
            raise TreeFormatError(f"node {node}: expected {what}: feature {j} is {kind}")
        if codes is None or cats is None:
            checked.append(None)
            continue
        clean = tuple(sorted({int(c) for c in codes}))
        if clean and not (clean[0] >= 0 and clean[-1] < len(cats)):
            raise TreeFormatError(
                f"node {node}: expected category codes in [0, {len(cats)}), "
                f"got {quoted(list(clean))}"
            )
        checked.append(clean)
    return tuple(checked)


def check_outcome(
    value: NDArray[np.float64], label: Any, classes: Sequence[Any] | None, decision: Any
) -> tuple[IntArray, Decision, tuple[Any, ...] | None]:
    """Check classes, shares, labels and policy; returns labels, policy and classes."""
    n = len(value)
    labels = None if label is None else np.array(label, dtype=np.int32)
    if classes is None:
        if value.shape[1] != 1:
            raise TreeFormatError(
                f"expected one value per node in a regression tree, got {value.shape[1]}; "
                "a classification tree needs classes"
            )
        labels = np.zeros(n, dtype=np.int32) if labels is None else labels
        if labels.shape != (n,) or labels.any() or Decision.of(decision) != Decision():
            raise TreeFormatError("expected no labels in a regression tree, got some")
        return labels, Decision(), None
    names = tuple(plain_scalar(c) for c in classes)
    check_size(len(names), MAX_CLASSES, "classes")
    check_texts(names, "classes")
    if len(set(names)) != len(names) or len(names) != value.shape[1]:
        raise TreeFormatError(
            f"expected {value.shape[1]} distinct classes, got {quoted(list(names))}"
        )
    first_bad(
        (value < 0).any(axis=1) | (np.abs(value.sum(axis=1) - 1) > 1e-6),
        lambda i: f"expected class shares that sum to 1, got {cut(str(value[i]), 200)}",
    )
    try:
        policy = Decision.of(decision).resolve(names)
    except InputError as error:
        raise TreeFormatError(str(error)) from None
    if labels is None:
        return policy.labels(value), policy, names
    if labels.shape != (n,):
        raise TreeFormatError(f"expected {n} labels, one per node, got {labels.shape}")
    first_bad(
        (labels < 0) | (labels >= len(names)),
        lambda i: f"expected a label in [0, {len(names)}), got {labels[i]}",
    )
    return labels, policy, names
