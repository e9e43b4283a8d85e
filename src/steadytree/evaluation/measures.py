"""What a prediction of a row is worth, row by row: the means that every score is made of.

A measure takes predictions and outcomes of some rows and returns
:class:`~steadytree.evaluation.scores.Parts`. Whatever is printed (sensitivity, R², predictive
values) is one of these means or a smooth function of several.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadytree.core.decision import Decision
from steadytree.evaluation.scores import Parts, Predictions, auc_parts, mean_parts

__all__ = [
    "Measure",
    "PerRow",
    "absolute_errors",
    "area_of",
    "decision_costs",
    "errors",
    "flagged",
    "losses",
    "mean_cost",
    "recall_of",
    "share_errors",
    "squared_errors",
]

Measure = Callable[[Predictions, NDArray[Any]], Parts]
PerRow = Callable[[Predictions, NDArray[Any]], NDArray[np.float64]]


def area_of(column: int) -> Measure:
    """Area under the ROC curve of one class against the rest."""

    def area(predicted: Predictions, y: NDArray[Any]) -> Parts:
        return auc_parts(y == column, *predicted.ranks(column))

    return area


def recall_of(column: int) -> Measure:
    """Share of the rows of a class that are decided so: sensitivity, specificity."""

    def recall(predicted: Predictions, y: NDArray[Any]) -> Parts:
        return mean_parts(predicted.label == column, y == column)

    return recall


def flagged(column: int) -> Measure:
    """Share of all rows that are decided so."""

    def share(predicted: Predictions, y: NDArray[Any]) -> Parts:
        return mean_parts(predicted.label == column, _everyone(y))

    return share


def share_errors(column: int) -> Measure:
    """Mean predicted share of a class minus its rate: above 0, more is predicted than happens."""

    def error(predicted: Predictions, y: NDArray[Any]) -> Parts:
        return mean_parts(predicted.value[:, column] - (y == column), _everyone(y))

    return error


def losses(predicted: Predictions, y: NDArray[Any]) -> NDArray[np.float64]:
    """Squared error of each row: of the response, or of the shares (of two classes, one's)."""
    k = predicted.value.shape[1]
    if k == 1:
        return np.asarray((predicted.value[:, 0] - y) ** 2)
    columns = [1] if k == 2 else list(range(k))
    errors = predicted.value[:, columns] - (y[:, None] == np.array(columns))
    return np.asarray((errors**2).sum(axis=1))


def decision_costs(decision: Decision) -> PerRow:
    """Cost of each row's decision under a policy: 0 where it is right.

    A threshold t balances a false positive of cost t with a false negative of cost 1 - t;
    class weights are what mistaking a class costs.
    """

    def costs(predicted: Predictions, y: NDArray[Any]) -> NDArray[np.float64]:
        k = predicted.value.shape[1]
        weight = np.ones(k) if decision.class_weight is None else np.array(decision.class_weight)
        if decision.threshold is not None:
            weight = np.full(k, decision.threshold)
            weight[decision.position] = 1 - decision.threshold
        return np.asarray(np.where(predicted.label == y, 0.0, weight[y]))

    return costs


def mean_cost(decision: Decision) -> Measure:
    """Mean cost of the decisions under a policy."""
    costs = decision_costs(decision)

    def cost(predicted: Predictions, y: NDArray[Any]) -> Parts:
        return mean_parts(costs(predicted, y), _everyone(y))

    return cost


def squared_errors(predicted: Predictions, y: NDArray[Any]) -> Parts:
    """Mean squared error; of shares it is the Brier score."""
    return mean_parts(losses(predicted, y), _everyone(y))


def absolute_errors(predicted: Predictions, y: NDArray[Any]) -> Parts:
    """Mean absolute error of a response."""
    return mean_parts(np.abs(predicted.value[:, 0] - y), _everyone(y))


def errors(predicted: Predictions, y: NDArray[Any]) -> Parts:
    """Mean error of a response, predicted minus observed."""
    return mean_parts(predicted.value[:, 0] - y, _everyone(y))


def _everyone(y: NDArray[Any]) -> NDArray[np.bool_]:
    return np.ones(len(y), dtype=bool)
