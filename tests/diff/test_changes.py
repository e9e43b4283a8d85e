"""What happened to one rule and to one of its conditions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from steadytree.diff.changes import KINDS, Rule, compare_conditions
from steadytree.tree.printing import LeafNumbers
from steadytree.tree.words import Condition
from tests.diff.trees import (
    NEW,
    OLD,
    SPACE,
    Leaf,
    Split,
    at,
    below,
    changed,
    compare,
    leaf_places,
    put,
    split_places,
    splits,
    thresholds,
)


@given(st.data())
@settings(max_examples=60)
def test_a_moved_threshold_and_a_relabelled_leaf_combine(data: st.DataObject) -> None:
    root = data.draw(splits())
    numeric = [w for w in split_places(root) if isinstance(at(root, w).at, float)]
    assume(numeric)
    where = data.draw(st.sampled_from(numeric))
    node = at(root, where)
    new = data.draw(thresholds.filter(lambda t: t != node.at))
    inside = [w for w in leaf_places(root) if w[: len(where)] == where]
    target = data.draw(st.sampled_from(inside))
    edited = put(root, where, replace(node, at=new))
    leaf = at(root, target)
    edited = put(edited, target, Leaf(1 - leaf.label, leaf.share))
    diff = compare(root, edited)
    (number,) = below(root, target)
    assert changed(diff) == dict.fromkeys(sorted(below(root, where)), "moved")
    assert [r.number for r in diff.rules if r.relabelled] == [number]
    assert diff.rules[number - 1].kinds == ("threshold_moved", "relabelled")


def test_a_split_on_missingness_alone() -> None:
    base = Split(0, 0.5, Leaf(0, 0.1), Leaf(1, 0.9))
    inf = replace(base, at=float("inf"), missing_left=False)
    diff = compare(Leaf(0, 0.3), inf)
    (rule,) = diff.with_status("moved")
    assert [c.text for c in rule.changes] == ["condition added: age is not missing"]
    (added,) = diff.with_status("added")
    assert added.text == "age is missing: yes"
    assert set(diff.splits[0].rules) == {1, 2}


def test_what_is_the_same_is_not_listed() -> None:
    age, site = Condition(0, "age", upper=50), Condition(4, "site", allowed=("arm",))
    assert compare_conditions(SPACE, [age, site], [site, age]) == ()
    # The arithmetic of a distance cannot tell these bounds apart.
    assert compare_conditions(SPACE, [age], [Condition(0, "age", upper=50 + 1e-8)]) == ()


def test_both_bounds_of_a_feature_are_compared() -> None:
    old = Condition(1, "weight", lower=50, upper=100)
    lower, upper = compare_conditions(SPACE, [old], [Condition(1, "weight", lower=40)])
    assert (lower.kind, lower.side, lower.shift) == ("threshold_moved", "lower", -10)
    assert lower.share_of_range == -0.05
    assert (upper.kind, upper.side) == ("condition_removed", "upper")
    assert (upper.old_bound, upper.new_bound, upper.shift) == (100, None, None)


def test_missing_values_turned_away_by_a_new_condition_are_part_of_it() -> None:
    (added,) = compare_conditions(SPACE, [], [Condition(0, "age", upper=50, missing=False)])
    assert added.kind == "condition_added"
    (removed,) = compare_conditions(SPACE, [Condition(0, "age", upper=50, missing=False)], [])
    assert removed.kind == "condition_removed"
    moved = compare_conditions(
        SPACE,
        [Condition(0, "age", upper=50, missing=False)],
        [Condition(0, "age", upper=60, missing=True)],
    )
    assert [change.kind for change in moved] == ["threshold_moved", "missing_changed"]


def test_which_side_of_a_condition_changed_is_told() -> None:
    site = Condition(4, "site", allowed=("arm",))
    (added,) = compare_conditions(SPACE, [], [site])
    (gone,) = compare_conditions(SPACE, [site], [])
    assert (added.kind, added.side) == ("condition_added", "categories")
    assert (gone.kind, gone.side) == ("condition_removed", "categories")
    (swapped,) = compare_conditions(SPACE, [site], [Condition(4, "site", allowed=("leg", "arm"))])
    assert (swapped.side, swapped.gained, swapped.lost) == ("categories", ("leg",), ())
    colours = (Condition(3, "colour", allowed=("red",), missing=m) for m in (True, False))
    (missing,) = compare_conditions(SPACE, [next(colours)], [next(colours)])
    assert (missing.kind, missing.side) == ("missing_changed", "missing")
    ages = (Condition(0, "age", upper=50, missing=m) for m in (True, False))
    (missing,) = compare_conditions(SPACE, [next(ages)], [next(ages)])
    assert (missing.kind, missing.side) == ("missing_changed", "missing")
    (alone,) = compare_conditions(SPACE, [], [Condition(0, "age", present=False, missing=True)])
    assert (alone.kind, alone.side) == ("condition_added", "missing")


def test_a_move_on_a_feature_without_a_range_has_no_share_of_it() -> None:
    flat = SPACE.replace(lower=np.zeros(5), upper=np.zeros(5))
    old, new = (Condition(1, "weight", upper=t) for t in (10.0, 20.0))
    (change,) = compare_conditions(flat, [old], [new])
    assert (change.shift, change.share_of_range) == (10.0, None)
    assert compare_conditions(flat, [old], [old]) == ()


def test_every_kind_of_change_is_a_known_one() -> None:
    diff = compare(OLD, replace(NEW, left=Leaf(1, 0.9), missing_left=False))
    kinds = {kind for rule in diff.rules for kind in rule.kinds}
    assert {"threshold_moved", "missing_changed"} < kinds <= set(KINDS)
    grown = replace(OLD, left=Leaf(1, 0.9), right=replace(OLD.right, at=frozenset({0})))
    leaf = Leaf(0, 0.3)
    for old, new in ((OLD, grown), (grown, OLD), (leaf, Leaf(0, 0.4)), (leaf, Leaf(1, 0.3))):
        kinds |= {kind for rule in compare(old, new).rules for kind in rule.kinds}
    assert kinds == set(KINDS)


def test_a_rule_reads_as_conditions_and_outcome() -> None:
    conditions = (Condition(0, "age", upper=50), Condition(4, "site", allowed=("arm",)))
    rule = Rule(0, 1, conditions, "yes", (0.2, 0.8), LeafNumbers("yes", "yes", 0.8))
    assert rule.text == "age <= 50 and site is arm: yes"
    assert (
        Rule(0, 1, conditions[:1], None, (12.5,), LeafNumbers(None, None, 12.5)).text
        == "age <= 50: 12.5"
    )
