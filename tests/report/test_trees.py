"""Trees, rules and candidates as plain data."""

from __future__ import annotations

import pytest

from steadytree.views import summarise
from steadytree.views.report_trees import features_data, used_features
from tests.report import samples


def test_frontier_lists_every_candidate_with_its_costs() -> None:
    result = samples.retraining()
    frontier = summarise(result)["frontier"]
    assert [c["name"] for c in frontier["candidates"]] == list(result.frontier.index)
    chosen = frontier["candidates"][frontier["chosen"]]
    assert chosen["name"] == result.chosen
    assert chosen["distance"] == pytest.approx(result.dissimilarity, abs=1e-4)
    keep = frontier["candidates"][0]
    assert keep["counts"]["kept"] == result.deployed.n_leaves
    assert frontier["trees_left_out"] == 0
    for c, share in zip(frontier["candidates"], result.frontier["flips"], strict=True):
        assert c["flips"]["count"] == round(share * c["flips"]["of"])


def test_equal_trees_are_stored_once() -> None:
    frontier = summarise(samples.stable_result(2))["frontier"]
    used = [c["tree"] for c in frontier["candidates"]]
    assert len(used) == 100
    assert set(used) == set(range(len(frontier["trees"])))
    assert len(frontier["trees"]) <= 10


def test_trees_beyond_the_budget_are_left_out_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("steadytree.views.report_trees.TREE_BUDGET", 1500)
    frontier = summarise(samples.stable_result(2))["frontier"]
    without = [c for c in frontier["candidates"] if c["tree"] is None]
    assert frontier["trees_left_out"] == len(without) > 0
    assert frontier["candidates"][frontier["chosen"]]["tree"] is not None


def test_features_are_told_without_their_extremes() -> None:
    diff = samples.mixed_diff()
    used = used_features(diff.old.truncate(1), diff.space)
    assert used == {0}
    data = features_data(diff.space, used, used, (diff.old, diff.new))
    assert [f["name"] for f in data] == ["colour", "age", "share"]
    assert [f["used"] for f in data] == [True, False, False]
    assert data[0]["categories"] == ["red", "green", "blue", "black"]
    assert all(
        set(f) == {"name", "categories", "ordered", "missing", "unseen", "used"} for f in data
    )


def test_risks_that_move_are_a_cost_of_every_candidate() -> None:
    result = samples.retraining()
    candidates = summarise(result)["frontier"]["candidates"]
    for candidate, share in zip(candidates, result.frontier["moved_5"], strict=True):
        assert candidate["moved_5"]["count"] == round(share * len(result.rows))
