"""What the report shows of a stable tree: the choice among its candidates."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd

from steadytree._views import CandidateTrees, ReportContent
from steadytree.core.words import PAGE
from steadytree.diff import diff_trees

__all__ = ["stable_content"]

_HOW = (
    "on rows held out from growing. The score that a tree is chosen by flatters it; the "
    "headline's estimate is of the choosing as a whole, on folds it was not made on"
)


def stable_content(model: Any) -> ReportContent:
    """Return what the report shows of a fitted stable tree."""
    trees, results = list(model.candidates_), model.results_
    best, space = int(model.best_index_), model.feature_space_
    chosen = trees[best]
    settings = [column for column in results if column.startswith("param_")]
    records = [
        {
            "name": f"Candidate {i + 1}",
            "distance": float(row["mean_distance"]),
            "score": float(row["selection_score"]),
            "score_se": float(row["selection_score_se"]),
            "on_frontier": bool(row["on_frontier"]),
            "chosen": i == best,
            "settings": ", ".join(
                f"{name.removeprefix('param_')} {row[name]}" for name in settings
            ),
        }
        for i, row in enumerate(results.to_dict("records"))
    ]
    return ReportContent(
        kind="stable",
        title="A stable decision tree",
        names=("", "Chosen tree"),
        diff=diff_trees(chosen, chosen, space=space),
        single=True,
        sentences=(
            f"One tree was chosen among {len(trees):,} candidates; "
            f"{results['on_frontier'].sum():,} of them offer a trade-off that no other one beats.",
        ),
        facts=(
            _steadiness(results.iloc[best]),
            _honest_score(model),
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


def _steadiness(chosen: pd.Series) -> tuple[str, str, str]:
    """How far the chosen tree is from the first collection."""
    detail = f"to the trees of the first collection; distance {chosen['mean_distance']:.2f}"
    return "Mean dissimilarity", PAGE.percent(float(chosen["mean_dissimilarity"])), detail


def _honest_score(model: Any) -> tuple[str, str, str]:
    """Score of the choosing as a whole where it was estimated, else the one chosen by."""
    estimate, error = model.score_estimate_, model.score_estimate_se_
    chosen_by = f"{model.selection_score_:.3f}"
    if not math.isfinite(estimate):
        return "Score", chosen_by, "on the rows used for choosing: it flatters"
    spread = f", standard error {error:.3f}" if math.isfinite(error) else ""
    return "Score", f"{estimate:.3f}", f"estimate{spread}; chosen by {chosen_by}"
