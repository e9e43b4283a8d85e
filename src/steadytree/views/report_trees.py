"""Trees, their rules and the candidates as plain data: what the page draws, and nothing more.

Weights and the values of inner nodes are left out.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from steadytree._views import CandidateTrees
from steadytree.diff import Rule, RuleChange, TreeDiff, diff_trees
from steadytree.diff.diff_words import change_words
from steadytree.publish import published_means, published_shares
from steadytree.publish.cells import Cell, Text, edit, mean, parts_words, people, risk, score, text
from steadytree.tree.alignment import align_tree
from steadytree.tree.json import plain_json
from steadytree.tree.printing import LeafNumbers, known_missing, odd_values
from steadytree.tree.space import FeatureSpace
from steadytree.tree.tree import Tree
from steadytree.tree.values import codes_in
from steadytree.tree.words import PAGE, clean, rounded_share, shown_bound
from steadytree.views.figures import fold_nodes

# -- Texts of a page as plain data: their parts, so that what counts people can be rounded --

_MINUS = re.compile(r"(?<![\w.])-(?=\d)")


def sentence(given: str | Text) -> dict[str, Any]:
    """Return the parts of a text, and its words on a page."""
    parts = given.parts if isinstance(given, Text) else (str(given),)
    shown = [_on_page(part) for part in parts if part]
    return {"parts": shown, "words": parts_words(shown)}


def _on_page(part: str | Cell) -> str | Cell:
    if isinstance(part, str):
        return _page_words(part)
    for kind in ("edit", "internal"):
        if kind in part:
            words = _page_words(part[kind])
            return {kind: words, "words": words}
    return part


def _page_words(words: str) -> str:
    """Clean a text of strangers, with the signs of a page."""
    # What is cleaned loses its outer blanks, which join it to the next part.
    if not words.strip():
        return words
    inner = _MINUS.sub(PAGE.minus, clean(words.strip()))
    lead = " " * (len(words) > len(words.lstrip()))
    tail = " " * (len(words) > len(words.rstrip()))
    return f"{lead}{inner.replace(' <= ', ' ≤ ').replace(' >= ', ' ≥ ')}{tail}"


# -- Trees, their rules and the candidates as plain data: what the page draws, and nothing more --

MAX_DRAWN_RULES = 24
"""Ends drawn per tree before deep branches are folded."""

TREE_BUDGET = 1_100_000
"""Bytes for candidate trees: with them the whole page stays below 2 MB."""

STATUS_LETTERS = {"kept": "k", "moved": "m", "relabelled": "r", "added": "a", "dropped": "d"}
"""Status of a rule in the order of the page, and its letter in the compact trees."""

_HAPPENS = ("flips", "moved_5")


@dataclass(frozen=True)
class LeafCells:
    """What a leaf predicts, and what was observed there in training, where that is known."""

    predicted: Cell
    observed: Cell | None


# -- the two trees ---------------------------------------------------------------------


def features_data(
    space: FeatureSpace, used: set[int], drawn: set[int], trees: Sequence[Tree]
) -> list[dict[str, Any]]:
    """Features by position in the space: name, kind, categories and whether a tree uses them.

    What can be missing or a category never met is known to the space, or to the ``trees``.

    The bounds of the space are extremes, that is, values of single people: they stay out, and
    so do the categories of a feature that no tree ``drawn`` on the page uses: they may be names
    of people.
    """
    odd = {"missing": set(np.flatnonzero(space.can_be_missing).tolist()), "unseen": set[int]()}
    for tree in trees:
        aligned = align_tree(tree, space)
        for node in np.flatnonzero(aligned.feature >= 0).tolist():
            own = int(aligned.tree.feature[node])
            missing, unseen = odd_values(aligned.tree, own)
            found = (missing or known_missing(aligned.tree, own), unseen)
            for kind, takes in zip(odd, found, strict=True):
                odd[kind] |= {int(aligned.feature[node])} if takes else set()
    return [
        {
            "name": clean(space.feature_labels[j]),
            "categories": None
            if space.categories[j] is None
            else [clean(c) for c in space.categories[j] or () if j in drawn],
            "ordered": bool(space.ordered[j]),
            "missing": j in odd["missing"],
            "unseen": j in odd["unseen"] and space.categories[j] is not None,
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
    shares: Mapping[int, Cell],
    changed: set[int],
    cells: Mapping[int, LeafCells],
    positive: int | None,
) -> dict[str, Any]:
    """One tree in full: node by node, numbers as the model compares them.

    By leaf: ``rules`` are rule numbers, ``shares`` those of the rows (absent: no rows were
    counted), ``cells`` those of :func:`leaf_cells`. The branches of ``changed`` leaves are
    opened first. ``positive`` is the position of the class whose predicted share is shown, None
    for that of the decision.
    """
    aligned = align_tree(tree, space)
    grown = aligned.tree
    leaf = grown.is_leaf
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
        "unseen_left": [int(v) for v in grown.unseen_left],
        "label": [
            _label(grown, i, classes) if leaf[i] and grown.is_classifier else None
            for i in range(grown.n_nodes)
        ],
        "predicted": [cells[i].predicted if i in cells else None for i in range(tree.n_nodes)],
        "positive": positive,
        "observed": [cells[i].observed if i in cells else None for i in range(tree.n_nodes)],
        "rule": [rules.get(i) for i in range(grown.n_nodes)],
        "share": [shares.get(i) for i in range(grown.n_nodes)],
        "against": np.flatnonzero(grown.kept_against_share & leaf).tolist(),
        "folded": sorted(fold_nodes(grown, MAX_DRAWN_RULES, important=changed)),
    }


def leaf_cells(
    tree: Tree, classes: tuple[Any, ...] | None, positive: int | None
) -> dict[int, LeafCells]:
    """Return for each leaf what it ``predicted`` and what was ``observed`` in training.

    Shares are those of the class at ``positive``, or of the label.
    """
    rounded = published_means(tree) if classes is None else published_shares(tree)
    out: dict[int, LeafCells] = {}
    for leaf in tree.leaves.tolist():
        numbers, known = _leaf_numbers(tree, leaf, classes, positive), tree.classes or ()
        if classes is None:
            predicted = mean(numbers.predicted, float(rounded[leaf, 0]))
        else:
            public = rounded[leaf, known.index(numbers.shown)] if numbers.shown in known else 0.0
            predicted = risk(numbers.predicted, public)
        observed = None
        if numbers.outcomes is not None:
            observed = people(numbers.outcomes, numbers.rows, "of")
        elif numbers.mean is not None:
            observed = mean(numbers.mean, of=numbers.rows)
        out[leaf] = LeafCells(predicted, observed)
    return out


def _leaf_numbers(
    tree: Tree, leaf: int, classes: tuple[Any, ...] | None, positive: int | None
) -> LeafNumbers:
    """Return the numbers of a leaf; a class that only the other tree knows is predicted never."""
    if classes is None or positive is None:
        return LeafNumbers.of(tree, leaf)
    name, known = classes[positive], tree.classes or ()
    if name in known:
        return LeafNumbers.of(tree, leaf, known.index(name))
    return replace(LeafNumbers.of(tree, leaf), shown=name, predicted=0.0)


def _values(tree: Tree, leaf: int, classes: tuple[Any, ...] | None) -> list[float]:
    """Mean, or class shares in the order of all classes."""
    if classes is None:
        return [float(tree.value[leaf, 0])]
    row = [0.0] * len(classes)
    for own, share in zip(tree.classes or (), tree.value[leaf].tolist(), strict=True):
        row[classes.index(own)] = rounded_share(share, 3)
    return row


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


# -- the candidates --------------------------------------------------------------------


def frontier_data(candidates: CandidateTrees, *, base: Tree, space: FeatureSpace) -> dict[str, Any]:
    """Return every candidate with its costs, and as many of their trees as the file can hold.

    Trees are compared with ``base`` and stored in order of interest until the budget is spent.
    """
    trees = candidates.trees
    rows = [_candidate(record, candidates) for record in candidates.records]
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
        compact = compact_tree(tree, diff)
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


def _candidate(record: Mapping[str, Any], candidates: CandidateTrees) -> dict[str, Any]:
    costs: dict[str, Any] = {"distance": plain_json(record.get("distance"), 4)}
    costs["score"] = score(
        plain_json(record.get("score")),
        candidates.score_rests_on,
        plain_json(record.get("score_se")),
    )
    for name in _HAPPENS:
        share, n = plain_json(record.get(name)), candidates.n_rows
        costs[name] = None if share is None or not n else people(share * n, n, "share")
    edits = record.get("edits")
    return {
        "name": clean(record["name"]),
        "kind": str(record.get("kind") or ""),
        **costs,
        "n_edits": None if plain_json(record.get("n_edits")) is None else int(record["n_edits"]),
        "edits": [edit(clean(e)) for e in edits] if isinstance(edits, (list, tuple)) else [],
        "settings": clean(record["settings"]) if record.get("settings") else "",
        "on_frontier": bool(record.get("on_frontier")),
        "chosen": bool(record.get("chosen")),
    }


def compact_tree(tree: Tree, diff: TreeDiff) -> dict[str, Any]:
    """Write a candidate tree in few bytes, with what became of each rule of the base tree.

    Nodes are in preorder, so that the children need not be stored: ``f`` feature of each
    node (-1: leaf), ``t`` thresholds of the numeric splits in that order (as they read), ``c``
    category codes that go left of the categorical splits in that order, ``m`` one digit per
    split (1: missing goes left, 2: a category never met, 3: both), ``l`` labels and ``v`` values
    of the leaves (the share of the positive class of two, of the label otherwise; or the mean),
    ``n`` rule numbers and ``s`` statuses of the leaves (k, m, r or a).
    """
    space, classes = diff.space, diff.classes
    aligned = align_tree(tree, space)
    grown = aligned.tree
    order = grown.preorder.tolist()
    splits = [i for i in order if not grown.is_leaf[i]]
    leaves = [i for i in order if grown.is_leaf[i]]
    by_leaf = {r.new.leaf: r for r in diff.rules if r.new is not None}
    labels = [_label(grown, i, classes) if classes else 0 for i in leaves]
    shown = []
    for i, label in zip(leaves, labels, strict=True):
        row = _values(grown, i, classes)
        shown.append(row[(label if diff.positive is None else diff.positive) if classes else 0])
    return {
        "f": [int(aligned.feature[i]) for i in order],
        "t": [_short(float(grown.threshold[i])) for i in splits if aligned.left_mask[i] is None],
        "c": [
            _codes(mask, space, int(aligned.feature[i]))
            for i in splits
            if (mask := aligned.left_mask[i]) is not None
        ],
        "m": "".join(
            str(int(grown.missing_left[i]) + 2 * int(grown.unseen_left[i])) for i in splits
        ),
        "l": labels,
        "v": shown,
        "n": [by_leaf[i].number if i in by_leaf else 0 for i in leaves],
        "s": "".join(STATUS_LETTERS[by_leaf[i].status] if i in by_leaf else "-" for i in leaves),
    }


def _short(value: float) -> float | str:
    if not math.isfinite(value):
        return str(value)
    if shown_bound(value)[1]:
        return value  # the page must see that it lies below what it reads
    short = float(f"{value:.6g}")
    return int(short) if short.is_integer() and abs(short) < 1e9 else short


# -- Every rule before and after as plain data: what it says, and whom among the rows it concerns --


class RuleTable:
    """Rules of a diff as plain data, one of ``rows`` each."""

    def __init__(self, diff: TreeDiff) -> None:
        self.diff = diff
        self.cells = {
            side: leaf_cells(tree, diff.classes, diff.positive)
            for side, tree in (("old", diff.old), ("new", diff.new))
        }
        self._rules: dict[str, list[tuple[RuleChange, Rule]]] = {
            "old": [(change, change.old) for change in diff.rules if change.old is not None],
            "new": [(change, change.new) for change in diff.rules if change.new is not None],
        }
        self.rows = [self._row(rule) for rule in diff.rules]

    def leaves(self, side: str) -> dict[int, int]:
        """Rule number of each leaf of one tree."""
        return {rule.leaf: change.number for change, rule in self._rules[side]}

    def shares(self, side: str) -> dict[int, Cell]:
        """Rows at each leaf of one tree; empty where none were counted."""
        return {
            rule.leaf: people(rule.rows, self.diff.n_rows, "share")
            for _, rule in self._rules[side]
            if rule.rows is not None
        }

    def changed(self, side: str) -> set[int]:
        """Leaves of one tree whose rule is not what it was."""
        return {rule.leaf for change, rule in self._rules[side] if change.status != "kept"}

    # -- one rule ----------------------------------------------------------------------

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

    def _half(self, rule: Rule | None, side: str) -> dict[str, Any] | None:
        if rule is None:
            return None
        return {
            "leaf": rule.leaf,
            "conditions": [
                c.words(PAGE, self.diff.space.categories[c.feature]) for c in rule.conditions
            ]
            or ["everyone"],
            "outcome": sentence(self._outcome(rule, side)),
            "numbers": sentence(self._numbers(rule, side)),
            "rows": None if rule.rows is None else people(rule.rows, self.diff.n_rows, "rows"),
            "observed": _observed_rows(rule),
            "against": rule.kept_against_share,
        }

    def _outcome(self, rule: Rule, side: str) -> Text:
        if rule.label is None:
            return text(self.cells[side][rule.leaf].predicted)
        return text(rule.numbers.label_words(PAGE))

    def _numbers(self, rule: Rule, side: str) -> Text:
        """Write what the leaf predicts and what was observed in training, as in the drawing."""
        told, numbers = self.cells[side][rule.leaf], rule.numbers
        parts: list[str | Cell] = []
        if numbers.shown is not None:
            parts += [f"predicts {PAGE.name(numbers.shown)} ", told.predicted]
        if told.observed is not None:
            parts += [f"{'; ' if parts else ''}observed ", told.observed]
        return text(*parts)


def _observed_rows(rule: Rule) -> Cell | None:
    """Count what was observed among the rows of a rule."""
    if not rule.rows or rule.outcome_rate is None:
        return None
    if rule.outcomes is None:
        return mean(rule.outcome_rate, of=rule.rows)
    return people(rule.outcomes, rule.rows)
