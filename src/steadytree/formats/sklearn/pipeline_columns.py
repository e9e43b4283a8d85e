"""What a fitted pipeline makes of each raw column, asked of the pipeline itself.

A tree in a pipeline compares numbers that the steps before it computed. To tell it in the raw
columns, or to put another tree in its place, one has to know which raw column each transformed
column comes from and what it is for every raw value. Repeating the arithmetic of every step
would be right only almost everywhere; so the fitted steps are run on rows made for the purpose.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from steadytree.formats.read_optimal import user_names
from steadytree.formats.sklearn.pipeline_steps import FLAG, SAME, Origin, RawColumns, trace
from steadytree.plugins import UnsupportedModelError, not_fitted, quoted

FloatArray = NDArray[np.float64]
MAX_CELLS = 1 << 26
"""What the transformed rows of all categories may take together: half a gigabyte."""


@dataclass(frozen=True)
class CategoryPoints:
    """What the pipeline makes of every value that a categorical raw column can have.

    Attributes
    ----------
    categories : tuple
        The categories, in the user's own values.
    rows : array (n_points, n_columns)
        The transformed row of each, then of a missing value and of a category never met: only the
        columns that come from this raw column mean it.
    missing, unseen : int or None
        Which row is that of a missing value, and of a category never met; None where the
        pipeline refuses them.
    """

    categories: tuple[Any, ...]
    rows: NDArray[Any]
    missing: int | None
    unseen: int | None

    def words(self, point: int) -> str:
        """Say what a point is, for messages."""
        if point == self.missing:
            return "a missing value"
        return "a category never met" if point == self.unseen else quoted(self.categories[point])


class PipelineColumns:
    """The raw columns of a pipeline, and the columns its steps make of them.

    Attributes
    ----------
    feature_names : tuple of str or None
        Names of the raw columns; None where the pipeline was fitted on an array.
    n_raw, n_columns : int
        How many raw columns go in, and how many transformed ones come out.
    source : int array (n_columns,)
        The raw column that each transformed column comes from.
    how : tuple of str
        How it depends on it: "same" (the value itself, missing ones perhaps filled in),
        "number" (rises or falls with it within each stretch between ``breaks``), "category" (a
        number for each category), "flag" (depends only on whether the value is missing).
    categories : tuple
        For each raw column its categories if the pipeline takes it for a categorical one,
        else None.
    breaks : tuple of float arrays
        For each raw column the largest value of each stretch but the last.
    poles, rounded : dict
        Numbers of which a step makes infinite ones, and the step that computes what may be
        wrong in the last bits, by raw column.
    """

    def __init__(self, steps: Any, n_raw: int, feature_names: tuple[str, ...] | None) -> None:
        self._steps = steps
        self.n_raw = n_raw
        self.feature_names = feature_names
        self.labels = feature_names or tuple(f"x{j}" for j in range(n_raw))
        self._raw = RawColumns(self.labels)
        built = trace(steps, "", [Origin(j, SAME) for j in range(n_raw)], self._raw)
        self.source = np.array([origin.raw for origin in built], dtype=np.int64)
        self.how = tuple(origin.how for origin in built)
        self.categories = tuple(self._categories(j) for j in range(n_raw))
        self.breaks: tuple[FloatArray, ...] = tuple(
            np.array(sorted(self._raw.breaks.get(j, ()))) for j in range(n_raw)
        )
        self.poles, self.rounded = self._raw.poles, self._raw.rounded

    @property
    def n_columns(self) -> int:
        """How many columns the steps make."""
        return len(self.how)

    def columns_of(self, raw: int) -> list[int]:
        """Positions of the transformed columns that come from a raw column."""
        return np.flatnonzero(self.source == raw).tolist()

    def _categories(self, raw: int) -> tuple[Any, ...] | None:
        if raw not in self._raw.coded:
            return None
        listed = self._raw.categories[raw]
        if not listed:
            raise UnsupportedModelError(
                f"expected categories in column {quoted(self.labels[raw])}, got "
                f"{self._raw.coded[raw]} that met missing values only; leave the column out"
            )
        return (*listed, *(v for v in self._raw.stand_ins.get(raw, ()) if v not in listed))

    def with_categories(self, raw: int, categories: Sequence[Any], who: str) -> None:
        """Take a raw column that reaches the tree as it is for a categorical one."""
        self._raw.take_categories(raw, categories, who)
        every = list(self.categories)
        every[raw] = self._categories(raw)
        self.categories = tuple(every)
        for found in ("_listed", "_odd", "missing", "imputed"):
            self.__dict__.pop(found, None)

    def taken_as(self, raw: int) -> str:
        """Say which step takes a raw column for what it does, for messages."""
        return self._raw.coded.get(raw) or self._raw.numbers.get(raw) or "no step"

    # -- running the pipeline -------------------------------------------------------

    def transform(self, X: Any) -> NDArray[Any]:
        """Run the fitted steps on a table; returns a dense array, whatever they make."""
        built = self._run(X)
        built = np.asarray(built.toarray() if hasattr(built, "toarray") else built)
        if built.ndim != 2 or built.shape[1] != self.n_columns:
            raise UnsupportedModelError(
                f"expected the steps of the pipeline to make {self.n_columns} columns, got an "
                f"array of shape {built.shape}; pass pipeline[-1] and compare in the transformed "
                "columns"
            )
        return built

    def _run(self, X: Any) -> Any:
        if not self._steps.steps:
            return X
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return self._steps.transform(X)

    @cached_property
    def sparse(self) -> bool:
        """Whether the steps make a sparse matrix."""
        return hasattr(self._run(self._raw_rows([0], [self._some(0)])), "toarray")

    def probe(
        self, raw: Sequence[int] | NDArray[Any], values: Sequence[Any] | NDArray[Any]
    ) -> NDArray[Any]:
        """Transform rows of which each has one value in one raw column, the others something.

        Row i has ``values[i]`` in column ``raw[i]``. The other columns hold a value that the
        pipeline takes; what comes from them means nothing.
        """
        return self.transform(self._raw_rows(raw, values))

    def _raw_rows(
        self, raw: Sequence[int] | NDArray[Any], values: Sequence[Any] | NDArray[Any]
    ) -> Any:
        at = np.asarray(raw)
        columns: list[Any] = []
        for j in range(self.n_raw):
            column = np.empty(len(at), dtype=object if self._holds_objects(j) else np.float64)
            column[:] = self._some(j)
            mine = np.flatnonzero(at == j)
            if isinstance(values, np.ndarray):
                column[mine] = values[mine]
            else:
                for i in mine.tolist():
                    column[i] = values[i]
            columns.append(column)
        if self.feature_names is not None:
            # As series: pandas would take objects for texts, and None for NaN.
            series = [pd.Series(column, dtype=column.dtype) for column in columns]
            return pd.DataFrame(dict(zip(self.feature_names, series, strict=True)))
        plain = all(column.dtype.kind == "f" for column in columns)
        table = np.empty((len(at), self.n_raw), dtype=np.float64 if plain else object)
        for j, column in enumerate(columns):
            table[:, j] = column
        return table

    def _some(self, raw: int) -> Any:
        """Return a value that the pipeline takes in a raw column."""
        categories = self.categories[raw]
        return 1.0 if categories is None else categories[0]

    def _holds_objects(self, raw: int) -> bool:
        return not all(_is_number(c) for c in self.categories[raw] or ())

    def rows(self, raw: Sequence[int], values: Sequence[Any]) -> list[NDArray[Any] | None]:
        """Transform rows as :meth:`probe`; None where the pipeline refuses the value."""
        try:
            return list(self.probe(raw, values)) if len(raw) else []
        except (ValueError, TypeError):
            if len(raw) == 1:
                return [None]
            half = len(raw) // 2
            return self.rows(raw[:half], values[:half]) + self.rows(raw[half:], values[half:])

    # -- categorical columns --------------------------------------------------------

    def points(self, raw: int) -> CategoryPoints:
        """Tell what the pipeline makes of categories, missing and unseen values of a raw column."""
        rows = list(self._listed[raw])
        place: list[int | None] = []
        for row in (self.missing[raw], self._odd[raw, True]):
            place.append(None if row is None else len(rows))
            rows += [] if row is None else [row]
        return CategoryPoints(self.categories[raw] or (), np.array(rows), *place)

    @property
    def _used_raw(self) -> list[int]:
        """Raw columns that some transformed column comes from."""
        return sorted(set(self.source.tolist()))

    @cached_property
    def _listed(self) -> dict[int, NDArray[Any]]:
        """The transformed rows of the categories of each raw column that has some."""
        listed = {j: self.categories[j] or () for j in self._used_raw}
        asked = [(j, value) for j, values in listed.items() for value in values]
        if len(asked) * self.n_columns > MAX_CELLS:
            raise UnsupportedModelError(
                f"expected at most {MAX_CELLS:,} cells to say what the pipeline makes of every "
                f"category, got {len(asked):,} categories in {self.n_columns:,} columns; group "
                "rare ones, for example OneHotEncoder(max_categories=100), and fit again"
            )
        built = self.probe([j for j, _ in asked], [v for _, v in asked]) if asked else None
        at = np.array([j for j, _ in asked])
        return {} if built is None else {j: built[at == j] for j in listed if listed[j]}

    @cached_property
    def _odd(self) -> dict[tuple[int, bool], NDArray[Any] | None]:
        """The transformed rows of missing values (False) and categories never met (True)."""
        asked = [
            (j, False, value)
            for j in self._used_raw
            for value in self._raw.missing.get(j) or [np.nan]
        ]
        asked += [(j, True, self.unseen(j)) for j in self._used_raw if self.categories[j]]
        found: dict[tuple[int, bool], NDArray[Any] | None] = {}
        answers = self.rows([j for j, _, _ in asked], [value for _, _, value in asked])
        for (j, new, _), row in zip(asked, answers, strict=True):
            before = found.get((j, new), row)
            same = before is row or (
                before is not None
                and row is not None
                and _equal(before[None], row, self.columns_of(j))[0]
            )
            if not same:
                raise UnsupportedModelError(
                    "expected one way of writing a missing value in column "
                    f"{quoted(self.labels[j])}, "
                    "got a pipeline that treats None and NaN as two categories "
                    f"({self.taken_as(j)}); replace None by NaN in the training rows and fit again"
                )
            found.setdefault((j, new), row)
        return found

    @cached_property
    def missing(self) -> dict[int, NDArray[Any] | None]:
        """The transformed row of a missing value of each raw column; None where it is refused."""
        return {j: row for (j, new), row in self._odd.items() if not new}

    def unseen(self, raw: int) -> Any:
        """Return a category that a raw column never had, of the kind of the others."""
        categories = self.categories[raw] or ()
        if categories and not self._holds_objects(raw):
            return max(categories) + 1
        name = "never met"
        while name in categories:
            name += " before"
        return name

    # -- missing values that are filled in ------------------------------------------

    @cached_property
    def imputed(self) -> dict[int, Any]:
        """For raw columns whose missing values are treated as a value: that value.

        Everything the pipeline makes of the column is the same for the two.
        """
        fills = self._raw.fills
        asked = [(j, v) for j in self._used_raw if not self.categories[j] for v in fills.get(j, ())]
        answers = self.rows([j for j, _ in asked], [value for _, value in asked])
        found: dict[int, Any] = {}
        for (j, value), row in zip(asked, answers, strict=True):
            if row is not None and self._as_missing(j, row[None])[0]:
                found.setdefault(j, value)
        for j, rows in self._listed.items():
            listed = self.categories[j] or ()
            alike = [listed[k] for k in np.flatnonzero(self._as_missing(j, rows))]
            # What an imputer fills in comes first.
            for value in [v for v in alike if v in fills.get(j, ())] + alike:
                found.setdefault(j, value)
        return found

    @property
    def flagged(self) -> list[int]:
        """Raw columns of numbers whose missing values are filled in, but told apart by a flag."""
        return [
            j
            for j in self._used_raw
            if not self.categories[j]
            and j not in self.imputed
            and self.missing[j] is not None
            and any(self.how[c] == FLAG for c in self.columns_of(j))
        ]

    def _as_missing(self, raw: int, rows: NDArray[Any]) -> NDArray[np.bool_]:
        """Which rows are what the pipeline makes of a missing value of a raw column."""
        missing = self.missing[raw]
        if missing is None:
            return np.zeros(len(rows), dtype=bool)
        return _equal(rows, missing, self.columns_of(raw))


def _equal(rows: NDArray[Any], row: NDArray[Any], columns: list[int]) -> NDArray[np.bool_]:
    """Which rows equal a row in some columns, where NaN equals NaN."""
    cells, wanted = rows[:, columns], row[columns]
    both = np.asarray(pd.isna(cells)) & np.asarray(pd.isna(wanted))
    return np.asarray(((cells == wanted) | both).all(axis=1))


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def pipeline_columns(pipeline: Any) -> PipelineColumns:
    """Return what the steps before the last of a fitted pipeline make of the raw columns.

    Raises
    ------
    UnsupportedModelError
        Where a step makes a column from several, naming the step, its class and why.
    """
    first = next(_takers(pipeline), None)
    if first is None:
        raise not_fitted(pipeline)
    n_raw, names = int(first.n_features_in_), getattr(first, "feature_names_in_", None)
    if names is not None and not type(first).__module__.startswith("sklearn."):
        names = user_names(names, n_raw)
    return PipelineColumns(pipeline[:-1], n_raw, None if names is None else tuple(map(str, names)))


def _takers(step: Any) -> Iterator[Any]:
    """Go through the fitted steps that take the raw columns or, after these, what they make."""
    if hasattr(step, "steps"):
        for _, part in step.steps:
            yield from _takers(part)
    elif hasattr(step, "transformer_list"):
        for _, part in step.transformer_list:
            yield from _takers(part)
    elif hasattr(step, "n_features_in_"):
        yield step
