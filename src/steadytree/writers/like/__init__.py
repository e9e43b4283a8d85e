"""A tree in the form of another model, so that it runs where that one ran.

Who deploys a pipeline, a LightGBM or an XGBoost model wants the same kind of object back, with
the new tree inside. Each kind has a module named in ``IMITATORS`` and imported when it is needed.
It offers ``imitates(model)``; ``write_like(tree, model, prefer)``, which returns a model or refuses
by name; ``predict(model, X, tree)``, what the model says of rows in the terms of
``tree.predict``; and ``save(model, path)``, which writes such a model to a file of its kind.
"""

from __future__ import annotations

import warnings
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from steadytree.exceptions import InputError, SteadyTreeWarning, UnsupportedModelError
from steadytree.tree.columns import n_rows
from steadytree.tree.tree import Tree

__all__ = ["IMITATORS", "imitator_of", "rows_told_otherwise", "save_like", "write_like"]

IMITATORS: dict[str, Any] = {
    "scikit-learn": "steadytree.writers.like.sklearn",
    "LightGBM": "steadytree.writers.like.lightgbm",
    "XGBoost": "steadytree.writers.like.xgboost",
}
"""Kinds of models that a tree can be written as: a module to import for each."""

TOLERANCE = 1e-6
"""Relative; of responses that a library keeps in single precision."""


def write_like(tree: Tree, model: Any, *, prefer: str | None = None, X: Any = None) -> Any:
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
    X : table, optional
        Rows to try both on; a warning says how many they tell apart.
    """
    written = imitator_of(model).write_like(tree, model, prefer)
    if X is not None:
        other = rows_told_otherwise(tree, written, X)
        if other:
            warnings.warn(
                f"{other:,} of {n_rows(X):,} rows are predicted otherwise than by the tree: their "
                "values lie between its thresholds and the nearest that the model can compare with",
                SteadyTreeWarning,
                stacklevel=2,
            )
    return written


def save_like(model: Any, path: Path) -> Path:
    """Write a model that :func:`write_like` returned to a file of its library."""
    return Path(imitator_of(model).save(model, path))


def rows_told_otherwise(tree: Tree, written: Any, X: Any) -> int:
    """Count the rows for which a model does not predict what the tree does."""
    expected = tree.predict(X)
    try:
        found = np.asarray(imitator_of(written).predict(written, X, tree))
    except (ValueError, TypeError) as error:
        raise InputError(
            f"expected rows that {type(written).__name__} can predict, got some that it refuses: "
            f"{str(error).strip().splitlines()[0]}; try the model on rows that it takes"
        ) from error
    if tree.is_classifier:
        return int((found != expected).sum())
    return int((~np.isclose(found.astype(float), expected, rtol=TOLERANCE, atol=0)).sum())


def imitator_of(model: Any) -> Any:
    """Return the module that knows the form of a model, or say what could be given."""
    if isinstance(model, type):
        raise InputError(
            f"expected a fitted model in whose form to write, got the class {model.__name__}"
        )
    for entry in IMITATORS.values():
        module = import_module(entry) if isinstance(entry, str) else entry
        if module.imitates(model):
            return module
    raise UnsupportedModelError(
        f"expected a model of {', '.join(IMITATORS)} in whose form to write the tree, got "
        f"{type(model).__name__}; write it in a format of steadytree.writers.WRITERS instead"
    )
