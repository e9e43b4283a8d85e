"""Numbers as they are written, read back as the range that they can have been rounded from."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

__all__ = [
    "Range",
    "Told",
    "coarse",
    "decimals",
    "read_count",
    "read_share",
    "rounded",
    "share_words",
]

Range = tuple[float, float]

STEPS = (0.01, 0.02, 0.05, 0.1, 0.2)
_GAPS = str.maketrans(dict.fromkeys("\u202f\u00a0\u2009", " ") | {"−": "-"})
_NUMBER = r"\d[\d,]*"
_SHARE = re.compile(
    r"(?P<sign>[<>≤≥]|about)? ?(?P<low>-?\d+(?:\.\d+)?)(?: ?[–-] ?(?P<high>\d+(?:\.\d+)?))? ?%"
)
_COUNT = re.compile(
    rf"(?:(?P<fewer>(?:all but )?fewer than) )?(?P<sign>[<>] ?)?(?P<low>{_NUMBER})"
    rf"(?: ?[–-] ?(?P<high>{_NUMBER}))? of (?:the )?(?P<total>{_NUMBER})"
)


def plain(text: str) -> str:
    """Write a text with plain gaps and signs."""
    return text.translate(_GAPS)


def decimals(text: str) -> int:
    """Count the digits after the point."""
    return len(text.partition(".")[2])


def rounded(value: float, digits: int) -> Range:
    """Range of what reads as a value with so many digits; more digits are taken as they are.

    Shares that would read 0 or 1 and are not are written out in full.
    """
    if abs(value - round(value, digits)) > 1e-12:
        return value - 1e-9, value + 1e-9
    half = 0.5 * 10.0**-digits
    return value - half, value + half


def coarse(value: float, n_rows: float, min_cell: int) -> Range:
    """Range of a share told by the middle of a step of ``min_cell`` people or more; 0 is told."""
    if value == 0:
        return 0.0, 0.0
    step = next((s for s in STEPS if s * n_rows >= min_cell), STEPS[-1])
    return value - step / 2, value + step / 2


def read_share(text: str) -> Range | None:
    """Read "34 %", "9.8 %", "< 0.1 %", "≤ 14 %", "38–54 %"; None where it is none of these."""
    found = _SHARE.search(plain(text))
    if found is None:
        return None
    low, sign = float(found["low"]) / 100, found["sign"]
    if found["high"]:
        return low, float(found["high"]) / 100
    half = 0.5 * 10.0 ** -(decimals(found["low"]) + 2)
    if sign in ("<", "≤"):
        return 0.0, low
    if sign in (">", "≥"):
        return low, 1.0
    return low - half, low + half


def share_words(text: str) -> str | None:
    """Return the share within a text as it is written; None without one."""
    found = _SHARE.search(plain(text))
    return None if found is None else found[0]


@dataclass(frozen=True)
class Told:
    """A count from ``low`` to ``high`` of a ``total``."""

    low: float
    high: float
    total: int


def read_count(text: str, *, nobody_is_told: bool = True) -> Told | None:
    """Read "12 of 43", "< 5 of 291", "> 158 of 163", "10–14 of 26", "fewer than 5 of 428".

    Nobody is told as 0, so that "fewer than 5" is 1 to 4, except in ranges of leaves.
    """
    found = _COUNT.search(plain(text))
    if found is None:
        return None
    low, total = _whole(found["low"]), _whole(found["total"])
    if found["fewer"]:
        if found["fewer"].startswith("all"):
            return Told(total - low + 1, total - 1, total)
        return Told(1 if nobody_is_told else 0, low - 1, total)
    if found["high"]:
        return Told(low, _whole(found["high"]), total)
    sign = (found["sign"] or "").strip()
    if sign == "<":
        return Told(0, low - 1, total)
    if sign == ">":
        return Told(low + 1, total, total)
    return Told(low, low, total)


def _whole(text: str) -> int:
    return int(text.replace(",", ""))


def finite(value: object) -> bool:
    """Whether something is a number that says something."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
