"""Verdicts follow from a number, its interval and two ranges; the rules are whole."""

from __future__ import annotations

import inspect
from dataclasses import replace
from pathlib import Path

import pytest

from research.paper.findings.intervals import Estimate
from research.paper.findings.rules import (
    RULES,
    VERDICTS,
    Claim,
    load_rules,
    stated_of,
    verdict_of,
)
from research.paper.findings.statistics import STATISTICS
from research.paper.registry import EXPERIMENTS
from research.paper.settings import PROTOCOLS

LOADED = load_rules()


def claim(holds: tuple[float, float], part: tuple[float, float] | None) -> Claim:
    return replace(LOADED.claims[0], holds=holds, part=part)


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0.3, 0.4, "holds"),
        (0.28, 1.0, "holds"),
        (0.2, 0.4, "holds in part"),
        (0.0, 0.1, "holds in part"),
        (-0.1, 0.4, "cannot be told"),
        (-0.2, -0.1, "does not hold"),
        (1.1, 1.2, "does not hold"),
        (0.5, 1.2, "cannot be told"),
    ],
)
def test_verdicts(low: float, high: float, expected: str) -> None:
    found = Estimate((low + high) / 2, low, high, 10)
    assert verdict_of(found, claim((0.28, 1.0), (0.0, 1.0))) == expected
    assert expected in VERDICTS


def test_a_claim_may_be_excluded_while_its_weaker_form_is_open() -> None:
    size = claim((0.28, 1.0), (0.0, 1.0))
    found = Estimate(0.07, -0.05, 0.18, 10)
    assert verdict_of(found, size) == "cannot be told"
    assert stated_of(found, size) == "excluded"
    assert stated_of(Estimate(0.3, 0.2, 0.4, 10), size) == "open"
    assert stated_of(Estimate(0.5, 0.4, 0.6, 10), size) == "holds"
    assert stated_of(Estimate(1.2, 1.1, 1.3, 10), size) == "excluded"


def test_without_a_weaker_form_there_is_no_part() -> None:
    assert verdict_of(Estimate(1, 0, 2, 10), claim((0, 9), None)) == "holds"
    assert verdict_of(Estimate(10, 8, 12, 10), claim((0, 9), None)) == "cannot be told"
    assert verdict_of(Estimate(11, 10, 12, 10), claim((0, 9), None)) == "does not hold"


def test_every_rule_names_what_there_is() -> None:
    for one in LOADED.claims:
        assert one.experiment in EXPERIMENTS
        assert set(one.protocols) <= {"", *PROTOCOLS}
        statistic = STATISTICS[one.statistic]
        kind = statistic.kind or one.parameters["kind"]
        assert statistic.way == "exact" or kind in LOADED.overlap
        signature = inspect.signature(statistic.compute)
        for parameters in (one.parameters, *(p for _, p in one.readings)):
            given = {k: v for k, v in parameters.items() if k != "kind" or statistic.kind}
            signature.bind(None, **given)  # raises where a name is unknown or lacking
    assert {one.statistic for one in LOADED.claims} == set(STATISTICS)


def test_intervals_of_a_protocol_hold_together() -> None:
    n = len(LOADED.under("paper"))
    assert n > 15
    assert LOADED.level_under("paper") == pytest.approx(1 - 0.05 / n)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("holds = [0, 0]", "holds = [1, 0]", "expected a range from low to high"),
        ("part = [4, 6]", "part = [6, 6]\nholdsx = 1", "holdsx"),
        ('name = "corollary-1"', 'name = "proposition-1"', "expected every claim once"),
        ("part = [0.9, 1.01]", "part = [0.99, 1.01]", "expected 'part' to contain 'holds'"),
    ],
)
def test_a_broken_file_is_refused(old: str, new: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "rules.toml"
    path.write_text(RULES.read_text(encoding="utf-8").replace(old, new, 1), encoding="utf-8")
    with pytest.raises(ValueError, match=message):
        load_rules(path)
    assert load_rules().digest == LOADED.digest
