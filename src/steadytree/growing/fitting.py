"""Fit trees on rows of mixed data, coded once for all of them, and read them in its columns."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection._search import BaseSearchCV
from sklearn.tree import BaseDecisionTree
from sklearn.utils import (
    _safe_indexing,
    assert_all_finite,
    check_consistent_length,
    column_or_1d,
)
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import has_fit_parameter

from steadytree._text import quoted
from steadytree.exceptions import InputError
from steadytree.plugins import as_tree, numbers_classes, read_model
from steadytree.tree.columns import outcome_values, plain_scalar
from steadytree.tree.decision import Decision
from steadytree.tree.recoded import MISSING, categories_left
from steadytree.tree.rows import CodedRows
from steadytree.tree.space import FeatureSpace
from steadytree.tree.tree import Tree

# -- Let scikit-learn grow trees on mixed data, and read the result in the user's columns --
# scikit-learn's trees take numbers only. Numeric columns pass as they are (NaN = missing), and
# so do ordered categories, as their position in the order; any other categorical feature
# becomes one 0/1 column per category, plus one for "missing" where that can happen. A tree
# grown on these columns is written back, node by node, as a :class:`Tree` over the original
# features with category sets.


class ColumnEncoder:
    """Columns for scikit-learn from a coded table, and the way back.

    Parameters
    ----------
    space : FeatureSpace
        Says which features are categorical and which can be missing.

    Attributes
    ----------
    column_feature : int array (n_columns,)
        The feature each column comes from.
    column_category : int array (n_columns,)
        For a 0/1 column its category code (-1: "missing"); -2 for a column of numbers or of
        positions in an order.
    """

    def __init__(self, space: FeatureSpace) -> None:
        self.space = space
        features: list[int] = []
        categories: list[int] = []
        for j, cats in enumerate(space.categories):
            if cats is None or space.by_order[j]:
                features.append(j)
                categories.append(-2)
                continue
            codes = [*range(len(cats)), *([MISSING] if space.can_be_missing[j] else [])]
            # Two columns that are each other's complement would be the same split twice.
            kept = codes[1:] if len(codes) == 2 else codes
            features += [j] * len(kept)
            categories += kept
        self.column_feature = np.array(features, dtype=np.int64)
        self.column_category = np.array(categories, dtype=np.int64)

    def transform(self, coded: NDArray[np.float64]) -> NDArray[np.float32]:
        """Columns for scikit-learn from a table coded by ``space.encode``."""
        if not any(self.space.categories):
            return coded.astype(np.float32)
        out = np.empty((len(coded), len(self.column_feature)), dtype=np.float32)
        for k, (j, category) in enumerate(
            zip(self.column_feature.tolist(), self.column_category.tolist(), strict=True)
        ):
            values = coded[:, j]
            if category == -2:
                out[:, k] = values
            elif category == MISSING:
                out[:, k] = np.isnan(values)
            else:
                out[:, k] = values == category
        return out

    def split(
        self, column: int, threshold: float, missing_left: bool
    ) -> tuple[int, float, tuple[int, ...] | None, bool]:
        """One split on a column in the original feature: as in Tree, feature to missing_left."""
        j, category = int(self.column_feature[column]), int(self.column_category[column])
        count = len(self.space.categories[j] or ())
        if category == -2 and count == 0:
            return j, threshold, None, missing_left
        if category == -2:
            left = tuple(code for code in range(count) if code <= threshold)
            return j, np.nan, left, missing_left
        return j, np.nan, *categories_left(threshold, category, count)

    def to_tree(
        self,
        model: Any,
        *,
        classes: tuple[Any, ...] | None = None,
        decision: Decision | float | None = None,
        metadata: dict[str, Any] | None = None,
    ) -> Tree:
        """Write a scikit-learn tree grown on the columns as a tree over the features.

        ``classes`` are all classes of the problem, where a bootstrap may have lost some; by
        default the model's own.
        """
        inner = model.tree_
        raw = np.asarray(inner.value)[:, 0, :]
        own = tuple(np.asarray(model.classes_).tolist()) if hasattr(model, "classes_") else None
        value = raw
        if own is not None:
            classes = classes or own
            shares = raw / raw.sum(axis=1, keepdims=True)
            value = np.zeros((len(raw), len(classes)))
            value[:, [classes.index(c) for c in own]] = shares
        is_inner, column = inner.children_left >= 0, np.maximum(inner.feature, 0)
        feature = np.where(is_inner, self.column_feature[column], -1).astype(np.int32)
        threshold, missing_left = inner.threshold.copy(), inner.missing_go_to_left.astype(bool)
        sets: list[tuple[int, ...] | None] = [None] * inner.node_count
        is_set = np.array([cats is not None for cats in self.space.categories])
        for node in np.flatnonzero(is_inner & is_set[feature]).tolist():
            _, threshold[node], sets[node], missing_left[node] = self.split(
                int(column[node]), float(threshold[node]), bool(missing_left[node])
            )
        return Tree(
            children_left=inner.children_left,
            children_right=inner.children_right,
            feature=feature,
            threshold=threshold,
            left_categories=tuple(sets),
            missing_left=missing_left,
            value=value,
            weight=inner.weighted_n_node_samples,
            classes=classes if own is not None else None,
            n_features=self.space.n_features,
            feature_names=self.space.names,
            categories=self.space.categories,
            precision="float32",
            decision=Decision.of(decision),
            impurity=inner.impurity,
            space=self.space,
            metadata={"n_training_rows": int(inner.n_node_samples[0]), **(metadata or {})},
        )


# -- Fit trees on rows of mixed data, coded once for all of them, and read them in its columns --

Task = Literal["classification", "regression"]


@dataclass(frozen=True, eq=False)
class TrainingData:
    """Coded rows with what it takes to grow trees on them and to write these in one space.

    Attributes
    ----------
    rows : CodedRows
        With the user's own table, for estimators that read mixed data themselves.
    classes : array or None
        All classes of the problem in the user's own type; None for regression.
    encoder : ColumnEncoder
        Writes trees over the columns in the original features.
    columns : float32 array
        Numbers and 0/1 columns, for scikit-learn's trees.
    """

    rows: CodedRows
    classes: NDArray[Any] | None
    encoder: ColumnEncoder
    columns: NDArray[np.float32]

    @classmethod
    def from_rows(
        cls, rows: CodedRows, *, space: FeatureSpace, classes: NDArray[Any] | None
    ) -> TrainingData:
        """Encode coded rows; weights of 1 throughout are dropped."""
        encoder = ColumnEncoder(space)
        return cls(rows.with_weight(rows.weight), classes, encoder, encoder.transform(rows.coded))

    @classmethod
    def from_table(
        cls,
        table: Any,
        y: Any,
        *,
        task: Task,
        space: FeatureSpace | None = None,
        categorical_features: str | Sequence[int | str | bool] | None = "from_dtype",
        weight: NDArray[np.float64] | None = None,
    ) -> TrainingData:
        """Check the outcomes, fix the feature space unless it is given, and code the table.

        ``categorical_features`` is that of :meth:`FeatureSpace.from_data`; the sample weights
        are already checked.
        """
        target = column_or_1d(outcome_values(y), warn=True)
        check_consistent_length(table, target)
        assert_all_finite(target, input_name="y")
        classes: NDArray[Any] | None = None
        if task == "classification":
            check_classification_targets(target)
            classes, codes = np.unique(target, return_inverse=True)
            _check_two_classes(classes, codes, weight)
            outcome: NDArray[Any] = codes.astype(np.int64)
        else:
            target = outcome = target.astype(np.float64)
        if space is None:
            space = FeatureSpace.from_data(
                table, target, categorical_features=categorical_features, task=task
            )
        rows = CodedRows(space.encode(table), outcome, weight, table=table)
        return cls.from_rows(rows, space=space, classes=classes)

    @property
    def space(self) -> FeatureSpace:
        """The space every tree is written in."""
        return self.encoder.space

    @property
    def class_list(self) -> tuple[Any, ...] | None:
        """All classes as plain values, as trees store them."""
        return None if self.classes is None else tuple(self.classes.tolist())

    def read(self, model: Any, n_rows: int, decision: Decision | float | None = None) -> Tree:
        """Write a scikit-learn tree, fitted on columns and positions, in the features."""
        if self.classes is not None:
            # Labels instead of positions would be sorted again for every tree.
            model.classes_ = self.classes[model.classes_]
        return self.encoder.to_tree(
            model,
            classes=self.class_list,
            decision=decision,
            metadata={"n_training_rows": n_rows},
        )


def fit_tree(
    estimator: Any,
    data: TrainingData,
    rows: NDArray[np.int64],
    *,
    seed: int = 0,
    decision: Decision | float | None = None,
) -> Tree:
    """Fit a copy of an estimator on some rows and read it in the original features.

    scikit-learn's trees are given encoded columns, and repeated rows as repeats, so that
    ``min_samples_leaf`` counts them as the paper does; with sample weights a leaf must
    also hold the weight of as many average rows. Other estimators are given the
    user's own table; if their ``fit`` takes ``sample_weight``, repeats become weights,
    so that an out-of-bag estimate inside them never meets a copy of its own row. Those that
    learn only numbered classes are given numbers.

    The estimator is a scikit-learn tree, a search over one (``GridSearchCV``), or anything
    whose fitted form ``as_tree`` reads; ``seed`` goes to every ``random_state`` of the copy.
    """
    model = _seeded_copy(estimator, seed)
    if isinstance(model, BaseDecisionTree):
        return _fit_scikit_tree(model, data, rows, decision)
    searches = isinstance(model, BaseSearchCV)
    inner = model.estimator if searches else model
    on_columns = isinstance(inner, BaseDecisionTree)
    table = data.columns if on_columns else data.rows.table
    numbered = on_columns or numbers_classes(inner)
    y = data.rows.y if data.classes is None or numbered else data.classes[data.rows.y]
    if has_fit_parameter(inner, "sample_weight"):
        kept, times = np.unique(rows, return_counts=True)
        weights = times * (1.0 if data.rows.weight is None else data.rows.weight[kept])
        model.fit(_safe_indexing(table, kept), y[kept], sample_weight=weights)
    elif data.rows.weight is None:
        model.fit(_safe_indexing(table, rows), y[rows])
    else:
        raise InputError(
            f"expected a base estimator whose fit takes sample_weight, got "
            f"{type(inner).__name__}; leave out sample_weight and class_weight"
        )
    fitted = model.best_estimator_ if searches else model
    if on_columns:
        return data.read(fitted, rows.size, decision)
    tree = as_tree(read_model(fitted), space=data.space)
    if numbered and tree.classes is not None and data.class_list is not None:
        tree = tree.replace(classes=tuple(data.class_list[k] for k in tree.classes))
    if tree.is_classifier != (data.classes is not None):
        kinds = ("regression", "classification")
        raise InputError(
            f"expected a base estimator for {kinds[data.classes is not None]}, "
            f"got a {kinds[tree.is_classifier]} tree"
        )
    tree = tree.in_space(data.space, data.class_list)
    return tree if decision is None else tree.relabelled(decision)


def fit_by_weight(
    estimator: Any,
    data: TrainingData,
    rows: NDArray[np.int64],
    *,
    seed: int = 0,
    decision: Decision | float | None = None,
) -> Tree:
    """Fit CART on the distinct rows, weighted by how often they were drawn.

    A leaf of at least M rows, repeats counted, is one of weight at least M, so that the
    tree is the same and a third of the rows need not be sorted. Where weights would count
    something else (sample or class weights, other leaf rules), :func:`fit_tree` serves.
    """
    model = _seeded_copy(estimator, seed)
    leaf, split = model.min_samples_leaf, model.min_samples_split
    counted_alike = (
        data.rows.weight is None
        and getattr(model, "class_weight", None) is None
        and model.min_weight_fraction_leaf == 0
        and model.criterion != "absolute_error"
        and isinstance(leaf, Integral)
        and 2 * int(leaf) <= rows.size
        and isinstance(split, Integral)
        # A larger split size would be a second count of rows.
        and split <= max(2, 2 * int(leaf))
    )
    if not counted_alike:
        return fit_tree(estimator, data, rows, seed=seed, decision=decision)
    model.min_weight_fraction_leaf = _share_of_weight(int(leaf), rows.size)
    model.min_samples_leaf, model.min_samples_split = 1, 2
    kept, times = np.unique(rows, return_counts=True)
    model.fit(data.columns[kept], data.rows.y[kept], sample_weight=times.astype(np.float64))
    return data.read(model, rows.size, decision)


def _seeded_copy(estimator: Any, seed: int) -> Any:
    """Return an unfitted copy with every random_state set."""
    if isinstance(estimator, BaseDecisionTree):
        # scikit-learn's clone reads the signature each time, which would cost as much as a fit.
        model = copy.copy(estimator)
        model.random_state = seed
        return model
    model = clone(estimator)
    seeds = {
        name: seed
        for name in model.get_params(deep=True)
        if name == "random_state" or name.endswith("__random_state")
    }
    return model.set_params(**seeds) if seeds else model


def _fit_scikit_tree(
    model: Any, data: TrainingData, rows: NDArray[np.int64], decision: Decision | float | None
) -> Tree:
    weights = None if data.rows.weight is None else data.rows.weight[rows]
    if data.classes is not None and isinstance(model.class_weight, Mapping):
        model.class_weight = _weights_by_position(model.class_weight, data.classes)
    leaf = model.min_samples_leaf
    if weights is not None and isinstance(leaf, Integral) and model.min_weight_fraction_leaf == 0:
        # Rows that weigh next to nothing must not form leaves of their own.
        model.min_weight_fraction_leaf = min(0.5, _share_of_weight(int(leaf), rows.size))
    model.fit(data.columns[rows], data.rows.y[rows], sample_weight=weights)
    return data.read(model, rows.size, decision)


def _share_of_weight(leaf: int, n_rows: int) -> float:
    # A trifle less, so that rounding cannot refuse a leaf of exactly this many rows.
    return leaf / n_rows * (1 - 1e-12)


def _weights_by_position(
    class_weight: Mapping[Any, float], classes: NDArray[Any]
) -> dict[int, float]:
    position = {label: i for i, label in enumerate(classes.tolist())}
    unknown = [label for label in class_weight if label not in position]
    if unknown:
        raise InputError(
            f"expected class_weight for classes {quoted(classes.tolist())}, "
            f"got {quoted(unknown)} as well"
        )
    return {position[label]: weight for label, weight in class_weight.items()}


def _check_two_classes(
    classes: NDArray[Any], codes: NDArray[Any], weight: NDArray[np.float64] | None
) -> None:
    present = np.bincount(codes, weights=weight, minlength=len(classes)) > 0
    if present.sum() < 2:
        where = "" if len(classes) < 2 else " with a positive sample weight"
        raise InputError(
            f"expected at least two classes in y{where}, got 1 class "
            f"({plain_scalar(classes[present][0])!r}); "
            "a classifier needs rows of every class it is to tell apart"
        )
