"""Every rule is there once; shares, rates and flips are what a direct count gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_diabetes, load_iris
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from steadytree.diff import TreeDiff, diff_trees
from steadytree.exceptions import InputError
from steadytree.plugins import as_tree
from steadytree.tree.rows import CodedRows
from steadytree.tree.space import FeatureSpace
from tests.diff.trees import (
    COLOURS,
    SITES,
    SPACE,
    Leaf,
    Split,
    at,
    below,
    build,
    compare,
    count,
    leaf_places,
    leaves,
    nodes,
    put,
    rows,
)


def check_counts(diff: TreeDiff, X: Any, y: Any) -> None:
    old_leaf, new_leaf = diff.old.apply(X), diff.new.apply(X)
    for rule in diff.rules:
        for side, leaf in ((rule.old, old_leaf), (rule.new, new_leaf)):
            if side is not None:
                inside = leaf == side.leaf
                assert (side.rows, side.share) == (inside.sum(), pytest.approx(inside.mean()))
                if inside.any():
                    assert side.outcome_rate == pytest.approx(np.mean(y[inside]))
        if rule.old is not None and rule.new is not None:
            both = (old_leaf == rule.old.leaf) & (new_leaf == rule.new.leaf)
            assert rule.share_in_both == pytest.approx(both.mean())
    for side in ("old", "new"):
        total = sum(getattr(r, side).share for r in diff.rules if getattr(r, side) is not None)
        assert total == pytest.approx(1)
    assert all(0 <= split.share <= 1 for split in diff.splits if split.share is not None)


@given(nodes(), nodes(), st.integers(0, 10_000))
@settings(max_examples=40)
def test_shares_sum_to_one_and_flips_are_counted(old: Any, new: Any, seed: int) -> None:
    X = rows(seed)
    y = np.random.default_rng(seed).choice(["no", "yes"], len(X))
    diff = diff_trees(build(old), build(new), X, y=y)
    assert diff.flips == np.mean(diff.old.predict(X) != diff.new.predict(X))
    assert diff.n_rows == len(X)
    assert diff.mean_value_shift is None
    assert all(split.share is not None for split in diff.splits)
    check_counts(diff, X, y == "yes")


def test_more_than_two_classes() -> None:
    X, y = load_iris(return_X_y=True, as_frame=True)
    y = y.map(dict(enumerate(["setosa", "versicolor", "virginica"])))
    space = FeatureSpace.from_data(X, y)
    old = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X[::2], y[::2])
    new = DecisionTreeClassifier(max_depth=4, random_state=0).fit(X, y)
    diff = diff_trees(old, new, X, y=y, space=space)
    assert diff.classes == ("setosa", "versicolor", "virginica")
    assert diff.flips == pytest.approx(np.mean(old.predict(X) != new.predict(X)))
    for rule in diff.rules:
        if rule.new is not None and rule.new.share:
            inside = new.apply(X) == rule.new.leaf
            assert rule.new.outcome_rate == pytest.approx((y[inside] == rule.new.label).mean())
        if rule.old is not None and rule.new is not None:
            moved = np.abs(np.subtract(rule.new.value, rule.old.value)).sum() / 2
            assert rule.value_change == pytest.approx(moved)
    assert any(rule.value_change for rule in diff.rules)


def test_a_rule_shows_the_share_of_the_positive_class() -> None:
    """Of two classes always the same one is shown, whatever a rule decides."""
    diff = diff_trees(OLD, OLD)
    assert [rule.old.numbers.shown for rule in diff.rules] == ["yes", "yes"]
    assert [rule.old.numbers.predicted for rule in diff.rules] == pytest.approx([0.1, 0.9])
    # A tree that knows one of the classes alone never predicts the other.
    shares = {"value": np.ones((OLD.n_nodes, 1)), "label": None, "classes": ("no",), "space": None}
    grown = diff_trees(OLD.replace(**shares), OLD, space=SPACE)
    numbers = [half.numbers for half in (grown.rules[1].old, grown.rules[1].new)]
    assert [one.shown for one in numbers] == ["yes", "yes"]
    assert [one.predicted for one in numbers] == pytest.approx([0.0, 0.9])
    assert "label changed from no to yes; predicts yes 0.0 % -> 90.0 %" in grown.to_text()


def test_regression() -> None:
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    space = FeatureSpace.from_data(X, y, task="regression")
    old = DecisionTreeRegressor(max_depth=3, random_state=0).fit(X[::2], y[::2])
    new = DecisionTreeRegressor(max_depth=3, random_state=0).fit(X, y)
    diff = diff_trees(old, new, X, y=y, space=space)
    moved = np.abs(new.predict(X) - old.predict(X))
    assert diff.mean_value_shift == pytest.approx(moved.mean())
    assert diff.flips == pytest.approx((moved > 0.05 * (y.max() - y.min())).mean())
    check_counts(diff, X, y.to_numpy())
    assert diff.classes is None
    assert not any(rule.relabelled for rule in diff.rules)
    # The same tree with other means: every rule is kept, yet the tree did change.
    tree = as_tree(old, space=space)
    shifted = diff_trees(tree, tree.replace(value=tree.value + 5.0))
    assert shifted.counts["kept"] == tree.n_leaves
    assert not shifted.unchanged
    assert {rule.kinds for rule in shifted.rules} == {("value_changed",)}
    assert [rule.value_change for rule in shifted.rules] == pytest.approx([5.0] * tree.n_leaves)


OLD = build(Split(0, 0.5, Leaf(0, 0.1), Leaf(1, 0.9)))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"y": ["no"]}, "expected X with y, got none"),
        ({"X": rows(0)[:0]}, "expected rows in X, got none"),
        ({"X": rows(0), "y": ["no"]}, r"expected 200 outcomes in y.* got shape \(1,\)"),
    ],
)
def test_bad_rows(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        diff_trees(OLD, OLD, **arguments)


def test_a_rule_for_missing_values_alone_is_a_rule() -> None:
    """Even of a column that the space knows to be complete."""
    tree = build(Split(1, 0.5, Leaf(0, 0.1), Split(1, 0.3, Leaf(0, 0.2), Leaf(1, 0.9)), False))
    X = rows(0)
    assert diff_trees(tree, tree, X).unchanged
    X.loc[7, "weight"] = np.nan
    diff = diff_trees(tree, tree, X)
    assert diff.unchanged
    (alone,) = (rule.new for rule in diff.rules if rule.new.text.startswith("weight is missing"))
    assert alone.rows == 1


def test_rules_say_where_missing_values_go_that_one_of_the_trees_knows_of() -> None:
    """The space that changes are measured in need not know of them, and stays as it is."""
    inner = Split(4, frozenset({0, 1}), Leaf(0, 0.1), Leaf(1, 0.8), False)
    old = build(Split(1, 0.5, inner, Leaf(0, 0.2), False))
    new = old.replace(space=SPACE.replace(can_be_missing=np.ones(5, dtype=bool)))
    diff = diff_trees(old, new, space=SPACE)
    assert diff.unchanged
    for rules in ([change.old for change in diff.rules], [change.new for change in diff.rules]):
        assert [rule.conditions_text for rule in rules if rule is not None] == [
            "weight <= 100 and (site is arm or leg)",
            "weight <= 100 and (site is neck, back or foot or missing)",
            "weight > 100 or missing",
        ]


def test_rows_that_no_rule_of_the_space_takes_are_named() -> None:
    """A category that nobody has met, where the space lists every category and none gets there."""
    inner = Split(4, frozenset({1}), Leaf(0, 0.2), Leaf(1, 0.9), False)
    tree = build(Split(4, frozenset({0}), inner, Leaf(0, 0.1), False))
    tree = tree.replace(unseen_left=np.ones(tree.n_nodes, dtype=bool))
    X = rows(0).assign(site="arm")
    assert diff_trees(tree, tree, X).unchanged
    X.loc[7, "site"] = "toe"
    with pytest.raises(InputError, match="got row 7, which follows a rule no value"):
        diff_trees(tree, tree, X)


def test_one_hot_columns_or_the_feature_itself() -> None:
    """A model trained on one-hot columns is compared over the feature they code."""
    X = rows(1)[["weight", "site"]]
    dummies = pd.get_dummies(X, columns=["site"], dtype=float)
    y = np.where((X["site"] == "arm") | (X["weight"] > 150), "yes", "no")
    groups = {"site": {f"site_{s}": s for s in SITES}}
    space = FeatureSpace.from_data(X, y, one_hot=groups)
    model = DecisionTreeClassifier(random_state=0).fit(dummies, y)
    stump = DecisionTreeClassifier(max_depth=1, random_state=0).fit(dummies, y)
    by_dummies = diff_trees(stump, model, dummies, space=space)
    by_feature = diff_trees(stump, model, X, space=space)
    assert (
        by_dummies.flips == by_feature.flips == pytest.approx(np.mean(stump.predict(dummies) != y))
    )
    assert set(by_dummies.predictors_gained + by_dummies.predictors_kept) == {"weight", "site"}


def test_rows_of_each_category_in_use_are_counted() -> None:
    """What is known to be rare is not named; an array says nothing of its categories."""
    X = rows(2)
    colours = build(Split(3, frozenset({0, 1}), Leaf(0, 0.2), Leaf(1, 0.8)))
    counted = diff_trees(OLD, colours, X).category_counts
    assert list(counted) == [3]
    assert counted[3].tolist() == [(X["colour"] == name).sum() for name in COLOURS]
    coded = diff_trees(OLD, colours, CodedRows(SPACE.encode(X), np.zeros(200))).category_counts
    assert {j: n.tolist() for j, n in coded.items()} == {3: counted[3].tolist()}
    assert diff_trees(OLD, colours, SPACE.encode(X)).category_counts == {}
    assert diff_trees(OLD, colours).category_counts == {}


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
