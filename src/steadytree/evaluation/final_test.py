"""A final test: trees scored on rows that nothing was trained or chosen on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from steadytree.core.decision import Decision
from steadytree.core.tree import Tree
from steadytree.evaluation.flips import flipped
from steadytree.evaluation.intervals import quantile
from steadytree.evaluation.measures import area_of, mean_cost, recall_of, squared_errors
from steadytree.evaluation.scores import (
    Predictions,
    Score,
    mean_score,
    predict_rows,
    r2_score,
    standard_error,
)

__all__ = ["score_on_test"]


def score_on_test(
    trees: Mapping[str, Tree],
    coded: NDArray[np.float64],
    y: NDArray[Any],
    decision: Decision,
    *,
    span: float | None,
    groups: NDArray[Any] | None = None,
) -> pd.DataFrame:
    """One row per tree; changes are against the first one, paired.

    Parameters
    ----------
    trees : mapping of str to Tree
        The deployed tree first.
    coded, y : arrays
        The test rows in the space's codes; positions in the classes, or responses.
    decision : Decision
        The policy that decisions cost by.
    span : float or None
        Response range of a regression.
    groups : array, optional
        Rows of one group count as one observation.

    Returns
    -------
    DataFrame
        Columns: ``n``, ``events`` (rows outside the largest class; None for a response),
        ``score`` (AUC or R²), ``score_se``, ``score_change`` with its 95 % interval
        ``change_low`` and ``change_high``, ``flips``, and for classes ``brier``, ``cost`` and
        (two classes) ``sensitivity`` and ``specificity``.
    """
    predicted = {name: predict_rows(tree, coded) for name, tree in trees.items()}
    base = next(iter(predicted))
    classifier = span is None
    first = _score(predicted[base], y, classifier)
    rows = []
    for name, each in predicted.items():
        score = _score(each, y, classifier)
        change = score.minus(first)
        half = quantile(0.95) * standard_error(change.influence, groups)
        row: dict[str, Any] = {
            "tree": name,
            "n": len(y),
            "events": len(y) - int(np.bincount(y).max()) if classifier else None,
            "score": score.value,
            "score_se": standard_error(score.influence, groups),
            "score_change": change.value,
            "change_low": change.value - half,
            "change_high": change.value + half,
            "flips": float(flipped(predicted[base], each, span).mean()),
        }
        if classifier:
            row["brier"] = squared_errors(each, y).value
            row["cost"] = mean_cost(decision)(each, y).value
        if classifier and each.value.shape[1] == 2:
            row["sensitivity"] = recall_of(decision.position)(each, y).value
            row["specificity"] = recall_of(1 - decision.position)(each, y).value
        rows.append(row)
    return pd.DataFrame(rows).set_index("tree")


def _score(predicted: Predictions, y: NDArray[Any], classifier: bool) -> Score:
    if not classifier:
        return r2_score(squared_errors(predicted, y).score(), y)
    k = predicted.value.shape[1]
    areas = [area_of(column)(predicted, y).score() for column in ([1] if k == 2 else range(k))]
    return areas[0] if len(areas) == 1 else mean_score(areas, len(y))
