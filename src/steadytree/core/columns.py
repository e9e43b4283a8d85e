"""What a column holds, and whether a tree can learn from it.

Tables come as people have them: with dates, patient numbers, free text and columns nobody
filled in. A tree that takes each of 4,000 identifiers for a category trains for minutes and
ends in rules that nobody can read, so such columns are refused by name, with what to do.
"""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from steadytree.core.tabular import (
    column_values,
    dates_in_column,
    lists_in_cells,
    numeric_column,
    plain_scalar,
    refuse_dates,
)
from steadytree.exceptions import InputError, SteadyTreeWarning

__all__ = [
    "DATE_TEXT",
    "MOST_CATEGORIES",
    "NO_VALUE",
    "Column",
    "central_range",
    "check_learnable",
    "declared_categories",
    "near_unique",
    "observe_column",
]

MOST_CATEGORIES = 255
"""More categories than this are refused: their rules could not be read."""
DISTINCT_SHARE = 0.5
FEW_CATEGORIES = 20
"""A column of text holds names or identifiers if it has more different ones than this, and more
of them than this share of its rows."""
FEW_ROWS = 20

NO_VALUE = "(none)"
"""The one category of a categorical column that is missing throughout."""

DATE_TEXT = re.compile(
    r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}([T ]\d{1,2}:\d{2}.*)?|\d{1,2}[-/.]\d{1,2}[-/.]\d{4}( .*)?"
)
"""How dates are written as text."""
_IDENTIFIER = re.compile(
    r"(^|.*[^a-zA-Z])(id|uid|uuid|guid|identifier|index|row|key)$|.*[a-z](ID|Id)$|Unnamed: \d+",
)


@dataclass(frozen=True)
class Column:
    """What was seen in a column: a range, or categories.

    Attributes
    ----------
    lower, upper : float
        Range of a numeric column; 0 where every value is missing, or of a categorical one.
    categories : tuple or None
        None for a numeric column.
    ordered : bool
        Whether the categories were declared as an order (low < medium < high): an ordered
        pandas categorical, or a polars ``Enum``.
    n_distinct, n_present : int
        Different values, and values that are not missing.
    n_rows : int
    """

    lower: float
    upper: float
    categories: tuple[Any, ...] | None
    ordered: bool
    n_distinct: int
    n_present: int
    n_rows: int

    def can_be_missing(self, rarely: float = 0.0) -> bool:
        """Whether more than a share of the values are missing."""
        return self.n_rows - self.n_present > rarely * self.n_rows


def observe_column(
    X: Any, column: int | str, name: str, *, categorical: bool, tails: float = 0.0
) -> Column:
    """Read the range or the categories of a column, or say what is wrong with it.

    ``tails``: share of the numbers beyond either end of the range, see :func:`central_range`.
    """
    values = column_values(X, column)
    if categorical:
        return _observe_categories(X, column, values, name)
    numbers = numeric_column(values, name)
    if np.isinf(numbers).any():
        raise InputError(
            f"expected finite numbers in {name!r}, got an infinity; "
            "replace infinities with a number or with missing"
        )
    seen = numbers[~np.isnan(numbers)]
    low, high = central_range(seen, tails) if seen.size else (0.0, 0.0)
    return Column(low, high, None, False, len(np.unique(seen)), seen.size, numbers.size)


def central_range(values: NDArray[np.float64], tails: float) -> tuple[float, float]:
    """Range of some numbers without a share of them at either end: one of them at the least.

    All of them where nothing would be left between the ends.
    """
    if tails > 0:
        low = float(np.quantile(values, tails, method="higher"))
        high = float(np.quantile(values, 1.0 - tails, method="lower"))
        if low < high:
            return low, high
    return float(values.min()), float(values.max())


def _observe_categories(X: Any, column: int | str, values: NDArray[Any], name: str) -> Column:
    """Read the categories; declared ones (``category``, polars ``Enum``) keep their order."""
    refuse_dates(values, name)
    objects = np.asarray(values, dtype=object)
    gone = np.asarray(pd.isna(objects), dtype=bool)
    try:
        seen = {plain_scalar(v) for v in objects[~gone]}
    except TypeError:
        raise lists_in_cells(objects, name) from None
    categories, ordered = declared_categories(X, column)
    if categories is None:
        try:
            categories = tuple(sorted(seen))
        except TypeError:  # values of mixed types
            categories = tuple(sorted(seen, key=lambda v: (type(v).__name__, str(v))))
    # A column that is missing throughout still needs one category to be a feature.
    return Column(
        0.0, 0.0, categories or (NO_VALUE,), ordered, len(seen), int((~gone).sum()), objects.size
    )


def declared_categories(X: Any, column: int | str) -> tuple[tuple[Any, ...] | None, bool]:
    """Categories that the type of a column lists (None: it lists none), and whether in order."""
    dtype = _dtype_of(X, column)
    if isinstance(dtype, pd.CategoricalDtype):
        return tuple(plain_scalar(v) for v in dtype.categories), bool(dtype.ordered)
    if str(dtype).startswith("Enum"):
        return tuple(dtype.categories), True
    return None, False


def _dtype_of(X: Any, column: int | str) -> Any:
    """Return the type a frame gives a column; None for an array."""
    if isinstance(X, pd.DataFrame):
        # X.dtypes would go through all columns each time.
        return (X.iloc[:, column] if isinstance(column, int) else X[column]).dtype
    if hasattr(X, "dtypes"):  # polars
        return (X.to_series(column) if isinstance(column, int) else X[column]).dtype
    return None


def check_learnable(X: Any, column: int, name: str, found: Column) -> None:
    """Refuse identifiers, dates written as text and very many categories; note row numbers."""
    if found.categories is None:
        if _looks_like_identifier(X, column, name, found):
            warnings.warn(
                f"column {name!r} has another whole number in every row and looks like an "
                "identifier: rules on it hold for no rows to come; leave it out",
                SteadyTreeWarning,
                stacklevel=2,
            )
        return
    declared = isinstance(_dtype_of(X, column), pd.CategoricalDtype)
    texts = [c for c in found.categories if isinstance(c, str) and c != NO_VALUE]
    if not declared and texts and all(DATE_TEXT.fullmatch(text) for text in texts):
        raise dates_in_column(name, f"written as text such as {texts[0]!r}")
    if near_unique(found.n_distinct, found.n_present):
        few = len(found.categories) <= MOST_CATEGORIES
        got = (
            f"{found.n_distinct:,} different ones in {found.n_present:,} rows, as in names, "
            "identifiers or free text"
        )
        if not (declared and few):
            raise InputError(
                f"expected categories that rows share in column {name!r}, got {got}; leave the "
                "column out" + (", or insist with the type 'category'" if few else "")
            )
        warnings.warn(
            f"column {name!r} has {got}: rules on it hold for few rows to come, and a tree shows "
            "them to whoever reads it; leave it out",
            SteadyTreeWarning,
            stacklevel=2,
        )
    if len(found.categories) > MOST_CATEGORIES:
        raise InputError(
            f"expected at most {MOST_CATEGORIES} categories in column {name!r}, got "
            f"{len(found.categories):,}; group the rare ones, for example "
            f"X[{name!r}].where(X[{name!r}].map(X[{name!r}].value_counts()) >= 50, 'other'), "
            "or leave the column out"
        )


def near_unique(n_distinct: int, n_present: int) -> bool:
    """Whether texts are as different as names, identifiers or free text are."""
    return n_distinct > FEW_CATEGORIES and n_distinct > DISTINCT_SHARE * n_present


def _looks_like_identifier(X: Any, column: int, name: str, found: Column) -> bool:
    if not found.n_distinct == found.n_rows >= FEW_ROWS or not _IDENTIFIER.fullmatch(name):
        return False
    numbers = numeric_column(column_values(X, column), name)
    return bool((numbers == np.floor(numbers)).all())
