"""A tree that decides the same for everybody: when it does, and the threshold that would help."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as hs
from sklearn.tree import DecisionTreeClassifier

import steadytree as st
from steadytree.evaluation.one_decision import find_one_decision, one_decision_of_leaves
from tests.strategies import examples


def rows(seed, rate=0.1, n=500):
    rng = np.random.default_rng(seed)
    X = rng.random((n, 2))
    return X, (rng.random(n) < 2 * rate * X[:, 0]).astype(int)


def tree_of(X, y, threshold=None):
    model = DecisionTreeClassifier(max_depth=2, min_samples_leaf=30, random_state=0).fit(X, y)
    return st.as_tree(model).relabelled(threshold)


@examples(30)
@given(hs.integers(0, 1000), hs.floats(0.02, 0.4))
def test_the_threshold_is_the_largest_that_catches_half(seed, rate):
    X, y = rows(seed, rate)
    tree = tree_of(X, y, threshold=1.0)
    risk = tree.predict_proba(X)[:, 1]
    found = find_one_decision(tree, risk, y == 1)
    if len(set(tree.predict(X))) > 1:
        assert found is None
        return
    assert found is not None
    assert found.event_share == pytest.approx(y.mean())
    if found.threshold is None:
        assert y.sum() == 0 or len(np.unique(risk)) == 1
        return
    caught = tree.relabelled(found.threshold).predict(X)[y == 1] == 1
    assert caught.mean() >= 0.5
    higher = risk[risk > found.threshold]
    if len(higher):
        assert (tree.relabelled(higher.min()).predict(X)[y == 1] == 1).mean() < 0.5


def test_the_words_name_the_class_the_share_and_the_threshold():
    X, y = rows(0)
    tree = tree_of(X, y)
    found = find_one_decision(tree, tree.predict_proba(X)[:, 1], y == 1)
    share = f"{100 * y.mean():.0f} %"
    assert found.words("it") == (
        f'it decides "0" for all 500 rows: "1" needs a risk of 50 % and {share} of rows are 1. '
        f"A threshold of {found.threshold_words} would catch half of them."
    )


def test_by_its_leaves_it_says_the_same_as_by_the_rows_it_was_grown_on():
    X, y = rows(1)
    tree = tree_of(X, y)
    by_rows = find_one_decision(tree, tree.predict_proba(X)[:, 1], y == 1)
    assert one_decision_of_leaves(tree) == by_rows


def test_a_tree_that_tells_rows_apart_is_none():
    X, y = rows(0)
    assert one_decision_of_leaves(tree_of(X, y, threshold=0.1)) is None


def test_several_classes_are_said_without_a_threshold():
    X, y = rows(0)
    three = st.as_tree(DecisionTreeClassifier(max_depth=1, random_state=0).fit(X, [*y[:-1], 2]))
    found = one_decision_of_leaves(three)
    assert found.words() == 'the tree decides "0" for all 500 rows.'


def test_a_first_tree_that_flags_nobody_warns():
    X, y = rows(0)
    with pytest.warns(st.exceptions.SteadyTreeWarning, match='decides "0" for all 500 rows'):
        st.DistilledTreeClassifier(n_estimators=10, random_state=0).fit(X, y)
