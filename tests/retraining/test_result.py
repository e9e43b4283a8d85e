"""A retraining answers: whose decisions change, how well it predicts."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import is_classifier
from sklearn.metrics import roc_auc_score

from steadytree.exceptions import InputError


def test_the_model_predicts_and_inherits_the_threshold(cancer):
    X, _, first, result = cancer
    assert is_classifier(result.model)
    assert result.tree.decision_threshold == first.to_tree().decision_threshold
    np.testing.assert_array_equal(result.model.predict(X[:20]), result.tree.predict(X[:20]))
    assert result.dissimilarity == result.frontier.loc["price 0.2", "dissimilarity"]
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
    assert result.flips(by=lambda rows: np.zeros(len(rows), dtype=int)).shape == (1, 5)
    with pytest.raises(InputError, match="got by='colour'"):
        result.flips(by="colour")


def test_small_cells_are_masked(cancer):
    _, _, _, result = cancer
    few = np.r_[np.zeros(5, dtype=int), np.ones(len(result.y_new) - 5, dtype=int)]
    assert result.flips(by=few).loc[0, "masked"]
    assert np.isnan(result.flips(by=few).loc[0, "flips"])
    table = result.performance(by=few)
    assert table.loc[0, "masked"].all()
    assert table.loc[0]["new"].isna().all()
    assert not table.loc[1, "masked"].any()


def test_performance_counts_decisions(cancer):
    X, y, first, result = cancer
    table = result.performance().loc["all"]
    said = first.predict(X[250:])
    truth = y[250:]
    assert table.loc["sensitivity", "old"] == pytest.approx(said[truth == 1].mean())
    assert table.loc["specificity", "old"] == pytest.approx(1 - said[truth == 0].mean())
    assert table.loc["positive predictive value", "old"] == pytest.approx(truth[said == 1].mean())
    assert table.loc["accuracy", "n"] == len(truth)
    shares = first.predict_proba(X[250:])[:, 1]
    assert table.loc["AUC", "old"] == pytest.approx(roc_auc_score(truth, shares))
    assert table.loc["calibration: mean predicted minus observed", "old"] == pytest.approx(
        shares.mean() - truth.mean()
    )
    inside = (table["old_low"] <= table["old"]) & (table["old"] <= table["old_high"])
    assert inside.all()
    assert set(table["interval"]) == {"DeLong", "Wilson", "normal"}
