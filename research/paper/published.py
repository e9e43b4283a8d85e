"""The numbers the paper prints, typed once, each with its place: what ours are put beside.

The paper's figures of bars and clouds carry no numbers in the text, so only what its words and
tables say is here. Shares are between 0 and 1, distances in shares of the paper's bound. Places
are sections, tables and figures: the source of the paper has no pages.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = [
    "CASE_STUDY_NAMES",
    "CHANCE",
    "NUMBERS",
    "SELECTED_TREES",
    "TABLE_1",
    "TABLE_3",
    "Number",
]


@dataclass(frozen=True)
class Number:
    """A number of the paper: its value, the paper's words, and where they stand."""

    value: float
    words: str
    where: str


CASE_STUDY_NAMES = {
    "nafld": "Thrombosis",
    "colon": "Sarcoma tumor",
    "support2": "REBOA",
    "nhefs": "TAVR",
    "nasscds": "Splenic injury",
    "wdbc": "Breast cancer",
}
"""The paper's case study behind each data set; only ``wdbc`` is the paper's own data."""

TABLE_1 = {
    "pareto_auc": {
        "auc": 0.8,
        "auc_sd": 0.013,
        "distance": 0.04056,
        "distance_sd": 0.02818,
        "importance_spread": 0.028,
        "top_features": 7.667,
        "nodes": 55.867,
        "depth": 5.2,
    },
    "pareto_distance": {
        "auc": 0.763,
        "auc_sd": 0.024,
        "distance": 0.02511,
        "distance_sd": 0.01219,
        "importance_spread": 0.027,
        "top_features": 7.333,
        "nodes": 43.5,
        "depth": 4.883,
    },
}
"""Table 1 ("Aggregated comparison"), means over the six case studies."""

TABLE_3: dict[str, dict[str, tuple[tuple[str, float], ...]]] = {
    "Thrombosis": {
        "root": (("Preop Hematocrit", 0.5976), ("Preop Platelet", 0.1433)),
        "left": (("Preop Platelet", 0.1886), ("Age", 0.1648)),
        "right": (("(leaf)", 0.6048), ("Preop Hematocrit", 0.0638)),
    },
    "Sarcoma tumor": {
        "root": (("GRADE DSCRP", 0.4733), ("Chemo 2", 0.25)),
        "left": (("Primary Tumor Size", 0.59), ("Chemo 2", 0.1233)),
        "right": (("GRADE DSCRP", 0.3033), ("margin width", 0.291)),
    },
    "REBOA": {
        "root": (("pulserate", 0.81), ("gcs", 0.1)),
        "left": (("age", 0.241), ("respiratoryrate", 0.1871)),
        "right": (("gcs", 0.9), ("respiratoryrate", 0.0533)),
    },
    "TAVR": {
        "root": (("ConductionDefect", 0.63), ("VALVETYPE", 0.14)),
        "left": (("VALVETYPE", 0.44), ("ConductionDefect", 0.13)),
        "right": (("LVEF", 0.1967), ("Area-Oversize", 0.16)),
    },
    "Splenic injury": {
        "root": (("totalgcs", 1.0),),
        "left": (("tbi", 0.7), ("age", 0.3)),
        "right": (("age", 1.0),),
    },
    "Breast cancer": {
        "root": (("worst perimeter", 0.3852), ("mean concave points", 0.22)),
        "left": (("worst concave points", 0.3538), ("worst area", 0.12)),
        "right": (("worst texture", 0.1738), ("(leaf)", 0.13)),
    },
}
"""Table 3: the two most frequent features at each place, with their frequencies."""

SELECTED_TREES = {
    "Thrombosis": (1, None, None),
    "Sarcoma tumor": (1, 1, None),
    "REBOA": (1, 2, 1),
    "TAVR": (1, 1, 1),
    "Splenic injury": (1, 1, 1),
    "Breast cancer": (2, None, None),
}
"""Section 4.2 and Figure 7: rank in Table 3 of the selected tree's feature at the root, left and
right; None where it is not among the two."""

CHANCE = sum(share for places in TABLE_3.values() for two in places.values() for _, share in two)
"""First splits, of 18, that a tree drawn at random from the paper's collections has on one of the
two most frequent features: the sum of Table 3, 12.2."""

_AGREED = sum(rank is not None for ranks in SELECTED_TREES.values() for rank in ranks)

NUMBERS = {
    "example": Number(1 - 0.0018 / 0.1121, "CV 11.21 %, Pareto 0.18 % of the bound", "Section 2.5"),
    "direct_size": Number(
        0.125, "12.5 % with a standard deviation of 5 % at θmax = 1", "Section 2.6, Appendix B"
    ),
    "direct_spread": Number(
        0.05, "a standard deviation of 5 % at θmax = 1", "Section 2.6, Appendix B"
    ),
    "direct_small": Number(0.015, "1.5 % at θmax = 0.1", "Appendix B"),
    "linear": Number(1.0, "the relationship is linear", "Section 2.6, Appendix B"),
    "trend": Number(1.0, "an increasing trend, albeit non-monotonic", "Section 2.6, Appendix B"),
    "clear_frontiers": Number(
        4, "clearer in Thrombosis, Sarcoma tumor, TAVR and Breast cancer", "Section 3.2, Figure 2"
    ),
    "frontier_largest": Number(9, "never exceeds nine trees", "Section 3.2, Figure 3"),
    "frontier_mean": Number(5, "on average only five trees", "Section 3.2, Figure 3"),
    "frontier_smallest": Number(1, "in one case just one", "Section 3.2, Figure 3"),
    "best_beats_both": Number(6, "in all case studies", "Section 3.3, Figure 4 left"),
    "best_beats_forest": Number(2, "in Sarcoma tumor and TAVR", "Section 3.3, Figure 4 left"),
    "closest_beats_cv": Number(3, "in three case studies", "Section 3.3, Figure 4 left"),
    "closest_steadier_than_cv": Number(4, "in four case studies", "Section 3.3, Figure 4 left"),
    "distance_at_most": Number(
        0.05, "never exceeds 5 %, except for breast cancer", "Section 3.3, Figure 4 right"
    ),
    "fewer_nodes": Number(
        5, "in five of six, two to ten times fewer nodes", "Section 3.4, Figure 5"
    ),
    "half_as_deep": Number(0.5, "on average half as deep", "Section 3.4, Figure 5"),
    "best_is_larger": Number(4, "in four of six case studies", "Section 3.4, Figure 5"),
    "forest_spread": Number(6, "smaller for RF", "Section 3.5, Figure 6"),
    "less_spread": Number(4, "in four of six studies", "Section 3.5, Figure 6"),
    "more_features": Number(1, "in only one of six studies", "Section 3.5, Figure 6"),
    "reduction_distance": Number(0.38, "38 % (4.056 to 2.511)", "Section 3.6, Table 1"),
    "price": Number(0.037, "0.04 (4.625 %; 0.800 to 0.763)", "Section 3.6, Table 1"),
    "reduction_importance_spread": Number(0.036, "3.6 %", "Section 3.6, Table 1"),
    "reduction_top_features": Number(0.044, "4.4 %", "Section 3.6, Table 1"),
    "reduction_nodes": Number(0.222, "22.2 %", "Section 3.6, Table 1"),
    "reduction_depth": Number(0.062, "6.2 %", "Section 3.6, Table 1"),
    "representative": Number(
        _AGREED - CHANCE,
        f"{_AGREED} of 18, where a random tree has {CHANCE:.1f} by Table 3",
        "Section 4.2, Figure 7, Table 3",
    ),
}
"""What single claims are held against, by the name that the rules use. Percentages are those of
the text of Section 3.6; the rounded cells of Table 1 give 22.1 and 6.1 for nodes and depth."""
