"""Settle what each column of a user's table is: a number, a category, or not to be read.

One cell "n/a?" must not make 400 ages 60 categories, nor postcodes numbers. What is clear is
taken as it is; what is not is refused with the values and their lines, and ``--types`` settles
it. Where a tree is given its own space has settled it already.
"""

from __future__ import annotations

import math
import re
import shlex
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from steadytree._text import quoted, some_of
from steadytree.cli.delimited import MISSING, WHOLE, TableFile
from steadytree.exceptions import InputError
from steadytree.tree.columns import DATE_TEXT, near_unique

# -- Tell how values are written: numbers, numbers in other clothes, dates, truths --
# A column of text is mostly what it looks like, and sometimes a column of numbers in which one
# cell says "n/a?", or every cell says "12 kg". Which of these it is, is decided here, from each
# different text and the rows that have it.

FEW_AMOUNTS = 10
"""Amounts of one unit are taken for numbers from more different ones than this on: "1st", "2nd"
and "3 rooms" are categories."""

_INFINITE = r"[+-]?inf(inity)?"
_THOUSANDS = re.compile(r"[+-]?\d{1,3}(?:([,.'’_ \u00a0\u202f])\d{3})(?:\1\d{3})*(?:[.,]\d+)?")
_AMOUNT = re.compile(
    r"([<>≤≥~$€£¥]?)\s*[+-]?\d+(?:[.,]\d+)*\s*(%|‰|°?[^\W\d_][\w/°²³µ]{0,9}|[$€£¥]|)"
)
_PADDED = re.compile(r"0\d+")
_DECIMAL = {mark: re.compile(rf"[+-]?\d+{re.escape(mark)}\d+") for mark in ".,"}


def _number_pattern(decimal: str) -> re.Pattern[str]:
    point = re.escape(decimal)
    return re.compile(
        rf"[+-]?(\d+({point}\d*)?|{point}\d+)([eE][+-]?\d+)?|{_INFINITE}", re.IGNORECASE | re.ASCII
    )


@dataclass(frozen=True, eq=False)
class WrittenColumn:
    """The different texts of a column, and the rows that have each.

    Attributes
    ----------
    values : pandas.Series
        The column as it was read.
    codes : int array
        Which of ``texts`` each row has; -1 where it is missing.
    texts : tuple of str
    counts : int array
        Rows of each text.
    """

    values: pd.Series[Any]
    codes: NDArray[np.intp]
    texts: tuple[str, ...]
    counts: NDArray[np.intp]
    decimal: str

    @classmethod
    def of(cls, values: pd.Series[Any], decimal: str, thousands: str | None) -> WrittenColumn:
        """Read a column of text; cells of spaces are missing, separators of thousands go."""
        codes, found = pd.factorize(values)
        texts = [str(text) for text in found]
        missing = np.array([text.strip() in MISSING for text in texts] + [True], dtype=bool)
        codes = np.where(missing[codes], -1, codes)
        if thousands is not None:
            texts = [_without_thousands(text, thousands) for text in texts]
        counts = np.bincount(codes[codes >= 0], minlength=len(texts))
        return cls(values, codes, tuple(texts), counts, decimal)

    @cached_property
    def n_present(self) -> int:
        """Count the rows that have a value."""
        return int(self.counts.sum())

    def named(self, which: NDArray[np.bool_] | bool = True) -> list[str]:
        """Return those of some texts that some row has."""
        return [self.texts[i] for i in np.flatnonzero(which & (self.counts > 0))]

    def matching(self, pattern: re.Pattern[str]) -> NDArray[np.bool_]:
        """Which texts are of a form."""
        found = [pattern.fullmatch(text.strip()) is not None for text in self.texts]
        return np.array(found, dtype=bool) & (self.counts > 0)

    def mostly(self, which: NDArray[np.bool_]) -> bool:
        """Whether some texts are those of half of the rows or more."""
        return bool(which.any()) and 2 * int(self.counts[which].sum()) >= self.n_present

    def rows(self, text: str) -> list[int]:
        """Return the rows of a text, in order."""
        return np.flatnonzero(self.codes == self.texts.index(text)).tolist()

    @cached_property
    def numbers(self) -> NDArray[np.bool_]:
        """Which texts are plain numbers."""
        return self.matching(_number_pattern(self.decimal))

    @cached_property
    def in_thousands(self) -> NDArray[np.bool_]:
        """Which texts are numbers with separators of thousands."""
        return self.matching(_THOUSANDS)

    @cached_property
    def other_decimals(self) -> NDArray[np.bool_]:
        """Which texts are numbers with the other decimal sign."""
        return self.matching(_DECIMAL["," if self.decimal == "." else "."])

    @property
    def amounts(self) -> NDArray[np.bool_]:
        """Which texts are numbers with the one unit or sign that most have, if many differ."""
        units: list[tuple[str, ...] | None] = []
        for text, count in zip(self.texts, self.counts, strict=True):
            match = _AMOUNT.fullmatch(text.strip()) if count else None
            units.append(match.groups() if match and any(match.groups()) else None)
        common = Counter(unit for unit in units if unit is not None).most_common(1)
        if not common or common[0][1] <= FEW_AMOUNTS:
            return np.zeros(len(self.texts), dtype=bool)
        return np.array([unit == common[0][0] for unit in units], dtype=bool)

    def separator_of_thousands(self) -> str:
        """Return what most numbers in thousands are separated by."""
        found = [_THOUSANDS.fullmatch(text.strip()) for text in self.named()]
        signs: Counter[str] = Counter(match.group(1) for match in found if match)
        return signs.most_common(1)[0][0] if signs else ""

    def as_numbers(self, name: str) -> pd.Series[Any]:
        """Return the plain numbers; missing where a text is none."""
        values = [
            float(text.strip().replace(self.decimal, ".")) if fits else np.nan
            for text, fits in zip(self.texts, self.numbers, strict=True)
        ]
        return pd.Series(np.array([*values, np.nan])[self.codes], name=name)

    def as_values(self) -> pd.Series[Any]:
        """Return the column with None where it is missing."""
        missing = self.codes < 0
        return self.values.mask(missing, None) if missing.any() else self.values


def _without_thousands(text: str, sign: str) -> str:
    match = _THOUSANDS.fullmatch(text.strip())
    return text.replace(sign, "") if match and match.group(1) == sign else text


# -- values that are the same, otherwise written -------------------------------------------------


def plain_text(value: Any) -> str:
    """Write a value so that 1, 1.0, "1" and "1.0" are alike, and True and "TRUE"; not "01"."""
    if isinstance(value, (bool, np.bool_)):
        return str(bool(value)).lower()
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    if isinstance(value, (float, np.floating)):
        number = float(value)
        whole = number.is_integer() and abs(number) < 2**53
        return str(int(number)) if whole else repr(number)
    text = str(value)
    bare = text.strip()
    if bare.lower() in ("true", "false"):
        return bare.lower()
    if _PADDED.fullmatch(bare) or not _number_pattern(".").fullmatch(bare):
        return text
    if WHOLE.fullmatch(bare):
        return str(int(bare))
    return plain_text(float(bare)) if math.isfinite(float(bare)) else text


def as_known(values: Sequence[Any], known: Sequence[Any]) -> list[Any]:
    """Return values as the known ones that they are, whatever type either has.

    A value that is none of them takes their type: text beside texts, a number beside numbers.
    """
    exact = {(type(value), value) for value in known}
    alike = {plain_text(value): value for value in reversed(known)}
    textual = all(isinstance(value, str) for value in known)
    numeric = not any(isinstance(value, (str, bool)) for value in known)
    out = []
    for value in values:
        plain = value.item() if isinstance(value, np.generic) else value
        text = plain_text(plain)
        if (type(plain), plain) in exact:
            out.append(plain)
        elif text in alike:
            out.append(alike[text])
        elif textual:
            out.append(plain if isinstance(plain, str) else text)
        elif numeric and _number_pattern(".").fullmatch(text):
            out.append(int(text) if WHOLE.fullmatch(text) else float(text))
        else:
            out.append(plain)
    return out


# -- Settle what each column of a user's table is: a number, a category, or not to be read --

NUMBER, CATEGORY, IGNORE = "number", "category", "ignore"
EXACT_WHOLE = 2**53
"""Whole numbers beyond this are not told apart as numbers."""
LARGEST = float(np.finfo(np.float32).max)
"""Learners compare numbers in single precision."""
SHOWN_TEXTS = 3
ROWS_OF_IDENTIFIERS = 20


UNKNOWN: Any = object()
"""Nobody has settled yet what a column is."""


@dataclass(frozen=True, eq=False)
class SettledColumn:
    """A column of one type: its values, and what is to be said of it."""

    values: pd.Series[Any]
    type: str
    note: str = ""

    def take(self, rows: Any) -> SettledColumn:
        """Return some of the rows."""
        return SettledColumn(self.values[rows].reset_index(drop=True), self.type, self.note)


def types_fix(name: str, kind: str) -> str:
    """Write the option that settles a column, as it is typed."""
    return f"--types {shlex.quote(f'{name}={kind}')}"


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
    values = table.frame[name]
    if known is not UNKNOWN and asked not in (None, CATEGORY if known is not None else NUMBER):
        what = "a number" if known is None else "a category"
        raise InputError(
            f"expected --types to leave {name!r} what it is to the tree, {what}, got "
            f"{asked}; a new tree could take it so"
        )
    if isinstance(known, tuple):
        return _as_category(table, name, values, known, outcome=outcome)
    if asked == CATEGORY:
        texts = _texts_of(values, name)
        return SettledColumn(texts if outcome else texts.astype("category"), CATEGORY)
    if _is_truth(values):
        if known is None or asked == NUMBER:
            return SettledColumn(values.astype(np.float64), NUMBER)
        return SettledColumn(values, CATEGORY)
    if pd.api.types.is_numeric_dtype(values) or _whole_objects(values):
        settled = asked is not None or known is None
        return _as_number(table, name, values, settled=settled, outcome=outcome)
    if not _is_text(values):
        return SettledColumn(values, CATEGORY)  # the core knows dates, lists and the like
    written = WrittenColumn.of(values, table.form.decimal, table.form.thousands)
    if outcome and known is None and not written.numbers.any():
        return SettledColumn(values, CATEGORY)  # another task: whoever holds the tree says so
    if known is None or asked == NUMBER:
        return _text_as_number(table, name, written, settled=asked == NUMBER)
    return _text(table, name, written, outcome)


# -- columns of numbers ------------------------------------------------------------------------


def _as_number(
    table: TableFile, name: str, values: pd.Series[Any], *, settled: bool, outcome: bool
) -> SettledColumn:
    """Check the numbers of a column; ``settled``: that it is one is not in question."""
    whole = values.dtype.kind in "iuO"
    if whole and not settled and max(abs(values.max()), abs(values.min())) > EXACT_WHOLE:
        row = int(np.flatnonzero(np.abs(values.to_numpy(dtype=object)) > EXACT_WHOLE)[0])
        raise InputError(
            f"expected whole numbers up to 2**53 in column {name!r} of {table.path}, got "
            f"{quoted(int(values.iloc[row]))} ({table.places([row])}), as in an identifier; leave "
            f"it out with {types_fix(name, IGNORE)}, or settle it with "
            f"{types_fix(name, CATEGORY)} or {types_fix(name, NUMBER)}"
        )
    numbers = values.to_numpy(dtype=np.float64, na_value=np.nan)
    low, high = _check_range(table, name, numbers, settled=settled and not outcome)
    if values.dtype.kind == "O":
        values = pd.Series(numbers, name=name)
    note = ""
    many = len(values) >= ROWS_OF_IDENTIFIERS
    if whole and many and values[:1000].is_unique and values.is_unique:
        note = "another whole number in every row: an identifier?"
    if not low < high:
        note = "no value" if np.isnan(low) else "one value only"
    return SettledColumn(values, NUMBER, note)


def _check_range(
    table: TableFile, name: str, numbers: Any, *, settled: bool
) -> tuple[float, float]:
    """Return the lowest and the highest number, nan where there is none; refuse infinities."""
    low, high = float(np.fmin.reduce(numbers)), float(np.fmax.reduce(numbers))
    most = max(-low, high)
    if np.isinf(most) or (most > LARGEST and not settled):
        rows = np.flatnonzero(np.abs(numbers) >= min(most, LARGEST)).tolist()
        limit = "finite numbers" if np.isinf(most) else f"numbers up to {LARGEST:.1e}"
        raise InputError(
            f"expected {limit} in column {name!r} of {table.path}, got {numbers[rows[0]]:g} "
            f"({table.places(rows)}); replace it with a number, or leave the cell empty"
        )
    return low, high


def _text_as_number(
    table: TableFile, name: str, written: WrittenColumn, *, settled: bool
) -> SettledColumn:
    """Read texts as numbers: odd ones are refused, or missing where the user settled it."""
    plain = written.numbers
    odd = written.named(~plain)
    if odd and not settled:
        raise InputError(
            f"expected numbers in column {name!r} of {table.path}, as the tree knows it, "
            f"got {_odd_texts(table, written, odd)}; {_form_fix(written)}correct "
            f"them, or say {types_fix(name, NUMBER)}: they become missing"
        )
    if odd and not plain.any():
        raise InputError(
            f"expected numbers in column {name!r} of {table.path}, got none, but texts such as "
            f"{quoted(odd[0])} ({table.places(written.rows(odd[0]))}); {_form_fix(written)}"
            f"leave it out of --types, or say {types_fix(name, CATEGORY)}"
        )
    numbers = written.as_numbers(name)
    _check_range(table, name, numbers.to_numpy(), settled=settled)
    note = f"missing where it says {some_of(odd, SHOWN_TEXTS)}" if odd else ""
    return SettledColumn(numbers, NUMBER, note)


# -- columns of text ---------------------------------------------------------------------------


def _text(table: TableFile, name: str, written: WrittenColumn, outcome: bool) -> SettledColumn:
    """Take texts for categories, unless they are something else."""
    numbers = written.numbers
    if written.n_present and int(written.counts[numbers].sum()) == written.n_present:
        if not table.is_text:
            return SettledColumn(written.as_values(), CATEGORY, "numbers stored as text")
        if written.matching(_PADDED).any():
            return SettledColumn(written.as_values(), CATEGORY, "written with leading zeros")
        return _text_as_number(table, name, written, settled=False)
    _refuse_odd_numbers(table, name, written, numbers)
    dates = written.matching(DATE_TEXT)
    if written.mostly(dates):
        shown = written.named(dates)[0]
        raise InputError(
            f"expected numbers or categories in column {name!r} of {table.path}, got dates such as "
            f"{quoted(shown)} ({table.places(written.rows(shown))}); write days since a reference, "
            f"leave it out with {types_fix(name, IGNORE)}, or name it as --time"
        )
    present = written.named()
    if not outcome and near_unique(len(present), written.n_present):
        raise InputError(
            f"expected categories that rows share in column {name!r} of {table.path}, got "
            f"{len(present):,} different ones in {written.n_present:,} rows, as in names, "
            f"identifiers or free text; leave it out with --drop {shlex.quote(name)}, or insist "
            f"with {types_fix(name, CATEGORY)}"
        )
    return SettledColumn(written.as_values(), CATEGORY, _spellings(present))


def _refuse_odd_numbers(
    table: TableFile, name: str, written: WrittenColumn, numbers: NDArray[np.bool_]
) -> None:
    """Refuse numbers but for a few, with separators of thousands, other decimals or a unit."""
    separated = (written.in_thousands | written.other_decimals) & ~numbers  # 0.126 is a number
    as_category = types_fix(name, CATEGORY)
    if separated.any() and written.mostly(numbers | separated):
        shown = _odd_texts(table, written, written.named(separated))
        problem = f"written as {shown}; {_form_fix(written)}or settle it with {as_category}"
    elif written.mostly(numbers):
        shown = _odd_texts(table, written, written.named(~numbers))
        problem = (
            f"but for {shown}; correct them, or settle it with {types_fix(name, NUMBER)} (they "
            f"become missing) or {as_category}"
        )
    elif written.mostly(written.amounts):
        shown = _odd_texts(table, written, written.named(written.amounts))
        problem = (
            f"with a sign or a unit, {shown}; write the numbers alone, or settle it with "
            f"{as_category}"
        )
    else:
        return
    raise InputError(
        f"expected numbers or categories in column {name!r} of {table.path}, got numbers {problem}"
    )


def _form_fix(written: WrittenColumn) -> str:
    """Say which option reads the numbers as they are written, if one does."""
    options = []
    sign = written.separator_of_thousands()
    if written.in_thousands.any() and sign not in ("", written.decimal):
        options.append(f"--thousands {shlex.quote(sign)} for thousands")
    if written.other_decimals.any():
        other = "," if written.decimal == "." else "."
        options.append(f"--decimal {shlex.quote(other)} for decimals")
    return f"say {' or '.join(options)}, " if options else ""


def _odd_texts(table: TableFile, written: WrittenColumn, odd: Sequence[str]) -> str:
    """Name some texts with their lines."""
    shown = [f"{quoted(text)} ({table.places(written.rows(text))})" for text in odd[:SHOWN_TEXTS]]
    more = len(odd) - len(shown)
    return ", ".join(shown) + (f" and {more:,} other values" if more else "")


def _spellings(texts: Sequence[str]) -> str:
    """Note categories that differ by spaces or capitals only."""
    alike: defaultdict[str, list[str]] = defaultdict(list)
    for text in texts:
        alike[" ".join(text.split()).casefold()].append(text)
    found = next((group for group in alike.values() if len(group) > 1), None)
    return f"{some_of(found, SHOWN_TEXTS)} differ by spaces or capitals only" if found else ""


def _as_category(
    table: TableFile,
    name: str,
    values: pd.Series[Any],
    known: tuple[Any, ...],
    *,
    outcome: bool,
) -> SettledColumn:
    """Read a column as the categories that a tree knows, whatever type either has."""
    numeric = pd.api.types.is_numeric_dtype(values) and not pd.api.types.is_bool_dtype(values)
    if isinstance(values.dtype, pd.CategoricalDtype):
        values = values.astype(object)
    codes, found = pd.factorize(values)
    plain = [v.item() if isinstance(v, np.generic) else v for v in found]
    if not all(isinstance(v, (str, bool, int, float)) for v in plain):
        return SettledColumn(values, CATEGORY)  # the core knows dates, lists and the like
    translated = as_known([v.strip() if _spaced(v, known) else v for v in plain], known)
    if numeric and plain and not outcome and not set(translated) & set(known):
        raise InputError(
            f"expected categories such as {some_of(known, SHOWN_TEXTS)} in column {name!r} of "
            f"{table.path}, as the tree knows them, got numbers such as {plain[0]!r}; write the "
            "categories, or train a new tree"
        )
    wanted = [None if isinstance(v, str) and not v.strip() else v for v in translated]
    if all(type(a) is type(b) and a == b for a, b in zip(plain, wanted, strict=True)):
        return SettledColumn(values, CATEGORY)  # a million objects less
    held = np.empty(len(plain) + 1, dtype=object)
    held[:-1], held[-1] = wanted, None
    return SettledColumn(pd.Series(held[codes], name=name, dtype=object), CATEGORY)


def _spaced(value: Any, known: tuple[Any, ...]) -> bool:
    """Whether a text is a known category but for spaces around it."""
    return isinstance(value, str) and value not in known and value.strip() in known


def _texts_of(values: pd.Series[Any], name: str) -> pd.Series[Any]:
    """Return a column as text: numbers alike whatever decimals they have, 007 as it is."""
    if isinstance(values.dtype, pd.CategoricalDtype):
        values = values.astype(object)
    codes, found = pd.factorize(values)
    texts = [str(v) if isinstance(v, (str, bool, np.bool_)) else plain_text(v) for v in found]
    held = np.array([*(t if t.strip() else None for t in texts), None], dtype=object)
    return pd.Series(held[codes], name=name, dtype=object)


# -- what a column holds -------------------------------------------------------------------------


def _is_truth(values: pd.Series[Any]) -> bool:
    if values.dtype.kind == "O":
        return pd.api.types.infer_dtype(values, skipna=True) == "boolean"
    return pd.api.types.is_bool_dtype(values)


def _whole_objects(values: pd.Series[Any]) -> bool:
    """Whether a column holds whole numbers that no numeric type does."""
    return values.dtype.kind == "O" and pd.api.types.infer_dtype(values, skipna=True) == "integer"


def _is_text(values: pd.Series[Any]) -> bool:
    if isinstance(values.dtype, pd.CategoricalDtype):
        return False  # declared: as it is
    return pd.api.types.infer_dtype(values, skipna=True) in ("string", "empty")
