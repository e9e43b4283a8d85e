"""The paper's claims judged by our numbers, by rules."""

from __future__ import annotations

from reproduction.findings.beyond import beyond_findings
from reproduction.findings.judge import VERDICTS, Finding, Tables
from reproduction.findings.pareto import pareto_findings
from reproduction.findings.sensitivity import sensitivity_findings
from reproduction.findings.takeaways import takeaway_findings

__all__ = ["VERDICTS", "Finding", "judge_all"]


def judge_all(tables: Tables) -> list[Finding]:
    """Judge every claim that there are numbers for, in the order of the paper."""
    return [
        *sensitivity_findings(tables),
        *pareto_findings(tables),
        *takeaway_findings(tables),
        *beyond_findings(tables),
    ]
