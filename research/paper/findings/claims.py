"""The paper's claims, judged: each by its rule, from the long table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from research.paper.findings.finding import Finding, points, share
from research.paper.findings.intervals import Estimate
from research.paper.findings.observed import Observed
from research.paper.findings.rules import Claim, Rules, stated_of, verdict_of
from research.paper.findings.statistics import STATISTICS
from research.paper.tables import format_value

__all__ = ["judge_claims", "number_text"]

N_SETS = 6


def judge_claims(
    rows: Iterable[Mapping[str, Any]], rules: Rules, *, verdicts: bool = True
) -> list[Finding]:
    """Judge every claim that there are observations for, in the order of the rules.

    Parameters
    ----------
    rows : iterable of mappings
        The long table.
    rules : Rules
    verdicts : bool, default True
        Without them only the numbers are told: a run of a few minutes decides nothing.
    """
    listed = list(rows)
    observed = {
        protocol: Observed.from_rows(listed, protocol)
        for protocol in {row["protocol"] for row in listed}
    }
    nothing = Observed({})
    found = []
    for claim in rules.claims:
        for protocol in claim.protocols:
            seen = observed.get(protocol if claim.reads is None else claim.reads, nothing)
            finding = _finding(claim, protocol, seen, rules, verdicts)
            found += [] if finding is None else [finding]
    return found


def _finding(
    claim: Claim, protocol: str, observed: Observed, rules: Rules, verdicts: bool
) -> Finding | None:
    level = rules.level_under(protocol)

    def compute(parameters: dict[str, Any], at: float = level) -> Estimate | None:
        return STATISTICS[claim.statistic].judge(
            observed, parameters, level=at, overlap=rules.overlap
        )

    number, alone = compute(claim.parameters), compute(claim.parameters, rules.level)
    if number is None or alone is None:
        return None
    otherwise = [(words, compute(parameters)) for words, parameters in claim.readings]
    readings = "; ".join(
        f"{words}: {number_text(other, claim.unit)}" for words, other in otherwise if other
    )
    verdict = verdict_of(number, claim) if verdicts else ""
    return Finding(
        experiment=claim.experiment,
        protocol=protocol,
        claim=claim.text,
        paper=f"{claim.paper} ({claim.where})" if claim.where else claim.paper,
        ours=number_text(number, claim.unit)
        + (f". Read otherwise: {readings}" if readings else ""),
        verdict=verdict,
        sentence=_rule_text(claim),
        name=claim.name,
        value=number.value,
        low=number.low,
        high=number.high,
        level=None if number.is_exact else level,
        stated=stated_of(number, claim) if verdicts else "",
        alone=verdict_of(alone, claim) if verdicts else "",
    )


def _plain(value: float, unit: str) -> str:
    if unit == "share":
        return share(value)
    if unit == "points":
        return f"{points(value)} points"
    if unit in ("count", "sets"):
        return f"{value:,.0f}"
    return format_value(value, "num")


def number_text(number: Estimate, unit: str) -> str:
    """Write a number with its interval, in the words of its unit."""
    value, low, high = (_plain(x, unit) for x in (number.value, number.low, number.high))
    if unit == "sets":
        return f"{value} of {N_SETS} (clearly {low}, possibly {high})"
    return value if number.is_exact else f"{value} ({low} to {high})"


def _rule_text(claim: Claim) -> str:
    low, high = (_plain(x, claim.unit) for x in claim.holds)
    words = f"Rule: holds from {low} to {high}" if low != high else f"Rule: holds at {low}"
    if claim.part is not None:
        low, high = (_plain(x, claim.unit) for x in claim.part)
        words += f", in part from {low} to {high}"
    return f"{words}.{' ' + claim.remark if claim.remark else ''}"
