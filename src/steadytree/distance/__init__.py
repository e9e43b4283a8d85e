"""How far apart two trees are: the paper's distance, its metric form, and the matching."""

from __future__ import annotations

from steadytree.distance.distances import pairwise_tree_distances, tree_distance
from steadytree.distance.matching import MatchedPair, PathMatching, UnmatchedPath, match_paths
from steadytree.distance.variants import VARIANTS, LonePaths, Variant, distance_bound

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
