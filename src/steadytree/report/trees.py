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
from steadytree.core.format import plain_json
from steadytree.core.space import FeatureSpace
from steadytree.core.tree import Tree
from steadytree.core.tree_words import LeafNumbers
from steadytree.core.words import PAGE, clean
from steadytree.diff import Rule, RuleChange, TreeDiff, diff_trees
from steadytree.diff.words import change_words
from steadytree.plotting.layout import fold_nodes
from steadytree.report.disclosure import (
    PeopleCount,
    coarse_mean,
    coarse_share,
    hidden_leaves,
    mask_partition,
    rests_on_few,
)

__all__ = [
    "STATUS_LETTERS",
    "RuleTable",
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

_COSTS = ("distance", "score", "score_se", "score_change", "score_change_se", "flips")


# -- the two trees ---------------------------------------------------------------------


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
        "positive": positive,
        "observed": _observed_texts(grown, classes, positive, min_cell),
        "few": sorted(hidden),
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
    few_seen = hidden_leaves(tree, min_cell)
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
            out[node] = _shares_told(tree, node, row, min_cell) if node in few_seen else row
    return out, hidden


def _shares_told(tree: Tree, node: int, row: list[float], min_cell: int) -> list[float]:
    """Predicted shares of a leaf whose counts are hidden: coarse where they are the counts."""
    seen = tree.observed
    if seen is None or seen.strength[node] > 0:
        return [round(share, 2) for share in row]
    return [coarse_share(share, float(seen.rows()[node]), min_cell) for share in row]


def _observed_texts(
    tree: Tree, classes: tuple[Any, ...] | None, positive: int | None, min_cell: int
) -> list[str | None]:
    """Write what was observed at each leaf among the rows the tree was trained on, in words."""
    out: list[str | None] = [None] * tree.n_nodes
    if tree.observed is None:
        return out
    hidden = hidden_leaves(tree, min_cell)
    shown = None
    if positive is not None and classes is not None and classes[positive] in (tree.classes or ()):
        shown = (tree.classes or ()).index(classes[positive])
    for leaf in tree.leaves.tolist():
        numbers = replace(LeafNumbers.of(tree, leaf, shown), parts=())
        out[leaf] = "hidden" if leaf in hidden else numbers.observed_words(PAGE)
    return out


# -- every rule before and after -------------------------------------------------------


class RuleTable:
    """Rules of a diff as plain data, one of ``rows`` each, with small cells masked.

    Rules that fewer than ``min_cell`` people follow are masked, and others with them where
    they could be computed from the rest.
    """

    def __init__(self, diff: TreeDiff, min_cell: int) -> None:
        self.diff, self.min_cell = diff, min_cell
        self._rules: dict[str, list[tuple[RuleChange, Rule]]] = {
            "old": [(change, change.old) for change in diff.rules if change.old is not None],
            "new": [(change, change.new) for change in diff.rules if change.new is not None],
        }
        self._masked = {side: self._masked_leaves(side) for side in self._rules}
        trees = {"old": diff.old, "new": diff.new}
        self._values = {
            side: _leaf_values(tree, diff.space, diff.classes, min_cell)[0]
            for side, tree in trees.items()
        }
        self._observed = {
            side: _observed_texts(tree, diff.classes, diff.positive, min_cell)
            for side, tree in trees.items()
        }
        self.rows = [self._row(rule) for rule in diff.rules]

    def leaves(self, side: str) -> dict[int, int]:
        """Rule number of each leaf of one tree."""
        return {rule.leaf: change.number for change, rule in self._rules[side]}

    def shares(self, side: str) -> dict[int, float | None]:
        """Share of rows at each leaf of one tree; None where masked."""
        counted = (rule for _, rule in self._rules[side] if rule.share is not None)
        return {rule.leaf: self._share(rule, side) for rule in counted}

    def changed(self, side: str) -> set[int]:
        """Leaves of one tree whose rule is not what it was."""
        return {rule.leaf for change, rule in self._rules[side] if change.status != "kept"}

    def _masked_leaves(self, side: str) -> set[int]:
        rules = [rule for _, rule in self._rules[side]]
        if self.diff.n_rows is None or any(rule.share is None for rule in rules):
            return set()
        counts = [round((rule.share or 0.0) * self.diff.n_rows, 6) for rule in rules]
        flags = mask_partition(counts, self.min_cell)
        return {rule.leaf for rule, flag in zip(rules, flags, strict=True) if flag}

    def _share(self, rule: Rule, side: str) -> float | None:
        if rule.share is None or self.diff.n_rows is None or rule.leaf in self._masked[side]:
            return None
        return coarse_share(rule.share, self.diff.n_rows, self.min_cell)

    def _rate(self, rule: Rule, side: str) -> float | None:
        """Outcome rate of the rows at a rule, rounded to what its rows can carry."""
        if rule.outcome_rate is None or rule.leaf in self._masked[side]:
            return None
        if self.diff.classes is None:
            return float(f"{rule.outcome_rate:.3g}")
        count = (rule.share or 0.0) * (self.diff.n_rows or 0)
        return coarse_share(rule.outcome_rate, count, self.min_cell)

    def _row(self, change: RuleChange) -> dict[str, Any]:
        return {
            "number": change.number,
            "status": change.status,
            "relabelled": change.relabelled,
            "changes": [change_words(c, PAGE) for c in change.changes]
            + (["decision changed"] if change.relabelled else [])
            + ([change.new.kept] if change.new is not None and change.new.kept else []),
            "old": self._half(change.old, "old"),
            "new": self._half(change.new, "new"),
        }

    def _mean(self, rule: Rule, side: str) -> float:
        """Predicted value, coarse where it rests on few people, as in the drawing."""
        tree = self.diff.old if side == "old" else self.diff.new
        mean = float(rule.value[0])
        if rule.leaf in self._masked[side] or rests_on_few(tree, rule.leaf, self.min_cell):
            return coarse_mean(mean, self.diff.space)
        return float(f"{mean:.4g}")

    def _numbers(self, rule: Rule, side: str) -> str:
        """Write what the leaf predicts and what was observed in training, as in the drawing."""
        value, observed = self._values[side][rule.leaf], self._observed[side][rule.leaf]
        classes, words = self.diff.classes, []
        if value is not None and classes is not None:
            at = classes.index(rule.label) if self.diff.positive is None else self.diff.positive
            words.append(f"predicts {PAGE.name(classes[at])} {PAGE.percent(value[at], 0)}")
        if observed is not None:
            words.append("observed: hidden" if observed == "hidden" else f"observed {observed}")
        return "; ".join(words)

    def _half(self, rule: Rule | None, side: str) -> dict[str, Any] | None:
        if rule is None:
            return None
        return {
            "leaf": rule.leaf,
            "conditions": [
                c.words(PAGE, self.diff.space.categories[c.feature]) for c in rule.conditions
            ]
            or ["everyone"],
            "outcome": PAGE.number(self._mean(rule, side))
            if rule.label is None
            else PAGE.name(rule.label),
            "numbers": self._numbers(rule, side),
            "share": self._share(rule, side),
            "rate": self._rate(rule, side),
            "masked": rule.leaf in self._masked[side],
            "against": rule.kept_against_share,
        }


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
    flips, masked = costs["flips"], False
    if flips is not None and n_rows:
        masked = PeopleCount.of(flips * n_rows, n_rows, min_cell).masked
    edits = record.get("edits")
    return {
        "name": clean(record["name"]),
        "kind": str(record.get("kind") or ""),
        **costs,
        "flips": None if masked else flips,
        "flips_masked": masked,
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
    the positive class of two, of the label otherwise, or the mean; null: too few people),
    ``n`` rule numbers and ``s`` statuses of the leaves (k, m, r or a).
    """
    space, classes = diff.space, diff.classes
    aligned = align_tree(tree, space)
    grown = aligned.tree
    order = grown.preorder.tolist()
    splits = [i for i in order if not grown.is_leaf[i]]
    leaves = [i for i in order if grown.is_leaf[i]]
    by_leaf = {r.new.leaf: r for r in diff.rules if r.new is not None}
    values, _ = _leaf_values(grown, space, classes, min_cell)
    labels = [_label(grown, i, classes) if classes else 0 for i in leaves]
    shown: list[float | None] = []
    for i, label in zip(leaves, labels, strict=True):
        row = values[i]
        if row is None or classes is None:
            shown.append(None if row is None else row[0])
        else:
            shown.append(round(row[label if diff.positive is None else diff.positive], 2))
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
