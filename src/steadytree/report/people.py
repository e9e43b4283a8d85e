"""Whom a retraining affects: changed decisions and performance, in total and by subgroup."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from steadytree.core.format import plain_json
from steadytree.core.words import PAGE, clean, rounded_share
from steadytree.evaluation.flips import MOVES
from steadytree.retraining import Retraining

__all__ = ["happened_data", "people_data"]

# What each measure is called on the page, what it means, and how it is written. Of two classes
# the measures of the positive one, called {it}, name it.
MEASURES = {
    "AUC": ("AUC", "how well {it} is told apart from the rest", "number"),
    "accuracy": ("Accuracy", "decisions that are right", "share"),
    "balanced accuracy": (
        "Balanced accuracy",
        "decisions that are right, each outcome counted alike",
        "share",
    ),
    "sensitivity": ("Sensitivity for {it}", "of those who are {it}, how many are flagged", "share"),
    "specificity": (
        "Specificity for {it}",
        "of those who are not {it}, how many are not flagged",
        "share",
    ),
    "positive predictive value": (
        "Positive predictive value for {it}",
        "of those flagged, how many are {it}",
        "share",
    ),
    "negative predictive value": (
        "Negative predictive value for {it}",
        "of those not flagged, how many are not {it}",
        "share",
    ),
    "flagged positive": ("Flagged as {it}", "of all people, how many are flagged", "share"),
    "calibration: mean predicted minus observed": (
        "Calibration in the large",
        "mean predicted risk of {it} minus observed rate; 0 is best",
        "signed share",
    ),
    "Brier score": (
        "Brier score",
        "mean squared error of the risk of {it}; lower is better",
        "number",
    ),
    "R2": ("R²", "share of the variation explained", "number"),
    "mean absolute error": ("Mean absolute error", "lower is better", "plain"),
    "mean error": ("Mean error", "predicted minus observed; 0 is best", "plain"),
}

# Points of risk that people are counted by, and the name of their column.
_POINTS = {key.removeprefix("moved_"): key for key in MOVES}

By = Sequence[str] | Mapping[str, Any]


def people_data(result: Retraining, *, subgroups: By, level: float) -> dict[str, Any]:
    """Return changed decisions and performance as plain data."""
    performance = result.performance(level=level)
    named = subgroups if isinstance(subgroups, Mapping) else {str(by): by for by in subgroups}
    n = len(result.rows)
    moved = result.risk_moved()
    return {
        "level": level,
        "flips": happened_data(result.flips(), n),
        "moved": {points: happened_data(moved[key], n) for points, key in _POINTS.items()},
        "columns": {str(k): clean(v) for k, v in performance.attrs["columns"].items()},
        "performance": _measures(result, performance.reset_index()),
        "subgroups": [_subgroup(result, str(name), by, level=level) for name, by in named.items()],
    }


def happened_data(share: float, n: int) -> dict[str, Any]:
    """Count and share of the rows that something happens to."""
    return {"n": n, "count": round(share * n), "share": rounded_share(share, 4)}


def _measures(result: Retraining, table: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the measures of one group, the positive class of two named."""
    classes, positive = result.tree.classes or (), "each class"
    if len(classes) == 2:
        positive = PAGE.name(classes[result.tree.decision.position])
    return [_measure(row, positive) for row in table.to_dict("records")]


def _measure(row: Mapping[Any, Any], positive: str) -> dict[str, Any]:
    texts = MEASURES.get(str(row["metric"]), (str(row["metric"]), "", "number"))
    title, meaning, kind = (text.replace("{it}", positive) for text in texts)
    out: dict[str, Any] = {"name": title, "meaning": meaning, "kind": kind}
    digits = 3 if kind in ("share", "signed share") or row["metric"] == "AUC" else 4

    def short(key: str) -> float | None:
        value = plain_json(row[key])
        return None if value is None else round(value, digits)

    for side, column in (("old", "deployed"), ("new", "recipe"), ("change", "change")):
        out[side] = [short(key) for key in (column, f"{column}_low", f"{column}_high")]
    out["own"] = short("own")
    out["n"] = int(row["n"])
    return out


def _subgroup(result: Retraining, name: str, by: Any, *, level: float) -> dict[str, Any]:
    flips = result.flips(by, level=level)
    table = result.performance(by, level=level).reset_index()
    measures = [_measures(result, rows) for _, rows in table.groupby("group", sort=False)]
    return {
        "name": clean(name),
        "groups": [
            {
                "name": clean(group),
                "n": int(row["n"]),
                "flips": {
                    "share": rounded_share(row["flips"], 3),
                    "low": plain_json(row["low"], 3),
                    "high": plain_json(row["high"], 3),
                },
                "moved": {p: {"share": rounded_share(row[key], 3)} for p, key in _POINTS.items()},
                "measures": measures[i],
            }
            for i, (group, row) in enumerate(flips.iterrows())
        ],
    }
