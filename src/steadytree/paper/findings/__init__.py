"""The paper's claims judged by our numbers, by rules."""

from __future__ import annotations

from steadytree.paper.findings.beyond import beyond_findings
from steadytree.paper.findings.judge import VERDICTS, Finding, Tables
from steadytree.paper.findings.pareto import pareto_findings
from steadytree.paper.findings.sensitivity import sensitivity_findings
from steadytree.paper.findings.takeaways import takeaway_findings

__all__ = ["VERDICTS", "Finding", "judge_all"]


def judge_all(tables: Tables) -> list[Finding]:
    """Judge every claim that there are numbers for, in the order of the paper."""
    return [
        *sensitivity_findings(tables),
        *pareto_findings(tables),
        *takeaway_findings(tables),
        *beyond_findings(tables),
    ]
