"""What every estimator that learns a tree shares: checked parameters, data read once.

Parameters are checked by a table, one function each, before anything takes time, as
scikit-learn's ``_parameter_constraints`` do, but with errors that say how to mend them.

The estimators accept arrays, lists, pandas and polars frames with categories, booleans,
strings and missing values. Here they become one coded float matrix over a
:class:`FeatureSpace`; the attributes and errors are those scikit-learn users know.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import assert_all_finite, check_consistent_length, column_or_1d
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.validation import _check_sample_weight, check_array, validate_data

from steadytree._text import quoted
from steadytree.estimators.predictor import TreePredictorMixin
from steadytree.exceptions import InputError, SteadyTreeWarning
from steadytree.growing.fitting import Task, TrainingData
from steadytree.tree.columns import as_table as rows_as_array
from steadytree.tree.columns import is_categorical_column, is_frame, outcome_values
from steadytree.tree.decision import (
    Decision,
    find_one_decision,
    resolve_decision,
    warn_of_one_decision,
)
from steadytree.tree.rows import TRAINING_ROWS, CodedRows, code_outcomes, fingerprint
from steadytree.tree.space import FeatureSpace
from steadytree.tree.tree import Tree


def check_whole(least: int) -> Callable[[Any, str], None]:
    """Return a check that a parameter is a whole number of at least ``least``."""

    def check(value: Any, name: str) -> None:
        if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
            raise InputError(f"expected {name} to be a whole number >= {least}, got {value!r}")

    return check


class TreeLearner(TreePredictorMixin, BaseEstimator):
    """An estimator that grows one tree from mixed data.

    A subclass sets ``_task`` and ``_parameter_checks``, and its ``fit`` starts from
    :meth:`_training_data`.
    """

    _task: Task
    _parameter_checks: ClassVar[Mapping[str, Callable[[Any, str], object]]]

    categorical_features: Any
    feature_space_: FeatureSpace

    def _leaf_of(self, X: Any) -> NDArray[np.int32]:
        """Leaf of each row; a category that was not there at fit time counts as missing."""
        tree, space = self.to_tree(), self.feature_space_
        coded = check_coded(space.encode(as_table(self, X, reset=False)), space)
        return tree.apply_coded(tree.round_values(coded))

    def _check_parameters(self) -> None:
        """Refuse wrong settings before anything takes time."""
        for name, check in self._parameter_checks.items():
            check(getattr(self, name), name)

    def _training_data(
        self, X: Any, y: Any, sample_weight: Any
    ) -> tuple[TrainingData, Decision | None]:
        """Check and code the rows, weigh the classes, and resolve the decision threshold."""
        if y is not None:
            y = _outcomes(y)
        table = as_table(self, X, y=y, reset=True)
        weight = None
        if sample_weight is not None:
            weight = _check_sample_weight(
                sample_weight, table, dtype=np.float64, ensure_non_negative=True
            )
            if not weight.sum() > 0:
                raise InputError(
                    "expected some positive sample weights, got zero for every row; "
                    "leave sample_weight=None to weigh all rows alike"
                )
        data = TrainingData.from_table(
            table, y, task=self._task, categorical_features=self.categorical_features, weight=weight
        )
        empty = np.isnan(data.rows.coded).all(axis=0)
        if empty.any():
            culprits = [data.space.feature_labels[j] for j in np.flatnonzero(empty)]
            warnings.warn(
                f"every value is missing in {quoted(culprits)}: no rule can use these columns",
                SteadyTreeWarning,
                stacklevel=3,
            )
        check_coded(data.rows.coded, data.space)
        self.feature_space_ = data.space
        decision = None
        if data.classes is not None:
            self.classes_ = data.classes
            self.n_classes_ = len(data.classes)
            # "prevalence" is the unweighted rate of the positive class.
            decision = resolve_decision(
                self.decision_threshold,
                data.classes.tolist(),
                lambda at: float(np.mean(data.rows.y == at)),
                positive=self.pos_label,
                spelled="pos_label",
            )
        own = X if hasattr(X, "shape") else np.asarray(X, dtype=object)
        rows = self._weighted(replace(data.rows, table=own), data.classes)
        return replace(data, rows=rows), decision

    def _holdout_rows(self, X_val: Any, y_val: Any, data: TrainingData) -> CodedRows:
        """Check the user's own holdout against the training data, and weigh its classes."""
        if X_val is None or y_val is None:
            given = "y_val" if X_val is None else "X_val"
            raise InputError(f"expected X_val and y_val together, got {given} alone")
        table = as_table(self, X_val, reset=False)
        target = column_or_1d(outcome_values(y_val), warn=True)
        check_consistent_length(table, target)
        assert_all_finite(target, input_name="y_val")
        coded = check_coded(data.space.encode(table), data.space)
        outcomes = code_outcomes(
            target,
            None if data.classes is None else data.classes.tolist(),
            len(target),
            name="y_val",
            owner="the training rows",
            fix="a class that is not in y cannot be learnt",
        )
        return self._weighted(CodedRows(coded, outcomes, table=table), data.classes)

    def _metadata(self, rows: CodedRows, classes: NDArray[Any] | None) -> dict[str, Any]:
        """Return what a tree keeps of its making: its learner, rows and class weights.

        Shares of a tree trained with class weights carry them; whoever needs rates divides
        them out (``Tree.with_plain_shares``).
        """
        kept: dict[str, Any] = {"learner": type(self).__name__}
        if classes is not None and self.class_weight is not None:
            weight = compute_sample_weight(self.class_weight, classes[rows.y])
            first = [int(np.argmax(rows.y == k)) for k in range(len(classes))]
            kept["class_weight"] = weight[first].tolist()
            rows = rows.with_weight(rows.weights / weight)
        return {**kept, TRAINING_ROWS: [fingerprint(rows)]}

    def _warn_of_one_decision(self, tree: Tree, rows: CodedRows) -> None:
        """Warn where the tree decides the same for all rows it was fitted to."""
        if tree.classes is None:
            return
        at = tree.decision.position
        leaf = tree.apply_coded(tree.round_values(rows.coded))
        found = find_one_decision(tree, tree.value[leaf, at], rows.y == at)
        warn_of_one_decision(found, stacklevel=4)

    def _weighted(self, rows: CodedRows, classes: NDArray[Any] | None) -> CodedRows:
        """Multiply the weights by those of the rows' classes."""
        if classes is None or self.class_weight is None:
            return rows
        by_class = compute_sample_weight(self.class_weight, classes[rows.y])
        return rows.with_weight(np.asarray(rows.weights * by_class, dtype=np.float64))


def _outcomes(y: Any) -> Any:
    """Return nullable outcomes in their plain type, or say that some are missing."""
    values = outcome_values(y)
    gone = 0 if values.dtype.kind != "O" or values.ndim != 1 else int(pd.isna(values).sum())
    if gone:
        raise InputError(
            f"expected an outcome in every row of y, got {gone} missing; drop these rows first"
        )
    return values if isinstance(getattr(y, "dtype", None), pd.api.extensions.ExtensionDtype) else y


def as_table(estimator: Any, X: Any, *, y: Any = "no_validation", reset: bool) -> Any:
    """Return a two-dimensional array or frame, with scikit-learn's checks and messages."""
    if is_frame(X):
        validate_data(estimator, X=X, y=y, reset=reset, skip_check_array=True)
        _check_frame(estimator, X, at_least=2 if reset else 1)
        return X
    settings: dict[str, Any] = {
        "ensure_min_samples": 2 if reset else 1,
        "ensure_all_finite": "allow-nan",
        "dtype": np.float64,
    }
    if not hasattr(X, "dtype") and isinstance(X, Sequence):
        X = rows_as_array(X)
    kind = getattr(getattr(X, "dtype", None), "kind", "")
    if kind == "b" or (kind in "OUST" and getattr(X, "ndim", 0) == 2 and _has_categories(X)):
        settings |= {"ensure_all_finite": False, "dtype": None}
    if reset and y is None:  # let scikit-learn word the error
        return validate_data(estimator, X=X, y=y, reset=reset, **settings)
    table = check_array(X, input_name="X", estimator=estimator, **settings)
    validate_data(estimator, X=X, y=y, reset=reset, skip_check_array=True)
    return table


def check_coded(coded: NDArray[np.float64], space: FeatureSpace) -> NDArray[np.float64]:
    """Refuse infinities and numbers that scikit-learn's trees cannot hold (float32)."""
    largest = np.finfo(np.float32).max
    with np.errstate(invalid="ignore"):
        bad = (np.abs(coded) > largest).any(axis=0)
    if bad.any():
        culprits = [space.feature_labels[j] for j in np.flatnonzero(bad)]
        raise InputError(
            f"expected finite numbers below {largest:.3g}, got infinity or larger ones in "
            f"{quoted(culprits)}; replace them with a number or with missing"
        )
    return coded


def _has_categories(X: Any) -> bool:
    return any(is_categorical_column(X, j) for j in range(X.shape[1]))


def _check_frame(estimator: Any, X: Any, *, at_least: int) -> None:
    """Check the size of a frame, in scikit-learn's words."""
    for count, least, what in ((X.shape[1], 1, "feature"), (X.shape[0], at_least, "sample")):
        if count < least:
            raise InputError(
                f"Found array with {count} {what}(s) (shape={tuple(X.shape)}) while a minimum of "
                f"{least} is required by {type(estimator).__name__}."
            )
