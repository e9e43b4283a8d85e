"""Rows and groups that are both old and new neither train what is scored nor count twice."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score
from sklearn.tree import DecisionTreeClassifier

from steadytree.evaluation.scores import losses
from steadytree.exceptions import InputError, SteadyTreeWarning
from steadytree.retraining import Rows, SearchOptions, retrain
from steadytree.retraining.inputs import find_copies, scored_rows
from steadytree.retraining.problem import prepare_problem
from steadytree.tree.rows import CodedRows


def noise(n, seed, levels=None):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6)) if levels is None else rng.integers(0, levels, (n, 6)) * 1.0
    return X, rng.integers(0, 2, n)


def coded(X, y):
    return CodedRows(X, y)


def test_copies_are_found_as_often_as_they_occur():
    X, y = noise(30, 0)
    old = coded(X[[0, 1, 2, 3, 3, 4, 5, 5, 5]], y[[0, 1, 2, 3, 3, 4, 5, 5, 5]])
    new = coded(X[[0, 1, 2, 3, 5, 5, 8, 9]], y[[0, 1, 2, 3, 5, 5, 8, 9]])
    assert find_copies(new, old) is None  # twins among the old rows could explain it
    old = coded(X[:20][::-1], y[:20][::-1])
    rows = [0, 1, 2, 3, 5, 5, 25, 26]
    copies = find_copies(coded(X[rows], y[rows]), old)
    assert copies is not None
    assert copies[0].tolist() == [True] * 6 + [False] * 2
    assert sorted(19 - np.flatnonzero(copies[1])) == [0, 1, 2, 3, 5]


@pytest.mark.parametrize("levels", [2, 3, 4])
def test_rows_that_are_equal_by_chance_are_no_copies(levels):
    alarms = 0
    for seed in range(30):
        X, y = noise(500, seed, levels)
        alarms += find_copies(coded(X[:200], y[:200]), coded(X[200:], y[200:])) is not None
    assert alarms <= 1


def test_an_outcome_that_differs_makes_another_row():
    X, y = noise(50, 0)
    assert find_copies(coded(X, 1 - y), coded(X, y)) is None


def test_rows_to_score_on():
    y = np.tile([0, 1], 30)
    seen = np.arange(60) < 30
    np.testing.assert_array_equal(scored_rows(seen, y, 2), ~seen)
    assert scored_rows(np.arange(60) < 45, y, 2) is None  # too few
    assert scored_rows((y == 1) & (np.arange(60) < 54), y, 2) is None  # too few of a class
    assert scored_rows((y == 1) & (np.arange(60) < 54), y * 1.0, None) is not None


def test_a_partial_overlap_counts_once_and_is_not_scored():
    X, y = noise(300, 1)
    first = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X[:200], y[:200])
    with pytest.warns(
        SteadyTreeWarning,
        match="80 of 180 new rows are also among the old rows; each counts once, as a new row; "
        "scores are taken on the other 100",
    ):
        problem = prepare_problem(first, Rows(X[120:], y[120:]), Rows(X[:200], y[:200]))
    assert problem.old is not None
    assert len(problem.old) == 120
    np.testing.assert_array_equal(problem.scored, np.arange(180) >= 80)
    with pytest.warns(SteadyTreeWarning, match="also among the old rows"):
        result = retrain(
            *(first, X[120:], y[120:]),
            old=(X[:200], y[:200]),
            n_folds=2,
            search=SearchOptions(n_estimators=5),
            random_state=0,
        )
    for name in ("keep", result.chosen, "from scratch"):
        unscored = np.isnan(result.scores.left_out(name, losses))
        np.testing.assert_array_equal(unscored, np.arange(180) < 80)
        estimate = result.scores.score_estimate(name)
        assert not estimate.deployed.influence[:80].any()
    # The deployed tree is scored on the rows it has not seen, and on no others.
    unseen = roc_auc_score(y[200:], first.predict_proba(X[200:])[:, 1])
    assert result.frontier.loc["keep", "score"] == pytest.approx(unseen)
    assert any("80 of 180 new rows" in note for note in result.notes)


def test_a_whole_overlap_counts_once():
    X, y = noise(200, 1)
    first = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y)
    with pytest.warns(
        SteadyTreeWarning, match="200 of 200 new rows are also among .* too few to score on"
    ):
        problem = prepare_problem(first, Rows(X, y), Rows(X[::-1], y[::-1]))
    assert problem.old is None
    assert problem.scored is None
    with pytest.warns(SteadyTreeWarning, match="150 of 150 new rows"):
        problem = prepare_problem(first, Rows(X[50:], y[50:]), Rows(X, y))
    assert problem.old is not None
    np.testing.assert_array_equal(problem.old.coded, X[:50])


def test_separate_rows_are_left_alone():
    X, y = noise(200, 1)
    first = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X[:100], y[:100])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        problem = prepare_problem(first, Rows(X[100:], y[100:]), Rows(X[:100], y[:100]))
    assert problem.scored is None
    assert problem.notes == (problem.space_note,)


def test_old_rows_of_a_group_that_is_scored_do_not_train():
    X, y = noise(300, 2)
    group = np.arange(300) % 100
    first = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X[:100], y[:100])
    new, old = Rows(X[100:], y[100:], groups=group[100:]), Rows(X[:100], y[:100], None, group[:100])
    with pytest.warns(SteadyTreeWarning, match="200 of 200 new rows are of groups that are among"):
        problem = prepare_problem(first, new, old)
    train = np.flatnonzero(group[100:] < 60)
    given = problem.training_rows(train)
    kept, rows = given.old, given.new
    assert kept is not None
    assert len(rows) == 120
    assert sorted(kept.groups) == list(range(60))
    np.testing.assert_array_equal(kept.coded, X[:60].astype(np.float32))
    everyone = problem.training_rows(None).old
    assert everyone is not None
    assert len(everyone) == 100
    nobody = problem.training_rows(np.zeros(0, dtype=int)).old
    assert nobody is None


def test_groups_of_old_rows_are_checked():
    X, y = noise(60, 2)
    first = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X[:30], y[:30])
    ids = np.arange(30)
    for groups, of_old, words in (
        (None, ids, "expected groups with those of the old rows"),
        (ids, ids[:5], "expected 30 entries in old groups"),
        (ids, ids.astype(str), "of the same type as groups"),
    ):
        new, old = Rows(X[30:], y[30:], None, groups), Rows(X[:30], y[:30], None, of_old)
        with pytest.raises(InputError, match=words):
            prepare_problem(first, new, old)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["rows", "groups"])
def test_noise_stays_noise_where_old_and_new_overlap(kind):
    """Cross-fitted AUC of the deployed tree, the proposal and a fresh tree; was 0.58 to 0.66."""
    scores = []
    for seed in range(8):
        X, y = noise(400, seed)
        groups, who = {}, None
        old, new = np.arange(200), np.arange(100, 400)
        if kind == "groups":
            who = np.arange(400) // 2
            rng = np.random.default_rng(seed)
            X = X[who] + 0.01 * rng.normal(size=X.shape)
            y = y[who]
            # Half of the new rows are second visits.
            order = np.argsort(np.where(who < 100, rng.random(400), 2.0), kind="stable")
            X, y, who = X[order], y[order], who[order]
            old, new = np.arange(100), np.arange(100, 400)
            groups = {"groups": who[new]}
        before = Rows(X[old], y[old], groups=None if who is None else who[old])
        first = DecisionTreeClassifier(max_depth=4, min_samples_leaf=8, random_state=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = retrain(
                *(first.fit(X[old], y[old]), X[new], y[new]),
                old=before,
                n_folds=3,
                search=SearchOptions(n_estimators=20),
                random_state=seed,
                **groups,
            )
        scores.append(result.frontier.loc[["keep", result.chosen, "from scratch"], "score"])
    mean = np.mean(scores, axis=0)
    assert (np.abs(mean - 0.5) < 0.04).all(), mean
