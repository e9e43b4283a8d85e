"""``compare``: every number counted here by hand, and what the command line prints."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.metrics import r2_score, roc_auc_score
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import steadytree as st
from steadytree.diff.comparison import TreeComparison, compare
from steadytree.estimators.distilled import DistilledTreeClassifier
from steadytree.exceptions import FeatureAlignmentError, InputError, OneDecisionWarning, PlanError
from steadytree.retraining import SearchOptions, retrain


@pytest.fixture(scope="module")
def cancer() -> tuple[Any, ...]:
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X = X.iloc[:, :8]
    old = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X[:200], y[:200])
    new = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X[:400], y[:400])
    return old, new, X[400:], y[400:]


@pytest.fixture(scope="module")
def compared(cancer: tuple[Any, ...]) -> TreeComparison:
    return compare(*cancer)


def test_every_number_is_the_one_its_own_call_gives(cancer, compared):
    old, new, X, y = cancer
    space = compared.diff.space
    assert compared.distance == st.tree_distance(old, new, space=space)
    diff = st.diff_trees(old, new, X, y=y.to_numpy(), space=space)
    assert compared.dissimilarity == diff.dissimilarity
    assert compared.diff.to_dict() == diff.to_dict()
    assert compared.flips() == np.mean(old.predict(X) != new.predict(X))
    np.testing.assert_array_equal(compared.changed_decisions, old.predict(X) != new.predict(X))
    scores = [roc_auc_score(y, model.predict_proba(X)[:, 1]) for model in (old, new)]
    assert [compared.score.old, compared.score.new] == pytest.approx(scores)
    assert compared.score.change == pytest.approx(scores[1] - scores[0])
    assert 0 < compared.score.change_se < 0.1


def test_subgroups_and_groups(cancer, compared):
    old, new, X, y = cancer
    side = np.where(X["mean radius"] > 14, "large", "small")
    table = compared.flips(side)
    assert (table["n"] * table["flips"]).sum() == pytest.approx(compared.changed_decisions.sum())
    assert compared.flips("mean radius")["n"].sum() == len(X)
    patients = np.arange(len(y)) // 2
    clustered = compare(old, new, X, y, groups=patients)
    assert clustered.score.change == compared.score.change
    assert clustered.score.change_se != compared.score.change_se


def test_plans(cancer, compared):
    limits = {"max_dissimilarity": 1, "max_flips": 1, "min_score_change": -1, "max_leaves": 8}
    assert compared.check(limits).held
    assert compared.plan_check.clauses == ()
    old, new, X, y = cancer
    plan = {"max_dissimilarity": 0, "min_score_change": 0.9, "forbid": "no such column"}
    broken = compare(old, new, X, y, plan=plan).plan_check
    assert [clause.name for clause in broken.not_held] == ["max_dissimilarity", "min_score_change"]
    with pytest.raises(PlanError):
        broken.raise_if_not_held()
    line = compared.check({"min_score_change": 0}).clauses[0]
    half = 1.959964 * compared.score.change_se
    assert line.low == pytest.approx(compared.score.change - half, abs=1e-6)
    used = compared.diff.new.feature_labels[min(compared.diff.new.used_features)]
    assert not compared.check({"forbid": used}).held


def test_a_plan_that_cannot_be_checked_is_refused_at_once(cancer):
    old, new, X, y = cancer
    for rows, plan, words in (
        ((X,), {"min_gain": 0.1}, "expected rows with outcomes for min_gain"),
        ((X, y), {"per_group": {"ward": {"max_flips": 0.1}}}, "got by='ward'"),
        ((X, y), {"locked": "no such rule"}, "expected locked to name"),
        ((X, y), {"flips": 0.1}, "expected entries of a plan among"),
    ):
        with pytest.raises(InputError, match=words):
            compare(old, new, *rows, plan=plan)
    with pytest.raises(InputError, match="expected rows for max_flips"):
        compare(old, new, space=st.FeatureSpace.from_data(X), plan={"max_flips": 0.1})
    noted = st.as_tree(old).replace(metadata={"note": "another"})
    for twin in (old, st.as_tree(old), noted):
        with pytest.raises(InputError, match="to hold a plan against, got the same tree twice"):
            compare(old, twin, X, y, plan={"max_flips": 1.0})
    assert compare(old, old, X, y).dissimilarity == 0


def test_in_words_and_as_data(compared, tmp_path: Path):
    text = compared.to_text()
    assert text.startswith(compared.diff.to_text())
    assert (
        "No ranges are stored with the old tree: distances are over those of the rows given" in text
    )
    assert text.endswith(str(compared.score))
    assert "standard error" in text
    assert str(compared) == text
    content = compared.to_dict()
    assert json.loads(json.dumps(content)) == content
    assert content["affected"]["flips"]["count"] == compared.changed_decisions.sum()
    assert content["score"]["change"]["change"] == compared.score.change
    assert content["diff"] == compared.diff.to_dict()
    assert compared.report(tmp_path / "r.html") == tmp_path / "r.html"
    assert "<html" in (tmp_path / "r.html").read_text()
    assert "dissimilarity" in repr(compared)
    assert compared._repr_html_() == compared.diff._repr_html_()


def test_whose_rows_they_are_is_said(cancer):
    """A tree scored on rows it was trained on is flattered; without a word nobody knows."""
    old, new, X, y = cancer
    assert "may have been trained on these rows" in compare(old, new, X, y).to_text()
    for trained_on, words in (
        ("neither", "Neither tree was trained on these rows."),
        ("new", "The new tree was trained on these rows: its score is flattered."),
        ("both", "Both trees were trained on these rows: their scores are flattered."),
    ):
        told = compare(old, new, X, y, trained_on=trained_on)
        assert told.to_text().endswith(words)
        assert told.to_dict()["score"]["trained_on"] == trained_on
    with pytest.raises(InputError, match=r'expected trained_on "old".* got \'me\''):
        compare(old, new, X, y, trained_on="me")


def test_a_score_on_the_new_trees_own_rows_holds_nothing(cancer):
    """A tree that learnt the rows of the gate by heart would pass any limit on its score."""
    old, new, X, y = cancer
    limits = {"min_score_change": -1, "min_gain": 0.001}
    for trained_on in ("new", "both"):
        check = compare(old, new, X, y, trained_on=trained_on, plan=limits).plan_check
        assert [clause.verdict for clause in check.clauses] == ["not judged"] * 2
        assert "the new tree was trained on these rows" in check.to_text()
    learnt = st.DistilledTreeClassifier(n_estimators=5, random_state=0).fit(X, y)
    assert not compare(old, learnt, X, y, plan=limits).plan_check.held
    for trained_on in ("old", "neither"):
        check = compare(old, new, X, y, trained_on=trained_on, plan=limits).plan_check
        assert check.clauses[1].held


def test_without_rows_or_outcomes(cancer):
    old, new, X, _ = cancer
    space = st.FeatureSpace.from_data(X)
    rules = compare(old, new, space=space)
    assert (rules.flips(), rules.score, rules.rows) == (None, None, None)
    assert rules.to_text() == (
        f"{rules.diff.to_text()}\n\nPolicy of both trees: the class with the largest share."
    )
    with pytest.raises(InputError, match="expected rows to count by subgroup"):
        rules.flips("mean radius")
    counted = compare(old, new, X)
    assert counted.score is None
    assert counted.flips() == np.mean(old.predict(X) != new.predict(X))
    with pytest.raises(InputError, match="min_score_change"):
        counted.check({"min_score_change": 0})


def test_a_tree_that_decides_the_same_for_everybody_is_said(cancer):
    _, _, X, y = cancer
    table, outcome = load_breast_cancer(return_X_y=True, as_frame=True)
    stump = DecisionTreeClassifier(max_depth=1, random_state=0)
    old = st.as_tree(stump.fit(table.iloc[:400, :8], outcome[:400]))
    strict, space = old.relabelled(0.99), st.FeatureSpace.from_data(X)
    assert old.value[old.leaves, 1].max() < 0.99
    says = (
        f'he new tree decides "0" for all {len(y)} rows: "1" needs a risk of 99 % and '
        f"{100 * y.mean():.0f} % of rows are 1"
    )
    with pytest.warns(OneDecisionWarning, match=says) as said:
        found = compare(old, strict, X, y)
    assert len(said) == 1
    assert said[0].filename == __file__
    half = np.floor(100 * old.value[old.leaves, 1].max())
    words = f"T{says}. A threshold of {half:.0f} % would catch half of them."
    assert found.one_decision == {"new": words}
    assert found.to_dict()["one_decision"] == {"new": words}
    assert found.to_text().splitlines().count(words) == 1
    assert "Policy of the new tree: flags 1 from a risk of 99 % on." in found.to_text()
    assert "The risk of 1 moves by more than 5 points for" in found.to_text()
    with pytest.warns(OneDecisionWarning, match='for all 169 rows: "1" needs a risk of 99 %[.]$'):
        compare(old, strict, X)  # nobody knows the outcomes
    with pytest.warns(OneDecisionWarning, match='the old tree decides "0" for all 400 rows'):
        assert list(compare(strict, old, space=space).one_decision) == ["old"]


def test_regression():
    X, y = load_diabetes(return_X_y=True)
    old = DecisionTreeRegressor(max_depth=2, random_state=0).fit(X[:150], y[:150])
    new = DecisionTreeRegressor(max_depth=3, random_state=0).fit(X[:300], y[:300])
    space = st.FeatureSpace.from_data(X, y, task="regression")
    found = compare(old, new, X[300:], y[300:], space=space)
    assert found.score.name == "R2"
    assert found.score.new == pytest.approx(r2_score(y[300:], new.predict(X[300:])))
    moved = np.abs(new.predict(X[300:]) - old.predict(X[300:])) > 0.05 * np.ptp(y)
    assert found.flips() == pytest.approx(moved.mean())
    np.testing.assert_array_equal(found.changed_decisions, moved)


def test_trees_with_other_classes_are_compared_by_label():
    X = np.arange(40.0)[:, None]
    old = DecisionTreeClassifier(max_depth=1).fit(X, np.where(X[:, 0] < 20, "a", "b"))
    new = DecisionTreeClassifier(max_depth=1).fit(X, np.where(X[:, 0] < 10, "b", "c"))
    found = compare(old, new, X, space=st.FeatureSpace.from_data(X))
    assert found.flips() == 1  # "a" became "b", "b" became "c"
    assert found.changed_decisions.all()
    with pytest.raises(InputError, match="expected the same classes to compare scores"):
        compare(old, new, X, np.full(40, "a"), space=st.FeatureSpace.from_data(X))


def test_bad_input_is_named(cancer):
    old, new, X, y = cancer
    cases: list[tuple[tuple[Any, ...], dict[str, Any], str]] = [
        ((old, new), {"y": y}, "expected X with y or groups"),
        (
            (old, new, X, y + 1),
            {},
            r"either tree's classes \[0, 1\] in y \('target'\), got unseen 2",
        ),
        ((old, new, X, y[1:]), {}, "expected 169 outcomes in y"),
        ((old, new, X), {"groups": [1]}, "expected 169 entries in groups"),
        ((old, new, X.drop(columns="mean area")), {"space": st.FeatureSpace.from_data(X)}, "area"),
    ]
    for args, options, words in cases:
        with pytest.raises(InputError, match=words):
            compare(*args, **options)
    with pytest.raises(FeatureAlignmentError, match=r"expected space=\.\.\., got none"):
        compare(old, new)


def test_rows_that_a_tree_was_made_from_are_recognised() -> None:
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    first = DistilledTreeClassifier(n_estimators=5, random_state=0).fit(X[:300], y[:300])
    again = retrain(
        first,
        X[300:],
        y[300:],
        old=(X[:300], y[:300]),
        n_folds=0,
        search=SearchOptions(n_estimators=5),
    ).tree
    parts = ((0, 300, "old"), (300, 569, "new"), (0, 569, "new"), (0, 200, None))
    for start, stop, trained_on in parts:
        found = compare(first, again, X[start:stop], y[start:stop])
        assert found.score is not None
        assert found.score.trained_on == trained_on
    assert compare(first, first, X[:300], y[:300]).score.trained_on == "both"  # type: ignore[union-attr]
