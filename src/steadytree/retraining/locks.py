"""Rules the user locks: find the nodes of the deployed tree that edits may not touch."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from steadytree.core.paths import Paths
from steadytree.core.space import FeatureSpace
from steadytree.core.tree import Tree
from steadytree.exceptions import InputError
from steadytree.growing.nodes import side_condition, split_of

__all__ = ["resolve_locks"]


def resolve_locks(locked: Any, tree: Tree, space: FeatureSpace) -> frozenset[int]:
    """Nodes of the deployed tree, written in the features of the space, to lock.

    ``locked`` is one of these or several: "root" (the first condition), the number of a node,
    a feature name (every condition on it), or a text: a condition (``"age <= 50"``) or a whole
    rule as ``Paths.rule_text`` writes it, with or without its outcome.
    """
    items: Iterable[Any] = [locked] if isinstance(locked, (str, int, np.integer)) else locked
    out: set[int] = set()
    for item in items:
        found = _nodes_of(item, tree, space)
        if not found:
            raise InputError(
                "expected locked to name the root, a node, a feature, a condition or a rule of "
                f"the deployed tree, got {item!r}; rules are listed by TreeClassifier(tree).rules()"
            )
        out |= found
    return frozenset(out)


def _nodes_of(item: Any, tree: Tree, space: FeatureSpace) -> set[int]:
    if isinstance(item, (bool, np.bool_)):
        return set()
    if isinstance(item, (int, np.integer)):
        return {int(item)} if 0 <= int(item) < tree.n_nodes else set()
    text = " ".join(str(item).split())
    if text == "root":
        return {0}
    inner = np.flatnonzero(~tree.is_leaf).tolist()
    if text in space.feature_labels:
        feature = space.feature_labels.index(text)
        return {node for node in inner if int(tree.feature[node]) == feature}
    found = set()
    for node in inner:
        sides = [side_condition(split_of(tree, node), space, left=left) for left in (True, False)]
        # Listings of a tree that never met a missing value do not say where it would go.
        if any(text in (str(side), str(replace(side, missing=None))) for side in sides):
            found.add(node)
    if found:
        return found
    paths = Paths.from_tree(tree, space)
    for path in range(paths.n_paths):
        rule = paths.rule_text(path)
        if text in (rule, rule.rsplit(": ", 1)[0]):
            found.add(int(paths.leaf[path]))
    return found
