"""``retrain`` end to end: real data, every kind of tree, drift, folds, weights, workers."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from joblib import parallel_config
from scipy.stats import beta
from sklearn.datasets import load_diabetes, load_iris
from sklearn.metrics import roc_auc_score
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from steadytree.estimators.distilled import DistilledTreeClassifier
from steadytree.evaluation.cross_fitting import ranks_alike
from steadytree.evaluation.scores import losses, predict_rows
from steadytree.exceptions import InputError, SteadyTreeWarning
from steadytree.retraining import SearchOptions, retrain, runs
from steadytree.retraining.inputs import draw_rows, share_sample, with_rate
from steadytree.tree.rows import CodedRows
from tests.growing.mixed import mixed_table
from tests.retraining.conftest import QUICK


def test_scores_are_those_of_rows_left_out(cancer):
    X, y, first, result = cancer
    keep = result.frontier.loc["keep", "score"]
    assert keep == pytest.approx(
        roc_auc_score(y[250:], first.predict_proba(X[250:])[:, 1]), rel=1e-14
    )
    # Recomputed by hand: the own score, less what the fold trees' gains lose on rows left out.
    scores, coded = result.scores, result.rows.coded
    assert len(scores.folds) == 2
    for train, test in scores.folds:
        assert not set(train) & set(test)
    for name in ("re-estimate", result.chosen, "from scratch", "CART"):

        def area(tree, rows):
            return roc_auc_score(scores.y[rows], predict_rows(tree, coded[rows]).value[:, 1])

        everyone = np.arange(len(scores.y))
        optimism = 0.0
        for (train, test), trees in zip(scores.folds, scores.in_folds, strict=True):
            lost = [area(trees[name], r) - area(result.deployed, r) for r in (train, test)]
            optimism += len(test) / len(everyone) * (lost[0] - lost[1])
        expected = area(result.trees[name], everyone) - optimism
        if ranks_alike(result.deployed, result.trees[name], 1):
            expected = keep
        assert result.frontier.loc[name, "score"] == pytest.approx(min(expected, 1), abs=1e-12)
    assert 0 < result.frontier.loc["from scratch", "score_change_se"] < 0.1


def test_mixed_data_without_old_rows(mixed):
    X, y, first = mixed
    result = retrain(first, X[300:], y[300:], **QUICK)
    assert result.drift is None
    assert 0 <= result.settings["share_of_deployed_in_teacher"] <= 1
    assert result.settings["n_old"] is None
    assert result.space == first.feature_space_
    assert result.frontier.loc["price 0.02", "n_leaves"] >= 2


def test_drift_is_seen_and_said(mixed):
    X, y, first = mixed
    result = retrain(first, X[300:], 1 - y[300:], old=(X[:300], y[:300]), price=0.05, **QUICK)
    assert result.drift is not None
    assert result.drift.detected
    assert "no longer follow" in result.explain()
    row = result.frontier.loc["price 0.05"]
    assert row["score"] > result.frontier.loc["keep", "score"] + 0.1
    assert row["n_edits"] > 0


def test_several_classes():
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    rows = np.random.default_rng(0).permutation(150)
    X, names = X[rows], names[rows]
    first = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X[:75], names[:75])
    result = retrain(first, X[75:], names[75:], old=(X[:75], names[:75]), **QUICK)
    assert result.tree.classes == ("setosa", "versicolor", "virginica")
    assert (result.model.predict(X[75:]) == names[75:]).mean() > 0.9
    assert {"AUC", "accuracy", "balanced accuracy", "Brier score"} == set(
        result.performance().loc["all"].index
    )


def test_polars_frames_and_pickle(mixed):
    polars = pytest.importorskip("polars")
    X, y, first = mixed
    frames = [polars.from_pandas(part) for part in (X[:300], X[300:500])]
    quick = {**QUICK, "n_folds": 0}
    plain = retrain(first, X[300:500], y[300:500], old=(X[:300], y[:300]), **quick)
    result = retrain(first, frames[1], y[300:500], old=(frames[0], y[:300]), **quick)
    assert result.tree == plain.tree
    assert result.flips(by="colour")["n"].sum() == 200
    again = pickle.loads(pickle.dumps(result))
    assert again.tree == result.tree
    assert again.explain() == result.explain()


def test_regression():
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    first = DecisionTreeRegressor(max_leaf_nodes=6, min_samples_leaf=10, random_state=0)
    first.fit(X[:200], y[:200])
    result = retrain(first, X[200:], y[200:], old=(X[:200], y[:200]), **QUICK)
    assert not result.tree.is_classifier
    assert set(result.answer.gains) == {"score"}
    assert result.frontier.loc["re-estimate", "n_edits"] == 0
    assert "R²" in result.explain()
    assert "of its range" in result.explain()
    assert "R2" in result.performance().loc["all"].index
    span = result.space.response_range[1] - result.space.response_range[0]
    moved = np.abs(result.model.predict(X[200:]) - first.predict(X[200:])) > 0.05 * span
    assert result.flips() == pytest.approx(moved.mean())


def test_groups_and_time_make_the_folds(mixed):
    X, y, first = mixed
    new = slice(300, 600)
    groups = np.repeat(np.arange(100), 3)
    result = retrain(first, X[new], y[new], groups=groups, **QUICK)
    assert result.settings["folds"] == "groups"
    kinds = {"clustered DeLong", "clustered Wilson", "clustered t"}
    assert set(result.performance()["interval"]) == kinds
    time = np.arange(300) // 50
    result = retrain(first, X[new], y[new], time=time, **QUICK)
    assert result.settings["folds"] == "time"
    unscored = np.isnan(result.scores.left_out(result.chosen, losses))
    assert unscored.any()
    assert unscored[:50].all()  # the first block is never predicted from the future
    assert not unscored[-50:].any()  # the last block is


def test_sample_weights_and_progress(mixed, capsys):
    X, y, first = mixed
    seen = []
    weight = np.where(y[300:] == 1, 3.0, 1.0)
    plain = retrain(first, X[300:], y[300:], progress=True, **{**QUICK, "n_folds": 0})
    assert "retrain: 1/1 done" in capsys.readouterr().err
    result = retrain(
        first,
        X[300:],
        y[300:],
        sample_weight=weight,
        progress=lambda *step: seen.append(step),
        **QUICK,
    )
    assert result.tree.predict_proba(X)[:, 1].mean() > plain.tree.predict_proba(X)[:, 1].mean()
    steps = ["retraining on all rows", "scoring fold 1 of 2", "scoring fold 2 of 2", "done"]
    assert seen == [(step, done, 3) for done, step in enumerate(steps)]
    assert not capsys.readouterr().err
    with pytest.raises(InputError, match="True, None or a function as progress, got int"):
        retrain(first, X[300:], y[300:], progress=1, **QUICK)


# -- what a leaf says ------------------------------------------------------------------------


@pytest.mark.parametrize("with_old", [True, False])
def test_retraining_again_on_the_same_rows_changes_nothing(mixed, with_old):
    X, y, first = mixed
    old = {"old": (X[:300], y[:300])} if with_old else {}
    options = {**QUICK, "price": 0.05, "n_folds": 0}
    tree = retrain(first, X[300:], y[300:], **old, **options).tree
    assert tree != first.to_tree()
    shuffled = np.random.default_rng(1).permutation(np.arange(300, 700))
    for _ in range(4):
        with pytest.warns(SteadyTreeWarning, match="made from these very rows"):
            again = retrain(tree, X.iloc[shuffled], y[shuffled], **old, **options)
        assert again.tree == tree
        assert again.flips() == again.dissimilarity == 0
        tree = again.tree
    with pytest.warns(SteadyTreeWarning, match="made from these very rows"):
        retrain(first, X[:300], y[:300], **options)


def test_every_leaf_is_what_its_rows_say(mixed):
    """Recomputed from the raw rows: counts, the observed rate, and the prediction."""
    X, y, first = mixed
    result = retrain(first, X[300:], y[300:], old=(X[:300], y[:300]), **QUICK)
    for name in ("re-estimate", "price 0.2", "price 0.05", "from scratch"):
        tree, seen = result.trees[name], result.trees[name].observed
        leaf = tree.apply(X)
        for node in tree.leaves:
            for part, rows in enumerate((leaf[:300] == node, leaf[300:] == node)):
                outcomes = (y[:300] if part == 0 else y[300:])[rows]
                assert (
                    seen.counts[node, part].tolist() == np.bincount(outcomes, minlength=2).tolist()
                )
            n, hits, k = (leaf == node).sum(), y[leaf == node].sum(), seen.strength[node]
            assert tree.value[node, 1] == pytest.approx(
                (hits + k * seen.steadied_by[node, 1]) / (n + k), abs=1e-12
            )
            if n >= 20:
                low, high = proportion_interval(hits, n)
                assert low <= tree.value[node, 1] <= high
    # Nobody lives in an empty leaf: real rows fill the minimum.
    scratch = result.trees["from scratch"]
    assert scratch.observed.rows()[scratch.leaves].min() >= 8


def proportion_interval(hits, n):
    """Clopper and Pearson's 99 % interval."""
    low = beta.ppf(0.005, hits, n - hits + 1) if hits else 0.0
    return low, (beta.ppf(0.995, hits + 1, n - hits) if hits < n else 1.0)


def test_a_new_threshold_does_not_touch_what_was_decided(mixed):
    X, y, _ = mixed
    deployed = DecisionTreeClassifier(max_depth=3, random_state=0).fit(
        X[["age", "dose"]].fillna(0)[:300], y[:300]
    )
    table = X[["age", "dose"]].fillna(0)[300:]
    result = retrain(deployed, table, y[300:], decision=0.4, **QUICK)
    assert result.action in ("re-estimate", "change")  # the policy was asked for, so it is applied
    np.testing.assert_array_equal(result.deployed.predict(table), deployed.predict(table))
    changed = np.mean(deployed.predict(table) != result.tree.predict(table))
    assert result.flips() == changed > 0.1
    assert result.tree.decision_threshold == 0.4
    assert not result.check({"max_flips": 0.01}).held


def test_class_weights_are_inherited_as_a_policy():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 3))
    y = (rng.random(1500) < 0.15 / (1 + np.exp(-2 * X[:, 0]))).astype(int)
    deployed = DecisionTreeClassifier(
        max_depth=3, class_weight="balanced", min_samples_leaf=20, random_state=0
    ).fit(X[:800], y[:800])
    result = retrain(deployed, X[800:], y[800:], old=(X[:800], y[:800]), **QUICK)
    np.testing.assert_array_equal(result.deployed.predict(X), deployed.predict(X))
    sick = X[y == 1]
    before, after = (np.mean(m.predict(sick) == 1) for m in (deployed, result.tree))
    assert before > 0.5
    assert after > before - 0.15
    assert result.diff.classes_given_up == {}
    # Risks are rates, not weighted shares.
    assert result.tree.predict_proba(X)[:, 1].mean() == pytest.approx(y.mean(), abs=0.02)
    assert result.tree.decision.origin == "class weights"
    weighted = DistilledTreeClassifier(class_weight="balanced", n_estimators=20, random_state=0)
    again = retrain(weighted.fit(X[:800], y[:800]), X[800:], y[800:], **QUICK)
    assert again.tree.decision.threshold == pytest.approx(y[:800].mean())


# -- decisions are policy ------------------------------------------------------------------


def rare_outcomes(n=1400):
    """One in ten has the outcome, which two columns tell about; at 0.5 a plain tree flags few."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 4))
    y = (rng.random(n) < 1 / (1 + np.exp(3.2 - 1.4 * X[:, 0] - 1.0 * X[:, 1]))).astype(int)
    return X, y


def test_a_tree_that_flags_nobody_is_a_loud_warning():
    X, y = rare_outcomes()
    first = DecisionTreeClassifier(max_depth=2, class_weight="balanced", random_state=0)
    first.fit(X[:700], y[:700])
    with pytest.warns(SteadyTreeWarning, match='the proposal decides "0" for all 700 rows') as seen:
        result = retrain(first, X[700:], y[700:], decision=0.9, **QUICK)
    assert len(seen) == 1
    assert result.one_decision is not None
    assert result.diff.classes_given_up == {1: True}
    first_line, policy = result.explain().splitlines()[:2]
    assert f"first set a threshold, for example {result.one_decision.threshold_words}" in first_line
    assert policy.startswith("Policy: flags 1 from a risk of 90 % on.")
    assert "WARNING: the proposal decides 1 for nobody any more" in result.explain()
    # The threshold it names does catch half of the events, and the next risk does not.
    at = result.one_decision.threshold
    risk, sick = result.tree.predict_proba(X[700:])[:, 1], y[700:] == 1
    assert (risk[sick] >= at).mean() >= 0.5 > (risk[sick] > at).mean()


def test_a_class_is_not_given_up_under_the_same_policy():
    """The rarer class has all but gone: the deployed tree is kept, and the reason said."""
    X, y = rare_outcomes()
    first = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X[:700], y[:700])
    assert 1 in first.predict(X[:700])
    gone = np.where(np.random.default_rng(0).random(700) < 0.9, 0, y[700:])
    result = retrain(first, X[700:], gone, price=1e6, **QUICK)
    assert result.action == "keep"
    assert result.tree == result.deployed
    assert "would give up predicting 1" in result.explain().splitlines()[0]


# -- candidates and workers ------------------------------------------------------------


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_results_do_not_depend_on_the_backend(mixed, backend):
    """Nor on a Dask cluster: tests/test_jobs.py."""
    X, y, first = mixed
    args = (first, X[300:500], y[300:500])
    one = retrain(*args, **QUICK)
    with parallel_config(backend=backend, n_jobs=2):
        other = retrain(*args, **QUICK)
    assert one.tree == other.tree
    assert one.trees == other.trees
    pd.testing.assert_frame_equal(one.frontier, other.frontier)


def test_own_candidates_fitted_and_not(cancer):
    X, y, first, _ = cancer
    small = DecisionTreeClassifier(max_depth=1, random_state=0)
    result = retrain(
        first,
        X[250:],
        y[250:],
        candidates={
            "stump": small.fit(X[:250], y[:250]),
            "fresh": DecisionTreeClassifier(max_depth=2),
        },
        **QUICK,
    )
    table = result.frontier
    assert not table.loc["stump", "cross_fitted"]
    assert table.loc["fresh", "cross_fitted"]
    assert result.trees["stump"].n_leaves == 2
    assert result.trees["stump"].decision_threshold == result.deployed.decision_threshold
    with pytest.raises(InputError, match="rename"):
        retrain(first, X[250:], y[250:], candidates={"keep": small}, **QUICK)


def test_what_a_fold_leaves_out_has_no_say_in_its_trees(mixed):
    """Other outcomes in the last block of time: no fold was trained on it, so none differs."""
    X, y, first = mixed
    new, time = slice(300, 540), np.arange(240) // 40
    others = y[new].copy()
    others[200:] = others[200:][::-1]
    assert (others != y[new]).sum() > 5
    quick = {**QUICK, "time": time, "price": 0.05}
    one, two = (retrain(first, X[new], outcomes, **quick) for outcomes in (y[new], others))
    assert len(one.scores.folds) == 2
    for before, after in zip(one.scores.in_folds, two.scores.in_folds, strict=True):
        assert before.keys() == after.keys()
        assert all(before[name] == after[name] for name in before)
    assert any(one.trees[name] != two.trees[name] for name in one.trees)
    # Each fold's trees are those of its training rows alone, not of all rows.
    assert one.scores.in_folds[0]["from scratch"] != one.scores.in_folds[1]["from scratch"]


# -- a sample for the rules, all rows for values and counts ----------------------------


@given(st.integers(0, 10**7), st.integers(1, 10**7), st.integers(100, 10**5))
def test_shares_of_a_sample(n_old, n_new, most):
    old, new = share_sample(n_old, n_new, most)
    assert 0 <= old <= n_old
    assert 1 <= new <= n_new
    if n_old + n_new <= most:
        assert (old, new) == (n_old, n_new)
    else:
        assert old + new <= most
        assert new == n_new or new >= most // 2


def test_classes_keep_their_share_and_the_seed_decides():
    y = np.repeat([0, 1, 2], [9000, 990, 10])
    rows = draw_rows(y, 1000, classifier=True, seed=3)
    assert np.bincount(y[rows]).tolist() == [900, 99, 1]
    assert (np.diff(rows) > 0).all()
    np.testing.assert_array_equal(rows, draw_rows(y, 1000, classifier=True, seed=3))
    assert not np.array_equal(rows, draw_rows(y, 1000, classifier=True, seed=4))
    assert len(draw_rows(y / 2, 1000, classifier=False, seed=3)) == 1000
    assert len(draw_rows(y, 20_000, classifier=True, seed=3)) == 10_000


def test_rows_stand_for_others_only_where_they_must():
    rows = CodedRows(np.zeros((3, 1)), np.zeros(3))
    assert with_rate(rows, 1.001) is rows
    assert with_rate(rows, 2.0).weights.tolist() == [2, 2, 2]


@pytest.mark.parametrize("with_old", [False, True])
def test_values_and_counts_come_from_all_rows(mixed, monkeypatch, with_old):
    """On a sample of 150 rows the counts were those of the sample."""
    X, y, first = mixed
    monkeypatch.setattr(runs, "STRUCTURE_ROWS", 150)
    new, old = slice(300, 700), slice(0, 120)
    before = {"old": (X[old], y[old])} if with_old else {}
    quick = {**QUICK, "n_folds": 0, "price": 0.05}
    result = retrain(first, X[new], y[new], **before, **quick)
    n_all = 520 if with_old else 400
    assert result.settings["n_rows_values"] == n_all
    assert result.settings["n_rows_structure"] <= 152
    for name in ("re-estimate", "price 0.05", "from scratch"):
        tree = result.trees[name]
        assert tree.observed.rows()[0] == n_all
        assert tree.observed.rows("old")[0] == (120 if with_old else 0)
        leaf = tree.apply(X[new])
        for node in np.flatnonzero(tree.is_leaf):
            inside = y[new][leaf == node]
            assert tree.observed.rows("new")[node] == len(inside)
            assert tree.observed.outcomes(1, "new")[node] == inside.sum()
        some = tree.observed.rows() > 0
        np.testing.assert_allclose(tree.observed.predicted()[some], tree.value[some], atol=1e-9)
    assert "Rules were searched on a sample of 15" in result.explain()
    again = retrain(first, X[new], y[new], **before, **quick)
    assert again.tree == result.tree


def test_a_response_has_its_means_from_all_rows(monkeypatch):
    from sklearn.tree import DecisionTreeRegressor

    X, _ = mixed_table(500, 1)
    X = X[["age"]].fillna(50.0)
    y = (X["age"] > 40) * 5.0 + np.sin(np.arange(500))
    deployed = DecisionTreeRegressor(max_depth=2, random_state=0).fit(X[:100], y[:100])
    monkeypatch.setattr(runs, "STRUCTURE_ROWS", 150)
    result = retrain(deployed, X[100:], y[100:], **{**QUICK, "n_folds": 0})
    tree = result.trees["re-estimate"]
    leaf = tree.apply(X[100:])
    for node in np.flatnonzero(tree.is_leaf):
        inside = y[100:][leaf == node]
        assert tree.observed.rows()[node] == len(inside)
        assert tree.observed.rate()[node, 0] == pytest.approx(inside.mean())


# -- options ---------------------------------------------------------------------------


def test_options_are_read_back_from_the_settings_of_a_result():
    for options_given in ({}, {"copies": 1}, {"max_leaf_nodes": 5, "max_depth": 3}):
        options = SearchOptions(n_estimators=40, **options_given)
        settings = {"price": 0.25, **options.record()}
        assert SearchOptions.of_settings(settings) == options


@pytest.mark.parametrize(
    ("entries", "words"),
    [
        ({"n_estimators": 0}, "whole number >= 1 as n_estimators, got 0; the default is 100"),
        ({"max_depth": 2.5}, "as max_depth, got 2.5"),
        ({"min_samples_leaf": True}, "as min_samples_leaf, got True"),
        ({"max_leaf_nodes": -1}, "as max_leaf_nodes, got -1; the default is None"),
    ],
)
def test_bad_entries_are_named(entries, words):
    with pytest.raises(InputError, match=words):
        SearchOptions(**entries)


def test_runs_that_only_score_ask_half_the_trees():
    sizes = {n: SearchOptions(n_estimators=n).in_folds().n_estimators for n in (20, 80, 100, 300)}
    assert sizes == {20: 20, 80: 50, 100: 50, 300: 150}
