"""A retraining as plain data: the one account that every text, page and document is drawn from.

Whoever writes a number about a retraining reads it here; nobody puts it together again.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from steadytree.diff.candidate_trees import add_candidate_trees
from steadytree.diff.diff_summary import affected_groups, diff_summary, moved_cells, rarest_rows
from steadytree.evaluation.plan_check import FEWEST_EVENTS
from steadytree.evaluation.scores import quantile
from steadytree.publish import names_for_others, rare_words
from steadytree.publish import publish as published
from steadytree.publish.cells import SUMMARY, Cell, change, measure, people, score
from steadytree.tree.json import plain_json
from steadytree.tree.printing import risk_name
from steadytree.tree.words import PLAIN, clean

if TYPE_CHECKING:
    from steadytree.retraining.result import Retraining

By = Sequence[str] | Mapping[str, Any]

SCORES = ("AUC", "R2")
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
_CANDIDATE = (
    *("kind", "price", "dissimilarity", "distance", "n_leaves", "depth", "edits"),
    *("keeps_locks", "cross_fitted", "on_frontier", "chosen"),
)


def summarise_retraining(
    result: Retraining,
    *,
    by: By = (),
    level: float = 0.95,
    publish: bool = False,
    candidate_trees: bool = False,
) -> dict[str, Any]:
    """Return everything about a retraining; see :meth:`steadytree.Retraining.to_dict`."""
    answer, settings, n = result.answer, result.settings, len(result.rows)
    alike, kind = result.one_decision, str(result.frontier["kind"][result.chosen])
    candidates, trees = _candidates(result), []
    if candidate_trees:
        every = [result.trees[name] for name in result.frontier.index]
        trees = add_candidate_trees(candidates, every, base=result.deployed, space=result.space)
    drawn = set[int]()
    if candidate_trees and not publish:
        drawn.update(*(tree["f"] for tree in trees))
    diff = diff_summary(names_for_others(result.diff) if publish else result.diff, drawn=drawn)
    summary = {
        **SUMMARY,
        "kind": "retraining",
        "published": False,
        "action": answer.action,
        "confidence": answer.confidence,
        # What the plan measured is for whoever has the data.
        "reason": answer.reason.partition(". ")[0] if publish else answer.reason,
        "refused": answer.refused or None,
        "rebuild_advised": answer.rebuild_advised,
        "nothing_new": settings["nothing_new"],
        "events": {"n": people(answer.events), "class": _rarer_class(result)},
        "gains": [_gain(result, name) for name in answer.gains],
        "forgone": _forgone(result),
        "chosen": result.chosen,
        "edits": [clean(words) for words in result.edits],
        "risk": risk_name(result.tree, PLAIN),
        **{key: getattr(result, key) for key in ("dissimilarity", "distance")},
        "affected": {
            "n": people(n),
            "flips": people(result.flips() * n, n),
            "moved": moved_cells(result.risk_moved(), n, "both"),
        },
        "performance": _performance(result, level),
        "groups": _groups(result, by, level),
        "test": _test(result),
        "plan": result.plan_check.to_dict(),
        **_warnings(result),
        "drift": None if result.drift is None else plain_json(vars(result.drift), 4),
        "learnt_from_new_rows": result.drift is not None
        and result.drift.detected
        and kind != "keep",
        "one_decision": "" if alike is None else alike.words("The tree"),
        "threshold_advised": None
        if alike is None or alike.threshold is None
        else alike.threshold_words,
        "changed_columns": [{"column": k, "why": v} for k, v in result.changed_columns.items()],
        "space_note": result.space_note or None,
        "notes": list(result.notes),
        "candidates": candidates,
        "candidate_trees": trees,
        "diff": diff,
        "data": {
            "columns": int(result.X_new.shape[1]),
            "searched_on_sample": settings["n_rows_structure"] < settings["n_rows_values"],
            "n_searched": people(int(settings["n_rows_structure"])),
            "n_counted": people(int(settings["n_rows_values"])),
        },
        "settings": {key: plain_json(settings[key]) for key in settings if key != "space"},
    }
    return published(summary, rare_words(result.diff)) if publish else summary


# -- the answer ------------------------------------------------------------------------


def _rarest(result: Retraining) -> int:
    return rarest_rows(result.y_new, classifier=result.deployed.is_classifier)


def _rarer_class(result: Retraining) -> Any:
    """Of two classes the one with fewer new rows, which scores rest on; else None."""
    classes = result.deployed.classes or ()
    if len(classes) != 2:
        return None
    return plain_json(classes[int(np.argmin(np.bincount(result.y_new, minlength=2)))])


def _gain(result: Retraining, name: str) -> dict[str, Any]:
    """One improvement over the deployed tree: how much, and whether that is clear."""
    gain, digits = result.answer.gains[name], 3 if name == "score" else 4
    direction = {1: "better", -1: "worse", 0: "unclear"}[gain.clear]
    return {
        "of": name,
        "gain": change(gain.value, *gain.interval, _rarest(result), digits),
        "direction": "unchanged" if gain.value == gain.error == 0 else direction,
    }


def _forgone(result: Retraining) -> dict[str, Any] | None:
    forgone, rarest, n = result.answer.forgone, _rarest(result), len(result.rows)
    if forgone is None:
        return None
    return {
        "name": forgone.name,
        "score": score(forgone.score, rarest),
        "lead": change(forgone.lead, math.nan, math.nan, rarest),
        "error": score(forgone.error, rarest),
        "clear": forgone.clear,
        "flips": people(forgone.flips * n, n, "share"),
        "keeps_locks": forgone.keeps_locks,
        "within_plan": forgone.within_plan,
    }


def _warnings(result: Retraining) -> dict[str, Any]:
    """Return what to beware of: measures that clearly fall, a ranking worse than chance."""
    classifier, deployed, falls = result.deployed.is_classifier, result.deployed, list[str]()
    if classifier and result.action != "keep" and result.settings["n_folds"]:
        table = result.performance().droplevel("group")
        named = ("sensitivity", "specificity") if "sensitivity" in table.index else ("accuracy",)
        falls = [m for m in named if m in table.index and float(table["change_high"][m]) < 0]
    error = float(result.frontier["score_se"]["keep"])
    removed = deployed.used_features & set(result.settings["forbidden"])
    return {
        "falls": falls,
        "worse_than_chance": classifier and result.deployed_score + quantile(0.95) * error < 0.5,
        "forbidden": [clean(result.space.feature_labels[j]) for j in sorted(removed)],
    }


def _candidates(result: Retraining) -> list[dict[str, Any]]:
    rarest, n = _rarest(result), len(result.rows)
    out = []
    for name, row in result.frontier.iterrows():
        plain = plain_json({key: row[key] for key in _CANDIDATE})
        plain["edits"] = [clean(words) for words in plain["edits"]]
        moved = (row["score_change"], row["score_change_se"])
        half = quantile(0.95) * moved[1]
        out.append(
            {
                "name": clean(name),
                **plain,
                "score": score(row["score"], rarest, row["score_se"]),
                "score_change": change(moved[0], moved[0] - half, moved[0] + half, rarest),
                "flips": people(row["flips"] * n, n, "share"),
                "moved": moved_cells(row, n),
                "parameters": "",
                "tree": None,
                "counts": None,
            }
        )
    return out


# -- whom it affects, in total and by subgroup ------------------------------------------


def _performance(result: Retraining, level: float) -> dict[str, Any]:
    table = result.performance(level=level)
    rarest = _rarest(result)
    return {
        "score": result.score_name,
        "deployed": score(result.deployed_score, rarest),
        "proposal": score(float(result.frontier["score"][result.chosen]), rarest),
        "level": level,
        "columns": {str(k): clean(v) for k, v in table.attrs["columns"].items()},
        "measures": _measures(result, table.reset_index()),
    }


def _measures(result: Retraining, table: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the measures of one group, the positive class of two named."""
    classes, positive = result.tree.classes or (), "each class"
    if len(classes) == 2:
        positive = clean(classes[result.tree.decision.position])
    return [_measure(row, positive) for row in table.to_dict("records")]


def _measure(row: Mapping[Any, Any], positive: str) -> dict[str, Any]:
    metric, n = str(row["metric"]), int(row["n"])
    texts = MEASURES.get(metric, (metric, "", "number"))
    title, meaning, kind = (text.replace("{it}", positive) for text in texts)

    def cell(column: str, *, ends: bool = True, change: bool = False) -> Cell:
        limits = (row[f"{column}_low"], row[f"{column}_high"]) if ends else (math.nan, math.nan)
        return measure(row[column], *limits, kind=kind, of=n, change=change, score=metric in SCORES)

    return {
        "metric": metric,
        "name": title,
        "meaning": meaning,
        "deployed": cell("deployed"),
        "recipe": cell("recipe"),
        "change": cell("change", change=True),
        # The score on rows that a tree was trained on has no interval: it estimates nothing.
        "own": cell("own", ends=False),
        "n": people(n),
    }


def _groups(result: Retraining, by: By, level: float) -> list[dict[str, Any]]:
    named = by if isinstance(by, Mapping) else {str(column): column for column in by}
    out = []
    for name, column in named.items():
        table = result.performance(column, level=level).reset_index()
        one = affected_groups(name, result.flips(column, level=level))
        for row, (_, rows) in zip(one["groups"], table.groupby("group", sort=False), strict=True):
            row["measures"] = _measures(result, rows)
        out.append(one)
    return out


# -- the final test ----------------------------------------------------------------------


_ON_TEST = ("sensitivity", "specificity", "brier", "cost")


def _test(result: Retraining) -> dict[str, Any] | None:
    """Return scores on rows that nothing was trained or chosen on."""
    table = result.test
    if table is None:
        return None
    n, events = int(table["n"].iloc[0]), table["events"].iloc[0]
    # Test rows outside the largest class; of a response all of them.
    rarest = n if events is None or math.isnan(events) else int(events)
    rows = []
    for name, row in table.iterrows():
        moved = (row["score_change"], row["change_low"], row["change_high"])
        rows.append(
            {
                "name": str(name),
                "score": score(row["score"], rarest),
                "change": change(*moved, rarest),
                "unchanged": bool(moved[1] == moved[2]),
                "flips": people(float(row["flips"]) * n, n, "share"),
                **{key: plain_json(row[key]) if key in row else None for key in _ON_TEST},
            }
        )
    return {
        "n": people(n),
        "events": people(rarest),
        "measured": rarest >= FEWEST_EVENTS,
        "trees": rows,
    }
