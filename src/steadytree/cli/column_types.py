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

from steadytree._text import plain_spelling, quoted, some_of
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

    def refusal(self, expected: str, got: str, fix: str, *, why: str = "") -> InputError:
        """Return what is wrong with the column, as an error."""
        where = f"column {self.name!r} of {self.table.path}"
        return InputError(f"expected {expected} in {where}{why}, got {got}; {fix}")

    def fix(self, kind: str) -> str:
        """Write the option that settles the column."""
        return types_fix(self.name, kind)

    def settle(self) -> SettledColumn:
        """Tell what the column is from what is known, what was asked for and what it holds."""
        values, asked, known = self.values, self.asked, self.known
        if known is not UNKNOWN and asked not in (None, CATEGORY if known is not None else NUMBER):
            what = "a number" if known is None else "a category"
            raise InputError(
                f"expected --types to leave {self.name!r} what it is to the tree, {what}, got "
                f"{asked}; a new tree could take it so"
            )
        if isinstance(known, tuple):
            return self.known_category()
        if asked == CATEGORY:
            texts = _texts_of(values, self.name)
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
        written = WrittenColumn.of(values, self.table.reading.decimal, self.table.reading.thousands)
        if self.outcome and known is None and not written.numbers.any():
            return SettledColumn(values, CATEGORY)  # another task: whoever holds the tree says so
        if known is None or asked == NUMBER:
            return self.number_of_text(written)
        return self.text(written)

    # -- numbers ---------------------------------------------------------------------------------

    def number(self) -> SettledColumn:
        """Check the numbers of a column."""
        values, name = self.values, self.name
        settled = self.asked is not None or self.known is None
        whole = values.dtype.kind in "iuO"
        if whole and not settled and max(abs(values.max()), abs(values.min())) > EXACT_WHOLE:
            row = int(np.flatnonzero(np.abs(values.to_numpy(dtype=object)) > EXACT_WHOLE)[0])
            raise self.refusal(
                "whole numbers up to 2**53",
                f"{quoted(int(values.iloc[row]))} ({self.table.places([row])}), as in an "
                "identifier",
                f"leave it out with {self.fix(IGNORE)}, or settle it with {self.fix(CATEGORY)} or "
                f"{self.fix(NUMBER)}",
            )
        numbers = values.to_numpy(dtype=np.float64, na_value=np.nan)
        low, high = self.check_range(numbers, settled=settled and not self.outcome)
        if values.dtype.kind == "O":
            values = pd.Series(numbers, name=name)
        note = ""
        many = len(values) >= ROWS_OF_IDENTIFIERS
        if whole and many and values[:1000].is_unique and values.is_unique:
            note = "another whole number in every row: an identifier?"
        if not low < high:
            note = "no value" if np.isnan(low) else "one value only"
        return SettledColumn(values, NUMBER, note)

    def check_range(self, numbers: NDArray[Any], *, settled: bool) -> tuple[float, float]:
        """Return the lowest and the highest number, nan where there is none; refuse infinities."""
        low, high = float(np.fmin.reduce(numbers)), float(np.fmax.reduce(numbers))
        most = max(-low, high)
        if np.isinf(most) or (most > LARGEST and not settled):
            rows = np.flatnonzero(np.abs(numbers) >= min(most, LARGEST)).tolist()
            raise self.refusal(
                "finite numbers" if np.isinf(most) else f"numbers up to {LARGEST:.1e}",
                f"{numbers[rows[0]]:g} ({self.table.places(rows)})",
                "replace it with a number, or leave the cell empty",
            )
        return low, high

    def number_of_text(self, written: WrittenColumn) -> SettledColumn:
        """Read texts as numbers: odd ones are refused, or missing where the user settled it."""
        settled = self.asked == NUMBER
        odd = written.named(~written.numbers)
        if odd and not settled:
            raise self.refusal(
                "numbers",
                self.odd_texts(written, odd),
                f"{_form_fix(written)}correct them, or say {self.fix(NUMBER)}: they become missing",
                why=", as the tree knows it",
            )
        if odd and not written.numbers.any():
            raise self.refusal(
                "numbers",
                f"none, but texts such as {self.odd_texts(written, odd[:1])}",
                f"{_form_fix(written)}leave it out of --types, or say {self.fix(CATEGORY)}",
            )
        numbers = written.as_numbers(self.name)
        self.check_range(numbers.to_numpy(), settled=settled)
        note = f"missing where it says {some_of(odd, SHOWN_TEXTS)}" if odd else ""
        return SettledColumn(numbers, NUMBER, note)

    # -- text ------------------------------------------------------------------------------------

    def text(self, written: WrittenColumn) -> SettledColumn:
        """Take texts for categories, unless they are something else."""
        if written.n_present and int(written.counts[written.numbers].sum()) == written.n_present:
            if not self.table.is_text:
                return SettledColumn(written.as_values(), CATEGORY, "numbers stored as text")
            if written.matching(_PADDED).any():
                return SettledColumn(written.as_values(), CATEGORY, "written with leading zeros")
            return self.number_of_text(written)
        self.refuse_odd_numbers(written)
        dates = written.matching(DATE_TEXT)
        if written.mostly(dates):
            raise self.refusal(
                "numbers or categories",
                f"dates such as {self.odd_texts(written, written.named(dates)[:1])}",
                f"write days since a reference, leave it out with {self.fix(IGNORE)}, or name it "
                "as --time",
            )
        present = written.named()
        if not self.outcome and near_unique(len(present), written.n_present):
            raise self.refusal(
                "categories that rows share",
                f"{len(present):,} different ones in {written.n_present:,} rows, as in names, "
                "identifiers or free text",
                f"leave it out with --drop {shlex.quote(self.name)}, or insist with "
                f"{self.fix(CATEGORY)}",
            )
        return SettledColumn(written.as_values(), CATEGORY, _spellings(present))

    def refuse_odd_numbers(self, written: WrittenColumn) -> None:
        """Refuse numbers but for a few, with separators of thousands, other decimals or a unit."""
        numbers, amounts = written.numbers, written.amounts
        separated = (written.in_thousands | written.other_decimals) & ~numbers  # not 0.126
        as_category = f"settle it with {self.fix(CATEGORY)}"
        if separated.any() and written.mostly(numbers | separated):
            odd, how = separated, "written as {}"
            fix = f"{_form_fix(written)}or {as_category}"
        elif written.mostly(numbers):
            odd, how = ~numbers, "but for {}"
            fix = f"correct them, or settle it with {self.fix(NUMBER)} (they become missing) or "
            fix += self.fix(CATEGORY)
        elif written.mostly(amounts):
            odd, how = amounts, "with a sign or a unit, {}"
            fix = f"write the numbers alone, or {as_category}"
        else:
            return
        shown = self.odd_texts(written, written.named(odd))
        raise self.refusal("numbers or categories", f"numbers {how.format(shown)}", fix)

    def odd_texts(self, written: WrittenColumn, odd: Sequence[str]) -> str:
        """Name some texts with their lines."""
        shown = odd[:SHOWN_TEXTS]
        named = [f"{quoted(text)} ({self.table.places(written.rows(text))})" for text in shown]
        more = len(odd) - len(shown)
        return ", ".join(named) + (f" and {more:,} other values" if more else "")

    # -- categories ------------------------------------------------------------------------------

    def known_category(self) -> SettledColumn:
        """Read a column as the categories that a tree knows, whatever type either has."""
        values, known = self.values, self.known
        numeric = pd.api.types.is_numeric_dtype(values) and not pd.api.types.is_bool_dtype(values)
        if isinstance(values.dtype, pd.CategoricalDtype):
            values = values.astype(object)
        codes, found = pd.factorize(values)
        plain = [v.item() if isinstance(v, np.generic) else v for v in found]
        if not all(isinstance(v, (str, bool, int, float)) for v in plain):
            return SettledColumn(values, CATEGORY)  # the core knows dates, lists and the like
        translated = as_known([v.strip() if _spaced(v, known) else v for v in plain], known)
        if numeric and plain and not self.outcome and not set(translated) & set(known):
            raise self.refusal(
                f"categories such as {some_of(known, SHOWN_TEXTS)}",
                f"numbers such as {plain[0]!r}",
                "write the categories, or train a new tree",
                why=", as the tree knows them",
            )
        wanted = [None if isinstance(v, str) and not v.strip() else v for v in translated]
        if all(type(a) is type(b) and a == b for a, b in zip(plain, wanted, strict=True)):
            return SettledColumn(values, CATEGORY)  # a million objects less
        held = np.empty(len(plain) + 1, dtype=object)
        held[:-1], held[-1] = wanted, None
        return SettledColumn(pd.Series(held[codes], name=self.name, dtype=object), CATEGORY)


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


def _spellings(texts: Sequence[str]) -> str:
    """Note categories that differ by spaces or capitals only."""
    alike: defaultdict[str, list[str]] = defaultdict(list)
    for text in texts:
        alike[plain_spelling(text)].append(text)
    found = next((group for group in alike.values() if len(group) > 1), None)
    return f"{some_of(found, SHOWN_TEXTS)} differ by spaces or capitals only" if found else ""


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
