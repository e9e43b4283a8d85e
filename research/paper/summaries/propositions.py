"""What is proved about the distance, as tables: how often it was looked at, and how it held."""

from __future__ import annotations

from research.paper.experiments.propositions import LABEL_WEIGHTS
from research.paper.runs import Results
from research.paper.summaries.paper import DATASET
from research.paper.tables import Column, Table, with_rows

__all__ = ["proposition_tables"]


def proposition_tables(results: Results) -> list[Table]:
    """Tables of Corollary 1 and Proposition 2."""
    return with_rows(_relaxation(results), _bound(results))


def _relaxation(results: Results) -> Table:
    rows = []
    for name in results.datasets("propositions"):
        found = [u["corollary_1"] for u in results.of("propositions", name)]
        rows.append(
            {
                "dataset": name,
                **{key: sum(f[key] for f in found) for key in found[0] if "pairs" in key},
                "programs": sum(f["programs"] for f in found),
                **{key: max(f[key] for f in found) for key in found[0] if "st_" in key},
            }
        )
    return Table(
        "corollary_1",
        "propositions",
        "Corollary 1: the linear relaxation of eq. (distance) has binary extreme points",
        (
            DATASET,
            Column("programs", "Programs solved", "int"),
            Column("pairs", "Pairs of trees", "int"),
            Column("pairs_of_unequal_size", "of unequal size", "int"),
            Column("most_variables", "Most variables", "int"),
            Column("largest_deviation", "Farthest from 0 or 1", "num"),
            Column("largest_random_deviation", "the same, random costs", "num"),
            Column("largest_difference", "Largest difference from the distance", "num"),
        ),
        rows,
        "Built as printed and solved by the dual simplex of HiGHS, with λ = 1 and λ = 24.",
    )


def _bound(results: Results) -> Table:
    rows = []
    for name in results.datasets("propositions"):
        for weight in LABEL_WEIGHTS:
            found = [u["proposition_2"][f"{weight:g}"] for u in results.of("propositions", name)]
            row = {"dataset": name, "label_weight": weight, "pairs": sum(f["pairs"] for f in found)}
            for bound in ("paper", "attainable"):
                row[f"{bound}_violated"] = sum(f[f"{bound}_violated"] for f in found)
                row[f"{bound}_largest_ratio"] = max(f[f"{bound}_largest_ratio"] for f in found)
            rows.append(row)
    return Table(
        "proposition_2",
        "propositions",
        "Proposition 2: no distance exceeds 2^D (2D + λ), D being the depth of the deeper tree",
        (
            DATASET,
            Column("label_weight", "λ", "num"),
            Column("pairs", "Pairs of trees", "int"),
            Column("paper_violated", "Violated", "int"),
            Column("paper_largest_ratio", "Largest distance over the bound", "share"),
            Column("attainable_violated", "2^D (D + λ): violated", "int"),
            Column("attainable_largest_ratio", "Largest distance over that", "share"),
        ),
        rows,
        "The proof says that the bound is reached; the largest distance there can be is "
        "2^D (D + λ), which trees on categories reach and trees on numbers do not.",
    )
