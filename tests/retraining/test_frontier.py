"""The table of candidates, how one is chosen from it, and that noise changes nothing."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from steadytree.distance import tree_distance
from steadytree.evaluation.scores import Score
from steadytree.exceptions import ClippedThresholdWarning
from steadytree.retraining import SearchOptions, retrain
from steadytree.retraining.frontier import (
    CandidateTree,
    _clearly_worse,
    build_frontier,
    choose,
)
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


# -- no evidence, no change ------------------------------------------------------------

FOLDS = {"search": SearchOptions(n_estimators=20), "n_folds": 3}


def pure_noise(seed, n=350):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 5)), rng.integers(0, 2, n)


def deployed_on(X, y):
    return DecisionTreeClassifier(max_depth=3, min_samples_leaf=5, random_state=0).fit(X, y)


def test_noise_changes_no_rule_and_the_price_alone_would():
    rules, flips, unchecked = [], [], []
    for seed in range(6):
        X, y = pure_noise(seed)
        model = deployed_on(X[:150], y[:150])
        old = {"old": (X[:150], y[:150])}
        result = retrain(model, X[150:], y[150:], **old, **FOLDS, random_state=seed)
        rules.append(result.action == "change")
        flips.append(result.flips())
        unchecked.append(result.frontier.loc["price 0.2", "flips"])
    assert sum(rules) <= 2
    # Half of all outcomes are events, so labels hang in the balance as they seldom do.
    assert np.median(flips) < 0.75 * np.median(unchecked)
    assert np.median(unchecked) > 0.05


def left_out(result, name, kind):
    """What the trees made without a row say of it, by hand."""
    out = np.zeros(len(result.y_new))
    for (_, test), trees in zip(result.scores.folds, result.scores.in_folds, strict=True):
        X, y, tree = np.asarray(result.X_new)[test], result.y_new[test], trees[name]
        if kind == "loss":
            out[test] = (tree.predict_proba(X)[:, 1] - y) ** 2
        else:
            out[test] = tree.predict(X) != y
    return out


@pytest.mark.parametrize("seed", range(2))
def test_the_choice_is_the_least_change_that_is_not_clearly_worse(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(500, 4))
    y = (rng.random(500) < 1 / (1 + np.exp(-2 * X[:, 0] - X[:, 1]))).astype(int)
    model = deployed_on(X[:150], y[:150])
    result = retrain(model, X[150:], y[150:], **FOLDS, random_state=seed, price=0.05)
    frontier = result.frontier
    names = [n for n in frontier.index if frontier["kind"][n] == "priced edits"]
    path = ["re-estimate", *(n for n in names if frontier["price"][n] >= 0.05)]
    path[1:] = sorted(path[1:], key=lambda n: round(frontier["dissimilarity"][n], 12))
    for name in path:
        worse = False
        for kind in ("loss", "decision"):
            gap = left_out(result, name, kind) - left_out(result, "price 0.05", kind)
            error = np.sqrt(((gap - gap.mean()) ** 2).sum()) / len(gap)
            worse |= gap.mean() > error * (1 + 1e-12)
        lead = result.scores.score("price 0.05").minus(result.scores.score(name))
        ahead = frontier["score"]["price 0.05"] - frontier["score"][name]
        worse |= ahead > result.scores.error(lead)
        if not worse:
            break
    assert result.chosen == name


def test_without_rows_left_out_the_price_decides_or_nothing_changes():
    X, y = pure_noise(0)
    model = deployed_on(X[:150], y[:150])
    result = retrain(
        model, X[150:], y[150:], search=SearchOptions(n_estimators=20), n_folds=0, random_state=0
    )
    assert result.chosen == "price 0.25"
    chosen = choose(result.frontier, 0.25, result.scores, allowed=None, by_price=False)
    assert chosen == "re-estimate"


@pytest.mark.parametrize(("error", "worse"), [(0.05, True), (0.2, False)])
def test_a_clearly_lower_score_is_enough(error, worse):
    """Equal squared errors and decisions do not excuse a worse ranking."""
    values = {"asked": 0.8, "less": 0.7}
    scores = SimpleNamespace(
        score=lambda name: Score(values[name], np.zeros(10)),
        error=lambda score: error if score.value else 0.0,
        left_out=lambda name, amount: np.zeros(10),
        classifier=False,
    )
    assert _clearly_worse("less", "asked", scores) is worse
    assert not _clearly_worse("asked", "less", scores)
