"""What every estimator that learns a tree shares: checked parameters, data read once, tags.

Parameters are checked by a table, one function each, before anything takes time, as
scikit-learn's ``_parameter_constraints`` do, but with errors that say how to mend them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.class_weight import compute_sample_weight

from steadytree.core.rows import CodedRows
from steadytree.core.space import FeatureSpace
from steadytree.core.tree import resolve_threshold
from steadytree.estimators._inputs import prepare_fit, prepare_predict, set_mixed_input_tags
from steadytree.estimators.predictor import TreePredictorMixin
from steadytree.exceptions import InputError
from steadytree.growing.fitting import Task, TrainingData

__all__ = ["TreeLearner", "check_whole"]


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

    def __sklearn_tags__(self) -> Any:
        return set_mixed_input_tags(super().__sklearn_tags__())

    def _leaf_of(self, X: Any) -> NDArray[np.int32]:
        tree = self.to_tree()
        coded = prepare_predict(self, X, space=self.feature_space_)
        return tree.apply_coded(tree.round_values(coded))

    def _check_parameters(self) -> None:
        """Refuse wrong settings before anything takes time."""
        for name, check in self._parameter_checks.items():
            check(getattr(self, name), name)

    def _training_data(
        self, X: Any, y: Any, sample_weight: Any
    ) -> tuple[TrainingData, float | None]:
        """Check and code the rows, weigh the classes, and resolve the decision threshold."""
        data = prepare_fit(
            self,
            X,
            y,
            task=self._task,
            categorical_features=self.categorical_features,
            sample_weight=sample_weight,
        )
        self.feature_space_ = data.space
        threshold = None
        if data.classes is not None:
            self.classes_ = data.classes
            self.n_classes_ = len(data.classes)
            # "prevalence" is the unweighted rate of the second class.
            threshold = resolve_threshold(
                self.decision_threshold,
                data.classes.tolist(),
                lambda: float(np.mean(data.rows.y == 1)),
            )
        return replace(data, rows=self._weighted(data.rows, data.classes)), threshold

    def _weighted(self, rows: CodedRows, classes: NDArray[Any] | None) -> CodedRows:
        """Multiply the weights by those of the rows' classes."""
        if classes is None or self.class_weight is None:
            return rows
        by_class = compute_sample_weight(self.class_weight, classes[rows.y])
        return rows.with_weight(np.asarray(rows.weights * by_class, dtype=np.float64))
