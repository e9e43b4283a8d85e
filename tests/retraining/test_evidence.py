"""Noise changes nothing, real gains are taken, and what is proposed follows from rows left out."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from steadytree.evaluation.scores import Score
from steadytree.retraining import SearchOptions, retrain
from steadytree.retraining.frontier import _clearly_worse, least_confirmed_change

QUICK = {"search": SearchOptions(n_estimators=20), "n_folds": 3}


def noise(seed, n=350):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 5)), rng.integers(0, 2, n)


def deployed_on(X, y):
    return DecisionTreeClassifier(max_depth=3, min_samples_leaf=5, random_state=0).fit(X, y)


def test_noise_changes_no_rule_and_the_price_alone_would():
    rules, flips, unchecked = [], [], []
    for seed in range(9):
        X, y = noise(seed)
        model = deployed_on(X[:150], y[:150])
        old = {"old": (X[:150], y[:150])}
        result = retrain(model, X[150:], y[150:], **old, **QUICK, random_state=seed)
        rules.append(result.action == "change")
        flips.append(result.flips())
        unchecked.append(result.frontier.loc["price 0.2", "flips"])
    assert sum(rules) <= 3
    # Half of all outcomes are events, so labels hang in the balance as they seldom do.
    assert np.median(flips) < 0.75 * np.median(unchecked)
    assert np.median(unchecked) > 0.05


def test_a_real_change_is_taken():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 4))
    y = (X[:, 0] > 0).astype(int)
    moved = np.where(rng.random(500) < 0.9, X[400:, 1] > 0, X[400:, 0] > 0).astype(int)
    model = deployed_on(X[:400], y[:400])
    result = retrain(model, X[400:], moved, **QUICK, random_state=0)
    assert result.dissimilarity > 0.1
    assert result.frontier.loc[result.chosen, "score_change"] > 0.2


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


@pytest.mark.parametrize("seed", range(3))
def test_the_choice_is_the_least_change_that_is_not_clearly_worse(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(500, 4))
    y = (rng.random(500) < 1 / (1 + np.exp(-2 * X[:, 0] - X[:, 1]))).astype(int)
    model = deployed_on(X[:150], y[:150])
    result = retrain(model, X[150:], y[150:], **QUICK, random_state=seed, price=0.05)
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
    assert np.isfinite(result.selection_cost)


def test_without_rows_left_out_the_price_decides_or_nothing_changes():
    X, y = noise(0)
    model = deployed_on(X[:150], y[:150])
    result = retrain(
        model, X[150:], y[150:], search=SearchOptions(n_estimators=20), n_folds=0, random_state=0
    )
    assert result.chosen == "price 0.25"
    path = result.frontier[result.frontier["price"] >= 0.25]
    assert least_confirmed_change(path, result.scores) == "re-estimate"


def test_a_response_has_no_decisions():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = X[:, 0] + rng.normal(size=300)
    model = DecisionTreeRegressor(max_depth=2, random_state=0).fit(X[:100], y[:100])
    result = retrain(model, X[100:], y[100:], **QUICK, random_state=0)
    assert set(result.answer.gains) == {"score"}
    assert result.chosen in result.frontier.index


@pytest.mark.parametrize(("error", "worse"), [(0.05, True), (0.2, False)])
def test_a_clearly_lower_score_is_enough(error, worse):
    """Equal squared errors and decisions do not excuse a worse ranking."""
    values = {"asked": 0.8, "less": 0.7}
    scores = SimpleNamespace(
        score=lambda name, leave_out: Score(values[name], np.zeros(10)),
        error=lambda score: error if score.value else 0.0,
        left_out=lambda name, amount: np.zeros(10),
        classifier=False,
    )
    assert _clearly_worse("less", "asked", scores, None) is worse
    assert not _clearly_worse("asked", "less", scores, None)
