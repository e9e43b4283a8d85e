"""One tree that says what an ensemble says: better and steadier than one grown on outcomes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from steadytree.estimators.predictor import (
    ClassifierTreeMixin,
    RegressorTreeMixin,
    TreeLearner,
    check_whole,
)
from steadytree.evaluation.locks import forbidden_entry, forbidden_features, unseen
from steadytree.growing.teacher import (
    MOST_CONDITIONS,
    distil_tree,
    fit_teacher,
    leaf_rows,
    size_by_minority,
    teach,
)
from steadytree.tree.decision import Decision
from steadytree.tree.rows import CodedRows
from steadytree.tree.tree import Tree


class _DistilledTree(TreeLearner):
    """What the classifier and the regressor share: teacher, augmentation, one tree."""

    tree_: Tree

    _parameter_checks: ClassVar = {
        "max_depth": check_whole(1),
        "min_samples_leaf": check_whole(1, or_none="None: 20, fewer where there are few rows"),
        "n_estimators": check_whole(1),
        "n_copies": check_whole(0),
        "max_leaf_nodes": check_whole(2, or_none="None chooses by the number of minority cases"),
    }

    def __init__(
        self,
        *,
        max_leaf_nodes: int | None = None,
        max_depth: int = MOST_CONDITIONS,
        min_samples_leaf: int | None = None,
        n_estimators: int = 100,
        n_copies: int = 3,
        categorical_features: str | Sequence[int | str | bool] | None = "from_dtype",
        forbid: str | Sequence[int | str] | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self._keep_parameters(locals())

    def to_tree(self) -> Tree:
        """Return the tree, in the form that distances and diffs work on.

        Returns
        -------
        Tree
        """
        check_is_fitted(self, "tree_")
        return self.tree_

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the ensemble, then one tree to what it says.

        Parameters
        ----------
        X : array, pandas or polars frame (n, n_features)
            Categories, strings and missing values are welcome.
        y : array (n,)
        sample_weight : array (n,), optional

        Returns
        -------
        self
        """
        self._check_parameters()
        data, decision = self._training_data(X, y, sample_weight)
        seed = int(check_random_state(self.random_state).randint(2**31 - 100))
        # scikit-learn's forest compares float32, and so does the tree.
        coded = data.rows.coded.astype(np.float32).astype(np.float64)
        rows = CodedRows(coded, data.rows.y, data.rows.weight).take(data.rows.weights > 0)
        forbidden = forbidden_features(data.space, self.forbid)
        learnt = replace(rows, coded=unseen(rows.coded, forbidden))
        n_classes = None if data.classes is None else len(data.classes)
        teacher = fit_teacher(
            data.space,
            learnt,
            n_classes=n_classes,
            n_estimators=self.n_estimators,
            n_jobs=self.n_jobs,
            seed=seed,
        )
        taught = teach(teacher, learnt, teacher.out_of_bag, copies=self.n_copies, seed=seed + 11)
        metadata = {
            "n_training_rows": len(rows),
            **self._metadata(rows, data.classes),
            **forbidden_entry(data.space, forbidden),
        }
        self.tree_ = distil_tree(
            taught,
            data.space,
            classes=data.class_list,
            max_leaves=int(self.max_leaf_nodes or size_by_minority(rows.y, n_classes)),
            min_leaf=int(self.min_samples_leaf or leaf_rows(len(rows))),
            max_depth=int(self.max_depth),
            decision=decision,
            precision="float32",
            metadata=metadata,
        )
        self.n_leaves_ = self.tree_.n_leaves
        self._warn_of_one_decision(self.tree_, rows)
        return self


class DistilledTreeClassifier(ClassifierTreeMixin, ClassifierMixin, _DistilledTree):
    """A single classification tree, fitted to what an ensemble says of rows it has not seen.

    A tree grown on 0/1 outcomes follows noise: other rows, another tree. A random forest's
    out-of-bag shares, averaged with cross-fitted boosting, are the same signal with less
    noise, and the ensemble can be asked about rows in between (augmentation). The tree has
    the usual knobs, reads mixed data as it is, and is a good first tree to deploy:
    retraining has less reason to change it.

    Parameters
    ----------
    max_leaf_nodes : int, optional
        None: sized by the minority class, a leaf per 2.5 cases, 6 to 16 and at least one per
        class.
    max_depth : int, default 5
        Most conditions in a rule.
    min_samples_leaf : int, optional
        Rows in every leaf; augmented rows do not count. None: 20; of fewer than 200 rows a
        tenth, but at least 8.
    n_estimators : int, default 100
        Trees of the forest, and rounds of boosting (at most 100).
    n_copies : int, default 3
        Augmented rows per row: each value is swapped for another row's with probability ½.
    class_weight : dict, "balanced" or None
    decision_threshold : float, "prevalence", Decision or None
        For two classes: a leaf says the positive class where its share reaches this number.
        "prevalence" is its rate in the rows of ``fit``. See :class:`Decision`.
    pos_label : class label, optional
        The class to be detected. By default 1 of {0, 1} and {-1, 1}, True of {False, True},
        "yes" of {"no", "yes"}; of others ``classes_[1]``, but a threshold then needs it.
    categorical_features : "from_dtype", None or list
        See :meth:`FeatureSpace.from_data`.
    forbid : name or names of features, optional
        What no rule may be about. The columns are read and checked like the others, but the
        ensemble does not see them either.
    n_jobs : int, optional
        Of the forest.
    random_state : int, RandomState or None

    Attributes
    ----------
    tree_ : Tree
    feature_space_ : FeatureSpace
    classes_ : array
    n_leaves_ : int

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from steadytree.estimators import DistilledTreeClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = DistilledTreeClassifier(max_leaf_nodes=4, random_state=0).fit(X, y)
    >>> model.get_n_leaves()
    4
    """

    _task = "classification"

    def __init__(
        self,
        *,
        max_leaf_nodes: int | None = None,
        max_depth: int = MOST_CONDITIONS,
        min_samples_leaf: int | None = None,
        n_estimators: int = 100,
        n_copies: int = 3,
        class_weight: Mapping[Any, float] | str | None = None,
        decision_threshold: Decision | float | str | None = None,
        pos_label: Any = None,
        categorical_features: str | Sequence[int | str | bool] | None = "from_dtype",
        forbid: str | Sequence[int | str] | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self._keep_parameters(locals())


class DistilledTreeRegressor(RegressorTreeMixin, RegressorMixin, _DistilledTree):
    """A single regression tree, fitted to what an ensemble says of rows it has not seen.

    Parameters
    ----------
    max_leaf_nodes : int, optional
        None: a leaf per ten rows, 6 to 16.
    max_depth, min_samples_leaf, n_estimators, n_copies
        As for :class:`DistilledTreeClassifier`.
    categorical_features, forbid, n_jobs, random_state
        As for :class:`DistilledTreeClassifier`.

    Attributes
    ----------
    tree_ : Tree
    feature_space_ : FeatureSpace
    n_leaves_ : int

    See Also
    --------
    DistilledTreeClassifier : the same for classes.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> import steadytree as st
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = st.DistilledTreeRegressor(max_leaf_nodes=3, n_estimators=20, random_state=0)
    >>> print(model.fit(X, y).rules(shares=False))
    |-- s5 <= -0.0...: 11...
    |-- s5 > -0.0...
    |   |-- bmi <= 0.01...: 1...
    |   |-- bmi > 0.01...: 2...
    """

    _task = "regression"
