"""Put a tree into the place of the one in a scikit-learn model: alone, in wrappers, in pipelines.

The model is copied and its tree exchanged; steps before it stay as they were fitted, so that the
new model takes the same rows. Wrappers that hold a decision threshold get the tree's.
"""

from __future__ import annotations

import copy
from dataclasses import asdict
from typing import Any

from steadytree.formats.kept_labels import leaf_shares, over_columns
from steadytree.formats.sklearn.pipeline_columns import pipeline_columns
from steadytree.formats.sklearn.pipeline_tree import tree_in_pipeline
from steadytree.formats.sklearn.write_sklearn import (
    children_last,
    decided_by_threshold,
    fitted_tree,
)
from steadytree.plugins import Tree, UnsupportedModelError, not_fitted, read_model
from steadytree.plugins import write_like as write_model_like


def imitates(model: Any) -> bool:
    """Whether a model is of scikit-learn: a tree, or something around one."""
    kinds = [kind.__module__.partition(".")[0] for kind in type(model).__mro__]
    return "sklearn" in kinds and not {"lightgbm", "xgboost"} & set(kinds)


def predict(model: Any, X: Any, tree: Tree) -> Any:
    """Labels or responses."""
    return model.predict(X)


def write_like(tree: Tree, model: Any, prefer: str | None) -> Any:
    """Return a copy of a scikit-learn model with this tree in the place of its own."""
    return _exchanged(tree, model, prefer, decided=False)


def _exchanged(tree: Tree, model: Any, prefer: str | None, *, decided: bool) -> Any:
    """Exchange the tree of a model; ``decided``: what is around it applies the threshold."""
    from sklearn.frozen import FrozenEstimator
    from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV
    from sklearn.model_selection._search import BaseSearchCV
    from sklearn.pipeline import Pipeline
    from sklearn.tree import BaseDecisionTree

    if isinstance(model, Pipeline):
        return _in_pipeline(tree, model, prefer, decided=decided)
    if isinstance(model, BaseSearchCV):
        return _exchanged(tree, _fitted(model, "best_estimator_"), prefer, decided=decided)
    if isinstance(model, FrozenEstimator):
        return _exchanged(tree, model.estimator, prefer, decided=decided)
    if isinstance(model, (FixedThresholdClassifier, TunedThresholdClassifierCV)):
        return _with_threshold(tree, model, prefer)
    if isinstance(model, BaseDecisionTree):
        _fitted(model, "tree_")
        names = getattr(model, "feature_names_in_", None)
        placed = over_columns(
            tree,
            None if names is None else names.tolist(),
            model.n_features_in_,
            f"the {type(model).__name__}",
        )
        return exchanged_tree(placed, model, prefer, decided=decided)
    raise UnsupportedModelError(
        f"expected a decision tree of scikit-learn, alone, in a pipeline, a search or a threshold "
        f"classifier, got {type(model).__name__}; pass one of these, or leave like= out"
    )


def exchanged_tree(tree: Tree, model: Any, prefer: str | None, *, decided: bool) -> Any:
    """Return a tree over a scikit-learn tree's own columns as one with the same settings."""
    from sklearn.base import clone, is_classifier

    if is_classifier(model) != tree.is_classifier:
        kinds = ("regression", "classification")
        raise UnsupportedModelError(
            f"expected a {kinds[is_classifier(model)]} tree, as {type(model).__name__} is, got a "
            f"{kinds[tree.is_classifier]} tree"
        )
    by_set = [j for j in sorted(tree.used_features) if tree.categories[j] is not None]
    if by_set:
        raise UnsupportedModelError(
            f"expected splits on numbers, which is all that {type(model).__name__} knows, got "
            f"categories of {', '.join(repr(tree.feature_labels[j]) for j in by_set)}; leave "
            "like= out for a pipeline that codes them"
        )
    tree = children_last(tree)
    shares = leaf_shares(tree, prefer, "scikit-learn")
    settings = clone(model)
    if getattr(settings, "class_weight", None) is not None:
        # The shares of this tree are not weighted by class; its threshold stands for that.
        settings.set_params(class_weight=None)
    fitted = fitted_tree(tree, shares, settings)
    return fitted if decided else decided_by_threshold(fitted, tree)


def _in_pipeline(tree: Tree, model: Any, prefer: str | None, *, decided: bool) -> Any:
    """Exchange the last step of a pipeline, the tree told in the columns that it gets."""
    name, last = model.steps[-1]
    if any(step is not None and step != "passthrough" for _, step in model.steps[:-1]):
        inside = read_model(last)
        tree, moved = tree_in_pipeline(
            tree,
            pipeline_columns(model),
            precision=inside.precision,
            deployed={
                column: inside.threshold[inside.feature == column]
                for column in inside.used_features
            },
        )
        last = _last_step(tree, last, prefer, decided=decided)
        last.moved_thresholds_ = [asdict(one) for one in moved]
    else:
        last = _last_step(tree, last, prefer, decided=decided)
    out = copy.deepcopy(model)
    out.steps[-1] = name, last
    return out


def _last_step(tree: Tree, last: Any, prefer: str | None, *, decided: bool) -> Any:
    if imitates(last):
        return _exchanged(tree, last, prefer, decided=decided)
    return write_model_like(tree, last, prefer=prefer)


def _with_threshold(tree: Tree, model: Any, prefer: str | None) -> Any:
    """Exchange the tree inside a threshold classifier, and give it the tree's threshold."""
    inside = _exchanged(tree, _fitted(model, "estimator_"), prefer, decided=True)
    threshold, positive = tree.decision_threshold, tree.decision.position
    if threshold is None:
        return inside
    around = copy.copy(model)
    around.estimator_ = inside
    if hasattr(around, "best_threshold_"):
        if positive != 1:
            return decided_by_threshold(inside, tree)
        around.best_threshold_ = threshold
        return around
    around.set_params(threshold=threshold, pos_label=(tree.classes or ())[positive])
    return around


def _fitted(model: Any, attribute: str) -> Any:
    if not hasattr(model, attribute):
        raise not_fitted(model)
    return getattr(model, attribute)
