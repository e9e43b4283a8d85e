"""The honest estimate: by hand, unbiased in a known world, and exact where nothing differs."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from steadytree.evaluation.cross_fitting import (
    CrossFitted,
    assign_folds,
    check_rowwise,
    decides_alike,
    make_folds,
    ranks_alike,
)
from steadytree.evaluation.scores import losses, predict_rows, recall_of, squared_errors
from steadytree.exceptions import InputError
from steadytree.plugins import read_model


def draw(n, seed, kind="noise"):
    rng = np.random.default_rng(seed)
    X = rng.random((n, 4))
    if kind == "response":
        return X, X[:, 0] + rng.normal(0, 0.5, n)
    if kind == "three":
        return X, np.minimum((3 * X[:, 0] + rng.normal(0, 0.4, n)).clip(0).astype(int), 2)
    risk = 0.3 if kind == "noise" else 0.15 + 0.6 * (X[:, 0] > 0.5)
    return X, (rng.random(n) < risk).astype(np.int64)


def fit(X, y, kind="noise", depth=3):
    model = DecisionTreeRegressor if kind == "response" else DecisionTreeClassifier
    return read_model(model(max_depth=depth, min_samples_leaf=5, random_state=0).fit(X, y))


def cross_fitted(n, seed, kind="noise", *, groups=None, leak=False, n_folds=5):
    """Old rows make the deployed tree; the recipe is CART on the new rows."""
    deployed = fit(*draw(300, seed + 10_000, kind), kind)
    X, y = draw(n, seed, kind)
    folds = make_folds(y, classifier=kind != "response", n_folds=n_folds, groups=groups, seed=seed)
    trained = [np.arange(n) if leak else train for train, _ in folds]
    return CrossFitted(
        coded=X,
        y=y,
        deployed=deployed,
        own={"keep": deployed, "new": fit(X, y, kind)},
        in_folds=[{"keep": deployed, "new": fit(X[rows], y[rows], kind)} for rows in trained],
        folds=folds,
        fixed=frozenset(["keep"]),
        groups=groups,
    )


@cache
def some(kind):
    return cross_fitted(200, 1, kind)


def by_hand(scores, measure):
    """m(T; all) less the mean over folds of what a gain over A loses on rows left out."""
    everyone = np.arange(len(scores.y))
    own = scores.own["new"]
    lost, weights = [], []
    for k, (train, test) in enumerate(scores.folds):
        gains = [
            measure(scores.in_folds[k]["new"], rows) - measure(scores.deployed, rows)
            for rows in (train, test)
        ]
        lost.append(gains[0] - gains[1])
        weights.append(len(test))
    return measure(own, everyone) - np.average(lost, weights=weights)


@pytest.mark.parametrize("kind", ["noise", "signal", "three", "response"])
def test_the_score_is_the_formula(kind):
    scores = some(kind)
    spread = scores.y.var()

    def measure(tree, rows):
        value, y = predict_rows(tree, scores.coded[rows]).value, scores.y[rows]
        if kind == "response":  # one spread for every part
            return 1 - ((value[:, 0] - y) ** 2).mean() / spread
        if kind == "three":
            return np.mean([roc_auc_score(y == k, value[:, k]) for k in range(3)])
        return roc_auc_score(y, value[:, 1])

    expected = by_hand(scores, measure)
    assert scores.score("new").value == pytest.approx(expected, abs=1e-12)
    kept = measure(scores.deployed, np.arange(200))
    assert scores.score("keep").value == pytest.approx(kept, abs=1e-12)


def test_what_cannot_differ_has_changed_by_nothing():
    """The same rules and labels: other shares, and fold trees that differ, change no decision."""
    scores = some("signal")
    deployed = scores.deployed
    value = deployed.value * 0.9 + 0.05
    same = replace(deployed, value=value, label=deployed.label)
    assert decides_alike(deployed, same)
    assert ranks_alike(deployed, same, 1)
    told = replace(scores, own={**scores.own, "new": same})
    change = told.score_estimate("new").change
    assert change.value == 0
    assert not change.influence.any()
    assert told.score("new").value == told.score("keep").value
    other = replace(deployed, label=1 - deployed.label, value=1 - deployed.value)
    assert not decides_alike(deployed, other)
    assert not ranks_alike(deployed, other, 1)
    assert not decides_alike(deployed, scores.own["new"])
    assert not ranks_alike(deployed, fit(*draw(50, 3), depth=1), 1)
    assert not decides_alike(deployed, replace(deployed, precision="float64"))


@pytest.mark.parametrize(("kind", "truth"), [("noise", 0.5), ("response", 0.0)])
def test_on_noise_the_estimate_is_that_of_noise(kind, truth):
    """A recipe that fits noise scores well on its own rows; the honest estimate sees through it.

    With trees that saw the rows they are scored on, the estimate would be as flattered.
    """
    own, honest, leaked = [], [], []
    for seed in range(40):
        scores = cross_fitted(120, seed, kind)
        if kind == "response":
            noise = np.random.default_rng(seed).permutation(scores.y)
            scores = _on_noise(scores, noise)
        estimate = scores.score_estimate("new")
        own.append(estimate.own.value)
        honest.append(estimate.recipe.value)
        if kind == "noise":
            leaked.append(cross_fitted(120, seed, kind, leak=True).score("new").value)
    error = np.std(honest) / np.sqrt(len(honest))
    if kind == "noise":
        assert abs(np.mean(honest) - truth) < 3 * error
        assert np.mean(own) > truth + 0.2
        assert np.mean(leaked) > truth + 0.2
    else:
        assert np.mean(honest) < 0.05 < np.mean(own)


def _on_noise(scores, y):
    trees = [fit(scores.coded[train], y[train], "response") for train, _ in scores.folds]
    own = {"keep": scores.deployed, "new": fit(scores.coded, y, "response")}
    return replace(scores, y=y, own=own, in_folds=[{"new": tree} for tree in trees])


def test_errors_are_as_large_as_the_spread():
    """Of the honest score around the truth about the very tree that is proposed."""
    X, y = draw(20_000, 77, "signal")
    missed, errors = [], []
    for seed in range(60):
        scores = cross_fitted(150, seed, "signal")
        true = roc_auc_score(y, predict_rows(scores.own["new"], X).value[:, 1])
        estimate = scores.score("new")
        missed.append(estimate.value - true)
        errors.append(scores.error(estimate))
    # A little too low rather than too high: the fold trees learn from fewer rows.
    assert -0.05 < np.mean(missed) < 0.01
    assert np.sqrt(np.mean(np.square(missed))) == pytest.approx(np.mean(errors), rel=0.3)


def by_row(scores, tree, rows, kind):
    """What each of some rows adds to a score, and the rows it is averaged with (0 or 1)."""
    value, y = predict_rows(tree, scores.coded[rows]).value, scores.y[rows]
    if kind == "loss":
        return (value[:, 1] - y) ** 2, np.zeros(len(rows), dtype=int)
    risk = value[:, 1]
    better = (risk[:, None] > risk[None, :]) + (risk[:, None] == risk[None, :]) / 2
    below, above = better[:, y == 0].mean(axis=1), 1 - better[:, y == 1].mean(axis=1)
    return np.where(y == 1, below, above), 1 - y


@pytest.mark.parametrize("kind", ["loss", "area"])
def test_each_rows_influence_is_the_formula(kind):
    """Rows trained on and rows left out pull the correction apart, within either class."""
    scores = cross_fitted(150, 3, "signal", n_folds=4)
    everyone, tree = np.arange(150), scores.own["new"]
    influence, learnt = np.zeros(150), np.zeros(150)
    part, among = by_row(scores, tree, everyone, kind)
    strata = (0, 1) if kind == "area" else (0,)
    for s in strata:
        rows, n = among == s, (among == s).sum()
        influence[everyone[rows]] = (part[rows] - part[rows].mean()) / np.sqrt(n * (n - 1))
    gains = []
    for k in range(4):
        for rows in scores.folds[k]:
            new, among = by_row(scores, scores.in_folds[k]["new"], rows, kind)
            old, _ = by_row(scores, scores.deployed, rows, kind)
            gains.append((rows, new - old, among))
    shares = np.array([len(rows) for rows, *_ in gains[1::2]])
    shares = shares / shares.sum()
    for s in strata:
        left_out = [part[among == s] for _, part, among in gains[1::2]]
        centre = np.dot(shares, [part.mean() for part in left_out])
        n = sum(map(len, left_out))
        for k, (rows, part, among) in enumerate(gains):
            rows, part, share = rows[among == s], part[among == s], shares[k // 2]
            sign, middle = (1, part.mean()) if k % 2 == 0 else (-1, centre)
            here = share * np.sqrt(n / (n - 1)) * (part - middle) / len(part)
            influence[rows] -= sign * here
            learnt[rows] -= sign * share * part / len(part) / len(strata)
    if kind == "loss":
        honest = scores.estimate("new", squared_errors).recipe
    else:
        honest = scores.score("new")
    np.testing.assert_allclose(honest.influence, influence, atol=1e-14)
    np.testing.assert_allclose(honest.learnt, learnt, atol=1e-14)


def test_losses_are_those_of_rows_left_out():
    for kind in ("signal", "response"):
        scores = some(kind)
        found = scores.left_out("new", losses)
        assert not np.isnan(found).any()
        for (_, test), trees in zip(scores.folds, scores.in_folds, strict=True):
            value = predict_rows(trees["new"], scores.coded[test]).value[:, -1]
            np.testing.assert_allclose(found[test], (value - scores.y[test]) ** 2)
        kept = (scores.before.value[:, -1] - scores.y) ** 2
        np.testing.assert_allclose(scores.left_out("keep", losses), kept)
    without = replace(scores, folds=scores.folds[:2], in_folds=scores.in_folds[:2])
    never = np.isnan(without.left_out("new", losses))
    assert never.sum() == 200 - sum(len(t) for _, t in without.folds)


def test_without_folds_nothing_honest_is_known():
    scores = replace(some("signal"), folds=[], in_folds=[])
    estimate = scores.score_estimate("new")
    assert np.isnan(estimate.recipe.value)
    assert estimate.own.value > 0.5
    assert scores.score("keep").value == estimate.deployed.value
    assert np.isnan(scores.error(estimate.recipe))


def test_subgroups_are_scored_on_their_rows():
    scores = some("signal")
    rows = np.flatnonzero(scores.coded[:, 1] > 0.4)
    inside = np.isin(np.arange(200), rows)

    def measure(tree, part):
        part = part[inside[part] & (scores.y[part] == 1)]
        return predict_rows(tree, scores.coded[part]).label.mean()

    weights = [(inside[test] & (scores.y[test] == 1)).sum() for _, test in scores.folds]
    lost = [
        (measure(trees["new"], train) - measure(scores.deployed, train))
        - (measure(trees["new"], test) - measure(scores.deployed, test))
        for (train, test), trees in zip(scores.folds, scores.in_folds, strict=True)
    ]
    expected = measure(scores.own["new"], rows) - np.average(lost, weights=weights)
    estimate = scores.estimate("new", recall_of(1), rows=rows)
    assert estimate.recipe.value == pytest.approx(expected, abs=1e-12)
    assert not estimate.recipe.influence[~inside].any()


# -- folds keep groups together, time in order, and every class in every fold --


def test_folds_keep_groups_and_time_in_order():
    rng = np.random.default_rng(0)
    y = (rng.random(300) < 0.3).astype(int)
    groups = rng.integers(0, 60, 300)
    for train, test in make_folds(y, classifier=True, n_folds=4, groups=groups):
        assert not set(groups[train]) & set(groups[test])
    time = rng.integers(1990, 2000, 300)
    folds = make_folds(y, classifier=True, n_folds=4, time=time, groups=groups)
    assert len(folds) == 4
    for train, test in folds:
        assert time[train].max() < time[test].min()
        assert not set(groups[train]) & set(groups[test])
    tested = np.concatenate([test for _, test in folds])
    # Every row from the first block on is scored, the last block too.
    assert set(tested) == set(np.flatnonzero(time >= time[tested].min()))
    assert time[tested].max() == time.max()
    assert len(tested) == len(set(tested.tolist()))
    # Without groups, which alone would keep a row from both sides.
    for train, test in make_folds(y, classifier=True, n_folds=4, time=time):
        assert time[train].max() < time[test].min()
    few = make_folds(np.r_[np.zeros(50, int), 1, 1], classifier=True, n_folds=5)
    assert len(few) == 2
    assert make_folds(np.r_[np.zeros(50, int), 1], classifier=True, n_folds=5) == []


@given(st.lists(st.integers(0, 2), min_size=4, max_size=60), st.integers(1, 6))
def test_folds_spread_every_class(labels: list[int], most: int) -> None:
    y = np.array(labels)
    folds = assign_folds(y, classifier=True, most=most, rng=np.random.default_rng(0))
    rarest = min(np.bincount(y)[np.bincount(y) > 0])
    assert folds.max() + 1 == max(1, min(most, rarest))
    for label in np.unique(y):
        counts = np.bincount(folds[y == label], minlength=folds.max() + 1)
        assert counts.max() - counts.min() <= 1


def test_entries_by_row_are_counted():
    assert check_rowwise(None, 3, "groups") is None
    with pytest.raises(InputError, match="expected 3 entries in groups"):
        check_rowwise([1, 2], 3, "groups")
