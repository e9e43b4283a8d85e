"""The table of candidates between "keep" and "from scratch", and how one is chosen.

A price is an exchange rate between predictive loss and change, fixed before the scores are
seen, so that choosing costs nothing. Rules that look at rows left out (the default does, to
confirm what the price buys) flatter the candidate they choose; how much is measured by choosing
without a fold and scoring on it.
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
from steadytree.exceptions import ClippedThresholdWarning, InputError
from steadytree.retraining.evidence import EVIDENCE, least_confirmed_change
from steadytree.retraining.limits import Limits
from steadytree.selection import apply_rule, pareto_mask

__all__ = ["CandidateTree", "Rule", "build_frontier", "choose", "selection_cost"]

Rule = str | Limits | Callable[[pd.DataFrame], Any] | None
"""None: by the price alone. Else a rule that looks at the scores."""


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
    select: Rule,
    *,
    price: float,
    tolerance: float,
    scores: CrossFitted,
    leave_out: int | None = None,
) -> str:
    """Name of the candidate that a rule chooses, of those that keep what is locked.

    ``leave_out`` is a fold that the scores of ``frontier`` were taken without.
    """
    if select is None:
        return str(frontier.index[frontier["price"] == price][0])
    if callable(select):
        return _checked(select(frontier), frontier)
    frontier = frontier[frontier["keeps_locks"]]
    if select == EVIDENCE:
        return least_confirmed_change(frontier, price, scores, leave_out)
    if not scores.folds:
        asked = select.words() if isinstance(select, Limits) else f"select={select!r}"
        raise InputError(
            f"expected scores to choose by {asked}, got none: the new rows are too few "
            "to cross-fit; choose by price instead (select=None)"
        )
    if isinstance(select, Limits):
        return _within_limits(frontier, select, scores, leave_out)
    return _by_rule(frontier, select, tolerance, scores, leave_out)


def _by_rule(
    frontier: pd.DataFrame,
    rule: str,
    tolerance: float,
    scores: CrossFitted,
    leave_out: int | None,
) -> str:
    """Choose by a named rule, for which change is the dissimilarity to the deployed tree."""
    top = scores.score(str(frontier["score"].idxmax()), leave_out)
    gaps = [scores.error(top.minus(scores.score(str(n), leave_out))) for n in frontier.index]
    table = frontier.assign(
        distance=frontier["dissimilarity"], score_gap_se=gaps, eligible=frontier["score"].notna()
    )
    return str(frontier.index[apply_rule(rule, table, tolerance=tolerance)])


def _within_limits(
    frontier: pd.DataFrame, limits: Limits, scores: CrossFitted, leave_out: int | None
) -> str:
    """Choose the least change that gains enough; without such a demand, make the best of it.

    The best of it is the least change within one paired standard error of the best score
    that the limits allow: a change that cannot be told from a smaller one is not made.
    """
    inside = frontier[limits.held(frontier) & limits.reached(frontier)]
    if inside.empty:
        return "keep"
    rule = "one_se" if limits.min_gain is None else "distance"
    return _by_rule(inside, rule, 0.0, scores, leave_out)


def _checked(choice: Any, frontier: pd.DataFrame) -> str:
    whole = isinstance(choice, (int, np.integer)) and not isinstance(choice, bool)
    if whole and 0 <= int(choice) < len(frontier):
        choice = str(frontier.index[int(choice)])
    if not isinstance(choice, str) or choice not in frontier.index:
        raise InputError(
            "expected select to return a candidate's name or a row number below "
            f"{len(frontier)}, got {choice!r}; names are {list(frontier.index)}"
        )
    if not frontier["keeps_locks"][choice]:
        raise InputError(
            f"expected select to return a candidate that keeps what is locked, got {choice!r}; "
            'choose from frontier[frontier["keeps_locks"]]'
        )
    return choice


def selection_cost(
    frontier: pd.DataFrame,
    chosen: str,
    select: Rule,
    *,
    price: float,
    tolerance: float,
    scores: CrossFitted,
    settle: Callable[[str, int], str],
) -> float:
    """Score of the chosen candidate minus that of the procedure that chose it.

    For each fold the choice is repeated as if the fold's rows had not come, and what it picks
    (and ``settle`` makes of it) is scored on them, beside the candidate chosen with them.
    """
    if select is None:
        return 0.0
    if len(scores.folds) < 3:
        return float("nan")
    total, weight = 0.0, 0
    for fold in range(len(scores.folds)):
        every = [scores.score(str(name), fold) for name in frontier.index]
        keep = scores.score("keep", fold)
        columns = [
            {
                "score": score.value,
                "score_se": scores.error(score),
                "score_change": score.minus(keep).value,
                "score_change_se": scores.error(score.minus(keep)),
            }
            for score in every
        ]
        without = frontier.assign(**pd.DataFrame(columns, index=frontier.index))
        picked = choose(
            without, select, price=price, tolerance=tolerance, scores=scores, leave_out=fold
        )
        picked = settle(picked, fold)
        flattery = scores.fold_gain(chosen, fold) - scores.fold_gain(picked, fold)
        if not np.isnan(flattery):
            rows = len(scores.folds[fold][1])
            total, weight = total + rows * flattery, weight + rows
    return total / weight if weight else float("nan")
