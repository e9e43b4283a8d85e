"""What to do with a proposal, and that it never contradicts the numbers beside it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steadytree.evaluation.intervals import quantile
from steadytree.retraining import retrain
from steadytree.retraining.verdict import (
    ACTIONS,
    FEW_DECISIONS,
    REBUILDING_MARGIN,
    Evidence,
    Gain,
    Rival,
    Verdict,
    judge,
    kind_of_change,
)
from tests.retraining.conftest import QUICK

UNKNOWN = Gain(float("nan"), float("nan"))
UNCLEAR = Gain(-0.002, 0.004)
CLEAR = Gain(0.024, 0.006)
LOSS = Gain(-0.03, 0.01)
NO_FIT = Gain(0.0, 0.001)


def evidence(change="rules", gain=UNCLEAR, fit=NO_FIT, flips=0.071, score="AUC", **others):
    return Evidence(change=change, score=score, gain=gain, fit=fit, flips=flips, **others)


def rival(lead, error=0.004, *, rebuilt=True):
    return Rival("from scratch" if rebuilt else "price 0.05", rebuilt, Gain(lead, error), 0.113)


@pytest.mark.parametrize(
    ("given_", "action", "words"),
    [
        (evidence(), "keep", "rules change for no clear gain (AUC -0.002 ± 0.004)"),
        (evidence(gain=CLEAR), "adopt", "predicts better than the deployed tree (AUC +0.024"),
        (evidence(gain=LOSS), "keep", "predicts worse than the deployed tree (AUC -0.030"),
        (evidence(fit=Gain(0.01, 0.002)), "adopt", "fit the new rows better"),
        (evidence(cost=Gain(0.02, 0.005)), "adopt", "decisions cost less than the deployed tree's"),
        (evidence(cost=Gain(0.02, 0.011)), "keep", "no clear gain"),
        (evidence(gain=Gain(0.001, 0.004), flips=0.01), "adopt", "hardly any decision changes"),
        (evidence(flips=0.01), "keep", "no clear gain"),
        (evidence("values", flips=0.01), "re-estimate only", "hardly any decision does"),
        (evidence("values"), "keep", "decisions change for no clear gain"),
        (evidence("values", policy_asked=True), "re-estimate only", "the policy asked for"),
        (evidence("values", fit=Gain(0.01, 0.002)), "re-estimate only", "no rule changes, and the"),
        (evidence("values", gain=LOSS, flips=0.0), "keep", "predicts worse"),
        (evidence("none", Gain(0.0, 0.0), flips=0.0), "keep", "the deployed tree itself"),
        (evidence("none", unmet="no candidate gains 0.01"), "keep", "no candidate gains 0.01"),
        (evidence(gain=UNKNOWN, fit=UNKNOWN), "keep", "could not be measured"),
        (evidence(gain=CLEAR, lost=("yes",)), "keep", "the proposal gives up predicting yes"),
        (evidence(gain=CLEAR, rival=rival(0.03)), "consider rebuilding", "made anew"),
        (evidence(rival=rival(0.03)), "consider rebuilding", "made anew"),
        (evidence(gain=CLEAR, rival=rival(0.03, rebuilt=False)), "adopt", "predicts better"),
        (evidence(gain=CLEAR, rival=rival(0.01)), "adopt", "predicts better"),
        (evidence(gain=CLEAR, rival=rival(0.03), limited=True), "adopt", "predicts better"),
        (evidence("another tree", CLEAR, rival=rival(0.03)), "adopt", "predicts better"),
        (
            evidence(gain=CLEAR, falls=("sensitivity",)),
            "adopt",
            "(AUC +0.024 ± 0.006), though sensitivity clearly falls",
        ),
    ],
)
def test_each_line_of_the_rule(given_, action, words):
    verdict = judge(given_)
    assert verdict.action == action
    assert words in verdict.reason


def test_what_is_forgone_is_said_with_its_cost():
    verdict = judge(evidence(gain=CLEAR, rival=rival(0.01)))
    gain = "retraining from scratch would gain another 0.010 ± 0.004 AUC"
    assert verdict.forgone() == f"{gain} for 11.3 % of decisions"
    of_1000 = replace(verdict, n_rows=1000)
    assert of_1000.forgone() == f"{gain} for 11–12 % of decisions"
    assert of_1000.forgone(1) == verdict.forgone()
    assert str(verdict).endswith(f"Forgone: {gain} for 11.3 % of decisions.")
    # A page words the count of people itself, with a mask.
    assert verdict.without_counts.endswith(f"Forgone: {gain}.")
    assert verdict.to_dict()["forgone"] == verdict.forgone()
    assert str(Verdict("keep", "no gain")) == "Keep: no gain."


def test_a_response_is_predicted_not_decided():
    found = judge(evidence(gain=CLEAR, rival=rival(0.01), score="R²"))
    assert found.forgone().endswith("0.010 ± 0.004 R² for 11.3 % of predictions")
    for change, flips in (("values", 0.0), ("rules", 0.0), ("values", 0.5)):
        reason = judge(evidence(change, flips=flips, gain=Gain(0.001, 0.01), score="R²")).reason
        assert "prediction" in reason
        assert "decision" not in reason


def test_a_tree_with_no_edits_only_changes_values():
    kinds = {"keep": "none", "leaf values": "values", "labels": "values", "own": "another tree"}
    assert {kind: kind_of_change(kind, 0) for kind in kinds} == kinds
    assert kind_of_change("priced edits", 0) == "values"
    assert kind_of_change("priced edits", 2) == "rules"


gains = st.builds(Gain, st.floats(-0.2, 0.2), st.floats(0, 0.1))
rivals = st.one_of(
    st.none(), st.builds(Rival, st.just("from scratch"), st.booleans(), gains, st.floats(0, 1))
)
all_evidence = st.builds(
    Evidence,
    change=st.sampled_from(["none", "values", "rules", "another tree"]),
    score=st.just("AUC"),
    gain=st.one_of(gains, st.just(UNKNOWN)),
    fit=st.one_of(gains, st.just(UNKNOWN)),
    cost=st.one_of(gains, st.just(UNKNOWN)),
    flips=st.floats(0, 1),
    policy_asked=st.booleans(),
    falls=st.sampled_from([(), ("sensitivity",)]),
    lost=st.sampled_from([(), ("yes",)]),
    limited=st.booleans(),
    rival=rivals,
)


@given(all_evidence)
def test_a_verdict_never_contradicts_its_numbers(found):
    verdict = judge(found)
    assert verdict.action in ACTIONS
    margin = quantile(0.95) * found.gain.error
    if verdict.action in ("adopt", "re-estimate only"):
        assert found.gain.value >= -margin  # no clear loss is ever taken
        assert not found.lost
        assert (verdict.action == "adopt") == (found.change in ("rules", "another tree"))
        better = found.gain.value > margin or found.fit.clear > 0 or found.cost.clear > 0
        assert better or found.flips <= FEW_DECISIONS or found.policy_asked
        assert ("sensitivity clearly falls" in verdict.reason) == bool(found.falls)
    if verdict.action == "consider rebuilding":
        lead = found.rival.lead
        assert found.rival.rebuilt
        assert lead.value > 2 * lead.error
        assert lead.value >= REBUILDING_MARGIN
        assert not found.limited
    if not found.gain.known or found.change == "none":
        assert verdict.action in ("keep", "consider rebuilding")
    if found.gain.value > margin and not found.lost and found.change != "none":
        assert verdict.action != "keep"  # a clear gain is not left lying


# -- on real trees ----------------------------------------------------------------------


def test_the_verdict_of_every_candidate_agrees_with_the_frontier(cancer):
    _, _, _, result = cancer
    for name, row in result.frontier.iterrows():
        verdict = replace(result, chosen=name, tree=result.trees[name]).verdict
        gain = Gain(row["score_change"], row["score_change_se"])
        if verdict.action in ("adopt", "re-estimate only"):
            assert gain.clear >= 0
        if verdict.rival is not None:
            assert verdict.rival.lead.value > 2 * verdict.rival.lead.error
            best = result.frontier.loc[verdict.rival.name]
            assert verdict.rival.lead.value == pytest.approx(best["score"] - row["score"])
            assert verdict.rival.flips == best["flips"]
        if name == "keep":
            assert verdict.action in ("keep", "consider rebuilding")


def test_limits_that_nothing_holds_are_the_reason(mixed):
    X, y, first = mixed
    result = retrain(first, X[300:500], y[300:500], min_gain=0.9, **QUICK)
    assert result.chosen == "keep"
    assert result.verdict.action == "keep"
    assert result.verdict.reason.startswith("no candidate gains 0.9 in AUC: the largest gain is")
    assert result.report_content().sentences[0].startswith("Keep: no candidate gains 0.9 in AUC")


def test_what_could_not_be_measured_is_no_reason_to_change(mixed):
    X, y, first = mixed
    result = retrain(first, X[300:450], y[300:450], **{**QUICK, "n_folds": 0})
    anew = replace(result, chosen="from scratch", tree=result.trees["from scratch"])
    assert anew.verdict.action == "keep"
    assert "could not be measured" in anew.verdict.reason
    assert anew.verdict.forgone() == ""
    # Leaves that rank everybody as before need no rows left out: the change is 0 exactly.
    values = replace(result, chosen="leaf values", tree=result.trees["leaf values"])
    known = bool(values.frontier["score_change"].notna()["leaf values"])
    assert (values.verdict.action == "re-estimate only") == known
