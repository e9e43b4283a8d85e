"""Notice that categories are called otherwise than before, rather than learn from them.

0 and 1 where the deployed tree knows "no" and "yes", "Yes" for "yes": coded as they come, such
values are new categories, and the search would write rules about them. So they are said plainly
before anything is trained.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadytree.evaluation.changed_columns import UNKNOWN_SHARE
from steadytree.exceptions import InputError

__all__ = ["check_categories"]

FloatArray = NDArray[np.float64]


def check_categories(
    name: str, known: Sequence[Any], met: Sequence[Any], codes: FloatArray
) -> str | None:
    """Say which categories are new; refuse a column of which most values are unknown.

    ``met`` holds the known categories and the new ones, ``codes`` the positions in it.
    Returns a note, or None where nothing is new.
    """
    listed = set(known)
    at = [code for code, category in enumerate(met) if category not in listed]
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
    return f"new categories of {name!r}: {_some(fresh)}"


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
