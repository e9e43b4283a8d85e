"""Read delimited text strictly: a row that does not fit its header is refused, never shifted.

Most readers mend what they can. They take the first column of a row that is too long for row
names, fill up one that is too short, call a second column of one name by another, and a tree is
trained on the wrong outcome without a word. Here the bytes are gone through once before they
are parsed, and whatever is not one value per name is refused with its line.
"""

from __future__ import annotations

import bz2
import codecs
import csv
import gzip
import io
import lzma
import re
import stat
import warnings
import zipfile
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from steadytree._optional import import_optional
from steadytree.exceptions import InputError

# -- Bring the bytes of a text table into one form: unpacked, UTF-8, ends of lines --
# A table comes from Excel with a byte order mark, from Windows in UTF-16, from an old export in
# Latin-1, or packed. What says of itself how it is written is read; what does not is refused with
# the line, instead of being read as other letters.

PACKED = (".gz", ".zip", ".bz2", ".xz")
MOST_UNPACKED = 100
"""A packed file that unpacks to more than this many times its size is refused ..."""
SMALL_UNPACKED = 256 << 20
"""... unless that is less than this many bytes."""

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def read_text_bytes(path: Path, encoding: str | None) -> bytes:
    """Return the text of a file as UTF-8 whose lines end in a line feed, the last one too."""
    content = _unpacked(path)
    mark, marked = next((m for m in _MARKS if content.startswith(m[0])), (b"", ""))
    if marked == "utf-8" and encoding in (None, "utf-8"):
        content = content[len(mark) :]
    elif marked or encoding not in (None, "utf-8"):
        try:
            text = content.decode(encoding or marked)
        except (UnicodeError, LookupError) as error:
            raise InputError(
                f"expected {encoding or marked} in {path}, got: {error}; name what it was written "
                "in with --encoding"
            ) from None
        content = text.removeprefix("\ufeff").encode("utf-8")
    at = content.find(b"\0")
    if at >= 0:
        raise InputError(
            f"expected text in {path}, got a NUL byte in line {line_at(content, at)}; it may be "
            "UTF-16 (say --encoding utf-16-le) or no text at all"
        )
    if b"\r" in content and b"\n" not in content:  # as old Macintoshes wrote
        content = content.replace(b"\r", b"\n")
    return content if content.endswith(b"\n") or not content else content + b"\n"


def line_at(content: bytes, offset: int) -> int:
    """Return the number of the line, from 1 on, that a byte is in."""
    return content.count(b"\n", 0, offset) + 1


def first_line_of(error: BaseException) -> str:
    """Return the first line of what a library says is wrong."""
    return (str(error).splitlines() or [type(error).__name__])[0]


def _unpacked(path: Path) -> bytes:
    name = path.name.lower()
    kind = next((suffix for suffix in PACKED if name.endswith(suffix)), None)
    if kind is None:
        return path.read_bytes()
    most = max(SMALL_UNPACKED, MOST_UNPACKED * path.stat().st_size)
    try:
        with _opened(path, kind) as file:
            content: bytes = file.read(most + 1)
    except (OSError, zlib.error, zipfile.BadZipFile, lzma.LZMAError, EOFError) as error:
        if isinstance(error, OSError) and error.errno is not None:  # of the disk
            raise
        raise InputError(
            f"expected a file packed as {kind} in {path}, got: {first_line_of(error)}; "
            "write it again, or name it after what it is"
        ) from None
    if len(content) > most:
        raise InputError(
            f"expected a table in {path}, got a file that unpacks to more than {MOST_UNPACKED} "
            "times its size; unpack it first if that is right"
        )
    return content


def _opened(path: Path, kind: str) -> Any:
    if kind == ".zip":
        archive = zipfile.ZipFile(path)
        members = [member for member in archive.namelist() if not member.endswith("/")]
        if len(members) != 1:
            raise InputError(
                f"expected one file inside {path}, got {len(members)}; unpack it and name the table"
            )
        return archive.open(members[0])
    opens: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
    return opens[kind](path, "rb")


# -- Read delimited text strictly: a row that does not fit its header is refused, never shifted --

MISSING = (
    *("", "NA", "N/A", "n/a", "<NA>", "#N/A", "#NA", "NaN", "nan", "-NaN", "-nan", "NULL", "null"),
    *("None", "#N/A N/A", "-1.#IND", "1.#IND", "-1.#QNAN", "1.#QNAN"),
)
"""Texts that stand for a missing value, and nothing else does."""

SHOWN_ROWS = 3
OTHERS = (";", "\t", "|", ",")
SEPARATOR_NAMES = {"\t": "tab"}
CHUNK = 1 << 18
QUOTE, NEWLINE, RETURN, ZERO = b'"\n\r0'
_PANDAS = tuple(int(part) for part in pd.__version__.split(".")[:2])
# pandas parses to the nearest float by itself since 3.1, and warns of the wish.
_NEAREST: dict[str, Any] = {"float_precision": "round_trip"} if _PANDAS < (3, 1) else {}
# Quicker in parts since pandas 3, unless a column is numbers in one and texts in another.
_IN_PARTS = (True, False) if _PANDAS >= (3, 0) else (False,)
WHOLE = re.compile(r"[+-]?\d{1,400}")
"""A whole number; longer ones than any float are text, which Python would not convert either."""
_FRACTION = re.compile(r"[+-]?(\d*\.\d+|\d+\.\d*)([eE][+-]?\d+)?|-\d+")


@dataclass(frozen=True)
class TableReading:
    """How the user wants tables read; text by default as its name and its bytes tell.

    ``types`` says what columns are; ``drop_missing_target`` leaves rows without an outcome out.
    """

    separator: str | None = None
    decimal: str = "."
    thousands: str | None = None
    encoding: str | None = None
    types: Mapping[str, str] = field(default_factory=dict)
    drop_missing_target: bool = False


@dataclass(frozen=True, eq=False)
class TableFile:
    """A table as it was read, with where its rows are.

    Attributes
    ----------
    frame : pandas.DataFrame
        The values as pandas types them; numbers that may be written with leading zeros are text.
    content : bytes
        Of a text table: UTF-8, header and all; nothing of Parquet.
    starts : int array
        Where each row begins in ``content``; blank lines are no rows.
    """

    path: Path
    frame: pd.DataFrame
    reading: TableReading
    content: bytes = b""
    starts: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    @property
    def is_text(self) -> bool:
        """Whether the values were written as text, and not stored with their types."""
        return bool(self.content)

    def lines(self, rows: Sequence[int]) -> list[int]:
        """Return the lines of a text table, from 1 on, that some rows begin in."""
        return [line_at(self.content, int(self.starts[row])) for row in rows]

    def places(self, rows: Sequence[int]) -> str:
        """Say where some rows are: "lines 3, 9, 12 and 4 more"."""
        shown = rows[:SHOWN_ROWS]
        found = self.lines(shown) if self.is_text else [row + 1 for row in shown]
        unit = ("line" if self.is_text else "row") + ("s" if len(rows) > 1 else "")
        more = f" and {len(rows) - len(shown):,} more" if len(rows) > len(shown) else ""
        return f"{unit} {', '.join(map(str, found))}{more}"


def parse_delimited(path: Path, content: bytes, reading: TableReading, separator: str) -> TableFile:
    """Check that every row has one value per name of the header, and read the values."""
    rows = _Rows(path, content, separator)
    first, body = rows.header()
    names = _header_names(path, first, separator)
    starts, zeros = rows.check(body, len(names))
    if not len(starts):
        raise InputError(f"expected a table with rows and columns, got none in {path}")
    frame = rows.parse(body, len(names), zeros, reading.decimal)
    if len(frame) != len(starts):
        raise InputError(
            f"expected {len(starts):,} rows in {path}, got {len(frame):,} from the "
            "parser; look for lines that hold nothing but spaces or separators"
        )
    for position, name in enumerate(names):
        if not name.strip():
            _check_nameless(path, position, frame.pop(str(position)))
    frame.columns = pd.Index([name for name in names if name.strip()])
    return TableFile(path, frame, reading, content, starts)


def _check_nameless(path: Path, position: int, values: pd.Series[Any]) -> None:
    """Leave out a column without a name that is empty or counts the rows; refuse others."""
    counts = position == 0 and values.dtype.kind == "i" and bool((values.diff()[1:] == 1).all())
    if not counts and values.notna().any():
        shown = values[values.notna()].iloc[0]
        raise InputError(
            f"expected a name for every column in the header of {path}, got none for column "
            f"{position + 1}, which holds {shown!r}; name it, or take it away"
        )


# -- rows ----------------------------------------------------------------------------------


class _Rows:
    """The bytes of a table, divided into rows: line feeds outside quotes."""

    def __init__(self, path: Path, content: bytes, separator: str) -> None:
        self.path, self.content = path, content
        self.bytes = np.frombuffer(content, dtype=np.uint8)
        self.separator = ord(separator)
        self.quoted = b'"' in content
        self.returns = b"\r" in content and content.count(b"\r") > content.count(b"\r\n")

    def end_of_row(self, begin: int, least: int) -> int:
        """Return where the row of the byte at ``least`` ends, which a row at ``begin`` precedes."""
        end, searched, is_open = least, begin, False
        while end == least or is_open:
            end = self.content.find(b"\n", end) + 1
            if not end:
                return len(self.content)  # of a quote that is never closed
            is_open ^= self.content.count(b'"', searched, end) % 2 == 1
            searched = end
        return end

    def header(self) -> tuple[str, int]:
        """Return the first line that is not blank, and where the next row begins."""
        begin = 0
        while begin < len(self.content):
            end = self.end_of_row(begin, begin)
            record = self.content[begin:end]
            if record.count(b'"') % 2:
                raise self._unclosed(begin)
            if record.strip():
                try:
                    return record.decode("utf-8"), end
                except UnicodeDecodeError:
                    raise InputError(
                        f"expected UTF-8 in the header of {self.path}, got something else; say "
                        "what it was written in, for example --encoding latin-1"
                    ) from None
            begin = end
        raise InputError(f"expected a table with rows, got an empty file: {self.path}")

    def check(self, body: int, width: int) -> tuple[NDArray[np.int64], set[int]]:
        """Return where the rows begin, and columns with a value such as 007; refuse the rest."""
        starts = [np.zeros(0, dtype=np.int64)]
        zeros: set[int] = set()
        low = body
        while low < len(self.content):
            high = self.end_of_row(low, min(low + CHUNK, len(self.content) - 1))
            part = self.bytes[low:high]
            at = self._marks(low, part)
            ends = np.flatnonzero(part[at] == NEWLINE)
            begins = low + np.append(0, at[ends] + 1)
            counts = np.diff(ends, prepend=-1)
            starts.append(begins[:-1][self._kept(begins, counts, width)])
            zeros |= self._zero_columns(low, part, at, ends)
            low = high
        return np.concatenate(starts), zeros

    def _marks(self, low: int, part: NDArray[np.uint8]) -> NDArray[np.intp]:
        """Return where separators and line feeds are, outside quotes; refuse lone returns."""
        marks = (part == self.separator) | (part == NEWLINE)
        outside = np.ones(len(part), dtype=bool)
        if self.quoted:
            quotes = part == QUOTE
            self._check_quotes(low, np.flatnonzero(quotes))
            outside = np.cumsum(quotes, dtype=np.uint8) & 1 == 0  # however often it overflows
            marks &= outside
            if not outside[-1]:
                ends = np.flatnonzero(marks & (part == NEWLINE))
                raise self._unclosed(low + int(ends[-1] + 1 if len(ends) else 0))
        if self.returns:
            lone = np.flatnonzero((part[:-1] == RETURN) & outside[:-1] & (part[1:] != NEWLINE))
            if len(lone):
                line = line_at(self.content, low + int(lone[0]))
                raise InputError(
                    f"expected lines that end alike in {self.path}, got a carriage return inside "
                    f"line {line}; put the value in quotes, or write the file again"
                )
        return np.flatnonzero(marks)

    def _kept(
        self, begins: NDArray[np.int64], counts: NDArray[np.intp], width: int
    ) -> NDArray[np.bool_]:
        """Which rows are not blank lines; a row of another width is refused."""
        kept = np.ones(len(counts), dtype=bool)
        for row in np.flatnonzero((counts != width) | (np.diff(begins) <= 2)).tolist():
            record = self.content[begins[row] : begins[row + 1]]
            if not record.strip(b" \r\n") and counts[row] == 1:
                kept[row] = False
            elif counts[row] != width:
                raise self._ragged(int(begins[row]), record, int(counts[row]), width)
        return kept

    def _zero_columns(
        self, low: int, part: NDArray[np.uint8], at: NDArray[np.intp], ends: NDArray[np.intp]
    ) -> set[int]:
        """Columns in which a value begins with a zero and another digit."""
        before = self.bytes[low - 1 : low + len(part) - 2]
        zero = (before == self.separator) | (before == NEWLINE)
        if self.quoted:
            zero |= before == QUOTE
        zero &= part[:-1] == ZERO
        zero &= part[1:] - ZERO < 10  # unsigned: what is below "0" is far above
        mark = np.searchsorted(at, np.flatnonzero(zero))
        row = np.searchsorted(ends, mark)
        first = np.append(0, ends + 1)[row]
        return set(np.unique(mark - first).tolist())

    def _check_quotes(self, low: int, at: NDArray[np.intp]) -> None:
        """Refuse a quote that is neither at an end of a value nor doubled."""
        where = low + at
        opens = np.arange(len(at)) % 2 == 0
        # The file ends in a line feed, and a header stands before: both neighbours exist.
        beside = self.bytes[np.where(opens, where - 1, where + 1)]
        fine = (beside == self.separator) | (beside == NEWLINE) | (beside == QUOTE)
        fine |= ~opens & (beside == RETURN)
        if fine.all():
            return
        bad = int(where[~fine][0])
        begin = self.content.rfind(b"\n", 0, bad) + 1
        shown = self.content[max(begin, bad - 20) : bad + 20].decode("utf-8", "replace")
        raise InputError(
            f"expected quotes around whole values in {self.path}, got one inside a value in line "
            f"{line_at(self.content, bad)}, near {shown.splitlines()[0]!r}; put the value in "
            "quotes and double those inside"
        )

    def parse(self, body: int, width: int, zeros: set[int], decimal: str) -> pd.DataFrame:
        """Return the columns by position, as pandas types them; those of ``zeros`` as text."""
        options: dict[str, Any] = {
            "sep": chr(self.separator),
            "decimal": decimal,
            "header": None,
            "names": list(map(str, range(width))),
            "dtype": dict.fromkeys(map(str, zeros), str),
            "index_col": False,
            "na_values": list(MISSING),
            "keep_default_na": False,
            **_NEAREST,
        }
        rows = io.BytesIO(self.content)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", pd.errors.DtypeWarning)
                for in_parts in _IN_PARTS:
                    rows.seek(body)
                    frame: pd.DataFrame = pd.read_csv(rows, low_memory=in_parts, **options)
                    if not any(isinstance(d, np.dtype) and d.kind == "O" for d in frame.dtypes):
                        break
        except UnicodeDecodeError:
            self._refuse_encoding()
            raise
        except (ValueError, pd.errors.ParserError) as error:
            raise InputError(
                f"expected rows of values in {self.path}, got a file that cannot be read: "
                f"{first_line_of(error)}; write it again"
            ) from None
        return frame

    def _refuse_encoding(self) -> None:
        try:
            self.content.decode("utf-8")
        except UnicodeDecodeError as error:
            line, byte = line_at(self.content, error.start), self.content[error.start]
            raise InputError(
                f"expected UTF-8 in {self.path}, got the byte 0x{byte:02x} in line {line}; say "
                "what it was written in, for example --encoding latin-1 or cp1252, or save it as "
                "UTF-8"
            ) from None

    def _ragged(self, begin: int, record: bytes, count: int, width: int) -> InputError:
        line = line_at(self.content, begin)
        text = record.decode("utf-8", "replace").rstrip("\r\n")
        hint = "see whether a value holds the separator without quotes around it"
        other = _seems_separated(self.content[:begin].decode("utf-8", "replace"), width)
        if other:
            hint = other
        elif count == width + 1 and text.endswith(chr(self.separator)):
            hint = "the row ends in a separator that the header lacks: take it away"
        elif count == width + 1:
            hint += ", or whether the header lacks the name of the first column (row names)"
        return InputError(
            f"expected {width} values in every row of {self.path}, as its header has names, got "
            f"{count} in line {line}; {hint}"
        )

    def _unclosed(self, begin: int) -> InputError:
        return InputError(
            f"expected every quote to be closed in {self.path}, got one that is not in the row "
            f"that begins in line {line_at(self.content, begin)}; close it, or take it away"
        )


# -- the header ------------------------------------------------------------------------------


def _header_names(path: Path, line: str, separator: str) -> tuple[str, ...]:
    """Read the names of the columns, and refuse what cannot be one."""
    try:
        names = tuple(next(csv.reader(io.StringIO(line), delimiter=separator, strict=True)))
    except csv.Error as error:
        raise InputError(
            f"expected names in the first line of {path}, got: {error}; mend its quotes"
        ) from None
    hint = _seems_separated(line, len(names))
    if hint:
        raise InputError(f"expected columns in {path}, got one called {names[0]!r}; {hint}")
    for spelling in (str, str.strip):
        times = Counter(map(spelling, names))
        twice = [name for name in times if times[name] > 1 and name]
        if twice:
            different = "" if spelling is str else " but for spaces"
            raise InputError(
                f"expected distinct names in the header of {path}, got {_some(twice)} more than "
                f"once{different}; rename one of the columns"
            )
    data = [name for name in names if _FRACTION.fullmatch(name.strip())]
    whole = [int(name) for name in map(str.strip, names) if WHOLE.fullmatch(name)]
    if data or (len(whole) * 2 > len(names) and whole != sorted(set(whole))):
        raise InputError(
            f"expected the names of the columns in the first line of {path}, got "
            f"{_some(names)}, which look like a row of data; write a line of names above it"
        )
    return names


def _seems_separated(header: str, width: int) -> str:
    """Say that another separator was meant, where the header is one name only."""
    line = header.strip("\r\n").split("\n")[0]
    found = {other: line.count(other) for other in OTHERS}
    best = max(OTHERS, key=lambda other: found[other])
    if width > 1 or not found[best]:
        return ""
    named = SEPARATOR_NAMES.get(best, best)
    return f"the file seems to be separated by {named!r}: say --separator {named!r}"


def _some(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names[:4])) + (", ..." if len(names) > 4 else "")


# -- Open a table by its name, CSV or Parquet, and remember where each row of it stands --
# Whoever is told that a value is odd wants to look at it: so a table knows the line of every row
# (of a Parquet file: its number), and how a value was written before it became a number.

PARQUET = (".parquet", ".pq")
COMMAS = (".csv",)
TABS = (".tsv", ".txt", ".tab")


def read_table(path: Path, reading: TableReading | None = None) -> TableFile:
    """Read a CSV or Parquet file, by its name."""
    reading = reading or TableReading()
    name = path.name.lower()
    packed = next((suffix for suffix in PACKED if name.endswith(suffix)), "")
    name = name.removesuffix(packed)
    if not name.endswith((*COMMAS, *TABS)) and (packed or not name.endswith(PARQUET)):
        raise InputError(
            f"expected a CSV or Parquet file, got {path}; name it .csv, .csv.gz, .tsv or .parquet"
        )
    try:
        mode = path.stat().st_mode
        if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):  # it may never end
            raise InputError(f"expected a file as a table, got a device or a pipe: {path}; copy it")
        if name.endswith(PARQUET):
            return _read_parquet(path, reading)
        content = read_text_bytes(path, reading.encoding)
    except OSError as error:
        why = error.strerror or first_line_of(error)
        raise InputError(
            f"expected a readable table, got {why}: {path}; check the name and the rights"
        ) from error
    separator = reading.separator or ("\t" if name.endswith(TABS) else ",")
    return parse_delimited(path, content, reading, separator)


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
            f"expected Parquet in {path}, got: {first_line_of(error)}; write it again"
        ) from None
    if table.empty:
        raise InputError(f"expected a table with rows and columns, got none in {path}")
    table.columns = [str(name) for name in table.columns]
    twice = sorted(set(table.columns[table.columns.duplicated()]))
    if twice:
        raise InputError(
            f"expected distinct names of columns in {path}, got {_some(twice)} more than once; "
            "rename one of the columns"
        )
    return TableFile(path, table, reading)
