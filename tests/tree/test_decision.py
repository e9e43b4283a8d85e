"""A policy turns shares into labels, whatever it was given as, and says what chance may do."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as hs
from scipy.stats import norm
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import steadytree as st
from steadytree.exceptions import InputError
from steadytree.plugins import read_model
from steadytree.tree.decision import (
    Decision,
    find_one_decision,
    obvious_positive,
    one_decision_of_leaves,
    resolve_decision,
)
from steadytree.tree.tree import Tree
from tests.strategies import examples

SHARE = hs.floats(0.0, 1.0)
WEIGHT = hs.floats(0.01, 100.0)


def pair(share: float) -> np.ndarray:
    return np.array([[1 - share, share]])


@given(SHARE, hs.floats(0.0, 1.0))
def test_a_threshold_is_reached_from_it_on(share: float, threshold: float) -> None:
    label = Decision(threshold=threshold).labels(pair(share))[0]
    assert label == int(share >= threshold)
    named = Decision(threshold=threshold, positive="no").resolve(("no", "yes"))
    other = named.labels(pair(share))[0]
    assert other == (0 if 1 - share >= threshold else 1)


@given(SHARE, WEIGHT, WEIGHT)
def test_weights_of_two_classes_amount_to_a_threshold(share: float, one: float, two: float) -> None:
    decision = Decision().unweighted((one, two))
    gap = two * share - one * (1 - share)
    if abs(gap) > 1e-9 * (one + two):  # on the boundary rounding decides
        assert decision.labels(pair(share))[0] == int(gap > 0)


def test_costs_by_class_amount_to_a_threshold() -> None:
    costs = {"bad": 9, "good": 1}
    decision = Decision(positive="bad", costs=costs).resolve(("bad", "good"))
    assert (decision.threshold, decision.position, decision.origin) == (0.1, 0, "costs")
    assert decision.labels(np.array([[0.1, 0.9], [0.09, 0.91]])).tolist() == [0, 1]
    other = Decision(positive="good", costs=costs).resolve(("bad", "good"))
    assert (other.threshold, other.position) == (0.9, 1)
    several = Decision(costs={"a": 1, "b": 1, "c": 4}).resolve(("a", "b", "c"))
    assert several.labels(np.array([[0.5, 0.3, 0.2], [0.9, 0.05, 0.05]])).tolist() == [2, 0]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"costs": {"a": 0, "b": 1}}, "expected costs above 0, got 0, 1"),
        ({"costs": [1, 2]}, r"expected costs by class name, got \[1, 2\]"),
        ({"costs": {"a": 1, "b": 1}, "threshold": 0.5}, "expected a threshold or costs, got both"),
        (
            {"costs": {"a": 1, "b": 1}, "threshold": "prevalence"},
            "expected a threshold or costs, got both",
        ),
        ({"threshold": "often"}, r"expected decision_threshold in \[0, 1\], got 'often'"),
        ({"steady": -1}, "expected steady to be standard errors >= 0, got -1"),
        ({"steady": "x"}, "expected steady to be standard errors >= 0, got 'x'"),
    ],
)
def test_policies_that_say_nothing(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Decision(**given)


def test_costs_name_every_class() -> None:
    with pytest.raises(InputError, match="costs for each of the classes 'a', 'b', got 'a', 'c'"):
        Decision(positive="a", costs={"a": 1, "c": 2}).resolve(("a", "b"))


def test_weights_of_several_classes() -> None:
    shares = np.array([[0.5, 0.3, 0.2]])
    assert Decision().labels(shares)[0] == 0
    assert Decision().unweighted((1, 1, 4)).labels(shares)[0] == 2
    with pytest.raises(InputError, match="expected 3 class weights, one per class, got 2"):
        Decision(class_weight=(1, 2)).labels(shares)


@given(SHARE, hs.floats(0.01, 0.99), WEIGHT, WEIGHT)
def test_weighted_shares_decide_as_plain_ones_do(
    share: float, threshold: float, one: float, two: float
) -> None:
    """A policy on shares that carry class weights, and the same on rates."""
    weighted = np.array([[one * (1 - share), two * share]])
    weighted /= weighted.sum()
    if abs(weighted[0, 1] - threshold) > 1e-9:
        policy = Decision(threshold=threshold)
        plain = policy.unweighted((one, two))
        assert plain.labels(pair(share))[0] == policy.labels(weighted)[0]


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        (Decision(), "the class with the largest share"),
        (Decision(threshold=0.25), "flags yes from a risk of 25 % on"),
        (
            Decision(positive="no", costs={"no": 9, "yes": 1}),
            "flags no from a risk of 10 % on (costs)",
        ),
        (Decision(positive="no"), "the class with the largest share; no is the positive class"),
        (
            Decision(steady=0),
            "the class with the largest share; labels change beyond 0 standard errors",
        ),
        (Decision(class_weight=(1, 2)), "the class with the largest share, the classes weighted"),
    ],
)
def test_words(policy: Decision, words: str) -> None:
    assert policy.words(("no", "yes")) == words


def test_words_say_that_nobody_named_the_positive_class() -> None:
    assert Decision().words(("bad", "good")) == (
        "the class with the largest share; good is the positive class, as nobody named one"
    )


@pytest.mark.parametrize(
    ("asked", "classes", "message"),
    [
        (0.5, None, "expected two classes for a decision_threshold, got regression"),
        (0.5, "abc", "expected two classes for a decision_threshold, got 3 classes"),
        (2, "ab", r"expected decision_threshold in \[0, 1\], got 2"),
        ("x", "ab", 'expected a number, "prevalence", a Decision or None'),
        (Decision(class_weight=(1, 2, 3)), "ab", "expected 2 class weights"),
        (Decision(positive="c"), "ab", "positive= to name one of the classes 'a', 'b', got 'c'"),
        (Decision(0.2, positive="no"), (0, 1), "one of the classes 0, 1, got 'no'"),
        (Decision(positive="a"), "abc", "expected two classes for a positive class, got 3"),
        (0.3, ("bad", "good"), r"say positive='bad' or positive='good' in Decision\("),
        ("prevalence", ("bad", "good"), "say positive='bad' or positive='good'"),
        (Decision(costs={"bad": 1, "good": 2}), ("bad", "good"), "say positive='bad' or"),
    ],
)
def test_policies_that_cannot_be(asked: Any, classes: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        resolve_decision(asked, classes, lambda at: 0.2)


def test_policies_as_asked_for() -> None:
    def rate(at: int) -> float:
        return (0.2, 0.8)[at]

    assert resolve_decision(None, "ab", rate) is None
    found = resolve_decision("prevalence", "ab", rate, positive="a")
    assert found == Decision(threshold=0.2, positive="a", origin="prevalence")
    asked = Decision("prevalence", positive="a", steady=0)
    assert resolve_decision(asked, "ab", rate) == replace(found, steady=0)
    assert resolve_decision(found, "ab", lambda at: 0.9) == found, "counted once"
    with pytest.raises(InputError, match='threshold is a number, got "prevalence"; pass it as'):
        asked.resolve("ab")
    assert resolve_decision(0.3, (0, 1), rate) == Decision(threshold=0.3, positive=1)
    named = resolve_decision(None, "ab", rate, positive="a")
    assert named is not None
    assert (named, named.position) == (Decision(positive="a"), 0)
    for name, beside in (("c", None), ("b", Decision(0.3, positive="a"))):
        with pytest.raises(InputError, match=f"pos_label=.*{name}"):
            resolve_decision(beside, "ab", rate, positive=name, spelled="pos_label")


def test_what_is_not_said_is_inherited() -> None:
    def rate(at: int) -> float:
        return 0.5

    known = Decision(0.2, positive="bad", steady=1.0).resolve(("bad", "good"))
    classes = ("good", "bad")  # in another order: the name counts
    bare = resolve_decision(0.4, classes, rate, known=known)
    assert bare == Decision(0.4, positive="bad", steady=1.0)
    assert bare.position == 1
    follow = resolve_decision(Decision(steady=0), classes, rate, known=known)
    assert follow == Decision(0.2, positive="bad", steady=0)
    with pytest.raises(InputError, match=r"'bad' as positive class, .* got 'good'; give a thresh"):
        resolve_decision(None, classes, rate, positive="good", known=known)
    other = resolve_decision(0.4, classes, rate, positive="good", known=known)
    assert other == Decision(0.4, positive="good", steady=1.0)


@pytest.mark.parametrize(
    ("classes", "positive"),
    [
        ((0, 1), 1),
        ((-1, 1), 1),
        ((False, True), 1),
        ((0.0, 1.0), 1),
        (("no", "yes"), 1),
        (("Yes", "no"), 0),
        (("NO", "YES"), 1),
        (("bad", "good"), None),
        ((1, 2), None),
        ((0, 1, 2), None),
    ],
)
def test_which_class_everybody_would_call_positive(classes: Any, positive: int | None) -> None:
    assert obvious_positive(classes) == positive
    assert Decision().resolve(classes).position == (
        0 if len(classes) > 2 else 1 if positive is None else positive
    )


@pytest.mark.parametrize("errors", [0.5, 1.0, 2.0])
@pytest.mark.parametrize(("threshold", "n"), [(0.5, 30), (0.5, 400), (0.2, 100), (0.05, 400)])
def test_chance_overturns_a_label_as_rarely_as_stated(
    threshold: float, n: int, errors: float
) -> None:
    """If the truth lies on the threshold, the share passes the limit with the normal's tail."""
    rng = np.random.default_rng(0)
    shares = rng.binomial(n, threshold, 20_000) / n
    decision = Decision(threshold=threshold)
    changed = np.mean(
        [s >= threshold and decision.clearly(pair(s)[0], 0, 1, n, errors) for s in shares]
    )
    step = norm.pdf(0) / np.sqrt(threshold * (1 - threshold) * n)  # shares are whole rows
    assert changed == pytest.approx(norm.sf(errors), abs=step + 0.01)


def test_chance_between_several_classes() -> None:
    rng = np.random.default_rng(1)
    shares = rng.multinomial(200, [0.4, 0.4, 0.2], 20_000) / 200
    decision = Decision()
    changed = np.mean([s[1] > s[0] and decision.clearly(s, 0, 1, 200, 0.5) for s in shares])
    assert changed == pytest.approx(norm.sf(0.5), abs=0.04)
    assert not decision.clearly(np.array([0.2, 0.8]), 0, 1, 0, 0.5)  # no row, no evidence


# -- a tree that decides the same for everybody: what is said of it, counted here by han


X = np.arange(100.0)[:, None]


def stump(events: tuple[int, int], *, labels: tuple[Any, Any] = ("no", "yes")) -> Tree:
    """Split 100 rows in halves, of which so many are events."""
    y = np.zeros(100, dtype=int)
    y[: events[0]] = 1
    y[50 : 50 + events[1]] = 1
    model = DecisionTreeClassifier(max_depth=1, random_state=0)
    # Only the cut in the middle: the rows of a half are alike.
    tree = read_model(model.fit(np.floor(X / 50), np.array(labels)[y]))
    assert tree.n_leaves == 2
    return tree


@pytest.mark.parametrize("observed", [True, False])
def test_rare_events_need_a_threshold(observed: bool) -> None:
    tree = stump((2, 10))
    if not observed:
        tree = tree.replace(observed=None)
    found = one_decision_of_leaves(tree)
    assert found is not None
    assert (found.label, found.positive, found.n_rows) == ("no", "yes", 100)
    assert (found.event_share, found.threshold, found.needed) == pytest.approx((0.12, 0.2, 0.5))
    assert found.words("The old tree") == (
        'The old tree decides "no" for all 100 rows: "yes" needs a risk of 50 % and 12 % of rows '
        "are yes. A threshold of 20 % would catch half of them."
    )
    assert one_decision_of_leaves(tree.relabelled(0.2)) is None


def test_a_threshold_that_all_reach_is_one_decision_too() -> None:
    found = one_decision_of_leaves(stump((10, 20)).relabelled(0.1))
    assert found is not None
    assert found.words() == (
        'the tree decides "yes" for all 100 rows: "yes" needs a risk of 10 % and 30 % of rows are '
        "yes. A threshold of 40 % would still catch half of them."
    )


def test_where_nobody_named_a_class_it_is_the_one_that_nobody_gets() -> None:
    """By the alphabet "good" comes second: what is to be found among loans is "bad"."""
    y = np.full(100, "good")
    y[[0, 1, *range(50, 60)]] = "bad"
    model = DecisionTreeClassifier(max_depth=1, random_state=0).fit(np.floor(X / 50), y)
    found = one_decision_of_leaves(read_model(model))
    assert found is not None
    assert found.words() == (
        'the tree decides "good" for all 100 rows: "bad" needs a risk of 50 % and 12 % of rows '
        "are bad. A threshold of 20 % would catch half of them."
    )
    named = one_decision_of_leaves(st.as_tree(read_model(model), st.Decision(positive="good")))
    assert named is not None
    assert (named.positive, named.event_share) == ("good", pytest.approx(0.88))


def test_a_handful_of_events_counts() -> None:
    found = one_decision_of_leaves(stump((0, 4)))
    assert found is not None
    assert found.event_share == 0.04
    assert found.threshold == 0.08


def test_costs_and_class_weights_say_which_risk_is_needed() -> None:
    tree = stump((2, 10))
    for policy, needed in (
        (st.Decision(costs={"no": 3, "yes": 1}), 0.75),
        (st.Decision(class_weight=(1.0, 3.0)), 0.25),
    ):
        found = one_decision_of_leaves(st.as_tree(tree, policy))
        assert found is not None
        assert found.needed == needed


def test_rows_are_spoken_of_only_where_they_were_counted() -> None:
    weighted = stump((2, 10)).replace(observed=None, metadata={})
    found = one_decision_of_leaves(weighted)
    assert found is not None
    assert found.words() == 'the tree decides "no" for all rows: "yes" needs a risk of 50 %.'


def test_the_rows_decide_which_leaves_count() -> None:
    tree = stump((2, 40))
    assert one_decision_of_leaves(tree) is None
    risk = np.full(30, tree.value[tree.leaves[0], 1])
    found = find_one_decision(tree, risk, np.arange(30) < 6)
    assert found is not None
    assert (found.label, found.n_rows, found.event_share) == ("no", 30, 0.2)
    assert found.threshold is None, "the risk is the same for everybody"


def test_several_classes_one_class_and_a_response() -> None:
    y = np.array(["a"] * 60 + ["b"] * 25 + ["c"] * 15)
    one = read_model(DecisionTreeClassifier(max_depth=1, random_state=0).fit(X * 0, y))
    found = one_decision_of_leaves(one)
    assert found is not None
    assert found.words() == 'the tree decides "a" for all 100 rows.'
    single = read_model(DecisionTreeClassifier().fit(X, np.full(100, "a")))
    assert one_decision_of_leaves(single) is None
    response = read_model(DecisionTreeRegressor(max_depth=1).fit(X, X[:, 0]))
    assert one_decision_of_leaves(response) is None


@examples(30)
@given(hs.integers(0, 1000), hs.floats(0.03, 0.4))
def test_the_threshold_is_the_largest_that_catches_half(seed: int, rate: float) -> None:
    rng = np.random.default_rng(seed)
    rows = rng.random((500, 2))
    y = (rng.random(500) < 2 * rate * rows[:, 0]).astype(int)
    model = DecisionTreeClassifier(max_depth=2, min_samples_leaf=30, random_state=0)
    tree = read_model(model.fit(rows, y)).relabelled(1.0)
    risk = tree.predict_proba(rows)[:, 1]
    found = find_one_decision(tree, risk, y == 1)
    assert (found is None) == (len(set(tree.predict(rows))) > 1)
    if found is None or found.threshold is None:
        return
    sick = risk[y == 1]
    assert (sick >= found.threshold).mean() >= 0.5 > (sick > found.threshold).mean()
