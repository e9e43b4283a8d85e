"""Many trees in few bytes: what the page draws of every tree that could be chosen instead."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from steadytree.diff.build import diff_trees, leaf_numbers
from steadytree.diff.diff_summary import category_codes, finite, label_code
from steadytree.diff.tree_diff import TreeDiff
from steadytree.tree.alignment import align_tree
from steadytree.tree.space import FeatureSpace
from steadytree.tree.tree import Tree
from steadytree.tree.words import rounded_share, shown_bound

TREE_BUDGET = 1_100_000
"""Bytes for candidate trees: with them a whole page stays below 2 MB."""

STATUS_LETTERS = {"kept": "k", "moved": "m", "relabelled": "r", "added": "a", "dropped": "d"}
"""Status of a rule in the order of the page, and its letter in the compact trees."""


def add_candidate_trees(
    candidates: list[dict[str, Any]], trees: Sequence[Tree], *, base: Tree, space: FeatureSpace
) -> list[dict[str, Any]]:
    """Return the trees of candidates as far as they fit, and note with each which is its.

    Trees are compared with ``base`` (``counts`` of what became of its rules) and stored in order
    of interest until the budget is spent. Grids grow the same tree again and again: it is stored
    once.
    """
    stored: list[dict[str, Any]] = []
    known: dict[bytes, dict[str, Any]] = {}
    spent = 0

    def interest(i: int) -> tuple[bool, ...]:
        row = candidates[i]
        return (row["chosen"], row["kind"] == "keep", row["on_frontier"])

    for i in sorted(range(len(candidates)), key=interest, reverse=True):
        key = _identity(trees[i])
        # A size guess before the diff is computed: it is what takes the time.
        if key not in known and spent + 12 * trees[i].n_nodes <= TREE_BUDGET:
            diff = diff_trees(base, trees[i], space=space)
            compact = compact_tree(trees[i], diff)
            size = len(json.dumps(compact, separators=(",", ":")))
            if spent + size <= TREE_BUDGET:
                spent += size
                known[key] = {"tree": len(stored), "counts": dict(diff.counts)}
                stored.append(compact)
        candidates[i] |= known.get(key, {})
    return stored


def _identity(tree: Tree) -> bytes:
    """Bytes that two trees share when they have the same nodes, values and labels."""
    digest = hashlib.sha256(repr(tree.left_categories).encode())
    arrays = (tree.children_left, tree.feature, tree.threshold, tree.value, tree.label)
    for array in (*arrays, tree.weight, tree.missing_left):
        digest.update(np.ascontiguousarray(array).tobytes() + b"|")
    return digest.digest()


def compact_tree(tree: Tree, diff: TreeDiff) -> dict[str, Any]:
    """Write a candidate tree in few bytes, with what became of each rule of the base tree.

    Nodes are in preorder, so that the children need not be stored: ``f`` feature of each
    node (-1: leaf), ``t`` thresholds of the numeric splits in that order (as they read), ``c``
    category codes that go left of the categorical splits in that order, ``m`` one digit per
    split (1: missing goes left, 2: a category never met, 3: both), ``l`` labels and ``v`` values
    of the leaves (the share of the positive class of two, of the label otherwise; or the mean),
    ``n`` rule numbers and ``s`` statuses of the leaves (k, m, r or a).
    """
    classes = diff.classes
    aligned = align_tree(tree, diff.space)
    grown = aligned.tree
    order = grown.preorder.tolist()
    splits = [i for i in order if not grown.is_leaf[i]]
    leaves = [i for i in order if grown.is_leaf[i]]
    masks = {i: aligned.left_mask[i] for i in splits}
    by_leaf = {r.new.leaf: r for r in diff.rules if r.new is not None}
    values = [leaf_numbers(grown, i, classes, diff.positive).predicted for i in leaves]
    return {
        "f": [int(aligned.feature[i]) for i in order],
        "t": [_short(float(grown.threshold[i])) for i in splits if masks[i] is None],
        "c": [
            category_codes(mask, diff.space, int(aligned.feature[i]))
            for i, mask in masks.items()
            if mask is not None
        ],
        "m": "".join(
            str(int(grown.missing_left[i]) + 2 * int(grown.unseen_left[i])) for i in splits
        ),
        "l": [label_code(grown, i, classes) if classes else 0 for i in leaves],
        "v": values if classes is None else [rounded_share(value, 3) for value in values],
        "n": [by_leaf[i].number if i in by_leaf else 0 for i in leaves],
        "s": "".join(STATUS_LETTERS[by_leaf[i].status] if i in by_leaf else "-" for i in leaves),
    }


def _short(value: float) -> float | str:
    if shown_bound(value)[1]:
        return value  # the page must see that it lies below what it reads
    short = finite(float(f"{value:.6g}"))
    whole = isinstance(short, float) and short.is_integer() and abs(short) < 1e9
    return int(short) if whole else short
