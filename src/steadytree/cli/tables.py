"""Read the user's tables, and say what is wrong with them before anything takes time."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from steadytree._optional import import_optional
from steadytree.core.space import has_fractions
from steadytree.core.tabular import outcome_values
from steadytree.core.tree import Tree
from steadytree.exceptions import InputError

__all__ = [
    "RowTable",
    "check_columns",
    "read_rows",
    "read_table",
    "read_training",
]

CSV = (".csv", ".csv.gz", ".csv.zip", ".csv.bz2", ".csv.xz")
TSV = (".tsv", ".tsv.gz", ".txt")
PARQUET = (".parquet", ".pq")


def read_table(path: Path) -> pd.DataFrame:
    """Read a CSV or Parquet file, by its name."""
    name = path.name.lower()
    if not name.endswith((*PARQUET, *CSV, *TSV)):
        raise InputError(
            f"expected a CSV or Parquet file, got {path}; name it .csv, .csv.gz, .tsv or .parquet"
        )
    try:
        if name.endswith(PARQUET):
            import_optional("pyarrow", extra="parquet", purpose=f"reading {path.name}")
            table = pd.read_parquet(path)
        else:
            table = pd.read_csv(path, sep="\t" if name.endswith(TSV) else ",")
    except OSError as error:
        why = error.strerror or str(error).splitlines()[0]
        raise InputError(
            f"expected a readable table, got {why}: {path}; check the name and the rights"
        ) from error
    except pd.errors.EmptyDataError:
        raise InputError(f"expected a table with rows, got an empty file: {path}") from None
    except ValueError as error:  # so are parser and decoding errors
        first = (str(error).splitlines() or ["no reason given"])[0]
        raise InputError(
            f"expected {'Parquet' if name.endswith(PARQUET) else 'CSV'} in {path}, "
            f"got a file that cannot be read: {first}"
        ) from None
    except Exception as error:
        # pyarrow's errors share no base with ours; anything else is not about the file.
        if not type(error).__module__.startswith("pyarrow"):
            raise
        raise InputError(f"expected Parquet in {path}, got: {str(error).splitlines()[0]}") from None
    if table.empty:
        raise InputError(f"expected a table with rows and columns, got none in {path}")
    table.columns = [str(c) for c in table.columns]
    return table


def check_columns(table: pd.DataFrame, path: Path, named: Iterable[tuple[str, str]]) -> None:
    """Check that columns exist; ``named`` holds pairs (option, column)."""
    for option, column in named:
        if column not in table.columns:
            close = difflib.get_close_matches(column, [str(c) for c in table.columns], n=1)
            hint = f"did you mean {close[0]!r}?" if close else "see its first line"
            raise InputError(
                f"expected a column of {path} as {option}, got {column!r}, which it does not "
                f"have; {hint}"
            )


@dataclass(frozen=True)
class RowTable:
    """A table in its parts: predictors, outcomes, and columns that are neither.

    ``X`` keeps every column that may be a predictor; ``table`` is the whole. ``y`` is empty
    where no outcomes were asked for.
    """

    table: pd.DataFrame
    X: pd.DataFrame
    y: NDArray[Any]
    time: NDArray[Any] | None
    groups: NDArray[Any] | None

    def column(self, name: str) -> NDArray[Any]:
        """Return one column, for subgroups."""
        values = self.table[name]
        if isinstance(values.dtype, pd.CategoricalDtype):
            values = values.astype(object)
        return np.asarray(values.to_numpy())


def read_rows(
    path: Path,
    target: str | None,
    *,
    time: str | None = None,
    group: str | None = None,
    drop: Sequence[str] = (),
    subgroups: Sequence[str] = (),
    tree: Tree | None = None,
    with_unknown: bool = False,
) -> RowTable:
    """Read a table, with outcomes if a ``target`` is named.

    With a ``tree`` its own columns are the predictors (by name, if it has names), of which the
    table must have those that the tree uses; ``with_unknown`` adds the columns that the tree
    does not know and no option names, for somebody to speak of. Without a tree every column but
    the target, the time, the group and those to drop.
    """
    table = read_table(path)
    single = (("--target", target), ("--time", time), ("--group", group))
    named = [(option, name) for option, name in single if name]
    named += [("--drop", name) for name in drop]
    named += [("--subgroup", name) for name in subgroups]
    check_columns(table, path, named)
    missing = 0 if target is None else int(table[target].isna().sum())
    if missing:
        raise InputError(
            f"expected an outcome in every row of {path}, got {missing} missing in {target!r}; "
            "drop these rows first"
        )
    if tree is not None and tree.feature_names is not None:
        used = [tree.feature_names[j] for j in sorted(tree.used_features)]
        check_columns(table, path, (("a predictor", name) for name in used))
        known = [name for name in tree.feature_names if name in table.columns]
        others = {target, time, group, *drop, *subgroups, *known}
        unknown = [name for name in table.columns if name not in others]
        X = table[[*known, *(unknown if with_unknown else [])]]
    elif target is None:
        X = table
    else:
        X = table.drop(columns=list({target, *drop, *filter(None, (time, group))}))
    if X.shape[1] == 0:
        raise InputError(f"expected predictors in {path}, got no column besides the target")
    return RowTable(
        table=table,
        X=X,
        y=np.zeros(0) if target is None else outcome_values(table[target]),
        time=None if time is None else _sortable(table[time]),
        groups=None if group is None else np.asarray(table[group].astype(str).to_numpy()),
    )


def read_training(path: Path, target: str, task: str, **columns: Any) -> tuple[RowTable, str]:
    """Read a table to train on (``columns`` as in :func:`read_rows`), and what its task is."""
    table = read_rows(path, target, **columns)
    task = guess_task(table.y, task)
    if len(np.unique(table.y)) < 2:
        raise InputError(
            f"expected a target with two or more different values, got only {table.y[0]!r}; "
            "nothing can be learned from it"
        )
    return table, task


def _sortable(values: pd.Series[Any]) -> NDArray[Any]:
    """Return times as numbers: as they are, or parsed as dates."""
    if pd.api.types.is_numeric_dtype(values):
        return np.asarray(values.to_numpy(dtype=np.float64))
    try:
        dates = pd.to_datetime(values, format="ISO8601")
    except (ValueError, TypeError) as error:
        raise InputError(
            f"expected numbers or dates such as 2024-05-31 in {values.name!r}, "
            f"got: {str(error).splitlines()[0]}"
        ) from None
    return np.asarray(dates.to_numpy().astype("datetime64[ns]").astype(np.float64))


MOST_CLASSES = 20


def guess_task(y: NDArray[Any], task: str) -> str:
    """Classification or regression; asks where the numbers do not tell."""
    if task != "auto":
        return task
    if y.dtype.kind not in "fiu":
        return "classification"
    if has_fractions(y):
        return "regression"
    if len(np.unique(y)) <= MOST_CLASSES:
        return "classification"
    raise InputError(
        f"expected a target with at most {MOST_CLASSES} classes or with fractions, got "
        f"{len(np.unique(y))} different whole numbers; say --task classification or regression"
    )
