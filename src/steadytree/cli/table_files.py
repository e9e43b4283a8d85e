"""Open a table by its name, CSV or Parquet, and remember where each row of it stands.

Whoever is told that a value is odd wants to look at it: so a table knows the line of every row
(of a Parquet file: its number), and how a value was written before it became a number.
"""

from __future__ import annotations

import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from steadytree._optional import import_optional
from steadytree.cli.delimited import DelimitedText, parse_delimited
from steadytree.cli.text_files import PACKED, first_line_of, read_text_bytes
from steadytree.exceptions import InputError

__all__ = ["TableFile", "TextForm", "read_table"]

PARQUET = (".parquet", ".pq")
COMMAS = (".csv",)
TABS = (".tsv", ".txt", ".tab")
SHOWN_ROWS = 3


@dataclass(frozen=True)
class TextForm:
    """How the user says that text tables are written; by default as their names and bytes tell."""

    separator: str | None = None
    decimal: str = "."
    thousands: str | None = None
    encoding: str | None = None


@dataclass(frozen=True, eq=False)
class TableFile:
    """A table as it was read, with where its rows are; ``text`` is None for Parquet."""

    path: Path
    frame: pd.DataFrame
    form: TextForm
    text: DelimitedText | None = None

    def places(self, rows: Sequence[int]) -> str:
        """Say where some rows are: "lines 3, 9, 12 and 4 more"."""
        shown = rows[:SHOWN_ROWS]
        found = [row + 1 for row in shown] if self.text is None else self.text.lines(shown)
        unit = ("row" if self.text is None else "line") + ("s" if len(rows) > 1 else "")
        more = f" and {len(rows) - len(shown):,} more" if len(rows) > len(shown) else ""
        return f"{unit} {', '.join(f'{number}' for number in found)}{more}"

    def texts(self, column: str) -> pd.Series[Any]:
        """Return a column as it is written, where that is known."""
        return self.frame[column] if self.text is None else self.text.texts(column)

    def padded(self, column: str) -> bool:
        """Whether numbers of a column may be written with leading zeros."""
        return self.text is not None and self.text.padded(column)


def read_table(path: Path, form: TextForm | None = None) -> TableFile:
    """Read a CSV or Parquet file, by its name."""
    form = form or TextForm()
    name = path.name.lower()
    packed = next((suffix for suffix in PACKED if name.endswith(suffix)), "")
    name = name.removesuffix(packed)
    if not name.endswith((*COMMAS, *TABS)) and (packed or not name.endswith(PARQUET)):
        raise InputError(
            f"expected a CSV or Parquet file, got {path}; name it .csv, .csv.gz, .tsv or .parquet"
        )
    try:
        _refuse_devices(path)
        if name.endswith(PARQUET):
            return _read_parquet(path, form)
        content = read_text_bytes(path, form.encoding)
    except OSError as error:
        why = error.strerror or first_line_of(error)
        raise InputError(
            f"expected a readable table, got {why}: {path}; check the name and the rights"
        ) from error
    separator = form.separator or ("\t" if name.endswith(TABS) else ",")
    text = parse_delimited(path, content, separator=separator, decimal=form.decimal)
    return TableFile(path, text.frame, form, text)


def _refuse_devices(path: Path) -> None:
    """Refuse what may never end: a device, a pipe without a writer."""
    mode = path.stat().st_mode
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise InputError(f"expected a file as a table, got a device or a pipe: {path}; copy it")


def _read_parquet(path: Path, form: TextForm) -> TableFile:
    import_optional("pyarrow", extra="parquet", purpose=f"reading {path.name}")
    try:
        table = pd.read_parquet(path).reset_index(drop=True)
    except OSError as error:
        if error.errno is not None:  # of the file, not of what is in it
            raise
        raise _no_parquet(path, error) from None
    except Exception as error:
        # pyarrow's errors share no base with ours; anything else is not about the file.
        if not isinstance(error, ValueError) and not type(error).__module__.startswith("pyarrow"):
            raise
        raise _no_parquet(path, error) from None
    if table.empty:
        raise InputError(f"expected a table with rows and columns, got none in {path}")
    table.columns = [str(name) for name in table.columns]
    twice = sorted(set(table.columns[table.columns.duplicated()]))
    if twice:
        raise InputError(
            f"expected distinct names of columns in {path}, got {', '.join(map(repr, twice[:4]))} "
            "more than once; rename one of the columns"
        )
    return TableFile(path, table, form)


def _no_parquet(path: Path, error: Exception) -> InputError:
    return InputError(f"expected Parquet in {path}, got: {first_line_of(error)}; write it again")
