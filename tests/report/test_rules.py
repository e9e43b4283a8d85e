"""Every rule before and after: rows and outcomes."""

from __future__ import annotations

import pytest

from steadytree.views.report_trees import RuleTable
from tests.report import samples


def test_rules_are_found_by_their_leaf_on_either_side() -> None:
    diff = samples.mixed_diff()
    table = RuleTable(diff)
    rows = {row["number"]: row for row in table.rows}
    for side, tree in (("old", diff.old), ("new", diff.new)):
        # One leaf of the old tree is left out: nobody can reach it.
        assert set(table.leaves(side)) == set(tree.leaves.tolist()) - {8 if side == "old" else -1}
        for leaf, number in table.leaves(side).items():
            assert rows[number][side]["leaf"] == leaf
            assert (leaf in table.changed(side)) == (rows[number]["status"] != "kept")
            share = table.shares(side)[leaf]
            assert share["count"] == rows[number][side]["rows"]["count"]


@pytest.mark.parametrize("kind", ["retraining", "multiclass_diff", "large_diff", "mixed_diff"])
def test_rows_and_outcomes_are_those_counted(kind: str) -> None:
    result = getattr(samples, kind)()
    diff = getattr(result, "diff", result)
    for change, row in zip(diff.rules, RuleTable(diff).rows, strict=True):
        for side in ("old", "new"):
            rule, half = getattr(change, side), row[side]
            if rule is None:
                continue
            assert (half["rows"]["count"], half["rows"]["of"]) == (rule.rows, diff.n_rows)
            if half["observed"] is not None:
                counted = half["observed"]["count"], half["observed"]["of"]
                assert counted == (rule.outcomes, rule.rows)
                assert half["observed"]["words"].startswith(f"{rule.outcomes:,} of {rule.rows:,}")
