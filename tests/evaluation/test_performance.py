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
from sklearn.tree import DecisionTreeRegressor

import steadytree as st
from steadytree.evaluation.cross_fitting import CrossFitted
from steadytree.evaluation.performance import (
    classes_given_up,
    flip_table,
    flipped,
    measure_score,
    moved_shares,
    performance_table,
    response_span,
    risk_moves,
    score_on_test,
    subgroups,
)
from steadytree.evaluation.scores import (
    Predictions,
    area_excess,
    auc_influence,
    auc_interval,
    half_width,
    loss_interval,
    predict_rows,
    quantile,
    squared_errors,
    standard_error,
)
from steadytree.exceptions import InputError
from steadytree.tree.decision import Decision
from tests.evaluation.test_cross_fitting import cross_fitted, draw, fit

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


# -- what counts as another decision, and how subgroups are counted --


def predictions(value, label=None):
    shares = np.asarray(value, dtype=float)
    labels = np.zeros(len(shares), dtype=np.int32) if label is None else np.asarray(label)
    return Predictions(shares.reshape(len(shares), -1), labels)


def test_a_risk_moves_without_any_decision_changing():
    """Every leaf says "no" at 0.5: no flips, but the risks are others."""
    old = predictions([[0.98, 0.02], [0.9, 0.1], [0.8, 0.2], [0.7, 0.3]])
    new = predictions([[0.98, 0.02], [0.85, 0.15], [0.74, 0.26], [0.58, 0.42]])
    assert not flipped(old, new, None).any()
    moves = risk_moves(old, new, None)
    np.testing.assert_allclose(moves, [0, 0.05, 0.06, 0.12])
    assert moved_shares(moves) == {"moved_5": 0.5, "moved_10": 0.25}  # 5 points are not more
    several = predictions([[0.5, 0.3, 0.2]]), predictions([[0.4, 0.3, 0.3]])
    assert risk_moves(*several, None).tolist() == pytest.approx([0.1])
    response = predictions([1.0, 2.0]), predictions([1.0, 3.0])
    assert risk_moves(*response, 4.0).tolist() == [0, 0.25]
    assert risk_moves(*response, 0.5).tolist() == [0, 2]
    assert risk_moves(*response, 0.0).tolist() == [0, 0]  # a response that has no range
    assert np.isnan(moved_shares(moves[:0])["moved_5"])


def test_subgroups_have_wilsons_interval_of_their_flips():
    group = np.repeat(["a", "b"], [8, 40])
    changed = np.r_[np.ones(3, dtype=bool), np.zeros(45, dtype=bool)]
    table = flip_table(np.zeros((48, 1)), group, changed, np.zeros(48), level=0.95)
    z = 1.959963984540054
    for name, hits, n in (("a", 3, 8), ("b", 0, 40)):
        middle = (hits + z**2 / 2) / (n + z**2)
        half = z / (n + z**2) * np.sqrt(hits * (n - hits) / n + z**2 / 4)
        row = table.loc[name]
        assert (row["n"], row["flips"]) == (n, pytest.approx(hits / n))
        assert row["low"] == pytest.approx(max(middle - half, 0.0), abs=1e-12)
        assert row["high"] == pytest.approx(middle + half)


def test_diff_and_retraining_rule_count_the_same_flips():
    """The rule is one: the diff's share equals the mean over rows."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(300, 3)), columns=list("abc"))
    y = X["a"] + rng.normal(size=300)
    space = st.FeatureSpace.from_data(X, y, task="regression")
    old, new = (
        st.as_tree(DecisionTreeRegressor(max_depth=3).fit(X[part], y[part]), space=space)
        for part in (slice(0, 150), slice(150, 300))
    )
    span = response_span(space, classifier=False)
    moved = flipped(*(predict_rows(t, space.encode(X)) for t in (old, new)), span)
    assert 0 < moved.mean() < 1
    assert st.diff_trees(old, new, X, space=space).flips == pytest.approx(moved.mean())
    assert response_span(space, classifier=True) is None


@pytest.mark.parametrize(
    ("old", "new", "lost"),
    [
        ([0, 1, 1, 0], [0, 0, 0, 0], {1: True}),
        ([0, 1, 1, 0], [0, 1, 0, 0], {}),
        ([0, 0, 0, 0], [0, 0, 0, 0], {}),  # there was nothing to lose
        ([0, 1, 0, 1], [0, 1, 1, 1], {}),
        ([0, 1, 1, 0], [1, 1, 1, 1], {0: True}),
    ],
)
def test_a_class_that_is_decided_for_nobody_any_more(old, new, lost):
    y, rules = np.array([0, 1, 1, 0]), ([0, 1], [0, 1])
    assert classes_given_up(rules, (np.array(old), np.array(new)), y) == lost
    assert classes_given_up(rules, (np.array(old), np.array(new))) == lost


def test_a_class_that_is_hardly_found_any_more():
    """Found in 20 of its 50 rows before, now in 2, though 12 others are decided so."""
    y = np.repeat([0, 1], 50)
    old, new = np.zeros(100, dtype=int), np.zeros(100, dtype=int)
    old[50:70], new[50:52], new[:12] = 1, 1, 1
    assert classes_given_up(([0, 1], [0, 1]), (old, new), y) == {1: False}
    assert classes_given_up(([0, 1], [0, 1]), (old, new)) == {}  # nobody knows whom it is about
    new[52] = 1
    assert classes_given_up(([0, 1], [0, 1]), (old, new), y) == {}


def test_subgroups_by_an_array_or_a_function():
    X = pd.DataFrame({"age": [30.0, 50.0, np.nan, 70.0]})
    expected = [("old", [1, 3]), ("young", [0])]
    words = np.array(["young", "old", None, "old"], dtype=object)
    found = [(name, rows.tolist()) for name, rows in subgroups(X, words)]
    assert found == [*expected, ("(missing)", [2])]
    by_rule = subgroups(X, lambda rows: np.where(rows["age"] > 40, "old", "young"))
    assert [name for name, _ in by_rule] == ["old", "young"]
    with pytest.raises(InputError, match=r"one subgroup per row, 4 in all, got shape \(3,\)"):
        list(subgroups(X, [1, 2, 3]))
    with pytest.raises(InputError, match="unnamed: pass an array instead"):
        list(subgroups(np.zeros((2, 1)), "age"))


# -- scores on rows that nothing has seen: by hand with scikit-learn --


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
