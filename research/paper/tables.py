"""A table of results: numbers in full for files, rounded for the page."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from steadytree.tree.json import plain_json
from steadytree.tree.words import PAGE

__all__ = [
    "Column",
    "Table",
    "format_value",
    "mean",
    "means",
    "spread",
    "standard_error",
    "with_rows",
]

WORDS = replace(PAGE, gap=" ")
"""Numbers as on every page of ours; a plain space before the per cent sign, for Markdown."""


@dataclass(frozen=True)
class Column:
    """One column: its key in the rows, its heading, and how the page rounds it.

    ``style``: "text", "int", "auc" (three decimals), "share" (per cent, one decimal), "small"
    (per cent, significant digits), "points" (hundredths, signed), "error" (hundredths), "num"
    (significant digits).
    """

    key: str
    heading: str
    style: str = "text"


@dataclass(frozen=True)
class Table:
    """Rows of one experiment.

    Attributes
    ----------
    name : str
        File name without ending.
    experiment : str
        The experiment it belongs to.
    title : str
    columns : tuple of Column
    rows : list of dict
        Values in full; entries that are no column are for files and figures.
    note : str
        What a reader must know.
    on_page : bool
        Whether the page shows it; files always hold it.
    """

    name: str
    experiment: str
    title: str
    columns: tuple[Column, ...]
    rows: list[dict[str, Any]] = field(repr=False)
    note: str = ""
    on_page: bool = True

    @property
    def keys(self) -> list[str]:
        """Every entry of the rows: the columns, then what the page does not show."""
        shown = [column.key for column in self.columns]
        return [*shown, *sorted({key for row in self.rows for key in row} - set(shown))]

    def to_csv(self) -> str:
        """All rows with all digits; the same rows give the same bytes."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        keys = self.keys
        writer.writerow(keys)
        for row in self.rows:
            values = (plain_json(row.get(key)) for key in keys)
            # Floats by repr: the shortest text that reads back as the same number.
            writer.writerow(
                ["" if v is None else repr(v) if isinstance(v, float) else v for v in values]
            )
        return out.getvalue()

    def to_records(self) -> list[dict[str, Any]]:
        """Rows as plain values, every entry of them."""
        keys = self.keys
        return [{key: plain_json(row.get(key)) for key in keys} for row in self.rows]

    def shown(self) -> list[list[str]]:
        """Cells as the page writes them."""
        return [[format_value(row.get(c.key), c.style) for c in self.columns] for row in self.rows]

    def where(self, **values: Any) -> list[dict[str, Any]]:
        """Rows with the given values."""
        return [r for r in self.rows if all(r.get(k) == v for k, v in values.items())]


def with_rows(*tables: Table) -> list[Table]:
    """Tables that there are results for."""
    return [table for table in tables if table.rows]


def format_value(value: Any, style: str = "text") -> str:
    """Write a value for people: rounded, with a real minus sign; a dash where there is none."""
    if value is None or (isinstance(value, float) and not np.isfinite(value)):
        return "–"
    if isinstance(value, (bool, np.bool_)):
        return "yes" if value else "no"
    if style == "text" or isinstance(value, str):
        return str(value)
    number = float(value)
    if style == "int":
        text = f"{round(number):,}"
    elif style == "auc":
        text = WORDS.fixed(number)
    elif style == "share":
        text = WORDS.percent(number, 1)
    elif style == "small":
        text = f"{100 * number:.2g} %" if abs(number) < 0.1 else f"{100 * number:.1f} %"
        if "e" in text:
            text = f"{100 * number:.6f}".rstrip("0").rstrip(".") + " %"
    elif style == "points":
        text = WORDS.signed(100 * number, 1)
    elif style == "error":
        text = WORDS.fixed(100 * number, 1)
    else:
        text = f"{number:,.3g}" if abs(number) < 1000 else f"{number:,.0f}"
    if not any(digit in text for digit in "123456789"):
        return text.lstrip(f"-{WORDS.minus}")  # a zero has no sign
    return text.replace("-", WORDS.minus)


def _numbers(values: Iterable[Any]) -> list[float]:
    return [float(v) for v in values if v is not None]


def mean(values: Iterable[Any]) -> float | None:
    """Mean of the values that there are."""
    found = _numbers(values)
    return float(np.mean(found)) if found else None


def means(records: Sequence[Mapping[str, Any]], *keys: str) -> dict[str, float | None]:
    """Mean of each of some entries over the records."""
    return {key: mean(record[key] for record in records) for key in keys}


def spread(values: Iterable[Any]) -> float | None:
    """Return the standard deviation of the values that there are; None for fewer than two."""
    found = _numbers(values)
    return float(np.std(found, ddof=1)) if len(found) > 1 else None


def standard_error(values: Iterable[Any]) -> float | None:
    """Return the standard error of the mean; None for fewer than two values."""
    found = _numbers(values)
    return float(np.std(found, ddof=1) / np.sqrt(len(found))) if len(found) > 1 else None
