"""An answer on one screen: its lines, their order, their length, and that they are true."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris, load_wine
from sklearn.tree import DecisionTreeClassifier

import steadytree as st
from steadytree.growing.teacher import Drift
from steadytree.publish.cells import people
from steadytree.retraining import retrain
from steadytree.retraining.explanation import whom_words
from steadytree.retraining.frontier import TOO_FEW, Forgone, Gain, Proposal, draw_answer
from steadytree.views.page import page_content
from tests.retraining.conftest import QUICK

CHOSEN = ["keep", "re-estimate", "price 0.3", "price 0.02", "from scratch", "CART"]
LINES, WORDS = 8, 25


def choosing(result, name):
    """The same retraining, had it chosen another candidate."""
    frontier = result.frontier.assign(chosen=result.frontier.index == name)
    tree = result.trees[name]
    answer = draw_answer(result._candidates, tree.decision, Proposal(name, name))
    return replace(result, chosen=name, tree=tree, frontier=frontier, answer=answer)


def answering(result, **parts):
    return replace(result, answer=replace(result.answer, **parts))


def sentences(text):
    """Sentences of a text: a full stop ends one unless a digit follows."""
    return [s for line in text.splitlines() for s in re.split(r"(?<=[.!?])\s+(?=[A-Z])", line)]


def check_screen(result):
    names = sorted(result.space.feature_labels, key=len, reverse=True)
    text = result.explain()
    assert len(text.splitlines()) <= LINES
    for sentence in sentences(text):
        # A column's name is one thing to read, however many words it has.
        for name in names:
            sentence = sentence.replace(name, name.replace(" ", "_"))
        assert len(sentence.split()) <= WORDS, sentence


@pytest.mark.parametrize("name", CHOSEN)
def test_it_fits_a_screen(cancer, name):
    *_, result = cancer
    check_screen(choosing(result, name))


AWKWARD = {
    "a final test": {"test": slice(450, None)},
    "no folds": {"n_folds": 0},
    "locked": {"plan": {"locked": "root"}, "price": 0.02},
    "forbidden": {"plan": {"forbid": ["worst perimeter", "worst radius", "worst area"]}},
    "a plan that refuses": {
        "plan": {
            **{"max_flips": 0.0, "max_dissimilarity": 0.0, "min_gain": 0.5, "locked": "root"},
            "per_group": {"mean radius": {"max_flips": 0.01, "min_score_change": 0.1}},
        }
    },
    "a policy not applied": {"plan": {"min_gain": 0.9}, "decision": 0.3},
    "one decision": {"decision": 0.001},
    "an own candidate": {"candidates": {"of mine": DecisionTreeClassifier(max_depth=2)}},
    "turned round": {"turned": True, "old": None},
    "few events": {"rows": slice(250, 290)},
}


@pytest.mark.filterwarnings("ignore::steadytree.exceptions.SteadyTreeWarning")
@pytest.mark.parametrize("name", AWKWARD)
def test_awkward_runs_fit_a_screen_too(cancer, name):
    X, y, first, _ = cancer
    options = {"old": (X[:250], y[:250]), "rows": slice(250, 450), **AWKWARD[name]}
    rows, turned = options.pop("rows"), options.pop("turned", False)
    if "test" in options:
        options["test"] = X[options["test"]], y[options["test"]]
    deployed = st.as_tree(first)
    if "candidates" in options:
        deployed = st.as_tree(DecisionTreeClassifier(max_leaf_nodes=5).fit(X[:250], y[:250]))
    result = retrain(deployed, X[rows], (1 - y if turned else y)[rows], **{**QUICK, **options})
    check_screen(result)


@pytest.mark.filterwarnings("ignore::steadytree.exceptions.SteadyTreeWarning")
@pytest.mark.parametrize("load", [load_iris, load_wine, load_diabetes])
def test_several_classes_and_a_response_fit_a_screen(load):
    X, y = load(return_X_y=True, as_frame=True)
    model = st.DistilledTreeRegressor if load is load_diabetes else st.DistilledTreeClassifier
    first = model(n_estimators=10, random_state=0).fit(X[::3], y[::3])
    for price in (0.02, 5.0):
        check_screen(retrain(first, X[1::3], y[1::3], price=price, **QUICK))


def test_edits_speak_of_conditions_of_the_two_trees(cancer):
    *_, result = cancer
    for name in CHOSEN:
        moves = [e.split(" to ") for e in choosing(result, name).edits if e.startswith("move ")]
        made = [now for _, now in moves]
        assert all(was.removeprefix("move ") not in made for was, _ in moves)


@pytest.mark.parametrize("name", CHOSEN)
def test_the_lines_are_the_answer_the_policy_and_what_follows(cancer, name):
    *_, result = cancer
    other = choosing(result, name)
    told, lines = other.explanation, other.explain().splitlines()
    assert other.explain() == str(other) == "\n".join(told.lines)
    start = {"keep": "Keep", "re-estimate": "Re-estimate", "change": "Change"}[other.action]
    assert lines[0].startswith(start)
    assert f"({other.confidence})" in lines[0]
    rate = other.tree.decision.threshold
    assert lines[1] == f"Policy: flags 1 from a risk of {100 * rate:.3g} % on (prevalence)."
    assert (told.changes == "") == (other.action == "keep")
    assert other.action in repr(other)


def test_kept_and_re_estimated_trees_are_not_called_changed(cancer):
    *_, result = cancer
    keep = choosing(result, "keep").explain()
    assert keep.startswith("Keep the deployed tree (")
    for words in ("proposal", "What changes", "The decision changes"):
        assert words not in keep
    same = choosing(result, "re-estimate")
    assert "What changes: no condition." in same.explain()
    relabelled = sum(rule.status == "relabelled" for rule in same.diff.rules)
    assert ("Every rule decides as before." in same.explain()) == (relabelled == 0)


def test_two_edits_are_told_and_the_rest_counted(cancer):
    *_, result = cancer
    other = choosing(result, "price 0.02")
    edits = [edit for edit in other.edits if not edit.startswith("relabel")]
    assert len(edits) > 2
    told = other.explanation
    assert told.headline.startswith(f"Change the deployed tree by {len(edits)} edits")
    assert f"And {len(edits) - 2} more." in told.changes
    for edit in edits[:2]:
        assert edit[1:] in told.changes
    assert choosing(result, "from scratch").explain().startswith("Change to another tree")


@pytest.mark.parametrize("name", ["re-estimate", "price 0.02", "from scratch"])
def test_scores_are_those_of_the_frontier(cancer, name):
    *_, result = cancer
    other = choosing(result, name)
    deployed, new = (other.frontier["score"][row] for row in ("keep", name))
    events = int(np.bincount(other.y_new).min())
    gain = other.answer.gains["score"]
    start = f"AUC on rows left out, {events} of them 0: {deployed:.3f}"
    better = other.explanation.better
    if gain.value == gain.error == 0:
        assert better.startswith(f"{start}, unchanged.")
    else:
        assert better.startswith(f"{start} to {new:.3f} (")
        assert new - deployed == pytest.approx(gain.value)
        low, high = (f"{bound:+.3f}".replace("-0.000", "0.000") for bound in gain.interval)
        assert f"95 % interval {low} to {high}).".replace("+0.000", "0.000") in better
    assert "± 0.000" not in other.explain()


def test_no_improvement_is_claimed_of_few_events():
    """On 17 events it once said "predicts better (AUC +0.187)"."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 3))
    y = (X[:, 0] > 1).astype(int)
    first = DecisionTreeClassifier(max_depth=1, random_state=0).fit(X[:100, :], X[:100, 1] > 1)
    new = np.r_[np.flatnonzero(y == 1)[:17], np.flatnonzero(y == 0)[:400]]
    result = retrain(first, X[new], y[new].astype(bool), **QUICK)
    assert result.confidence == TOO_FEW
    assert result.answer.events == 17
    text = result.explain()
    assert "Too few events among the new rows (17, at least 20 are needed)" in text
    assert "no improvement is claimed" in text
    assert "95 % interval" not in text
    assert "Given up" not in text
    assert "AUC" not in {fact["label"] for fact in page_content(result.to_dict())["facts"]}


def test_a_final_test_of_few_events_measures_no_change(cancer):
    X, y, first, _ = cancer
    events = np.flatnonzero(y[400:] == 0) + 400
    others = np.flatnonzero(y[400:] == 1) + 400
    few, enough = np.r_[events[:19], others], np.r_[events[:20], others]
    for test, number in ((few, 19), (enough, 20)):
        result = retrain(first, X[250:400], y[250:400], test=(X.iloc[test], y[test]), **QUICK)
        (line,) = (line for line in result.explain().splitlines() if "Final test" in line)
        moved = page_content(result.to_dict())["test"]["rows"][1]
        if number < 20:
            said = "too few events (19, at least 20 are needed): no change is measured."
            assert line == f"Final test on {len(test)} rows: {said}"
            assert "too few events" in moved
        else:
            assert "20 of them outside the largest class: AUC" in line
            assert "too few events" not in moved


def test_what_is_given_up_is_named_with_its_lead_and_people(cancer):
    *_, result = cancer
    forgone = Forgone("price 0.02", 0.021, 0.004, 0.971, 0.3)
    told = answering(result, forgone=forgone, rebuild_advised=True).explanation
    (line,) = (line for line in told.lines if line.startswith("Given up"))
    assert line.startswith("Given up: the tree at price 0.02 has AUC 0.971 (+0.021 ± 0.004). It ")
    assert "of decisions. Consider rebuilding: a tree from scratch is clearly better." in line
    unsure = replace(forgone, error=0.02)
    assert answering(result, forgone=unsure).explanation.forgone.startswith("Perhaps given up: ")
    own = replace(forgone, name="mine", keeps_locks=False)
    words = answering(result, forgone=own).explanation.forgone
    assert "the candidate 'mine' has" in words
    assert "It does not keep what is locked." in words
    refused = answering(result, forgone=replace(forgone, within_plan=False)).explanation
    assert "). The plan does not allow it. It would change" in refused.forgone
    none = answering(result, forgone=None).explanation
    assert none.forgone == "Given up: nothing; no candidate leads by a point or clearly."


def test_a_clear_change_that_the_auc_does_not_see_is_said(cancer):
    *_, result = cancer
    other = choosing(result, "re-estimate")
    gains = {"score": Gain(0.001, 0.01), "Brier score": Gain(0.02, 0.004), "cost": Gain(0, 1)}
    told = answering(other, gains=gains)
    better = told.explanation.better
    assert "The Brier score clearly falls (-0.0200, 95 % interval -0.0278 to -0.0122)." in better
    gains["Brier score"] = Gain(-0.02, 0.004)
    assert "The Brier score clearly rises" in answering(other, gains=gains).explanation.better
    gains["score"] = Gain(0.05, 0.01)  # then the AUC says it
    assert "Brier" not in answering(other, gains=gains).explanation.better


def test_a_clear_fall_of_a_decision_measure_is_a_warning(cancer):
    """It once said "no clear change" beside a clear fall of the sensitivity."""
    *_, result = cancer
    for name in ("re-estimate", "price 0.02", "from scratch"):
        other = choosing(result, name)
        table = other.performance().droplevel("group")
        for measure in ("sensitivity", "specificity"):
            falls = table["change_high"][measure] < 0
            assert (measure in other.explanation.warnings) == falls


@pytest.mark.parametrize(
    ("count", "words"),
    [
        (0, "It happens for none of the 2,000 new rows."),
        (13, "It happens for 13 of the 2,000 new rows (0.7 %)."),
        (1500, "It happens for 1,500 of the 2,000 new rows (75 %)."),
    ],
)
def test_how_many_people_are_concerned(count, words):
    affected = {"n": people(2000)}
    assert whom_words("It happens", people(count, 2000), affected) == words


def test_outcomes_that_are_turned_round_are_suspected(cancer):
    X, y, first, result = cancer
    turned = retrain(first, X[250:], 1 - y[250:], **QUICK)
    assert "worse than chance: are outcomes turned round?" in turned.explain()
    assert "worse than chance" not in result.explain()


def test_drift_is_said_of_trees_that_learnt_from_it(cancer):
    *_, result = cancer
    drifted = Drift(True, 3.0, 0.4, 0.3)
    for name in CHOSEN:
        other = replace(choosing(result, name), drift=drifted)
        said = "The new rows no longer follow the old ones" in other.explain()
        assert said == (name != "keep")


def test_a_class_that_nobody_gets_any_more_is_an_alarm(cancer):
    *_, result = cancer
    other = choosing(result, "price 0.02")
    mute = other.tree.replace(label=np.zeros_like(other.tree.label))
    scores = replace(other.scores, own={**other.scores.own, other.chosen: mute})
    other = replace(other, tree=mute, scores=scores)
    assert other.diff.classes_given_up == {1: True}
    assert result.explanation.alarm == ""
    assert "WARNING: the proposal decides 1 for nobody any more" in other.explanation.alarm
