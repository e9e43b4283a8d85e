"""What goes beyond the paper as tables: sensitivity, optimism, geometry, size, retraining."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from reproduction.runs import Results
from reproduction.settings import LARGEST_DEPTH, PROTOCOLS, Settings
from reproduction.summaries.paper import DATASET, PROTOCOL, SPLITS, studies
from reproduction.tables import Column, Table, mean, spread, standard_error
from steadytree.distance.bound import distance_bound

__all__ = ["ALL", "beyond_tables", "sensitivity_tables"]

ALL = "(all)"
"""Name of the row that pools the data sets."""

Unit = dict[str, Any]


def sensitivity_tables(results: Results, settings: Settings) -> list[Table]:
    """Tables of Appendix B."""
    made = [_direct(results, settings), _indirect(results, settings)]
    return [table for table in made if table.rows]


def beyond_tables(results: Results) -> list[Table]:
    """Tables of what the paper does not report."""
    made = [
        _optimism(results),
        _triangle(results),
        _label_weight(results),
        _normaliser(results),
        _collection_size(results),
        _size(results),
    ]
    return [table for table in made if table.rows]


def _pooled(by_name: dict[str, list[Any]]) -> list[tuple[str, list[Any]]]:
    """Each data set's repetitions, and all of them together where there are several sets."""
    named = list(by_name.items())
    if len(named) > 1:
        named.append((ALL, [item for _, items in named for item in items]))
    return named


def _direct(results: Results, settings: Settings) -> Table:
    by_name: dict[str, list[Unit]] = {}
    for name in results.datasets("direct"):
        for unit in results.of("direct", name):
            for depth, clipped, literal, outside in zip(
                unit["depth"], unit["clipped"], unit["literal"], unit["outside"], strict=True
            ):
                one = {"depth": depth, "clipped": clipped, "literal": literal, "outside": outside}
                by_name.setdefault(name, []).append(one)
    fixed = distance_bound(LARGEST_DEPTH)
    rows = []
    for name, repetitions in _pooled(by_name):
        for k, size in enumerate(settings.perturbation_sizes):
            row: Unit = {"dataset": name, "size": size, "repetitions": len(repetitions)}
            for way in ("clipped", "literal"):
                own = [r[way][k] / distance_bound(r["depth"]) for r in repetitions]
                row[way], row[f"{way}_sd"] = mean(own), spread(own)
                row[f"{way}_fixed"] = mean(r[way][k] / fixed for r in repetitions)
            row["outside"] = mean(r["outside"][k] for r in repetitions)
            rows.append(row)
    return Table(
        "direct",
        "direct",
        "Distance between a tree and itself with moved thresholds",
        (
            DATASET,
            Column("size", "Largest change θmax", "share"),
            Column("repetitions", "Repetitions", "int"),
            Column("clipped", "Clipped: of the bound, depth of the tree", "share"),
            Column("clipped_sd", "± sd", "share"),
            Column("literal", "Not clipped: of the bound, depth of the tree", "share"),
            Column("literal_sd", "± sd", "share"),
            Column("clipped_fixed", "Clipped: of the bound, D = 12", "small"),
            Column("literal_fixed", "Not clipped: of the bound, D = 12", "small"),
            Column("outside", "Thresholds moved out of their range", "share"),
        ),
        rows,
        "Each threshold t becomes t (1 + 2 θmax θ − θmax), θ uniform on [0, 1]: a change relative "
        "to t, not to the range of the feature. Clipped: thresholds stay within the range and "
        "paths no value can reach are dropped. Not clipped: the formula at its word, wherever "
        "the threshold lies.",
    )


def _indirect(results: Results, settings: Settings) -> Table:
    by_name = {name: results.of("indirect", name) for name in results.datasets("indirect")}
    fixed = distance_bound(LARGEST_DEPTH)
    rows = []
    for name, units in _pooled(by_name):
        for k, share in enumerate(settings.replaced_shares):
            bound = [u["distance"][k] / fixed for u in units]
            pair = [u["distance"][k] / distance_bound(u["depth"][k]) for u in units]
            relative = [u["dissimilarity"][k] for u in units]
            rows.append(
                {
                    "dataset": name,
                    "replaced": share,
                    "repetitions": len(units),
                    "distance": mean(u["distance"][k] for u in units),
                    "bound": mean(bound),
                    "bound_sd": spread(bound),
                    "pair": mean(pair),
                    "pair_sd": spread(pair),
                    "dissimilarity": mean(relative),
                    "dissimilarity_sd": spread(relative),
                }
            )
    return Table(
        "indirect",
        "indirect",
        "Distance between cross-validated trees before and after training rows were replaced",
        (
            DATASET,
            Column("replaced", "Rows replaced", "share"),
            Column("repetitions", "Repetitions", "int"),
            Column("distance", "Distance", "num"),
            Column("bound", "of the bound, D = 12", "small"),
            Column("bound_sd", "± sd", "small"),
            Column("pair", "of the bound, depth of the pair", "share"),
            Column("pair_sd", "± sd", "share"),
            Column("dissimilarity", "Dissimilarity", "share"),
            Column("dissimilarity_sd", "± sd", "share"),
        ),
        rows,
        "The paper divides by the bound of the largest depth examined here (D = 12).",
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
    kinds = {
        "paper_1": ("paper", 1.0),
        "paper_24": ("paper", 24.0),
        "metric_1": ("metric", 1.0),
    }
    for name, units in _detailed(results):
        for key, (variant, weight) in kinds.items():
            found = [u["geometry"]["triangle"][key] for u in units]
            rows.append(
                {
                    "dataset": name,
                    "variant": variant,
                    "label_weight": weight,
                    "triples": sum(f["triples"] for f in found),
                    "violated": sum(f["violated"] for f in found),
                    "share": sum(f["violated"] for f in found)
                    / max(sum(f["triples"] for f in found), 1),
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
            for key in ("ranking_agreement", "frontier_size", "reduction", "price", "least_auc"):
                row[key] = mean(f[key] for f in found)
            rows.append(row)
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
            for key in ("with_depth", "with_leaves", "mean", "least_leaves"):
                row[f"{way}_{key}"] = mean(f[way][key] for f in found)
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
            Column("fixed_mean", "D = 12: mean distance", "small"),
            Column("pair_mean", "Pair: mean distance", "share"),
        ),
        rows,
        "The author's package divides each distance by the bound of the depth of that pair.",
    )


def _collection_size(results: Results) -> Table:
    rows = []
    for name in results.datasets("batch"):
        units = results.of("batch", name)
        for k, first in enumerate(units[0]["sizes"]):
            found = [u["sizes"][k] for u in units]
            row: Unit = {
                "dataset": name,
                "bootstraps": first["bootstraps"],
                "trees": first["trees"],
                "splits": len(units),
                "optimism": mean(f["auc_same_half"] - f["auc_other_half"] for f in found),
            }
            for key in ("frontier_size", "best_auc", "auc_other_half", "reduction", "price"):
                row[key] = mean(f[key] for f in found)
            rows.append(row)
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
        for key in (
            "distance_with_leaves",
            "explained_by_leaves",
            "distance_with_auc",
            "distance_with_auc_given_leaves",
            "leaves_with_auc",
            "least_distance_leaves",
            "median_leaves",
        ):
            row[key] = mean(f[key] for f in found)
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
