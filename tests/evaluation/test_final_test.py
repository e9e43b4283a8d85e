"""A final test: every number recomputed with scikit-learn on rows that nothing has seen."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.metrics import (
    brier_score_loss,
    confusion_matrix,
    r2_score,
    recall_score,
    roc_auc_score,
)
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import steadytree as st
from steadytree.evaluation.final_test import score_on_test


def test_every_number_of_two_classes() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    policy = st.Decision(0.2, positive=0)
    trees = {
        name: st.as_tree(
            DecisionTreeClassifier(max_depth=depth, random_state=0).fit(X[:n], y[:n]), policy
        )
        for name, depth, n in (("deployed", 2, 150), ("proposal", 3, 300))
    }
    rows, outcome = X[300:], y[300:]
    table = score_on_test(trees, rows, outcome, trees["proposal"].decision, span=None)
    assert list(table.index) == list(trees)
    before = trees["deployed"].predict(rows)
    for name, tree in trees.items():
        share, label, found = tree.predict_proba(rows)[:, 0], tree.predict(rows), table.loc[name]
        assert (found["n"], found["events"]) == (len(rows), min(np.bincount(outcome)))
        assert found["score"] == pytest.approx(roc_auc_score(outcome == 0, share))
        assert found["flips"] == pytest.approx(np.mean(label != before))
        assert found["brier"] == pytest.approx(brier_score_loss(outcome == 0, share))
        assert found["sensitivity"] == pytest.approx(recall_score(outcome, label, pos_label=0))
        assert found["specificity"] == pytest.approx(recall_score(outcome, label, pos_label=1))
        missed, false = confusion_matrix(outcome, label)[[0, 1], [1, 0]]
        assert found["cost"] == pytest.approx((0.8 * missed + 0.2 * false) / len(rows))
        change = found["score"] - table["score"]["deployed"]
        assert found["score_change"] == pytest.approx(change)
        middle = (found["change_low"] + found["change_high"]) / 2
        assert middle == pytest.approx(change)
    assert table["change_low"]["deployed"] == table["change_high"]["deployed"] == 0
    assert table["change_low"]["proposal"] < table["change_high"]["proposal"]


def test_a_group_counts_as_one_observation() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    trees = {
        str(depth): st.as_tree(
            DecisionTreeClassifier(max_depth=depth, random_state=0).fit(X[:300], y[:300])
        )
        for depth in (1, 4)
    }
    rows, outcome, decision = X[300:], y[300:], trees["1"].decision
    plain = score_on_test(trees, rows, outcome, decision, span=None)
    twice = score_on_test(
        trees,
        np.repeat(rows, 2, axis=0),
        np.repeat(outcome, 2),
        decision,
        span=None,
        groups=np.repeat(np.arange(len(rows)), 2),
    )
    assert twice["score"]["4"] == pytest.approx(plain["score"]["4"])
    width = {
        name: t["change_high"]["4"] - t["change_low"]["4"]
        for name, t in {"plain": plain, "twice": twice}.items()
    }
    assert width["twice"] == pytest.approx(width["plain"], rel=0.02)


def test_a_response_has_no_classes() -> None:
    X, y = load_diabetes(return_X_y=True)
    trees = {
        name: st.as_tree(
            DecisionTreeRegressor(max_depth=depth, random_state=0).fit(X[:250], y[:250])
        )
        for name, depth in (("deployed", 1), ("proposal", 3))
    }
    table = score_on_test(
        trees, X[250:], y[250:], trees["deployed"].decision, span=float(np.ptp(y))
    )
    assert "sensitivity" not in table
    assert table["events"].isna().all()
    for name, tree in trees.items():
        assert table["score"][name] == pytest.approx(r2_score(y[250:], tree.predict(X[250:])))
