"""The table of candidates between "keep" and "from scratch", and how one is chosen.

A price is an exchange rate between predictive loss and change, fixed before the scores are seen.
Rows left out then confirm what it buys, which flatters the candidate that is chosen; how much is
measured by choosing without a fold and scoring on it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from steadytree.diff.directions import space_with_turned
from steadytree.distance import pairwise_tree_distances
from steadytree.estimators.selection import pareto_mask
from steadytree.evaluation.cross_fitting import CrossFitted
from steadytree.evaluation.performance import measure_score
from steadytree.evaluation.scores import PerRow, Score, decision_costs, losses
from steadytree.exceptions import ClippedThresholdWarning
from steadytree.tree.space import FeatureSpace
from steadytree.tree.tree import Tree

# -- No evidence, no change: how to choose among the candidates on a path of prices --
# A price says what a change must be worth to the teacher. On few rows a teacher sees patterns in
# noise, so the tree at the asked price is proposed only as far as rows that were left out confirm
# it: proposed is the least change that predicts and decides not clearly worse than that tree.

ORDER = {"re-estimate": 0, "priced edits": 1}
"""Kinds of candidates on the path: re-estimated leaves change no rule and come before any edit."""


def least_confirmed_change(
    path: pd.DataFrame, scores: CrossFitted, leave_out: int | None = None
) -> str:
    """Name of the least change that is not clearly worse than the tree nearest the asked price.

    ``path`` are the candidates of the frontier that may be proposed, the lowest price nearest to
    the one asked for. Compared on rows left out: the score of the frontier (AUC, R²), the squared
    error of the predictions and the cost of the decisions; "clearly" is by more than one standard
    error of the paired difference. Where no row was left out there is no evidence, and only the
    leaves are estimated anew.
    """
    if not scores.folds:
        return "re-estimate" if "re-estimate" in path.index else "keep"
    asked = str(path["price"].idxmin())
    # Equal but for rounding is equal; dearer trees before cheaper ones.
    keys = zip(
        path["kind"].map(ORDER),
        path["dissimilarity"].round(12),
        -path["price"],
        path.index,
        strict=True,
    )
    for *_, name in sorted(keys):
        if not _clearly_worse(str(name), asked, scores, leave_out):
            return str(name)
    return asked


def _clearly_worse(name: str, asked: str, scores: CrossFitted, leave_out: int | None) -> bool:
    """Whether a candidate ranks, errs or decides clearly worse than another on rows left out."""
    lead = scores.score(asked, leave_out).minus(scores.score(name, leave_out))
    if lead.value > scores.error(lead):
        return True
    amounts: list[PerRow] = [losses]
    if scores.classifier:
        amounts.append(decision_costs(scores.own[asked].decision))
    for amount in amounts:
        excess = scores.left_out(name, amount) - scores.left_out(asked, amount)
        if leave_out is not None:
            excess[scores.folds[leave_out][1]] = np.nan
        known = ~np.isnan(excess)
        if not known.any():
            continue
        mean = float(excess[known].mean())
        influence = np.where(known, excess - mean, 0.0) / known.sum()
        if mean > scores.error(Score(mean, influence)):
            return True
    return False


# -- The table of candidates between "keep" and "from scratch", and how one is chosen --


@dataclass(frozen=True)
class CandidateTree:
    """A candidate as the table shows it."""

    name: str
    kind: str
    tree: Tree
    price: float = float("nan")
    edits: tuple[str, ...] = ()
    cross_fitted: bool = True
    keeps_locks: bool = True


def build_frontier(
    candidates: list[CandidateTree],
    deployed: Tree,
    space: FeatureSpace,
    scores: CrossFitted,
    flips: Mapping[str, Mapping[str, float]],
) -> pd.DataFrame:
    """One row per candidate; ``flips`` are whom each decides otherwise or sees otherwise."""
    trees = [item.tree for item in candidates]
    with warnings.catch_warnings():
        # Out of range on either side of the space is the same place.
        warnings.simplefilter("ignore", ClippedThresholdWarning)
        spaces = [space_with_turned(deployed, tree, space) for tree in trees]
        dissimilarities = _distances(
            deployed, trees, spaces, variant="metric", normalize="relative"
        )
        distances = _distances(deployed, trees, spaces)
    rows = []
    for i, item in enumerate(candidates):
        rows.append(
            {
                "candidate": item.name,
                "kind": item.kind,
                "price": item.price,
                "dissimilarity": float(dissimilarities[i]),
                "distance": float(distances[i]),
                **_score_columns(scores, item.name),
                "cross_fitted": item.cross_fitted,
                "keeps_locks": item.keeps_locks,
                **flips[item.name],
                "n_leaves": item.tree.n_leaves,
                "depth": item.tree.depth,
                "n_edits": len(item.edits),
                "edits": item.edits,
            }
        )
    table = pd.DataFrame(rows).set_index("candidate")
    # Hardly measurable differences of rounding must not decide who is on the frontier.
    points = table[["dissimilarity", "score"]].to_numpy().round(12)
    table["on_frontier"] = pareto_mask(points, [False, True])
    table["chosen"] = False
    return table


def _distances(
    deployed: Tree, trees: list[Tree], spaces: list[FeatureSpace], **options: Any
) -> NDArray[np.float64]:
    """Distance of each tree to the deployed one in its space: most have the same one."""
    found = np.empty(len(trees))
    for space in dict.fromkeys(spaces):
        at = [i for i, other in enumerate(spaces) if other == space]
        some = [trees[i] for i in at]
        found[at] = pairwise_tree_distances([deployed], some, space=space, **options)[0]
    return found


def _score_columns(scores: CrossFitted, name: str) -> dict[str, float]:
    """Columns that a performance table shows in its first line."""
    score = measure_score(scores, name)
    return {
        "score": score.estimate.recipe.value,
        "score_se": score.error(),
        "score_change": score.estimate.change.value,
        "score_change_se": score.change_error(),
    }


def choose(
    frontier: pd.DataFrame,
    price: float,
    scores: CrossFitted,
    *,
    allowed: Callable[[str], bool],
    by_price: bool,
    leave_out: int | None = None,
) -> str:
    """Name of the candidate that is proposed, of those on the path down to a price.

    Of the ``allowed`` ones the least change that is not clearly worse than the one nearest the
    price; ``by_price`` that one itself. "keep" where none is allowed. ``leave_out`` is a fold
    that the evidence goes without.
    """
    path = frontier[frontier["kind"].isin(list(ORDER)) & ~(frontier["price"] < price)]
    path = path[[allowed(str(name)) for name in path.index]]
    if path.empty:
        return "keep"
    if by_price:
        return str(path["price"].idxmin())
    return least_confirmed_change(path, scores, leave_out)
