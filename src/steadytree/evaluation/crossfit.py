"""Honest scores: every row is predicted by trees grown without it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadytree.evaluation.folds import Fold
from steadytree.evaluation.predictions import Predictions
from steadytree.evaluation.scores import Score, score_rows, standard_error

__all__ = ["CrossFitted"]


@dataclass(frozen=True, eq=False)
class CrossFitted:
    """Predictions of every candidate for the new rows, each row by trees grown without it."""

    y: NDArray[Any]
    classifier: bool
    folds: list[Fold]
    predictions: dict[str, Predictions]
    groups: NDArray[Any] | None = None

    def fold_score(self, name: str, fold: int) -> Score:
        """Score of a candidate on the rows of one fold."""
        rows = self.folds[fold][1]
        value = self.predictions[name].value[rows]
        return score_rows(self.y[rows], value, classifier=self.classifier)

    def score(self, name: str, leave_out: int | None = None) -> Score:
        """Mean score over the folds (weighted by rows), optionally without one of them."""
        used = [f for f in range(len(self.folds)) if f != leave_out]
        parts = [(f, self.fold_score(name, f)) for f in used]
        parts = [(f, part) for f, part in parts if not np.isnan(part.value)]
        influence = np.zeros(len(self.y))
        total = sum(len(self.folds[f][1]) for f, _ in parts)
        if not total:
            return Score(float("nan"), influence)
        value = 0.0
        for f, part in parts:
            rows = self.folds[f][1]
            share = len(rows) / total
            value += share * part.value
            influence[rows] += share * part.influence
        return Score(value, influence)

    def error(self, score: Score) -> float:
        """Compute the standard error of a score or of a difference of scores."""
        if np.isnan(score.value):
            return float("nan")
        return standard_error(score.influence, self.groups)
