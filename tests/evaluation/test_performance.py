"""The table of deployed and proposed tree: its measures, intervals, groups and masks."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest, norm
from scipy.stats import t as student
from sklearn.metrics import (
    balanced_accuracy_score,
    brier_score_loss,
    precision_score,
    r2_score,
    recall_score,
    roc_auc_score,
)

from steadytree.evaluation.cross_fitting import CrossFitted
from steadytree.evaluation.performance import measure_score, performance_table
from steadytree.evaluation.scores import (
    area_excess,
    auc_influence,
    auc_interval,
    half_width,
    loss_interval,
    proportion_interval,
    quantile,
    squared_errors,
    standard_error,
)
from steadytree.tree.decision import Decision
from tests.evaluation.test_cross_fitting import cross_fitted, draw, fit
from tests.golden import build

N = 300


def two_trees(kind: str = "signal", *, twice: bool = False, same: bool = False) -> CrossFitted:
    """Two given trees, neither of which saw the rows."""
    X, y = draw(N, 0, kind)
    groups = None
    if twice:
        rows = np.repeat(np.arange(N), 2)
        X, y, groups = X[rows], y[rows], rows
    deployed, other = (fit(*draw(150, seed, kind), kind) for seed in (1, 2))
    return CrossFitted(
        coded=X,
        y=y,
        deployed=deployed,
        own={"new": deployed if same else other},
        in_folds=[],
        folds=[],
        fixed=frozenset(["new"]),
        groups=groups,
    )


def table_of(scores: CrossFitted, **options: Any) -> pd.DataFrame:
    everyone = [("all", np.arange(len(scores.y)))]
    defaults = {"parts": everyone, "level": 0.95}
    return performance_table(scores, "new", **{**defaults, **options})


def test_measures_of_two_classes_are_scikit_learns() -> None:
    scores = two_trees()
    y, models = scores.y, {"deployed": scores.before, "recipe": scores.predictions("new")[0]}
    for positive in (1, 0):
        new = scores.own["new"]
        policy = Decision(positive=(new.classes or ())[positive]).resolve(new.classes or ())
        own = {"new": new.replace(decision=policy)}
        table = table_of(replace(scores, own=own)).loc["all"]
        for side, model in models.items():
            share = model.value[:, positive]
            expected = {
                "AUC": roc_auc_score(y == positive, share),
                "accuracy": np.mean(model.label == y),
                "balanced accuracy": balanced_accuracy_score(y, model.label),
                "sensitivity": recall_score(y, model.label, pos_label=positive),
                "specificity": recall_score(y, model.label, pos_label=1 - positive),
                "positive predictive value": precision_score(y, model.label, pos_label=positive),
                "negative predictive value": precision_score(
                    y, model.label, pos_label=1 - positive
                ),
                "flagged positive": (model.label == positive).mean(),
                "calibration: mean predicted minus observed": share.mean() - (y == positive).mean(),
                "Brier score": brier_score_loss(y == positive, share),
            }
            assert table[side].to_dict() == pytest.approx(expected)
        assert table["own"].equals(table["recipe"])
        np.testing.assert_allclose(table["change"], table["recipe"] - table["deployed"])
        # A measure rests on the rows of its denominator, of the smaller model.
        assert table.loc["sensitivity", "n"] == (y == positive).sum()
        flagged = min((model.label == positive).sum() for model in models.values())
        assert table.loc["positive predictive value", "n"] == flagged


def test_intervals_are_wilsons_and_delongs() -> None:
    scores = two_trees()
    y, old, new = scores.y, scores.before, scores.predictions("new")[0]
    table = table_of(scores, level=0.9).loc["all"]
    for side, model in (("deployed", old), ("recipe", new)):
        for metric, among, right in (
            ("sensitivity", y == 1, model.label == 1),
            ("accuracy", y >= 0, model.label == y),
            ("positive predictive value", model.label == 1, y == 1),
        ):
            wilson = binomtest(int(right[among].sum()), int(among.sum()))
            expected = wilson.proportion_ci(0.9, method="wilson")
            row = table.loc[metric]
            assert row["interval"] == "Wilson"
            found = (row[f"{side}_low"], row[f"{side}_high"])
            assert found == pytest.approx((expected.low, expected.high))
    areas = [auc_influence(y == 1, model.value[:, 1]) for model in (old, new)]
    half = norm.ppf(0.95) * standard_error(areas[1].influence - areas[0].influence)
    row = table.loc["AUC"]
    assert row["interval"] == "DeLong"
    assert row["change_high"] - row["change"] == pytest.approx(half, rel=0.02)


def test_a_model_against_itself_has_not_changed() -> None:
    table = table_of(two_trees(same=True))
    assert (table[["change", "change_low", "change_high"]] == 0).all(axis=None)


def test_a_change_that_no_row_shows_is_not_ruled_out() -> None:
    """Two trees that differ only where no row lies: 0, but not 0 ± 0."""
    scores = two_trees(same=True)
    tree = scores.deployed
    root = np.arange(tree.n_nodes) == 0
    step = np.sort(scores.coded[:, tree.feature[0]])
    above = step[np.searchsorted(step, tree.threshold[0], side="right")]
    moved = np.where(root, (tree.threshold[0] + above) / 2, tree.threshold)
    other = type(tree)(**{**tree.given_fields(), "threshold": moved})
    told = replace(scores, own={"new": other})
    table = table_of(told).loc["all"]
    # As if half a row had changed each way, which in an area passes half of the others.
    students = float(student.ppf(0.975, N - 1))
    for metric, part in (
        ("AUC", 0.5),
        ("sensitivity", 1.0),
        ("specificity", 1.0),
        ("accuracy", 1.0),
        ("flagged positive", 1.0),
    ):
        row = table.loc[metric]
        assert row["change"] == 0
        half = students * part / (row["n"] + 2)
        assert row["change_high"] == pytest.approx(half)
        assert row["change_low"] == pytest.approx(-half)
    assert table.loc["Brier score", "change_high"] == 0


def test_six_rows_never_give_a_point() -> None:
    """Ranked perfectly: the AUC is 1, and its error is far from 0."""
    X = np.column_stack([np.linspace(0, 1, 6), np.zeros(6), np.zeros(6), np.zeros(6)])
    y = np.repeat([0, 1], 3)
    scores = CrossFitted(
        coded=X,
        y=y,
        deployed=fit(*draw(200, 1, "signal")),
        own={"new": fit(*draw(200, 2, "signal"), depth=1)},
        in_folds=[],
        folds=[],
        fixed=frozenset(["new"]),
    )
    score = measure_score(scores, "new")
    assert score.estimate.recipe.value == 1
    assert score.error() > 0.1
    row = table_of(scores).loc[("all", "AUC")]
    assert row["recipe_low"] < 0.65
    assert row["recipe_high"] == 1
    assert table_of(scores).loc[("all", "sensitivity"), "recipe_low"] < 0.5


def test_rows_of_a_group_widen_the_intervals() -> None:
    once, doubled = two_trees(), two_trees(twice=True)
    alone, table = table_of(once).loc["all"], table_of(doubled).loc["all"]
    assert table.loc["AUC", "interval"] == "clustered DeLong"
    assert table.loc["accuracy", "interval"] == "clustered Wilson"
    naive = table_of(replace(doubled, groups=None)).loc["all"]
    for metric in ("AUC", "Brier score", "accuracy", "sensitivity"):
        for side in ("deployed", "recipe", "change"):
            wide, narrow, free = (
                t.loc[metric, f"{side}_high"] - t.loc[metric, f"{side}_low"]
                for t in (table, alone, naive)
            )
            assert wide == pytest.approx(narrow, rel=0.03)
            assert free < 0.8 * wide


def test_responses_and_several_classes() -> None:
    scores = two_trees("response")
    truth, guess = scores.y, scores.predictions("new")[0].value[:, 0]
    table = table_of(scores).loc["all"]
    assert table.index.tolist() == ["R2", "mean absolute error", "mean error"]
    error = guess - truth
    expected = [r2_score(truth, guess), np.abs(error).mean(), error.mean()]
    assert table["recipe"].tolist() == pytest.approx(expected)
    scores = two_trees("three")
    table = table_of(scores).loc["all"]
    assert table.index.tolist() == ["AUC", "accuracy", "balanced accuracy", "Brier score"]
    old = scores.before
    brier = ((old.value - np.eye(3)[scores.y]) ** 2).sum(axis=1).mean()
    assert table.loc["Brier score", "deployed"] == pytest.approx(brier)
    expected = balanced_accuracy_score(scores.y, old.label)
    assert table.loc["balanced accuracy", "deployed"] == pytest.approx(expected)
    assert table.loc["AUC", "n"] == np.bincount(scores.y).min()


@pytest.mark.parametrize("kind", ["signal", "response"])
def test_without_folds_the_honest_column_is_unknown_and_says_why(kind: str) -> None:
    scores = cross_fitted(100, 1, kind)
    scores = replace(scores, folds=[], in_folds=[])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table = table_of(scores)
    rest = table.drop(index=("all", "flagged positive"), errors="ignore")
    assert rest[["recipe", "recipe_low", "change", "change_low"]].isna().all(axis=None)
    assert rest[["deployed", "deployed_low", "own"]].notna().all(axis=None)
    assert "no rows were left out" in table.attrs["columns"]["recipe"]


def test_the_columns_say_what_they_are() -> None:
    assert "scored as it is" in table_of(two_trees()).attrs["columns"]["recipe"]
    words = table_of(cross_fitted(100, 1)).attrs["columns"]
    assert list(words) == ["deployed", "own", "recipe", "change"]
    assert "trained on" in words["own"]


def test_the_decisions_counted_are_the_proposals() -> None:
    """Who is flagged is read from the proposal's own tree, not from the trees of the folds."""
    scores = cross_fitted(200, 3)
    table = table_of(scores).loc["all"]
    own = scores.predictions("new")[0]
    assert table.loc["flagged positive", "recipe"] == pytest.approx((own.label == 1).mean())
    # The honest sensitivity and specificity are those of the same tree: they add up.
    rate = (scores.y == 1).mean()
    sensitivity, specificity = table["recipe"][["sensitivity", "specificity"]]
    accuracy = rate * sensitivity + (1 - rate) * specificity
    assert table.loc["accuracy", "recipe"] == pytest.approx(accuracy)
    ppv = sensitivity * rate / (own.label == 1).mean()
    assert table.loc["positive predictive value", "recipe"] == pytest.approx(min(ppv, 1))


def test_what_learning_adds_is_in_the_intervals() -> None:
    """Of the honest score and of the change, by the leaves of the proposal's own tree."""
    scores = cross_fitted(200, 3)
    table = table_of(scores).loc["all"]
    own = scores.predictions("new")[0]
    estimate = scores.estimate("new", squared_errors)
    added = estimate.recipe.learning_variance(own.leaves())
    assert added > 0
    half = half_width(estimate.change, 0.95, groups=None, extra=added)
    row = table.loc["Brier score"]
    assert row["change_high"] - row["change"] == pytest.approx(half)
    error = np.sqrt(standard_error(estimate.recipe.influence) ** 2 + added)
    expected = loss_interval(estimate.recipe, quantile(0.95, 200), error)
    assert row[["recipe_low", "recipe_high"]].tolist() == pytest.approx(expected)
    narrow = loss_interval(estimate.recipe, quantile(0.95, 200), np.sqrt(error**2 - added))
    assert row["recipe_high"] > narrow[1] + 1e-6
    area = scores.score_estimate("new")
    sizes, z = (int((scores.y == 1).sum()), int((scores.y == 0).sum())), quantile(0.95)
    plain = standard_error(area.own.influence)
    whole = standard_error(area.recipe.influence) ** 2 + area.recipe.learning_variance(own.leaves())
    expected = auc_interval(
        area.recipe.value,
        sizes,
        z,
        excess=area_excess(area.own.value, sizes, plain),
        extra=whole - plain**2,
    )
    assert whole > plain**2
    assert table.loc["AUC", ["recipe_low", "recipe_high"]].tolist() == pytest.approx(expected)
    # The area too is wider than that of a tree which is given.
    given = measure_score(replace(scores, fixed=frozenset(["new"])), "new")
    assert measure_score(scores, "new").error() > given.error()


def test_a_mean_of_shares_rests_on_as_many_rows_as_its_error_says() -> None:
    """Balanced accuracy: Wilson's interval of fewer rows where one class is rare."""
    scores = two_trees()
    keep = np.r_[np.flatnonzero(scores.y == 0), np.flatnonzero(scores.y == 1)[:30]]
    some = replace(scores, coded=scores.coded[keep], y=scores.y[keep])
    row = table_of(some).loc[("all", "balanced accuracy")]
    y, label = some.y, some.before.label
    recalls = [(label[y == c] == c).mean() for c in (0, 1)]
    variance = sum(r * (1 - r) / ((y == c).sum() - 1) for c, r in enumerate(recalls)) / 4
    value, n = np.mean(recalls), len(y)
    fewer = n * value * (1 - value) / (n - 1) / variance
    assert n / 2 < fewer < 0.9 * n
    expected = proportion_interval(float(value), float(fewer), float(norm.ppf(0.975)))
    assert row[["deployed_low", "deployed_high"]].tolist() == pytest.approx(expected)


def test_an_area_of_several_classes_rests_on_the_rarest_that_is_there() -> None:
    scores = two_trees("three")
    rows = np.flatnonzero(scores.y != 2)
    table = table_of(scores, parts=[("two", rows)]).loc["two"]
    assert table.loc["AUC", "n"] == np.bincount(scores.y[rows])[:2].min() > 0
    assert table.loc["balanced accuracy", "deployed"] == pytest.approx(
        np.mean([(scores.before.label[scores.y == c] == c).mean() for c in (0, 1)])
    )


@pytest.mark.parametrize("lucky", [True, False])
def test_no_corrected_share_leaves_0_to_1(lucky: bool) -> None:
    """Trees that are right only on the rows left out (or only on the others) correct too much."""
    y, fold = np.tile([0, 1], 20), np.arange(40) // 20
    X = np.column_stack([y, fold]).astype(float)
    by_outcome = (0, 0.5, "no", "yes")

    def right_where(k: int) -> Any:
        """Right in one fold, "no" for everybody in the other."""
        return build((1, 0.5, by_outcome, "no") if k == 0 else (1, 0.5, "no", by_outcome))

    folds = [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in (0, 1)]
    scores = CrossFitted(
        coded=X,
        y=y,
        deployed=build("no"),
        own={"new": build(by_outcome if lucky else "no")},
        in_folds=[{"new": right_where(k if lucky else 1 - k)} for k in (0, 1)],
        folds=folds,
    )
    if not lucky:  # another tree, that decides nobody otherwise
        scores = replace(scores, own={"new": build((0, 2.0, "no", "yes"))})
    else:  # it flags half of those whom the corrected sensitivity finds
        half = table_of(replace(scores, own={"new": right_where(0)})).loc["all"]
        assert half.loc["sensitivity", ["own", "recipe"]].tolist() == [0.5, 1.0]
        assert half.loc["positive predictive value", ["own", "recipe"]].tolist() == [1.0, 1.0]
    table = table_of(scores).loc["all"]
    assert table.loc["sensitivity", "own"] == (1.0 if lucky else 0.0)
    assert table.loc["sensitivity", "recipe"] == (1.0 if lucky else 0.0)
    assert table.loc["accuracy", "recipe"] == (1.0 if lucky else 0.5)
    for metric in ("AUC", "sensitivity", "specificity", "positive predictive value", "accuracy"):
        value = table.loc[metric, "recipe"]
        assert np.isnan(value) or 0 <= value <= 1
