"""What goes beyond the paper as tables: optimism, geometry, the number of trees, their size."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from research.paper.runs import Results
from research.paper.settings import PROTOCOLS
from research.paper.summaries.paper import ALL, DATASET, PROTOCOL, SPLITS, studies
from research.paper.tables import Column, Table, mean, means, standard_error, with_rows

__all__ = ["beyond_tables", "less_than"]

Unit = dict[str, Any]


def beyond_tables(results: Results) -> list[Table]:
    """Tables of what the paper does not report."""
    return with_rows(
        _optimism(results),
        _triangle(results),
        _label_weight(results),
        _normaliser(results),
        _collection_size(results),
        _size(results),
    )


def _optimism(results: Results) -> Table:
    rows = []
    for name in results.datasets("study", "paper"):
        halves = [mean_of(u["halves"]) for u in results.of("study", name, "paper") if u["halves"]]
        row: Unit = {"dataset": name, "splits": len(halves)}
        for method in ("pareto_auc", "pareto_distance", "selected"):
            gain = [h[f"{method}_same"] - h[f"{method}_other"] for h in halves]
            row[f"{method}_same"] = mean(h[f"{method}_same"] for h in halves)
            row[f"{method}_other"] = mean(h[f"{method}_other"] for h in halves)
            row[f"{method}_optimism"] = mean(gain)
            row[f"{method}_optimism_se"] = standard_error(gain)
        for where in ("same", "other"):
            lost = [h[f"pareto_auc_{where}"] - h[f"pareto_distance_{where}"] for h in halves]
            row[f"price_{where}"], row[f"price_{where}_se"] = mean(lost), standard_error(lost)
        for protocol in PROTOCOLS:
            units = results.of("study", name, protocol)
            lost = [
                u["methods"]["pareto_auc"]["auc_report"]
                - u["methods"]["pareto_distance"]["auc_report"]
                for u in units
            ]
            row[f"price_{protocol}"] = mean(lost)
            row[f"auc_{protocol}"] = mean(u["methods"]["pareto_auc"]["auc_report"] for u in units)
        rows.append(row)
    if len(rows) > 1:
        keys = [k for k in rows[0] if k not in ("dataset", "splits")]
        pooled: Unit = {"dataset": ALL, "splits": sum(r["splits"] for r in rows)}
        for key in keys:
            base = key.removesuffix("_se")
            values = [r[base] for r in rows]
            pooled[key] = standard_error(values) if key.endswith("_se") else mean(values)
        rows.append(pooled)
    return Table(
        "optimism",
        "optimism",
        "AUC of the chosen tree on the half it was chosen on and on the other half",
        (
            DATASET,
            SPLITS,
            Column("pareto_auc_same", "Pareto AUC, same half", "auc"),
            Column("pareto_auc_other", "Pareto AUC, other half", "auc"),
            Column("pareto_auc_optimism", "Optimism, points", "points"),
            Column("pareto_auc_optimism_se", "± se", "error"),
            Column("pareto_distance_optimism", "Pareto Distance, optimism", "points"),
            Column("selected_optimism", "Selected, optimism", "points"),
            Column("price_same", "Price of stability, same half", "points"),
            Column("price_same_se", "± se", "error"),
            Column("price_other", "Price, other half", "points"),
            Column("price_other_se", "± se", "error"),
            Column("price_paper", "Price, paper's protocol", "points"),
            Column("price_honest", "Price, honest protocol", "points"),
            Column("auc_paper", "Pareto AUC reported, paper's protocol", "auc"),
            Column("auc_honest", "Pareto AUC reported, honest protocol", "auc"),
        ),
        rows,
        "The holdout of the paper's protocol is halved; a tree is chosen on one half and scored "
        "on both, then the halves change roles. Same trees, like rows: the difference is what "
        "choosing and reporting on the same rows adds. Price: AUC of Pareto AUC minus AUC of "
        "Pareto Distance. The honest protocol trains on fewer rows (50 % of all instead of "
        "67 %), so the last two columns differ for that reason too.",
    )


def less_than(value: float | None, other: float | None) -> float | None:
    """By how much a value is less than another, as a share of that."""
    return 1 - value / other if value is not None and other else None


def mean_of(halves: Sequence[dict[str, float]]) -> dict[str, float]:
    """Mean of the two directions of one split."""
    return {key: float(np.mean([h[key] for h in halves])) for key in halves[0]}


def _detailed(results: Results) -> list[tuple[str, list[Unit]]]:
    found = []
    for name in results.datasets("study", "paper"):
        units = [u for u in results.of("study", name, "paper") if "geometry" in u]
        if units:
            found.append((name, units))
    return found


def _triangle(results: Results) -> Table:
    rows = []
    kinds = {"paper_1": ("paper", 1.0), "paper_24": ("paper", 24.0), "metric_1": ("metric", 1.0)}
    for name, units in _detailed(results):
        for key, (variant, weight) in kinds.items():
            found = [u["geometry"]["triangle"][key] for u in units]
            triples, violated = (sum(f[k] for f in found) for k in ("triples", "violated"))
            rows.append(
                {
                    "dataset": name,
                    "variant": variant,
                    "label_weight": weight,
                    "triples": triples,
                    "violated": violated,
                    "share": violated / max(triples, 1),
                    "worst_ratio": max(f["worst_ratio"] for f in found),
                }
            )
    return Table(
        "triangle",
        "triangle",
        "Triples of trees that violate the triangle inequality",
        (
            DATASET,
            Column("variant", "Distance"),
            Column("label_weight", "λ", "num"),
            Column("triples", "Triples", "int"),
            Column("violated", "Violated", "int"),
            Column("share", "Share", "small"),
            Column("worst_ratio", "Worst: long side over the sum of the others", "num"),
        ),
        rows,
        "150 trees at random from each second collection (or all, where fewer).",
    )


def _label_weight(results: Results) -> Table:
    rows = []
    for name, units in _detailed(results):
        weights = sorted(units[0]["geometry"]["label_weight"], key=float)
        for weight in weights:
            found = [u["geometry"]["label_weight"][weight] for u in units]
            row: Unit = {"dataset": name, "label_weight": float(weight), "splits": len(units)}
            keys = ("ranking_agreement", "frontier_size", "reduction", "price", "least_auc")
            rows.append({**row, **means(found, *keys)})
    return Table(
        "label_weight",
        "label-weight",
        "Effect of the label weight λ",
        (
            DATASET,
            Column("label_weight", "λ", "num"),
            SPLITS,
            Column("ranking_agreement", "Rank correlation with λ = 1", "num"),
            Column("frontier_size", "Frontier size", "num"),
            Column("reduction", "Less distance", "share"),
            Column("price", "AUC points lost", "points"),
            Column("least_auc", "AUC of the closest tree", "auc"),
        ),
        rows,
        "The paper does not give the λ it used; 24 = 2 · 12 is its “equal weight” for D = 12. Mean "
        "distances from 100 random trees of the first batch (or all, where fewer).",
    )


def _normaliser(results: Results) -> Table:
    rows = []
    for protocol, name, units in studies(results):
        found = [u["normaliser"] for u in units]
        row: Unit = {"dataset": name, "protocol": protocol, "splits": len(units)}
        row["agreement"] = mean(f["ranking_agreement"] for f in found)
        for way in ("fixed", "pair"):
            over = means(
                [f[way] for f in found],
                *("with_depth", "with_leaves", "mean", "least_leaves"),
                *("best_distance", "closest_distance", "price"),
            )
            over["reduction"] = less_than(over["closest_distance"], over["best_distance"])
            row.update({f"{way}_{key}": value for key, value in over.items()})
        rows.append(row)
    return Table(
        "normaliser",
        "normaliser",
        "Ranking of the trees under one bound for all (D = 12) and under the bound of each pair",
        (
            DATASET,
            PROTOCOL,
            SPLITS,
            Column("fixed_with_depth", "D = 12: rank correlation with depth", "num"),
            Column("pair_with_depth", "Pair: rank correlation with depth", "num"),
            Column("agreement", "Rank correlation of the two", "num"),
            Column("fixed_least_leaves", "D = 12: leaves of the “closest” tree", "num"),
            Column("pair_least_leaves", "Pair: leaves of the “closest” tree", "num"),
            Column("fixed_reduction", "D = 12: less distance", "share"),
            Column("fixed_price", "D = 12: AUC points lost", "points"),
            Column("pair_reduction", "Pair: less distance", "share"),
            Column("pair_price", "Pair: AUC points lost", "points"),
            Column("fixed_mean", "D = 12: mean distance", "small"),
            Column("pair_mean", "Pair: mean distance", "share"),
        ),
        rows,
        "The author's package divides each distance by the bound of the depth of that pair. Less "
        "distance, for so many points: the closest tree against the one with the best AUC, each "
        "chosen under that normaliser (ratio of the means over the splits).",
    )


def _collection_size(results: Results) -> Table:
    rows = []
    for name in results.datasets("batch"):
        units = results.of("batch", name)
        for k, first in enumerate(units[0]["sizes"]):
            found = [u["sizes"][k] for u in units]
            keys = ("frontier_size", "best_auc", "auc_other_half", "reduction", "price")
            rows.append(
                {
                    "dataset": name,
                    "bootstraps": first["bootstraps"],
                    "trees": first["trees"],
                    "splits": len(units),
                    "optimism": mean(f["auc_same_half"] - f["auc_other_half"] for f in found),
                    **means(found, *keys),
                }
            )
    return Table(
        "collection_size",
        "collection-size",
        "Effect of the number of trees B",
        (
            DATASET,
            Column("bootstraps", "Bootstraps", "int"),
            Column("trees", "Trees", "int"),
            SPLITS,
            Column("frontier_size", "Frontier size", "num"),
            Column("best_auc", "Best AUC, chosen and reported on the same rows", "auc"),
            Column("auc_other_half", "AUC on rows not chosen on", "auc"),
            Column("optimism", "Optimism, points", "points"),
            Column("reduction", "Less distance", "share"),
            Column("price", "AUC points lost", "points"),
        ),
        rows,
        "Smaller collections are the first bootstraps of the largest one.",
    )


def _size(results: Results) -> Table:
    rows = []
    for protocol, name, units in studies(results):
        found = [u["size"] for u in units]
        row: Unit = {"dataset": name, "protocol": protocol, "splits": len(units)}
        row |= means(
            found,
            "distance_with_leaves",
            "explained_by_leaves",
            "distance_with_auc",
            "distance_with_auc_given_leaves",
            "leaves_with_auc",
            "least_distance_leaves",
            "median_leaves",
        )
        row["smallest_auc"] = mean(f["smallest"]["auc_report"] for f in found)
        best = _total(units, lambda u: u["methods"]["pareto_auc"]["distance"])
        least = _total(units, lambda u: u["methods"]["pareto_distance"]["distance"])
        small = _total(units, lambda u: u["size"]["smallest"]["distance"])
        row["smallest_share"] = (best - small) / (best - least) if best > least else None
        row["least_auc"] = mean(u["methods"]["pareto_distance"]["auc_report"] for u in units)
        relative = [u["geometry"]["dissimilarity"] for u in units if "geometry" in u]
        row["dissimilarity_with_leaves"] = mean(r["with_leaves"] for r in relative)
        rows.append(row)
    return Table(
        "size",
        "size",
        "Mean distance and the number of leaves",
        (
            DATASET,
            PROTOCOL,
            SPLITS,
            Column("distance_with_leaves", "Rank correlation, distance and leaves", "num"),
            Column("explained_by_leaves", "Ranks of distance explained by leaves", "share"),
            Column("distance_with_auc", "Rank correlation, distance and AUC", "num"),
            Column("distance_with_auc_given_leaves", "the same, given the leaves", "num"),
            Column("least_distance_leaves", "Leaves of the closest tree", "num"),
            Column("median_leaves", "Median leaves", "num"),
            Column("smallest_share", "Share of the gain that the smallest tree has", "share"),
            Column("smallest_auc", "AUC of the smallest tree", "auc"),
            Column("least_auc", "AUC of the closest tree", "auc"),
            Column("dissimilarity_with_leaves", "Dissimilarity and leaves", "num"),
        ),
        rows,
        "Smallest tree: fewest leaves of the second collection, ties by the score on the "
        "choosing rows. Its share of the gain: how much of the way from the distance of "
        "Pareto AUC to that of Pareto Distance it goes.",
    )


def _total(units: Sequence[Unit], value: Callable[[Unit], float]) -> float:
    return float(sum(value(unit) for unit in units))
