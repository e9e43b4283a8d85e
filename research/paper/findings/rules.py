"""Read the frozen rules, and turn a number with its interval into a verdict.

The rules are data (``rules.toml``): what is computed, and for which values the paper's claim holds.
They were written before the run that they judge; their digest goes into the results, so that a
change of heart afterwards shows.
"""

from __future__ import annotations

import hashlib
import math
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from research.paper.findings.intervals import Estimate
from research.paper.published import NUMBERS

__all__ = ["RULES", "VERDICTS", "Claim", "Rules", "load_rules", "stated_of", "verdict_of"]

RULES = Path(__file__).parent.parent / "rules.toml"

VERDICTS = ("holds", "holds in part", "does not hold", "cannot be told")

Range = tuple[float, float]


@dataclass(frozen=True)
class Claim:
    """One claim of the paper and how it is judged.

    Attributes
    ----------
    name, experiment, text : str
    paper, where : str
        What the paper says, and where.
    value : float or None
        The paper's number, where it prints one.
    protocols : tuple of str
        Protocols it is judged under; "" where nothing is chosen on a holdout.
    reads : str or None
        The protocol whose trees were looked at, where that is another.
    statistic : str
        Name of the number in `research.paper.findings.statistics.STATISTICS`.
    parameters : dict
    readings : tuple of (str, dict)
        The same claim computed otherwise: words, and what differs. Shown, never counted.
    unit : str
        How the number is written: "share", "points", "number", "count", "sets".
    holds : (float, float)
    part : (float, float) or None
        Range of a weaker form of the claim; it contains ``holds``.
    remark : str
        What a reader must know beside the number.
    """

    name: str
    experiment: str
    text: str
    paper: str
    where: str
    value: float | None
    protocols: tuple[str, ...]
    reads: str | None
    statistic: str
    parameters: dict[str, Any]
    readings: tuple[tuple[str, dict[str, Any]], ...]
    unit: str
    holds: Range
    part: Range | None
    remark: str


@dataclass(frozen=True)
class Rules:
    """All claims, and what their intervals share.

    Attributes
    ----------
    frozen : str
        The day on which they were written.
    digest : str
        SHA-256 of the file.
    level : float
        With which all intervals of one protocol hold together.
    overlap : dict
        Rows left out of training over rows used, by kind of work.
    claims : tuple of Claim
    """

    frozen: str
    digest: str
    level: float
    overlap: dict[str, float]
    claims: tuple[Claim, ...] = field(repr=False)

    def under(self, protocol: str) -> list[Claim]:
        """Claims that are judged under a protocol."""
        return [claim for claim in self.claims if protocol in claim.protocols]

    def level_under(self, protocol: str) -> float:
        """Level of one interval, so that all of a protocol hold together (Bonferroni)."""
        return 1 - (1 - self.level) / max(len(self.under(protocol)), 1)


def load_rules(path: Path = RULES) -> Rules:
    """Read the rules; anything unknown or contradictory in them is an error."""
    content = path.read_bytes()
    told = tomllib.loads(content.decode())
    claims = tuple(_claim(entry) for entry in told["claim"])
    names = [claim.name for claim in claims]
    if len(names) != len(set(names)):
        raise ValueError(f"expected every claim once, got {sorted(names)}")
    return Rules(
        frozen=told["frozen"].isoformat(),
        digest=hashlib.sha256(content).hexdigest(),
        level=float(told["level"]),
        overlap={kind: float(value) for kind, value in told["overlap"].items()},
        claims=claims,
    )


def _claim(entry: dict[str, Any]) -> Claim:
    known = {"name", "experiment", "text", "paper", "number", "protocols", "statistic", "with"}
    known |= {"reads", "readings", "unit", "holds", "part", "remark"}
    if unknown := set(entry) - known:
        raise ValueError(f"expected {sorted(known)} in {entry['name']}, got {sorted(unknown)}")
    number = NUMBERS[entry["number"]] if "number" in entry else None
    readings = []
    for reading in entry.get("readings", ()):
        rest = dict(reading)
        readings.append((rest.pop("words"), {**entry.get("with", {}), **rest}))
    holds, part = _range(entry["holds"]), _range(entry["part"]) if "part" in entry else None
    if part is not None and not (part[0] <= holds[0] <= holds[1] <= part[1]):
        raise ValueError(f"expected 'part' to contain 'holds' in {entry['name']}, got {part}")
    return Claim(
        name=entry["name"],
        experiment=entry["experiment"],
        text=entry["text"],
        paper=number.words if number else entry["paper"],
        where=number.where if number else "",
        value=number.value if number else None,
        protocols=tuple(entry["protocols"]),
        reads=entry.get("reads"),
        statistic=entry["statistic"],
        parameters=dict(entry.get("with", {})),
        readings=tuple(readings),
        unit=entry["unit"],
        holds=holds,
        part=part,
        remark=entry.get("remark", ""),
    )


def _range(given: list[float]) -> Range:
    low, high = map(float, given)
    if not (math.isfinite(low) and math.isfinite(high) and low <= high):
        raise ValueError(f"expected a range from low to high, got {given}")
    return low, high


def verdict_of(found: Estimate, claim: Claim) -> str:
    """Judge a number by its interval; see the head of ``rules.toml``."""
    if _inside(found, claim.holds):
        return "holds"
    if claim.part is not None and _inside(found, claim.part):
        return "holds in part"
    low, high = claim.part or claim.holds
    if found.high < low or found.low > high:
        return "does not hold"
    return "cannot be told"


def stated_of(found: Estimate, claim: Claim) -> str:
    """Say what the interval does to the claim as it stands, whatever becomes of a weaker form."""
    if _inside(found, claim.holds):
        return "holds"
    low, high = claim.holds
    return "excluded" if found.high < low or found.low > high else "open"


def _inside(found: Estimate, limits: Range) -> bool:
    return limits[0] <= found.low and found.high <= limits[1]
