"""Trees, their rules and the candidates as plain data: what the page draws, and nothing more.

Weights and the values of inner nodes are left out, and what rests on too few people is
masked or coarsened here, before any of it can reach a file.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from steadytree._views import CandidateTrees
from steadytree.core.alignment import align_tree
from steadytree.core.bit_sets import codes_in
from steadytree.core.format import plain_json
from steadytree.core.space import FeatureSpace
from steadytree.core.tree import Tree
from steadytree.core.tree_words import LeafNumbers
from steadytree.core.words import PAGE, clean, rounded_share
from steadytree.diff import TreeDiff, diff_trees
from steadytree.plotting.layout import fold_nodes
from steadytree.report.disclosure import (
    PeopleCount,
    coarse_mean,
    coarse_share,
    coarse_words,
    range_words,
    rests_on_few,
    step_protects,
    tell_leaves,
)

__all__ = [
    "STATUS_LETTERS",
    "LeafTexts",
    "features_data",
    "frontier_data",
    "tree_data",
    "used_features",
]

MAX_DRAWN_RULES = 24
"""Ends drawn per tree before deep branches are folded."""

TREE_BUDGET = 1_100_000
"""Bytes for candidate trees: with them the whole page stays below 2 MB."""

STATUS_LETTERS = {"kept": "k", "moved": "m", "relabelled": "r", "added": "a", "dropped": "d"}
"""Status of a rule in the order of the page, and its letter in the compact trees."""

_COSTS = ("distance", "score", "score_se", "score_change", "score_change_se")
_HAPPENS = ("flips", "moved_5")


# -- the two trees ---------------------------------------------------------------------


def features_data(space: FeatureSpace, used: set[int], drawn: set[int]) -> list[dict[str, Any]]:
    """Features by position in the space: name, kind, categories and whether a tree uses them.

    The bounds of the space are extremes, that is, values of single people: they stay out, and
    so do the categories of a feature that no tree ``drawn`` on the page uses: they may be names
    of people.
    """
    return [
        {
            "name": clean(space.feature_labels[j]),
            "categories": None
            if space.categories[j] is None
            else [clean(c) for c in space.categories[j] or () if j in drawn],
            "ordered": bool(space.ordered[j]),
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
    positive: int | None,
) -> dict[str, Any]:
    """One tree in full: node by node, numbers as the model compares them.

    By leaf: ``rules`` are rule numbers, ``shares`` those of the rows (None: masked; absent: no
    rows were counted). The branches of ``changed`` leaves are opened first. ``positive`` is
    the position of the class whose predicted share is shown, None for that of the decision.
    """
    aligned = align_tree(tree, space)
    grown = aligned.tree
    leaf = grown.is_leaf
    texts = LeafTexts(grown, space, classes, positive, min_cell)
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
        "value": texts.value,
        "predicted": texts.predicted,
        "positive": positive,
        "observed": texts.observed,
        "few": sorted(texts.few),
        "rule": [rules.get(i) for i in range(grown.n_nodes)],
        "share": [shares.get(i) for i in range(grown.n_nodes)],
        "against": np.flatnonzero(grown.kept_against_share & leaf).tolist(),
        "folded": sorted(fold_nodes(grown, MAX_DRAWN_RULES, important=changed)),
    }


def _threshold(value: float) -> float | str | None:
    if math.isnan(value):
        return None
    return value if math.isfinite(value) else str(value)


def _codes(mask: int, space: FeatureSpace, feature: int) -> list[int]:
    return codes_in(mask, len(space.categories[feature] or ()))


def _label(tree: Tree, node: int, classes: tuple[Any, ...] | None) -> int:
    assert tree.classes is not None
    assert classes is not None
    return classes.index(tree.classes[int(tree.label[node])])


class LeafTexts:
    """What each leaf of a tree predicts and what was observed there, as far as it may be told.

    Observed are the rows the tree was trained on. The class ``positive`` (a position among the
    ``classes``) is the one whose share is shown; None: the one decided on.

    Attributes
    ----------
    value : list
        Class shares or mean by node; None where it rests on too few people, or is no leaf.
    predicted, observed : list of str or None
        The share predicted and what was observed, in words; "hidden" where not told.
    few : set of int
        Leaves that rest on too few people.
    """

    def __init__(
        self,
        tree: Tree,
        space: FeatureSpace,
        classes: tuple[Any, ...] | None,
        positive: int | None,
        min_cell: int,
    ) -> None:
        self.tree, self.classes, self.min_cell = tree, classes, min_cell
        leaves = tree.leaves.tolist()
        self.few = {leaf for leaf in leaves if rests_on_few(tree, leaf, min_cell)}
        known = tree.classes or ()
        name = None if positive is None or classes is None else classes[positive]
        shown = [
            known.index(name)
            if name in known
            else int(tree.label[leaf])
            if classes is not None
            else 0
            for leaf in leaves
        ]
        self._told = tell_leaves(tree, min_cell, shown)
        self.value: list[list[float] | None] = [None] * tree.n_nodes
        self.predicted: list[str | None] = [None] * tree.n_nodes
        self.observed: list[str | None] = [None] * tree.n_nodes
        for leaf, at in zip(leaves, shown, strict=True):
            if tree.observed is not None:
                self.observed[leaf] = self._observed(leaf, at)
            if classes is None:
                mean = float(tree.value[leaf, 0])
                short = coarse_mean(mean, space) if leaf in self.few else float(f"{mean:.4g}")
                self.value[leaf] = [short]
            elif leaf not in self.few:
                # A class that only the other tree knows is predicted for nobody here.
                lacking = name is not None and name not in known
                self.value[leaf] = self._shares(leaf)
                self.predicted[leaf] = PAGE.percent(0, 1) if lacking else self._share(leaf, at)
                if self.predicted[leaf] is None:
                    self.value[leaf] = None

    def _observed(self, leaf: int, at: int) -> str:
        told = self._told[leaf]
        if told is None:
            return "hidden"
        if self.classes is not None:
            return told.words()
        numbers = replace(LeafNumbers.of(self.tree, leaf, at), parts=())
        return numbers.observed_words(PAGE)

    def free(self, leaf: int) -> bool:
        """Whether the prediction says no more of single people than what is told.

        It may be told where the counts are, where none are stored, and where the model that
        steadies it leaves open how many people had the outcome, to ``min_cell`` of them.
        """
        seen, told = self.tree.observed, self._told.get(leaf)
        if seen is None or (told is not None and told.exact):
            return True
        # Of k rows' worth of another model any part may have had the outcome.
        return bool(seen.strength[leaf] >= self.min_cell)

    def _shares(self, leaf: int) -> list[float]:
        """Predicted shares in the order of all classes, coarse where they would tell counts."""
        assert self.classes is not None
        row = [0.0] * len(self.classes)
        free = self.free(leaf)
        rows = 0.0 if self.tree.observed is None else float(self.tree.observed.rows()[leaf])
        for own, share in zip(self.tree.classes or (), self.tree.value[leaf].tolist(), strict=True):
            row[self.classes.index(own)] = (
                rounded_share(share, 3) if free else coarse_share(share, rows, self.min_cell)
            )
        return row

    def _share(self, leaf: int, at: int) -> str | None:
        """Share predicted of the class shown, in words; None where it would tell a count."""
        share, told, seen = float(self.tree.value[leaf, at]), self._told.get(leaf), None
        if self.free(leaf):
            return PAGE.percent(share, 1)
        seen = self.tree.observed
        assert seen is not None
        n, k = float(seen.rows()[leaf]), float(seen.strength[leaf])
        if told is not None and np.allclose(seen.counts[leaf], seen.weighted[leaf]):
            # What could have been predicted, whatever the numbers that are not told.
            low, high = told.shares(k)
            if low <= share <= high:
                return range_words(low, high)
        return coarse_words(share, n, self.min_cell) if step_protects(n, self.min_cell) else None


# -- the candidates --------------------------------------------------------------------


def frontier_data(
    candidates: CandidateTrees, *, base: Tree, space: FeatureSpace, min_cell: int
) -> dict[str, Any]:
    """Return every candidate with its costs, and as many of their trees as the file can hold.

    Trees are compared with ``base`` and stored in order of interest until the budget is spent.
    """
    trees = candidates.trees
    rows = [_candidate(record, candidates.n_rows, min_cell) for record in candidates.records]
    order = sorted(
        range(len(rows)),
        key=lambda i: (
            not rows[i]["chosen"],
            rows[i]["kind"] != "keep",
            not rows[i]["on_frontier"],
        ),
    )
    stored: list[dict[str, Any]] = []
    known: dict[bytes, dict[str, Any]] = {}
    spent, left_out = 0, 0
    for i in order:
        tree = trees[i]
        rows[i] |= {"n_rules": tree.n_leaves, "depth": tree.depth, "tree": None}
        # Grids grow the same tree again and again: it is compared and stored once.
        key = _identity(tree)
        if key in known:
            rows[i] |= known[key]
            continue
        # A size guess before the diff is computed: it is what takes the time.
        if spent + 12 * tree.n_nodes > TREE_BUDGET:
            left_out += 1
            continue
        diff = diff_trees(base, tree, space=space)
        compact = compact_tree(tree, diff, min_cell)
        size = len(json.dumps(compact, separators=(",", ":")))
        if spent + size > TREE_BUDGET:
            left_out += 1
            continue
        spent += size
        known[key] = {
            "tree": len(stored),
            "counts": dict(diff.counts),
            "dissimilarity": round(float(diff.dissimilarity), 4),
        }
        stored.append(compact)
        rows[i] |= known[key]
    return {
        "candidates": rows,
        "trees": stored,
        "chosen": next((i for i, row in enumerate(rows) if row["chosen"]), None),
        "base_name": candidates.base_name,
        "distance_name": candidates.distance_name,
        "distance_is_share": candidates.distance_is_share,
        "score_name": candidates.score_name,
        "objectives": candidates.objectives,
        "trees_left_out": left_out,
    }


def _identity(tree: Tree) -> bytes:
    """Bytes that two trees share when they have the same nodes, values and labels."""
    digest = hashlib.sha256(repr(tree.left_categories).encode())
    arrays = (tree.children_left, tree.feature, tree.threshold, tree.value, tree.label)
    for array in (*arrays, tree.weight, tree.missing_left):
        digest.update(np.ascontiguousarray(array).tobytes() + b"|")
    return digest.digest()


def _candidate(record: Mapping[str, Any], n_rows: int | None, min_cell: int) -> dict[str, Any]:
    costs = plain_json({name: record.get(name) for name in _COSTS}, 4)
    for name in _HAPPENS:
        share, masked = plain_json(record.get(name)), False
        if share is not None and n_rows:
            masked = PeopleCount.of(share * n_rows, n_rows, min_cell).masked
            share = None if masked else rounded_share(share, 4)
        costs |= {name: share, f"{name}_masked": masked}
    edits = record.get("edits")
    return {
        "name": clean(record["name"]),
        "kind": str(record.get("kind") or ""),
        **costs,
        "n_edits": None if plain_json(record.get("n_edits")) is None else int(record["n_edits"]),
        "edits": [clean(e) for e in edits] if isinstance(edits, (list, tuple)) else [],
        "settings": clean(record["settings"]) if record.get("settings") else "",
        "on_frontier": bool(record.get("on_frontier")),
        "chosen": bool(record.get("chosen")),
    }


def compact_tree(tree: Tree, diff: TreeDiff, min_cell: int) -> dict[str, Any]:
    """Write a candidate tree in few bytes, with what became of each rule of the base tree.

    Nodes are in preorder, so that the children need not be stored: ``f`` feature of each
    node (-1: leaf), ``t`` thresholds of the numeric splits in that order (six digits), ``c``
    category codes that go left of the categorical splits in that order, ``m`` one digit per
    split (1: missing goes left), ``l`` labels and ``v`` values of the leaves (the share of
    the positive class of two, of the label otherwise, in words where it is coarse; or the mean;
    null: too few people),
    ``n`` rule numbers and ``s`` statuses of the leaves (k, m, r or a).
    """
    space, classes = diff.space, diff.classes
    aligned = align_tree(tree, space)
    grown = aligned.tree
    order = grown.preorder.tolist()
    splits = [i for i in order if not grown.is_leaf[i]]
    leaves = [i for i in order if grown.is_leaf[i]]
    by_leaf = {r.new.leaf: r for r in diff.rules if r.new is not None}
    texts = LeafTexts(grown, space, classes, diff.positive, min_cell)
    labels = [_label(grown, i, classes) if classes else 0 for i in leaves]
    shown: list[float | str | None] = []
    for i, label in zip(leaves, labels, strict=True):
        row = texts.value[i]
        if row is None or classes is None:
            shown.append(None if row is None else row[0])
        else:
            at = label if diff.positive is None else diff.positive
            shown.append(row[at] if texts.free(i) else texts.predicted[i])
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
        "n": [by_leaf[i].number if i in by_leaf else 0 for i in leaves],
        "s": "".join(STATUS_LETTERS[by_leaf[i].status] if i in by_leaf else "-" for i in leaves),
    }


def _short(value: float) -> float | str:
    if not math.isfinite(value):
        return str(value)
    short = float(f"{value:.6g}")
    return int(short) if short.is_integer() and abs(short) < 1e9 else short
