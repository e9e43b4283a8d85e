"""The paper's tables and figures as tables of numbers, from the finished work."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from research.paper.data import dataset_table
from research.paper.runs import Results
from research.paper.settings import PROTOCOLS
from research.paper.tables import Column, Table, mean, spread, with_rows

__all__ = [
    "ALL",
    "DATASET",
    "METHOD",
    "METHODS",
    "PROTOCOL",
    "SPLITS",
    "frontier_table",
    "paper_tables",
    "studies",
]

METHODS = {
    "pareto_auc": "Pareto AUC",
    "pareto_distance": "Pareto Distance",
    "selected": "Selected (within 2 %)",
    "cv": "CART CV",
    "forest": "Random forest",
}
TREES = tuple(name for name in METHODS if name != "forest")

ALL = "(all)"
"""Name of the row that pools the data sets."""

DATASET = Column("dataset", "Data")
PROTOCOL = Column("protocol", "Protocol")
METHOD = Column("method_name", "Method")
SPLITS = Column("splits", "Splits", "int")


def paper_tables(results: Results, names: Sequence[str]) -> list[Table]:
    """Tables of Sections 2.5 and 3.2 to 3.5 that there are results for."""
    return with_rows(
        _datasets(names),
        _example(results),
        frontier_table(results),
        _frontier_sizes(results),
        _accuracy(results),
        _distances(results),
        _interpretability(results),
        _importances(results),
    )


def studies(results: Results) -> list[tuple[str, str, list[dict[str, Any]]]]:
    """Protocol, data set and results of all splits, in the order of the page."""
    return [
        (protocol, name, results.of("study", name, protocol))
        for protocol in PROTOCOLS
        for name in results.datasets("study", protocol)
    ]


def _datasets(names: Sequence[str]) -> Table:
    rows = []
    for name, row in dataset_table(tuple(names)).iterrows():
        plain_row = {str(k): (None if pd.isna(v) else v) for k, v in row.items()}
        own = bool(plain_row["papers_own"])
        kind = (
            "the paper's own" if own else "stand-in" if plain_row["paper_rows"] else "time-ordered"
        )
        rows.append({"dataset": str(name), "kind": kind, **plain_row})
    return Table(
        "datasets",
        "datasets",
        "The data sets, with the paper's case study beside each stand-in",
        (
            DATASET,
            Column("title", "Question"),
            Column("kind", "Data are"),
            Column("paper_case_study", "Paper's case study"),
            Column("rows", "Rows", "int"),
            Column("features", "Features", "int"),
            Column("categorical", "of which categories", "int"),
            Column("prevalence", "Prevalence", "share"),
            Column("missing_share", "Missing", "share"),
            Column("paper_rows", "Rows (paper)", "int"),
            Column("paper_features", "Features (paper)", "int"),
            Column("paper_prevalence", "Prevalence (paper)", "share"),
        ),
        [
            {k: (v.item() if isinstance(v, np.generic) else v) for k, v in row.items()}
            for row in rows
        ],
        "Only breast cancer is the paper's own data. The other five are public stand-ins of "
        "similar size and prevalence: what holds on them need not hold on the hospital data.",
    )


def _example(results: Results) -> Table:
    rows = []
    for protocol in PROTOCOLS:
        for name in results.datasets("example", protocol):
            units = results.of("example", name, protocol)
            closer = [u["pareto"]["distance"] < u["cv"]["distance"] for u in units]
            row: dict[str, Any] = {
                "dataset": name,
                "protocol": protocol,
                "splits": len(units),
                "pareto_closer": mean(closer),
            }
            for method in ("cv", "pareto"):
                found = [u[method] for u in units]
                row[f"{method}_bound"] = mean(u["distance_bound"] for u in found)
                row[f"{method}_bound_sd"] = spread(u["distance_bound"] for u in found)
                row[f"{method}_dissimilarity"] = mean(u["dissimilarity"] for u in found)
                row[f"{method}_auc"] = mean(u["auc_all"] for u in found)
                row[f"{method}_same_features"] = mean(u["same_features"] for u in found)
            rows.append(row)
    return Table(
        "example",
        "example",
        "Distance between the trees trained on half and on all of the training rows (depth 4)",
        (
            DATASET,
            PROTOCOL,
            SPLITS,
            Column("cv_bound", "CART CV, of the bound", "share"),
            Column("cv_bound_sd", "± sd", "share"),
            Column("pareto_bound", "Pareto, of the bound", "share"),
            Column("pareto_bound_sd", "± sd", "share"),
            Column("pareto_closer", "Splits where Pareto moved less", "share"),
            Column("cv_dissimilarity", "CART CV, dissimilarity", "share"),
            Column("pareto_dissimilarity", "Pareto, dissimilarity", "share"),
            Column("cv_same_features", "CART CV keeps its features", "share"),
            Column("pareto_same_features", "Pareto keeps its features", "share"),
            Column("cv_auc", "CART CV, AUC", "auc"),
            Column("pareto_auc", "Pareto, AUC", "auc"),
        ),
        rows,
        "Bound 2^4 (2·4 + 1) = 144. The paper shows one split of one case study; here every "
        "case study and several splits.",
    )


def frontier_table(results: Results, *, every_split: bool = False) -> Table:
    """Every tree of the second collections: those of the first split, or of all of them."""
    rows = []
    for protocol, name, units in studies(results):
        for split, unit in enumerate(units if every_split else units[:1]):
            cloud = unit["cloud"]
            on = set(cloud["frontier"])
            for i, distance in enumerate(cloud["distance"]):
                rows.append(
                    {
                        "dataset": name,
                        "protocol": protocol,
                        "split": split,
                        "tree": i,
                        "distance": distance,
                        "dissimilarity": cloud["dissimilarity"][i],
                        "auc_choose": cloud["choose"][i],
                        "auc_report": cloud["report"][i],
                        "leaves": cloud["leaves"][i],
                        "depth": cloud["depth"][i],
                        "on_frontier": i in on,
                    }
                )
    which = "every split" if every_split else "the first split"
    return Table(
        "frontiers_all" if every_split else "frontiers",
        "frontiers",
        f"Every tree of the second collection on {which}",
        (
            DATASET,
            PROTOCOL,
            Column("split", "Split", "int"),
            Column("tree", "Tree", "int"),
            Column("distance", "Mean distance", "num"),
            Column("dissimilarity", "Mean dissimilarity", "share"),
            Column("auc_choose", "AUC, choosing rows", "auc"),
            Column("auc_report", "AUC, reported rows", "auc"),
            Column("leaves", "Leaves", "int"),
            Column("depth", "Depth", "int"),
            Column("on_frontier", "On the frontier"),
        ),
        rows,
        on_page=False,
    )


def _frontier_sizes(results: Results) -> Table:
    rows = []
    for protocol, name, units in studies(results):
        sizes = [len(u["cloud"]["frontier"]) for u in units]
        rows.append(
            {
                "dataset": name,
                "protocol": protocol,
                "splits": len(units),
                "trees": len(units[0]["cloud"]["distance"]),
                "distinct": mean(u["distinct_trees"]["second"] for u in units),
                "smallest": min(sizes),
                "mean": mean(sizes),
                "largest": max(sizes),
            }
        )
    return Table(
        "frontier_sizes",
        "frontier-sizes",
        "Number of Pareto optimal trees",
        (
            DATASET,
            PROTOCOL,
            SPLITS,
            Column("trees", "Trees", "int"),
            Column("distinct", "of which distinct", "int"),
            Column("smallest", "Smallest", "int"),
            Column("mean", "Mean", "num"),
            Column("largest", "Largest", "int"),
        ),
        rows,
        "Trees with exactly equal distance and score are counted once.",
    )


def _by_method(
    results: Results, methods: Sequence[str], values: dict[str, str]
) -> list[dict[str, Any]]:
    """Rows of mean and standard deviation over the splits, one per data set and method."""
    rows = []
    for protocol, name, units in studies(results):
        for method in methods:
            found = [u["methods"][method] for u in units]
            row: dict[str, Any] = {
                "dataset": name,
                "protocol": protocol,
                "method": method,
                "method_name": METHODS[method],
                "splits": len(units),
            }
            for key, source in values.items():
                row[key] = mean(f[source] for f in found)
                row[f"{key}_sd"] = spread(f[source] for f in found)
            rows.append(row)
    return rows


def _accuracy(results: Results) -> Table:
    return Table(
        "accuracy",
        "accuracy",
        "Out-of-sample AUC, mean and standard deviation over the splits",
        (
            DATASET,
            PROTOCOL,
            METHOD,
            SPLITS,
            Column("auc", "AUC, reported rows", "auc"),
            Column("auc_sd", "± sd", "auc"),
            Column("auc_choose", "AUC, choosing rows", "auc"),
            Column("auc_choose_sd", "± sd", "auc"),
        ),
        _by_method(results, tuple(METHODS), {"auc": "auc_report", "auc_choose": "auc_choose"}),
        "Under the paper's protocol the two columns are the same rows: the reported AUC of the "
        "Pareto trees is that of the rows they were chosen on.",
    )


def _distances(results: Results) -> Table:
    return Table(
        "distances",
        "distances",
        "Mean distance from the trees of the first batch",
        (
            DATASET,
            PROTOCOL,
            METHOD,
            Column("distance", "Distance", "num"),
            Column("distance_sd", "± sd", "num"),
            Column("bound", "of the bound, D = 12", "small"),
            Column("pair", "of the bound, depth of the pair", "share"),
            Column("dissimilarity", "Dissimilarity", "share"),
            Column("dissimilarity_sd", "± sd", "share"),
        ),
        _by_method(
            results,
            TREES,
            {
                "distance": "distance",
                "bound": "distance_bound",
                "pair": "distance_pair_depth",
                "dissimilarity": "dissimilarity",
            },
        ),
        "The bound with D = 12 is 2^12 · 25 = 102,400.",
    )


def _interpretability(results: Results) -> Table:
    return Table(
        "interpretability",
        "interpretability",
        "Depth and number of nodes; for the forest, of its largest tree",
        (
            DATASET,
            PROTOCOL,
            METHOD,
            Column("depth", "Depth", "num"),
            Column("depth_sd", "± sd", "num"),
            Column("nodes", "Nodes", "num"),
            Column("nodes_sd", "± sd", "num"),
        ),
        _by_method(results, tuple(METHODS), {"depth": "depth", "nodes": "nodes"}),
    )


def _importances(results: Results) -> Table:
    rows = []
    for protocol, name, units in studies(results):
        for method in METHODS:
            values = np.array([u["methods"][method]["importances"] for u in units], dtype=float)
            # A tree with fewer than three features has no third: features never used do not count.
            top = {
                int(j) for row in values for j in np.argsort(-row, kind="stable")[:3] if row[j] > 0
            }
            rows.append(
                {
                    "dataset": name,
                    "protocol": protocol,
                    "method": method,
                    "method_name": METHODS[method],
                    "splits": len(units),
                    "importance_spread": float(values.std(axis=0, ddof=1).mean())
                    if len(values) > 1
                    else None,
                    "top_features": len(top),
                }
            )
    return Table(
        "importances",
        "importances",
        "Spread of the Gini importances over the splits, and distinct features ever in the top 3",
        (
            DATASET,
            PROTOCOL,
            METHOD,
            Column("importance_spread", "Standard deviation, mean over features", "num"),
            Column("top_features", "Distinct top-3 features", "int"),
        ),
        rows,
    )
