"""One answer within a plan: its tree, how sure it is, what is refused and what is given up."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as hs
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import roc_auc_score
from sklearn.tree import DecisionTreeClassifier

import steadytree as st
from steadytree.evaluation.cross_fitting import same_rules
from steadytree.evaluation.plan_check import FEWEST_EVENTS
from steadytree.exceptions import InputError, PlanError
from steadytree.retraining import frontier as module
from steadytree.retraining import retrain
from steadytree.retraining.frontier import TOO_FEW, Gain, Proposal, draw_answer, fall_back
from steadytree.views.page import page_content
from tests.retraining.conftest import QUICK
from tests.retraining.test_retrain import rare_outcomes

numbers = hs.floats(-1, 1)
errors = hs.floats(0, 1)


def answer_about(result, name, **more):
    candidates = replace(result._candidates, plan=more.pop("plan", result.plan))
    proposal = Proposal(more.pop("proposed", name), name, **more)
    return draw_answer(candidates, result.tree.decision, proposal)


def test_the_action_is_the_kind_of_its_tree(cancer):
    *_, result = cancer
    for name, tree in result.trees.items():
        action = answer_about(result, name).action
        if name == "keep":
            assert action == "keep"
        else:
            same = same_rules(result.deployed, tree) is not None
            assert action == ("re-estimate" if same else "change")
    assert result.tree is result.trees[result.chosen]
    assert (result.action, result.confidence) == (result.answer.action, result.answer.confidence)


@given(numbers, errors)
def test_a_gain_is_clear_where_its_interval_leaves_0_out(value, error):
    gain = Gain(value, error)
    low, high = gain.interval
    assert gain.clear == (1 if low > 0 else -1 if high < 0 else 0)
    assert gain.clearly_worse == (value < -2 * error)


@pytest.mark.parametrize(
    ("action", "score", "brier", "events", "confidence"),
    [
        ("change", (0.03, 0.01), (0.0, 0.01), 50, "confirmed"),
        ("change", (0.01, 0.01), (0.03, 0.01), 50, "confirmed"),
        ("change", (0.01, 0.01), (-0.03, 0.01), 50, "likely"),
        ("change", (-0.01, 0.01), (0.01, 0.01), 50, "unconfirmed"),
        ("re-estimate", (0.0, 0.0), (0.01, 0.01), 50, "likely"),
        ("keep", (-0.03, 0.01), (0.0, 0.01), 50, "confirmed"),
        ("keep", (-0.01, 0.01), (0.0, 0.01), 50, "likely"),
        ("keep", (0.01, 0.01), (0.0, 0.01), 50, "unconfirmed"),
        ("change", (0.187, 0.01), (0.1, 0.01), FEWEST_EVENTS - 1, TOO_FEW),
        ("change", (math.nan, math.nan), (math.nan, math.nan), 50, "unmeasured"),
    ],
)
def test_how_sure_follows_from_the_intervals(action, score, brier, events, confidence):
    gains = {"score": Gain(*score), "Brier score": Gain(*brier)}
    assert module._confidence(action, gains, events, measured=True) == confidence
    assert module._confidence(action, gains, events, measured=False) == "unmeasured"
    assert confidence in ("confirmed", "likely", "unconfirmed", TOO_FEW, "unmeasured")


def test_without_folds_nothing_is_claimed(cancer):
    X, y, first, _ = cancer
    result = retrain(first, X[250:], y[250:], **{**QUICK, "n_folds": 0})
    assert result.confidence == "unmeasured"
    assert result.forgone is None
    assert not result.rebuild_advised


def test_gains_are_paired_changes_against_the_deployed_tree(cancer):
    *_, result = cancer
    gains = answer_about(result, "price 0.02").gains
    table = result.frontier
    assert gains["score"].value == pytest.approx(table["score_change"]["price 0.02"])
    assert gains["score"].error == pytest.approx(table["score_change_se"]["price 0.02"])
    assert set(gains) == {"score", "Brier score", "cost"}


def test_what_is_given_up_is_the_best_that_leads_by_a_point_or_two_errors(cancer):
    *_, result = cancer
    for name in result.frontier.index:
        forgone = answer_about(result, name).forgone
        leads = {}
        for other in result.frontier.index.drop(name):
            lead = result.scores.score(other).minus(result.scores.score(name))
            error = result.scores.error(lead)
            if lead.value >= 0.01 or (lead.value >= 0.001 and lead.value > 2 * error):
                leads[other] = lead.value
        assert (forgone is None) == (not leads)
        if forgone is not None:
            assert forgone.lead == pytest.approx(max(leads.values()))
            assert leads[forgone.name] == pytest.approx(forgone.lead)
            assert forgone.flips == result.frontier["flips"][forgone.name]


def test_what_is_given_up_says_whether_the_plan_allows_it(cancer):
    *_, result = cancer
    assert answer_about(result, "keep").forgone.within_plan
    narrow = st.ChangePlan(max_dissimilarity=1e-9)
    answer = answer_about(result, "keep", plan=narrow)
    assert not answer.forgone.within_plan
    assert not replace(result, answer=answer).to_dict()["forgone"]["within_plan"]
    words = replace(result, answer=answer).explain()
    assert " The plan does not allow it." in words
    assert "The plan does not allow it." not in result.explain()


def test_rebuilding_is_advised_where_scratch_clearly_leads(cancer):
    *_, result = cancer
    for name in ("keep", "re-estimate", "price 0.02"):
        lead = result.scores.score("from scratch").minus(result.scores.score(name))
        clear = lead.value >= 0.01 and lead.value > 2 * result.scores.error(lead)
        assert answer_about(result, name).rebuild_advised == clear
    X, y, *_ = cancer
    blind = X.assign(**dict.fromkeys(X.columns[1:], 0.0))
    stump = DecisionTreeClassifier(max_depth=1, random_state=0).fit(blind[:100], y[:100])
    free = retrain(stump, X[250:], y[250:], price=1e9, **QUICK)
    assert free.rebuild_advised
    assert free.tree is not free.trees["from scratch"]
    table = free.frontier.copy()
    table.loc["from scratch", "keeps_locks"] = False
    locked = answer_about(replace(free, frontier=table), free.chosen)
    assert not locked.rebuild_advised


def test_what_is_clearly_worse_on_rows_left_out_is_not_proposed():
    """A candidate that knows one poor column: the deployed tree stays."""
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X, y = X.sample(frac=1, random_state=0), y.sample(frac=1, random_state=0).to_numpy()
    first = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X[:250], y[:250])
    poor = X.assign(**{name: 0.0 for name in X.columns if name != "mean smoothness"})
    poor = DecisionTreeClassifier(max_depth=3, random_state=0).fit(poor[:250], y[:250])
    result = retrain(first, X[250:], y[250:], candidates={"poor": poor}, **QUICK)
    decision = result.deployed.decision
    chosen, reason = fall_back("poor", result.scores, decision)
    assert chosen == "keep"
    assert "'poor' is clearly worse on rows left out (AUC" in reason
    answer = answer_about(result, chosen, proposed="poor", reason=reason)
    assert (answer.action, answer.refused, answer.confidence) == ("keep", "poor", "confirmed")
    assert answer.gains["score"].clear == -1


def test_a_candidate_that_gives_up_a_class_falls_back(cancer):
    *_, result = cancer
    tree = result.trees["price 0.02"]
    mute = tree.replace(label=np.zeros_like(tree.label))
    scores = replace(result.scores, own={**result.scores.own, "price 0.02": mute})
    name, reason = fall_back("price 0.02", scores, tree.decision)
    assert name == "re-estimate"
    assert reason == "the candidate 'price 0.02' would give up predicting 1"


def test_the_same_rows_again_change_nothing(cancer):
    X, y, _, result = cancer
    with pytest.warns(st.exceptions.SteadyTreeWarning, match="made from these very rows"):
        again = retrain(result.tree, X[250:], y[250:], old=(X[:250], y[:250]), **QUICK)
    assert again.action == "keep"
    assert again.answer.reason == "the new rows change nothing"
    assert again.explain().startswith("Keep the deployed tree (unmeasured).")
    # A score on the rows that it was made from would flatter it, and none is promised.
    table = again.performance()
    assert table.filter(regex="^(deployed|recipe|change)").isna().to_numpy().all()
    assert "trained on: too good" in table.attrs["columns"]["own"]
    for column in ("deployed", "recipe"):
        assert "made from these very rows" in table.attrs["columns"][column]
    assert again.frontier.filter(like="score").isna().to_numpy().all()
    assert "not trained on" not in str(again.to_dict()["performance"]["columns"])
    assert "AUC" not in again.explain()
    assert "AUC" not in {fact["label"] for fact in page_content(again.to_dict())["facts"]}


def test_a_policy_that_is_not_applied_is_said():
    X, y = rare_outcomes()
    first = DecisionTreeClassifier(max_depth=3, class_weight="balanced", random_state=0)
    first.fit(X[:700], y[:700])
    result = retrain(first, X[700:], y[700:], decision=0.99, **QUICK)
    assert result.action == "keep"
    assert result.tree.decision == result.deployed.decision
    assert "; the policy asked for is not applied." in result.explain().splitlines()[0]
    refused = retrain(first, X[700:], y[700:], plan={"min_gain": 0.9}, decision=0.4, **QUICK)
    assert refused.answer.reason.startswith("the plan refuses the candidate ")
    assert refused.answer.reason.endswith("; the policy asked for is not applied")


def test_every_label_follows_the_policy_steadily_in_every_tree_we_make():
    """A leaf of 1 in 22 with a risk of 7.7 % was once called malignant from 20 % on."""
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    for seed, policy in ((0, 0.2), (2, None)):
        some = np.random.default_rng(seed).permutation(len(X))
        X, y = X.iloc[some].reset_index(drop=True), y.iloc[some].reset_index(drop=True)
        first = st.DistilledTreeClassifier(
            n_estimators=20, decision_threshold=policy, random_state=seed
        ).fit(X[:250], y[:250])
        result = retrain(first, X[250:], y[250:], old=(X[:250], y[:250]), **QUICK)
        trees = [("first", st.as_tree(first)), *result.trees.items()]
        trees += [named for fold in result.scores.in_folds for named in fold.items()]
        for name, tree in trees:
            if name == "keep":
                continue  # what was really decided, whoever made it
            at = 0.5 if tree.decision.threshold is None else tree.decision.threshold
            for leaf in tree.leaves:
                share, rows = tree.value[leaf, 1], tree.weight[leaf]
                gap = share - at if tree.label[leaf] == 0 else at - share
                assert gap <= 0.5 * math.sqrt(at * (1 - at) / rows) + 1e-12, (name, leaf)


def test_a_final_test_scores_three_trees_and_refuses_rows_seen(cancer):
    X, y, first, _ = cancer
    new, test = slice(250, 400), slice(400, None)
    result = retrain(first, X[new], y[new], test=(X[test], y[test]), **QUICK)
    assert list(result.test.index) == ["deployed", "proposal", "from scratch"]
    assert (result.test["n"] == len(X) - 400).all()
    risk = result.tree.predict_proba(X[test])[:, 1]
    assert result.test["score"]["proposal"] == pytest.approx(roc_auc_score(y[test], risk))
    events = int((y[test] == 1).sum()), int((y[test] == 0).sum())
    start = f"Final test on {len(X) - 400} rows, {min(events)} of them outside the largest class: "
    assert f"{start}AUC {result.test['score']['deployed']:.3f}" in result.explain()
    for seen in (new, slice(360, None)):
        with pytest.raises(st.exceptions.InputError, match="expected test rows that nothing was"):
            retrain(first, X[new], y[new], test=(X[seen], y[seen]), **QUICK)


def test_what_a_final_test_lacks_is_said_before_the_search(cancer):
    X, y, first, _ = cancer
    new, test, one = slice(250, 400), slice(400, None), np.flatnonzero(y[400:] == 1) + 400
    wrong = {
        r"expected test=\(X, y\) or .* got DataFrame": X[test],
        "different outcomes, got 0 rows with none": (X[:0], y[:0]),
        "different outcomes, got .* rows with one": (X.iloc[one], y[one]),
        "unseen 7": (X[test], np.where(y[test] == 1, 7, 0)),
        "got 250 of 250 that the deployed tree was made from": (X[:250][::-1], y[:250][::-1]),
    }
    steps = []
    for words, rows in wrong.items():
        with pytest.raises(st.exceptions.InputError, match=words):
            retrain(first, X[new], y[new], test=rows, progress=lambda *a: steps.append(a))
    assert steps == []


# -- within a plan ---------------------------------------------------------------------

FOLDS = {**QUICK, "n_folds": 3}


@pytest.fixture(scope="module")
def turned(mixed):
    """Rows whose outcomes turned round, and what is proposed of them without a plan."""
    X, y, first = mixed
    args = first, X[300:], 1 - y[300:]
    return args, st.retrain(*args, **FOLDS)


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
