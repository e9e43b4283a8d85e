"""The table of candidates, and how one is chosen from it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from steadytree.distance import tree_distance
from steadytree.exceptions import InputError
from steadytree.retraining import retrain
from steadytree.retraining.frontier import choose, selection_cost
from tests.evaluation.test_cross_fitting import cross_fitted, fit
from tests.retraining.conftest import QUICK


def test_the_frontier_has_every_candidate_and_right_numbers(cancer):
    X, _, first, result = cancer
    table = result.frontier
    assert table.index[0] == "keep"
    assert {"leaf values", "price 0.2", "from scratch", "CART"} <= set(table.index)
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
    assert table.loc["leaf values", "dissimilarity"] == 0
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
    assert "another tree" in result.explain()
    first_row = retrain(*args, select=lambda table: 0, **{**QUICK, "n_folds": 0})
    assert first_row.chosen == "keep"
    assert "kept as it is" in first_row.explain()
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
    cost = selection_cost(table, chosen, "score", **rule)
    assert cost == pytest.approx(sum(flattery), abs=1e-12)
    assert selection_cost(table, chosen, None, **rule) == 0


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
