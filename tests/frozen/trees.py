"""What is frozen of trees on one data set: first trees, distances, matchings, other formats."""

from __future__ import annotations

import itertools
import json
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import steadytree as st
from tests.frozen.plain import digest, plain

__all__ = ["distances_of", "matchings_of", "refusal", "short", "stored", "texts_of"]

TEXT_FORMATS = (
    *("sql", "python", "c", "javascript", "r", "rules", "markdown", "dot", "mermaid", "pmml"),
)
MAX_DEPTH = 12


def stored(tree: st.Tree) -> Any:
    """Return the file of a tree, as it is written."""
    with tempfile.TemporaryDirectory() as folder:
        return plain(json.loads(st.save_tree(tree, Path(folder) / "tree.json").read_text("utf-8")))


def short(tree: st.Tree, X: Any) -> dict[str, Any]:
    """Say in a few numbers which tree it is, and where it sends the rows."""
    leaves, counts = np.unique(tree.apply(X), return_counts=True)
    return {
        "tree": digest(stored(tree)),
        "size": [tree.n_leaves, tree.depth],
        "rows in leaves": dict(zip(map(str, leaves.tolist()), counts.tolist(), strict=True)),
        "predictions": digest(tree.predict(X)),
        "shares": digest(tree.predict_proba(X)) if tree.is_classifier else None,
    }


def refusal(error: Exception) -> str:
    """Return which error it was; its words are frozen with the other errors."""
    return f"refused: {type(error).__name__}"


def _options(*, classes: bool) -> list[dict[str, Any]]:
    outcomes = ("label", "distribution", "impurity") if classes else ("label",)
    options: list[dict[str, Any]] = [
        {"variant": variant, "outcome": outcome, "normalize": normalize}
        for variant, outcome, normalize in itertools.product(
            ("paper", "metric", "cover"), outcomes, (None, "bound", "relative")
        )
    ]
    for variant in ("paper", "metric", "cover"):
        options.append({"variant": variant, "label_weight": 0.0})
        options.append({"variant": variant, "label_weight": "balanced"})
        options.append({"variant": variant, "merge_equal_siblings": True, "label_weight": 2.5})
    for option in options:
        if option.get("normalize") == "bound" or option.get("label_weight") == "balanced":
            option["max_depth"] = MAX_DEPTH
    return options


def distances_of(trees: Sequence[st.Tree], space: st.FeatureSpace) -> dict[str, Any]:
    """Return the distance of every pair in all variants, or why there is none."""
    answers: dict[str, Any] = {}
    pairs = np.triu_indices(len(trees), k=1)
    for options in _options(classes=trees[0].is_classifier):
        name = " ".join(f"{k}={v}" for k, v in options.items() if v is not None)
        try:
            found = st.pairwise_tree_distances(trees, space=space, n_jobs=1, **options)
            alone = st.tree_distance(trees[0], trees[-1], space=space, **options)
        except ValueError as error:
            answers[name] = refusal(error)
        else:
            answers[name] = [*found[pairs].tolist(), alone]
    crossed = st.pairwise_tree_distances(trees[:1], trees[1:], space=space, n_jobs=1)
    answers["first against the others"] = crossed.ravel().tolist()
    answers["bound"] = [st.distance_bound(d, w) for d in (1, 5, MAX_DEPTH) for w in (1.0, 2.5)]
    return answers


def matchings_of(a: st.Tree, b: st.Tree, space: st.FeatureSpace) -> dict[str, Any]:
    """Return the optimal matching of two trees, pair by pair, in each variant."""
    answers = {}
    for variant in ("paper", "metric", "cover"):
        found = st.match_paths(a, b, space=space, variant=variant)
        answers[variant] = {
            "distance": found.distance,
            "relative": found.relative,
            "pairs": [[p.leaf_a, p.leaf_b, p.cost, p.outcome_cost] for p in found.pairs],
            "unmatched": [[u.tree, u.leaf, u.cost] for u in found.unmatched],
            "in words": digest(found.to_frame()),
        }
    return answers


def texts_of(tree: st.Tree, *, whole: bool) -> dict[str, Any]:
    """Return a tree in every format: texts, or their digests."""
    answers: dict[str, Any] = {}
    for publish in (False, True):
        for to in TEXT_FORMATS:
            name = f"{to}{' published' * publish}"
            try:
                text = st.export_tree(tree, to, publish=publish)
            except ValueError as error:
                answers[name] = refusal(error)
            else:
                answers[name] = text.splitlines() if whole and not publish else digest(text)
    answers["sql to DuckDB"] = digest(st.export_tree(tree, "sql", dialect="duckdb", table="rows"))
    nested: Mapping[str, Any] = st.export_tree(tree, "dict")
    answers["dict"] = nested if whole else digest(nested)
    # What is no text is read back.
    with tempfile.TemporaryDirectory() as folder:
        for to, given in (("sklearn", {"prefer": "labels"}), ("onnx", {})):
            try:
                path = Path(folder) / "tree.onnx"
                model = st.export_tree(tree, to, path if to == "onnx" else None, **given)
                answers[f"{to}, read again"] = digest(stored(st.as_tree(model)))
            except ValueError as error:
                answers[f"{to}, read again"] = refusal(error)
    return answers
