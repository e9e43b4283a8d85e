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

from steadytree.core.space import FeatureSpace
from steadytree.core.tree import Tree
from steadytree.diff.directions import space_with_turned
from steadytree.distance import pairwise_tree_distances
from steadytree.evaluation.cross_fitting import CrossFitted
from steadytree.evaluation.performance import measure_score
from steadytree.exceptions import ClippedThresholdWarning
from steadytree.retraining.evidence import ORDER, least_confirmed_change
from steadytree.selection import pareto_mask

__all__ = ["CandidateTree", "build_frontier", "choose"]


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
