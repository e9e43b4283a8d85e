"""Known edits of a tree are read back, exactly those and nothing else."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.diff.trees import (
    CATEGORIES,
    NAMES,
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
