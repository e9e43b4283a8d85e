"""A tree that decides the same for everybody: what is said of it, counted here by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as hs
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import steadytree as st
from steadytree.plugins import read_model
from steadytree.tree.decision import find_one_decision, one_decision_of_leaves
from steadytree.tree.tree import Tree
from tests.strategies import examples

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
