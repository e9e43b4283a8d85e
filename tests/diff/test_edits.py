"""Known edits of a tree are read back, exactly those and nothing else; so are conditions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from steadytree.diff.changes import compare_conditions
from steadytree.tree.words import Condition
from tests.diff.trees import (
    CATEGORIES,
    NAMES,
    SPACE,
    UPPER,
    Leaf,
    Split,
    at,
    below,
    changed,
    compare,
    count,
    cuts,
    features_above,
    leaf_places,
    nodes,
    put,
    split_places,
    splits,
    thresholds,
)


@given(nodes())
@settings(max_examples=60)
def test_a_tree_is_unchanged_against_itself(root: Any) -> None:
    diff = compare(root, root)
    assert diff.unchanged
    assert diff.dissimilarity == 0
    assert diff.counts["kept"] == count(root)
    assert diff.splits == ()
    assert all(rule.kinds == () for rule in diff.rules)


@given(st.data())
@settings(max_examples=60)
def test_a_moved_threshold_is_read_back(data: st.DataObject) -> None:
    root = data.draw(splits())
    numeric = [w for w in split_places(root) if isinstance(at(root, w).at, float)]
    assume(numeric)
    where = data.draw(st.sampled_from(numeric))
    node = at(root, where)
    new = data.draw(thresholds.filter(lambda t: t != node.at))
    diff = compare(root, put(root, where, replace(node, at=new)))

    concerned = below(root, where)
    assert changed(diff) == dict.fromkeys(sorted(concerned), "moved")
    span = UPPER[node.feature]
    for number in concerned:
        rule = diff.rules[number - 1]
        (change,) = rule.changes
        assert rule.kinds == ("threshold_moved",)
        assert (change.kind, change.name) == ("threshold_moved", NAMES[node.feature])
        assert (change.old_bound, change.new_bound) == (node.at * span, new * span)
        assert change.shift == pytest.approx((new - node.at) * span)
        assert change.share_of_range == pytest.approx(new - node.at)
    (split,) = diff.splits
    assert (split.kind, split.name) == ("moved", NAMES[node.feature])
    assert not split.only_conditions
    assert set(split.rules) == concerned
    assert split.first == (where == ())
    assert (split.old_bound, split.new_bound) == (node.at * span, new * span)


@given(st.data())
@settings(max_examples=60)
def test_a_relabelled_leaf_is_read_back(data: st.DataObject) -> None:
    root = data.draw(nodes())
    where = data.draw(st.sampled_from(leaf_places(root)))
    leaf = at(root, where)
    diff = compare(root, put(root, where, Leaf(1 - leaf.label, leaf.share)))
    (number,) = below(root, where)
    assert changed(diff) == {number: "relabelled"}
    rule = diff.rules[number - 1]
    assert rule.kinds == ("relabelled",)
    assert rule.relabelled
    assert rule.new is not None
    assert rule.new.kept_against_share  # the share did not move, only the label
    assert diff.kept_against_share == (rule,)
    assert diff.splits == ()


@given(st.data())
@settings(max_examples=60)
def test_a_split_added_at_a_leaf_is_read_back(data: st.DataObject) -> None:
    root = data.draw(nodes())
    where = data.draw(st.sampled_from(leaf_places(root)))
    unused = [f for f in range(5) if f not in features_above(root, where)]
    feature = data.draw(st.sampled_from(unused))
    leaf = at(root, where)
    # Which of the two is "the old rule" must not be a matter of taste: its label stays.
    new = Split(feature, data.draw(cuts(feature)), leaf, Leaf(1 - leaf.label, 0.5))
    diff = compare(root, put(root, where, new))
    (number,) = below(root, where)
    assert changed(diff) == {number: "moved", count(root) + 1: "added"}
    rule = diff.rules[number - 1]
    (change,) = rule.changes
    assert rule.kinds == ("condition_added",)
    assert (change.kind, change.name) == ("condition_added", NAMES[feature])
    (split,) = diff.splits
    assert (split.kind, split.name) == ("added", NAMES[feature])
    assert set(split.rules) == {number, count(root) + 1}
    gained = NAMES[feature] not in {NAMES[at(root, w).feature] for w in split_places(root)}
    assert diff.predictors_gained == ((NAMES[feature],) if gained else ())
    assert diff.predictors_lost == ()


@given(st.data())
@settings(max_examples=60)
def test_a_pruned_split_is_read_back(data: st.DataObject) -> None:
    root = data.draw(splits())
    last = [
        w
        for w in split_places(root)
        if isinstance(at(root, w).left, Leaf) and isinstance(at(root, w).right, Leaf)
    ]
    where = data.draw(st.sampled_from(last))
    node = at(root, where)
    label = data.draw(st.sampled_from([node.left.label, node.right.label]))
    diff = compare(root, put(root, where, Leaf(label, 0.5)))
    statuses = changed(diff)
    assert set(statuses) == below(root, where)
    assert sorted(statuses.values()) == ["dropped", "moved"]
    (rule,) = diff.with_status("moved")
    assert rule.kinds[0] == "condition_removed"
    assert [c.name for c in rule.changes] == [NAMES[node.feature]]
    assert not rule.relabelled
    (split,) = diff.splits
    assert (split.kind, set(split.rules)) == ("removed", below(root, where))


@given(st.data())
@settings(max_examples=60)
def test_a_category_that_changes_sides_is_read_back(data: st.DataObject) -> None:
    root = data.draw(splits())
    by_set = [
        w
        for w in split_places(root)
        if isinstance(at(root, w).at, frozenset) and len(at(root, w).at) > 1
    ]
    assume(by_set)
    where = data.draw(st.sampled_from(by_set))
    node = at(root, where)
    code = data.draw(st.sampled_from(sorted(node.at)))
    diff = compare(root, put(root, where, replace(node, at=node.at - {code})))
    name = (CATEGORIES[node.feature] or ())[code]
    lost, gained = below(root, (*where, "left")), below(root, (*where, "right"))
    assert changed(diff) == dict.fromkeys(sorted(lost | gained), "moved")
    for number in lost | gained:
        (change,) = diff.rules[number - 1].changes
        assert change.kind == "categories_changed"
        assert change.lost == ((name,) if number in lost else ())
        assert change.gained == ((name,) if number in gained else ())
    (split,) = diff.splits
    assert (split.kind, split.categories) == ("categories_changed", (name,))
    assert set(split.rules) == lost | gained


@given(st.data())
@settings(max_examples=60)
def test_a_changed_direction_of_missing_values_is_read_back(data: st.DataObject) -> None:
    root = data.draw(splits())
    can_miss = [w for w in split_places(root) if NAMES[at(root, w).feature] in ("age", "colour")]
    assume(can_miss)
    where = data.draw(st.sampled_from(can_miss))
    node = at(root, where)
    diff = compare(root, put(root, where, replace(node, missing_left=not node.missing_left)))
    concerned = below(root, where)
    assert changed(diff) == dict.fromkeys(sorted(concerned), "moved")
    for number in concerned:
        (change,) = diff.rules[number - 1].changes
        assert (change.kind, change.name) == ("missing_changed", NAMES[node.feature])
    (split,) = diff.splits
    assert split.kind == "missing_changed"
    assert set(split.rules) == concerned


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
