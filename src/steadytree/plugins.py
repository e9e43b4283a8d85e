"""The contract of readers and writers: every kind of tree comes in here, and goes out.

Readers and writers are plugins. Each is one module that imports this one, and nothing else of
steadytree, and is imported when somebody needs it: ours are named in ``READERS`` and ``WRITERS``,
those of other packages by entry points of the groups ``steadytree.readers`` and
``steadytree.writers``.

A reader offers, as far as they make sense:

- ``reads(model)``, whether a model is its own, and ``read(model, tree_index=None)``, which
  returns a :class:`Tree` that predicts the same, leaf by leaf;
- ``reads_file(path, start)``, whether a file is its own (``start``: its first bytes), and
  ``read_file(path, tree_index=None)``, which parses it with bounds and executes nothing. A
  module that must execute what the file says sets ``EXECUTES_FILES = True`` and is asked only
  with ``allow_pickle=True``; ``FILES`` names the kind of file in messages;
- ``load_file(path)``, which returns the model in the form of its own library;
- ``advice(model)``, if it knows better than "not supported" for models near to its own;
- ``read_all(models)``, if it reads many quicker than one by one;
- ``NUMBERED_CLASSES = True``, if its estimators learn only classes numbered from 0.

A writer offers ``write(tree, *, option=...)``, which returns text, bytes or a model, or refuses by
name what the format cannot say; ``SUFFIXES``, how its files end, the usual one first; where it
returns a model, ``save(model, path)``. The name of its entry point is that of the format.

Who deploys a pipeline, a LightGBM or an XGBoost model wants the same kind of object back, with the
new tree inside. A module named in ``IMITATORS`` offers ``imitates(model)``; ``write_like(tree,
model, prefer)``, which returns a model or refuses by name; ``predict(model, X, tree)``, what the
model says of rows in the terms of ``tree.predict``; and ``save(model, path)``.
"""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points, version
from pathlib import Path
from typing import Any

import numpy as np

from steadytree._io import (
    MAX_CATEGORIES,
    MAX_CATEGORY_CELLS,
    MAX_DEPTH,
    MAX_NODES,
    MAX_UNLISTED_FEATURES,
    parse_json,
    read_bytes,
    write_atomic,
)
from steadytree._optional import import_optional, with_version
from steadytree._text import harmless_words, quoted, some_of
from steadytree.exceptions import (
    FeatureAlignmentError,
    InputError,
    NotFittedTreeError,
    SteadyTreeWarning,
    TreeFormatError,
    UnsupportedModelError,
)
from steadytree.publish import publish_tree
from steadytree.tree.columns import plain_scalar
from steadytree.tree.decision import (
    LARGEST_SHARE,
    Decision,
    one_decision_of_leaves,
    resolve_decision,
    warn_of_one_decision,
)
from steadytree.tree.json import load_tree, tree_digest
from steadytree.tree.nested import (
    Branch,
    JsonObject,
    Leaf,
    Node,
    as_number,
    build_tree,
    kind_of,
    plain_scalars,
    read_scalars,
)
from steadytree.tree.observed import Observed
from steadytree.tree.paths import tree_rules
from steadytree.tree.printing import LeafNumbers, branch_texts, kept_words
from steadytree.tree.recoded import (
    IMPUTED,
    TAKES_MISSING,
    StandIn,
    recombine_one_hot,
    with_stand_ins,
)
from steadytree.tree.space import FeatureSpace
from steadytree.tree.tree import Tree, build_trees
from steadytree.tree.words import PAGE, PAGE_BRANCH, clean, shorten

__all__ = [
    "IMITATORS",
    "IMPUTED",
    "LARGEST_SHARE",
    "MAX_CATEGORIES",
    "MAX_CATEGORY_CELLS",
    "MAX_DEPTH",
    "MAX_NODES",
    "MAX_UNLISTED_FEATURES",
    "PAGE",
    "PAGE_BRANCH",
    "READERS",
    "TAKES_MISSING",
    "WRITERS",
    "Branch",
    "Decision",
    "FeatureAlignmentError",
    "InputError",
    "JsonObject",
    "Leaf",
    "LeafNumbers",
    "Node",
    "NotFittedTreeError",
    "Observed",
    "StandIn",
    "SteadyTreeWarning",
    "Tree",
    "TreeFormatError",
    "UnsupportedModelError",
    "__version__",
    "as_number",
    "as_tree",
    "branch_texts",
    "build_tree",
    "build_trees",
    "choose_tree",
    "clean",
    "export_tree",
    "harmless_words",
    "import_optional",
    "is_a",
    "kept_words",
    "kind_of",
    "load_tree",
    "not_fitted",
    "parse_json",
    "plain_scalar",
    "plain_scalars",
    "quoted",
    "read_bytes",
    "read_model",
    "read_scalars",
    "shorten",
    "some_of",
    "tree_digest",
    "tree_rules",
    "with_stand_ins",
    "with_version",
    "write_atomic",
    "write_like",
]

__version__ = version("steadytree")

READERS: dict[str, Any] = {
    "scikit-learn": "steadytree.formats.sklearn.read_sklearn",
    "HistGradientBoosting": "steadytree.formats.sklearn.read_hist_boosting",
    "scikit-learn wrappers": "steadytree.formats.sklearn.read_wrappers",
    "scikit-learn pipeline": "steadytree.formats.sklearn.read_pipelines",
    "LightGBM": "steadytree.formats.boosting.read_lightgbm",
    "CatBoost": "steadytree.formats.boosting.read_catboost",
    "YDF": "steadytree.formats.boosting.read_ydf",
    "optimal trees": "steadytree.formats.read_optimal",
    "XGBoost": "steadytree.formats.boosting.read_xgboost",
    "skops": "steadytree.formats.files.read_skops",
    "ONNX": "steadytree.formats.onnx.read_onnx",
    "nested conditions": "steadytree.formats.files.nested_files",
    "PMML": "steadytree.formats.pmml.read_pmml",
    "steadytree": "steadytree.formats.files.read_own",
    "rules": "steadytree.formats.rules.read_rules",
    # The last: whatever else can be read without running it.
    "pickle": "steadytree.formats.files.read_pickle",
}
"""The readers in the order in which they are asked: a module to import, or anything that
offers the same functions."""

WRITERS: dict[str, Any] = {
    "sklearn": "steadytree.formats.sklearn.write_sklearn",
    "onnx": "steadytree.formats.onnx.write_onnx",
    "pmml": "steadytree.formats.pmml.write_pmml",
    "dict": "steadytree.formats.files.nested_files",
    "markdown": "steadytree.formats.pages.markdown",
    "dot": "steadytree.formats.pages.dot",
    "mermaid": "steadytree.formats.pages.mermaid",
    "sql": "steadytree.formats.code.sql",
    "python": "steadytree.formats.code.python",
    "c": "steadytree.formats.code.c",
    "javascript": "steadytree.formats.code.javascript",
    "r": "steadytree.formats.code.r",
    "rules": "steadytree.formats.rules.write_rules",
}
"""The formats: a module to import, or anything that offers the same."""

IMITATORS: dict[str, Any] = {
    "scikit-learn": "steadytree.formats.sklearn.write_sklearn",
    "LightGBM or XGBoost": "steadytree.formats.boosting.like_boosting",
}
"""Kinds of models in whose form a tree can be written: a module to import for each."""

HEAD_BYTES = 4096
TOLERANCE = 1e-6
"""Relative; of responses that a library keeps in single precision."""


# -- in --------------------------------------------------------------------------------


def as_tree(
    model: Any,
    decision_threshold: Decision | float | str | None = None,
    *,
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
        own estimators, and whatever else ``steadytree.plugins.READERS`` lists; or the path of
        a file written by :func:`save_tree` or in a format listed there.
    decision_threshold : float, "prevalence", Decision or None
        For two classes: a leaf is labelled positive where the share of the positive class
        reaches this number. "prevalence" takes its rate in the training rows. Which class is
        positive, costs and more: :class:`Decision`. By default the policy stored with the tree
        is kept; without one the label is the most frequent class.
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
    if space is not None:
        tree = recombine_one_hot(tree, space).replace(space=space)
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


def _training_rate(tree: Tree, at: int) -> float:
    """Rate of a class in the rows a tree was trained on."""
    if not tree.counts_rows:
        raise InputError(
            'expected a tree fitted without sample or class weights for "prevalence", got a '
            "weighted one, whose shares are not rates; pass the rate as a number"
        )
    return float(tree.value[0, at])


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


def read_models(models: Sequence[Any]) -> list[Tree]:
    """Read several models as :func:`read_model`, at once where their reader offers ``read_all``.

    A model that is given twice becomes one tree.
    """
    trees: dict[int, Tree] = {}
    together: dict[int, tuple[Any, list[Any]]] = {}
    for model in {id(model): model for model in models}.values():
        reader = None if _is_read_alone(model) else _reader_of(model)
        if hasattr(reader, "read_all"):
            together.setdefault(id(reader), (reader, []))[1].append(model)
        else:
            trees[id(model)] = read_model(model)
    for reader, members in together.values():
        trees |= zip(map(id, members), reader.read_all(members), strict=True)
    return [trees[id(model)] for model in models]


def load_model(path: str | os.PathLike[str], *, allow_pickle: bool = False) -> Any:
    """Load the model in a file in the form of its own library; a Tree where there is no other."""
    reader = _reader_of_file(Path(path), allow_pickle)
    load = getattr(reader, "load_file", reader.read_file)
    return load(Path(path))


def is_a(model: Any, package: str, *names: str) -> bool:
    """Whether a model is of a class of a package, by its name: nothing is imported to see it."""
    return any(
        kind.__module__.partition(".")[0] == package and (not names or kind.__name__ in names)
        for kind in type(model).__mro__
    )


def not_fitted(model: Any) -> NotFittedTreeError:
    """Return the error for a model before fit."""
    return NotFittedTreeError(
        f"expected a fitted model, got {type(model).__name__} before fit; call fit(X, y) first"
    )


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
        f"they are {', '.join(r.FILES for r in _readers() if hasattr(r, 'FILES'))}"
    )


def _readers() -> Iterator[Any]:
    """Go through the readers in the order in which they are asked, those of others last."""
    yield from map(_imported, READERS.values())
    yield from _of_others("steadytree.readers").values()


def _imported(entry: Any) -> Any:
    """Return a module by its name, at once where it is there: many models ask."""
    return (sys.modules.get(entry) or import_module(entry)) if isinstance(entry, str) else entry


@cache
def _of_others(group: str) -> dict[str, Any]:
    """Load what other packages offer, by name."""
    return {entry.name: entry.load() for entry in entry_points(group=group)}


# -- out -------------------------------------------------------------------------------


def export_tree(
    tree: Any,
    to: str | None = None,
    path: str | os.PathLike[str] | None = None,
    *,
    publish: bool = False,
    **options: Any,
) -> Any:
    """Write a tree so that another system decides exactly as it does.

    Parameters
    ----------
    tree : Tree, fitted model or path
        Whatever :func:`as_tree` reads.
    to : str, optional
        A format of ``steadytree.plugins.WRITERS``, such as "sql", "onnx" or "sklearn". By
        default the one that files with the suffix of ``path`` are in.
    path : path, optional
        Where to write; the file is written whole or not at all.
    publish : bool, default False
        Write the tree as it may leave the house: :func:`steadytree.publish.publish_tree`.
    **options
        Of the format, see its writer: ``dialect="postgres"`` for SQL.

    Returns
    -------
    str, bytes or a model
        What was written; with ``path`` the path.

    Examples
    --------
    >>> import steadytree as st
    >>> tree = st.tree_from_rules('''
    ... age <= 50: no
    ... else: yes
    ... ''')
    >>> print(st.export_tree(tree, "sql").splitlines()[-1])
    CASE WHEN "age" <= 50.0e0 THEN 'no' ELSE 'yes' END
    """
    if to is None:
        if path is None:
            raise InputError(
                f"expected a format or a path, got neither; the formats are {', '.join(writers())}"
            )
        to = format_of(path)
    writer, known = _writer(to), options_of(to)
    if unknown := sorted(set(options) - set(known)):
        raise InputError(
            f"expected options of {to!r} ({', '.join(known) or 'there are none'}), "
            f"got {', '.join(unknown)}"
        )
    model = read_model(tree)
    written = writer.write(publish_tree(model) if publish else model, **options)
    if path is None:
        return written
    if hasattr(writer, "save"):
        return Path(writer.save(written, Path(path)))
    return write_atomic(path, written)


def options_of(to: str) -> dict[str, Any]:
    """Return the options of a format, each with its default.

    Parameters
    ----------
    to : str
        A format of ``WRITERS``.

    Returns
    -------
    dict of str to object

    Examples
    --------
    >>> from steadytree.plugins import options_of
    >>> sorted(options_of("sql"))[:3]
    ['columns', 'dialect', 'of_class']
    """
    return {
        name: parameter.default
        for name, parameter in inspect.signature(_writer(to).write).parameters.items()
        if parameter.kind is parameter.KEYWORD_ONLY
    }


def format_of(path: str | os.PathLike[str]) -> str:
    """Return the format that files with this suffix are in."""
    suffix = Path(path).suffix.lower()
    known = {end: name for name in reversed(writers()) for end in _writer(name).SUFFIXES}
    if suffix not in known:
        raise InputError(
            f"expected a path that ends in one of {', '.join(sorted(known))}, got "
            f"{str(path)!r}; name the format: to={next(iter(WRITERS))!r}"
        )
    return known[suffix]


def writers() -> dict[str, Any]:
    """Return every format by name: ours, then those of other packages."""
    return {**WRITERS, **_of_others("steadytree.writers")}


def _writer(name: str) -> Any:
    known = writers()
    if name not in known:
        raise InputError(f"expected a format of {', '.join(known)}, got {name!r}")
    return _imported(known[name])


# -- out, in the form of another model -------------------------------------------------


def write_like(tree: Tree, model: Any, *, prefer: str | None = None) -> Any:
    """Return a model of the form of ``model`` that predicts as the tree does.

    Parameters
    ----------
    tree : Tree
        In the columns that ``model`` takes. Of a pipeline these are the raw ones; thresholds that
        its arithmetic cannot tell from the next numbers are moved up to the next that it can, and
        ``moved_thresholds_`` of its last step lists them.
    model : fitted model
        It is left alone; what is returned shares nothing with it that training changes.
    prefer : {"labels", "shares"}, optional
        Which gives way where a label does not follow its shares and the form cannot say so.
    """
    return _imitator_of(model).write_like(tree, model, prefer)


def save_like(model: Any, path: Path) -> Path:
    """Write a model that :func:`write_like` returned to a file of its library."""
    return Path(_imitator_of(model).save(model, path))


def rows_predicted_otherwise(tree: Tree, written: Any, X: Any) -> int:
    """Count the rows for which a model does not predict what the tree does."""
    expected = tree.predict(X)
    try:
        found = np.asarray(_imitator_of(written).predict(written, X, tree))
    except (ValueError, TypeError) as error:
        raise InputError(
            f"expected rows that {type(written).__name__} can predict, got some that it refuses: "
            f"{str(error).strip().splitlines()[0]}; try the model on rows that it takes"
        ) from error
    if tree.is_classifier:
        return int((found != expected).sum())
    return int((~np.isclose(found.astype(float), expected, rtol=TOLERANCE, atol=0)).sum())


def _imitator_of(model: Any) -> Any:
    """Return the module that knows the form of a model, or say what could be given."""
    for entry in IMITATORS.values():
        module = _imported(entry)
        if module.imitates(model):
            return module
    raise UnsupportedModelError(
        f"expected a model of {', '.join(IMITATORS)} in whose form to write the tree, got "
        f"{type(model).__name__}; write it in a format of steadytree.plugins.WRITERS instead"
    )
