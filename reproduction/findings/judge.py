"""The paper's claims, our numbers, and whether the one follows from the other.

Every verdict and every sentence is chosen by a rule from the tables: rerun with other data, a
claim that held may fail, and the page will say so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from reproduction.tables import Table, format_value

__all__ = [
    "VERDICTS",
    "Finding",
    "Tables",
    "by_majority",
    "change_text",
    "count_text",
    "points",
    "share",
]

VERDICTS = ("holds", "holds in part", "does not hold", "ours alone")

Tables = Mapping[str, Table]


@dataclass(frozen=True)
class Finding:
    """One claim beside our numbers.

    Attributes
    ----------
    experiment : str
    protocol : str
        Empty where nothing is chosen on a holdout.
    claim : str
        What the paper says, or the question where it says nothing.
    paper, ours : str
        The numbers.
    verdict : str
        One of `VERDICTS`.
    sentence : str
        What it means, in one plain sentence.
    """

    experiment: str
    protocol: str
    claim: str
    paper: str
    ours: str
    verdict: str
    sentence: str

    def to_dict(self) -> dict[str, str]:
        """Return plain values."""
        return asdict(self)


def by_majority(count: int, total: int) -> str:
    """Verdict on "in all case studies": all, more than half, or not."""
    if total and count == total:
        return "holds"
    return "holds in part" if 2 * count > total else "does not hold"


def count_text(count: int, total: int) -> str:
    """Write "4 of 6"."""
    return f"{count} of {total}"


def change_text(reduction: float | None, what: str) -> str:
    """Write a reduction in words: "38.0 % less distance", or more."""
    if reduction is None:
        return f"– {what}"
    return f"{share(abs(reduction))} {'less' if reduction >= 0 else 'more'} {what}"


def share(value: Any) -> str:
    """Write per cent."""
    return format_value(value, "share")


def points(value: Any) -> str:
    """Write AUC points."""
    return format_value(value, "points")
