"""Read scikit-learn's DecisionTree and ExtraTree models."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadytree.plugins import (
    Observed,
    Tree,
    UnsupportedModelError,
    build_trees,
    choose_tree,
    is_a,
    not_fitted,
)

NOT_OBSERVED = "predicts_not_observed_"
"""Attribute of a model whose node values are not those of the rows it counts."""


def reads(model: Any) -> bool:
    """Whether a model is one tree of scikit-learn."""
    return is_a(model, "sklearn", "BaseDecisionTree")


def read(model: Any, tree_index: int | None = None) -> Tree:
    """Convert a fitted scikit-learn tree, leaf by leaf the same predictions.

    scikit-learn compares float32 values with float64 thresholds, and so does the
    :class:`Tree`. Node numbers are the same, so ``apply`` agrees as well.
    """
    choose_tree(1, tree_index, "a decision tree")
    return read_all([model])[0]


def read_all(models: Sequence[Any]) -> list[Tree]:
    """Convert several models as :func:`read`, those over the same columns and classes at once.

    Models that are the same tree become one :class:`Tree`.
    """
    trees: list[Any] = [None] * len(models)
    alike: dict[Any, list[int]] = {}
    for k, model in enumerate(models):
        outside = _outside(model)
        # 1 and True are equal, but not the same class.
        kinds = tuple(map(type, outside[1] or ()))
        alike.setdefault((outside, kinds), []).append(k)
    for (outside, _), members in alike.items():
        # Settings that change nothing give the same tree again and again: it is read once.
        equal: dict[Any, list[int]] = {}
        for k in members:
            equal.setdefault(_content(models[k]), []).append(k)
        read = _read_alike([models[same[0]] for same in equal.values()], *outside)
        for same, tree in zip(equal.values(), read, strict=True):
            for k in same:
                trees[k] = tree
    return trees


def _outside(model: Any) -> tuple[int, tuple[Any, ...] | None, tuple[str, ...] | None]:
    """Return the number of features, the classes and the features' names of a model."""
    if not hasattr(model, "tree_"):
        raise not_fitted(model)
    if model.n_outputs_ != 1:
        raise UnsupportedModelError(
            f"expected a tree with one output, got {model.n_outputs_}; "
            "fit one tree per output and compare them one by one"
        )
    if getattr(model, "is_categorical_", None) is not None:
        # Of scikit-learn's development version, since its pull request 33354.
        raise UnsupportedModelError(
            "expected a tree that splits on numbers, got one that splits on categories natively; "
            "code them first, in a pipeline with an OrdinalEncoder or OneHotEncoder"
        )
    classes, names = (getattr(model, name, None) for name in ("classes_", "feature_names_in_"))
    return (
        int(model.n_features_in_),
        None if classes is None else tuple(classes.tolist()),
        None if names is None else tuple(names.tolist()),
    )


def _content(model: Any) -> tuple[Any, ...]:
    """Return all that a tree is made from, to tell models that give the same tree."""
    state = model.tree_.__getstate__()
    by_class = getattr(model, "class_weight", None)
    not_observed = getattr(model, NOT_OBSERVED, False)
    return (
        type(model),
        repr(by_class),
        not_observed,
        state["nodes"].tobytes(),
        state["values"].tobytes(),
    )


def _read_alike(
    models: Sequence[Any],
    n_features: int,
    classes: tuple[Any, ...] | None,
    names: tuple[str, ...] | None,
) -> list[Tree]:
    # What scikit-learn pickles: its own table of nodes, where every property makes a view.
    states = [model.tree_.__getstate__() for model in models]
    first = np.zeros(len(states) + 1, dtype=np.int64)
    np.cumsum([len(state["nodes"]) for state in states], out=first[1:])
    # Into a table of its own, so that numpy does not compare the fields of all tables first.
    inner = np.empty(first[-1], dtype=states[0]["nodes"].dtype)
    np.concatenate([state["nodes"] for state in states], out=inner)
    raw = np.concatenate([state["values"] for state in states])[:, 0, :]
    label = np.zeros(len(raw), dtype=np.int32)
    if classes is not None:
        label = raw.argmax(axis=1)
        total = raw.sum(axis=1, keepdims=True)
        counts = np.abs(total - 1) > 1e-9
        if counts.any():
            # Shares already, as a rule: left alone, so that they stay equal bit for bit.
            raw = np.divide(raw, total, out=raw.copy(), where=(total > 0) & counts)
            raw = np.where(total > 0, raw, 1 / raw.shape[1])
    weight, rows = inner["weighted_n_node_samples"], inner["n_node_samples"]
    parts = [slice(*ends) for ends in pairwise(first.tolist())]
    # Whether every row weighs 1; equal as a rule, and then compared cheaply.
    equal = np.logical_and.reduceat(weight == rows, first[:-1]).tolist()
    seen = _observed_rows(rows, weight, raw, classes is not None).parts(parts)
    counted = np.ones(len(parts), dtype=bool)
    if classes is not None:
        # Shares that no rows could have are predictions: of a tree with monotone constraints, or
        # one that was written by us.
        counts = weight[:, None] * raw
        whole = np.abs(counts - np.round(counts)).max(axis=1) <= 1e-6 * (1 + weight)
        counted = np.logical_and.reduceat(whole, first[:-1])
    own = []
    for k, (model, part, alike, plain) in enumerate(zip(models, parts, equal, seen, strict=True)):
        not_observed = counted[k] and not getattr(model, NOT_OBSERVED, False)
        observed: Observed | None = plain if not_observed else None
        class_weight = None
        by_class = getattr(model, "class_weight", None)
        alike = alike or np.allclose(weight[part], rows[part])
        if by_class is not None or not alike:
            observed = None
            if classes is not None:
                observed, class_weight = _observed_by_weight(
                    by_class, classes, rows[part], weight[part][:, None] * raw[part]
                )
        metadata = {
            "source": f"scikit-learn {type(model).__name__}",
            "n_training_rows": int(rows[part.start]),
            "weighted": by_class is not None or not alike,
        }
        if class_weight is not None:
            metadata["class_weight"] = class_weight
        own.append({"observed": observed, "metadata": metadata})
    return build_trees(
        first,
        {
            "children_left": inner["left_child"],
            "children_right": inner["right_child"],
            "feature": inner["feature"],
            "threshold": inner["threshold"],
            "value": raw,
            "weight": weight,
            "missing_left": inner["missing_go_to_left"],
            "label": label,
            "impurity": inner["impurity"],
        },
        {
            "n_features": n_features,
            "classes": classes,
            "feature_names": names,
            "precision": "float32",
        },
        own,
    )


def _observed_rows(
    rows: NDArray[np.int64],
    weight: NDArray[np.float64],
    shares: NDArray[np.float64],
    classifier: bool,
) -> Observed:
    """Rows and outcomes at each node where every row weighs 1."""
    if classifier:
        counts = np.round(weight[:, None] * shares)
    else:
        counts = np.column_stack([rows, rows * shares[:, 0]])
    return Observed.plain(counts, counts, classifier=classifier)


def _observed_by_weight(
    by_class: Any, classes: tuple[Any, ...], rows: NDArray[np.int64], weighted: NDArray[np.float64]
) -> tuple[Observed | None, list[float] | None]:
    """Rows and outcomes at each node, and the class weights that the shares carry.

    scikit-learn keeps the rows and their weight at each node, and the weighted shares. If rows
    weigh by their class alone, the rows are linear in the inverse weights, which the nodes
    determine; else what was counted cannot be told, and None is returned.
    """
    if isinstance(by_class, dict):
        inverse = np.array([1 / by_class.get(c, 1) for c in classes])
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
