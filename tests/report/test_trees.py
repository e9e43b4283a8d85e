"""Trees, rules and candidates as plain data, masked before they reach a file."""

from __future__ import annotations

import pytest
from sklearn.tree import DecisionTreeRegressor

from steadytree.core.disclosure import share_bin, told_share
from steadytree.core.space import FeatureSpace
from steadytree.diff import diff_trees
from steadytree.readers import as_tree
from steadytree.report import summarise
from steadytree.report.trees import features_data, used_features
from tests.report import samples


def test_values_of_leaves_that_rest_on_few_people_are_not_in_the_file() -> None:
    diff = samples.large_diff()
    tree = summarise(diff)["trees"]["new"]
    weight = diff.new.weight
    for leaf in diff.new.leaves.tolist():
        assert tree["value"][leaf] is None or weight[leaf] >= 5
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
    n = len(result.X_new)
    for c, share in zip(frontier["candidates"], result.frontier["flips"], strict=True):
        assert c["flips"] == pytest.approx(told_share(share * n, n, 5, exact=c["chosen"]), abs=1e-4)


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
    data = features_data(diff.space, used, used, (diff.old, diff.new))
    assert [f["name"] for f in data] == ["colour", "age", "share"]
    assert [f["used"] for f in data] == [True, False, False]
    assert data[0]["categories"] == ["red", "green", "blue", "black"]
    assert all(
        set(f) == {"name", "categories", "ordered", "missing", "unseen", "used"} for f in data
    )


def test_risks_that_move_are_a_cost_of_every_candidate() -> None:
    result = samples.retraining()
    n = len(result.X_new)
    whole = summarise(result, min_cell=1)["frontier"]["candidates"]
    masked = summarise(result)["frontier"]["candidates"]
    for told, exact, share in zip(masked, whole, result.frontier["moved_5"], strict=True):
        assert exact["moved_5"] == pytest.approx(share, abs=1e-4)
        rough = share_bin(share, n, 5)
        assert rough is not None
        if told["chosen"]:
            assert told["moved_5"] == pytest.approx(share, abs=1e-4)
        elif share:
            # Trees are drawn: two exact numbers would count the people of a leaf.
            assert (told["moved_5"], told["moved_5_words"]) == (rough.middle, rough.words())
        else:
            assert told["moved_5"] == 0
