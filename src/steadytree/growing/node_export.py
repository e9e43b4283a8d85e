"""Write the tree that a search edited as a :class:`Tree`, with what was observed at each node."""

from __future__ import annotations

from typing import Any

import numpy as np

from steadytree.core.decision import Decision
from steadytree.core.observed import Observed
from steadytree.core.space import FeatureSpace
from steadytree.core.tree import Tree
from steadytree.growing.binning import FloatArray, Split
from steadytree.growing.nodes import SearchNode, shares_of
from steadytree.growing.row_counts import NodeCounts

__all__ = ["export_tree"]


def export_tree(
    root: SearchNode,
    space: FeatureSpace,
    *,
    classes: tuple[Any, ...] | None,
    decision: Decision | float | None,
    labels: dict[int, int] | None = None,
    precision: str = "float64",
    metadata: dict[str, Any] | None = None,
) -> Tree:
    """Write the nodes as a :class:`Tree`.

    ``labels`` gives, by ``id`` of a leaf node, the label to store where it is not the one
    the shares give. Shares are never altered to suit a label.
    """
    root = root.make.whole(root)
    n_classes = None if classes is None else len(classes)
    policy = Decision.of(decision)
    if classes is not None:
        policy = policy.resolve(classes)
    order: list[SearchNode] = []
    children: list[tuple[int, int]] = []
    splits: list[Split | None] = []
    values: list[FloatArray] = []
    weights: list[float] = []
    label: list[int] = []
    impurity: list[float] = []

    def add(node: SearchNode) -> int:
        i = len(splits)
        order.append(node)
        children.append((-1, -1))
        splits.append(node.split)
        shares = shares_of(node.value, n_classes)
        values.append(shares)
        weights.append(node.real_weight)
        natural = 0 if classes is None else int(policy.labels(shares[None, :])[0])
        label.append((labels or {}).get(id(node), natural))
        impurity.append(node.loss / node.weight if node.weight > 0 else 0.0)
        if not node.is_leaf:
            _, left, right = node.parts
            children[i] = add(left), add(right)
            # Variance within the children and between them.
            impurity[i] = sum(
                (weights[c] * (impurity[c] + float(((values[c] - shares) ** 2).sum())))
                for c in children[i]
            ) / max(node.real_weight, 1e-300)
        return i

    add(root)
    return Tree(
        children_left=np.array(children)[:, 0],
        children_right=np.array(children)[:, 1],
        feature=np.array([-1 if s is None else s.feature for s in splits]),
        threshold=np.array([np.nan if s is None else s.threshold for s in splits]),
        left_categories=tuple(None if s is None else s.left for s in splits),
        missing_left=np.array([False if s is None else s.missing_left for s in splits]),
        unseen_left=np.array([s is not None and s.sends_unseen_left for s in splits]),
        value=np.array(values),
        weight=np.array(weights),
        label=np.array(label, dtype=np.int32),
        classes=classes,
        n_features=space.n_features,
        feature_names=space.names,
        categories=space.categories,
        precision=precision,
        decision=policy,
        observed=_observed(order, n_classes),
        **({} if classes is not None else {"impurity": np.array(impurity)}),
        space=space,
        metadata=metadata or {},
    )


def _observed(nodes: list[SearchNode], n_classes: int | None) -> Observed:
    """Count rows and outcomes of each node, the old and the new ones apart."""
    make, root = nodes[0].make, nodes[0]
    make.count([root])
    found: NodeCounts = root.cache["counts"]
    steadied = [node.steadied for node in nodes]
    return Observed(
        found.counts,
        found.weighted,
        np.array([shares_of(by, n_classes) for _, by, _ in steadied]),
        np.array([rows_worth for *_, rows_worth in steadied]),
        make.steadying.old_share,
    )
