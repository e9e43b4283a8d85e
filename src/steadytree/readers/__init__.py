"""One door for every kind of tree: a fitted model or a model file becomes a ``Tree``.

Each library or format has one small module here, named in ``READERS`` and imported when a
model is read. It offers, as far as they make sense:

- ``reads(model)``, whether a model is its own, and ``read(model, tree_index=None)``, which
  returns a :class:`Tree` that predicts the same, leaf by leaf;
- ``reads_file(path, start)``, whether a file is its own (``start``: its first bytes), and
  ``read_file(path, tree_index=None)``, which parses it with bounds and executes nothing. A
  module that must execute what the file says sets ``EXECUTES_FILES = True`` and is asked only
  with ``allow_pickle=True``;
- ``load_file(path)``, which returns the model in the form of its own library;
- ``advice(model)``, if it knows better than "not supported" for models near to its own;
- ``read_all(models)``, if it reads many quicker than one by one;
- ``NUMBERED_CLASSES = True``, if its estimators learn only classes numbered from 0.

Other packages add readers by an entry point of the group ``steadytree.readers`` that names
such a module.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from steadytree._io import read_bytes
from steadytree._text import quoted
from steadytree.exceptions import (
    InputError,
    NotFittedTreeError,
    TreeFormatError,
    UnsupportedModelError,
)
from steadytree.tree.decision import (
    Decision,
    one_decision_of_leaves,
    resolve_decision,
    warn_of_one_decision,
)
from steadytree.tree.recoded import recombine_one_hot
from steadytree.tree.space import FeatureSpace
from steadytree.tree.tree import Tree

__all__ = [
    "ENTRY_POINTS",
    "READERS",
    "as_tree",
    "choose_tree",
    "load_model",
    "numbers_classes",
    "read_model",
    "read_models",
]

READERS: dict[str, Any] = {
    "scikit-learn": "steadytree.readers.sklearn.trees",
    "HistGradientBoosting": "steadytree.readers.sklearn.hist_boosting",
    "scikit-learn wrappers": "steadytree.readers.sklearn.wrappers",
    "scikit-learn pipeline": "steadytree.readers.sklearn.pipelines",
    "LightGBM": "steadytree.readers.boosting.lightgbm",
    "CatBoost": "steadytree.readers.boosting.catboost",
    "YDF": "steadytree.readers.boosting.ydf",
    "gosdt": "steadytree.readers.optimal.gosdt",
    "licketysplit": "steadytree.readers.optimal.licketysplit",
    "pycontree": "steadytree.readers.optimal.pycontree",
    "pystreed": "steadytree.readers.optimal.pystreed",
    "XGBoost": "steadytree.readers.boosting.xgboost",
    "skops": "steadytree.readers.files.skops_files",
    "ONNX": "steadytree.readers.markup.onnx",
    "nested conditions": "steadytree.readers.words.nested_files",
    "PMML": "steadytree.readers.markup.pmml",
    "steadytree": "steadytree.readers.files.own_files",
    "rules": "steadytree.readers.words.rules",
    # The last: whatever else can be read without running it.
    "pickle": "steadytree.readers.files.pickled",
}
"""The readers in the order in which they are asked: a module to import, or anything that
offers the same functions."""

ENTRY_POINTS = "steadytree.readers"
HEAD_BYTES = 4096


def as_tree(
    model: Any,
    decision_threshold: Decision | float | str | None = None,
    *,
    one_hot: Mapping[str, Mapping[str, Any] | Sequence[str]] | None = None,
    feature_names: Sequence[str] | None = None,
    space: FeatureSpace | None = None,
    tree_index: int | None = None,
    allow_pickle: bool = False,
) -> Tree:
    """Read any supported model as a :class:`Tree`, so that trees can be compared.

    A model that decides the same for everybody is read with a warning.

    Parameters
    ----------
    model : fitted model, Tree, or path of a model file
        scikit-learn DecisionTree and ExtraTree classifiers and regressors, steadytree's
        own estimators, and whatever else ``steadytree.readers.READERS`` lists; or the path of
        a file written by :func:`save_tree` or in a format listed there.
    decision_threshold : float, "prevalence", Decision or None
        For two classes: a leaf is labelled positive where the share of the positive class
        reaches this number. "prevalence" takes its rate in the training rows. Which class is
        positive, costs and more: :class:`Decision`. By default the policy stored with the tree
        is kept; without one the label is the most frequent class.
    one_hot : mapping, optional
        Groups of one-hot columns to recombine into categorical features:
        ``{"colour": ["colour_red", "colour_blue"]}``.
    feature_names : sequence of str, optional
        Names for a model that was fitted without.
    space : FeatureSpace, optional
        Stored with the tree; its one-hot groups are recombined.
    tree_index : int, optional
        Which tree of a model that has several.
    allow_pickle : bool, default False
        Read pickle and joblib files too. Opening one runs whatever code its author put into
        it: only for files you would run as a program.

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
    tree = read_model(model, tree_index=tree_index, allow_pickle=allow_pickle)
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
    decision = resolve_decision(
        decision_threshold,
        tree.classes,
        lambda at: _training_rate(tree, at),
        known=tree.decision,
    )
    tree = tree if decision is None else tree.relabelled(decision)
    if not isinstance(model, Tree):
        warn_of_one_decision(one_decision_of_leaves(tree))
    return tree


def read_model(model: Any, *, tree_index: int | None = None, allow_pickle: bool = False) -> Tree:
    """Read a model or a model file with the reader that knows it, as it is, without a word."""
    if isinstance(model, Tree):
        return model
    if isinstance(model, (str, os.PathLike)):
        reader = _reader_of_file(Path(model), allow_pickle)
        return reader.read_file(Path(model), tree_index=tree_index)  # type: ignore[no-any-return]
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
    return _reader_of(model).read(model, tree_index=tree_index)  # type: ignore[no-any-return]


def choose_tree(n_trees: int, tree_index: int | None, what: str) -> int:
    """Return the position of the tree to read of a model that has ``n_trees``."""
    if tree_index is None:
        if n_trees == 1:
            return 0
        raise UnsupportedModelError(
            f"expected one tree, got {what} of {n_trees}; pass tree_index= for one of them, "
            "or distil the model into one tree with DistilledTreeClassifier or -Regressor"
        )
    if not -n_trees <= tree_index < n_trees:
        raise InputError(
            f"expected tree_index below {n_trees}, the number of trees, got {quoted(tree_index)}"
        )
    return int(tree_index) % n_trees


def load_model(path: str | os.PathLike[str], *, allow_pickle: bool = False) -> Any:
    """Load the model in a file in the form of its own library; a Tree where there is no other."""
    reader = _reader_of_file(Path(path), allow_pickle)
    load = getattr(reader, "load_file", reader.read_file)
    return load(Path(path))


def _reader_of_file(path: Path, allow_pickle: bool) -> Any:
    """Return the reader that knows the beginning or the name of a file."""
    start = read_bytes(path, most=HEAD_BYTES, what="tree file")
    for reader in _readers():
        if not (hasattr(reader, "reads_file") and reader.reads_file(path, start)):
            continue
        if getattr(reader, "EXECUTES_FILES", False) and not allow_pickle:
            raise TreeFormatError(
                f"{path}: expected a file that can be read without running it, got a pickle, which "
                "runs whatever code its author put into it; if you would run it as a program, pass "
                "allow_pickle=True (on the command line --allow-pickle), else ask for the model "
                "as .skops, ONNX or PMML"
            )
        return reader
    raise TreeFormatError(
        f"{path}: expected a model file of a kind that can be read, got another; "
        f"they are {', '.join(_file_kinds())}"
    )


def _file_kinds() -> list[str]:
    return [reader.FILES for reader in _readers() if hasattr(reader, "FILES")]


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


def numbers_classes(model: Any) -> bool:
    """Whether an estimator, fitted or not, learns only classes that are numbered from 0."""
    while steps := getattr(model, "steps", None):  # a pipeline
        model = steps[-1][1]
    own = not _is_read_alone(model)
    found = (r for r in _readers() if own and hasattr(r, "reads") and r.reads(model))
    return getattr(next(found, None), "NUMBERED_CLASSES", False)


def _is_read_alone(model: Any) -> bool:
    """Whether a model is none of a reader's: a tree, a file, or one that makes its own tree."""
    plain = isinstance(model, (Tree, str, type)) or hasattr(model, "__fspath__")
    return plain or callable(getattr(model, "to_tree", None))


def _reader_of(model: Any) -> Any:
    """Return the reader that knows a model, or say what could be read instead."""
    advice = ""
    for reader in _readers():
        if hasattr(reader, "reads") and reader.reads(model):
            return reader
        if not advice and hasattr(reader, "advice"):
            advice = reader.advice(model)
    raise UnsupportedModelError(
        f"expected a fitted decision tree, a Tree or the path of a model file, "
        f"got {type(model).__name__}"
        + (advice or "; fit a scikit-learn decision tree, or give the model a to_tree() method")
    )


def _readers() -> Iterator[Any]:
    """Go through the readers in the order in which they are asked, those of others last."""
    for entry in READERS.values():
        # The module at once where it is there: many models ask.
        yield (sys.modules.get(entry) or import_module(entry)) if isinstance(entry, str) else entry
    yield from _readers_of_others()


@cache
def _readers_of_others() -> tuple[Any, ...]:
    """Load what other packages offer."""
    return tuple(entry.load() for entry in entry_points(group=ENTRY_POINTS))


def _training_rate(tree: Tree, at: int) -> float:
    """Rate of a class in the rows a tree was trained on."""
    if not tree.counts_rows:
        raise InputError(
            'expected a tree fitted without sample or class weights for "prevalence", got a '
            "weighted one, whose shares are not rates; pass the rate as a number"
        )
    return float(tree.value[0, at])
