"""Read the user's tables strictly, and say what is wrong with them before anything takes time.

Most readers mend what they can: they shift a row that is too long, fill up one that is too short,
and take 400 ages for 60 categories because one cell says "n/a?". A tree is then trained on the
wrong thing without a word. Here a row has one value per name of the header, and a column is a
number or a category; what is neither is refused with the line, and an option that settles it.
"""

from __future__ import annotations

import csv
import difflib
import re
import shlex
import warnings
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import compress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from steadytree._optional import import_optional
from steadytree._text import quoted, repeated, some_of
from steadytree.exceptions import InputError, SteadyTreeWarning
from steadytree.tree.columns import DATE_TEXT, near_unique, outcome_values
from steadytree.tree.space import has_fractions
from steadytree.tree.tree import Tree
from steadytree.tree.words import PLAIN, clean

# -- how the user wants tables read ----------------------------------------------------------------

NUMBER, CATEGORY, IGNORE = TYPES = ("number", "category", "ignore")


@dataclass(frozen=True)
class TableReading:
    """How the user wants tables read; the separator by default as the name of the file tells.

    ``types`` says what columns are; ``drop_missing_target`` leaves rows without an outcome out.
    """

    separator: str | None = None
    decimal: str = "."
    encoding: str | None = None
    types: Mapping[str, str] = field(default_factory=dict)
    drop_missing_target: bool = False


def reading_of(options: SimpleNamespace) -> TableReading:
    """Read the options of how tables are read."""
    separator = "\t" if options.separator == "tab" else options.separator
    if separator is not None and (len(separator) != 1 or separator in '"\n\r\0'):
        raise InputError(
            f"expected one sign as --separator, got {separator!r}; write for example "
            "--separator ';', or the word tab"
        )
    types = types_of(options.types)
    drop = options.drop_missing_target
    return TableReading(separator, options.decimal, options.encoding, types, drop)


def types_of(given: tuple[str, ...]) -> dict[str, str]:
    """Read ``--types age=number``; a name may hold the sign itself."""
    types: dict[str, str] = {}
    for text in given:
        name, _, kind = text.rpartition("=")
        if not name or kind not in TYPES:
            raise InputError(
                f"expected COLUMN=TYPE as --types, with a type of {', '.join(TYPES)}, got "
                f"{text!r}; write for example --types age=number"
            )
        types[name] = kind
    return types


# -- files: CSV or Parquet, with where each row stands ---------------------------------------------

SEPARATORS = {".csv": ",", ".tsv": "\t", ".txt": "\t", ".tab": "\t"}
PARQUET = (".parquet", ".pq")
MISSING = frozenset(
    [
        *("", "NA", "N/A", "n/a", "<NA>", "#N/A", "#NA", "NaN", "nan", "-NaN", "-nan", "NULL"),
        *("null", "None", "#N/A N/A", "-1.#IND", "1.#IND", "-1.#QNAN", "1.#QNAN"),
    ]
)
"""Texts that stand for a missing value, and nothing else does."""
SHOWN = 3
"""Rows, and values, that a message shows."""
MOST_DIGITS = 300
"""Longer numbers are beyond what a float holds."""
_PADDED = re.compile(r"0\d+")
_OTHER_SIGN = re.compile(r"[+-]?\d{1,3}(?:[,.'’ \u00a0\u202f]\d{3})*(?:[.,]\d+)?|[+-]?\d+[.,]\d+")
_POINT_FOR_COMMA = str.maketrans(",.", ".,")


@dataclass(frozen=True, eq=False)
class TableFile:
    """A table as it was read: the values in their types, and of text the line of each row."""

    path: Path
    frame: pd.DataFrame
    reading: TableReading
    lines: Sequence[int] = ()

    def places(self, rows: Sequence[int]) -> str:
        """Say where some rows are: "lines 3, 9, 12 and 4 more"."""
        shown = [self.lines[row] if self.lines else row + 1 for row in rows[:SHOWN]]
        unit = ("line" if self.lines else "row") + ("s" if len(rows) > 1 else "")
        more = f" and {len(rows) - SHOWN:,} more" if len(rows) > SHOWN else ""
        return f"{unit} {', '.join(map(str, shown))}{more}"


def read_table(path: Path, reading: TableReading | None = None) -> TableFile:
    """Read a CSV or Parquet file, by its name."""
    reading, kind = reading or TableReading(), path.suffix.lower()
    if kind not in (*SEPARATORS, *PARQUET):
        raise InputError(
            f"expected a CSV or Parquet file, got {path}; unpack it if it is packed, and name it "
            ".csv, .tsv or .parquet"
        )
    try:
        if kind in PARQUET:
            table = _read_parquet(path, reading)
        else:
            table = _read_delimited(path, reading, reading.separator or SEPARATORS[kind])
    except OSError as error:
        raise InputError(
            f"expected a readable table, got {error.strerror or _first_line(error)}: {path}; check "
            "the name and the rights"
        ) from error
    if table.frame.empty:
        raise InputError(f"expected a table with rows and columns, got none in {path}")
    return table


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


def _read_delimited(path: Path, reading: TableReading, separator: str) -> TableFile:
    """Read delimited text; a row that does not fit its header is refused, never shifted."""
    names: list[str] = []
    lines: list[int] = []
    rows: list[list[str]] = []
    begin = 1
    try:
        with path.open(encoding=reading.encoding or "utf-8-sig", newline="") as file:
            parsed = csv.reader(file, delimiter=separator, strict=True)
            for row in parsed:
                if "\0" in "".join(row):
                    raise InputError(
                        f"expected text in {path}, got a NUL byte in line {begin}; it may be "
                        "UTF-16 (say --encoding utf-16) or no text at all"
                    )
                if not names:
                    names = _header(path, row, separator)
                elif len(row) == len(names):
                    rows.append(row)
                    lines.append(begin)
                elif row:  # else a blank line
                    raise InputError(
                        f"expected {len(names)} values in every row of {path}, as its header has "
                        f"names, got {len(row)} in line {begin}; see whether a value holds the "
                        "separator without quotes around it, or the header lacks a name"
                    )
                begin = parsed.line_num + 1
    except csv.Error as error:
        raise InputError(
            f"expected every quote to be closed in {path}, got {error} in the row that begins in "
            f"line {begin}; close the quote, and double those inside a value"
        ) from None
    except (UnicodeError, LookupError) as error:
        raise InputError(
            f"expected {reading.encoding or 'UTF-8'} in {path}, got "
            f"{getattr(error, 'reason', error)} in line {begin} or later; say what it was "
            "written in, for example --encoding latin-1, cp1252 or utf-16, or save it as UTF-8"
        ) from None
    columns = list(zip(*rows, strict=True))
    rows.clear()
    typed = {}
    for name in names[: len(columns)]:  # the texts of one column are forgotten before the next
        typed[name] = _typed(columns.pop(0), reading.decimal)
    return TableFile(path, pd.DataFrame(typed, copy=False), reading, lines)


def _header(path: Path, names: list[str], separator: str) -> list[str]:
    """Check the names of the columns."""
    if len(names) == 1:
        other = max(";\t|,".replace(separator, ""), key=names[0].count)
        if other in names[0]:
            named = "tab" if other == "\t" else other
            raise InputError(
                f"expected columns in {path}, got one called {names[0]!r}; the file seems to be "
                f"separated by {named!r}: say --separator {named!r}"
            )
    for position, name in enumerate(names, start=1):
        if not name.strip():
            raise InputError(
                f"expected a name for every column in the header of {path}, got none for column "
                f"{position}; name it, or take it away (row names of pandas: index=False)"
            )
    _check_distinct(path, names)
    return names


def _check_distinct(path: Path, names: Iterable[str]) -> None:
    if twice := repeated(names):
        raise InputError(
            f"expected distinct names of columns in {path}, got {some_of(twice)} more than once; "
            "rename one of the columns"
        )


def _read_parquet(path: Path, reading: TableReading) -> TableFile:
    arrow = import_optional("pyarrow", extra="parquet", purpose=f"reading {path.name}")
    try:
        table = pd.read_parquet(path).reset_index(drop=True)
    except (arrow.ArrowException, ValueError) as error:
        raise InputError(
            f"expected Parquet in {path}, got: {_first_line(error)}; write it again"
        ) from None
    table.columns = [str(name) for name in table.columns]
    _check_distinct(path, table.columns)
    return TableFile(path, table, reading)


def _typed(texts: Iterable[str], decimal: str) -> pd.Series[Any]:
    """Return a column as whole numbers, numbers, truths or texts: whatever all its values are."""
    values = [None if text in MISSING else text for text in map(str.strip, texts)]
    present = [text for text in values if text is not None]
    if not any("_" in text or _PADDED.fullmatch(text) for text in present):
        with suppress(ValueError):
            if len(present) == len(values) and max(map(len, present)) < MOST_DIGITS:
                return pd.Series(list(map(int, present)))
        with suppress(ValueError):
            numbers = [np.nan if v is None else _as_float(v, decimal) for v in values]
            return pd.Series(numbers, dtype=float)
    if {text.lower() for text in set(present)} <= {"true", "false"}:
        return pd.Series([None if v is None else v.lower() == "true" for v in values])
    return pd.Series(values, dtype=object)


def _as_float(text: str, decimal: str) -> float:
    return float(text.translate(_POINT_FOR_COMMA) if decimal == "," else text)


def number_of(text: str, decimal: str = ".") -> float:
    """Return the number that a text is; nan where it is none."""
    with suppress(ValueError):
        if "_" not in text:
            return _as_float(text, decimal)
    return np.nan


# -- columns: a number, a category, or not to be read ----------------------------------------------

IGNORED = "ignored"
EXACT_WHOLE = 2**53
"""Whole numbers from here on are not told apart as numbers."""
LARGEST = float(np.finfo(np.float32).max)
"""Learners compare numbers in single precision."""
ROWS_OF_IDENTIFIERS = 20

UNKNOWN: Any = object()
"""No tree knows what a column is."""
AS_IT_IS: Any = object()
"""Nothing depends on what a column is."""


@dataclass(frozen=True, eq=False)
class ReadColumn:
    """A column of one type, or one that is ignored, and what is to be said of it."""

    name: str
    type: str
    values: pd.Series[Any]
    note: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return plain values; ``missing`` is a share."""
        return {
            "name": self.name,
            "type": self.type,
            "categories": int(self.values.nunique()) if self.type == CATEGORY else None,
            "missing": None if self.type == IGNORED else float(self.values.isna().mean()),
            "note": self.note or None,
        }

    def to_text(self) -> str:
        """Return its line: "ward: category (7), 11 % missing, written with leading zeros"."""
        found = self.to_dict()
        categories, missing = found["categories"], found["missing"]
        kind = self.type + ("" if categories is None else f" ({categories})")
        gaps = f"{PLAIN.percent(missing)} missing" if missing else ""
        parts = (kind, gaps, self.note)
        return f"{clean(self.name)}: {', '.join(clean(part) for part in parts if part)}"


def read_column(
    file: TableFile, name: str, asked: str | None, known: Any = UNKNOWN, *, outcome: bool = False
) -> ReadColumn:
    """Return a column as a number or a category.

    ``asked`` is the user's word; ``known`` what a tree knows: its categories, or None for a
    number. An ``outcome`` is no predictor.
    """
    values = file.frame[name]
    column = _Column(file, name, values, asked, known, outcome)
    kind = asked if known is UNKNOWN else NUMBER if known is None else CATEGORY
    if asked not in (None, kind) or kind == IGNORE:
        what = "the outcome" if outcome else f"a {kind} to the tree"
        raise InputError(
            f"expected as --types what {name!r} can be, which is {what}, got {asked}; leave it out"
        )
    held = pd.api.types.infer_dtype(values, skipna=True)
    if isinstance(known, tuple):
        return ReadColumn(name, CATEGORY, column.in_categories())
    if kind == CATEGORY:
        wanted = {v: v if isinstance(v, str) else plain_text(v) for v in _distinct(values)}
        texts = _recoded(values, wanted)
        return ReadColumn(name, CATEGORY, texts if outcome else texts.astype("category"))
    if held == "boolean":
        return ReadColumn(name, kind or CATEGORY, values.astype(np.float64) if kind else values)
    if held == "integer" or pd.api.types.is_numeric_dtype(values):
        return column.number()
    if held in ("string", "empty"):
        return column.text()
    return ReadColumn(name, CATEGORY, values)  # the core knows dates, lists and the like


@dataclass(frozen=True, eq=False)
class _Column:
    """A column that is being read, and what is known of it."""

    file: TableFile
    name: str
    values: pd.Series[Any]
    asked: str | None
    known: Any
    outcome: bool

    def refusal(self, expected: str, got: str, fix: str) -> InputError:
        """Return what is wrong with the column, as an error."""
        where = f"column {self.name!r} of {self.file.path}"
        return InputError(f"expected {expected} in {where}, got {got}; {fix}")

    def option(self, kind: str) -> str:
        """Write the option that says what the column is, as it is typed."""
        return f"--types {shlex.quote(f'{self.name}={kind}')}"

    def number(self) -> ReadColumn:
        """Check the numbers of a column."""
        values, note = self.values, ""
        numbers = values.to_numpy(dtype=np.float64, na_value=np.nan)
        whole = values.dtype.kind in "iuO"
        beyond = np.flatnonzero(np.abs(numbers) >= EXACT_WHOLE).tolist()
        if whole and beyond and self.asked is None and self.known is UNKNOWN:
            raise self.refusal(
                "whole numbers below 2**53",
                f"{values.iloc[beyond[0]]} ({self.file.places(beyond[:1])}), as in an identifier",
                f"leave it out with {self.option(IGNORE)}, or say {self.option(CATEGORY)} or "
                f"{self.option(NUMBER)}",
            )
        self.check_range(numbers)
        if whole and len(values) >= ROWS_OF_IDENTIFIERS and values.is_unique:
            note = "another whole number in every row: an identifier?"
        if not np.fmin.reduce(numbers) < np.fmax.reduce(numbers):
            note = "no value" if np.isnan(numbers).all() else "one value only"
        kept = pd.Series(numbers, name=self.name) if values.dtype.kind == "O" else values
        return ReadColumn(self.name, NUMBER, kept, note)

    def check_range(self, numbers: NDArray[np.float64]) -> None:
        """Refuse infinities, and numbers that single precision does not hold."""
        of_tree = self.known is None and not self.outcome
        far = np.isinf(numbers) if of_tree else np.abs(numbers) > LARGEST
        if far.any():
            rows = np.flatnonzero(far).tolist()
            raise self.refusal(
                f"finite numbers up to {LARGEST:.1e}",
                f"{numbers[rows[0]]:g} ({self.file.places(rows)})",
                "replace it with a number, or leave the cell empty",
            )

    def text(self) -> ReadColumn:
        """Take texts for categories, unless most are numbers or dates."""
        codes, found = pd.factorize(self.values)
        texts = [str(text) for text in found]
        numbers = np.array([*(number_of(t, self.file.reading.decimal) for t in texts), np.nan])
        if self.known is None or self.asked == NUMBER:
            return self.number_of_text(codes, texts, numbers)
        odd = np.isnan(numbers[:-1])
        if texts and not odd.any():
            note = "written with leading zeros" if self.file.lines else "numbers stored as text"
            return ReadColumn(self.name, CATEGORY, self.values, note)
        forms = (_OTHER_SIGN, DATE_TEXT)
        signs, dates = (np.array([bool(f.fullmatch(t)) for t in texts], dtype=bool) for f in forms)
        number, category, ignore = map(self.option, TYPES)
        insist = f"{number} (they become missing) or {category}"
        decimal = "--decimal , if that is their decimal sign, write them without thousands' signs"
        for most, shown, got, fix in (
            (~odd, odd, "numbers but for", f"correct them, or say {insist}"),
            (
                signs,
                signs,
                "numbers with other signs, such as",
                f"say {decimal}, or say {category}",
            ),
            (
                dates,
                dates,
                "dates such as",
                f"write days since a day, say {ignore}, or name it as --time",
            ),
        ):
            if most.any() and 2 * most[codes[codes >= 0]].sum() >= (codes >= 0).sum():
                words = self.shown(codes, texts, np.flatnonzero(shown).tolist())
                raise self.refusal("numbers or categories", f"{got} {words}", fix)
        return ReadColumn(self.name, CATEGORY, self.values)

    def number_of_text(
        self, codes: NDArray[np.intp], texts: list[str], numbers: NDArray[np.float64]
    ) -> ReadColumn:
        """Read texts as numbers: odd ones are refused, or missing where the user says so."""
        odd = np.flatnonzero(np.isnan(numbers[:-1])).tolist()
        if odd and (self.asked != NUMBER or len(odd) == len(texts)):
            fix = f"correct them, or say {self.option(NUMBER)}: they become missing"
            fix = f"say {self.option(CATEGORY)}" if self.asked else fix
            raise self.refusal("numbers", self.shown(codes, texts, odd), fix)
        self.check_range(numbers[codes])
        note = f"missing where it says {some_of([texts[i] for i in odd], SHOWN)}" if odd else ""
        return ReadColumn(self.name, NUMBER, pd.Series(numbers[codes], name=self.name), note)

    def shown(self, codes: NDArray[np.intp], texts: Sequence[str], which: Sequence[int]) -> str:
        """Name some texts with their lines."""
        named = [
            f"{quoted(texts[i])} ({self.file.places(np.flatnonzero(codes == i).tolist())})"
            for i in which[:SHOWN]
        ]
        more = len(which) - len(named)
        return ", ".join(named) + (f" and {more:,} other values" if more else "")

    def in_categories(self) -> pd.Series[Any]:
        """Return the values as the categories that a tree knows, whatever type either has."""
        values, known = self.values, self.known
        found = _distinct(values)
        if not all(isinstance(v, (str, bool, int, float)) for v in found):
            return values  # the core knows dates, lists and the like
        wanted = dict(zip(found, as_known(found, known), strict=True))
        numeric = pd.api.types.is_numeric_dtype(values)
        if numeric and wanted and not self.outcome and not set(wanted.values()) & set(known):
            raise self.refusal(
                f"categories such as {some_of(known, SHOWN)}",
                f"numbers such as {found[0]!r}",
                "write the categories, or train a new tree",
            )
        return _recoded(values, wanted)


def _distinct(values: pd.Series[Any]) -> list[Any]:
    """Return the different values of a column, as Python has them."""
    found = pd.unique(values.dropna().astype(object))
    return [v.item() if isinstance(v, np.generic) else v for v in found]


def _recoded(values: pd.Series[Any], wanted: Mapping[Any, Any]) -> pd.Series[Any]:
    """Write other values for those of a column; what is missing stays so."""
    return pd.Series([wanted.get(v) for v in values], name=values.name, dtype=object)


def plain_text(value: Any) -> str:
    """Write a value so that 1, 1.0, "1" and "1.0" are alike, and True and "TRUE"; not "01"."""
    text = str(value).strip()
    if text.lower() in ("true", "false"):
        return text.lower()
    number = number_of(text)
    if not np.isfinite(number) or _PADDED.fullmatch(text) or text.isdigit():
        return text
    return str(int(number)) if number.is_integer() and abs(number) < EXACT_WHOLE else repr(number)


def as_known(values: Sequence[Any], known: Sequence[Any]) -> list[Any]:
    """Return values as the known ones that they are, whatever type either has.

    One that is none of them becomes a text beside texts.
    """
    alike = {plain_text(value): value for value in reversed(known)}
    textual = all(isinstance(value, str) for value in known)
    texts = [(plain_text(value), value) for value in values]
    return [alike.get(text, text if textual else value) for text, value in texts]


# -- the outcome: classes or a response, or nothing that a tree can learn --------------------------
# A column of 200 identifiers named as the target is a slip; it must not become 200 classes.

MOST_CLASSES = 20
"""More classes than this are asked about."""


def counted(y: NDArray[Any]) -> dict[Any, int]:
    """Count the rows of each outcome."""
    codes, values = pd.factorize(y)
    return dict(zip(values.tolist(), np.bincount(codes).tolist(), strict=True))


def guess_task(y: NDArray[Any], task: str) -> str:
    """Classification or regression; asks where the values do not tell."""
    if task != "auto":
        return task
    if has_fractions(y):
        return "regression"
    n_values = len(counted(y))
    if n_values <= MOST_CLASSES:
        return "classification"
    kind = "whole numbers" if y.dtype.kind in "fiu" else "texts"
    raise InputError(
        f"expected a target with at most {MOST_CLASSES} classes or with fractions, got "
        f"{n_values:,} different {kind}; name another column, or say --task classification or "
        "regression"
    )


def check_outcomes(y: NDArray[Any], task: str, path: Path, target: str) -> None:
    """Refuse a target that nothing can be learned about; warn of classes of a single row."""
    counts, numeric = counted(y), y.dtype.kind in "fiu"
    if len(counts) < 2:
        raise InputError(
            f"expected a target with two or more different values, got only {quoted(y[0])}; "
            "nothing can be learned from it"
        )
    if task == "regression":
        if not numeric:
            raise InputError(
                f"expected numbers in the target {target!r} of {path} with --task regression, got "
                f"{quoted(y[0])}; say --task classification, or name another column"
            )
        return
    if near_unique(len(counts), len(y)):
        raise InputError(
            f"expected classes that rows share in the target {target!r} of {path}, got "
            f"{len(counts):,} different values in {len(y):,} rows, as in an identifier; name "
            "another column" + (", or say --task regression" if numeric else "")
        )
    alone = [value for value, count in counts.items() if count == 1]
    if alone:
        warnings.warn(
            f"there is one row only of {some_of(alone)} in the target {target!r}: too few to learn "
            "from; leave such rows out, or put rare classes together",
            SteadyTreeWarning,
            stacklevel=2,
        )


# -- what was read, said before anything is trained ------------------------------------------------
# Whoever sees "age: category (61)" in time does not deploy a tree that was grown on it.

MOST_LINES = 30


@dataclass(frozen=True)
class ReadSummary:
    """What was read of a file.

    ``dropped`` are rows that were left out because their outcome is missing; ``classes`` counts the
    rows of each class of the ``target``, if it has classes.
    """

    path: Path
    rows: int
    columns: Sequence[ReadColumn]
    dropped: int = 0
    target: str | None = None
    classes: Mapping[str, int] = field(default_factory=dict)

    def with_target(self, name: str, y: NDArray[Any], *, regression: bool) -> ReadSummary:
        """Return the summary with what was read of the outcome."""
        classes = {} if regression else {str(value): n for value, n in counted(y).items()}
        return replace(self, target=name, classes=dict(sorted(classes.items())))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for ``--json``."""
        target = {"name": self.target, "classes": dict(self.classes) or None}
        return {
            "file": str(self.path),
            "rows": self.rows,
            "dropped_rows": self.dropped,
            "target": None if self.target is None else target,
            "columns": [column.to_dict() for column in self.columns],
        }

    def to_text(self, *, everything: bool = False) -> str:
        """Return a line for each column; of many columns the first, or ``everything``."""
        kinds = Counter(column.type for column in self.columns)
        shares = [f"{kinds[kind]} {kind}" for kind in (NUMBER, CATEGORY, IGNORED) if kinds[kind]]
        lines = [f"read {self.path.name}: {self.rows:,} rows; columns: {', '.join(shares)}"]
        if self.dropped:
            lines.append(f"{self.dropped:,} rows without an outcome were left out")
        if self.target is not None:
            classes = [f"{clean(label)} {n:,}" for label, n in self.classes.items()]
            lines.append(f"target {clean(self.target)}: {', '.join(classes) or 'numbers'}")
        shown = self.columns if everything else self.columns[:MOST_LINES]
        more = len(self.columns) - len(shown)
        lines += [column.to_text() for column in shown]
        return "\n".join(lines + [f"and {more} more columns (-v shows them)"] * (more > 0))


# -- rows: predictors, outcomes, and columns that are neither --------------------------------------


@dataclass(frozen=True)
class RowTable:
    """A table in its parts.

    ``X`` keeps every column that may be a predictor; ``table`` is the whole, as it was read. ``y``
    is empty where no outcomes were asked for; ``read`` says what was read.
    """

    table: pd.DataFrame
    X: Any
    y: Any
    time: Any
    groups: Any
    read: ReadSummary

    def column(self, name: str) -> NDArray[Any]:
        """Return one column, for subgroups."""
        values = self.table[name]
        if isinstance(values.dtype, pd.CategoricalDtype):
            values = values.astype(object)
        return np.asarray(values.to_numpy())


def check_columns(columns: Collection[Any], path: Path, named: Iterable[tuple[str, str]]) -> None:
    """Check that columns exist; ``named`` holds pairs (what names it, column)."""
    lacking = {column: why for why, column in named if column not in columns}
    if lacking:
        close = difflib.get_close_matches(next(iter(lacking)), map(str, columns), n=1)
        hint = f"did you mean {close[0]!r}?" if close else "see its first line"
        raise InputError(
            f"expected {some_of(lacking)} ({', '.join(dict.fromkeys(lacking.values()))}) among the "
            f"columns of {path}, got none of that name; {hint}"
        )


def read_training(path: Path, target: str, task: str, **columns: Any) -> tuple[RowTable, str]:
    """Read a table to train on (``columns`` as in :func:`read_rows`), and what its task is."""
    table = read_rows(path, target, **columns)
    task = guess_task(table.y, task)
    check_outcomes(table.y, task, path, target)
    read = table.read.with_target(target, table.y, regression=task == "regression")
    return replace(table, read=read), task


def read_rows(
    path: Path,
    target: str | None,
    *,
    time: str | None = None,
    group: str | None = None,
    drop: Sequence[str] = (),
    subgroups: Sequence[str] = (),
    tree: Tree | None = None,
    to_retrain: bool = False,
    reading: TableReading | None = None,
    is_old: bool = False,
) -> RowTable:
    """Read a table, with outcomes if a ``target`` is named.

    With a ``tree`` its own columns are the predictors (by name, if it has names), of which the
    table must have those that the tree uses. ``to_retrain`` the others cannot be wrong: columns
    that the tree does not know and no option names, and those that do not hold what it knows,
    are left as they are, for the retraining to speak of. Without a tree every column but
    the target, the time, the group and those to drop. Old rows (``is_old``) need not have the
    columns whose types are named.
    """
    file = read_table(path, reading or TableReading())
    types = file.reading.types
    single = (("--target", target), ("--time", time), ("--group", group))
    roles = {name: option for option, name in single if name} | dict.fromkeys(drop, "--drop")
    used = set() if tree is None else {tree.feature_labels[j] for j in tree.used_features}
    named = [(option, name) for name, option in roles.items()]
    named += [("--subgroup", name) for name in subgroups]
    named += [] if is_old else [("--types", name) for name in types]
    if tree is not None and tree.feature_names is not None:
        named += [("which the tree uses", name) for name in tree.feature_labels if name in used]
    check_columns(file.frame.columns, path, named)
    roles |= {n: "--types" for n, kind in types.items() if kind == IGNORE and n not in roles}
    y, n_dropped = np.zeros(0), 0
    if target is not None:
        known = UNKNOWN if tree is None else tree.classes
        outcome = read_column(file, target, types.get(target), known, outcome=True)
        there = _rows_with_outcome(file, target, outcome)
        y, n_dropped = outcome_values(outcome.values[there]), int((~there).sum())
        if n_dropped:
            frame = file.frame[there].reset_index(drop=True)
            file = replace(file, frame=frame, lines=list(compress(file.lines, there)))
    table = file.frame
    as_is = {
        name: ReadColumn(name, IGNORED, table[name], roles.get(name, "not in the tree"))
        for name in table.columns
    }
    columns = {}
    for name, known in _predictors(file, roles, subgroups, tree, used, to_retrain).items():
        try:
            columns[name] = as_is[name]
            if known is not AS_IT_IS:
                columns[name] = read_column(file, name, types.get(name), known)
        except InputError:
            if not to_retrain or name in used or name in types:
                raise
    described = [columns.get(name, as_is[name]) for name in table.columns if name != target]
    read = ReadSummary(path, len(table), described, n_dropped)
    if target is not None and tree is not None:
        read = read.with_target(target, y, regression=tree.classes is None)
    return RowTable(
        table=table,
        X=pd.DataFrame({name: column.values for name, column in columns.items()}, copy=False),
        y=y,
        time=None if time is None else _sortable(table[time]),
        groups=None if group is None else np.asarray(table[group].astype(str).to_numpy()),
        read=read,
    )


def with_columns(rows: RowTable, names: Iterable[str]) -> Any:
    """Return the predictors with other columns of the file, such as those of a plan's groups."""
    lacking = [name for name in names if name not in rows.X.columns]
    named = [("--plan per_group", name) for name in lacking]
    check_columns(rows.table.columns, rows.read.path, named)
    return rows.X.assign(**{name: rows.column(name) for name in lacking})


def _predictors(
    file: TableFile,
    roles: Mapping[str, str],
    subgroups: Sequence[str],
    tree: Tree | None,
    used: Collection[str],
    to_retrain: bool,
) -> dict[str, Any]:
    """Columns that may be predictors, and what the tree knows each to be."""
    have = [str(name) for name in file.frame.columns]
    free = [name for name in have if name not in roles]
    if tree is None:
        kept = dict.fromkeys(free, UNKNOWN)
    elif tree.feature_names is None:
        fits = len(free) == tree.n_features
        kept = {name: _known(tree, j) if fits else AS_IT_IS for j, name in enumerate(free)}
    else:
        kept = {
            name: _known(tree, j)
            for j, name in enumerate(tree.feature_names)
            if name in set(have) and (name in used or roles.get(name) != "--types")
        }
        if to_retrain:
            others = {*subgroups, *tree.feature_names}
            kept |= dict.fromkeys((name for name in free if name not in others), AS_IT_IS)
    if not kept:
        raise InputError(f"expected predictors in {file.path}, got no column besides the target")
    return kept


def _known(tree: Tree, feature: int) -> Any:
    """Return what a tree knows of a feature: its categories, or None for a number."""
    if tree.space is None and feature not in tree.used_features:
        return AS_IT_IS  # no rule is about it, and nobody looked at its values
    return tree.categories[feature]


def _rows_with_outcome(file: TableFile, target: str, outcome: ReadColumn) -> NDArray[np.bool_]:
    """Which rows have an outcome; refuse those without, unless they are to be dropped."""
    there = outcome.values.notna().to_numpy(dtype=bool)
    lacking = np.flatnonzero(~there).tolist()
    if lacking and not (file.reading.drop_missing_target and there.any()):
        raise InputError(
            f"expected an outcome in every row of {file.path}, got {len(lacking):,} missing in "
            f"{target!r} ({file.places(lacking)}); fill them in, or leave these rows out with "
            "--drop-missing-target"
        )
    return there


def _sortable(values: pd.Series[Any]) -> NDArray[np.float64]:
    """Return times as numbers: as they are, or parsed as dates."""
    try:
        if values.isna().any():
            raise ValueError(f"{int(values.isna().sum()):,} missing")
        if pd.api.types.is_numeric_dtype(values):
            return np.asarray(values.to_numpy(dtype=np.float64))
        dates = pd.to_datetime(values, format="ISO8601").to_numpy(dtype="datetime64[ns]")
        return np.asarray(dates.astype(np.float64))
    except (ValueError, TypeError) as error:
        raise InputError(
            f"expected numbers or dates such as 2024-05-31 in every row of {values.name!r}, got: "
            f"{_first_line(error)}; correct them, or leave --time out"
        ) from None
