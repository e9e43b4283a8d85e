"""Nothing of the paper is forgotten: each item leads somewhere, each claim belongs to an item."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from research.paper.catalogue import CATALOGUE
from research.paper.findings.rules import load_rules
from research.paper.registry import EXPERIMENTS

ROOT = Path(__file__).parents[3]
PAPER = ROOT.parent / "shared" / "paper.tex"


def test_every_item_leads_somewhere() -> None:
    assert len({item.label for item in CATALOGUE}) == len(CATALOGUE)
    for item in CATALOGUE:
        assert item.experiments or item.elsewhere
        assert set(item.experiments) <= set(EXPERIMENTS)
        assert not item.elsewhere or (ROOT / item.elsewhere).exists()


def test_every_claim_and_every_experiment_of_the_paper_belongs_to_an_item() -> None:
    claims = {name for item in CATALOGUE for name in item.claims}
    assert claims == {claim.name for claim in load_rules().claims}
    shown = {name for item in CATALOGUE for name in item.experiments}
    assert shown >= {e.name for e in EXPERIMENTS.values() if e.where}
    for claim in load_rules().claims:
        assert any(
            claim.name in item.claims and claim.experiment in item.experiments for item in CATALOGUE
        )


@pytest.mark.skipif(not PAPER.exists(), reason="the paper's source is no part of this repository")
def test_every_label_of_the_paper_is_in_the_list() -> None:
    labels = set(re.findall(r"\\label\{((?:fig|tab|lem|cor|eqn|eq):[^}]+)\}", PAPER.read_text()))
    # Panels of one figure, and steps of proofs.
    parts = {name for name in labels if name.startswith(("fig:frontier-", "tab:tree-"))}
    parts -= {"tab:tree-analysis"}
    parts |= {"eqn:matched-paths", "eq:distance-reform", "eq:distance-reform-relax"}
    listed = {item.label.split(" (")[0] for item in CATALOGUE}
    assert labels - parts <= listed
