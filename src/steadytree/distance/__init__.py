"""How far apart two trees are: the paper's distance, its metric form, and the matching."""

from __future__ import annotations

from steadytree.distance.distances import pairwise_tree_distances, tree_distance
from steadytree.distance.equations import VARIANTS, LonePaths, Variant, distance_bound
from steadytree.distance.matching import MatchedPair, PathMatching, UnmatchedPath, match_paths

__all__ = [
    "VARIANTS",
    "LonePaths",
    "MatchedPair",
    "PathMatching",
    "UnmatchedPath",
    "Variant",
    "distance_bound",
    "match_paths",
    "pairwise_tree_distances",
    "tree_distance",
]
