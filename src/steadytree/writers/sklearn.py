"""Write a tree as a fitted scikit-learn model, to run wherever scikit-learn runs.

A tree over numbers becomes a ``DecisionTreeClassifier`` or ``-Regressor``, node for node. One
with categories becomes a ``Pipeline`` that codes them first. A decision threshold becomes a
``FixedThresholdClassifier`` around it. scikit-learn rounds values to single precision before it
compares: every value that single precision holds goes as in the tree; a double that lies between
a threshold and the next single may not.
"""

from __future__ import annotations

from typing import Any

from steadytree.exceptions import InputError
from steadytree.tree.tree import Tree
from steadytree.writers.fitted_sklearn import children_last, decided_by_threshold, fitted_tree
from steadytree.writers.kept_labels import leaf_shares
from steadytree.writers.like import write_like
from steadytree.writers.saved_sklearn import SUFFIXES, save
from steadytree.writers.sklearn_categories import coded_columns

__all__ = ["SUFFIXES", "save", "write"]


def write(tree: Tree, *, prefer: str | None = None, like: Any = None, X: Any = None) -> Any:
    """Return a tree as a fitted scikit-learn model.

    Parameters
    ----------
    tree : Tree
    prefer : {"labels", "shares"}, optional
        scikit-learn's labels always follow the shares. Where a leaf's label does not, one of
        them has to give way; without a preference such a tree is refused.
    like : model, optional
        Return a model of this one's form instead: a pipeline with the tree exchanged, a
        LightGBM or XGBoost model of one tree; see :mod:`steadytree.writers.like`.
    X : table, optional
        With ``like``: rows on which the model is held against the tree.

    Returns
    -------
    model
        Predicts single-precision values exactly as the tree does. Missing values are NaN, in
        columns of text also None; pandas' NA in text, and None among categories that are
        numbers, are categories never met to scikit-learn.
    """
    if like is not None:
        return write_like(tree, like, prefer=prefer, X=X)
    if X is not None:
        raise InputError("expected like= with X=, got rows alone; they are for checking a model")
    tree = children_last(tree)
    shares = leaf_shares(tree, prefer, "scikit-learn")
    if any(categories is not None for categories in tree.categories):
        from sklearn.pipeline import Pipeline

        columns, numeric = coded_columns(tree)
        model: Any = Pipeline([("columns", columns), ("tree", fitted_tree(numeric, shares))])
    else:
        model = fitted_tree(tree, shares)
    return decided_by_threshold(model, tree)
