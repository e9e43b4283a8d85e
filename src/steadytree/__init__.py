"""Decision trees that stay put: measure, grow, retrain and explain them."""

from __future__ import annotations

from steadytree.core.format import load_tree, save_tree
from steadytree.core.space import FeatureSpace
from steadytree.core.tree import Tree
from steadytree.distance import (
    PathMatching,
    distance_bound,
    match_paths,
    pairwise_tree_distances,
    tree_distance,
)
from steadytree.readers import as_tree

__version__ = "0.1.0"

__all__ = [
    "FeatureSpace",
    "PathMatching",
    "Tree",
    "__version__",
    "as_tree",
    "distance_bound",
    "load_tree",
    "match_paths",
    "pairwise_tree_distances",
    "save_tree",
    "tree_distance",
]
