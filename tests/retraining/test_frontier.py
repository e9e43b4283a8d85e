"""The table of candidates, and how one is chosen from it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from steadytree.distance import tree_distance
from steadytree.exceptions import ClippedThresholdWarning
from steadytree.retraining.frontier import CandidateTree, build_frontier, choose
from steadytree.tree.space import FeatureSpace
from tests.evaluation.test_cross_fitting import cross_fitted, fit


def test_the_frontier_has_every_candidate_and_right_numbers(cancer):
    X, _, first, result = cancer
    table = result.frontier
    assert table.index[0] == "keep"
    assert {"re-estimate", "price 0.2", "from scratch", "CART"} <= set(table.index)
    assert list(table["chosen"][table["chosen"]].index) == [result.chosen]
    ours = {name: tree for name, tree in result.trees.items() if name != "CART"}
    for name, tree in ours.items():  # an own candidate may turn directions besides
        apart = tree_distance(
            result.deployed, tree, space=result.space, variant="metric", normalize="relative"
        )
        assert table.loc[name, "dissimilarity"] == pytest.approx(apart)
        assert table.loc[name, "distance"] == pytest.approx(
            tree_distance(result.deployed, tree, space=result.space)
        )
        moved = (tree.predict(X[250:]) != first.predict(X[250:])).mean()
        assert table.loc[name, "flips"] == pytest.approx(moved)
        assert table.loc[name, "n_leaves"] == tree.n_leaves
    assert table.loc["keep", "dissimilarity"] == 0
    assert table.loc["keep", "score_change"] == 0
    assert table.loc["re-estimate", "dissimilarity"] == 0
    assert table["on_frontier"].any()
    assert np.isnan(result.selection_cost)  # two folds are too few to repeat the choice


def noise_candidates():
    """Cross-fitted trees of several sizes on outcomes that follow nothing."""
    base = cross_fitted(150, 5)

    def grown(rows):
        trees = {f"depth {d}": fit(base.coded[rows], base.y[rows], depth=d) for d in (1, 2, 4)}
        return {"keep": base.deployed, **trees}

    return replace(
        base,
        own=grown(np.arange(150)),
        in_folds=[grown(train) for train, _ in base.folds],
    )


# -- by hand, on a few small trees ------------------------------------------------------

PRICES = {"keep": np.nan, "depth 1": 0.3, "depth 2": 0.2, "depth 4": 0.1}


def table_of(scores):
    """The frontier of the noise candidates; thresholds lie outside a part of the space."""
    upper = np.array([1.0, 1.0, 1.0, 0.6])
    space = FeatureSpace(lower=np.zeros(4), upper=upper)
    candidates = [
        CandidateTree(name, f"kind of {name}", tree, PRICES[name], ("an edit",) * k, k % 2 == 0)
        for k, (name, tree) in enumerate(scores.own.items())
    ]
    return space, build_frontier(candidates, scores.deployed, space, scores)


@pytest.mark.filterwarnings("error")
def test_each_column_is_what_it_says():
    scores = noise_candidates()
    space, table = table_of(scores)
    assert list(table.index) == ["keep", "depth 1", "depth 2", "depth 4"]
    assert table.index.name == "candidate"
    assert table["kind"].tolist() == [f"kind of {name}" for name in table.index]
    assert table["n_edits"].tolist() == [0, 1, 2, 3]
    assert table["edits"].tolist() == [("an edit",) * k for k in range(4)]
    assert table["cross_fitted"].tolist() == [True, False, True, False]
    labels = {name: scores.own[name].predict(scores.coded) for name in scores.own}
    changed = [float((labels[name] != labels["keep"]).mean()) for name in scores.own]
    assert table["flips"].tolist() == changed
    assert table["price"].tolist()[1:] == [0.3, 0.2, 0.1]
    assert not table["chosen"].any()
    keep = scores.score("keep")
    # A tree that asks for more than the space knows says so, once; the table does not.
    with pytest.warns(ClippedThresholdWarning):
        tree_distance(scores.deployed, scores.own["depth 4"], space=space)
    for name, tree in scores.own.items():
        row, change = table.loc[name], scores.score(name).minus(keep)
        assert (row["n_leaves"], row["depth"]) == (tree.n_leaves, tree.depth)
        assert row["score"] == scores.score(name).value
        assert row["score_change"] == pytest.approx(change.value)
        assert row["score_se"] > 0
        assert (row["score_change_se"] > 0) == (name != "keep")
    beaten = [
        bool(
            (
                (table["dissimilarity"] <= row["dissimilarity"])
                & (table["score"] >= row["score"])
                & (table.index != row.name)
            ).any()
        )
        for _, row in table.iterrows()
    ]
    assert table["on_frontier"].tolist() == [not b for b in beaten]
    assert 0 < sum(beaten) < 4


def paths_of(scores):
    """The noise candidates as trees on a path of prices."""
    _, table = table_of(scores)
    kinds = {"keep": "keep", "depth 1": "re-estimate"}
    return table.assign(kind=[kinds.get(name, "priced edits") for name in table.index])


def anything(name):
    """Whatever is asked."""
    return True


def test_the_price_alone_chooses_the_nearest_tree_that_is_allowed():
    scores = noise_candidates()
    table = paths_of(scores)
    for price, name in ((0.3, "depth 1"), (0.2, "depth 2"), (0.1, "depth 4"), (0.15, "depth 2")):
        assert choose(table, price, scores, allowed=anything, by_price=True) == name
    chosen = choose(table, 0.1, scores, allowed=lambda name: name != "depth 4", by_price=True)
    assert chosen == "depth 2"


def test_what_is_not_allowed_is_not_chosen_and_cheaper_trees_neither():
    scores = noise_candidates()
    table = paths_of(scores)
    for by_price in (True, False):
        for name in table.index:
            allowed = {name}.__contains__
            chosen = choose(table, 0.2, scores, allowed=allowed, by_price=by_price)
            assert chosen == (name if name in ("depth 1", "depth 2") else "keep")
    unscored = replace(scores, folds=[], in_folds=[])
    assert (
        choose(
            table.rename(index={"depth 1": "re-estimate"}),
            0.2,
            unscored,
            **{"allowed": anything, "by_price": False},
        )
        == "re-estimate"
    )
    assert choose(table, 0.2, unscored, allowed=anything, by_price=False) == "keep"
