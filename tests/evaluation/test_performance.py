"""The table of two models on the same rows: its measures, intervals, groups and masks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest, norm
from sklearn.metrics import brier_score_loss, precision_score, r2_score, recall_score, roc_auc_score

from steadytree.evaluation.performance import performance_table
from steadytree.evaluation.scores import Predictions, auc_influence, standard_error

N = 300
EVERYONE: list[tuple[Any, np.ndarray]] = [("all", np.arange(N))]


def two_classes(seed: int) -> Predictions:
    rng = np.random.default_rng(seed)
    share = np.clip(0.25 + 0.5 * outcomes() + rng.normal(0, 0.25, N), 0, 1)
    return Predictions(np.column_stack([1 - share, share]), (share >= 0.5).astype(np.int32))


def outcomes() -> np.ndarray:
    return (np.arange(N) % 3 == 0).astype(np.int64)


def table_of(y: np.ndarray, old: Predictions, new: Predictions, **options: Any) -> pd.DataFrame:
    defaults = {
        "classes": ("no", "yes"),
        "groups": None,
        "parts": EVERYONE,
        "min_cell": 0,
        "level": 0.95,
    }
    return performance_table(y, old, new, **{**defaults, **options})


def test_measures_of_two_classes_are_scikit_learns() -> None:
    y, old, new = outcomes(), two_classes(1), two_classes(2)
    table = table_of(y, old, new).loc["all"]
    for side, model in (("old", old), ("new", new)):
        expected = {
            "AUC": roc_auc_score(y, model.value[:, 1]),
            "accuracy": np.mean(model.label == y),
            "sensitivity": recall_score(y, model.label),
            "specificity": recall_score(y, model.label, pos_label=0),
            "positive predictive value": precision_score(y, model.label),
            "negative predictive value": precision_score(y, model.label, pos_label=0),
            "flagged positive": model.label.mean(),
            "calibration: mean predicted minus observed": model.value[:, 1].mean() - y.mean(),
            "Brier score": brier_score_loss(y, model.value[:, 1]),
        }
        assert table[side].to_dict() == pytest.approx(expected)
    np.testing.assert_allclose(table["change"], table["new"] - table["old"], atol=1e-12)
    # A measure rests on the rows of its denominator, of the smaller model.
    assert table.loc["sensitivity", "n"] == y.sum()
    flagged = min(old.label.sum(), new.label.sum())
    assert table.loc["positive predictive value", "n"] == flagged


def test_intervals_are_wilsons_and_delongs() -> None:
    y, old, new = outcomes(), two_classes(1), two_classes(2)
    table = table_of(y, old, new, level=0.9).loc["all"]
    hits = int(((old.label == 1) & (y == 1)).sum())
    wilson = binomtest(hits, int(y.sum())).proportion_ci(0.9, method="wilson")
    row = table.loc["sensitivity"]
    assert row["interval"] == "Wilson"
    assert (row["old_low"], row["old_high"]) == pytest.approx((wilson.low, wilson.high))
    areas = [auc_influence(y == 1, model.value[:, 1]) for model in (old, new)]
    half = norm.ppf(0.95) * standard_error(areas[1].influence - areas[0].influence)
    row = table.loc["AUC"]
    assert row["interval"] == "DeLong"
    assert row["change_high"] - row["change"] == pytest.approx(half)


def test_a_model_against_itself_has_not_changed() -> None:
    same = two_classes(1)
    table = table_of(outcomes(), same, same)
    assert (table[["change", "change_low", "change_high"]] == 0).all(axis=None)


def test_cells_with_few_rows_are_masked() -> None:
    y = outcomes()
    parts = [("few", np.arange(30)), ("many", np.arange(30, N))]
    table = table_of(y, two_classes(1), two_classes(2), parts=parts, min_cell=20)
    few = table.loc["few"]
    assert few.loc["sensitivity", "n"] == 10  # of 30 rows
    assert few.loc["sensitivity", "masked"]
    shown = [column for column in few if column not in ("n", "interval", "masked")]
    assert few.loc["sensitivity", shown].isna().all()
    assert not few.loc["accuracy", "masked"]
    assert few.loc["accuracy", shown].notna().all()
    assert not table.loc["many", "masked"].any()


def test_rows_of_a_group_widen_the_intervals() -> None:
    y, old, new = outcomes(), two_classes(1), two_classes(2)
    twice = np.repeat(np.arange(N), 2)
    parts = [("all", np.arange(2 * N))]
    doubled = y[twice], old.take(twice), new.take(twice)
    alone = table_of(y, old, new).loc["all"]
    table = table_of(*doubled, parts=parts, groups=twice).loc["all"]
    assert table.loc["AUC", "interval"] == "clustered DeLong"
    assert table.loc["accuracy", "interval"] == "clustered normal"
    for metric in ("AUC", "Brier score"):
        wide, once, naive = (
            t.loc[metric, "change_high"] - t.loc[metric, "change_low"]
            for t in (table, alone, table_of(*doubled, parts=parts).loc["all"])
        )
        assert wide == pytest.approx(once)
        assert naive < 0.75 * wide


def test_responses_and_several_classes() -> None:
    rng = np.random.default_rng(0)
    truth = rng.normal(size=N)
    nobody = np.zeros(N, dtype=np.int32)
    old, new = (Predictions((truth + rng.normal(0, s, N))[:, None], nobody) for s in (1, 0.5))
    table = table_of(truth, old, new, classes=None).loc["all"]
    assert table.index.tolist() == ["R2", "mean absolute error", "mean error"]
    error = new.value[:, 0] - truth
    expected = [r2_score(truth, new.value[:, 0]), np.abs(error).mean(), error.mean()]
    assert table["new"].tolist() == pytest.approx(expected)
    y = rng.integers(0, 3, N)
    share = rng.dirichlet([1, 1, 1], N)
    guess = Predictions(share, share.argmax(axis=1).astype(np.int32))
    table = table_of(y, guess, guess, classes=("a", "b", "c")).loc["all"]
    assert table.index.tolist() == ["AUC", "accuracy", "Brier score"]
    brier = ((share - np.eye(3)[y]) ** 2).sum(axis=1).mean()
    assert table.loc["Brier score", "old"] == pytest.approx(brier)
    assert table.loc["AUC", "n"] == np.bincount(y).min()
