"""One door for every kind of tree: a fitted model or a tree file becomes a ``Tree``.

Each library has one small module here, named in ``READERS`` and imported when a model is
read. It offers ``reads(model)``, whether the model is its own, and ``read(model)``, which
returns a :class:`Tree` that predicts the same, leaf by leaf; and, if it knows better than
"not supported" for models near to its own, ``advice(model)``; and, if it reads many quicker
than one by one, ``read_all(models)``.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, Protocol, cast

import numpy as np

from steadytree.core.decision import Decision, resolve_decision
from steadytree.core.format import load_tree
from steadytree.core.one_hot import recombine_one_hot
from steadytree.core.space import FeatureSpace
from steadytree.core.tree import Tree
from steadytree.exceptions import InputError, NotFittedTreeError, UnsupportedModelError

__all__ = ["READERS", "Reader", "as_tree", "read_model", "read_models"]


class Reader(Protocol):
    """What a module named in ``READERS`` offers."""

    def reads(self, model: Any) -> bool:
        """Whether the model is this reader's to read (or to explain why it cannot)."""

    def read(self, model: Any) -> Tree:
        """Convert a fitted model, leaf by leaf the same predictions."""


READERS: dict[str, str | Reader] = {"scikit-learn": "steadytree.readers.sklearn"}
"""The readers in the order in which they are asked: a module to import, or anything that
offers ``reads`` and ``read``."""


def as_tree(
    model: Any,
    decision_threshold: Decision | float | str | None = None,
    *,
    one_hot: Mapping[str, Mapping[str, Any] | Sequence[str]] | None = None,
    feature_names: Sequence[str] | None = None,
    space: FeatureSpace | None = None,
) -> Tree:
    """Read any supported model as a :class:`Tree`, so that trees can be compared.

    Parameters
    ----------
    model : fitted model, Tree, or path of a tree file
        scikit-learn DecisionTree and ExtraTree classifiers and regressors, steadytree's
        own estimators, a pipeline whose last step is one of these and whose other steps
        keep the columns, or the path of a file written by :func:`save_tree`.
    decision_threshold : float, "prevalence", Decision or None
        For two classes: a leaf is labelled ``classes_[1]`` where its share reaches this
        number. "prevalence" takes the rate of ``classes_[1]`` in the training rows. By
        default the threshold stored with the tree is kept; without one the label is the
        most frequent class.
    one_hot : mapping, optional
        Groups of one-hot columns to recombine into categorical features:
        ``{"colour": ["colour_red", "colour_blue"]}``.
    feature_names : sequence of str, optional
        Names for a model that was fitted without.
    space : FeatureSpace, optional
        Stored with the tree; its one-hot groups are recombined.

    Returns
    -------
    Tree

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> import steadytree as st
    >>> X, y = load_iris(return_X_y=True)
    >>> st.as_tree(DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, y))
    Tree(3 leaves, depth 2, 4 features, 3 classes)
    """
    tree = read_model(model)
    if feature_names is not None:
        tree = tree.replace(feature_names=tuple(feature_names))
    groups = dict(one_hot or {})
    if space is not None and tree.feature_names is not None:
        for group, columns in space.one_hot.items():
            if set(columns) & set(tree.feature_names):
                groups.setdefault(group, columns)
    if groups:
        tree = recombine_one_hot(tree, groups)
    if space is not None:
        tree = tree.replace(space=space)
    decision = resolve_decision(decision_threshold, tree.classes, lambda: _training_rate(tree))
    return tree if decision is None else tree.relabelled(decision)


def read_model(model: Any) -> Tree:
    """Read a model with the reader that knows it, as it is."""
    if isinstance(model, Tree):
        return model
    if isinstance(model, (str, os.PathLike)):
        return load_tree(model)
    if isinstance(model, type):
        raise NotFittedTreeError(
            f"expected a fitted model, got the class {model.__name__}; create it and call fit first"
        )
    own = getattr(model, "to_tree", None)
    if callable(own):
        tree = own()
        if not isinstance(tree, Tree):
            raise UnsupportedModelError(
                f"expected to_tree() of {type(model).__name__} to return a Tree, "
                f"got {type(tree).__name__}"
            )
        return tree
    return _reader_of(model).read(model)


def read_models(models: Sequence[Any]) -> list[Tree]:
    """Read several models as :func:`read_model`, at once where their reader offers ``read_all``.

    A model that is given twice becomes one tree.
    """
    trees: dict[int, Tree] = {}
    together: dict[int, tuple[Any, list[Any]]] = {}
    for model in {id(model): model for model in models}.values():
        if _is_read_alone(model):
            trees[id(model)] = read_model(model)
            continue
        reader: Any = _reader_of(model)
        if hasattr(reader, "read_all"):
            together.setdefault(id(reader), (reader, []))[1].append(model)
        else:
            trees[id(model)] = reader.read(model)
    for reader, members in together.values():
        trees |= zip(map(id, members), reader.read_all(members), strict=True)
    return [trees[id(model)] for model in models]


def _is_read_alone(model: Any) -> bool:
    """Whether a model is none of a reader's: a tree, a file, or one that makes its own tree."""
    plain = isinstance(model, (Tree, str, type)) or hasattr(model, "__fspath__")
    return plain or callable(getattr(model, "to_tree", None))


def _reader_of(model: Any) -> Reader:
    """Return the reader that knows a model, or say what could be read instead."""
    advice = ""
    for entry in READERS.values():
        # The module at once where it is there: many models ask.
        reader: Any = entry
        if isinstance(entry, str):
            reader = sys.modules.get(entry) or import_module(entry)
        if reader.reads(model):
            return cast(Reader, reader)
        if not advice and hasattr(reader, "advice"):
            advice = reader.advice(model)
    raise UnsupportedModelError(
        f"expected a fitted decision tree, a Tree or the path of a tree file, "
        f"got {type(model).__name__}"
        + (advice or "; fit a scikit-learn decision tree, or give the model a to_tree() method")
    )


def _training_rate(tree: Tree) -> float:
    """Rate of the second class in the rows a tree was trained on."""
    rows, weighted = tree.metadata.get("n_training_rows"), tree.metadata.get("weighted", False)
    if rows is None or weighted or not np.isclose(float(rows), tree.weight[0]):
        raise InputError(
            'expected a tree fitted without sample or class weights for "prevalence", got a '
            "weighted one, whose shares are not rates; pass the rate as a number"
        )
    return float(tree.value[0, 1])
