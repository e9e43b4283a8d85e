"""Appendix B as tables: how far a tree moves when its thresholds or its rows change."""

from __future__ import annotations

from typing import Any

from research.paper.runs import Results
from research.paper.settings import LARGEST_DEPTH, Settings
from research.paper.summaries.paper import ALL, DATASET
from research.paper.tables import Column, Table, mean, spread, with_rows
from steadytree.distance.equations import distance_bound

__all__ = ["sensitivity_tables"]

Unit = dict[str, Any]


def sensitivity_tables(results: Results, settings: Settings) -> list[Table]:
    """Tables of Appendix B."""
    return with_rows(_direct(results, settings), _indirect(results, settings))


def _pooled(by_name: dict[str, list[Any]]) -> list[tuple[str, list[Any]]]:
    """Each data set's repetitions, and all of them together where there are several sets."""
    named = list(by_name.items())
    if len(named) > 1:
        named.append((ALL, [item for _, items in named for item in items]))
    return named


def _direct(results: Results, settings: Settings) -> Table:
    # A unit holds a block of repetitions, a list of values for each entry.
    by_name = {
        name: [
            dict(zip(unit, values, strict=True))
            for unit in results.of("direct", name)
            for values in zip(*unit.values(), strict=True)
        ]
        for name in results.datasets("direct")
    }
    fixed = distance_bound(LARGEST_DEPTH)
    rows = []
    for name, repetitions in _pooled(by_name):
        for k, size in enumerate(settings.perturbation_sizes):
            row: Unit = {"dataset": name, "size": size, "repetitions": len(repetitions)}
            for way in ("clipped", "literal"):
                own = [r[way][k] / distance_bound(r["depth"]) for r in repetitions]
                row[way], row[f"{way}_sd"] = mean(own), spread(own)
                row[f"{way}_fixed"] = mean(r[way][k] / fixed for r in repetitions)
            for way in ("codes", "codes_literal"):
                own = [r[way][k] / distance_bound(r["codes_depth"]) for r in repetitions]
                row[way], row[f"{way}_sd"] = mean(own), spread(own)
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
            Column("codes", "Categories as codes, clipped", "share"),
            Column("codes_sd", "± sd", "share"),
            Column("codes_literal", "Categories as codes, not clipped", "share"),
            Column("clipped_fixed", "Clipped: of the bound, D = 12", "small"),
            Column("literal_fixed", "Not clipped: of the bound, D = 12", "small"),
            Column("outside", "Thresholds moved out of their range", "share"),
        ),
        rows,
        "Each threshold t becomes t (1 + 2 θmax θ − θmax), θ uniform on [0, 1]: a change relative "
        "to t, not to the range of the feature. Clipped: thresholds stay within the range and "
        "paths no value can reach are dropped. Not clipped: the formula at its word, wherever "
        "the threshold lies. Splits on categories have no threshold and stay; with categories as "
        "codes (0 to k − 1, other trees) they move too.",
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
