"""What the report shows of a stable tree: the choice among its candidates."""

from __future__ import annotations

import math
from typing import Any

from steadytree._views import CandidateTrees, ReportContent
from steadytree.core.words import PAGE
from steadytree.diff import diff_trees
from steadytree.readers import as_tree

__all__ = ["stable_content"]

_HOW = (
    "on rows held out from growing. The score that a tree is chosen by flatters it; the "
    "headline's estimate is of the choosing as a whole, on folds it was not made on"
)


def stable_content(model: Any) -> ReportContent:
    """Return what the report shows of a fitted stable tree."""
    trees = [as_tree(candidate) for candidate in model.candidates_]
    best, space, frontier = int(model.best_index_), model.feature_space_, model.pareto_mask_
    chosen = trees[best]
    settings = _candidate_settings(model, len(trees))
    results = getattr(model, "results_", None)
    errors = [math.nan] * len(trees)
    if results is not None and "selection_score_se" in results:
        errors = [float(v) for v in results["selection_score_se"]]
    records = [
        {
            "name": f"Candidate {i + 1}",
            "distance": float(model.mean_distances_[i]),
            "score": float(model.scores_[i]),
            "score_se": errors[i],
            "on_frontier": bool(frontier[i]),
            "chosen": i == best,
            "settings": settings[i],
        }
        for i in range(len(trees))
    ]
    return ReportContent(
        kind="stable",
        title="A stable decision tree",
        names=("", "Chosen tree"),
        diff=diff_trees(chosen, chosen, space=space),
        single=True,
        sentences=(
            f"One tree was chosen among {len(trees):,} candidates; "
            f"{int(sum(frontier)):,} of them offer a trade-off that no other one beats.",
        ),
        facts=(
            _steadiness(model, best),
            _honest_score(model, float(model.scores_[best])),
            ("Rules", str(chosen.n_leaves), f"depth {chosen.depth}"),
        ),
        candidates=CandidateTrees(
            records=records,
            trees=trees,
            base_name="the chosen tree",
            distance_name="Mean distance to the first collection of trees",
            score_name="Score used for choosing",
            objectives="a smaller distance and a better score",
        ),
        provenance=(
            ("Chosen tree", chosen),
            ("How the score was estimated", _HOW),
            ("Feature space", space),
        ),
        settings=model.get_params(deep=False),
    )


def _steadiness(model: Any, best: int) -> tuple[str, str, str]:
    """How far the chosen tree is from the first collection, in per cent where known."""
    distance = f"{float(model.mean_distances_[best]):.2f}"
    results = getattr(model, "results_", None)
    if results is None or "mean_dissimilarity" not in results:
        return "Mean distance", distance, "to the trees of the first collection"
    share = float(results["mean_dissimilarity"].iloc[best])
    detail = f"to the trees of the first collection; distance {distance}"
    return "Mean dissimilarity", PAGE.percent(share), detail


def _honest_score(model: Any, chosen_by: float) -> tuple[str, str, str]:
    """Score of the choosing as a whole where it was estimated, else the one chosen by."""
    estimate = float(getattr(model, "score_estimate_", math.nan))
    error = float(getattr(model, "score_estimate_se_", math.nan))
    if not math.isfinite(estimate):
        return "Score", f"{chosen_by:.3f}", "on the rows used for choosing: it flatters"
    spread = f", standard error {error:.3f}" if math.isfinite(error) else ""
    return "Score", f"{estimate:.3f}", f"estimate{spread}; chosen by {chosen_by:.3f}"


def _candidate_settings(model: Any, count: int) -> list[str]:
    """Hyper-parameters of each candidate, where the results list them."""
    results = getattr(model, "results_", None)
    columns = [
        c for c in getattr(results, "columns", []) if str(c).startswith("param_") or c == "params"
    ]
    if results is None or not columns or len(results) != count:
        return [""] * count
    out = []
    for record in results[columns].to_dict("records"):
        whole = record.get("params")
        pairs = (
            whole.items()
            if isinstance(whole, dict)
            else ((str(k).removeprefix("param_"), v) for k, v in record.items())
        )
        out.append(", ".join(f"{k} {v}" for k, v in pairs))
    return out
