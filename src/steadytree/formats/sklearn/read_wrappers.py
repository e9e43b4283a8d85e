"""Read one tree of the scikit-learn models that are made around trees.

A threshold around a tree is its decision policy, a search is its best model, and of a forest one
tree is read at a time, with the names and classes of the whole.
"""

from __future__ import annotations

from typing import Any

from steadytree.plugins import (
    Decision,
    NotFittedTreeError,
    Tree,
    choose_tree,
    not_fitted,
    quoted,
    read_model,
)


def reads(model: Any) -> bool:
    """Whether a model is one around trees."""
    return _kind(model) is not None


def _kind(model: Any) -> str | None:
    """Return which of the kinds below a model is, by name: nothing is imported to see it."""
    ours = (c.__name__ for c in type(model).__mro__ if c.__module__.startswith("sklearn."))
    return next((name for name in ours if name in _KINDS), None)


def advice(model: Any) -> str:
    """Say what to pass instead of an ensemble of which no tree can be read alone."""
    from sklearn.ensemble import BaseEnsemble

    if isinstance(model, BaseEnsemble):
        return ", a model of many trees; pass one of its estimators_, or distil it into one tree"
    return ""


def read(model: Any, tree_index: int | None = None) -> Tree:
    """Read the tree inside, as the model around it uses it."""
    return _KINDS[_kind(model) or ""](model, tree_index)


def _read_threshold_model(model: Any, tree_index: int | None) -> Tree:
    """Read the tree inside, with the threshold of the model around it as its decision."""
    if not hasattr(model, "estimator_"):
        raise not_fitted(model)
    tree = read_model(model.estimator_, tree_index=tree_index)
    threshold = getattr(model, "best_threshold_", getattr(model, "threshold", "auto"))
    classes = list(tree.classes or ())
    named = getattr(model, "pos_label", None)
    return tree.relabelled(
        Decision(
            threshold=0.5 if threshold == "auto" else float(threshold),
            # scikit-learn's own default is the second class.
            positive=named if named in classes else classes[1] if len(classes) == 2 else None,
            origin=type(model).__name__,
        )
    )


def _read_search(search: Any, tree_index: int | None) -> Tree:
    """Read the model that a search predicts with."""
    if hasattr(search, "best_estimator_"):
        return read_model(search.best_estimator_, tree_index=tree_index)
    if hasattr(search, "cv_results_"):
        raise NotFittedTreeError(
            f"expected a search that fits its best model, got {type(search).__name__} with "
            f"refit={quoted(search.refit)}; set refit=True and fit again"
        )
    raise not_fitted(search)


def _read_frozen(model: Any, tree_index: int | None) -> Tree:
    return read_model(model.estimator, tree_index=tree_index)


def _read_forest(model: Any, tree_index: int | None) -> Tree:
    """Read one tree of a forest; its own classes are positions among those of the whole."""
    if not hasattr(model, "estimators_"):
        raise not_fitted(model)
    at = choose_tree(len(model.estimators_), tree_index, f"a {type(model).__name__}")
    tree = read_model(model.estimators_[at])
    names, classes = (getattr(model, name, None) for name in ("feature_names_in_", "classes_"))
    source = f"{tree.metadata['source']} {at} of a {type(model).__name__}"
    return tree.replace(
        feature_names=None if names is None else tuple(names.tolist()),
        classes=None if classes is None else tuple(classes.tolist()),
        metadata={**tree.metadata, "source": source},
    )


_KINDS = {
    "FixedThresholdClassifier": _read_threshold_model,
    "TunedThresholdClassifierCV": _read_threshold_model,
    "BaseSearchCV": _read_search,
    "ForestClassifier": _read_forest,
    "ForestRegressor": _read_forest,
    "FrozenEstimator": _read_frozen,
}
