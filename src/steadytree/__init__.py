"""Decision trees that stay put: measure, grow, retrain and explain them."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

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
from steadytree.selection import pareto_mask

if TYPE_CHECKING:
    from steadytree.assessment import StabilityAssessment, assess_stability
    from steadytree.diff import TreeDiff, diff_trees
    from steadytree.estimators import (
        DistilledTreeClassifier,
        DistilledTreeRegressor,
        StableTreeClassifier,
        StableTreeRegressor,
        TreeClassifier,
        TreeRegressor,
    )
    from steadytree.plotting import (
        ParetoFrontierDisplay,
        SensitivityDisplay,
        SplitFrequencyDisplay,
        TreeComparisonDisplay,
        TreeMapDisplay,
    )
    from steadytree.retraining import History, Retraining, retrain, retrain_sequence

__version__ = "0.1.0"

__all__ = [
    "DistilledTreeClassifier",
    "DistilledTreeRegressor",
    "FeatureSpace",
    "History",
    "ParetoFrontierDisplay",
    "PathMatching",
    "Retraining",
    "SensitivityDisplay",
    "SplitFrequencyDisplay",
    "StabilityAssessment",
    "StableTreeClassifier",
    "StableTreeRegressor",
    "Tree",
    "TreeClassifier",
    "TreeComparisonDisplay",
    "TreeDiff",
    "TreeMapDisplay",
    "TreeRegressor",
    "__version__",
    "as_tree",
    "assess_stability",
    "diff_trees",
    "distance_bound",
    "load_tree",
    "match_paths",
    "pairwise_tree_distances",
    "pareto_mask",
    "retrain",
    "retrain_sequence",
    "save_tree",
    "tree_distance",
]

# Names that need more of scikit-learn, or matplotlib, are imported when first used, so
# that `import steadytree` stays lighter than `import sklearn.tree`.
_HOME = {
    "assessment": ("StabilityAssessment", "assess_stability"),
    "diff": ("TreeDiff", "diff_trees"),
    "estimators": (
        "DistilledTreeClassifier",
        "DistilledTreeRegressor",
        "StableTreeClassifier",
        "StableTreeRegressor",
        "TreeClassifier",
        "TreeRegressor",
    ),
    "plotting": (
        "ParetoFrontierDisplay",
        "SensitivityDisplay",
        "SplitFrequencyDisplay",
        "TreeComparisonDisplay",
        "TreeMapDisplay",
    ),
    "retraining": ("History", "Retraining", "retrain", "retrain_sequence"),
}
_LAZY = {name: module for module, names in _HOME.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_LAZY[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
