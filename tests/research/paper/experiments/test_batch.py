"""What the number of trees does."""

from __future__ import annotations

from research.paper.experiments import batch
from tests.research.paper.tiny import job


def test_larger_collections_contain_the_smaller() -> None:
    sizes = batch.compute(job("batch", "wdbc", batch_sizes=(1, 3)))["sizes"]
    assert [s["trees"] for s in sizes] == [4, 12]
    assert sizes[1]["best_auc"] >= sizes[0]["best_auc"]
