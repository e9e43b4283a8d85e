"""The frontier: every candidate with its costs, and as many of their trees as the file can hold."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from steadytree._views import CandidateTrees
from steadytree.core.format import plain_json
from steadytree.core.space import FeatureSpace
from steadytree.core.tree import Tree
from steadytree.core.words import clean
from steadytree.diff import diff_trees
from steadytree.report.disclosure import PeopleCount
from steadytree.report.trees import compact_tree

__all__ = ["TREE_BUDGET", "frontier_data"]

TREE_BUDGET = 1_100_000
"""Bytes for candidate trees: with them the whole page stays below 2 MB."""

_COSTS = ("distance", "score", "score_se", "score_change", "score_change_se", "flips")


def frontier_data(
    candidates: CandidateTrees, *, base: Tree, space: FeatureSpace, min_cell: int
) -> dict[str, Any]:
    """Candidates as plain data; trees are stored in order of interest until the budget is spent.

    Parameters
    ----------
    candidates : CandidateTrees
    base : Tree
        What the candidates' rules are compared with.
    space : FeatureSpace
    min_cell : int
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
        compact = compact_tree(tree, diff, diff.classes, min_cell)
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
    for array in (tree.children_left, tree.feature, tree.threshold, tree.value, tree.label):
        digest.update(np.ascontiguousarray(array).tobytes() + b"|")
    digest.update(np.ascontiguousarray(tree.weight).tobytes())
    digest.update(np.ascontiguousarray(tree.missing_left).tobytes())
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
