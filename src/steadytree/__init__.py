"""Decision trees that stay put: measure, grow, retrain and explain them."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # for type checkers; a test holds this against _HOME
    from steadytree._optional import show_versions as show_versions
    from steadytree.certificate import Certificate as Certificate
    from steadytree.certificate import certify as certify
    from steadytree.diff import TreeDiff as TreeDiff
    from steadytree.diff import diff_trees as diff_trees
    from steadytree.diff.comparison import TreeComparison as TreeComparison
    from steadytree.diff.comparison import compare as compare
    from steadytree.distance import PathMatching as PathMatching
    from steadytree.distance import distance_bound as distance_bound
    from steadytree.distance import match_paths as match_paths
    from steadytree.distance import pairwise_tree_distances as pairwise_tree_distances
    from steadytree.distance import tree_distance as tree_distance
    from steadytree.estimators import DistilledTreeClassifier as DistilledTreeClassifier
    from steadytree.estimators import DistilledTreeRegressor as DistilledTreeRegressor
    from steadytree.estimators import StableTreeClassifier as StableTreeClassifier
    from steadytree.estimators import StableTreeRegressor as StableTreeRegressor
    from steadytree.estimators import TreeClassifier as TreeClassifier
    from steadytree.estimators import TreeRegressor as TreeRegressor
    from steadytree.estimators.assessment import StabilityAssessment as StabilityAssessment
    from steadytree.estimators.assessment import assess_stability as assess_stability
    from steadytree.estimators.selection import pareto_mask as pareto_mask
    from steadytree.evaluation.plan import ChangePlan as ChangePlan
    from steadytree.formats.rules.read_rules import tree_from_rules as tree_from_rules
    from steadytree.plugins import as_tree as as_tree
    from steadytree.plugins import export_tree as export_tree
    from steadytree.retraining import History as History
    from steadytree.retraining import Retraining as Retraining
    from steadytree.retraining import Rows as Rows
    from steadytree.retraining import SearchOptions as SearchOptions
    from steadytree.retraining import retrain as retrain
    from steadytree.tree.decision import Decision as Decision
    from steadytree.tree.json import load_tree as load_tree
    from steadytree.tree.json import save_tree as save_tree
    from steadytree.tree.space import FeatureSpace as FeatureSpace
    from steadytree.tree.tree import Tree as Tree

__version__ = "0.1.0"

# Where each public name lives. Names are imported when first used, so that
# `import steadytree` is quick and nothing optional is needed before it is asked for.
_HOME = {
    "_optional": ("show_versions",),
    "certificate": ("Certificate", "certify"),
    "diff": ("TreeDiff", "diff_trees"),
    "diff.comparison": ("TreeComparison", "compare"),
    "distance": (
        "PathMatching",
        "distance_bound",
        "match_paths",
        "pairwise_tree_distances",
        "tree_distance",
    ),
    "estimators": (
        "DistilledTreeClassifier",
        "DistilledTreeRegressor",
        "StableTreeClassifier",
        "StableTreeRegressor",
        "TreeClassifier",
        "TreeRegressor",
    ),
    "estimators.assessment": ("StabilityAssessment", "assess_stability"),
    "estimators.selection": ("pareto_mask",),
    "evaluation.plan": ("ChangePlan",),
    "formats.rules.read_rules": ("tree_from_rules",),
    "plugins": ("as_tree", "export_tree"),
    "retraining": ("History", "Retraining", "Rows", "SearchOptions", "retrain"),
    "tree.decision": ("Decision",),
    "tree.json": ("load_tree", "save_tree"),
    "tree.space": ("FeatureSpace",),
    "tree.tree": ("Tree",),
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}

__all__ = sorted([*_MODULE_OF, "__version__"])


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
