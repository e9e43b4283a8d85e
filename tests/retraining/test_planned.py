"""What is proposed within a plan, and what is said where it leaves nothing but keeping the tree."""

from __future__ import annotations

import inspect
from dataclasses import replace

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

import steadytree as st
from steadytree.exceptions import InputError, PlanError
from steadytree.retraining.frontier import selection_cost
from tests.retraining.conftest import QUICK
from tests.retraining.test_frontier import noise_candidates

FOLDS = {**QUICK, "n_folds": 3}


@pytest.fixture(scope="module")
def turned(mixed):
    """Rows whose outcomes turned round, and what is proposed of them without a plan."""
    X, y, first = mixed
    args = first, X[300:], 1 - y[300:]
    return args, st.retrain(*args, **FOLDS)


def test_retrain_has_18_parameters():
    names = "deployed X y old test price plan candidates decision space sample_weight groups time"
    names += " n_folds search n_jobs random_state progress"
    parameters = inspect.signature(st.retrain).parameters
    assert list(parameters) == names.split()
    assert len(parameters) == 18
    assert all(p.kind is p.KEYWORD_ONLY for p in list(parameters.values())[3:])


def test_without_a_plan_nothing_is_refused(turned):
    _, free = turned
    assert free.plan == st.ChangePlan()
    assert free.refused is None
    assert free.plan_check.clauses == ()
    assert free.plan_check.held
    assert free.action == "change"


def test_the_proposal_is_on_the_path_and_holds_every_clause(turned):
    args, free = turned
    table = free.frontier
    path = table[table["kind"].isin(["re-estimate", "priced edits"])]
    at_most = float(path.loc[free.chosen, "dissimilarity"]) * 0.9
    smaller = path[(path["dissimilarity"] <= at_most) & (path["price"] >= free.settings["price"])]
    assert len(smaller)
    plan = {"max_dissimilarity": at_most}
    result = st.retrain(*args, plan=plan, **FOLDS)
    assert result.chosen in smaller.index
    assert result.plan_check.held
    assert result.refused is None
    assert result.dissimilarity <= at_most
    assert np.isfinite(result.selection_cost)
    assert st.ChangePlan.read(result.settings["plan"]) == st.ChangePlan(**plan) == result.plan


def test_a_plan_that_leaves_nothing_keeps_the_tree_and_says_why(turned):
    args, free = turned
    result = st.retrain(*args, plan={"max_flips": 0.001}, **FOLDS)
    assert result.action == "keep"
    assert result.tree == result.deployed
    assert result.answer.refused == free.chosen
    assert result.refused == free.tree
    (clause,) = result.plan_check.clauses
    assert clause.verdict == "broken"
    assert clause.measured == free.flips()
    start = f"the plan refuses the candidate {free.chosen!r}. Rows with another decision "
    assert result.answer.reason.startswith(start)
    assert "at most 0.1 %: broken" in result.explain().splitlines()[0]
    # A change is called one: as "AUC of what was refused" it read as a score of nearly 0.
    gain = result.answer.gains["score"].value
    assert f"What was refused changes it by {gain:+.3f}, " in result.explain()
    with pytest.raises(PlanError, match="rows with another decision"):
        result.plan_check.raise_if_not_held()
    # What is kept holds what another plan may ask of it.
    assert result.check({"max_flips": 0, "max_dissimilarity": 0, "min_score_change": 0}).held


def test_few_rows_hold_no_share_and_no_score(mixed):
    """One row held max_flips, and two rows min_score_change with a standard error of 1.08."""
    X, y, first = mixed
    args = first, X[300:390], 1 - y[300:390]
    for plan in ({"max_flips": 1.0}, {"min_score_change": -1.0}):
        n_folds = 0 if "min_score_change" in plan else 2
        result = st.retrain(*args, plan=plan, price=0.01, **{**QUICK, "n_folds": n_folds})
        assert result.action == "keep"
        assert result.refused is not None
        (clause,) = result.plan_check.clauses
        assert clause.verdict == "not judged"


def test_turned_outcomes_hold_no_score(mixed):
    """Against outcomes that turned round both trees are worse than chance: +0.147 is no gain."""
    X, y, _ = mixed
    rows = X[["age", "noise"]]
    other = DecisionTreeClassifier(max_depth=2, random_state=0).fit(rows, y)
    one = DecisionTreeClassifier(max_depth=1, random_state=0).fit(rows, y)
    for plan in ({"min_score_change": -1.0}, {"min_gain": 0.01}):
        check = st.compare(other, one, rows, 1 - y, plan=plan).plan_check
        assert [clause.verdict for clause in check.clauses] == ["not judged"]
        assert "are outcomes turned round?" in check.to_text()


def test_a_gain_that_is_asked_for_is_reached_or_the_tree_is_kept(turned):
    args, free = turned
    gain = float(free.frontier["score_change"][free.chosen])
    assert st.retrain(*args, plan={"min_gain": gain / 2}, **FOLDS).plan_check.held
    none = st.retrain(*args, plan={"min_gain": 0.99}, **FOLDS)
    assert none.action == "keep"
    assert not none.plan_check.held


def test_a_tree_that_stays_holds_all_but_a_gain(mixed):
    X, y, first = mixed
    result = st.retrain(first, X[300:], y[300:], price=1e9, **QUICK)
    with pytest.warns(st.exceptions.SteadyTreeWarning, match="these very rows"):
        again = st.retrain(
            *(result.tree, X[300:], y[300:]),
            plan={"max_flips": 0.0, "min_score_change": 0.0, "locked": "root"},
            **QUICK,
        )
    assert again.action == "keep"
    assert again.plan_check.held
    assert again.refused is None
    assert not again.check({"min_gain": 0.01}).held


def test_limits_of_groups_choose_too(turned):
    args, free = turned
    column = "colour"
    table = free.flips(args[1][column].to_numpy())
    result = st.retrain(*args, plan={"per_group": {column: {"max_flips": 0.001}}}, **FOLDS)
    assert result.refused == free.tree
    clauses = result.plan_check.clauses
    named = {f"{column} = {group}" for group in table.index if group != "(missing)"}
    assert named <= {clause.group for clause in clauses}
    with pytest.raises(InputError, match="got by='ward'"):
        st.retrain(*args, plan={"per_group": {"ward": {"max_flips": 0.1}}}, **FOLDS)


def test_what_is_locked_or_forbidden_is_a_clause_of_any_plan(turned):
    args, free = turned
    labels = free.space.feature_labels
    used = labels[sorted(free.tree.used_features)[0]]
    result = st.retrain(*args, plan={"locked": "root", "max_dissimilarity": 1.0}, **FOLDS)
    assert result.plan_check.held
    assert [c.name for c in result.plan_check.clauses] == ["locked", "max_dissimilarity"]
    without = st.retrain(*args, plan={"forbid": used}, **FOLDS)
    assert without.plan_check.held
    assert without.check({"forbid": used}).held
    assert not free.check({"forbid": used}).held
    with pytest.raises(InputError, match="expected locked to name"):
        free.check({"locked": "no such rule"})


def test_choosing_the_best_of_noise_costs_what_it_flatters():
    """By hand: choose as if a fold had not come, and score the choice on the fold."""
    scores = noise_candidates()
    names = list(scores.own)

    def best(fold):
        return max(names, key=lambda name: scores.score(name, fold).value)

    chosen = max(names, key=lambda name: scores.score(name).value)
    flattery = [
        (scores.fold_gain(chosen, fold) - scores.fold_gain(best(fold), fold)) * len(test)
        for fold, (_, test) in enumerate(scores.folds)
    ]
    assert abs(sum(flattery)) > 0.001
    cost = selection_cost(chosen, scores, best)
    assert cost == pytest.approx(sum(flattery) / len(scores.y), abs=1e-12)


def test_a_choice_that_no_fold_can_judge_costs_nobody_knows_what():
    base = noise_candidates()
    ones, everyone = np.flatnonzero(base.y == 1), np.arange(len(base.y))
    parts = np.array_split(ones, len(base.folds))
    folds = [(np.setdiff1d(everyone, part), part) for part in parts]  # no event to tell apart

    def cost(scores):
        return selection_cost("depth 4", scores, lambda fold: "depth 1")

    assert np.isnan(cost(replace(base, folds=folds)))
    assert np.isnan(cost(replace(base, folds=base.folds[:2], in_folds=base.in_folds[:2])))
    assert np.isfinite(cost(replace(base, folds=base.folds[:3], in_folds=base.in_folds[:3])))
