"""Notice that a column means something else than before, rather than learn from it.

Income in another currency, 0 and 1 where the deployed tree knows "no" and "yes", "Yes" for
"yes": coded as they come, such values are new categories or numbers out of range, and the
search would write rules about them. So they are said plainly before anything is trained.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadytree.core.space import FeatureSpace
from steadytree.core.tree import Tree
from steadytree.exceptions import InputError

__all__ = ["check_categories", "note_units"]

FloatArray = NDArray[np.float64]

UNKNOWN_SHARE = 0.5
"""A column is taken for coded otherwise where more than this share of its values is unknown."""
ORDER_OF_MAGNITUDE = 10.0
OUTSIDE_SHARE = 0.05
FEWEST_VALUES = 20


def check_categories(
    name: str, known: Sequence[Any], met: Sequence[Any], codes: FloatArray
) -> str | None:
    """Say which categories are new; refuse a column of which most values are unknown.

    ``met`` holds the known categories and the new ones, ``codes`` the positions in it.
    Returns a note, or None where nothing is new.
    """
    at = [code for code, category in enumerate(met) if category not in set(known)]
    fresh = [met[code] for code in at]
    if not fresh:
        return None
    spelling = {_plainly(c): c for c in known}
    other = {c: spelling[_plainly(c)] for c in fresh if _plainly(c) in spelling}
    present = ~np.isnan(codes)
    unknown = float(np.isin(codes[present], at).mean())
    if unknown > UNKNOWN_SHARE:
        fix = f"X[{name!r}].replace({other!r})" if other else f"X[{name!r}].map({{...: ...}})"
        raise InputError(
            f"expected the deployed tree's categories of {name!r} ({_some(known)}), got "
            f"{_some(fresh)} in {unknown:.0%} of the new rows; if these are other names for the "
            f"same, map them first: {fix}; if they are new categories, pass "
            "space=FeatureSpace.from_data(...) made from old and new rows"
        )
    if other:
        pairs = ", ".join(f"{new!r} beside {old!r}" for new, old in list(other.items())[:5])
        return f"new categories of {name!r} that may be other spellings: {pairs}"
    return f"new categories of {name!r}: {', '.join(repr(c) for c in fresh[:5])}"


def _plainly(category: Any) -> str:
    """Write a category so that spellings of the same are equal: case, blanks, 1 and 1.0."""
    text = str(category).strip().casefold()
    try:
        return f"{float(text):g}"
    except ValueError:
        return text


def _some(categories: Sequence[Any]) -> str:
    shown = ", ".join(repr(c) for c in categories[:5])
    return shown + (", ..." if len(categories) > 5 else "")


def note_units(
    base: FeatureSpace, tree: Tree, new: FloatArray, old: FloatArray | None
) -> tuple[str, ...]:
    """Name the numeric columns whose numbers moved by an order of magnitude.

    Against the stored range: the new values go ten times beyond it (and more than a few of
    them), or all stay below a tenth of it, on one side of every threshold of the tree. Against
    old rows: their medians, zeros left out, differ ten times. ``tree`` is written in ``base``.
    """
    notes = []
    for j, name in enumerate(base.feature_labels):
        values = new[:, j][~np.isnan(new[:, j])]
        if base.categories[j] is not None or values.size < FEWEST_VALUES:
            continue
        was = float(max(abs(base.lower[j]), abs(base.upper[j])))
        now = float(np.abs(values).max())
        moved = _beyond(values, base, j, was, now) or _shrunk(values, tree, j, was, now)
        if not moved and old is not None:
            before = old[:, j][~np.isnan(old[:, j])]
            moved = _medians_differ(before, values)
            was = float(np.abs(before).max()) if moved else was
        if moved:
            notes.append(
                f"column {name!r} runs to {_number(now)}; it ran to {_number(was)}: other units?"
            )
    return tuple(notes)


def _beyond(values: FloatArray, base: FeatureSpace, j: int, was: float, now: float) -> bool:
    outside = ((values < base.lower[j]) | (values > base.upper[j])).mean()
    return bool(was > 0 and now >= ORDER_OF_MAGNITUDE * was and outside > OUTSIDE_SHARE)


def _shrunk(values: FloatArray, tree: Tree, j: int, was: float, now: float) -> bool:
    cuts = tree.threshold[(tree.feature == j) & np.isfinite(tree.threshold)]
    one_side = ((cuts < values.min()) | (cuts >= values.max())).all()
    return bool(cuts.size and one_side and now * ORDER_OF_MAGNITUDE <= was)


def _medians_differ(old: FloatArray, new: FloatArray) -> bool:
    sizes = [np.abs(part[part != 0]) for part in (old, new)]
    if min(part.size for part in sizes) < FEWEST_VALUES:
        return False
    low, high = sorted(float(np.median(part)) for part in sizes)
    return high >= ORDER_OF_MAGNITUDE * low


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"
