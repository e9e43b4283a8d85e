"""The paper's Table 3 as printed, and how many trees its percentages were counted over.

The paper does not say how many trees B a collection has. Its percentages do: a share counted over
n trees is a whole number over n, and rounded to two decimals few n can give all of them.
"""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["LEAF", "TABLE3", "fitting_denominators", "percentages"]

LEAF = "Leaf node"

Cell = tuple[str, float] | None
"""Feature and percentage; None where the paper prints a dash."""

TABLE3: dict[str, dict[str, tuple[Cell, Cell]]] = {
    "Thrombosis": {
        "root": (("Preop Hematocrit", 59.76), ("Preop Platelet", 14.33)),
        "left": (("Preop Platelet", 18.86), ("Age", 16.48)),
        "right": ((LEAF, 60.48), ("Preop Hematocrit", 6.38)),
    },
    "Sarcoma tumor": {
        "root": (("GRADE DSCRP", 47.33), ("Chemo 2", 25.00)),
        "left": (("Primary Tumor Size", 59.00), ("Chemo 2", 12.33)),
        "right": (("GRADE DSCRP", 30.33), ("margin width", 29.10)),
    },
    "REBOA": {
        "root": (("pulserate", 81.00), ("gcs", 10.00)),
        "left": (("age", 24.10), ("respiratoryrate", 18.71)),
        "right": (("gcs", 90.00), ("respiratoryrate", 5.33)),
    },
    "TAVR": {
        "root": (("ConductionDefect", 63.00), ("VALVETYPE", 14.00)),
        "left": (("VALVETYPE", 44.00), ("ConductionDefect", 13.00)),
        "right": (("LVEF", 19.67), ("Area-Oversize", 16.00)),
    },
    "Splenic injury": {
        "root": (("totalgcs", 100.00), None),
        "left": (("tbi", 70.00), ("age", 30.00)),
        "right": (("age", 100.00), None),
    },
    "Breast cancer": {
        "root": (("worst perimeter", 38.52), ("mean concave points", 22.00)),
        "left": (("worst concave points", 35.38), ("worst area", 12.00)),
        "right": (("worst texture", 17.38), (LEAF, 13.00)),
    },
}
"""Table 3 (tab:tree-analysis): by case study and place, the two features most often split on among
all trees of all repetitions, and how often, in per cent."""


def percentages(case_studies: Iterable[str] = TABLE3) -> list[float]:
    """List the percentages of some case studies, of all by default."""
    return [
        cell[1] for name in case_studies for pair in TABLE3[name].values() for cell in pair if cell
    ]


def fitting_denominators(values: Iterable[float], most: int) -> list[int]:
    """Find the numbers of trees up to ``most`` that could have given all the percentages.

    A percentage fits n if some whole number of n trees is it, rounded to two decimals; a half may
    have been rounded either way.
    """
    # In whole hundredths of a per cent, so that nothing is rounded here.
    wanted = [round(100 * value) for value in values]

    def fits(share: int, n: int) -> bool:
        nearest = (share * n + 5_000) // 10_000
        return 2 * abs(10_000 * nearest - share * n) <= n

    return [n for n in range(1, most + 1) if all(fits(share, n) for share in wanted)]
