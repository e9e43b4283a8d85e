"""Trees, rules and candidates as plain data, masked before they reach a file."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from steadytree.core.space import FeatureSpace
from steadytree.diff import diff_trees
from steadytree.readers import as_tree
from steadytree.report import summarise
from steadytree.report.trees import LeafTexts, features_data, used_features
from tests.report import samples


def test_values_of_leaves_that_rest_on_few_people_are_not_in_the_file() -> None:
    diff = samples.large_diff()
    tree = summarise(diff)["trees"]["new"]
    weight = diff.new.weight
    for leaf in diff.new.leaves.tolist():
        assert (tree["value"][leaf] is None) == (weight[leaf] < 5)
        assert (leaf in tree["few"]) == (weight[leaf] < 5)


def test_regression_leaves_of_one_person_are_rounded() -> None:
    X, y = samples.load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    space = FeatureSpace.from_data(X, y, task="regression")
    model = DecisionTreeRegressor(max_leaf_nodes=60, random_state=0).fit(X, y)
    tree = as_tree(model, space=space)
    data = summarise(diff_trees(tree, tree))["trees"]["new"]
    low, high = space.response_range
    lone = [leaf for leaf in tree.leaves.tolist() if tree.weight[leaf] < 5]
    assert lone
    for leaf in lone:
        steps = (data["value"][leaf][0] - low) / ((high - low) / 20)
        assert steps == pytest.approx(round(steps), abs=0.02)


def test_frontier_lists_every_candidate_with_its_costs() -> None:
    result = samples.retraining()
    frontier = summarise(result)["frontier"]
    assert [c["name"] for c in frontier["candidates"]] == list(result.frontier.index)
    chosen = frontier["candidates"][frontier["chosen"]]
    assert chosen["name"] == result.chosen
    assert chosen["distance"] == pytest.approx(result.dissimilarity, abs=1e-4)
    keep = frontier["candidates"][0]
    assert keep["counts"]["kept"] == result.deployed.n_leaves
    assert frontier["trees_left_out"] == 0
    # Flips of one to four people among the new rows are hidden.
    n = len(result.X_new)
    for c, share in zip(frontier["candidates"], result.frontier["flips"], strict=True):
        few = 0 < round(share * n) < 5
        assert c["flips_masked"] is few
        assert (c["flips"] is None) is few


def test_equal_trees_are_stored_once() -> None:
    frontier = summarise(samples.stable_result(2))["frontier"]
    used = [c["tree"] for c in frontier["candidates"]]
    assert len(used) == 100
    assert set(used) == set(range(len(frontier["trees"])))
    assert len(frontier["trees"]) <= 10


def test_trees_beyond_the_budget_are_left_out_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("steadytree.report.trees.TREE_BUDGET", 1500)
    frontier = summarise(samples.stable_result(2))["frontier"]
    without = [c for c in frontier["candidates"] if c["tree"] is None]
    assert frontier["trees_left_out"] == len(without) > 0
    assert frontier["candidates"][frontier["chosen"]]["tree"] is not None


def test_features_are_told_without_their_extremes() -> None:
    diff = samples.mixed_diff()
    used = used_features(diff.old.truncate(1), diff.space)
    assert used == {0}
    data = features_data(diff.space, used)
    assert [f["name"] for f in data] == ["colour", "age", "share"]
    assert [f["used"] for f in data] == [True, False, False]
    assert data[0]["categories"] == ["red", "green", "blue", "black"]
    assert all(set(f) == {"name", "categories", "ordered", "missing", "used"} for f in data)


def test_predictions_that_would_tell_a_count_are_coarse() -> None:
    """A plain share of known rows is a count; one that a model steadies is not."""
    X = np.arange(100.0)[:, None]
    y = np.where(np.arange(100) < 40, "no", "yes")
    y[3] = "yes"  # 1 of 40
    y[[50, 60, 70]] = "no"  # 57 of 60
    model = DecisionTreeClassifier(max_depth=1).fit(X, y)
    tree, space = as_tree(model), FeatureSpace.from_data(X, y)
    plain = LeafTexts(tree, space, tree.classes, 1, 5)
    ends = tree.leaves.tolist()
    assert [plain.observed[leaf] for leaf in ends] == ["<\u202f10 of 40", ">\u202f50 of 60"]
    assert [plain.predicted[leaf] for leaf in ends] == ["≤\u202f23\u202f%", "≥\u202f85\u202f%"]
    seen = tree.observed
    assert seen is not None
    steadied = replace(seen, steadied_by=np.full((3, 2), 0.5), strength=np.full(3, 40.0))
    steady = tree.replace(observed=steadied, value=steadied.predicted())
    texts = LeafTexts(steady, space, tree.classes, 1, 5)
    assert [texts.predicted[leaf] for leaf in ends] == ["26.2\u202f%", "77.0\u202f%"]
    hardly = replace(seen, steadied_by=np.full((3, 2), 0.5), strength=np.full(3, 4.0))
    texts = LeafTexts(
        tree.replace(observed=hardly, value=hardly.predicted()), space, tree.classes, 1, 5
    )
    assert [texts.predicted[leaf] for leaf in ends] == ["≤\u202f30\u202f%", "≥\u202f79\u202f%"]
    assert LeafTexts(tree, space, tree.classes, 1, 1).predicted[ends[0]] == "2.5\u202f%"


def test_risks_that_move_are_a_cost_of_every_candidate() -> None:
    result = samples.retraining()
    n = len(result.X_new)
    for told, share in zip(
        summarise(result)["frontier"]["candidates"], result.frontier["moved_5"], strict=True
    ):
        hidden = 0 < round(share * n) < 5 or 0 < n - round(share * n) < 5
        assert told["moved_5_masked"] is hidden
        assert told["moved_5"] == (None if hidden else pytest.approx(share, abs=1e-4))
