"""A retraining answers: whose decisions change, how well it predicts."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.base import is_classifier
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import balanced_accuracy_score, roc_auc_score
from sklearn.tree import DecisionTreeClassifier

import steadytree as st
from steadytree.exceptions import InputError, SteadyTreeWarning, UnsupportedModelError
from steadytree.retraining import retrain
from tests.retraining.conftest import QUICK


def test_the_model_predicts_and_inherits_the_threshold(cancer):
    X, _, first, result = cancer
    assert is_classifier(result.model)
    assert result.tree.decision_threshold == first.to_tree().decision_threshold
    np.testing.assert_array_equal(result.model.predict(X[:20]), result.tree.predict(X[:20]))
    assert result.dissimilarity == result.frontier.loc[result.chosen, "dissimilarity"]
    assert result.diff.dissimilarity == pytest.approx(result.dissimilarity)


def test_flips_are_a_direct_count_by_any_column(cancer):
    X, _, first, result = cancer
    changed = first.predict(X[250:]) != result.model.predict(X[250:])
    assert result.flips() == changed.mean()
    table = result.flips(by="mean radius")
    assert table["n"].sum() == len(changed)
    shares = (table["flips"] * table["n"]).sum()
    assert shares == pytest.approx(changed.sum())
    side = np.where(X[250:]["mean radius"] > 14, "large", "small")
    assert set(result.flips(by=side).index) == {"large", "small"}
    assert result.flips(by=lambda rows: np.zeros(len(rows), dtype=int)).shape == (1, 6)
    with pytest.raises(InputError, match="got by='colour'"):
        result.flips(by="colour")


def test_performance_counts_decisions(cancer):
    X, y, first, result = cancer
    table = result.performance().loc["all"]
    truth = y[250:]
    for side, model in (("deployed", first), ("own", result.model)):
        label, share = model.predict(X[250:]), model.predict_proba(X[250:])[:, 1]
        expected = {
            "AUC": roc_auc_score(truth, share),
            "accuracy": (label == truth).mean(),
            "balanced accuracy": balanced_accuracy_score(truth, label),
            "sensitivity": label[truth == 1].mean(),
            "specificity": 1 - label[truth == 0].mean(),
            "positive predictive value": truth[label == 1].mean(),
            "negative predictive value": 1 - truth[label == 0].mean(),
            "flagged positive": label.mean(),
            "calibration: mean predicted minus observed": share.mean() - truth.mean(),
            "Brier score": ((share - truth) ** 2).mean(),
        }
        assert table[side].to_dict() == pytest.approx(expected)
    assert table.loc["accuracy", "n"] == len(truth)
    for side in ("deployed", "recipe", "change"):
        assert (table[f"{side}_low"] <= table[side]).all()
        assert (table[side] <= table[f"{side}_high"]).all()
    assert set(table["interval"]) == {"DeLong", "Wilson", "t"}
    # Who is flagged needs no outcome, so the proposal's own tree says it.
    assert table.loc["flagged positive", "recipe"] == table.loc["flagged positive", "own"]


@pytest.mark.parametrize("before", [None, st.Decision(0.6, positive="well")])
def test_the_new_policy_s_positive_class_is_measured_and_named(cancer, before):
    """Numbers of "well" once stood beside the words "for ill", and the other way round."""
    X, y, *_ = cancer
    y = np.where(y == 1, "well", "ill")
    first = st.DistilledTreeClassifier(
        n_estimators=10, max_leaf_nodes=6, decision_threshold=before, random_state=0
    ).fit(X[:250], y[:250])
    policy = st.Decision(0.2, positive="ill")
    result = retrain(first, X[250:], y[250:], decision=policy, **QUICK)
    found, truth = result.tree.predict(X[250:]), y[250:]
    table = result.performance().loc["all"]
    assert table.loc["sensitivity", "own"] == (found[truth == "ill"] == "ill").mean()
    old = first.predict(X[250:])
    assert table.loc["sensitivity", "deployed"] == (old[truth == "ill"] == "ill").mean()
    names = [row["name"] for row in result.to_dict()["performance"]["measures"]]
    assert "Sensitivity for ill" in names


def test_the_table_says_which_tree_on_which_rows(cancer):
    _, _, _, result = cancer
    words = result.performance().attrs["columns"]
    assert "not trained on them" in words["deployed"]
    assert "which it was trained on" in words["own"]
    assert "has not seen" in words["recipe"]


def test_headline_and_table_agree_to_the_last_digit(cancer):
    """The frontier's score and the performance table are one estimate, for every candidate."""
    _, _, _, result = cancer
    for name in result.frontier.index:
        chosen = dataclasses.replace(result, chosen=str(name))
        line, row = chosen.performance().loc[("all", "AUC")], result.frontier.loc[name]
        assert line["recipe"] == row["score"]
        assert line["change"] == row["score_change"]
        half = (line["recipe_high"] - line["recipe_low"]) / 2
        assert half == pytest.approx(norm.ppf(0.975) * row["score_se"], rel=1e-12)
        half = line["change_high"] - line["change"]
        assert half == pytest.approx(norm.ppf(0.975) * row["score_change_se"], rel=1e-9)
    (clause,) = result.check({"min_score_change": -1}).clauses
    line = result.performance().loc[("all", "AUC")]
    found = (clause.measured, clause.low, clause.high)
    assert found == tuple(line[["change", "change_low", "change_high"]])


def test_moves_in_risk_are_counted_and_gated(cancer):
    X, _, first, result = cancer
    moves = np.abs(result.model.predict_proba(X[250:])[:, 1] - first.predict_proba(X[250:])[:, 1])
    np.testing.assert_allclose(result.risk_moves, moves, atol=1e-12)
    moved = result.risk_moved()
    assert moved == {"moved_5": (moves > 0.05).mean(), "moved_10": (moves > 0.1).mean()}
    assert 0 < moved["moved_10"] <= moved["moved_5"]
    assert result.frontier.loc[result.chosen, ["moved_5", "moved_10"]].to_dict() == moved
    assert result.frontier.loc["keep", ["moved_5", "moved_10"]].tolist() == [0, 0]
    checked = result.check({"max_moved_5": moved["moved_5"] / 2, "max_moved_10": 1.0})
    assert [clause.verdict for clause in checked.clauses] == ["broken", "held"]
    assert [clause.measured for clause in checked.clauses] == list(moved.values())
    table = result.flips(by="mean radius")
    assert (table["moved_5"] * table["n"]).sum() == pytest.approx((moves > 0.05).sum())


def test_the_proposed_tree_in_the_form_of_the_deployed_model(deployed_stump):
    X, model, update = deployed_stump
    written = update.to_like(model)
    np.testing.assert_array_equal(written.predict(X), update.tree.predict(X))
    assert type(written) is DecisionTreeClassifier
    assert written.get_params() == model.get_params()


def test_a_share_that_gives_way_to_its_label_is_told(deployed_stump):
    X, model, update = deployed_stump
    kept = dataclasses.replace(
        update, tree=update.tree.replace(label=1 - update.tree.label)
    )  # every label against its share
    with pytest.warns(SteadyTreeWarning, match="2 of 2 leaves keep their label against"):
        written = kept.to_like(model)
    np.testing.assert_array_equal(written.predict(X), kept.tree.predict(X))
    with pytest.raises(UnsupportedModelError, match="prefer='labels'"):
        kept.to_like(model, prefer=None)


def test_a_form_that_cannot_tell_two_rows_apart_is_refused(deployed_stump):
    _, model, update = deployed_stump
    at = float(np.float32(update.tree.threshold[0]))
    threshold = np.where(np.arange(update.tree.n_nodes) == 0, at, update.tree.threshold)
    rows = update.X_new.copy()
    # Above the threshold, until scikit-learn rounds it.
    rows.iloc[0, update.tree.feature[0]] = np.nextafter(at, np.inf)
    sharp = dataclasses.replace(
        update,
        tree=update.tree.replace(precision="float64", threshold=threshold),
        rows=dataclasses.replace(update.rows, table=rows),
    )
    with pytest.raises(UnsupportedModelError, match="another prediction for 1 of"):
        sharp.to_like(model)


@pytest.fixture(scope="module")
def deployed_stump():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    model = DecisionTreeClassifier(max_depth=1, random_state=0).fit(X[:250], y[:250])
    return X, model, st.retrain(model, X[250:], y[250:], n_folds=0, price=5, random_state=0)
