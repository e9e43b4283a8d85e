"""Read one tree of the scikit-learn models that are made around trees.

A threshold around a tree is its decision policy, a search is its best model, and of a forest or
a bag one tree is read at a time, in the columns and classes of the whole. A response that was
transformed for the tree, as by a logarithm, is told in its own units.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from steadytree.plugins import (
    Decision,
    NotFittedTreeError,
    Tree,
    UnsupportedModelError,
    choose_tree,
    not_fitted,
    quoted,
    read_model,
)

THRESHOLD, SEARCH, COLLECTION, RESPONSE = "threshold", "search", "collection", "response"
FROZEN = "frozen"
_KINDS = {
    "FixedThresholdClassifier": THRESHOLD,
    "TunedThresholdClassifierCV": THRESHOLD,
    "BaseSearchCV": SEARCH,
    "BaggingClassifier": COLLECTION,
    "BaggingRegressor": COLLECTION,
    "ForestClassifier": COLLECTION,
    "ForestRegressor": COLLECTION,
    "TransformedTargetRegressor": RESPONSE,
    "FrozenEstimator": FROZEN,
}


def reads(model: Any) -> bool:
    """Whether a model is one around trees."""
    return _kind(model) is not None


def _kind(model: Any) -> str | None:
    """Return what kind of model this is, by its classes' names: nothing is imported to see it."""
    ours = (c.__name__ for c in type(model).__mro__ if c.__module__.startswith("sklearn."))
    return next((_KINDS[name] for name in ours if name in _KINDS), None)


def advice(model: Any) -> str:
    """Say what to pass instead of an ensemble of which no tree can be read alone."""
    from sklearn.ensemble import BaseEnsemble

    if isinstance(model, BaseEnsemble):
        return ", a model of many trees; pass one of its estimators_, or distil it into one tree"
    return ""


def read(model: Any, tree_index: int | None = None) -> Tree:
    """Read the tree inside, as the model around it uses it."""
    kind = _kind(model)
    if kind == THRESHOLD:
        return _read_threshold_model(model, tree_index)
    if kind == SEARCH:
        return read_model(_best(model), tree_index=tree_index)
    if kind == FROZEN:
        return read_model(model.estimator, tree_index=tree_index)
    if kind == RESPONSE:
        return _read_response_model(model, tree_index)
    return _read_member(model, tree_index)


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


def _read_response_model(model: Any, tree_index: int | None) -> Tree:
    """Read the tree inside, its responses in the units of the model around it.

    What was observed is left out: the mean of logarithms says nothing about the mean response.
    """
    if not hasattr(model, "regressor_"):
        raise not_fitted(model)
    tree = read_model(model.regressor_, tree_index=tree_index)
    values = tree.value[:, :1]
    back = model.transformer_.inverse_transform
    with np.errstate(all="ignore"):
        own, turned = (
            np.asarray(back(part), dtype=np.float64) for part in (values, values[::-1].copy())
        )
    if own.shape != values.shape or not np.array_equal(own, turned[::-1], equal_nan=True):
        raise UnsupportedModelError(
            f"expected a response that is transformed back by itself, got "
            f"{type(model.transformer_).__name__}, which makes it from several rows or columns; "
            "pass regressor_ and compare in the transformed response"
        )
    if not np.isfinite(own).all():
        raise UnsupportedModelError(
            f"expected finite responses, got {own[~np.isfinite(own)][0]} of the tree in its own "
            "units; pass regressor_ and compare in the transformed response"
        )
    return tree.replace(value=own, observed=None, impurity=None)


def _best(search: Any) -> Any:
    """Return the model that a search predicts with."""
    if hasattr(search, "best_estimator_"):
        return search.best_estimator_
    if hasattr(search, "cv_results_"):
        raise NotFittedTreeError(
            f"expected a search that fits its best model, got {type(search).__name__} with "
            f"refit={quoted(search.refit)}; set refit=True and fit again"
        )
    raise not_fitted(search)


def _read_member(model: Any, tree_index: int | None) -> Tree:
    """Read one tree of a forest or a bag in the columns and classes of the whole."""
    if not hasattr(model, "estimators_"):
        raise not_fitted(model)
    members = model.estimators_
    at = choose_tree(len(members), tree_index, f"a {type(model).__name__}")
    tree = read_model(members[at])
    names = getattr(model, "feature_names_in_", None)
    columns = getattr(model, "estimators_features_", None)
    where = np.arange(tree.n_features) if columns is None else np.asarray(columns[at])
    n_features = int(model.n_features_in_)
    categories: list[Any] = [None] * n_features
    for j, listed in zip(where.tolist(), tree.categories, strict=True):
        categories[j] = listed
    source = tree.metadata.get("source", "a tree")
    changes: dict[str, Any] = {
        "feature": np.where(tree.is_leaf, -1, where[tree.feature]),
        "n_features": n_features,
        "feature_names": None if names is None else tuple(names.tolist()),
        "categories": tuple(categories),
        "metadata": {**tree.metadata, "source": f"{source} {at} of a {type(model).__name__}"},
    }
    if tree.classes is not None:
        # Members count classes by their position in those of the whole, and may lack some.
        positions = np.array([int(c) for c in tree.classes], dtype=np.intp)
        shares = np.zeros((tree.n_nodes, len(model.classes_)))
        shares[:, positions] = tree.value
        changes |= {
            "classes": tuple(model.classes_.tolist()),
            "value": shares,
            "label": positions[tree.label],
            "observed": (
                None
                if tree.observed is None
                else tree.observed.with_classes(positions, len(model.classes_))
            ),
        }
    return tree.replace(**changes)
