"""The paper's claims judged by frozen rules, and what we measured beyond it."""

from __future__ import annotations

from research.paper.findings.beyond import beyond_findings
from research.paper.findings.claims import judge_claims
from research.paper.findings.finding import OURS, Finding
from research.paper.findings.rules import VERDICTS, load_rules

__all__ = ["OURS", "VERDICTS", "Finding", "beyond_findings", "judge_claims", "load_rules"]
