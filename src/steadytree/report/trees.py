"""Trees as plain data for the page: everything it needs to draw and follow them, nothing more.

Weights and the values of inner nodes are left out, and what rests on too few people is
masked or coarsened here, before any of it can reach a file.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from steadytree.core.alignment import align_tree
from steadytree.core.space import FeatureSpace
from steadytree.core.tree import Tree
from steadytree.core.words import clean
from steadytree.diff import TreeDiff
from steadytree.plotting.layout import fold_nodes
from steadytree.report.disclosure import coarse_mean, rests_on_few

__all__ = ["STATUS_LETTERS", "compact_tree", "features_data", "tree_data"]

MAX_DRAWN_RULES = 24
"""Ends drawn per tree before deep branches are folded."""

STATUS_LETTERS = {"kept": "k", "moved": "m", "relabelled": "r", "added": "a", "dropped": "d"}


def features_data(space: FeatureSpace, used: set[int]) -> list[dict[str, Any]]:
    """Features by position in the space: name, kind, categories and whether a tree uses them.

    The bounds of the space are extremes, that is, values of single people: they stay out.
    """
    return [
        {
            "name": clean(space.feature_labels[j]),
            "categories": None
            if space.categories[j] is None
            else [clean(c) for c in space.categories[j] or ()],
            "missing": bool(space.can_be_missing[j]),
            "used": j in used,
        }
        for j in range(space.n_features)
    ]


def used_features(tree: Tree, space: FeatureSpace) -> set[int]:
    """Positions in the space of the features that a tree splits on."""
    feature = align_tree(tree, space).feature
    return {int(j) for j in feature[feature >= 0]}


def tree_data(
    tree: Tree,
    space: FeatureSpace,
    *,
    name: str,
    classes: tuple[Any, ...] | None,
    rules: Mapping[int, int],
    shares: Mapping[int, float | None],
    changed: set[int],
    min_cell: int,
) -> dict[str, Any]:
    """One tree in full: node by node, numbers as the model compares them.

    Parameters
    ----------
    tree : Tree
    space : FeatureSpace
    name : str
        What the page calls it.
    classes : tuple or None
        Classes that labels and shares refer to.
    rules : mapping of leaf to rule number
    shares : mapping of leaf to share of rows
        None: masked; absent: no rows were counted.
    changed : set of int
        Leaves whose rule changed: their branches are opened first.
    min_cell : int
    """
    aligned = align_tree(tree, space)
    grown = aligned.tree
    leaf = grown.is_leaf
    values, hidden = _leaf_values(grown, space, classes, min_cell)
    return {
        "name": name,
        "n_rules": grown.n_leaves,
        "depth": grown.depth,
        "precision": grown.precision,
        "left": grown.children_left.tolist(),
        "right": grown.children_right.tolist(),
        "feature": aligned.feature.tolist(),
        "threshold": [_threshold(t) for t in grown.threshold.tolist()],
        "categories": [
            None if mask is None else _codes(mask, space, int(aligned.feature[i]))
            for i, mask in enumerate(aligned.left_mask)
        ],
        "missing_left": [int(v) for v in grown.missing_left],
        "label": [
            _label(grown, i, classes) if leaf[i] and grown.is_classifier else None
            for i in range(grown.n_nodes)
        ],
        "value": values,
        "few": sorted(hidden),
        "rule": [rules.get(i) for i in range(grown.n_nodes)],
        "share": [shares.get(i) for i in range(grown.n_nodes)],
        "against": np.flatnonzero(grown.kept_against_share & leaf).tolist(),
        "folded": sorted(fold_nodes(grown, MAX_DRAWN_RULES, important=changed)),
    }


def _threshold(value: float) -> float | str | None:
    if math.isnan(value):
        return None
    return value if math.isfinite(value) else ("inf" if value > 0 else "-inf")


def _codes(mask: int, space: FeatureSpace, feature: int) -> list[int]:
    return [i for i in range(len(space.categories[feature] or ())) if mask >> i & 1]


def _label(tree: Tree, node: int, classes: tuple[Any, ...] | None) -> int:
    assert tree.classes is not None
    assert classes is not None
    return classes.index(tree.classes[int(tree.label[node])])


def _leaf_values(
    tree: Tree, space: FeatureSpace, classes: tuple[Any, ...] | None, min_cell: int
) -> tuple[list[list[float] | None], set[int]]:
    """Class shares or mean of each leaf, and the leaves that rest on too few people.

    A share that rests on too few people is left out; a mean is what the tree predicts and
    cannot be, so it is rounded to a twentieth of the response range.
    """
    out: list[list[float] | None] = [None] * tree.n_nodes
    hidden: set[int] = set()
    for node in tree.leaves.tolist():
        if rests_on_few(tree, node, min_cell):
            hidden.add(node)
        if tree.classes is None:
            mean = float(tree.value[node, 0])
            out[node] = [coarse_mean(mean, space) if node in hidden else float(f"{mean:.4g}")]
        elif node not in hidden:
            assert classes is not None
            row = [0.0] * len(classes)
            for own, share in zip(tree.classes, tree.value[node].tolist(), strict=True):
                row[classes.index(own)] = round(float(share), 3)
            out[node] = row
    return out, hidden


def compact_tree(
    tree: Tree, diff: TreeDiff, classes: tuple[Any, ...] | None, min_cell: int
) -> dict[str, Any]:
    """Write a candidate tree in few bytes, with what became of each rule of the base tree.

    Nodes are in preorder, so that the children need not be stored: ``f`` feature of each
    node (-1: leaf), ``t`` thresholds of the numeric splits in that order (six digits), ``c``
    category codes that go left of the categorical splits in that order, ``m`` one digit per
    split (1: missing goes left), ``l`` labels and ``v`` values of the leaves (the share of
    the positive class of two, of the label otherwise, or the mean; null: too few people),
    ``n`` rule numbers and ``s`` statuses of the leaves (k, m, r or a).
    """
    space = diff.space
    aligned = align_tree(tree, space)
    grown = aligned.tree
    order = grown.preorder.tolist()
    leaf = grown.is_leaf
    by_leaf = {r.new.leaf: r for r in diff.rules if r.new is not None}
    values, _ = _leaf_values(grown, space, classes, min_cell)
    labels = [_label(grown, i, classes) if classes else 0 for i in order if leaf[i]]
    shown: list[float | None] = []
    for i in (node for node in order if leaf[node]):
        row = values[i]
        if row is None or classes is None:
            shown.append(None if row is None else row[0])
        else:
            at = 1 if len(classes) == 2 else _label(grown, i, classes)
            shown.append(round(row[at], 2))
    splits = [i for i in order if not leaf[i]]
    return {
        "f": [int(aligned.feature[i]) for i in order],
        "t": [_short(float(grown.threshold[i])) for i in splits if aligned.left_mask[i] is None],
        "c": [
            _codes(mask, space, int(aligned.feature[i]))
            for i in splits
            if (mask := aligned.left_mask[i]) is not None
        ],
        "m": "".join(str(int(grown.missing_left[i])) for i in splits),
        "l": labels,
        "v": shown,
        "n": [by_leaf[i].number if i in by_leaf else 0 for i in order if leaf[i]],
        "s": "".join(
            STATUS_LETTERS[by_leaf[i].status] if i in by_leaf else "-" for i in order if leaf[i]
        ),
    }


def _short(value: float) -> float | str:
    if not math.isfinite(value):
        return "inf" if value > 0 else "-inf"
    short = float(f"{value:.6g}")
    return int(short) if short.is_integer() and abs(short) < 1e9 else short
