"""Known edits of a tree are read back, exactly those and nothing else."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from steadytree.diff import TreeDiff, diff_trees
from steadytree.diff.pairing import some_case_follows_both
from tests.diff.trees import (
    CATEGORIES,
    COLOURS,
    NAMES,
    UPPER,
    Leaf,
    Split,
    at,
    below,
    build,
    count,
    cuts,
    features_above,
    leaf_places,
    leaves,
    nodes,
    put,
    split_places,
    splits,
    thresholds,
)


def compare(old: Any, new: Any) -> TreeDiff:
    return diff_trees(build(old), build(new))


def changed(diff: TreeDiff) -> dict[int, str]:
    return {rule.number: rule.status for rule in diff.rules if rule.status != "kept"}


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


def test_two_leaves_that_swap_labels_are_relabelled() -> None:
    """The cheapest matching would trade conditions for labels; people would not."""
    old = Split(0, 0.5, Leaf(0, 0.1), Leaf(1, 0.9))
    diff = compare(old, replace(old, left=old.right, right=old.left))
    assert changed(diff) == {1: "relabelled", 2: "relabelled"}


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
def test_another_order_of_splits_is_no_change(data: st.DataObject) -> None:
    first, second = data.draw(st.permutations(range(5)))[:2]
    cut_one, cut_two = data.draw(cuts(first)), data.draw(cuts(second))
    rest = tuple(f for f in range(5) if f not in (first, second))
    ll, lr, rl, rr = (data.draw(nodes(1, rest)) for _ in range(4))
    m1, m2 = data.draw(st.booleans()), data.draw(st.booleans())
    old = Split(
        first, cut_one, Split(second, cut_two, ll, lr, m2), Split(second, cut_two, rl, rr, m2), m1
    )
    new = Split(
        second, cut_two, Split(first, cut_one, ll, rl, m1), Split(first, cut_one, lr, rr, m1), m2
    )
    diff = compare(old, new)
    assert diff.unchanged
    assert diff.dissimilarity == 0
    assert diff.splits == ()


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


@given(nodes(), nodes())
@settings(max_examples=60)
def test_every_rule_of_both_trees_appears_once(old: Any, new: Any) -> None:
    diff = compare(old, new)
    assert [r.old.path for r in diff.rules if r.old] == list(range(count(old)))
    assert sorted(r.new.path for r in diff.rules if r.new) == list(range(count(new)))
    assert [r.number for r in diff.rules] == list(range(1, len(diff.rules) + 1))
    counts = diff.counts
    assert counts["old_rules"] == count(old)
    assert counts["new_rules"] == count(new)
    both = counts["kept"] + counts["relabelled"] + counts["moved"]
    assert both + counts["dropped"] == count(old)
    assert both + counts["added"] == count(new)
    # Reading some pairs apart, or the same conditions together, never costs less.
    assert sum(r.cost for r in diff.rules) >= diff.distance - 1e-9
    for rule in diff.with_status("kept"):
        assert rule.old is not None
        assert rule.new is not None
        assert rule.old.conditions == rule.new.conditions
        assert rule.old.label == rule.new.label


@given(nodes(), nodes())
@settings(max_examples=60)
def test_the_diff_read_backwards_mirrors_it(old: Any, new: Any) -> None:
    there, back = compare(old, new), compare(new, old)
    assert there.dissimilarity == pytest.approx(back.dissimilarity)
    assert there.unchanged == back.unchanged
    assert there.predictors_gained == back.predictors_lost
    assert there.predictors_lost == back.predictors_gained
    assert there.counts["kept"] == back.counts["kept"]


def test_rules_that_share_nothing_are_dropped_and_added() -> None:
    old = Split(0, 0.5, Leaf(0, 0.1), Leaf(1, 0.9))
    new = Split(1, 0.5, Leaf(0, 0.1), Leaf(1, 0.9))
    diff = compare(old, new)
    assert changed(diff) == {1: "dropped", 2: "dropped", 3: "added", 4: "added"}
    assert diff.predictors_lost == ("age",)
    assert diff.predictors_gained == ("weight",)


def test_a_swapped_split_reads_as_replaced() -> None:
    def tree(feature: int, at: float) -> Split:
        inner = Split(feature, at, Leaf(0, 0.1), Leaf(1, 0.9))
        return Split(2, 0.5, inner, Split(4, frozenset({0}), Leaf(0, 0.2), Leaf(1, 0.8)))

    diff = compare(tree(0, 0.5), tree(1, 0.25))
    (split,) = diff.splits
    assert split.kind == "replaced"
    assert split.text == "the split on age at 50 replaced by weight at 50: 2 rules"


def test_a_rule_that_no_case_could_follow_both_ways_is_not_moved() -> None:
    """Much in common (dose, site), but age <= 30 before and age > 60 now."""

    def tree(age: float, flip: bool) -> Split:
        inner = Split(0, age, Leaf(0, 0.1), Leaf(1, 0.9))
        if flip:
            inner = Split(0, age, Leaf(1, 0.9), Leaf(0, 0.1))
        rest = Split(4, frozenset({0}), inner, Leaf(1, 0.8))
        return Split(2, 0.5, rest, Leaf(1, 0.7))

    diff = compare(tree(0.3, False), tree(0.6, True))
    assert diff.counts["kept"] == 2
    for rule in diff.with_status("moved"):
        assert rule.old is not None
        assert rule.new is not None
        assert some_case_follows_both(rule.old.conditions, rule.new.conditions)
    assert [r.old.text for r in diff.with_status("dropped") if r.old] == [
        "(age <= 30 or missing) and dose <= 0.5 and site is arm: no"
    ]
    assert [r.new.text for r in diff.with_status("added") if r.new] == [
        "age > 60 and dose <= 0.5 and site is arm: no"
    ]


def test_a_split_that_is_still_there_is_not_called_removed() -> None:
    """The split on age stays, but for other rules."""
    age = Split(0, 0.5, Leaf(0, 0.1), Leaf(1, 0.9))
    old = Split(2, 0.5, age, Split(1, 0.5, Leaf(0, 0.3), Leaf(1, 0.8)))
    new = Split(2, 0.5, Leaf(0, 0.1), Split(1, 0.5, Leaf(0, 0.3), age))
    diff = compare(old, new)
    assert {split.kind for split in diff.splits} == {"removed", "added"}
    assert all(split.only_conditions for split in diff.splits)
    assert "a condition on age at 50 removed: 1 rule" in [s.text for s in diff.splits]
    assert not any(split.first for split in diff.splits)


def test_a_leaf_grown_into_a_tree_and_back() -> None:
    grown = Split(3, frozenset({0, 1}), Leaf(0, 0.1), Leaf(1, 0.9))
    diff = compare(Leaf(0, 0.3), grown)
    assert changed(diff) == {1: "moved", 2: "added"}
    assert diff.splits[0].text.startswith("a first split on colour")
    back = compare(grown, Leaf(0, 0.3))
    assert changed(back) == {1: "moved", 2: "dropped"}


def test_a_split_on_missingness_alone() -> None:
    base = Split(0, 0.5, Leaf(0, 0.1), Leaf(1, 0.9))
    inf = replace(base, at=float("inf"), missing_left=False)
    diff = compare(Leaf(0, 0.3), inf)
    (rule,) = diff.with_status("moved")
    assert [c.text for c in rule.changes] == ["condition added: age is not missing"]
    (added,) = diff.with_status("added")
    assert added.text == "age is missing: yes"
    assert set(diff.splits[0].rules) == {1, 2}


@given(st.data())
@settings(max_examples=60)
def test_shares_alone_change_no_rule(data: st.DataObject) -> None:
    root = data.draw(nodes())
    where = data.draw(st.sampled_from(leaf_places(root)))
    leaf = at(root, where)
    share = data.draw(leaves().map(lambda one: one.share))
    diff = compare(root, put(root, where, Leaf(leaf.label, share)))
    assert diff.unchanged
    (number,) = below(root, where)
    rule = diff.rules[number - 1]
    assert rule.status == "kept"
    assert rule.value_change == pytest.approx(share - leaf.share)
    assert rule.kinds == (("value_changed",) if share != leaf.share else ())


def test_unknown_colours_are_not_invented() -> None:
    """Every category in words comes from the space."""
    old = Split(3, frozenset({0, 1}), Leaf(0, 0.1), Leaf(1, 0.9))
    diff = compare(old, replace(old, at=frozenset({0})))
    texts = [c.text for r in diff.rules for c in r.changes]
    assert texts == ["colour: green no longer included", "colour: green now included"]
    assert diff.splits[0].text == "the first split on colour sends green the other way: 2 rules"
    assert COLOURS[1] == "green"
