"""The numbers the paper prints, in one place: what ours are put beside.

Its figures of bars and clouds carry no numbers in the text, so only what the words and tables
say is here. Shares are between 0 and 1, distances in shares of the paper's bound.
"""

from __future__ import annotations

__all__ = [
    "CASE_STUDY_NAMES",
    "DIRECT",
    "EXAMPLE",
    "FRONTIER",
    "SPLIT_FREQUENCIES",
    "TAKEAWAYS",
]

CASE_STUDY_NAMES = {
    "nafld": "Thrombosis",
    "colon": "Sarcoma tumor",
    "support2": "REBOA",
    "nhefs": "TAVR",
    "nasscds": "Splenic injury",
    "wdbc": "Breast cancer",
}
"""The paper's case study behind each data set; only ``wdbc`` is the paper's own data."""

EXAMPLE = {"cv": 0.1121, "pareto": 0.0018}
"""Section 2.5: distance between the trees on half and on all, sarcoma tumor, depth 4."""

DIRECT = {0.1: 0.015, 1.0: 0.125}
"""Appendix B: mean distance at the least and the largest perturbation; "linear"."""

FRONTIER = {"largest": 9, "mean": 5, "smallest": 1}
"""Section 3.2: trees on the frontier, over all case studies and splits."""

TAKEAWAYS = {
    "pareto_auc": {
        "auc": 0.8,
        "distance": 0.04056,
        "importance_spread": 0.028,
        "top_features": 7.667,
        "nodes": 55.867,
        "depth": 5.2,
    },
    "pareto_distance": {
        "auc": 0.763,
        "distance": 0.02511,
        "importance_spread": 0.027,
        "top_features": 7.333,
        "nodes": 43.5,
        "depth": 4.883,
    },
}
"""Table 1, means over the six case studies; the reductions follow from it."""

SPLIT_FREQUENCIES = {
    "root": (("worst perimeter", 0.3852), ("mean concave points", 0.22)),
    "left": (("worst concave points", 0.3538), ("worst area", 0.12)),
    "right": (("worst texture", 0.1738), ("(leaf)", 0.13)),
}
"""Table 3, breast cancer: the two most frequent features at each place."""
