"""Read columns out of arrays, pandas and polars frames, and code them as numbers.

A tree compares numbers with thresholds and looks categories up in sets. Whatever the
user passes (an array, a pandas or a polars frame) becomes one float matrix here:
numeric columns as they are, categorical columns as the position of the value in the
feature's list of categories, and NaN for "missing". A category that is not in the list
is coded like a missing value, unless the caller tells the two apart.

At the end: sets of categories as bits, shares of a range.
"""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from numbers import Real
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from steadytree._io import MAX_CATEGORIES, check_size, check_texts
from steadytree._text import quoted, repeated, some_of
from steadytree.exceptions import (
    FeatureAlignmentError,
    InputError,
    SteadyTreeWarning,
    TreeFormatError,
)

Categories = tuple[tuple[Any, ...] | None, ...]

UNSEEN = -1.0
"""Code of a category that is not in the list, where it is told from a missing value."""

POLARS_CATEGORICAL = ("Categorical", "Enum", "String", "Utf8", "Object", "Boolean")
POLARS_NESTED = ("Struct", "List", "Array")
NUMBERS = (Real, np.number, Decimal)


def is_frame(X: Any) -> bool:
    """Whether ``X`` is a pandas or polars frame (it has named columns)."""
    return hasattr(X, "columns") and hasattr(X, "__getitem__") and hasattr(X, "shape")


def as_table(X: Any, name: str = "X") -> Any:
    """Return frames and arrays as they are, and a list of rows as an array."""
    if hasattr(X, "shape"):
        return X
    named = isinstance(X, Sequence) and len(X) > 0 and isinstance(X[0], Mapping)
    if X is None or named or isinstance(X, (str, bytes, os.PathLike, Mapping)):
        what = "a list of dictionaries" if named else "none" if X is None else type(X).__name__
        raise InputError(
            f"expected a table in {name} (an array, a pandas or polars frame, or a list of rows), "
            f"got {what}; read or convert it first, for example with pandas"
        )
    try:
        plain = np.asarray(X)
        # numpy would write numbers beside strings as strings.
        return plain if plain.dtype.kind in "fiubc" else np.array(X, dtype=object)
    except ValueError:
        raise InputError(
            f"expected rows of equal length in {name}, got a list of rows of several lengths; "
            "give every row one value per column"
        ) from None


def outcome_values(y: Any) -> NDArray[Any]:
    """Outcomes as an array in their own type: nullable integers and booleans stay what they are.

    So do numbers and booleans that come as categories or objects. Only where values are missing
    do they become objects, for the caller to refuse.
    """
    own_type = isinstance(getattr(y, "dtype", None), pd.api.extensions.ExtensionDtype)
    values = np.asarray(y, dtype=object if own_type else None)
    if values.dtype.kind != "O" or values.ndim != 1:
        return values
    kinds: dict[str, type] = {"integer": np.int64, "boolean": bool, "floating": np.float64}
    held = pd.api.types.infer_dtype(values, skipna=False)
    if held not in kinds or pd.isna(values).any():
        return values
    try:
        return values.astype(kinds[held])
    except OverflowError:  # whole numbers beyond 64 bits
        return values


def column_names(X: Any) -> tuple[str, ...] | None:
    """Names of the columns of a frame, or None for an array.

    Like scikit-learn, names count only when all of them are strings.
    """
    if not is_frame(X):
        return None
    names = tuple(X.columns)
    if not all(isinstance(name, str) for name in names):
        return None
    if len(set(names)) != len(names):
        twice = quoted(sorted(repeated(names)))
        raise InputError(
            f"expected distinct column names, got {twice} more than once; rename the columns"
        )
    return names


def n_rows(X: Any) -> int:
    """Count the rows of an array or frame."""
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def _column(X: Any, column: int | str) -> Any:
    """One column as the table holds it: a series of a frame, or a part of an array."""
    if isinstance(X, pd.DataFrame):
        return X[column] if isinstance(column, str) else X.iloc[:, column]
    if is_frame(X):  # polars
        return X[column] if isinstance(column, str) else X.to_series(column)
    return np.asarray(X)[:, int(column)]


def column_values(X: Any, column: int | str) -> NDArray[Any]:
    """One column as a numpy array: floats or booleans where possible, else objects."""
    values = _column(X, column)
    if isinstance(values, np.ndarray):
        return values
    if isinstance(values, pd.Series):
        if isinstance(values.dtype, pd.CategoricalDtype):
            values = values.astype(object)
        elif pd.api.types.is_extension_array_dtype(values.dtype) and values.isna().any():
            return np.asarray(values.to_numpy(dtype=object, na_value=np.nan))
    elif str(values.dtype).startswith(POLARS_CATEGORICAL):
        return np.array(values.to_list(), dtype=object)
    elif str(values.dtype).startswith(POLARS_NESTED):
        cells = np.empty(len(values), dtype=object)
        cells[:] = values.to_list()
        return cells
    return np.asarray(values.to_numpy())


def is_categorical_column(X: Any, column: int) -> bool:
    """Whether the column's own type says "category": category, string or boolean."""
    values = _column(X, column)
    if isinstance(values, pd.Series):
        dtype = values.dtype
        if isinstance(dtype, pd.CategoricalDtype) or pd.api.types.is_bool_dtype(dtype):
            return True
        if pd.api.types.is_numeric_dtype(dtype):
            return False
        return not all(isinstance(v, NUMBERS) for v in values.dropna().head(1000))
    if not isinstance(values, np.ndarray):
        return str(values.dtype).startswith(POLARS_CATEGORICAL)
    if values.dtype.kind in "fiub":
        return bool(values.dtype.kind == "b")
    return any(not isinstance(v, NUMBERS) and not _is_missing(v) for v in values[:1000])


def _is_missing(value: Any) -> bool:
    return value is None or value is pd.NA or (isinstance(value, float) and value != value)


def plain_scalar(value: Any) -> Any:
    """Return a numpy scalar as the plain Python value that JSON can hold, an interval as text."""
    if isinstance(value, pd.Interval):
        return str(value)
    return value.item() if isinstance(value, np.generic) else value


DATES = ("datetime", "datetime64", "date", "timedelta", "timedelta64", "time", "period")


def refuse_dates(values: NDArray[Any], name: str) -> None:
    """Refuse dates, times and durations, with what to pass instead.

    They are ordered, so that they are no categories; and a rule such as "date <= 2021-03-04"
    holds for none of the rows to come, so that they are not read as numbers either.
    """
    kind = values.dtype.kind
    what = pd.api.types.infer_dtype(values, skipna=True) if kind in "mMO" else ""
    if not what.startswith(DATES):
        return
    known = values[~pd.isna(values)]
    got = f"such as {pd.Series(known[:1]).iloc[0]}" if len(known) else "all of them missing"
    if what.startswith("timedelta"):
        raise InputError(
            f"expected numbers or categories in column {name!r}, got durations, {got}; "
            f"pass numbers, for example days: X[{name!r}].dt.days"
        )
    raise dates_in_column(name, got)


def dates_in_column(name: str, got: str) -> InputError:
    """Return the error to raise where a column holds dates."""
    return InputError(
        f"expected numbers or categories in column {name!r}, got dates, {got}; pass days since "
        f"a reference, for example (pd.to_datetime(X[{name!r}]) - pd.Timestamp('2020-01-01'))"
        ".dt.days, or leave the column out"
    )


def check_columns(
    n_features: int,
    categories: Any,
    feature_names: Sequence[Any] | None,
    error: type[InputError] = TreeFormatError,
) -> tuple[Categories, tuple[str, ...] | None]:
    """Check that there is one list of categories (or None) and one name for each feature."""
    cats: Categories = tuple(
        None if c is None else tuple(plain_scalar(v) for v in c)
        for c in (categories or (None,) * n_features)
    )
    names = None if feature_names is None else tuple(map(str, feature_names))
    check_texts(names or (), "feature names")
    if len(cats) != n_features:
        raise error(f"expected {n_features} category lists, got {len(cats)}")
    if names is not None and (len(names) != n_features or len(set(names)) != len(names)):
        raise error(f"expected {n_features} distinct feature names, got {_with_repeated(names)}")
    for j, listed in enumerate(cats):
        if listed is None:
            continue
        name = quoted(names[j] if names else f"x{j}")
        check_size(len(listed), MAX_CATEGORIES, f"categories of {name}")
        check_texts(listed, f"categories of {name}")
        if not 0 < len(set(listed)) == len(listed):
            raise error(
                f"expected one or more distinct categories for {name}, got {_with_repeated(listed)}"
            )
    return cats, names


def _with_repeated(values: Sequence[Any]) -> str:
    """Show a list, and what it holds more than once."""
    twice = repeated(values)
    return quoted(list(values)) + (f": {some_of(twice)} more than once" if twice else "")


def code_categories(
    values: NDArray[Any],
    categories: Sequence[Hashable],
    name: str = "",
    unseen: float = np.nan,
) -> NDArray[np.float64]:
    """Position of each value in ``categories``; NaN if it is missing, ``unseen`` if not listed."""
    refuse_dates(values, name)
    try:
        codes, uniques = pd.factorize(values)
    except TypeError:
        raise lists_in_cells(values, name) from None
    position = {category: i for i, category in enumerate(categories)}
    table = np.array([position.get(plain_scalar(u), unseen) for u in uniques] + [np.nan])
    return np.asarray(table[codes], dtype=np.float64)


def lists_in_cells(values: NDArray[Any], name: str) -> InputError:
    """Return the error to raise where a cell holds a list, a dictionary or the like."""
    kinds = {type(v).__name__ for v in values if not isinstance(v, Hashable)}
    return InputError(
        f"expected one number or category per row in column {name!r}, "
        f"got cells that hold a {' or a '.join(sorted(kinds)) or 'list'}; "
        "make one column of each entry"
    )


def numeric_column(values: NDArray[Any], name: str) -> NDArray[np.float64]:
    """Convert a column to floats with NaN for missing, or say which value is not a number."""
    if values.dtype.kind in "fiub":
        return values.astype(np.float64)
    refuse_dates(values, name)
    if values.dtype.kind == "c":
        raise InputError(
            f"expected real numbers in column {name!r}, got complex ones; pass their real parts"
        )
    missing = np.asarray(pd.isna(values), dtype=bool)
    try:
        return np.where(missing, np.nan, np.where(missing, 0, values)).astype(np.float64)
    except (TypeError, ValueError):
        if not all(isinstance(v, Hashable) for v in values):
            raise lists_in_cells(values, name) from None
        bad = next(v for v in values[~missing] if not _reads_as_number(v))
        raise InputError(
            f"expected numbers in column {name!r}, got {quoted(bad)}; "
            "convert the column, or declare it categorical"
        ) from None


def _reads_as_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


def find_columns(
    X: Any,
    names: Sequence[str] | None,
    n_features: int,
    needed: Collection[int] | None = None,
) -> list[int | str | None]:
    """Columns to read a tree's or space's features from: names, or positions without names.

    A frame must have the columns of the features that are ``needed`` (by default all); None
    stands for another that it lacks. Costs next to nothing, so that a table that lacks columns
    is refused before any work.
    """
    have = column_names(X)
    if have is not None and names is not None:
        there = set(have)
        wanted = list(names) if needed is None else [names[j] for j in sorted(needed)]
        lacking = [name for name in wanted if name not in there]
        if lacking:
            raise FeatureAlignmentError(
                f"expected columns {quoted(wanted)}, got a frame without {quoted(lacking)}; "
                "add them or pass the data the tree was trained on"
            )
        return [name if name in there else None for name in names]
    shape = X.shape if is_frame(X) else np.shape(X)
    if len(shape) != 2:
        raise InputError(
            f"expected a table with rows and columns, got an array of shape {shape}; "
            "reshape it, for one row use X.reshape(1, -1)"
        )
    if shape[1] != n_features:
        raise FeatureAlignmentError(
            f"expected {n_features} columns, got {shape[1]}; "
            "pass the columns the tree was trained on, in the same order"
        )
    return list(range(n_features))


def without_columns(X: Any, names: Collection[str]) -> Any:
    """Return a frame without some columns; an array, or a frame without them, as it is."""
    have = column_names(X) or ()
    return X[[name for name in have if name not in names]] if set(have) & set(names) else X


def encode_table(
    X: Any,
    *,
    names: Sequence[str] | None,
    n_features: int,
    categories: Categories,
    needed: Collection[int] | None = None,
    unseen: float = np.nan,
) -> NDArray[np.float64]:
    """Code a table as a float matrix in the order of the tree's or space's features.

    Frames are read by name where both sides have names, otherwise by position.
    ``categories`` holds for each feature its list of categories, or None if it is numeric.
    A column that a frame lacks and that is not ``needed`` (by default all are) is missing
    throughout. ``unseen`` is the code of a category that is not listed.
    """
    X = as_table(X)
    columns = find_columns(X, names, n_features, needed)
    if not is_frame(X) and X.dtype.kind in "fiub" and not any(categories):
        return np.asarray(X.astype(np.float64))
    out = np.full((n_rows(X), n_features), np.nan)
    for j, column in enumerate(columns):
        if column is None:
            continue
        values = column_values(X, column)
        cats = categories[j]
        label = names[j] if names is not None else f"x{j}"
        out[:, j] = (
            numeric_column(values, label)
            if cats is None
            else code_categories(values, cats, label, unseen)
        )
    return out


# -- What a column holds, and whether a tree can learn from it --
# Tables come as people have them: with dates, patient numbers, free text and columns nobody
# filled in. A tree that takes each of 4,000 identifiers for a category trains for minutes and
# ends in rules that nobody can read, so such columns are refused by name, with what to do.

MOST_CATEGORIES = 255
"""More categories than this are refused: their rules could not be read."""
DISTINCT_SHARE = 0.5
FEW_CATEGORIES = 20
"""A column of text holds names or identifiers if it has more different ones than this, and more
of them than this share of its rows."""

NO_VALUE = "(none)"
"""The one category of a categorical column that is missing throughout."""

DATE_TEXT = re.compile(
    r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}([T ]\d{1,2}:\d{2}.*)?|\d{1,2}[-/.]\d{1,2}[-/.]\d{4}( .*)?"
)
"""How dates are written as text."""


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
    missing = np.asarray(pd.isna(objects), dtype=bool)
    try:
        seen = {plain_scalar(v) for v in objects[~missing]}
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
        0.0, 0.0, categories or (NO_VALUE,), ordered, len(seen), int((~missing).sum()), objects.size
    )


def declared_categories(X: Any, column: int | str) -> tuple[tuple[Any, ...] | None, bool]:
    """Categories that the type of a column lists (None: it lists none), and whether in order."""
    dtype = _column(X, column).dtype
    if isinstance(dtype, pd.CategoricalDtype):
        return tuple(plain_scalar(v) for v in dtype.categories), bool(dtype.ordered)
    if str(dtype).startswith("Enum"):
        return tuple(dtype.categories), True
    return None, False


def check_learnable(X: Any, column: int, name: str, found: Column) -> None:
    """Refuse identifiers, dates written as text and very many categories."""
    if found.categories is None:
        return
    declared = isinstance(_column(X, column).dtype, pd.CategoricalDtype)
    texts = [c for c in found.categories if isinstance(c, str) and c != NO_VALUE]
    if not declared and texts and all(DATE_TEXT.fullmatch(text) for text in texts):
        raise dates_in_column(name, f"written as text such as {texts[0]!r}")
    if near_unique(found.n_distinct, found.n_present):
        readable = len(found.categories) <= MOST_CATEGORIES
        got = (
            f"{found.n_distinct:,} different ones in {found.n_present:,} rows, as in names, "
            "identifiers or free text"
        )
        if not (declared and readable):
            raise InputError(
                f"expected categories that rows share in column {name!r}, got {got}; leave the "
                "column out" + (", or insist with the type 'category'" if readable else "")
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


# -- sets of categories as the bits of one whole number ----------------------------------
# Written as text: setting one bit of a long number after another copies all of them each time.


def bit_set(codes: Collection[int], count: int) -> int:
    """Return the number with the bits of some codes below ``count``."""
    inside = set(codes)
    return int("0" + "".join("01"[code in inside] for code in reversed(range(count))), 2)


def bit_flags(bits: int, count: int) -> list[int]:
    """Return 1 for each of the first ``count`` bits that is set, else 0."""
    text = f"{bits & (1 << count) - 1:0{count}b}"
    return [int(bit) for bit in reversed(text)][:count]


def codes_in(bits: int, count: int) -> list[int]:
    """Return the positions of the bits that are set among the first ``count``, in order."""
    return [code for code, bit in enumerate(bit_flags(bits, count)) if bit]


# -- where a value lies in a range -------------------------------------------------------

_Numbers = TypeVar("_Numbers", float, NDArray[np.float64])


def share_of_range(value: _Numbers, lower: float, upper: float) -> _Numbers:
    """(value - lower) / (upper - lower) of a number or an array, where lower < upper.

    Halved first where the difference itself would be beyond the largest number.
    """
    span = upper - lower
    if span == float("inf"):
        value, lower, span = value / 2, lower / 2, upper / 2 - lower / 2
    return (value - lower) / span
