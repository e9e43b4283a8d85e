"""One claim beside our numbers, and the words that numbers are told in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from research.paper.tables import Table, format_value

__all__ = ["OURS", "Finding", "Tables", "change_text", "count_text", "points", "share"]

OURS = "ours alone"
"""Verdict of what the paper does not claim."""

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
        One of `research.paper.findings.rules.VERDICTS`, or `OURS`; empty in a quick run.
    sentence : str
        What it means, in plain words.
    name : str
        Of the claim in the rules; empty for what is ours alone.
    value, low, high, level : float or None
        Our number, its interval, and the level of that.
    stated : str
        Whether the claim as it stands "holds", is "excluded" by the interval, or is "open".
    alone : str
        The verdict if this claim were the only one: by an interval of 95 %.
    """

    experiment: str
    protocol: str
    claim: str
    paper: str
    ours: str
    verdict: str
    sentence: str
    name: str = ""
    value: float | None = None
    low: float | None = None
    high: float | None = None
    level: float | None = None
    stated: str = ""
    alone: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return asdict(self)


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
