"""Old tree against new on the same rows: discrimination, decisions and calibration, by subgroup.

Intervals: Wilson for proportions, DeLong for the AUC, the normal approximation for means
and for every paired difference. Cells with few rows are masked, so that a table can be
shown without pointing at single people.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import norm

from steadytree.evaluation.scores import (
    Predictions,
    Score,
    r2_influence,
    score_rows,
    standard_error,
    wilson,
)

__all__ = ["performance_table"]

FloatArray = NDArray[np.float64]


def performance_table(
    y: NDArray[Any],
    old: Predictions,
    new: Predictions,
    *,
    classes: tuple[Any, ...] | None,
    groups: NDArray[Any] | None,
    parts: list[tuple[Any, NDArray[np.intp]]],
    min_cell: int,
    level: float,
) -> pd.DataFrame:
    """Measures of both models in each part of the rows, one line per measure."""
    z = float(norm.ppf(0.5 + level / 2))
    records = []
    for name, rows in parts:
        cluster = None if groups is None else groups[rows]
        for measure in _measures(y[rows], old.take(rows), new.take(rows), classes):
            masked = measure.n < min_cell
            change = measure.new.minus(measure.old)
            half = z * standard_error(change.influence, cluster)
            record: dict[str, Any] = {"group": name, "metric": measure.name, "n": measure.n}
            for side, score in (("old", measure.old), ("new", measure.new)):
                low, high = _interval(measure, score, cluster, z, level)
                record |= {side: score.value, f"{side}_low": low, f"{side}_high": high}
            record |= {
                "change": change.value,
                "change_low": change.value - half,
                "change_high": change.value + half,
            }
            if masked:
                record |= {k: np.nan for k in record if k not in ("group", "metric", "n")}
            kind = measure.interval
            if cluster is not None:  # Wilson's interval knows no clusters
                kind = "clustered DeLong" if kind == "DeLong" else "clustered normal"
            record |= {"interval": kind, "masked": masked}
            records.append(record)
    return pd.DataFrame(records).set_index(["group", "metric"])


@dataclass(frozen=True)
class _Measure:
    name: str
    n: int  # rows it rests on: its denominator
    old: Score
    new: Score
    interval: str


def _interval(
    measure: _Measure, score: Score, cluster: NDArray[Any] | None, z: float, level: float
) -> tuple[float, float]:
    if measure.interval == "Wilson" and cluster is None:
        return wilson(score.value * measure.n, measure.n, level)
    half = z * standard_error(score.influence, cluster)
    low, high = score.value - half, score.value + half
    if measure.interval in ("Wilson", "DeLong"):
        return max(0.0, low), min(1.0, high)
    return low, high


def _mean(values: FloatArray, rows: NDArray[np.bool_]) -> Score:
    """Mean over some rows, as a score."""
    n = int(rows.sum())
    influence = np.zeros(values.size)
    if n == 0:
        return Score(float("nan"), influence)
    value = float(values[rows].mean())
    influence[rows] = (values[rows] - value) / n
    return Score(value, influence)


def _measures(
    y: NDArray[Any], old: Predictions, new: Predictions, classes: tuple[Any, ...] | None
) -> Iterator[_Measure]:
    n, everyone = len(y), np.ones(len(y), dtype=bool)

    def pair(name: str, interval: str, of: Callable[[Predictions], tuple[Score, int]]) -> _Measure:
        (a, n_a), (b, n_b) = of(old), of(new)
        return _Measure(name, min(n_a, n_b), a, b, interval)

    if classes is None:
        truth = np.asarray(y, dtype=np.float64)
        yield pair("R2", "normal", lambda p: (r2_influence(truth, p.value[:, 0]), n))
        for name, error in (
            ("mean absolute error", lambda p: np.abs(p.value[:, 0] - truth)),
            ("mean error", lambda p: p.value[:, 0] - truth),
        ):
            yield pair(name, "normal", lambda p, error=error: (_mean(error(p), everyone), n))  # type: ignore[misc]
        return
    smallest = int(min((np.sum(y == k) for k in range(len(classes))), default=0))
    yield pair("AUC", "DeLong", lambda p: (score_rows(y, p.value, classifier=True), smallest))
    yield pair(
        "accuracy", "Wilson", lambda p: (_mean((p.label == y).astype(np.float64), everyone), n)
    )
    if len(classes) == 2:
        yield from _binary_measures(y, pair)
    one_hot = np.eye(len(classes))[y]
    columns = [1] if len(classes) == 2 else list(range(len(classes)))
    yield pair(
        "Brier score",
        "normal",
        lambda p: (_mean(((p.value - one_hot)[:, columns] ** 2).sum(axis=1), everyone), n),
    )


def _binary_measures(y: NDArray[Any], pair: Callable[..., _Measure]) -> Iterator[_Measure]:
    positive, everyone = y == 1, np.ones(len(y), dtype=bool)

    def among(rows: NDArray[np.bool_], hit: NDArray[np.bool_]) -> tuple[Score, int]:
        return _mean(hit.astype(np.float64), rows), int(rows.sum())

    yield pair("sensitivity", "Wilson", lambda p: among(positive, p.label == 1))
    yield pair("specificity", "Wilson", lambda p: among(~positive, p.label == 0))
    yield pair("positive predictive value", "Wilson", lambda p: among(p.label == 1, positive))
    yield pair("negative predictive value", "Wilson", lambda p: among(p.label == 0, ~positive))
    yield pair("flagged positive", "Wilson", lambda p: among(everyone, p.label == 1))
    # Above 0: the model predicts more events than happen.
    yield pair(
        "calibration: mean predicted minus observed",
        "normal",
        lambda p: (_mean(p.value[:, 1] - positive, everyone), len(y)),
    )
