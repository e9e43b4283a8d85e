"""Trees, their rules and the candidates as plain data: what the page draws, and nothing more.

Weights and the values of inner nodes are left out.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from steadytree._views import CandidateTrees
from steadytree.diff import Rule, TreeDiff, diff_trees
from steadytree.diff.build import leaf_numbers
from steadytree.diff.changes import change_words
from steadytree.publish import published_values
from steadytree.publish.cells import Cell, Text, edit, mean, parts_words, people, risk, score, text
from steadytree.tree.alignment import align_tree
from steadytree.tree.columns import codes_in
from steadytree.tree.json import plain_json
from steadytree.tree.printing import known_missing, odd_values
from steadytree.tree.space import FeatureSpace
from steadytree.tree.tree import Tree
from steadytree.tree.words import PAGE, clean, rounded_share, shown_bound
from steadytree.views.figures import fold_nodes

# -- texts of a page, in parts ------------------------------------------------------------

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


# -- what is drawn ------------------------------------------------------------------------

MAX_DRAWN_RULES = 24
"""Ends drawn per tree before deep branches are folded."""

TREE_BUDGET = 1_100_000
"""Bytes for candidate trees: with them the whole page stays below 2 MB."""

STATUS_LETTERS = {"kept": "k", "moved": "m", "relabelled": "r", "added": "a", "dropped": "d"}
"""Status of a rule in the order of the page, and its letter in the compact trees."""

_COSTS = ("score", "score_se", "flips", "moved_5", "n_edits")


LeafCells = dict[int, tuple[Cell, Cell | None]]
"""By leaf what it predicts, and what was observed there in training, where that is known."""


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
    missing, unseen = set(np.flatnonzero(space.can_be_missing).tolist()), set[int]()
    for tree in trees:
        aligned = align_tree(tree, space)
        for own, j in zip(aligned.tree.feature.tolist(), aligned.feature.tolist(), strict=True):
            takes_missing, takes_unseen = (
                odd_values(aligned.tree, own) if j >= 0 else (False, False)
            )
            if takes_missing or (j >= 0 and known_missing(aligned.tree, own)):
                missing.add(j)
            if takes_unseen:
                unseen.add(j)
    return [
        {
            "name": clean(space.feature_labels[j]),
            "categories": None
            if space.categories[j] is None
            else [clean(c) for c in space.categories[j] or () if j in drawn],
            "ordered": bool(space.ordered[j]),
            "missing": j in missing,
            "unseen": j in unseen and space.categories[j] is not None,
            "used": j in used,
        }
        for j in range(space.n_features)
    ]


def used_features(tree: Tree, space: FeatureSpace) -> set[int]:
    """Positions in the space of the features that a tree splits on."""
    feature = align_tree(tree, space).feature
    return {int(j) for j in feature[feature >= 0]}


def tree_data(
    diff: TreeDiff,
    side: str,
    cells: LeafCells,
    *,
    name: str,
    shares: Mapping[int, Cell] | None = None,
) -> dict[str, Any]:
    """One tree of a diff in full: node by node, numbers as the model compares them.

    ``side`` is "old" or "new"; ``cells`` are those of :func:`leaf_cells`; ``shares`` are the
    rows at each leaf, by default those that the diff counted. The branches of rules that changed
    are opened first.
    """
    rules = [(change, rule) for change in diff.rules if (rule := getattr(change, side)) is not None]
    numbers = {rule.leaf: change.number for change, rule in rules}
    changed = {rule.leaf for change, rule in rules if change.status != "kept"}
    shares = shares or {
        rule.leaf: people(rule.rows, diff.n_rows, "share")
        for _, rule in rules
        if rule.rows is not None
    }
    space = diff.space
    aligned = align_tree(getattr(diff, side), space)
    grown = aligned.tree
    nodes, leaf, none = range(grown.n_nodes), grown.is_leaf, (None, None)
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
            _label(grown, i, diff.classes) if leaf[i] and diff.classes else None for i in nodes
        ],
        "predicted": [cells.get(i, none)[0] for i in nodes],
        "positive": diff.positive,
        "observed": [cells.get(i, none)[1] for i in nodes],
        "rule": [numbers.get(i) for i in nodes],
        "share": [shares.get(i) for i in nodes],
        "against": np.flatnonzero(grown.kept_against_share & leaf).tolist(),
        "folded": sorted(fold_nodes(grown, MAX_DRAWN_RULES, important=changed)),
    }


def leaf_cells(diff: TreeDiff, side: str) -> LeafCells:
    """Return the numbers of each leaf of one tree.

    Shares are those of the positive class of two, or of the label.
    """
    tree, classes = getattr(diff, side), diff.classes
    rounded = published_values(tree)
    out: LeafCells = {}
    for leaf in tree.leaves.tolist():
        numbers, known = leaf_numbers(tree, leaf, classes, diff.positive), tree.classes or ()
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
        out[leaf] = (predicted, observed)
    return out


def _threshold(value: float) -> float | str | None:
    if math.isnan(value):
        return None
    return value if math.isfinite(value) else str(value)


def _codes(mask: int, space: FeatureSpace, feature: int) -> list[int]:
    return codes_in(mask, len(space.categories[feature] or ()))


def _label(tree: Tree, node: int, classes: tuple[Any, ...]) -> int:
    return classes.index((tree.classes or ())[int(tree.label[node])])


# -- the candidates --------------------------------------------------------------------


def frontier_data(candidates: CandidateTrees, *, base: Tree, space: FeatureSpace) -> dict[str, Any]:
    """Return every candidate with its costs, and as many of their trees as the file can hold.

    Trees are compared with ``base`` and stored in order of interest until the budget is spent.
    """
    trees = candidates.trees
    rows = [_candidate(record, candidates) for record in candidates.records]

    def interest(i: int) -> tuple[bool, ...]:
        return (rows[i]["chosen"], rows[i]["kind"] == "keep", rows[i]["on_frontier"])

    stored: list[dict[str, Any]] = []
    known: dict[bytes, dict[str, Any]] = {}
    spent, left_out = 0, 0
    for i in sorted(range(len(rows)), key=interest, reverse=True):
        tree = trees[i]
        rows[i] |= {"n_rules": tree.n_leaves, "depth": tree.depth, "tree": None}
        # Grids grow the same tree again and again: it is compared and stored once.
        key = _identity(tree)
        if key in known:
            rows[i] |= known[key]
            continue
        # A size guess before the diff is computed: it is what takes the time.
        size = 12 * tree.n_nodes
        if spent + size <= TREE_BUDGET:
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
    known = {name: plain_json(value) for name, value in record.items() if name in _COSTS}
    happens: dict[str, Cell | None] = dict.fromkeys(("flips", "moved_5"))
    for name in happens:
        share, n = known.get(name), candidates.n_rows
        happens[name] = None if share is None or not n else people(share * n, n, "share")
    edits = record.get("edits")
    return {
        "name": clean(record["name"]),
        "kind": str(record.get("kind") or ""),
        "distance": plain_json(record.get("distance"), 4),
        "score": score(known.get("score"), candidates.score_rests_on, known.get("score_se")),
        **happens,
        "n_edits": None if known.get("n_edits") is None else int(record["n_edits"]),
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
        "v": [
            numbers.predicted if classes is None else rounded_share(numbers.predicted, 3)
            for numbers in (leaf_numbers(grown, i, classes, diff.positive) for i in leaves)
        ],
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


# -- every rule before and after ----------------------------------------------------------


def rules_data(diff: TreeDiff, cells: Mapping[str, LeafCells]) -> list[dict[str, Any]]:
    """Rules of a diff as plain data; ``cells`` are those of :func:`leaf_cells`, by side."""
    return [
        {
            "number": change.number,
            "status": change.status,
            "relabelled": change.relabelled,
            "changes": [change_words(c, PAGE) for c in change.changes]
            + (["decision changed"] if change.relabelled else [])
            + ([change.new.kept] if change.new is not None and change.new.kept else []),
            "old": _rule_data(diff, change.old, cells["old"]),
            "new": _rule_data(diff, change.new, cells["new"]),
        }
        for change in diff.rules
    ]


def _rule_data(diff: TreeDiff, rule: Rule | None, cells: LeafCells) -> dict[str, Any] | None:
    if rule is None:
        return None
    predicted, observed = cells[rule.leaf]
    # What the leaf predicts and what was observed in training, as in the drawing.
    numbers: list[str | Cell] = []
    if rule.numbers.shown is not None:
        numbers += [f"predicts {PAGE.name(rule.numbers.shown)} ", predicted]
    if observed is not None:
        numbers += [f"{'; ' if numbers else ''}observed ", observed]
    return {
        "leaf": rule.leaf,
        "conditions": [c.words(PAGE, diff.space.categories[c.feature]) for c in rule.conditions]
        or ["everyone"],
        "outcome": sentence(
            text(predicted if rule.label is None else rule.numbers.label_words(PAGE))
        ),
        "numbers": sentence(text(*numbers)),
        "rows": None if rule.rows is None else people(rule.rows, diff.n_rows, "rows"),
        "observed": _observed_rows(rule),
        "against": rule.kept_against_share,
    }


def _observed_rows(rule: Rule) -> Cell | None:
    """Count what was observed among the rows of a rule."""
    if not rule.rows or rule.outcome_rate is None:
        return None
    if rule.outcomes is None:
        return mean(rule.outcome_rate, of=rule.rows)
    return people(rule.outcomes, rule.rows)
