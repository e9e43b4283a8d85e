"""The table of candidates, and how one is chosen from it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from steadytree.retraining.limits import Limits

from steadytree.core.space import FeatureSpace
from steadytree.distance import tree_distance
from steadytree.exceptions import ClippedThresholdWarning, InputError
from steadytree.retraining import retrain
from steadytree.retraining.frontier import CandidateTree, build_frontier, choose, selection_cost
from tests.evaluation.test_cross_fitting import cross_fitted, fit
from tests.retraining.conftest import QUICK


def as_picked(name, fold):
    """What is picked is proposed."""
    return name


def test_the_frontier_has_every_candidate_and_right_numbers(cancer):
    X, _, first, result = cancer
    table = result.frontier
    assert table.index[0] == "keep"
    assert {"re-estimate", "price 0.2", "from scratch", "CART"} <= set(table.index)
    assert list(table["chosen"][table["chosen"]].index) == [result.chosen]
    for name, tree in result.trees.items():
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


@pytest.mark.parametrize("select", ["tolerance", "one_se"])
def test_rules_choose_the_least_change_near_the_best(mixed, select):
    X, y, first = mixed
    quick = {**QUICK, "n_folds": 3}
    result = retrain(first, X[300:], 1 - y[300:], select=select, **quick)
    table = result.frontier
    chosen = table.loc[result.chosen]
    closer = table[table["dissimilarity"] < chosen["dissimilarity"] - 1e-12]
    best = table["score"].max()
    if select == "tolerance":
        assert chosen["score"] >= 0.98 * best
        assert (closer["score"] < 0.98 * best).all()
    else:
        assert (closer["score"] < best).all()
    assert np.isfinite(result.selection_cost)


def test_a_function_chooses_and_is_checked(mixed):
    X, y, first = mixed
    args = (first, X[300:450], y[300:450])
    result = retrain(*args, select=lambda table: "from scratch", **QUICK)
    assert result.chosen == "from scratch"
    assert result.explain().startswith("Change to another tree")
    first_row = retrain(*args, select=lambda table: 0, **{**QUICK, "n_folds": 0})
    assert first_row.chosen == "keep"
    assert first_row.explain().startswith("Keep the deployed tree (unmeasured).")
    with pytest.raises(InputError, match="row number below"):
        retrain(*args, select=lambda table: 99, **{**QUICK, "n_folds": 0})
    with pytest.raises(InputError, match="expected scores to choose"):
        retrain(*args, select="tolerance", **{**QUICK, "n_folds": 0})


def test_choosing_the_best_of_noise_costs_what_it_flatters():
    """By hand: choose as if a fold had not come, and score the choice on the fold."""
    scores = noise_candidates()
    names = list(scores.own)
    table = pd.DataFrame(
        {
            "score": [scores.score(name).value for name in names],
            "dissimilarity": np.linspace(0, 1, len(names)),
            "price": np.nan,
            "keeps_locks": True,
        },
        index=names,
    )
    rule = {"price": 0.2, "tolerance": 0.0, "scores": scores}
    chosen = choose(table, "score", **rule)
    flattery = []
    for fold, (_, test) in enumerate(scores.folds):
        picked = max(names, key=lambda name: scores.score(name, fold).value)
        gain = scores.fold_gain(chosen, fold) - scores.fold_gain(picked, fold)
        flattery.append(gain * len(test) / len(scores.y))
    assert abs(sum(flattery)) > 0.001
    cost = selection_cost(table, chosen, "score", **rule, settle=as_picked)
    assert cost == pytest.approx(sum(flattery), abs=1e-12)
    assert selection_cost(table, chosen, None, **rule, settle=as_picked) == 0


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


def table_of(scores, flips=None):
    """The frontier of the noise candidates; thresholds lie outside a part of the space."""
    upper = np.array([1.0, 1.0, 1.0, 0.6])
    space = FeatureSpace(lower=np.zeros(4), upper=upper)
    candidates = [
        CandidateTree(name, f"kind of {name}", tree, PRICES[name], ("an edit",) * k, k % 2 == 0)
        for k, (name, tree) in enumerate(scores.own.items())
    ]
    flips = flips or {name: {"flips": k / 10} for k, name in enumerate(scores.own)}
    return space, build_frontier(candidates, scores.deployed, space, scores, flips)


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
    assert table["flips"].tolist() == [0.0, 0.1, 0.2, 0.3]
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


def test_without_a_rule_the_price_chooses():
    scores = noise_candidates()
    _, table = table_of(scores)
    for name in ("depth 1", "depth 2", "depth 4"):
        rule = {"price": PRICES[name], "tolerance": 0.0, "scores": scores}
        assert choose(table, None, **rule) == name


def test_limits_choose_the_least_change_that_gains_enough():
    scores = noise_candidates()
    _, table = table_of(scores)
    rule = {"price": 0.2, "tolerance": 0.0, "scores": scores}
    table["dissimilarity"] = [0.0, 0.3, 0.2, 0.4]
    table["score_change"] = [0.0, 0.03, 0.02, 0.04]
    assert choose(table, Limits(min_gain=0.02), **rule) == "depth 2"
    assert choose(table, Limits(min_gain=0.025), **rule) == "depth 1"
    assert choose(table, Limits(min_gain=0.05), **rule) == "keep"
    assert choose(table, Limits(min_gain=0.02, max_flips=0.1), **rule) == "depth 1"
    # No gain asked for: the least change within one standard error of the best allowed score.
    table["score"] = [0.5, 0.9, 0.2, 0.1]
    gap = {n: scores.error(scores.score("depth 1").minus(scores.score(n))) for n in table.index}
    assert 0 < gap["keep"] < 0.3
    assert choose(table, Limits(max_flips=0.2), **rule) == "depth 1"
    assert choose(table, Limits(max_dissimilarity=0.1), **rule) == "keep"
    table.loc["keep", "score"] = 0.9 - gap["keep"] / 2
    assert choose(table, Limits(max_flips=0.2), **rule) == "keep"


def test_what_a_function_may_answer():
    scores = noise_candidates()
    _, table = table_of(scores)
    rule = {"price": 0.2, "tolerance": 0.0, "scores": scores}
    for answer, name in (("depth 2", "depth 2"), (0, "keep"), (np.int64(3), "depth 4")):
        assert choose(table, lambda _, answer=answer: answer, **rule) == name
    for answer in (4, -1, True, 1.0, None, "depth 3"):
        with pytest.raises(InputError, match="expected select to return a candidate's name"):
            choose(table, lambda _, answer=answer: answer, **rule)


def test_each_fold_is_left_out_of_every_column_in_turn():
    """The rule that is repeated without a fold sees scores, changes and errors without it."""
    scores = noise_candidates()
    _, table = table_of(scores)
    seen = []

    def rule(frontier):
        seen.append(frontier)
        return "depth 1"

    asked = {"price": 0.2, "tolerance": 0.0, "scores": scores}
    cost = selection_cost(table, "depth 4", rule, **asked, settle=as_picked)
    assert len(seen) == len(scores.folds)
    gains, sizes = [], []
    for fold, frontier in enumerate(seen):
        keep = scores.score("keep", fold)
        for name in table.index:
            score = scores.score(name, fold)
            change = score.minus(keep)
            found = frontier.loc[name, ["score", "score_se", "score_change", "score_change_se"]]
            expected = [score.value, scores.error(score), change.value, scores.error(change)]
            assert found.tolist() == pytest.approx(expected)
        gains.append(scores.fold_gain("depth 4", fold) - scores.fold_gain("depth 1", fold))
        sizes.append(len(scores.folds[fold][1]))
    assert cost == pytest.approx(np.average(gains, weights=sizes))


def test_a_choice_that_no_fold_can_judge_costs_nobody_knows_what():
    base = noise_candidates()
    ones, everyone = np.flatnonzero(base.y == 1), np.arange(len(base.y))
    parts = np.array_split(ones, len(base.folds))
    folds = [(np.setdiff1d(everyone, part), part) for part in parts]  # no event to tell apart
    scores = replace(base, folds=folds)
    _, table = table_of(base)
    rule = {"price": 0.2, "tolerance": 0.0, "scores": scores, "settle": as_picked}
    assert np.isnan(selection_cost(table, "depth 4", lambda _: "depth 1", **rule))
    two = replace(base, folds=base.folds[:2], in_folds=base.in_folds[:2])
    assert np.isnan(selection_cost(table, "depth 4", lambda _: 1, **{**rule, "scores": two}))
    three = replace(base, folds=base.folds[:3], in_folds=base.in_folds[:3])
    assert np.isfinite(selection_cost(table, "depth 4", lambda _: 1, **{**rule, "scores": three}))
