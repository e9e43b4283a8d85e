"""Read columns out of arrays, pandas and polars frames, and code them as numbers.

A tree compares numbers with thresholds and looks categories up in sets. Whatever the
user passes (an array, a pandas or a polars frame) becomes one float matrix here:
numeric columns as they are, categorical columns as the position of the value in the
feature's list of categories, and NaN for "missing". A category that is not in the list
is coded like a missing value: it follows the direction missing values take.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from steadytree.exceptions import FeatureAlignmentError, InputError

__all__ = [
    "code_categories",
    "column_names",
    "column_values",
    "encode_table",
    "find_columns",
    "is_categorical_column",
    "is_frame",
    "n_rows",
    "plain_scalar",
]

Categories = tuple[tuple[Any, ...] | None, ...]

POLARS_CATEGORICAL = ("Categorical", "Enum", "String", "Utf8", "Object", "Boolean")


def is_frame(X: Any) -> bool:
    """Whether ``X`` is a pandas or polars frame (it has named columns)."""
    return hasattr(X, "columns") and hasattr(X, "__getitem__") and hasattr(X, "shape")


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
        twice = sorted({name for name in names if names.count(name) > 1})
        raise InputError(
            f"expected distinct column names, got {twice} more than once; rename the columns"
        )
    return names


def n_rows(X: Any) -> int:
    """Count the rows of an array or frame."""
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def column_values(X: Any, column: int | str) -> NDArray[Any]:
    """One column as a numpy array: floats or booleans where possible, else objects."""
    if isinstance(X, pd.DataFrame):
        series = X[column] if isinstance(column, str) else X.iloc[:, column]
        if isinstance(series.dtype, pd.CategoricalDtype):
            return np.asarray(series.astype(object).to_numpy())
        if pd.api.types.is_extension_array_dtype(series.dtype) and series.isna().any():
            return np.asarray(series.to_numpy(dtype=object, na_value=np.nan))
        return np.asarray(series.to_numpy())
    if is_frame(X):  # polars
        series = X[column] if isinstance(column, str) else X[X.columns[column]]
        if str(series.dtype).startswith(POLARS_CATEGORICAL):
            return np.array(series.to_list(), dtype=object)
        return np.asarray(series.to_numpy())
    return np.asarray(np.asarray(X)[:, int(column)])


def is_categorical_column(X: Any, column: int) -> bool:
    """Whether the column's own type says "category": category, string or boolean."""
    if isinstance(X, pd.DataFrame):
        dtype = X.dtypes.iloc[column]
        if isinstance(dtype, pd.CategoricalDtype) or pd.api.types.is_bool_dtype(dtype):
            return True
        if pd.api.types.is_numeric_dtype(dtype):
            return False
        known = X.iloc[:, column].dropna()
        return not all(isinstance(v, (int, float, np.number)) for v in known.head(1000))
    if is_frame(X):
        return str(X[X.columns[column]].dtype).startswith(POLARS_CATEGORICAL)
    array = np.asarray(X)
    if array.dtype.kind in "fiu":
        return False
    if array.dtype.kind == "b":
        return True
    values = array[:, column][:1000]
    return any(not isinstance(v, (int, float, np.number)) and not _is_missing(v) for v in values)


def _is_missing(value: Any) -> bool:
    return value is None or value is pd.NA or (isinstance(value, float) and value != value)


def plain_scalar(value: Any) -> Any:
    """Return a numpy scalar as the plain Python value that JSON can hold."""
    return value.item() if isinstance(value, np.generic) else value


def code_categories(values: NDArray[Any], categories: Sequence[Hashable]) -> NDArray[np.float64]:
    """Position of each value in ``categories``; NaN where it is missing or not listed."""
    codes, uniques = pd.factorize(values)
    position = {category: i for i, category in enumerate(categories)}
    table = np.array([position.get(plain_scalar(u), np.nan) for u in uniques] + [np.nan])
    return np.asarray(table[codes], dtype=np.float64)


def numeric_column(values: NDArray[Any], name: str) -> NDArray[np.float64]:
    """Convert a column to floats with NaN for missing, or say which value is not a number."""
    if values.dtype.kind in "fiub":
        return values.astype(np.float64)
    missing = pd.isna(values)
    try:
        return np.where(missing, np.nan, np.where(missing, 0, values)).astype(np.float64)
    except (TypeError, ValueError):
        bad = next(v for v in values[~missing] if not _reads_as_number(v))
        raise InputError(
            f"expected numbers in column {name!r}, got {bad!r}; "
            "convert the column, or declare it categorical"
        ) from None


def _reads_as_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


def find_columns(X: Any, names: Sequence[str] | None, n_features: int) -> list[int | str]:
    """Columns to read a tree's or space's features from: names, or positions without names.

    Costs next to nothing, so that a table that lacks columns is refused before any work.
    """
    have = column_names(X)
    if have is not None and names is not None:
        lacking = [name for name in names if name not in set(have)]
        if lacking:
            raise FeatureAlignmentError(
                f"expected columns {list(names)}, got a frame without {lacking}; "
                "add them or pass the data the tree was trained on"
            )
        return list(names)
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


def encode_table(
    X: Any,
    *,
    names: Sequence[str] | None,
    n_features: int,
    categories: Categories,
) -> NDArray[np.float64]:
    """Code a table as a float matrix in the order of the tree's or space's features.

    Frames are read by name where both sides have names, otherwise by position.
    ``categories`` holds for each feature its list of categories, or None if it is numeric.
    """
    columns = find_columns(X, names, n_features)
    if not is_frame(X):
        X = np.asarray(X)
        if X.dtype.kind in "fiub" and not any(categories):
            return np.asarray(X.astype(np.float64))
    out = np.empty((n_rows(X), n_features))
    for j, column in enumerate(columns):
        values = column_values(X, column)
        cats = categories[j]
        label = names[j] if names is not None else str(j)
        out[:, j] = numeric_column(values, label) if cats is None else code_categories(values, cats)
    return out
