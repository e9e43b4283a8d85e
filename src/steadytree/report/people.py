"""Whom a retraining affects: changed decisions and performance, in total and by subgroup."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from steadytree.core.cells import Cell, measure, people
from steadytree.core.cells import group as group_cell
from steadytree.core.words import PAGE, clean
from steadytree.evaluation.flips import MOVES
from steadytree.retraining import Retraining

__all__ = ["people_data", "without_ends"]

SCORES = ("AUC", "R2")
_INTERVAL = re.compile(r"[(\[](?P<low>[^,]+), (?P<high>[^\])]+)[\])]")

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
        "flips": people(result.flips() * n, n),
        "moved": {points: people(moved[key] * n, n) for points, key in _POINTS.items()},
        "columns": {str(k): clean(v) for k, v in performance.attrs["columns"].items()},
        "performance": _measures(result, performance.reset_index()),
        "subgroups": [_subgroup(result, str(name), by, level=level) for name, by in named.items()],
    }


def _measures(result: Retraining, table: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the measures of one group, the positive class of two named."""
    classes, positive = result.tree.classes or (), "each class"
    if len(classes) == 2:
        positive = PAGE.name(classes[result.tree.decision.position])
    return [_measure(row, positive) for row in table.to_dict("records")]


def _measure(row: Mapping[Any, Any], positive: str) -> dict[str, Any]:
    metric, n = str(row["metric"]), int(row["n"])
    texts = MEASURES.get(metric, (metric, "", "number"))
    title, meaning, kind = (text.replace("{it}", positive) for text in texts)

    def cell(column: str, *, ends: bool = True, change: bool = False) -> Cell:
        limits = (row[f"{column}_low"], row[f"{column}_high"]) if ends else (math.nan, math.nan)
        return measure(row[column], *limits, kind=kind, of=n, change=change, score=metric in SCORES)

    return {
        "name": title,
        "meaning": meaning,
        "old": cell("deployed"),
        "new": cell("recipe"),
        "change": cell("change", change=True),
        # The score on rows that a tree was trained on has no interval: it estimates nothing.
        "own": cell("own", ends=False),
        "n": people(n),
    }


def _subgroup(result: Retraining, name: str, by: Any, *, level: float) -> dict[str, Any]:
    flips = result.flips(by, level=level)
    table = result.performance(by, level=level).reset_index()
    inner = without_ends([str(group) for group in flips.index])
    measures = [_measures(result, rows) for _, rows in table.groupby("group", sort=False)]
    return {
        "name": clean(name),
        "groups": [
            {
                "group": group_cell(clean(group), clean(name), int(row["n"])),
                "n": people(row["n"]),
                "flips": measure(
                    *(row["flips"], row["low"], row["high"]), kind="share", of=int(row["n"])
                ),
                "moved": {
                    points: people(row[key] * row["n"], row["n"], "share")
                    for points, key in _POINTS.items()
                },
                "measures": measures[i],
            }
            for i, ((group, row), name) in enumerate(zip(flips.iterrows(), inner, strict=True))
        ],
    }


def without_ends(names: list[str]) -> list[str]:
    """Leave out the outer ends of quantile groups, which are single people's values."""
    found = [_INTERVAL.fullmatch(name) for name in names if name != "(missing)"]
    if len(found) < 2 or not all(found):
        return names
    out = []
    for i, match in enumerate(found):
        assert match is not None
        low, high = match["low"], match["high"]
        if i == 0:
            out.append(f"up to {high}")
        elif i == len(found) - 1:
            out.append(f"over {low}")
        else:
            out.append(f"over {low} to {high}")
    return out + (["(missing)"] if len(found) < len(names) else [])
