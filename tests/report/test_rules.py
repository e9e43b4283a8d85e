"""Every rule before and after: rows and outcomes, as far as they may be told."""

from __future__ import annotations

import re

import numpy as np
import pytest
from sklearn.tree import DecisionTreeRegressor

from steadytree.core.space import FeatureSpace
from steadytree.diff import diff_trees
from steadytree.readers import as_tree
from steadytree.report import summarise
from steadytree.report.rules import RuleTable
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
                assert row["rows"] is None or row["rows"].startswith("<")
                assert row["observed"] in (None, "hidden")
        assert small > 5
        leaf_share = summary["trees"][side]["share"]
        for rule, row in zip(rules, rows, strict=True):
            assert (leaf_share[rule.leaf] is None) == (row["share"] is None)


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
            share = table.shares(side)[leaf]
            assert (share and share[0]) == rows[number][side]["share"]


@pytest.mark.parametrize("kind", ["retraining", "multiclass_diff", "large_diff", "mixed_diff"])
@pytest.mark.parametrize("least", [1, 5])
def test_rows_and_outcomes_are_those_counted_wherever_they_are_told(kind: str, least: int) -> None:
    result = getattr(samples, kind)()
    diff = getattr(result, "diff", result)
    told = 0
    for change, row in zip(diff.rules, RuleTable(diff, min_cell=least).rows, strict=True):
        for side in ("old", "new"):
            rule, half = getattr(change, side), row[side]
            if rule is None or half["rows"] is None:
                continue
            if exact := re.fullmatch(r"([\d,]+) \(.*\)", half["rows"]):
                told += 1
                assert int(exact[1].replace(",", "")) == rule.rows
                assert half["share"] == pytest.approx(rule.rows / diff.n_rows, abs=1e-4)
            if found := re.match(r"([\d,]+) of ([\d,]+)", half["observed"] or ""):
                assert [int(n.replace(",", "")) for n in found.groups()] == [
                    rule.outcomes,
                    rule.rows,
                ]
    assert told > 0 or least > 1


def test_a_threshold_that_moves_past_three_people_does_not_count_them() -> None:
    X = np.arange(100.0)[:, None]
    y = np.where(X[:, 0] > 49, 2.0, 1.0)
    space = FeatureSpace.from_data(X, y, task="regression")
    old = as_tree(DecisionTreeRegressor(max_depth=1).fit(X, y), space=space)
    for moved, exact in ((3, False), (8, True), (0, True)):
        new = old.replace(threshold=old.threshold + moved)
        rows = RuleTable(diff_trees(old, new, X, y=y), min_cell=5).rows
        words = [row[side]["rows"] for row in rows for side in ("old", "new")]
        assert all(("(" in text) == exact for text in words), (moved, words)
