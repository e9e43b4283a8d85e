"""The paper's claims judged by frozen rules, and what we measured beyond it."""

from __future__ import annotations

from reproduction.findings.beyond import beyond_findings
from reproduction.findings.claims import judge_claims
from reproduction.findings.finding import OURS, Finding
from reproduction.findings.rules import VERDICTS, load_rules

__all__ = ["OURS", "VERDICTS", "Finding", "beyond_findings", "judge_claims", "load_rules"]
