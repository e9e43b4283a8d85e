"""Retraining on data with a real time order."""

from __future__ import annotations

from research.paper.experiments import retraining
from tests.research.paper.tiny import job


def test_retraining_compares_all_methods() -> None:
    found = retraining.compute(job("retraining", "mgus2"))
    methods = found["methods"]
    assert set(methods) == {
        "cart",
        "paper",
        "scratch",
        *(f"ours_{start}_{price:g}" for start in ("same", "own") for price in retraining.PRICES),
    }
    # Like for like: the same deployed tree.
    assert methods["ours_same_0.2"]["auc_before"] == methods["cart"]["auc_before"]
    assert methods["ours_own_0.2"]["metric"] <= methods["scratch"]["metric"]
