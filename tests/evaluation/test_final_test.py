"""Scores on rows that nothing has seen: by hand with scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import brier_score_loss, r2_score, recall_score, roc_auc_score

from steadytree.evaluation.performance import score_on_test
from steadytree.tree.decision import Decision
from tests.evaluation.test_cross_fitting import draw, fit


@pytest.mark.parametrize("positive", [0, 1])
def test_every_column_is_recomputed_from_the_rows(positive):
    trees = {"deployed": fit(*draw(200, 1, "signal")), "proposal": fit(*draw(300, 2, "signal"))}
    decision = Decision(0.3, positive=positive).resolve((0, 1))
    trees = {name: tree.relabelled(decision) for name, tree in trees.items()}
    X, y = draw(400, 3, "signal")
    table = score_on_test(trees, X, y, decision, span=None)
    before = trees["deployed"].predict(X)
    for name, tree in trees.items():
        row, risk, label = table.loc[name], tree.predict_proba(X)[:, 1], tree.predict(X)
        assert row["n"] == 400
        assert row["events"] == np.bincount(y).min()
        assert row["score"] == pytest.approx(roc_auc_score(y, risk))
        assert row["brier"] == pytest.approx(brier_score_loss(y, risk))
        assert row["sensitivity"] == pytest.approx(recall_score(y, label, pos_label=positive))
        assert row["specificity"] == pytest.approx(recall_score(y, label, pos_label=1 - positive))
        missed, false_alarm = (y == positive) & (label != y), (y != positive) & (label != y)
        cost = 0.7 * missed + 0.3 * false_alarm
        assert row["cost"] == pytest.approx(cost.mean())
        assert row["flips"] == (label != before).mean()
        assert row["change_low"] <= row["score_change"] <= row["change_high"]
    assert table.loc["deployed", ["score_change", "change_low", "change_high"]].tolist() == [0] * 3
    change = table["score"]["proposal"] - table["score"]["deployed"]
    assert table["score_change"]["proposal"] == pytest.approx(change)


def test_intervals_cover_the_bootstrap():
    trees = {"deployed": fit(*draw(200, 1, "signal")), "proposal": fit(*draw(300, 2, "signal"))}
    X, y = draw(500, 3, "signal")
    table = score_on_test(trees, X, y, Decision(), span=None)
    rng, changes = np.random.default_rng(0), []
    risks = [tree.predict_proba(X)[:, 1] for tree in trees.values()]
    for _ in range(400):
        rows = rng.integers(500, size=500)
        one, two = (roc_auc_score(y[rows], risk[rows]) for risk in risks)
        changes.append(two - one)
    half = (table["change_high"] - table["change_low"])["proposal"] / 2
    assert half == pytest.approx(1.96 * np.std(changes), rel=0.15)


def test_groups_widen_the_interval_of_rows_that_repeat():
    trees = {"deployed": fit(*draw(200, 1, "signal")), "proposal": fit(*draw(300, 2, "signal"))}
    X, y = draw(200, 3, "signal")
    X, y, group = np.repeat(X, 4, axis=0), np.repeat(y, 4), np.repeat(np.arange(200), 4)
    widths = [
        score_on_test(trees, X, y, Decision(), span=None, groups=groups)["score_se"]["proposal"]
        for groups in (None, group)
    ]
    assert widths[1] == pytest.approx(2 * widths[0], rel=0.1)


def test_a_response_has_r2_and_no_decisions():
    kind = "response"
    trees = {"deployed": fit(*draw(200, 1, kind), kind), "proposal": fit(*draw(300, 2, kind), kind)}
    X, y = draw(400, 3, kind)
    table = score_on_test(trees, X, y, Decision(), span=float(np.ptp(y)))
    assert table["score"]["proposal"] == pytest.approx(r2_score(y, trees["proposal"].predict(X)))
    assert table["events"].isna().all()
    assert "sensitivity" not in table
