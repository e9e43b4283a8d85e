"""Where missing values go is part of a rule, whatever the space says of missing values."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from sklearn.tree import DecisionTreeClassifier

from steadytree.diff import diff_trees
from steadytree.diff.comparison import compare
from steadytree.diff.directions import keep_directions
from steadytree.estimators.distilled import DistilledTreeClassifier
from steadytree.plugins import as_tree
from steadytree.retraining import SearchOptions, retrain
from steadytree.tree.space import FeatureSpace
from steadytree.tree.tree import Tree
from tests.diff.trees import OLD, SPACE, Leaf, Split, build, splits
from tests.strategies import examples

NEVER = SPACE.replace(can_be_missing=np.zeros(5, dtype=bool))


def turned(tree: Tree, nodes: Any = slice(None)) -> Tree:
    """The tree with the directions of missing values turned round at some of its splits."""
    missing_left = tree.missing_left.copy()
    missing_left[nodes] = ~missing_left[nodes]
    missing_left[tree.is_leaf] = tree.missing_left[tree.is_leaf]
    return tree.replace(missing_left=missing_left, unseen_left=None)


def diff_of(old: Tree, new: Tree, space: FeatureSpace = NEVER) -> Any:
    return diff_trees(old.replace(space=None), new.replace(space=None), space=space)


@examples(150)
@given(splits())
def test_all_directions_turned_are_a_change(root: Split) -> None:
    tree = build(root)
    diff = diff_of(tree, turned(tree))
    assert diff.dissimilarity > 0
    assert diff.counts["kept"] < len(diff.rules)
    assert diff.splits
    assert diff_of(tree, tree).dissimilarity == 0


@pytest.mark.parametrize("seed", range(3))
def test_nor_where_features_come_again(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(300, 2))
    model = DecisionTreeClassifier(max_depth=6, random_state=0)
    tree = as_tree(model.fit(X, X[:, 0] * X[:, 1] > rng.normal(0, 0.5, 300)))
    diff = diff_of(tree, turned(tree), FeatureSpace.from_data(X))
    assert diff.dissimilarity > 0
    assert diff.counts["kept"] < len(diff.rules)


@pytest.mark.filterwarnings("ignore::steadytree.exceptions.OneDecisionWarning")
def test_it_is_said_and_counted() -> None:
    tree = build(OLD)
    diff = diff_of(tree, turned(tree, [0]))
    assert [(split.kind, split.name) for split in diff.splits] == [("missing_changed", "age")]
    assert "missing values of age go the other way: 4 rules" in diff.to_text()
    assert list(np.flatnonzero(diff.space.can_be_missing)) == [0]
    X = pd.DataFrame({"age": [20.0, np.nan], "weight": 10.0, "dose": 0.0, "colour": "white"})
    rows = compare(tree, turned(tree, [0]), X.assign(site="arm"), space=NEVER)
    assert rows.flips() == 0.5
    assert not rows.check({"max_dissimilarity": 0.0}).held
    alone = compare(tree, turned(tree, [0]), space=NEVER)
    assert alone.dissimilarity == pytest.approx(rows.dissimilarity)


def test_two_splits_that_ask_the_same_are_told_apart() -> None:
    """Turned both, one split has the direction of the other."""
    ask = Split(1, 0.25, Leaf(0, 0.1), Leaf(1, 0.9), missing_left=True)
    tree = build(Split(0, 0.5, ask, replace(ask, missing_left=False)))
    below = np.flatnonzero(tree.feature == 1)
    diff = diff_of(tree, turned(tree, below))
    assert diff.dissimilarity > 0
    assert list(np.flatnonzero(diff.space.can_be_missing)) == [1]
    assert diff_of(tree, tree).space == NEVER


def test_a_move_within_the_arithmetic_hides_nothing() -> None:
    """Thresholds that the diff takes for one ask the same."""
    tree = build(OLD)
    moved = tree.replace(threshold=np.nextafter(tree.threshold, np.inf))
    assert diff_of(tree, moved).unchanged
    assert diff_of(tree, turned(moved)).dissimilarity > 0.1


@pytest.mark.parametrize("missing_left", [True, False])
def test_a_split_without_counterpart_has_no_direction_to_turn(missing_left: bool) -> None:
    grown = Split(1, 0.1, Leaf(0, 0.1), Leaf(1, 0.6), missing_left=missing_left)
    old, new = build(OLD), build(replace(OLD, left=replace(OLD.left, left=grown)))
    assert diff_of(old, new).space == NEVER
    assert diff_of(new, old).space == NEVER


def test_a_space_that_knows_missing_values_is_used_as_it_is() -> None:
    every = SPACE.replace(can_be_missing=np.ones(5, dtype=bool))
    tree = build(OLD)
    assert diff_of(tree, turned(tree), every).space == every


@examples(100)
@given(splits())
def test_directions_are_kept_where_nothing_speaks_for_others(root: Split) -> None:
    tree = build(root).replace(space=None)
    back = keep_directions(turned(tree), tree, NEVER)
    np.testing.assert_array_equal(back.missing_left, tree.missing_left)
    np.testing.assert_array_equal(back.unseen_left, tree.unseen_left)
    every = NEVER.replace(can_be_missing=np.ones(5, dtype=bool))
    other = turned(tree)
    assert keep_directions(other, tree, every) is other


def test_retraining_turns_none_without_a_row_to_say_so() -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({name: rng.normal(0, 1, 900) for name in "abc"})
    y = ((X["a"] > 0.3) & (X["b"] > -0.5) ^ (rng.random(900) < 0.1)).astype(int)
    quick: dict[str, Any] = {"search": SearchOptions(n_estimators=20), "random_state": 0}
    model = DistilledTreeClassifier(n_estimators=20, max_leaf_nodes=6, random_state=0)
    first = model.fit(X[:400], y[:400]).to_tree()
    # As if made where a missing value was the worse news.
    deployed = turned(first)
    later = X[400:].assign(a=X["a"] + 0.2)
    reversed_tree = {"turned": first}
    result = retrain(
        deployed, later, y[400:], n_folds=0, price=0.02, candidates=reversed_tree, **quick
    )
    for name, number in result.frontier["dissimilarity"].items():
        diff = diff_trees(result.deployed, result.trees[name], space=result.space)
        assert diff.dissimilarity == pytest.approx(number, abs=1e-12)
        found = compare(deployed, result.trees[name], later, y[400:])
        assert found.dissimilarity == pytest.approx(number, abs=1e-12)
        assert bool(diff.space.can_be_missing.any()) == (name == "turned")
    assert result.frontier["dissimilarity"]["turned"] > 0.1
    assert result.edits


@pytest.mark.filterwarnings("ignore::steadytree.exceptions.OneDecisionWarning")
def test_categories_that_nobody_has_met_go_one_way_too() -> None:
    """Where a tree tells them from missing values, and even of an ordered feature."""
    tree = build(OLD)
    colour = int(np.flatnonzero(tree.feature == 3)[0])
    unseen = ~tree.missing_left[colour]
    one = tree.replace(unseen_left=np.where(np.arange(tree.n_nodes) == colour, unseen, True))
    two = turned_unseen(one, colour)
    assert diff_of(one, one).dissimilarity == 0
    for space in (SPACE, NEVER, SPACE.replace(ordered=np.arange(5) == 3)):
        diff = diff_of(one, two, space)
        assert diff.dissimilarity > 0
        assert diff.counts["moved"] == 2
        assert diff.splits[0].text == "the split on colour sends any other the other way: 2 rules"
        assert diff.space.categories[3][-1] == "any other"
        assert diff_of(two, one, space).dissimilarity == pytest.approx(diff.dissimilarity)
        X = pd.DataFrame({"age": 60.0, "weight": 10.0, "dose": 0.0, "colour": ["red", "pink"]})
        found = compare(one, two, X.assign(site="arm"), space=space)
        assert found.dissimilarity == pytest.approx(diff.dissimilarity)


def turned_unseen(tree: Tree, node: int) -> Tree:
    unseen_left = tree.unseen_left.copy()
    unseen_left[node] = ~unseen_left[node]
    return tree.replace(unseen_left=unseen_left)
