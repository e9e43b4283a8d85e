"""Any finished tree as a scikit-learn predictor, so that it can be deployed and scored."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

from steadytree._views import notebook_view
from steadytree.exceptions import InputError
from steadytree.plugins import read_model
from steadytree.tree.paths import tree_rules
from steadytree.tree.printing import tree_text
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
        leaf = self._leaf_of(X)
        # Each row passes depth + 1 nodes; fill them from the leaf upwards.
        indptr = np.concatenate([[0], np.cumsum(tree.node_depth[leaf].astype(np.int64) + 1)])
        indices = np.empty(indptr[-1], dtype=np.int64)
        node, rows, slot = leaf.astype(np.int64), np.arange(len(leaf)), indptr[1:] - 1
        while rows.size:
            indices[slot[rows]] = node[rows]
            slot[rows] -= 1
            node[rows] = tree.parent[node[rows]]
            rows = rows[node[rows] >= 0]
        return sparse.csr_matrix(
            (np.ones(indices.size, dtype=np.int64), indices, indptr),
            shape=(len(leaf), tree.n_nodes),
        )

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
