"""``retrain`` end to end: real data, every kind of tree, drift, folds, weights."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris
from sklearn.metrics import roc_auc_score
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from steadytree.estimators.distilled import DistilledTreeClassifier
from steadytree.retraining import retrain
from tests.growing.mixed import mixed_table
from tests.retraining.conftest import QUICK


def test_scores_are_those_of_rows_left_out(cancer):
    X, y, first, result = cancer
    new = result.new_predictions
    assert not np.isnan(new.value).any()
    keep = result.frontier.loc["keep", "score"]
    # Within folds the deployed tree's score is that of its own predictions.
    assert keep == pytest.approx(
        roc_auc_score(y[250:], first.predict_proba(X[250:])[:, 1]), abs=0.02
    )
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
    result = retrain(first, X[300:], 1 - y[300:], X_old=X[:300], y_old=y[:300], price=0.05, **QUICK)
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
    result = retrain(first, X[75:], names[75:], X_old=X[:75], y_old=names[:75], **QUICK)
    assert result.tree.classes == ("setosa", "versicolor", "virginica")
    assert (result.model.predict(X[75:]) == names[75:]).mean() > 0.9
    assert {"AUC", "accuracy", "Brier score"} == set(result.performance().loc["all"].index)


def test_polars_frames_and_pickle(mixed):
    polars = pytest.importorskip("polars")
    X, y, first = mixed
    frames = [polars.from_pandas(part) for part in (X[:300], X[300:500])]
    quick = {**QUICK, "n_folds": 0}
    plain = retrain(first, X[300:500], y[300:500], X_old=X[:300], y_old=y[:300], **quick)
    result = retrain(first, frames[1], y[300:500], X_old=frames[0], y_old=y[:300], **quick)
    assert result.tree == plain.tree
    assert result.flips(by="colour")["n"].sum() == 200
    again = pickle.loads(pickle.dumps(result))
    assert again.tree == result.tree
    assert again.explain() == result.explain()


def test_regression():
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    first = DecisionTreeRegressor(max_leaf_nodes=6, min_samples_leaf=10, random_state=0)
    first.fit(X[:200], y[:200])
    result = retrain(first, X[200:], y[200:], X_old=X[:200], y_old=y[:200], **QUICK)
    assert not result.tree.is_classifier
    assert result.frontier.loc["leaf values", "n_edits"] == 0
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
    assert set(result.performance()["interval"]) == {"clustered DeLong", "clustered normal"}
    time = np.arange(300) // 50
    result = retrain(first, X[new], y[new], time=time, **QUICK)
    assert result.settings["folds"] == "time"
    unscored = np.isnan(result.new_predictions.value[:, 0])
    assert unscored.any()
    assert unscored[:50].all()  # the first block is never predicted from the future
    assert result.performance().loc[("all", "accuracy"), "n"] == (~unscored).sum()


def test_sample_weights_and_progress(mixed, capsys):
    X, y, first = mixed
    seen = []
    weight = np.where(y[300:] == 1, 3.0, 1.0)
    plain = retrain(first, X[300:], y[300:], **{**QUICK, "n_folds": 0})
    result = retrain(
        first,
        X[300:],
        y[300:],
        sample_weight=weight,
        progress=lambda *step: seen.append(step),
        verbose=1,
        **QUICK,
    )
    assert result.tree.predict_proba(X)[:, 1].mean() > plain.tree.predict_proba(X)[:, 1].mean()
    assert [done for _, done, _ in seen] == [0, 1, 2, 3]
    assert "retrain: 3/3 done" in capsys.readouterr().err


def test_without_drift_nothing_changes():
    edits, apart = [], []
    for seed in range(3):
        X, y = mixed_table(1500, seed)
        first = DistilledTreeClassifier(random_state=seed, n_estimators=50)
        result = retrain(
            first.fit(X[:900], y[:900]),
            X[900:],
            y[900:],
            X_old=X[:900],
            y_old=y[:900],
            n_estimators=50,
            n_folds=0,
            random_state=seed,
        )
        edits.append(len(result.edits))
        apart.append(result.dissimilarity)
    assert np.median(edits) <= 1
    assert np.mean(apart) < 0.05
