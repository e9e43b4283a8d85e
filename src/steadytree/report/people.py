"""Whom a retraining affects: changed decisions and performance, in total and by subgroup."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from steadytree.core.format import plain_json
from steadytree.core.words import clean, rounded_share
from steadytree.evaluation.flips import MOVES, ROUNDING
from steadytree.report.disclosure import PeopleCount, few, mask_partition
from steadytree.retraining import Retraining

__all__ = ["flips_data", "people_data"]

_INTERVAL = re.compile(r"[(\[](?P<low>[^,]+), (?P<high>[^\])]+)[\])]")

# What each measure is called on the page, what it means, and how it is written.
MEASURES = {
    "AUC": ("AUC", "how well people with and without the outcome are told apart", "number"),
    "accuracy": ("Accuracy", "decisions that are right", "share"),
    "balanced accuracy": (
        "Balanced accuracy",
        "decisions that are right, each outcome counted alike",
        "share",
    ),
    "sensitivity": ("Sensitivity", "people with the outcome who are flagged", "share"),
    "specificity": ("Specificity", "people without the outcome who are not flagged", "share"),
    "positive predictive value": (
        "Positive predictive value",
        "flagged people who have the outcome",
        "share",
    ),
    "negative predictive value": (
        "Negative predictive value",
        "people not flagged who do not have the outcome",
        "share",
    ),
    "flagged positive": ("Flagged", "people who are flagged", "share"),
    "calibration: mean predicted minus observed": (
        "Calibration in the large",
        "mean predicted risk minus observed rate; 0 is best",
        "signed share",
    ),
    "Brier score": ("Brier score", "mean squared error of the risk; lower is better", "number"),
    "R2": ("R²", "share of the variation explained", "number"),
    "mean absolute error": ("Mean absolute error", "lower is better", "plain"),
    "mean error": ("Mean error", "predicted minus observed; 0 is best", "plain"),
}

# Points of risk that people are counted by, and the name of their column.
_POINTS = {key.removeprefix("moved_"): key for key in MOVES}

By = Sequence[str] | Mapping[str, Any]


def people_data(
    result: Retraining, *, subgroups: By, min_cell: int, level: float
) -> dict[str, Any]:
    """Return changed decisions and performance as plain data, small cells masked."""
    performance = result.performance(min_cell=min_cell, level=level)
    table = performance.reset_index()
    named = subgroups if isinstance(subgroups, Mapping) else {str(by): by for by in subgroups}
    return {
        "level": level,
        "flips": flips_data(result.changed_decisions, min_cell),
        "moved": {
            points: flips_data(result.risk_moves > MOVES[key] + ROUNDING, min_cell)
            for points, key in _POINTS.items()
        },
        "columns": {str(k): clean(v) for k, v in performance.attrs["columns"].items()},
        "performance": [_measure(row) for row in table.to_dict("records")],
        "subgroups": [
            _subgroup(result, str(name), by, min_cell=min_cell, level=level)
            for name, by in named.items()
        ],
    }


def flips_data(changed: Any, min_cell: int) -> dict[str, Any]:
    """Count and share of the rows that something happens to; None where too few to show."""
    people = PeopleCount.of(np.sum(changed), len(changed), min_cell)
    return {
        "n": people.total,
        "count": people.count,
        "share": None if people.share is None else rounded_share(people.share, 4),
        "most": None if people.total is None else round(min_cell / people.total, 4),
        "masked": people.masked,
    }


def _measure(row: Mapping[Any, Any], *, masked: bool | None = None) -> dict[str, Any]:
    title, meaning, kind = MEASURES.get(str(row["metric"]), (str(row["metric"]), "", "number"))
    hidden = bool(row["masked"]) if masked is None else masked
    out: dict[str, Any] = {"name": title, "meaning": meaning, "kind": kind, "masked": hidden}
    digits = 3 if kind in ("share", "signed share") else 4

    def short(key: str) -> float | None:
        value = None if hidden else plain_json(row[key])
        if value is None or kind != "share" or key.startswith("change"):
            return None if value is None else round(value, digits)
        return rounded_share(value, digits)

    for side, column in (("old", "deployed"), ("new", "recipe"), ("change", "change")):
        out[side] = [short(key) for key in (column, f"{column}_low", f"{column}_high")]
    out["own"] = short("own")
    out["n"] = None if hidden else int(row["n"])
    return out


def _subgroup(
    result: Retraining, name: str, by: Any, *, min_cell: int, level: float
) -> dict[str, Any]:
    # Unmasked tables: what to mask depends on all groups together, and is decided here.
    flips = result.flips(by, min_cell=0, level=level).reset_index()
    table = result.performance(by, min_cell=0, level=level).reset_index()
    sizes = [float(n) for n in flips["n"]]
    hidden_groups = mask_partition(sizes, min_cell)
    happened = {
        name: _hidden_shares(flips[name], sizes, hidden_groups, min_cell)
        for name in ("flips", *MOVES)
    }
    names = _group_names([str(g) for g in flips["group"]])
    measures: list[list[dict[str, Any]]] = [[] for _ in names]
    for _, rows in table.groupby("metric", sort=False):
        counts = np.array([float(n) for n in rows["n"]])
        # A measure that nobody is behind is not a number, and nothing to hide.
        hidden = mask_partition(counts.tolist(), min_cell) | hidden_groups | (counts < 1)
        for i, row in enumerate(rows.to_dict("records")):
            measures[i].append(_measure(row, masked=bool(hidden[i])))
    return {
        "name": clean(name),
        "groups": [
            {
                "name": clean(names[i]),
                "n": None if hidden_groups[i] else int(sizes[i]),
                "flips": _group_flips(flips.iloc[i], happened["flips"][i]),
                "moved": {
                    points: _told_share(flips[f"moved_{points}"].iloc[i], happened[key][i])
                    for points, key in _POINTS.items()
                },
                "measures": measures[i],
            }
            for i in range(len(names))
        ],
    }


def _hidden_shares(
    shares: pd.Series[Any], sizes: list[float], hidden_groups: Any, min_cell: int
) -> list[bool]:
    """Say of which groups it is not told how many people something happens to."""
    hits = [
        round(float(share) * size) for share, size in zip(shares.fillna(0.0), sizes, strict=True)
    ]
    small = [
        bool(flag) or few(hit, min_cell) or few(size - hit, min_cell)
        for flag, hit, size in zip(hidden_groups, hits, sizes, strict=True)
    ]
    return mask_partition(hits, min_cell, primary=small).tolist() if any(small) else small


def _told_share(share: Any, masked: bool) -> dict[str, Any]:
    known = None if masked else plain_json(share)
    return {"share": None if known is None else rounded_share(known, 3), "masked": masked}


def _group_flips(row: pd.Series[Any], masked: bool) -> dict[str, Any]:
    return {
        **_told_share(row["flips"], masked),
        "low": None if masked else plain_json(row["low"], 3),
        "high": None if masked else plain_json(row["high"], 3),
    }


def _group_names(names: list[str]) -> list[str]:
    """Names of groups; the outer ends of quantile groups are single people's values."""
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
