"""Orders of categories: the deployed tree's order holds, and one against it is refused.

Rules divide ordered categories along their order, so that a batch whose column declares
another order would have its rules written along the wrong one. Which of the two is right
only the user knows (an order made by ``as_ordered()`` is the alphabet's). Rows without a
declared order, read from a file, follow the deployed one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from steadytree.core.columns import NO_VALUE, declared_categories
from steadytree.core.joined_spaces import joined_order
from steadytree.core.space import FeatureSpace
from steadytree.core.tabular import column_names
from steadytree.exceptions import InputError

__all__ = [
    "check_orders",
    "check_place",
    "unused_orders",
]


def check_orders(space: FeatureSpace, X: Any, table: str) -> None:
    """Refuse a table that declares another order than the space has."""
    for j, order in _declared(space, X):
        name, known = space.feature_labels[j], space.categories[j] or ()
        shared = set(known) & set(order)
        contradicts = [c for c in known if c in shared] != [c for c in order if c in shared]
        if space.ordered[j] and contradicts:
            raise InputError(
                f"expected the known order {_words(known)} of {name!r}, got "
                f"{_words(order)} in {table}; put the categories in one order first: "
                f"{_fix(name, known)}"
            )


def check_place(name: str, known: Sequence[Any], met: Sequence[Any], *, ordered: bool) -> None:
    """Refuse categories of which nobody says where in an order they are."""
    listed = {*known, NO_VALUE}
    fresh = [c for c in met if c not in listed]
    if fresh and (not ordered or joined_order(known, met) is None):
        raise InputError(
            f"expected the place of every category in the order {_words(known)} of {name!r}, got "
            f"{', '.join(map(repr, fresh[:5]))} besides; declare the whole order, each in its "
            f"place: {_fix(name, [*known, *fresh])}, or make them missing"
        )


def unused_orders(space: FeatureSpace, X: Any) -> list[str]:
    """Name the columns that declare an order where the space has none."""
    return [
        f"the order {_words(order)} of {space.feature_labels[j]!r} is not used, as the deployed "
        "tree knows none; to let new rules follow it, pass space=FeatureSpace.from_data(X)"
        for j, order in _declared(space, X)
        if len(space.categories[j] or ()) > 2 and not space.ordered[j]
    ]


def _declared(space: FeatureSpace, X: Any) -> Iterator[tuple[int, tuple[Any, ...]]]:
    """Position and declared order of the categorical features whose columns declare one."""
    have = column_names(X)
    if have is None:
        return
    for j, name in enumerate(space.feature_labels):
        if space.categories[j] is not None and name in have:
            listed, ordered = declared_categories(X, name)
            if ordered and listed is not None:
                yield j, listed


def _words(categories: Sequence[Any]) -> str:
    shown = [str(c) for c in categories]
    if len(shown) > 6:
        shown = [*shown[:3], "...", *shown[-2:]]
    return " < ".join(shown)


def _fix(name: str, order: Sequence[Any]) -> str:
    return f"X[{name!r}].cat.set_categories({list(order)!r}, ordered=True)"
