"""Every rule before and after: rows and outcomes."""

from __future__ import annotations

import pytest

from steadytree.diff import diff_trees
from steadytree.views import summarise
from tests.report import samples


def test_rules_are_found_by_their_leaf_on_either_side() -> None:
    diff = samples.mixed_diff()
    summary = summarise(diff)
    rows = {row["number"]: row for row in summary["rules"]}
    for side, tree in (("old", diff.old), ("new", diff.new)):
        drawn = summary["trees"][side]
        numbers = {leaf: n for leaf, n in enumerate(drawn["rule"]) if n is not None}
        # One leaf of the old tree is left out: nobody can reach it.
        assert set(numbers) == set(tree.leaves.tolist()) - {8 if side == "old" else -1}
        for leaf, number in numbers.items():
            assert rows[number][side]["leaf"] == leaf
            assert drawn["share"][leaf]["count"] == rows[number][side]["rows"]["count"]


@pytest.mark.parametrize("kind", ["retraining", "multiclass_diff", "large_diff", "mixed_diff"])
def test_rows_and_outcomes_are_those_counted(kind: str) -> None:
    result = getattr(samples, kind)()
    diff = getattr(result, "diff", result)
    for change, row in zip(diff.rules, summarise(result)["rules"], strict=True):
        for side in ("old", "new"):
            rule, half = getattr(change, side), row[side]
            if rule is None:
                continue
            assert (half["rows"]["count"], half["rows"]["of"]) == (rule.rows, diff.n_rows)
            if half["observed"] is not None:
                counted = half["observed"]["count"], half["observed"]["of"]
                assert counted == (rule.outcomes, rule.rows)
                assert half["observed"]["words"].startswith(f"{rule.outcomes:,} of {rule.rows:,}")


def test_a_rule_that_changed_is_drawn_however_deep_it_is() -> None:
    diff = samples.large_diff()
    leaf = max(diff.old.leaves.tolist(), key=diff.old.node_depth.tolist().__getitem__)
    labels = diff.old.label.copy()
    labels[leaf] = 1 - labels[leaf]
    summary = summarise(diff_trees(diff.old, diff.old.replace(label=labels), space=diff.space))
    for tree in summary["trees"].values():
        assert tree["folded"]
        above, node = set(), leaf
        while node:
            node = int(diff.old.parent[node])
            above.add(node)
        assert not above & set(tree["folded"])
