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
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
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
from steadytree.tree.words import PLAIN, clean, display_width, shorten

# -- how the user wants tables read ----------------------------------------------------------------

NUMBER, CATEGORY, IGNORE = TYPES = ("number", "category", "ignore")
SIGNS = {"tab": "\t", "\\t": "\t", "space": " "}


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
    separator = options.separator
    if separator is not None:
        separator = SIGNS.get(separator.lower(), separator)
        if len(separator) != 1 or separator.isalnum() or separator in '"\n\r\0':
            raise InputError(
                f"expected one sign as --separator, got {options.separator!r}; write for example "
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
        if name in types:
            raise InputError(f"expected {name!r} once in --types, got it twice; leave one out")
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
            return _read_parquet(path, reading)
        return _read_delimited(path, reading, reading.separator or SEPARATORS[kind])
    except OSError as error:
        raise InputError(
            f"expected a readable table, got {error.strerror or _first_line(error)}: {path}; check "
            "the name and the rights"
        ) from error


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


def _read_delimited(path: Path, reading: TableReading, separator: str) -> TableFile:
    """Read delimited text; a row that does not fit its header is refused, never shifted."""
    names: list[str] = []
    lines: list[int] = []
    columns: list[list[str]] = []
    chunk: list[list[str]] = []
    begin = 1
    try:
        with path.open(encoding=reading.encoding or "utf-8-sig", newline="") as file:
            rows = csv.reader(_text_lines(file, path), delimiter=separator, strict=True)
            for row in rows:
                if not names:
                    names = _header(path, row, separator)
                    columns = [[] for _ in names]
                elif row:  # else a blank line
                    if len(row) != len(names):
                        raise _ragged(path, names, row, begin)
                    lines.append(begin)
                    chunk.append(row)
                    if len(chunk) == ROWS_AT_ONCE:
                        _append(columns, chunk)
                begin = rows.line_num + 1
    except csv.Error as error:
        raise InputError(
            f"expected every quote to be closed in {path}, got {error} in the row that begins in "
            f"line {begin}; close the quote, and double those inside a value"
        ) from None
    except (UnicodeError, LookupError) as error:
        raise _other_encoding(path, reading.encoding, error) from None
    if not lines:
        raise InputError(f"expected a table with rows and columns, got none in {path}")
    _append(columns, chunk)
    typed = {}
    for name in names:  # one column at a time: its texts are forgotten before the next
        typed[name] = _typed(columns.pop(0), reading.decimal)
    return TableFile(path, pd.DataFrame(typed, copy=False), reading, lines)


ROWS_AT_ONCE = 5_000


def _append(columns: list[list[str]], chunk: list[list[str]]) -> None:
    """Move rows to the columns."""
    for column, values in zip(columns, zip(*chunk, strict=True), strict=False):
        column.extend(values)
    chunk.clear()


def _text_lines(file: Iterable[str], path: Path) -> Iterator[str]:
    for number, line in enumerate(file, start=1):
        if "\0" in line:
            raise InputError(
                f"expected text in {path}, got a NUL byte in line {number}; it may be UTF-16 (say "
                "--encoding utf-16) or no text at all"
            )
        yield line


def _header(path: Path, names: list[str], separator: str) -> list[str]:
    """Check the names of the columns."""
    if len(names) <= 1 and (hint := _separator_hint("".join(names), separator)):
        raise InputError(f"expected columns in {path}, got one called {names[0]!r}; {hint}")
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


def _separator_hint(line: str, separator: str) -> str:
    """Say that another separator was meant, if a header of one name holds one."""
    found = max(";\t|,".replace(separator, ""), key=line.count)
    named = "tab" if found == "\t" else found
    used = found in line
    return f"the file seems to be separated by {named!r}: say --separator {named!r}" if used else ""


def _ragged(path: Path, names: Sequence[str], row: Sequence[str], line: int) -> InputError:
    return InputError(
        f"expected {len(names)} values in every row of {path}, as its header has names, got "
        f"{len(row)} in line {line}; see whether a value holds the separator without quotes "
        "around it, or the header lacks a name"
    )


def _other_encoding(path: Path, encoding: str | None, error: Exception) -> InputError:
    got = str(error)
    if encoding is None and isinstance(error, UnicodeDecodeError):
        content = path.read_bytes()
        try:
            content.decode("utf-8")
        except UnicodeDecodeError as found:
            line = content.count(b"\n", 0, found.start) + 1
            got = f"the byte 0x{content[found.start]:02x} in line {line}"
    return InputError(
        f"expected {encoding or 'UTF-8'} in {path}, got {got}; say what it was written in, for "
        "example --encoding latin-1, cp1252 or utf-16, or save it as UTF-8"
    )


def _read_parquet(path: Path, reading: TableReading) -> TableFile:
    import_optional("pyarrow", extra="parquet", purpose=f"reading {path.name}")
    try:
        table = pd.read_parquet(path).reset_index(drop=True)
    except Exception as error:
        # pyarrow's errors share no base with ours; anything else is not about what the file holds.
        of_content = type(error).__module__.startswith("pyarrow") or isinstance(error, ValueError)
        if not of_content and not (isinstance(error, OSError) and error.errno is None):
            raise
        raise InputError(
            f"expected Parquet in {path}, got: {_first_line(error)}; write it again"
        ) from None
    if table.empty:
        raise InputError(f"expected a table with rows and columns, got none in {path}")
    table.columns = [str(name) for name in table.columns]
    _check_distinct(path, table.columns)
    return TableFile(path, table, reading)


def _typed(texts: Iterable[str], decimal: str) -> pd.Series[Any]:
    """Return a column as whole numbers, numbers, truths or texts: whatever all its values are."""
    values = [None if text in MISSING else text for text in map(str.strip, texts)]
    present = [text for text in values if text is not None]
    if not any("_" in text or (text[0] == "0" and _PADDED.fullmatch(text)) for text in present):
        with suppress(ValueError):
            if len(present) == len(values) and max(map(len, present)) < MOST_DIGITS:
                return pd.Series(list(map(int, present)))
        with suppress(ValueError):
            if decimal == ",":
                present = [text.translate(_POINT_FOR_COMMA) for text in present]
            numbers = map(float, present)
            return pd.Series([np.nan if v is None else next(numbers) for v in values], dtype=float)
    if {text.lower() for text in set(present)} <= {"true", "false"}:
        return pd.Series([None if v is None else v.lower() == "true" for v in values])
    return pd.Series(values, dtype=object)


def number_of(text: str, decimal: str = ".") -> float:
    """Return the number that a text is; nan where it is none."""
    with suppress(ValueError):
        if "_" not in text:
            return float(text.translate(_POINT_FOR_COMMA) if decimal == "," else text)
    return np.nan


# -- columns: a number, a category, or not to be read ----------------------------------------------

EXACT_WHOLE = 2**53
"""Whole numbers beyond this are not told apart as numbers."""
LARGEST = float(np.finfo(np.float32).max)
"""Learners compare numbers in single precision."""
ROWS_OF_IDENTIFIERS = 20

UNKNOWN: Any = object()
"""No tree knows what a column is."""
AS_IT_IS: Any = object()
"""Nothing depends on what a column is."""


@dataclass(frozen=True, eq=False)
class SettledColumn:
    """A column of one type: its values, and what is to be said of it."""

    values: pd.Series[Any]
    type: str
    note: str = ""

    def take(self, rows: Any) -> SettledColumn:
        """Return some of the rows."""
        return replace(self, values=self.values[rows].reset_index(drop=True))


def settle_column(
    table: TableFile,
    name: str,
    asked: str | None,
    known: Any = UNKNOWN,
    *,
    outcome: bool = False,
) -> SettledColumn:
    """Return a column as a number or a category.

    ``asked`` is the user's word; ``known`` what a tree knows: its categories, or None for a
    number. An ``outcome`` is no predictor: its values may be nearly all different.
    """
    return _Column(table, name, table.frame[name], asked, known, outcome).settle()


@dataclass(frozen=True, eq=False)
class _Column:
    """A column that is being settled, and what is known of it."""

    table: TableFile
    name: str
    values: pd.Series[Any]
    asked: str | None
    known: Any
    outcome: bool

    def refusal(self, expected: str, got: str, fix: str) -> InputError:
        """Return what is wrong with the column, as an error."""
        where = f"column {self.name!r} of {self.table.path}"
        return InputError(f"expected {expected} in {where}, got {got}; {fix}")

    def option(self, kind: str) -> str:
        """Write the option that settles the column, as it is typed."""
        return f"--types {shlex.quote(f'{self.name}={kind}')}"

    def settle(self) -> SettledColumn:
        """Tell what the column is from what is known, what was asked for and what it holds."""
        values, asked, known = self.values, self.asked, self.known
        if known not in (UNKNOWN, AS_IT_IS) and asked not in (
            None,
            CATEGORY if known is not None else NUMBER,
        ):
            what = "a number" if known is None else "a category"
            raise InputError(
                f"expected --types to leave {self.name!r} what it is to the tree, {what}, got "
                f"{asked}; a new tree could take it so"
            )
        if known is AS_IT_IS:
            return SettledColumn(values, "")
        if isinstance(known, tuple):
            return self.known_category()
        if asked == CATEGORY:
            found = _found(values)
            texts = _recoded(values, [v if isinstance(v, str) else plain_text(v) for v in found])
            return SettledColumn(texts if self.outcome else texts.astype("category"), CATEGORY)
        held = pd.api.types.infer_dtype(values, skipna=True) if values.dtype.kind == "O" else ""
        if held == "boolean" or pd.api.types.is_bool_dtype(values):
            if known is None or asked == NUMBER:
                return SettledColumn(values.astype(np.float64), NUMBER)
            return SettledColumn(values, CATEGORY)
        if held == "integer" or pd.api.types.is_numeric_dtype(values):
            return self.number()
        if isinstance(values.dtype, pd.CategoricalDtype) or held not in ("string", "empty"):
            return SettledColumn(values, CATEGORY)  # the core knows dates, lists and the like
        return self.text()

    def number(self) -> SettledColumn:
        """Check the numbers of a column."""
        values = self.values
        settled = self.asked is not None or self.known is None
        whole = values.dtype.kind in "iuO"
        if whole and not settled and max(abs(values.max()), abs(values.min())) > EXACT_WHOLE:
            row = int(np.flatnonzero(np.abs(values.to_numpy(dtype=object)) > EXACT_WHOLE)[0])
            raise self.refusal(
                "whole numbers up to 2**53",
                f"{values.iloc[row]} ({self.table.places([row])}), as in an identifier",
                f"leave it out with {self.option(IGNORE)}, or settle it with "
                f"{self.option(CATEGORY)} or {self.option(NUMBER)}",
            )
        numbers = values.to_numpy(dtype=np.float64, na_value=np.nan)
        self.check_range(numbers, settled=settled and not self.outcome)
        note = ""
        if whole and len(values) >= ROWS_OF_IDENTIFIERS and values.is_unique:
            note = "another whole number in every row: an identifier?"
        if not np.fmin.reduce(numbers) < np.fmax.reduce(numbers):
            note = "no value" if np.isnan(numbers).all() else "one value only"
        kept = pd.Series(numbers, name=self.name) if values.dtype.kind == "O" else values
        return SettledColumn(kept, NUMBER, note)

    def check_range(self, numbers: NDArray[Any], *, settled: bool) -> None:
        """Refuse infinities, and numbers that single precision does not hold."""
        far = np.isinf(numbers) if settled else np.abs(numbers) > LARGEST
        if far.any():
            rows = np.flatnonzero(far).tolist()
            raise self.refusal(
                f"finite numbers up to {LARGEST:.1e}",
                f"{numbers[rows[0]]:g} ({self.table.places(rows)})",
                "replace it with a number, or leave the cell empty",
            )

    def text(self) -> SettledColumn:
        """Take texts for categories, unless most are numbers, dates or names."""
        codes, found = pd.factorize(self.values)
        texts = [str(text) for text in found]
        decimal = self.table.reading.decimal
        numbers = np.array([*(number_of(text, decimal) for text in texts), np.nan])
        odd = np.isnan(numbers[:-1])
        if self.known is None and self.outcome and odd.all():
            return SettledColumn(self.values, CATEGORY)  # another task: who holds the tree says so
        if self.known is None or self.asked == NUMBER:
            return self.number_of_text(codes, texts, numbers)
        present = codes[codes >= 0]

        def mostly(which: NDArray[np.bool_]) -> bool:
            return bool(which.any()) and 2 * int(which[present].sum()) >= len(present)

        def matching(pattern: re.Pattern[str]) -> NDArray[np.bool_]:
            return np.array([pattern.fullmatch(text.strip()) is not None for text in texts], bool)

        def shown(which: NDArray[np.bool_]) -> str:
            return self.shown(codes, texts, np.flatnonzero(which).tolist())

        if texts and not odd.any():
            how = "written with leading zeros" if self.table.lines else "numbers stored as text"
            return SettledColumn(self.values, CATEGORY, how)
        if mostly(~odd):
            raise self.refusal(
                "numbers or categories",
                f"numbers but for {shown(odd)}",
                f"correct them, or settle it with {self.option(NUMBER)} (they become missing) or "
                f"{self.option(CATEGORY)}",
            )
        if mostly(other := matching(_OTHER_SIGN)):
            raise self.refusal(
                "numbers or categories",
                f"numbers with other signs, such as {shown(other)}",
                "say --decimal , if that is their decimal sign, write them without signs for "
                f"thousands, or settle it with {self.option(CATEGORY)}",
            )
        if mostly(dates := matching(DATE_TEXT)):
            raise self.refusal(
                "numbers or categories",
                f"dates such as {shown(dates)}",
                f"write days since a reference, leave it out with {self.option(IGNORE)}, or name "
                "it as --time",
            )
        if not self.outcome and near_unique(len(texts), len(present)):
            raise self.refusal(
                "categories that rows share",
                f"{len(texts):,} different ones in {len(present):,} rows, as in names, "
                "identifiers or free text",
                f"leave it out with --drop {shlex.quote(self.name)}, or insist with "
                f"{self.option(CATEGORY)}",
            )
        return SettledColumn(self.values, CATEGORY)

    def number_of_text(
        self, codes: NDArray[np.intp], texts: list[str], numbers: NDArray[np.float64]
    ) -> SettledColumn:
        """Read texts as numbers: odd ones are refused, or missing where the user settled it."""
        odd = np.flatnonzero(np.isnan(numbers[:-1])).tolist()
        settled = self.asked == NUMBER
        if odd and (not settled or len(odd) == len(texts)):
            raise self.refusal(
                "numbers",
                self.shown(codes, texts, odd),
                f"correct them, or say {self.option(NUMBER)}: they become missing"
                if not settled
                else f"settle it with {self.option(CATEGORY)}",
            )
        self.check_range(numbers[codes], settled=settled)
        note = f"missing where it says {some_of([texts[i] for i in odd], SHOWN)}" if odd else ""
        return SettledColumn(pd.Series(numbers[codes], name=self.name), NUMBER, note)

    def shown(self, codes: NDArray[np.intp], texts: Sequence[str], which: Sequence[int]) -> str:
        """Name some texts with their lines."""
        named = [
            f"{quoted(texts[i])} ({self.table.places(np.flatnonzero(codes == i).tolist())})"
            for i in which[:SHOWN]
        ]
        more = len(which) - len(named)
        return ", ".join(named) + (f" and {more:,} other values" if more else "")

    def known_category(self) -> SettledColumn:
        """Read a column as the categories that a tree knows, whatever type either has."""
        values, known = self.values, self.known
        found = _found(values)
        if not all(isinstance(v, (str, bool, int, float)) for v in found):
            return SettledColumn(values, CATEGORY)  # the core knows dates, lists and the like
        translated = as_known(found, known)
        numeric = pd.api.types.is_numeric_dtype(values) and not pd.api.types.is_bool_dtype(values)
        if numeric and found and not self.outcome and not set(translated) & set(known):
            raise self.refusal(
                f"categories such as {some_of(known, SHOWN)}",
                f"numbers such as {found[0]!r}",
                "write the categories, or train a new tree",
            )
        return SettledColumn(_recoded(values, translated), CATEGORY)


def _found(values: pd.Series[Any]) -> list[Any]:
    """Return the different values of a column, as Python has them."""
    found = pd.unique(values.dropna().astype(object))
    return [v.item() if isinstance(v, np.generic) else v for v in found]


def _recoded(values: pd.Series[Any], wanted: Sequence[Any]) -> pd.Series[Any]:
    """Write other values for the different ones of a column."""
    codes, _ = pd.factorize(values.astype(object))
    held = np.empty(len(wanted) + 1, dtype=object)
    held[:-1], held[-1] = wanted, None
    return pd.Series(held[codes], name=values.name, dtype=object)


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
# Whoever sees "age: category, 61 categories" in time does not deploy a tree that was grown on it.

IGNORED = "ignored"
MOST_LINES = 30
NAME_WIDTH = 40


@dataclass(frozen=True)
class ReadColumn:
    """One column: what it is, and how much of it is there (``missing`` is a share)."""

    name: str
    type: str
    categories: int | None = None
    missing: float | None = None
    note: str = ""

    @classmethod
    def of(cls, name: str, column: SettledColumn) -> ReadColumn:
        """Describe a settled column."""
        values = column.values
        missing = float(values.isna().mean()) if len(values) else 0.0
        categories = int(values.nunique()) if column.type == CATEGORY else None
        return cls(name, column.type, categories, missing, column.note)

    @property
    def missing_words(self) -> str:
        """How much of it is missing: "11 %"; empty where nothing is."""
        return PLAIN.percent(self.missing) if self.missing else ""

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {**asdict(self), "note": self.note or None}

    def cells(self) -> tuple[str, ...]:
        """Return the cells of its line."""
        kind = self.type + ("" if self.categories is None else f" ({self.categories})")
        missing = f"{self.missing_words} missing" if self.missing else ""
        note = clean(self.note) if self.note else ""
        return (shorten(clean(self.name), NAME_WIDTH), kind, missing, note)


@dataclass(frozen=True)
class ReadSummary:
    """What was read of a file.

    ``dropped`` are rows that were left out because their outcome is missing; ``classes`` counts the
    rows of each class of the ``target``, if it has classes.
    """

    path: Path
    rows: int
    dropped: int = 0
    target: str | None = None
    classes: Mapping[str, int] = field(default_factory=dict)
    columns: Sequence[ReadColumn] = ()

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
        """Return a short table; of many columns the first, or ``everything``."""
        kinds = Counter(column.type for column in self.columns)
        shares = [f"{kinds[kind]} {kind}" for kind in (NUMBER, CATEGORY, IGNORED) if kinds[kind]]
        lines = [f"read {self.path.name}: {self.rows:,} rows; columns: {', '.join(shares)}"]
        if self.dropped:
            lines.append(f"{self.dropped:,} rows without an outcome were left out")
        if self.target is not None:
            lines.append(f"target {clean(self.target)}: {self._classes_text()}")
        shown = self.columns if everything else self.columns[:MOST_LINES]
        cells = [column.cells() for column in shown]
        widths = [max((display_width(row[i]) for row in cells), default=0) for i in range(3)]
        for *padded, note in cells:
            pairs = zip(padded, widths, strict=True)
            row = [cell + " " * (width - display_width(cell)) for cell, width in pairs]
            lines.append("  ".join([*row, note]).rstrip())
        more = len(self.columns) - len(shown)
        return "\n".join([*lines, *[f"and {more} more columns (-v shows them)"] * (more > 0)])

    def _classes_text(self) -> str:
        if not self.classes:
            return "numbers"
        shown = [f"{clean(label)} {n:,}" for label, n in list(self.classes.items())[:MOST_LINES]]
        more = len(self.classes) - len(shown)
        return ", ".join(shown) + (f" and {more} more classes" if more else "")


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
    """Check that columns exist; ``named`` holds pairs (option, column)."""
    for option, column in named:
        if column not in columns:
            close = difflib.get_close_matches(column, map(str, columns), n=1)
            hint = f"did you mean {close[0]!r}?" if close else "see its first line"
            raise InputError(
                f"expected a column of {path} as {option}, got {column!r}, which it does not "
                f"have; {hint}"
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
    reading = reading or TableReading()
    file = read_table(path, reading)
    table, types = file.frame, reading.types
    single = (("--target", target), ("--time", time), ("--group", group))
    roles = {name: option for option, name in single if name} | dict.fromkeys(drop, "--drop")
    named = [(option, name) for name, option in roles.items()]
    named += [("--subgroup", name) for name in subgroups]
    named += [] if is_old else [("--types", name) for name in types]
    check_columns(table.columns, path, named)
    used = set() if tree is None else {tree.feature_labels[j] for j in tree.used_features}
    _check_types(types, roles, used)
    roles |= {name: "--types" for name, kind in types.items() if kind == IGNORE}
    outcome, rows = None, np.ones(len(table), dtype=bool)
    if target is not None:
        known = UNKNOWN if tree is None else tree.classes
        outcome = settle_column(file, target, types.get(target), known, outcome=True)
        rows = _rows_with_outcome(file, target, outcome)
    columns = {}
    for name, known in _predictors(file, roles, subgroups, tree, used, to_retrain).items():
        try:
            columns[name] = settle_column(file, name, types.get(name), known)
        except InputError:
            if not (to_retrain and name not in used and name not in types):
                raise
            columns[name] = SettledColumn(table[name], "")
    if outcome is not None and not rows.all():
        table = table[rows].reset_index(drop=True)
        columns = {name: column.take(rows) for name, column in columns.items()}
        outcome = outcome.take(rows)
    y = np.zeros(0) if outcome is None else outcome_values(outcome.values)
    described = _described(table, columns, roles)
    read = ReadSummary(path, len(table), dropped=int((~rows).sum()), columns=described)
    if target is not None and tree is not None and (tree.classes or y.dtype.kind in "fiu"):
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
    check_columns(
        rows.table.columns, rows.read.path, [("--plan per_group", name) for name in lacking]
    )
    return rows.X.assign(**{name: rows.column(name) for name in lacking})


def _check_types(types: Mapping[str, str], roles: Mapping[str, str], used: Collection[str]) -> None:
    """Refuse types that contradict another option or the tree."""
    for name, kind in types.items():
        option = roles.get(name)
        if option in ("--time", "--group") or (option == "--target" and kind == IGNORE):
            raise InputError(
                f"expected predictors in --types, got {name!r}, which is named as {option}; "
                "leave one of them out"
            )
        if name in used and kind == IGNORE:
            raise InputError(
                f"expected --types to ignore no column that the tree uses, got {name!r}; leave it "
                "out of --types"
            )


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
    left = [name for name in have if "--target" not in roles.values() or name not in roles]
    if tree is None:
        kept = dict.fromkeys(left, UNKNOWN)
    elif tree.feature_names is None:
        fits = len(left) == tree.n_features
        kept = {name: _known(tree, j) if fits else AS_IT_IS for j, name in enumerate(left)}
    else:
        lacking = [name for name in tree.feature_labels if name in used and name not in have]
        if lacking:
            close = {name: difflib.get_close_matches(name, have, n=1) for name in lacking}
            meant = [f"{found[0]!r} for {name!r}" for name, found in close.items() if found]
            raise InputError(
                f"expected the columns that the tree uses in {file.path}, got none called "
                f"{some_of(lacking)}; "
                + (f"did you mean {', '.join(meant)}?" if meant else "see its first line")
            )
        there = set(have)
        kept = {
            name: _known(tree, j)
            for j, name in enumerate(tree.feature_names)
            if name in there and roles.get(name) != "--types"
        }
        if to_retrain:
            others = {*roles, *subgroups, *tree.feature_names}
            kept |= dict.fromkeys((name for name in have if name not in others), AS_IT_IS)
    if not kept:
        raise InputError(f"expected predictors in {file.path}, got no column besides the target")
    return kept


def _known(tree: Tree, feature: int) -> Any:
    """Return what a tree knows of a feature: its categories, or None for a number."""
    if tree.space is None and feature not in tree.used_features:
        return AS_IT_IS  # no rule is about it, and nobody looked at its values
    return tree.categories[feature]


def _rows_with_outcome(file: TableFile, target: str, outcome: SettledColumn) -> NDArray[np.bool_]:
    """Which rows have an outcome; refuse those without, unless they are to be dropped."""
    there = outcome.values.notna().to_numpy(dtype=bool)
    lacking = np.flatnonzero(~there).tolist()
    if lacking and not file.reading.drop_missing_target:
        raise InputError(
            f"expected an outcome in every row of {file.path}, got {len(lacking):,} missing in "
            f"{target!r} ({file.places(lacking)}); fill them in, or leave these rows out with "
            "--drop-missing-target"
        )
    if not there.any():
        raise InputError(f"expected outcomes in {target!r} of {file.path}, got none; name another")
    return there


def _described(
    table: pd.DataFrame, columns: Mapping[str, SettledColumn], roles: Mapping[str, str]
) -> list[ReadColumn]:
    """Describe every column but the target, in the order of the file."""
    out = []
    for name in map(str, table.columns):
        column = columns.get(name)
        if column is not None and column.type:
            out.append(ReadColumn.of(name, column))
        elif roles.get(name) != "--target":
            out.append(ReadColumn(name, IGNORED, note=roles.get(name, "not in the tree")))
    return out


def _sortable(values: pd.Series[Any]) -> NDArray[Any]:
    """Return times as numbers: as they are, or parsed as dates."""
    lacking = int(values.isna().sum())
    if lacking:
        raise InputError(
            f"expected a time in every row of {values.name!r}, got {lacking:,} missing; fill them "
            "in, or leave --time out"
        )
    with suppress(ValueError, TypeError):
        if not pd.api.types.is_datetime64_any_dtype(values):
            return np.asarray(pd.to_numeric(values).to_numpy(dtype=np.float64))
    try:
        dates = pd.to_datetime(values, format="ISO8601")
    except (ValueError, TypeError) as error:
        raise InputError(
            f"expected numbers or dates such as 2024-05-31 in {values.name!r}, "
            f"got: {str(error).splitlines()[0]}"
        ) from None
    return np.asarray(dates.to_numpy().astype("datetime64[ns]").astype(np.float64))
