"""Which rule became which, as a person would read it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steadytree.core.words import Condition
from steadytree.diff.pairing import read_pairs, some_case_follows_both
from steadytree.distance import match_paths
from tests.diff.trees import (
    NEW,
    OLD,
    Leaf,
    Split,
    build,
    changed,
    compare,
    cuts,
    nodes,
)


def test_two_leaves_that_swap_labels_are_relabelled() -> None:
    """The cheapest matching would trade conditions for labels; people would not."""
    old = Split(0, 0.5, Leaf(0, 0.1), Leaf(1, 0.9))
    diff = compare(old, replace(old, left=old.right, right=old.left))
    assert changed(diff) == {1: "relabelled", 2: "relabelled"}


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


def test_rules_that_share_nothing_are_dropped_and_added() -> None:
    old = Split(0, 0.5, Leaf(0, 0.1), Leaf(1, 0.9))
    new = Split(1, 0.5, Leaf(0, 0.1), Leaf(1, 0.9))
    diff = compare(old, new)
    assert changed(diff) == {1: "dropped", 2: "dropped", 3: "added", 4: "added"}
    assert diff.predictors_lost == ("age",)
    assert diff.predictors_gained == ("weight",)


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


def test_rules_are_paired_in_the_order_of_the_old_tree() -> None:
    pairs = read_pairs(match_paths(build(OLD), build(NEW), variant="metric"))
    assert [(pair.old, pair.new) for pair in pairs] == [(i, i) for i in range(4)]
    assert all(len(pair.changes) == 1 for pair in pairs)
    assert all(pair.cost > 0 for pair in pairs)
    # The looser form of each rule asks nothing that the stricter one does not ask.
    assert [pair.overlap for pair in pairs] == pytest.approx([1.0] * 4)


def test_a_rule_paired_with_itself_costs_nothing() -> None:
    pairs = read_pairs(match_paths(build(OLD), build(OLD), variant="metric"))
    assert [(pair.changes, pair.cost, pair.overlap) for pair in pairs] == [((), 0.0, 1.0)] * 4


@pytest.mark.parametrize(
    ("one", "two", "possible"),
    [
        (Condition(0, "age", upper=30), Condition(0, "age", lower=20), True),
        (Condition(0, "age", upper=30), Condition(0, "age", lower=30), False),
        (Condition(0, "age", upper=30), Condition(1, "weight", lower=30), True),
        (
            Condition(0, "age", upper=30, missing=True),
            Condition(0, "age", lower=60, missing=True),
            True,
        ),
        (
            Condition(0, "age", present=False, missing=True),
            Condition(0, "age", upper=30, missing=False),
            False,
        ),
        (Condition(4, "site", allowed=("arm",)), Condition(4, "site", allowed=("leg",)), False),
        (
            Condition(4, "site", allowed=("arm", "leg")),
            Condition(4, "site", allowed=("leg",)),
            True,
        ),
    ],
)
def test_a_case_must_fit_both_rules(one: Condition, two: Condition, possible: bool) -> None:
    assert some_case_follows_both([one], [two]) is possible
    assert some_case_follows_both([two], [one]) is possible
    assert some_case_follows_both([one], [])
