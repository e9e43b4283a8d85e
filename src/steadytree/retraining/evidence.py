"""No evidence, no change: how to choose among the candidates on a path of prices.

A price says what a change must be worth to the teacher. On few rows a teacher sees patterns in
noise, so the tree at the asked price is proposed only as far as rows that were left out confirm
it: proposed is the least change that predicts and decides not clearly worse than that tree.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from steadytree.evaluation.cross_fitting import CrossFitted
from steadytree.evaluation.measures import PerRow, decision_costs, losses
from steadytree.evaluation.scores import Score

__all__ = ["ORDER", "least_confirmed_change"]

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
