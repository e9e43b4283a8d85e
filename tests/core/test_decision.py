"""A policy turns shares into labels, whatever it was given as, and says what chance may do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from steadytree.core.decision import Decision, resolve_decision
from steadytree.exceptions import InputError

SHARE = st.floats(0.0, 1.0)
WEIGHT = st.floats(0.01, 100.0)


def pair(share: float) -> np.ndarray:
    return np.array([[1 - share, share]])


@given(SHARE, st.floats(0.0, 1.0))
def test_a_threshold_is_reached_from_it_on(share: float, threshold: float) -> None:
    label = Decision(threshold=threshold).labels(pair(share))[0]
    assert label == int(share >= threshold)
    other = Decision(threshold=threshold, positive=0).labels(pair(share))[0]
    assert other == (0 if 1 - share >= threshold else 1)


@given(SHARE, WEIGHT, WEIGHT)
def test_weights_of_two_classes_amount_to_a_threshold(share: float, one: float, two: float) -> None:
    decision = Decision.from_class_weight((one, two))
    gap = two * share - one * (1 - share)
    if abs(gap) > 1e-9 * (one + two):  # on the boundary rounding decides
        assert decision.labels(pair(share))[0] == int(gap > 0)


def test_costs_amount_to_a_threshold() -> None:
    decision = Decision.from_costs(false_positive=1, false_negative=9)
    assert (decision.threshold, decision.origin) == (0.1, "costs")
    with pytest.raises(InputError, match="expected costs above 0, got 0 and 1"):
        Decision.from_costs(false_positive=0, false_negative=1)


def test_weights_of_several_classes() -> None:
    shares = np.array([[0.5, 0.3, 0.2]])
    assert Decision().labels(shares)[0] == 0
    assert Decision.from_class_weight((1, 1, 4)).labels(shares)[0] == 2
    with pytest.raises(InputError, match="expected 3 class weights, one per class, got 2"):
        Decision(class_weight=(1, 2)).labels(shares)


@given(SHARE, st.floats(0.01, 0.99), WEIGHT, WEIGHT)
def test_weighted_shares_decide_as_plain_ones_do(
    share: float, threshold: float, one: float, two: float
) -> None:
    """A policy on shares that carry class weights, and the same on rates."""
    weighted = np.array([[one * (1 - share), two * share]])
    weighted /= weighted.sum()
    if abs(weighted[0, 1] - threshold) > 1e-9:
        policy = Decision(threshold=threshold)
        plain = policy.unweighted((one, two))
        assert plain.labels(pair(share))[0] == policy.labels(weighted)[0]


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        (Decision(), "the class with the largest share"),
        (Decision(threshold=0.25), "yes from a share of 25 % on"),
        (Decision(threshold=0.1, positive=0, origin="costs"), "no from a share of 10 % on (costs)"),
        (Decision(class_weight=(1, 2)), "the class with the largest share, the classes weighted"),
    ],
)
def test_words(policy: Decision, words: str) -> None:
    assert policy.words(("no", "yes")) == words


@pytest.mark.parametrize(
    ("asked", "classes", "message"),
    [
        (0.5, None, "expected two classes for a decision_threshold, got regression"),
        (0.5, "abc", "expected two classes for a decision_threshold, got 3 classes"),
        (2, "ab", r"expected decision_threshold in \[0, 1\], got 2"),
        ("x", "ab", 'expected a number, "prevalence", a Decision or None'),
        (Decision(class_weight=(1, 2, 3)), "ab", "expected 2 class weights"),
        (Decision(positive=2), "ab", "expected a positive class below 2, got 2"),
    ],
)
def test_policies_that_cannot_be(asked: Any, classes: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        resolve_decision(asked, classes, lambda: 0.2)


def test_policies_as_asked_for() -> None:
    assert resolve_decision(None, "ab", lambda: 0.2) is None
    found = resolve_decision("prevalence", "ab", lambda: 0.2)
    assert found == Decision(threshold=0.2, origin="prevalence")
    assert resolve_decision(0.3, "ab", lambda: 0.2) == Decision(threshold=0.3)


@pytest.mark.parametrize("errors", [0.5, 1.0, 2.0])
@pytest.mark.parametrize(("threshold", "n"), [(0.5, 30), (0.5, 400), (0.2, 100), (0.05, 400)])
def test_chance_overturns_a_label_as_rarely_as_stated(
    threshold: float, n: int, errors: float
) -> None:
    """If the truth lies on the threshold, the share passes the limit with the normal's tail."""
    rng = np.random.default_rng(0)
    shares = rng.binomial(n, threshold, 20_000) / n
    decision = Decision(threshold=threshold)
    changed = np.mean(
        [s >= threshold and decision.clearly(pair(s)[0], 0, 1, n, errors) for s in shares]
    )
    step = norm.pdf(0) / np.sqrt(threshold * (1 - threshold) * n)  # shares are whole rows
    assert changed == pytest.approx(norm.sf(errors), abs=step + 0.01)


def test_chance_between_several_classes() -> None:
    rng = np.random.default_rng(1)
    shares = rng.multinomial(200, [0.4, 0.4, 0.2], 20_000) / 200
    decision = Decision()
    changed = np.mean([s[1] > s[0] and decision.clearly(s, 0, 1, 200, 0.5) for s in shares])
    assert changed == pytest.approx(norm.sf(0.5), abs=0.04)
    assert not decision.clearly(np.array([0.2, 0.8]), 0, 1, 0, 0.5)  # no row, no evidence
