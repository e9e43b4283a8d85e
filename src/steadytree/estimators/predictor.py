"""One tree as a scikit-learn estimator: what all of them can do, finished trees, and learners.

A learner's parameters are checked by a table, one function each, before anything takes time, as
scikit-learn's ``_parameter_constraints`` do, but with errors that say how to mend them.

Learners accept arrays, lists, pandas and polars frames with categories, booleans, strings and
missing values. Here they become one coded float matrix over a :class:`FeatureSpace`; the
attributes and errors are those scikit-learn users know.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import assert_all_finite, check_consistent_length, column_or_1d
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.validation import _check_sample_weight, check_array, validate_data

from steadytree._text import quoted
from steadytree._views import notebook_view
from steadytree.exceptions import InputError
from steadytree.growing.fitting import Task, TrainingData
from steadytree.plugins import read_model
from steadytree.tree.columns import as_table as rows_as_array
from steadytree.tree.columns import is_categorical_column, is_frame, outcome_values
from steadytree.tree.decision import (
    Decision,
    find_one_decision,
    resolve_decision,
    warn_of_one_decision,
)
from steadytree.tree.paths import tree_rules
from steadytree.tree.printing import tree_text
from steadytree.tree.rows import TRAINING_ROWS, CodedRows, code_outcomes, fingerprint
from steadytree.tree.space import FeatureSpace
from steadytree.tree.tree import Tree


class TreePredictorMixin:
    """What every estimator of one tree can do once it has its :class:`Tree`.

    A subclass says which tree (``to_tree``) and how a table is coded for it
    (``_leaf_of``).
    """

    def to_tree(self) -> Tree:
        """Return the tree, in the form that distances and diffs work on.

        Returns
        -------
        Tree
        """
        raise NotImplementedError

    def _leaf_of(self, X: Any) -> NDArray[np.int32]:
        raise NotImplementedError

    def __sklearn_tags__(self) -> Any:
        # Categories, strings and missing values are welcome.
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.allow_nan = tags.input_tags.string = True
        tags.input_tags.sparse = False
        return tags

    def apply(self, X: Any) -> NDArray[np.int32]:
        """Leaf (node number) that each row reaches.

        Parameters
        ----------
        X : array, pandas or polars frame

        Returns
        -------
        int array of shape (n,)
        """
        return self._leaf_of(X)

    def decision_path(self, X: Any) -> Any:
        """Nodes that each row passes, as in scikit-learn.

        Parameters
        ----------
        X : array, pandas or polars frame

        Returns
        -------
        csr_matrix of shape (n, n_nodes)
            1 where the row passes the node, its leaf included.
        """
        tree = self.to_tree()
        passed = np.eye(tree.n_nodes, dtype=np.int64)
        for node in tree.preorder[1:].tolist():
            passed[node] += passed[tree.parent[node]]
        return sparse.csr_matrix(passed)[self._leaf_of(X)]

    def rules(self, *, style: str = "tree", shares: bool = True) -> str:
        """Return the rules in words.

        Parameters
        ----------
        style : {"tree", "list"}
            An indented listing of the tree, or one line per leaf with its whole rule, which
            ``locked`` in a plan understands.
        shares : bool, default True
            Write beside each label what the leaf predicts, and what was observed among the
            rows the tree was trained on, where it stores that.

        Returns
        -------
        str
        """
        tree = self.to_tree()
        if style == "tree":
            return tree_text(tree, shares=shares)
        if style != "list":
            raise InputError(f'expected style "tree" or "list", got {style!r}')
        return "\n".join(rule.text if shares else rule.short_text for rule in tree_rules(tree))

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Normalised total decrease of impurity brought by each feature."""
        return self.to_tree().feature_importances()

    def get_depth(self) -> int:
        """Depth of the deepest leaf; 0 for a single leaf.

        Returns
        -------
        int
        """
        return self.to_tree().depth

    def get_n_leaves(self) -> int:
        """Count the leaves.

        Returns
        -------
        int
        """
        return self.to_tree().n_leaves

    def _repr_html_inner(self) -> str:
        try:
            self.to_tree()
        except (AttributeError, ValueError):  # not fitted yet
            return str(super()._repr_html_inner())  # type: ignore[misc]
        return notebook_view(self)

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self._repr_html_inner()}


class ClassifierTreeMixin(TreePredictorMixin):
    """Predictions of a classification tree."""

    classes_: NDArray[Any]

    def predict(self, X: Any) -> NDArray[Any]:
        """Label stored with the leaf that each row reaches.

        Parameters
        ----------
        X : array, pandas or polars frame

        Returns
        -------
        array of shape (n,)
        """
        leaf = self._leaf_of(X)
        return np.asarray(self.classes_[self.to_tree().label[leaf]])

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Class shares of the leaf that each row reaches, in the order of ``classes_``.

        Parameters
        ----------
        X : array, pandas or polars frame

        Returns
        -------
        float array of shape (n, n_classes)
        """
        leaf = self._leaf_of(X)
        return self.to_tree().value[leaf]


class RegressorTreeMixin(TreePredictorMixin):
    """Predictions of a regression tree."""

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Mean response stored with the leaf that each row reaches.

        Parameters
        ----------
        X : array, pandas or polars frame

        Returns
        -------
        float array of shape (n,)
        """
        leaf = self._leaf_of(X)
        return np.asarray(self.to_tree().value[leaf, 0])


class _FinishedTree(TreePredictorMixin, BaseEstimator):
    """A predictor that holds a finished tree: ``fit`` leaves it as it is."""

    tree: Any
    _wants_classifier: bool

    def __init__(self, tree: Any) -> None:
        self.tree = tree

    def to_tree(self) -> Tree:
        """Return the tree, in the form that distances and diffs work on.

        Returns
        -------
        Tree
        """
        # The attribute may be replaced by set_params: read it again only then.
        held = self.__dict__.get("_read")
        if held is None or held[0] is not self.tree:
            tree = read_model(self.tree)
            if tree.is_classifier != self._wants_classifier:
                kinds = ("a regression tree", "a classification tree")
                names = ("TreeRegressor", "TreeClassifier")
                raise InputError(
                    f"expected {kinds[self._wants_classifier]} in {type(self).__name__}, got "
                    f"{kinds[tree.is_classifier]}; use {names[tree.is_classifier]}"
                )
            held = (self.tree, tree)
            self.__dict__["_read"] = held
        return held[1]

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        state.pop("_read", None)
        return state

    def __sklearn_clone__(self) -> Any:
        # The tree cannot change, so that a copy may share it.
        return type(self)(self.tree)

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def _leaf_of(self, X: Any) -> NDArray[np.int32]:
        return self.to_tree().apply(X)

    def fit(self, X: Any = None, y: Any = None, **fit_params: Any) -> Any:
        """Check that the tree can be read, and return it as it is.

        Like scikit-learn's ``FrozenEstimator``, a finished tree is never trained again,
        so that it can be the last step of a pipeline or be scored by
        ``cross_val_score``. To train on new rows use :func:`steadytree.retrain`.

        Parameters
        ----------
        X, y : ignored
        **fit_params
            Ignored.

        Returns
        -------
        self
        """
        self.to_tree()
        return self

    @property
    def n_features_in_(self) -> int:
        """Number of features."""
        return self.to_tree().n_features

    @property
    def feature_names_in_(self) -> NDArray[np.object_]:
        """Names of the features; absent where the tree has none."""
        names = self.to_tree().feature_names
        if names is None:
            raise AttributeError("expected a tree with feature names, got one without")
        return np.array(names, dtype=object)

    @property
    def feature_space_(self) -> Any:
        """The space stored with the tree, or None."""
        return self.to_tree().space


class TreeClassifier(ClassifierTreeMixin, ClassifierMixin, _FinishedTree):
    """Use a finished classification tree wherever scikit-learn wants a classifier.

    Frames are read by column name, so that their order and further columns do not
    matter; arrays by position. A missing value, or a category the tree never met,
    follows the direction the split gives to missing values.

    Parameters
    ----------
    tree : Tree, fitted model or path of a tree file
        Whatever :func:`steadytree.as_tree` reads.

    Attributes
    ----------
    classes_ : array
    n_features_in_ : int
    feature_names_in_ : array of str
        Only where the tree has names.
    feature_importances_ : array
    feature_space_ : FeatureSpace or None

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from steadytree.estimators import TreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = DecisionTreeClassifier(max_depth=1, random_state=0).fit(X, y)
    >>> print(TreeClassifier(model).rules())
    |-- x3 <= 0.8: 0 (predicts 0 100.0 %; observed 50 of 50)
    |-- x3 > 0.8: 1 (predicts 1 50.0 %; observed 50 of 100)
    """

    _wants_classifier = True

    @property
    def classes_(self) -> NDArray[Any]:  # type: ignore[override]
        """Class labels."""
        return np.array(self.to_tree().classes)

    @property
    def n_classes_(self) -> int:
        """Number of classes."""
        return len(self.to_tree().classes or ())


class TreeRegressor(RegressorTreeMixin, RegressorMixin, _FinishedTree):
    """Use a finished regression tree wherever scikit-learn wants a regressor.

    Parameters
    ----------
    tree : Tree, fitted model or path of a tree file
        Whatever :func:`steadytree.as_tree` reads.

    See Also
    --------
    TreeClassifier : the same for classes; columns and missing values are read alike.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> import steadytree as st
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = st.TreeRegressor(DecisionTreeRegressor(max_depth=1, random_state=0).fit(X, y))
    >>> print(model.rules())
    |-- x8 <= -0.00376118: 109.986 (observed 110 in 218 rows)
    |-- x8 > -0.00376118: 193.152 (observed 193.2 in 224 rows)
    """

    _wants_classifier = False


def predictor_of(tree: Tree) -> TreeClassifier | TreeRegressor:
    """Return a tree as the scikit-learn predictor of its kind."""
    return TreeClassifier(tree) if tree.is_classifier else TreeRegressor(tree)


# -- learners ---------------------------------------------------------------------------


def check_whole(least: int, *, or_none: str = "") -> Callable[[Any, str], None]:
    """Return a check that a parameter is a whole number of at least ``least``.

    ``or_none`` says what None stands for, where it is allowed.
    """

    def check(value: Any, name: str) -> None:
        if or_none and value is None:
            return
        if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
            wanted = f"a whole number >= {least}" + (" or None" if or_none else "")
            fix = f"; {or_none}" if or_none else ""
            raise InputError(f"expected {name} to be {wanted}, got {value!r}{fix}")

    return check


def check_share(share: Any, name: str, *, other: str = "") -> None:
    """Refuse what is not a share strictly between 0 and 1."""
    if isinstance(share, bool) or not isinstance(share, Real) or not 0 < float(share) < 1:
        raise InputError(f"expected {name} to be a share between 0 and 1{other}, got {share!r}")


class TreeLearner(TreePredictorMixin, BaseEstimator):
    """An estimator that grows one tree from mixed data.

    A subclass sets ``_task`` and ``_parameter_checks``, and its ``fit`` starts from
    :meth:`_training_data`.
    """

    _task: Task
    _parameter_checks: ClassVar[Mapping[str, Callable[[Any, str], object]]]

    categorical_features: Any
    feature_space_: FeatureSpace

    def _keep_parameters(self, given: Mapping[str, Any]) -> None:
        """Keep the arguments of ``__init__`` as they are, which is all it may do."""
        for name, value in given.items():
            if name != "self":
                setattr(self, name, value)

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
            owner="the training set",
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
    missing = 0 if values.dtype.kind != "O" or values.ndim != 1 else int(pd.isna(values).sum())
    if missing:
        raise InputError(
            f"expected an outcome in every row of y, got {missing} missing; drop these rows first"
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
    table_of_objects = kind in "OUST" and getattr(X, "ndim", 0) == 2
    if kind == "b" or (
        table_of_objects and any(is_categorical_column(X, j) for j in range(X.shape[1]))
    ):
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


def _check_frame(estimator: Any, X: Any, *, at_least: int) -> None:
    """Check the size of a frame, in scikit-learn's words."""
    for count, least, what in ((X.shape[1], 1, "feature"), (X.shape[0], at_least, "sample")):
        if count < least:
            raise InputError(
                f"Found array with {count} {what}(s) (shape={tuple(X.shape)}) while a minimum of "
                f"{least} is required by {type(estimator).__name__}."
            )
