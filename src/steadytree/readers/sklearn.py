"""Read scikit-learn's DecisionTree and ExtraTree models."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadytree.core.decision import Decision
from steadytree.core.observed import Observed
from steadytree.core.tree import Tree
from steadytree.exceptions import NotFittedTreeError, UnsupportedModelError
from steadytree.readers import read_model

__all__ = ["advice", "read", "reads"]


def reads(model: Any) -> bool:
    """Whether this adapter can read the model (or should explain why it cannot)."""
    from sklearn.pipeline import Pipeline
    from sklearn.tree import BaseDecisionTree

    return isinstance(model, (BaseDecisionTree, Pipeline, *_threshold_models()))


def advice(model: Any) -> str:
    """Say what to pass instead of a scikit-learn model that is not one tree."""
    from sklearn.ensemble import BaseEnsemble
    from sklearn.model_selection._search import BaseSearchCV

    if isinstance(model, BaseSearchCV):
        return "; pass its best_estimator_"
    if isinstance(model, BaseEnsemble):
        return ", a forest of many trees; pass one of its estimators_, or distil it into one tree"
    return ""


def read(model: Any) -> Tree:
    """Convert a fitted scikit-learn tree, leaf by leaf the same predictions.

    scikit-learn compares float32 values with float64 thresholds, and so does the
    :class:`Tree`. Node numbers are the same, so ``apply`` agrees as well.
    """
    from sklearn.pipeline import Pipeline

    if isinstance(model, Pipeline):
        return _read_pipeline(model)
    if isinstance(model, _threshold_models()):
        return _read_threshold_model(model)
    if not hasattr(model, "tree_"):
        raise NotFittedTreeError(
            f"expected a fitted model, got {type(model).__name__} before fit; call fit(X, y) first"
        )
    if model.n_outputs_ != 1:
        raise UnsupportedModelError(
            f"expected a tree with one output, got {model.n_outputs_}; "
            "fit one tree per output and compare them one by one"
        )
    inner = model.tree_
    raw = np.asarray(inner.value)[:, 0, :]
    classes = None
    given: dict[str, Any] = {}
    if hasattr(model, "classes_"):
        classes = tuple(np.asarray(model.classes_).tolist())
        given["label"] = raw.argmax(axis=1)
        total = raw.sum(axis=1, keepdims=True)
        counts = np.abs(total - 1) > 1e-9
        if counts.any():
            # Shares already, as a rule: left alone, so that they stay equal bit for bit.
            raw = np.divide(raw, total, out=raw.copy(), where=(total > 0) & counts)
            raw = np.where(total > 0, raw, 1 / raw.shape[1])
    alike = _alike(inner.weighted_n_node_samples, inner.n_node_samples)
    observed, class_weight = _observed(
        model, inner, raw, classifier=classes is not None, alike=alike
    )
    names = getattr(model, "feature_names_in_", None)
    if hasattr(inner, "missing_go_to_left"):
        given["missing_left"] = np.asarray(inner.missing_go_to_left, dtype=bool)
    return Tree(
        children_left=inner.children_left,
        children_right=inner.children_right,
        feature=inner.feature,
        threshold=inner.threshold,
        value=raw,
        n_features=int(model.n_features_in_),
        weight=inner.weighted_n_node_samples,
        classes=classes,
        feature_names=None if names is None else tuple(names.tolist()),
        precision="float32",
        impurity=inner.impurity,
        metadata={
            "source": f"scikit-learn {type(model).__name__}",
            "n_training_rows": int(inner.n_node_samples[0]),
            "weighted": getattr(model, "class_weight", None) is not None or not alike,
            **({} if class_weight is None else {"class_weight": class_weight}),
        },
        observed=observed,
        **given,
    )


def _observed(
    model: Any, inner: Any, shares: NDArray[np.float64], *, classifier: bool, alike: bool
) -> tuple[Observed | None, list[float] | None]:
    """Rows and outcomes at each node, and the class weights that the shares carry.

    scikit-learn keeps the rows and their weight at each node, and the weighted shares. If rows
    weigh by their class alone, the rows are linear in the inverse weights, which the nodes
    determine; else what was counted cannot be told, and None is returned.
    """
    rows = np.asarray(inner.n_node_samples, dtype=np.float64)
    weight = np.asarray(inner.weighted_n_node_samples, dtype=np.float64)
    if not classifier:
        if not alike:
            return None, None
        sums = np.column_stack([rows, rows * shares[:, 0]])
        return Observed.plain(sums, sums, classifier=False), None
    weighted = weight[:, None] * shares
    by_class = getattr(model, "class_weight", None)
    if by_class is None and alike:
        counts = np.round(weighted)
        return Observed.plain(counts, counts, classifier=True), None
    if isinstance(by_class, dict):
        inverse = np.array([1 / by_class.get(c, 1) for c in model.classes_.tolist()])
    else:
        inverse = np.linalg.lstsq(weighted, rows, rcond=None)[0]
    counts = weighted * inverse
    whole = np.round(counts)
    tolerance = 1e-6 * (1 + rows[0])
    if (
        (inverse <= 0).any()
        or np.abs(counts - whole).max() > tolerance
        or np.abs(whole.sum(axis=1) - rows).max() > tolerance
    ):
        return None, None
    found: list[float] = (1 / inverse).tolist()
    equal = np.allclose(found, found[0])
    return Observed.plain(whole, weighted, classifier=True), None if equal else found


def _threshold_models() -> tuple[type, ...]:
    from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV

    return FixedThresholdClassifier, TunedThresholdClassifierCV


def _read_threshold_model(model: Any) -> Tree:
    """Read the tree inside, with the threshold of the model around it as its decision."""
    if not hasattr(model, "estimator_"):
        raise NotFittedTreeError(
            f"expected a fitted model, got {type(model).__name__} before fit; call fit(X, y) first"
        )
    tree = read_model(model.estimator_)
    threshold = getattr(model, "best_threshold_", getattr(model, "threshold", "auto"))
    classes = list(tree.classes or ())
    positive = classes.index(model.pos_label) if getattr(model, "pos_label", None) in classes else 1
    return tree.relabelled(
        Decision(
            threshold=0.5 if threshold == "auto" else float(threshold),
            positive=positive,
            origin=type(model).__name__,
        )
    )


def _alike(weight: NDArray[np.float64], count: NDArray[np.int64]) -> bool:
    """Whether every row weighs 1; equal as a rule, and then compared cheaply."""
    return bool((weight == count).all()) or np.allclose(weight, count)


def _read_pipeline(model: Any) -> Tree:
    """Read the last step, if the other steps leave the columns alone."""
    blocking = [name for name, step in model.steps[:-1] if step not in (None, "passthrough")]
    if blocking:
        raise UnsupportedModelError(
            f"expected a tree on the original columns, got a pipeline that transforms them in "
            f"{blocking}; pass pipeline[-1] and compare in the transformed columns, "
            "or fit steadytree's estimators, which encode categories themselves"
        )
    last = model.steps[-1][1]
    return read_model(last)
