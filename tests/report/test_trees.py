"""Trees, rules and candidates as plain data, masked before they reach a file."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.tree import DecisionTreeRegressor

from steadytree.core.space import FeatureSpace
from steadytree.diff import diff_trees
from steadytree.readers import as_tree
from steadytree.report import summarise
from steadytree.report.trees import RuleTable, features_data, used_features
from tests.report import samples


def test_rules_with_few_rows_hide_share_and_rate() -> None:
    diff = samples.large_diff()
    summary = summarise(diff)
    for side in ("old", "new"):
        rules = [getattr(r, side) for r in diff.rules if getattr(r, side) is not None]
        rows = [row[side] for row in summary["rules"] if row[side] is not None]
        small = 0
        for rule, row in zip(rules, rows, strict=True):
            count = round(rule.share * diff.n_rows)
            if 0 < count < 5:
                small += 1
                assert row["share"] is None
                assert row["rate"] is None
                assert row["masked"]
        assert small > 5
        leaf_share = summary["trees"][side]["share"]
        for rule, row in zip(rules, rows, strict=True):
            assert leaf_share[rule.leaf] == row["share"]


def test_values_of_leaves_that_rest_on_few_people_are_not_in_the_file() -> None:
    diff = samples.large_diff()
    tree = summarise(diff)["trees"]["new"]
    weight = diff.new.weight
    for leaf in diff.new.leaves.tolist():
        assert (tree["value"][leaf] is None) == (weight[leaf] < 5)
        assert (leaf in tree["few"]) == (weight[leaf] < 5)


def test_regression_leaves_of_one_person_are_rounded() -> None:
    X, y = samples.load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    space = FeatureSpace.from_data(X, y, task="regression")
    model = DecisionTreeRegressor(max_leaf_nodes=60, random_state=0).fit(X, y)
    tree = as_tree(model, space=space)
    data = summarise(diff_trees(tree, tree))["trees"]["new"]
    low, high = space.response_range
    lone = [leaf for leaf in tree.leaves.tolist() if tree.weight[leaf] < 5]
    assert lone
    for leaf in lone:
        steps = (data["value"][leaf][0] - low) / ((high - low) / 20)
        assert steps == pytest.approx(round(steps), abs=0.02)


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
    # Flips of one to four people among the new rows are hidden.
    n = len(result.X_new)
    for c, share in zip(frontier["candidates"], result.frontier["flips"], strict=True):
        few = 0 < round(share * n) < 5
        assert c["flips_masked"] is few
        assert (c["flips"] is None) is few


def test_equal_trees_are_stored_once() -> None:
    frontier = summarise(samples.stable_result(2))["frontier"]
    used = [c["tree"] for c in frontier["candidates"]]
    assert len(used) == 100
    assert set(used) == set(range(len(frontier["trees"])))
    assert len(frontier["trees"]) <= 10


def test_trees_beyond_the_budget_are_left_out_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("steadytree.report.trees.TREE_BUDGET", 1500)
    frontier = summarise(samples.stable_result(2))["frontier"]
    without = [c for c in frontier["candidates"] if c["tree"] is None]
    assert frontier["trees_left_out"] == len(without) > 0
    assert frontier["candidates"][frontier["chosen"]]["tree"] is not None


def test_a_mean_of_few_people_is_coarse_in_the_table_too() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.random((200, 2)), rng.random(200)
    model = DecisionTreeRegressor(min_samples_leaf=2, max_leaf_nodes=40, random_state=0).fit(X, y)
    space = FeatureSpace.from_data(X, y, task="regression")
    tree = as_tree(model, space=space)
    low, high = space.response_range or (0.0, 0.0)
    rows = RuleTable(diff_trees(tree, tree, space=space), min_cell=5).rows
    small = [row["new"] for row in rows if tree.weight[row["new"]["leaf"]] < 5]
    assert small
    for half in small:
        steps = (float(half["outcome"]) - low) / ((high - low) / 20)
        assert steps == pytest.approx(round(steps), abs=0.01)


def test_features_are_told_without_their_extremes() -> None:
    diff = samples.mixed_diff()
    used = used_features(diff.old.truncate(1), diff.space)
    assert used == {0}
    data = features_data(diff.space, used)
    assert [f["name"] for f in data] == ["colour", "age", "share"]
    assert [f["used"] for f in data] == [True, False, False]
    assert data[0]["categories"] == ["red", "green", "blue", "black"]
    assert all(set(f) == {"name", "categories", "ordered", "missing", "used"} for f in data)


def test_rules_are_found_by_their_leaf_on_either_side() -> None:
    diff = samples.mixed_diff()
    table = RuleTable(diff, min_cell=5)
    rows = {row["number"]: row for row in table.rows}
    for side, tree in (("old", diff.old), ("new", diff.new)):
        # One leaf of the old tree is left out: nobody can reach it.
        assert set(table.leaves(side)) == set(tree.leaves.tolist()) - {8 if side == "old" else -1}
        for leaf, number in table.leaves(side).items():
            assert rows[number][side]["leaf"] == leaf
            assert (leaf in table.changed(side)) == (rows[number]["status"] != "kept")
            assert table.shares(side)[leaf] == rows[number][side]["share"]
