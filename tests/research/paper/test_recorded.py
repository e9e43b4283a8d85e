"""The recorded full run: what its page says follows from its long table and the frozen rules."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from research.paper.findings import judge_claims, load_rules
from research.paper.settings import FULL

FOLDER = Path(__file__).parents[3] / "docs" / "paper"


@pytest.fixture(scope="module")
def recorded() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((FOLDER / "results.json").read_text(encoding="utf-8"))
    return found


def test_it_was_a_full_run_of_committed_code_judged_by_these_rules(
    recorded: dict[str, Any],
) -> None:
    run = recorded["run"]
    assert run["settings"]["name"] == FULL.name
    assert len(run["provenance"]["commit"]) == 40
    assert not run["provenance"]["dirty"]
    assert run["rules"]["digest"] == load_rules().digest
    assert run["rules"]["frozen"] <= run["provenance"]["date"]


def test_every_verdict_follows_from_the_long_table_and_the_rules(recorded: dict[str, Any]) -> None:
    with (FOLDER / "tables" / "observations.csv").open(encoding="utf-8") as file:
        again = judge_claims(csv.DictReader(file), load_rules())
    stored = [finding for finding in recorded["findings"] if finding["name"]]
    # Sums end in other last bits on other processors; everything that is read is the same.
    for finding, before in zip(again, stored, strict=True):
        now = finding.to_dict()
        for name in ("value", "low", "high"):
            assert now.pop(name) == pytest.approx(before[name], rel=1e-9, abs=1e-12, nan_ok=True)
        assert now == {name: entry for name, entry in before.items() if name in now}
        assert set(before) == {*now, "value", "low", "high"}
    page = (FOLDER / "index.md").read_text(encoding="utf-8")
    for finding in stored:
        assert finding["ours"].replace("|", "\\|") in page


def test_the_headline_by_hand(recorded: dict[str, Any]) -> None:
    """The paper's formula on its own bound, in a few lines from the long table."""
    rows = pd.read_csv(
        FOLDER / "tables" / "observations.csv", dtype={"method": str, "protocol": str}
    )
    rows = rows[(rows.kind == "study") & (rows.protocol == "paper")]
    rows = rows[rows.measure == "distance_bound"]
    mean = rows.groupby(["method", "dataset"]).value.mean().groupby("method").mean()
    (stored,) = (
        f
        for f in recorded["findings"]
        if (f["name"], f["protocol"]) == ("reduction-distance", "paper")
    )
    assert np.isclose(1 - mean["pareto_distance"] / mean["pareto_auc"], stored["value"])
