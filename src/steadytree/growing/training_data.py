"""Training rows in every form that learners read, prepared once for all the trees grown on them.

scikit-learn's trees want numbers and 0/1 columns, other learners the user's own table, and
our own growers coded rows. Checking, coding and encoding cost more than a small tree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import assert_all_finite, check_consistent_length, column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from steadytree.core.rows import CodedRows
from steadytree.core.space import FeatureSpace
from steadytree.core.tabular import plain_scalar
from steadytree.exceptions import InputError
from steadytree.growing.encoding import ColumnEncoder

__all__ = ["Task", "TrainingData"]

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
        """Encode coded rows; equal weights are dropped."""
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

        Parameters
        ----------
        table : array, pandas or polars frame (n, n_features)
        y : array (n,)
        task : {"classification", "regression"}
        space : FeatureSpace, optional
        categorical_features : "from_dtype", None or list
            See :meth:`FeatureSpace.from_data`.
        weight : float array (n,), optional
            Sample weights, already checked.
        """
        target = column_or_1d(y, warn=True)
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
