"""Rows that are handed over together: a table, its outcomes, and what else belongs to each row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from steadytree.exceptions import InputError

__all__ = ["Rows", "name_of", "read_rows"]


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows for ``retrain(old=..., test=...)``; a plain ``(X, y)`` does where that is all.

    Attributes
    ----------
    X, y
        Predictors and outcomes. A table may stay on disk, as the new rows may; the other
        entries are then names of columns.
    sample_weight : array, optional
        Weights in training.
    groups : array, optional
        Groups of the rows: while a group's new rows are scored, its old rows are not trained on.

    Examples
    --------
    >>> import steadytree as st
    >>> st.Rows([[1.0], [2.0]], [0, 1], groups=["a", "b"]).y
    [0, 1]
    """

    X: Any
    y: Any
    sample_weight: Any = None
    groups: Any = None


def read_rows(given: Any, name: str) -> Rows | None:
    """Return rows as they were given, as :class:`Rows` or as a pair; None for none."""
    if given is None or isinstance(given, Rows):
        return given
    if isinstance(given, (tuple, list)) and len(given) == 2:
        return Rows(*given)
    raise InputError(
        f"expected {name}=(X, y) or {name}=Rows(X, y, ...), got {type(given).__name__}; "
        "pass the rows together with their outcomes"
    )


def name_of(part: str, which: str) -> str:
    """Return what a part of the "new" or the "old" rows is called in messages: "old X"."""
    return part if which == "new" else f"old {part}"
