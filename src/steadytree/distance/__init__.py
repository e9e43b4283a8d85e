"""How far apart two trees are: the paper's distance, its metric form, and the matching."""

from __future__ import annotations

from steadytree.distance.bound import distance_bound
from steadytree.distance.distances import pairwise_tree_distances, tree_distance
from steadytree.distance.matching import MatchedPair, PathMatching, UnmatchedPath, match_paths

__all__ = [
    "MatchedPair",
    "PathMatching",
    "UnmatchedPath",
    "distance_bound",
    "match_paths",
    "pairwise_tree_distances",
    "tree_distance",
]
