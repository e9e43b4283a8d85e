"""Which conditions the trees of a certificate are built from: the stated cut points.

A certificate speaks of every tree on some conditions, so these must hold what matters: all
conditions of the deployed tree and of the proposal, then those that explain most in some node
of the proposal, then evenly spaced cuts of the most telling features.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from steadytree.core.bit_sets import bit_set
from steadytree.growing.binning import BinnedTable, FloatArray, IndexArray, Split
from steadytree.growing.nodes import NodeFactory, SearchNode

__all__ = ["choose_cuts", "cut_key", "nodes_of"]

EVEN_CUTS = (1, 3, 7, 15, 31, 63, 127, 254)
"""Evenly spaced cuts of a feature, in rounds until there are enough."""
CUTS_PER_FEATURE = 4
"""Beside the features of both trees there are at most as many as give each so many cuts."""


def nodes_of(root: SearchNode) -> Iterator[SearchNode]:
    """All nodes of a tree, from the root down."""
    stack = [root]
    while stack:
        node = stack.pop()
        yield node
        if not node.is_leaf:
            _, left, right = node.parts
            stack += [right, left]


def cut_key(split: Split, table: BinnedTable) -> tuple[int, object]:
    """Return what two conditions have in common that divide every value alike."""
    j = split.feature
    can_miss = bool(table.space.can_be_missing[j])
    if split.left is None:
        return j, (split.threshold, can_miss and split.missing_left)
    n = int(table.n_categories[j])
    mask = bit_set(split.left, n)
    if can_miss:
        mask |= int(split.missing_left) << n
    # Which side is called left makes no other tree.
    return j, min(mask, (1 << (n + can_miss)) - 1 - mask)


def choose_cuts(
    make: NodeFactory, trees: list[SearchNode], most: int, min_leaf: int
) -> list[Split]:
    """Return the conditions of some trees and about ``most`` in all, in the order of features.

    The last of the trees is the one whose nodes say what is promising.
    """
    table = make.table
    chosen: dict[tuple[int, object], Split] = {}
    for root in trees:
        for node in nodes_of(root):
            if not node.is_leaf:
                split = node.parts[0]
                chosen.setdefault(cut_key(split, table), split)
    found = [item for node in nodes_of(trees[-1]) for item in _promising(make, node, min_leaf)]
    found.sort(key=lambda item: (-item[0], str(cut_key(item[1], table))))
    room = len(chosen) + max(most - len(chosen), 0) // 2
    features = list(dict.fromkeys([s.feature for s in chosen.values()]))
    n_features = max(most // CUTS_PER_FEATURE, len(features))
    for _, split in found:
        if split.feature not in features and len(features) < n_features:
            features.append(split.feature)
        if len(chosen) < room and split.feature in features:
            chosen.setdefault(cut_key(split, table), split)
    strength = dict.fromkeys(features, 0.0)
    for gain, split in found:
        if split.feature in strength:
            strength[split.feature] = max(strength[split.feature], gain)
    features.sort(key=lambda j: -strength[j])
    layers = _layers(make, trees[-1])
    for count in EVEN_CUTS:
        for j in features:
            for split in _even(table, layers[:, j], j, count):
                if len(chosen) >= most:
                    break
                chosen.setdefault(cut_key(split, table), split)
    return sorted(chosen.values(), key=lambda s: (s.feature, str(cut_key(s, table)[1])))


def _layers(make: NodeFactory, node: SearchNode) -> FloatArray:
    """Count, weight and sums of the real rows of a node, by feature and bin."""
    real = node.rows[make.is_real[node.rows] > 0]
    weight = make.taught.weight
    layers = np.column_stack([make.is_real, weight, weight[:, None] * make.targets])
    return make.table.histogram(real, layers)


def _promising(make: NodeFactory, node: SearchNode, min_leaf: int) -> Iterator[tuple[float, Split]]:
    """Best condition on each feature in one node, with the squared error it explains."""
    if node.n_real < 2 * min_leaf:
        return
    layers = _layers(make, node)
    total = layers[:, 0, :].sum(axis=1)
    base = float((total[2:] ** 2).sum() / total[1])
    for j in range(make.table.n_features):
        order, gone = _order(make.table, layers[:, j], j), layers[:, j, -1:]
        below = np.cumsum(layers[:, j, order], axis=1)
        best: tuple[float, Split] | None = None
        for missing_left in (False, True) if gone[0] > 0 else (False,):
            left = below + gone if missing_left else below
            right = total[:, None] - left
            allowed = (left[0] >= min_leaf) & (right[0] >= min_leaf)
            with np.errstate(divide="ignore", invalid="ignore"):
                explained = (left[2:] ** 2).sum(axis=0) / left[1]
                explained += (right[2:] ** 2).sum(axis=0) / right[1]
            gain = np.where(allowed, explained - base, -np.inf)
            at = int(gain.argmax())
            if np.isfinite(gain[at]) and (best is None or gain[at] > best[0]):
                side = missing_left
                if gone[0] == 0:  # never seen here: with the heavier side
                    side = bool(below[1, at] * 2 >= total[1])
                best = float(gain[at]), _split_after(make.table, j, order, at, side)
        if best is not None:
            yield best


def _order(table: BinnedTable, layers: FloatArray, j: int) -> IndexArray:
    """Bins of a feature along its order, or categories in the order of their mean target."""
    if table.numeric[j]:
        return np.arange(table.n_edges[j] + 1)
    n = int(table.n_categories[j])
    if table.ranked[j]:
        return np.arange(n)
    weight = np.maximum(layers[1, :n], 1e-300)
    means = layers[2:, :n] / weight
    centred = means - (layers[2:].sum(axis=1) / max(layers[1].sum(), 1e-300))[:, None]
    column = int((layers[1, :n] * centred**2).sum(axis=1).argmax())
    return np.argsort(np.where(layers[1, :n] > 0, means[column], 0.0), kind="stable")


def _split_after(
    table: BinnedTable, j: int, order: IndexArray, at: int, missing_left: bool
) -> Split:
    if table.ranked[j]:
        return table.threshold_split(j, at, missing_left)
    return Split(j, float("nan"), tuple(sorted(order[: at + 1].tolist())), missing_left)


def _even(table: BinnedTable, layers: FloatArray, j: int, count: int) -> Iterator[Split]:
    """Evenly spaced conditions on a feature, and whether it is missing."""
    order, gone = _order(table, layers, j), layers[0, -1] > 0
    cuts = order.size - 1
    share = np.cumsum(layers[1, order]) / max(layers[1].sum(), 1e-300)
    at = np.unique(np.linspace(-1, cuts, min(count, cuts) + 2).round().astype(int)[1:-1])
    for i in at.tolist():
        for missing_left in (False, True) if gone else (bool(share[i] * 2 >= 1),):
            yield _split_after(table, j, order, i, missing_left)
    if gone:
        yield _split_after(table, j, order, order.size - 1, False)
