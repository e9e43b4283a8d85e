"""Tell how values are written: numbers, numbers in other clothes, dates, truths.

A column of text is mostly what it looks like, and sometimes a column of numbers in which one
cell says "n/a?", or every cell says "12 kg". Which of these it is, is decided here, from each
different text and the rows that have it.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from steadytree.cli.delimited import MISSING, WHOLE

__all__ = ["WrittenColumn", "as_known", "plain_text"]

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
        gone = np.array([text.strip() in MISSING for text in texts] + [True], dtype=bool)
        codes = np.where(gone[codes], -1, codes)
        if thousands is not None:
            texts = [_without_thousands(text, thousands) for text in texts]
        counts = np.bincount(codes[codes >= 0], minlength=len(texts))
        return cls(values, codes, tuple(texts), counts, decimal)

    @property
    def n_present(self) -> int:
        """Count the rows that have a value."""
        return int(self.counts.sum())

    @property
    def present(self) -> list[str]:
        """Return the texts that some row has."""
        return self.named(np.ones(len(self.texts), dtype=bool))

    def named(self, which: NDArray[np.bool_]) -> list[str]:
        """Return those of some texts that some row has."""
        return [self.texts[i] for i in np.flatnonzero(which & (self.counts > 0))]

    def matching(self, pattern: re.Pattern[str]) -> NDArray[np.bool_]:
        """Which texts are of a form."""
        found = [pattern.fullmatch(text.strip()) is not None for text in self.texts]
        return np.array(found, dtype=bool) & (self.counts > 0)

    def mostly(self, which: NDArray[np.bool_]) -> bool:
        """Whether some texts are those of half of the rows or more."""
        return bool(self.n_present) and 2 * int(self.counts[which].sum()) >= self.n_present

    def rows(self, text: str) -> list[int]:
        """Return the rows of a text, in order."""
        return np.flatnonzero(self.codes == self.texts.index(text)).tolist()

    @property
    def numbers(self) -> NDArray[np.bool_]:
        """Which texts are plain numbers."""
        return self.matching(_number_pattern(self.decimal))

    @property
    def padded(self) -> bool:
        """Whether some number is written with leading zeros."""
        return bool(self.matching(_PADDED).any())

    @property
    def in_thousands(self) -> NDArray[np.bool_]:
        """Which texts are numbers with separators of thousands."""
        return self.matching(_THOUSANDS)

    @property
    def other_decimals(self) -> NDArray[np.bool_]:
        """Which texts are numbers with the other decimal sign."""
        return self.matching(_DECIMAL["," if self.decimal == "." else "."])

    @property
    def amounts(self) -> NDArray[np.bool_]:
        """Which texts are numbers with the one unit or sign that most have, if many differ."""
        clothes: list[tuple[str, ...] | None] = []
        for text, count in zip(self.texts, self.counts, strict=True):
            match = _AMOUNT.fullmatch(text.strip()) if count else None
            clothes.append(match.groups() if match and any(match.groups()) else None)
        common = Counter(worn for worn in clothes if worn is not None).most_common(1)
        if not common or common[0][1] <= FEW_AMOUNTS:
            return np.zeros(len(self.texts), dtype=bool)
        return np.array([worn == common[0][0] for worn in clothes], dtype=bool)

    def separator_of_thousands(self) -> str:
        """Return what most numbers in thousands are separated by."""
        found = [_THOUSANDS.fullmatch(text.strip()) for text in self.present]
        signs: Counter[str] = Counter(match.group(1) for match in found if match)
        return signs.most_common(1)[0][0] if signs else ""

    def as_numbers(self, name: str) -> pd.Series[Any]:
        """Return the plain numbers; missing where a text is none."""
        plain = self.numbers
        values = [
            float(text.strip().replace(self.decimal, ".")) if fits else np.nan
            for text, fits in zip(self.texts, plain, strict=True)
        ]
        return pd.Series(np.array([*values, np.nan])[self.codes], name=name)

    def as_values(self) -> pd.Series[Any]:
        """Return the column with None where it is missing."""
        gone = self.codes < 0
        return self.values.mask(gone, None) if gone.any() else self.values


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
