"""The retraining table: how far trees move in time, what it costs, and what a coin would do."""

from __future__ import annotations

from typing import Any

from research.paper.retraining_protocol import coin_gain
from research.paper.runs import Results
from research.paper.summaries.paper import ALL
from research.paper.tables import Column, Table, mean, standard_error

__all__ = ["RETRAINING_METHODS", "retraining_tables"]

RETRAINING_METHODS = {
    "cart": "CART CV, trained anew",
    "paper": "the paper's method",
    "ours_same_0.1": "priced edits from CART's tree, μ = 0.1",
    "ours_same_0.2": "priced edits from CART's tree, μ = 0.2",
    "ours_own_0.1": "priced edits from our first tree, μ = 0.1",
    "ours_own_0.2": "priced edits from our first tree, μ = 0.2",
    "scratch": "our recipe, trained anew",
}

Unit = dict[str, Any]


def retraining_tables(results: Results) -> list[Table]:
    """Build the table by data set, and its means over the data sets."""
    rows: list[Unit] = []
    for name in results.datasets("retraining"):
        units = results.of("retraining", name)
        for method, title in RETRAINING_METHODS.items():
            rows.append(_row(name, method, title, units))
    if not rows:
        return []
    pooled = []
    for method, title in RETRAINING_METHODS.items():
        same = [r for r in rows if r["method"] == method]
        row: Unit = {"dataset": ALL, "method": method, "method_name": title, "datasets": len(same)}
        for key in same[0]:
            if key not in row and key != "repetitions":
                row[key] = mean(r[key] for r in same)
        row["reduction_se"] = standard_error(r["reduction"] for r in same)
        row["auc_change_se"] = standard_error(r["auc_change"] for r in same)
        pooled.append(row)
    columns = (
        Column("method_name", "Method"),
        Column("dissimilarity", "Dissimilarity before and after", "share"),
        Column("reduction", "Less dissimilarity than CART", "share"),
        Column("auc_before", "AUC of the deployed tree", "auc"),
        Column("auc_after", "AUC after", "auc"),
        Column("auc_change", "against CART after, points", "points"),
        Column("flips", "Decisions that flip", "share"),
        Column("leaves", "Leaves after", "num"),
        Column("kept_gain", "Gain over keeping the tree, points", "points"),
        Column("coin_gain", "A coin of the same distance, points", "points"),
    )
    note = (
        "The earliest 40 % of the rows deploy, the next 30 % are new, the latest 30 % test (whole "
        "years); each repetition draws 80 % of the earlier rows. Methods deploy trees of different "
        "size, so the change is given as dissimilarity, which is relative to it; λ = 1, labels at "
        "the base rate of the deployment rows. Flips: test rows whose decision "
        "at that rate changes. Coin: tossing between keeping the deployed tree and training our "
        "recipe anew, at the same mean distance."
    )
    with_errors = (
        *columns[:3],
        Column("reduction_se", "± se", "share"),
        *columns[3:6],
        Column("auc_change_se", "± se", "error"),
        *columns[6:],
    )
    return [
        Table(
            "retraining",
            "retraining",
            "Retraining on time-ordered data, means over the data sets",
            with_errors,
            pooled,
            note,
        ),
        Table(
            "retraining_by_dataset",
            "retraining",
            "Retraining on time-ordered data, each set",
            (Column("dataset", "Data"), Column("repetitions", "Repetitions", "int"), *columns),
            rows,
        ),
    ]


def _row(name: str, method: str, title: str, units: list[Unit]) -> Unit:
    found = [u["methods"][method] for u in units]
    plain = [u["methods"]["cart"] for u in units]
    moved = sum(f["metric"] for f in found)
    change, usual = (sum(u["dissimilarity"] for u in units_) for units_ in (found, plain))
    row: Unit = {
        "dataset": name,
        "method": method,
        "method_name": title,
        "repetitions": len(units),
        "dissimilarity": mean(f["dissimilarity"] for f in found),
        "distance": mean(f["distance"] for f in found),
        "reduction": 1 - change / usual if usual else None,
        "auc_before": mean(f["auc_before"] for f in found),
        "auc_after": mean(f["auc_after"] for f in found),
        "auc_change": mean(
            f["auc_after"] - p["auc_after"] for f, p in zip(found, plain, strict=True)
        ),
        "flips": mean(f["flips"] for f in found),
        "leaves": mean(f["leaves"][1] for f in found),
        "kept_gain": mean(f["auc_after"] - f["auc_before"] for f in found),
    }
    if method.startswith("ours_own"):
        anew = [u["methods"]["scratch"] for u in units]
        whole = sum(a["metric"] for a in anew)
        gain = mean(a["auc_after"] - a["auc_before"] for a in anew)
        row["coin_gain"] = coin_gain(gain, moved, whole) if whole and gain is not None else None
    else:
        row["coin_gain"] = None
    return row
