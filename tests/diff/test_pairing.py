"""Which rule became which, as a person would read it."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steadytree.diff.changes import compare_conditions
from steadytree.diff.pairing import Pair, read_pairs, some_case_follows_both
from steadytree.distance import match_paths
from steadytree.distance.equations import cost_matrix
from steadytree.tree.words import Condition
from tests.diff.trees import Leaf, Split, build, changed, compare, cuts, nodes, splits


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


def test_of_readings_that_cost_the_same_the_shorter_one_counts() -> None:
    """Both rules could have become either; "a condition on weight came" says less."""
    old = Split(2, 0.4, Leaf(0, 0.1), Leaf(0, 0.1))
    halves = [Split(2, at, Leaf(1, 0.9), Leaf(0, 0.1)) for at in (0.4, 0.6)]
    matching = match_paths(build(old), build(Split(1, 0.8, *halves)), variant="metric")
    assert {pair.path_a: pair.path_b for pair in matching.pairs} == {0: 1, 1: 3}
    cost = cost_matrix(matching.a, matching.b, matching.options)
    assert cost[0, 1] + cost[1, 3] == pytest.approx(cost[0, 3] + cost[1, 1])
    (pair,) = read_pairs(matching)  # the other two share nothing
    assert (pair.old, pair.new, len(pair.changes)) == (1, 1, 1)
    diff = compare(old, Split(1, 0.8, *halves))
    assert [c.text for c in diff.rules[1].changes] == ["condition added: weight <= 160"]


@given(splits(3), splits(3))
@settings(max_examples=60)
def test_no_exchange_at_the_same_cost_would_change_less(old: Split, new: Split) -> None:
    matching = match_paths(build(old), build(new), variant="metric")
    cost = cost_matrix(matching.a, matching.b, matching.options)
    pairs = [pair for pair in read_pairs(matching) if pair.changes]
    conditions = matching.a.conditions, matching.b.conditions

    def n_changes(p: int, q: int) -> int:
        return len(compare_conditions(matching.a.space, conditions[0][p], conditions[1][q]))

    for one, two in itertools.combinations(pairs, 2):
        now = cost[one.old, one.new] + cost[two.old, two.new]
        if cost[one.old, two.new] + cost[two.old, one.new] <= now + 1e-9:
            there = len(one.changes) + len(two.changes)
            assert n_changes(one.old, two.new) + n_changes(two.old, one.new) >= there


def test_overlap_is_the_share_of_the_looser_rule_that_both_ask() -> None:
    """weight <= 100 is asked before and after; the other half of either rule is not."""
    old = Split(1, 0.5, Split(2, 0.5, Leaf(0, 0.1), Leaf(1, 0.9)), Leaf(1, 0.9))
    new = Split(1, 0.5, Split(4, frozenset({0}), Leaf(0, 0.1), Leaf(1, 0.9)), Leaf(1, 0.9))
    overlap = {pair.old: pair.overlap for pair in read(old, new)}
    # Tightened by 0.5 for weight and 0.5 for dose, or 2/5 for each site that is out.
    assert overlap == pytest.approx({0: 0.5, 1: 0.5 / 0.9, 2: 1.0})
    (root,) = read(Leaf(0, 0.1), Leaf(1, 0.9))
    assert (root.changes, root.overlap) == ((), 1.0)  # nothing is asked, so all of it by both


def read(old: Leaf | Split, new: Leaf | Split) -> list[Pair]:
    return read_pairs(match_paths(build(old), build(new), variant="metric"))
