"""Write a tree as a fitted scikit-learn model, to run wherever scikit-learn runs.

A tree over numbers becomes a ``DecisionTreeClassifier`` or ``-Regressor``, node for node. One
with categories becomes a ``Pipeline`` that codes them first. A decision threshold becomes a
``FixedThresholdClassifier`` around it. scikit-learn rounds values to single precision before it
compares: every value that single precision holds goes as in the tree; a double that lies between
a threshold and the next single may not.
"""

from __future__ import annotations

import copy
import io
import pickle
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from steadytree.formats.shares_for_labels import leaf_shares, over_columns
from steadytree.formats.sklearn.pipeline_columns import pipeline_columns
from steadytree.formats.sklearn.pipeline_tree import tree_in_pipeline
from steadytree.formats.sklearn.read_sklearn import NOT_OBSERVED
from steadytree.formats.split_tests import SplitTest, split_test
from steadytree.plugins import (
    InputError,
    Tree,
    UnsupportedModelError,
    import_optional,
    not_fitted,
    read_model,
    write_atomic,
)
from steadytree.plugins import write_like as write_model_like

# -- A tree's nodes inside a fitted scikit-learn tree, and its threshold around one --
# scikit-learn has no call that takes nodes; what it restores from a pickle is filled in instead, in
# the layout of the installed version.


def children_last(tree: Tree) -> Tree:
    """Return a tree whose nodes are numbered above their parents', as scikit-learn expects."""
    inner = np.flatnonzero(~tree.is_leaf)
    first = np.minimum(tree.children_left, tree.children_right)[inner]
    return tree if (first > inner).all() else tree.prune_at()


def fitted_tree(tree: Tree, shares: NDArray[np.float64], kind: Any = None) -> Any:
    """Return a fitted scikit-learn tree with the nodes of a tree over numbers.

    ``shares`` are its node values; ``kind`` is an unfitted model to fill, by default a new one.
    """
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
    from sklearn.tree._tree import Tree as SklearnTree

    model = kind
    if model is None:
        model = DecisionTreeClassifier() if tree.is_classifier else DecisionTreeRegressor()
    model.n_features_in_ = model.max_features_ = tree.n_features
    model.n_outputs_ = 1
    if tree.feature_names is not None:
        model.feature_names_in_ = np.array(tree.feature_names, dtype=object)
    n_values = 1
    if tree.classes is not None:
        model.classes_ = tree.class_names(np.arange(len(tree.classes)))
        n_values = len(tree.classes)
        model.n_classes_ = np.int64(n_values)
    inside = SklearnTree(tree.n_features, np.array([n_values], dtype=np.intp), 1)
    inside.__setstate__(
        {
            "max_depth": tree.depth,
            "node_count": tree.n_nodes,
            "nodes": _node_table(tree),
            "values": np.ascontiguousarray(shares[:, None, :]),
        }
    )
    model.tree_ = inside
    # scikit-learn's own trees predict what was observed in their nodes.
    observed = None if tree.observed is None else tree.observed.rate()
    if observed is None or not np.allclose(tree.value, observed, rtol=1e-12, atol=0):
        setattr(model, NOT_OBSERVED, True)
    return model


def _node_table(tree: Tree) -> NDArray[Any]:
    """Return the nodes as the installed scikit-learn lays them out."""
    from sklearn.tree import DecisionTreeRegressor

    # Of a tree that it has fitted itself: versions differ in the columns.
    layout = DecisionTreeRegressor().fit([[0.0]], [0.0]).tree_.__getstate__()["nodes"].dtype
    rows = tree.weight if tree.observed is None else tree.observed.rows()
    columns = {
        "left_child": tree.children_left,
        "right_child": tree.children_right,
        "feature": np.where(tree.is_leaf, -2, tree.feature),
        "threshold": np.where(tree.is_leaf, -2.0, tree.threshold),
        "impurity": tree.impurity,
        "n_node_samples": np.round(rows).astype(np.int64),
        "weighted_n_node_samples": tree.weight,
        "missing_go_to_left": tree.missing_left & ~tree.is_leaf,
    }
    table = np.zeros(tree.n_nodes, dtype=layout)
    for name, values in columns.items():
        table[name] = values
    return table


def decided_by_threshold(model: Any, tree: Tree) -> Any:
    """Let a fitted classifier decide by the tree's threshold, where it has one."""
    if tree.decision_threshold is None:
        return model
    from sklearn.frozen import FrozenEstimator
    from sklearn.model_selection import FixedThresholdClassifier

    around = FixedThresholdClassifier(
        FrozenEstimator(model),
        threshold=tree.decision_threshold,
        pos_label=(tree.classes or ())[tree.decision.position],
        response_method="predict_proba",
    )
    # What fit() would set; there are no rows to call it with.
    around.estimator_ = model
    for name in ("n_features_in_", "feature_names_in_"):
        if hasattr(model, name):
            setattr(around, name, getattr(model, name))
    return around


# -- Files of scikit-learn models: .skops, which opens without running code, or pickles if asked --

SUFFIXES = (".skops",)
PICKLES = (".joblib", ".pkl", ".pickle")


def save(model: Any, path: Path) -> Path:
    """Write a model to a file: as .skops, or as a pickle where the path asks for one."""
    suffix = path.suffix.lower()
    if suffix in SUFFIXES:
        skops = import_optional("skops.io", purpose="writing .skops files", extra="skops")
        return write_atomic(path, skops.dumps(model))
    if suffix == ".joblib":
        import joblib

        packed = io.BytesIO()
        joblib.dump(model, packed)
        return write_atomic(path, packed.getvalue())
    if suffix in PICKLES:
        return write_atomic(path, pickle.dumps(model))
    raise InputError(
        f"expected a path that ends in .skops, {', '.join(PICKLES)}, got {str(path)!r}; .skops can "
        "be opened without running code"
    )


# -- Columns of codes: scikit-learn's trees compare numbers, and so ask about categories --
# For every set of categories that a tree asks about there is one column: 0 for what goes left, 1
# for what goes right. An encoder puts those that go left first, the others behind them, missing
# values and categories never met on the side where the tree sends them; a binarizer cuts between.
# The tree stays what it is, node for node.


def coded_columns(tree: Tree) -> tuple[Any, Tree]:
    """Return a fitted ``ColumnTransformer``, and the tree over the columns that it makes."""
    from sklearn.compose import ColumnTransformer

    numbers = [j for j, categories in enumerate(tree.categories) if categories is None]
    place = {j: at for at, j in enumerate(numbers)}
    feature, threshold = np.array(tree.feature), np.array(tree.threshold)
    parts: list[Any] = []
    found: dict[Any, int] = {}
    for node in np.flatnonzero(~tree.is_leaf).tolist():
        column = int(tree.feature[node])
        if tree.left_categories[node] is None:
            feature[node] = place[column]
            continue
        test = split_test(tree, node)
        key = (column, test.left, test.missing_left, test.unseen_left)
        if key not in found:
            found[key] = len(numbers) + len(found)
            name = f"set {len(found)} of {test.name}"
            parts.append((name, _side_column(test), [_column(tree, column)]))
        feature[node], threshold[node] = found[key], 0.5
    if numbers:
        kept = [_column(tree, column) for column in numbers]
        parts.insert(0, ("numbers", "passthrough", kept))
    columns = ColumnTransformer(parts).fit(_frame_like(tree))
    changes: dict[str, Any] = {
        "feature": feature,
        "threshold": threshold,
        "n_features": len(numbers) + len(found),
        "left_categories": (),
        "unseen_left": None,
        "categories": (),
        "feature_names": None,
    }
    return columns, tree.replace(**changes)


def _column(tree: Tree, feature: int) -> str | int:
    return feature if tree.feature_names is None else tree.feature_names[feature]


def _side_column(test: SplitTest) -> Any:
    """Return steps that make 0 of what goes left and 1 of what goes right."""
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import Binarizer, OrdinalEncoder

    coded, n_left = _in_order(test)
    encoder = OrdinalEncoder(
        categories=[coded],
        handle_unknown="use_encoded_value",
        unknown_value=-1 if test.unseen_left else len(coded),
        encoded_missing_value=-2 if test.missing_left else len(coded) + 1,
    )
    return Pipeline([("codes", encoder), ("side", Binarizer(threshold=n_left - 0.5))])


def _in_order(test: SplitTest) -> tuple[NDArray[Any], int]:
    """Return the categories in the order of their codes, and how many of them go left."""
    every = test.left + test.right
    if _are_numbers(every):
        # scikit-learn wants numbers in order: only one side is named, the other is as unseen.
        named, means_left = test.listed
        if not named:
            named, means_left = every, test.unseen_left
        return np.array([*sorted(float(c) for c in named), np.nan]), len(named) * means_left
    if not all(isinstance(c, str) for c in every):
        raise UnsupportedModelError(
            f"expected categories of {test.name!r} that are all text or all numbers, as "
            "scikit-learn's encoders do, got both; write them alike, or export to Python"
        )
    # NaN has a code of its own; None is a category, and stands on the same side.
    left = [*test.left, None] if test.missing_left else [*test.left]
    right = [*test.right] if test.missing_left else [None, *test.right]
    return np.array([*left, *right, np.nan], dtype=object), len(left)


def _are_numbers(categories: tuple[Any, ...]) -> bool:
    return all(isinstance(c, (bool, int, float)) and float(c) == c for c in categories)


def _frame_like(tree: Tree) -> Any:
    """Return a row of the kind the tree reads, from which encoders learn their columns' types."""
    texts = [
        categories is not None and not _are_numbers(categories) for categories in tree.categories
    ]
    if tree.feature_names is None:
        return np.zeros((1, tree.n_features), dtype=object if any(texts) else np.float64)
    return pd.DataFrame(
        {
            name: pd.Series([0], dtype=object if text else np.float64)
            for name, text in zip(tree.feature_names, texts, strict=True)
        }
    )


# -- Write a tree as a fitted scikit-learn model, to run wherever scikit-learn runs --


def write(tree: Tree, *, prefer: str | None = None, like: Any = None) -> Any:
    """Return a tree as a fitted scikit-learn model.

    Parameters
    ----------
    tree : Tree
    prefer : {"labels", "shares"}, optional
        scikit-learn's labels always follow the shares. Where a leaf's label does not, one of
        them has to give way; without a preference such a tree is refused.
    like : model, optional
        Return a model of this one's form instead: a pipeline with the tree exchanged, a
        LightGBM or XGBoost model of one tree; see :mod:`steadytree.plugins`.

    Returns
    -------
    model
        Predicts single-precision values exactly as the tree does. Missing values are NaN, in
        columns of text also None; pandas' NA in text, and None among categories that are
        numbers, are categories never met to scikit-learn.
    """
    if like is not None:
        return write_model_like(tree, like, prefer=prefer)
    tree = children_last(tree)
    shares = leaf_shares(tree, prefer, "scikit-learn")
    if any(categories is not None for categories in tree.categories):
        from sklearn.pipeline import Pipeline

        columns, numeric = coded_columns(tree)
        model: Any = Pipeline([("columns", columns), ("tree", fitted_tree(numeric, shares))])
    else:
        model = fitted_tree(tree, shares)
    return decided_by_threshold(model, tree)


# -- in the place of another tree: alone, in wrappers, in pipelines ----------------------
# The model is copied and its tree exchanged; steps before it stay as they were fitted, so that the
# new model takes the same rows. Wrappers that hold a decision threshold get the tree's.


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
