"""Predictions of coded rows; scores against scikit-learn, their errors against simulation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, norm
from scipy.stats import t as student
from sklearn.datasets import load_diabetes, load_iris
from sklearn.metrics import (
    brier_score_loss,
    mean_absolute_error,
    r2_score,
    recall_score,
    roc_auc_score,
)
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from steadytree.evaluation.scores import (
    Predictions,
    Score,
    absolute_errors,
    area_excess,
    area_of,
    auc,
    auc_influence,
    auc_interval,
    decision_costs,
    errors,
    flagged,
    half_width,
    loss_interval,
    losses,
    mean_cost,
    mean_parts,
    predict_rows,
    proportion_interval,
    recall_of,
    score_rows,
    share_errors,
    squared_errors,
    standard_error,
    wilson,
)
from steadytree.plugins import as_tree
from steadytree.tree.decision import Decision
from steadytree.tree.space import FeatureSpace


@given(st.integers(0, 10_000))
def test_auc_is_scikit_learns_with_ties(seed):
    rng = np.random.default_rng(seed)
    y = np.r_[True, False, rng.random(30) < 0.4]
    score = rng.integers(0, 6, y.size) / 5
    area = auc_influence(y, score)
    assert area.value == pytest.approx(roc_auc_score(y, score))
    assert auc(y, score) == pytest.approx(area.value, abs=1e-12)
    assert area.influence.sum() == pytest.approx(0, abs=1e-12)


def test_the_error_of_an_area_is_delongs():
    """Sample variances of the placements, over n - 1 within a class."""
    rng = np.random.default_rng(0)
    y = np.r_[np.ones(5, dtype=bool), np.zeros(9, dtype=bool)]
    score = rng.integers(0, 6, y.size) / 5
    pairs = (score[y][:, None] > score[~y]) + (score[y][:, None] == score[~y]) / 2
    variance = pairs.mean(axis=1).var(ddof=1) / 5 + pairs.mean(axis=0).var(ddof=1) / 9
    area = auc_influence(y, score)
    assert area.value == pytest.approx(pairs.mean())
    assert standard_error(area.influence) ** 2 == pytest.approx(variance)


def test_functions_of_scores_carry_their_errors():
    """Products and ratios of means: the delta method against the derivative by hand."""
    rng = np.random.default_rng(0)
    u, v = rng.random((2, 50))
    everyone = np.ones(50, dtype=bool)
    one, two = (mean_parts(x, everyone).score() for x in (u, v))
    assert one.times(two).value == pytest.approx(u.mean() * v.mean())
    np.testing.assert_allclose(
        one.times(two).influence, one.influence * v.mean() + two.influence * u.mean()
    )
    ratio = one.over(two)
    assert ratio.value == pytest.approx(u.mean() / v.mean())
    expected = one.influence / v.mean() - two.influence * u.mean() / v.mean() ** 2
    np.testing.assert_allclose(ratio.influence, expected)
    nobody = mean_parts(np.zeros(50), everyone).score()
    assert np.isnan(one.over(nobody).value)
    assert one.plus(two).minus(two).value == pytest.approx(one.value)
    assert one.times(3.0).clipped(0, 1).value == 1


def test_several_classes_and_responses():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 200)
    value = rng.dirichlet([1, 1, 1], 200)
    expected = np.mean([roc_auc_score(y == k, value[:, k]) for k in range(3)])
    assert score_rows(y, value, classifier=True).value == pytest.approx(expected)
    response = rng.normal(size=200)
    guess = response + rng.normal(size=200)
    scored = score_rows(response, guess[:, None], classifier=False)
    assert scored.value == pytest.approx(r2_score(response, guess))
    assert np.isnan(auc_influence(np.ones(5, dtype=bool), np.arange(5.0)).value)
    assert np.isnan(auc(np.ones(5, dtype=bool), np.arange(5.0)))


def test_equally_good_rankings_tie_exactly():
    y = np.repeat([True, False], [7, 3])
    rng = np.random.default_rng(0)
    areas = {}
    for _ in range(300):
        score = rng.permutation(10).astype(float)
        right = int((score[:7, None] > score[None, 7:]).sum())
        areas.setdefault(right, set()).add(auc(y, score))
    assert all(len(values) == 1 for values in areas.values())
    assert len(areas) > 15


@pytest.mark.parametrize("kind", ["auc", "r2"])
def test_standard_errors_match_the_spread_over_samples(kind):
    rng = np.random.default_rng(0)
    values, errors = [], []
    for _ in range(400):
        x = rng.normal(size=300)
        y = x + rng.normal(size=300)
        scored = (
            auc_influence(y > 0.5, x)
            if kind == "auc"
            else score_rows(y, x[:, None], classifier=False)
        )
        values.append(scored.value)
        errors.append(standard_error(scored.influence))
    assert np.mean(errors) == pytest.approx(np.std(values), rel=0.12)


def test_rows_of_a_group_count_together():
    rng = np.random.default_rng(0)
    x = rng.normal(size=200)
    y = x + rng.normal(size=200) > 0
    twice = np.repeat(np.arange(200), 2)
    once = auc_influence(y, x)
    doubled = auc_influence(y[twice], x[twice])
    assert standard_error(doubled.influence) < 0.75 * standard_error(once.influence)
    # Rows count over n - 1 within a class, groups over their number less one.
    assert standard_error(doubled.influence, twice) == pytest.approx(
        standard_error(once.influence), rel=0.01
    )


@pytest.mark.parametrize("load", [load_iris, load_diabetes])
def test_coded_rows_are_predicted_as_the_model_would(load):
    X, y = load(return_X_y=True)
    classifies = y.dtype.kind == "i"
    model = (DecisionTreeClassifier if classifies else DecisionTreeRegressor)(max_depth=3)
    tree = as_tree(model.fit(X, y))
    coded = FeatureSpace.from_data(X).encode(X)
    found = predict_rows(tree, coded)
    if classifies:
        np.testing.assert_allclose(found.value, model.predict_proba(X))
        np.testing.assert_array_equal(model.classes_[found.label], model.predict(X))
    else:
        np.testing.assert_allclose(found.value[:, 0], model.predict(X))
        assert not found.label.any()
    some = found.take(np.array([3, 1]))
    np.testing.assert_array_equal(some.value, found.value[[3, 1]])
    np.testing.assert_array_equal(some.label, found.label[[3, 1]])


# -- what predictions of rows are worth, against scikit-learn and by hand --


def test_classes():
    rng = np.random.default_rng(0)
    y, share = rng.integers(0, 2, 80), rng.integers(0, 9, 80) / 8
    found = Predictions(np.column_stack([1 - share, share]), (share > 0.4).astype(np.int32))
    assert area_of(1)(found, y).value == pytest.approx(roc_auc_score(y, share))
    assert area_of(0)(found, y).value == pytest.approx(roc_auc_score(y, share))
    for column in (0, 1):
        expected = recall_score(y, found.label, pos_label=column)
        assert recall_of(column)(found, y).value == pytest.approx(expected)
    assert flagged(1)(found, y).value == found.label.mean()
    assert share_errors(1)(found, y).value == pytest.approx(share.mean() - y.mean())
    assert squared_errors(found, y).value == pytest.approx(brier_score_loss(y, share))
    assert not area_of(1)(found, np.ones(80)).known
    assert np.isnan(recall_of(0)(found, np.ones(80)).value)


def test_a_mistake_costs_what_the_policy_says():
    y, label = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1], dtype=np.int32)
    found = Predictions(np.full((4, 2), 0.5), label)
    for policy, costs in (
        (Decision(), [0, 1, 1, 0]),
        (Decision(threshold=0.2), [0, 0.2, 0.8, 0]),  # a case missed costs four false alarms
        (Decision(class_weight=(1.0, 3.0)), [0, 1, 3, 0]),
    ):
        np.testing.assert_allclose(decision_costs(policy)(found, y), costs)
        assert mean_cost(policy)(found, y).value == pytest.approx(np.mean(costs))


def test_several_classes_sum_the_squared_errors_of_their_shares():
    y, value = np.array([2, 0]), np.array([[0.2, 0.3, 0.5], [1.0, 0.0, 0.0]])
    found = Predictions(value, np.array([2, 0], dtype=np.int32))
    np.testing.assert_allclose(losses(found, y), [0.04 + 0.09 + 0.25, 0])


def test_responses():
    rng = np.random.default_rng(0)
    y, guess = rng.normal(size=(2, 30))
    found = Predictions(guess[:, None], np.zeros(30, dtype=np.int32))
    assert absolute_errors(found, y).value == pytest.approx(mean_absolute_error(y, guess))
    assert errors(found, y).value == pytest.approx((guess - y).mean())
    assert squared_errors(found, y).value == pytest.approx(((guess - y) ** 2).mean())


# -- intervals: against scipy, at the ends, in small samples, with few rows that carry a change --

Z = float(norm.ppf(0.975))


@pytest.mark.parametrize(("hits", "n"), [(0, 10), (3, 10), (10, 10), (40, 321)])
def test_wilson_is_scipys(hits, n):
    expected = binomtest(hits, n).proportion_ci(0.95, method="wilson")
    assert wilson(hits, n) == pytest.approx((expected.low, expected.high), abs=1e-9)


@given(st.integers(1, 10_000))
def test_wilson_reaches_the_ends_exactly(n):
    assert wilson(n, n)[1] == 1
    assert wilson(0, n)[0] == 0
    assert 0 < wilson(n, n)[0] < 1
    assert 0 < wilson(0, n)[1] < 1
    assert np.isnan(wilson(0, 0)).all()


@given(st.floats(0, 1), st.integers(2, 500), st.floats(0, 0.1))
def test_another_source_of_error_only_widens(share, n, extra):
    low, high = proportion_interval(share, n, Z)
    wide = proportion_interval(share, n, Z, extra)
    assert 0 <= wide[0] <= low + 1e-12
    assert high - 1e-12 <= wide[1] <= 1
    assert low - 1e-12 <= share <= high + 1e-12
    # Its ends are where the estimate is just plausible.
    for end in (low, high):
        if 0 < end < 1:
            assert (share - end) ** 2 == pytest.approx(Z**2 * end * (1 - end) / n, abs=1e-9)


@given(st.floats(0, 1), st.integers(1, 60), st.integers(1, 60), st.floats(0.2, 5))
def test_the_interval_of_an_area_holds_it_and_is_no_point(area, n_positive, n_negative, excess):
    sizes = (n_positive, n_negative)
    low, high = auc_interval(area, sizes, Z, excess=excess)
    assert 0 <= low <= area <= high <= 1
    assert high - low > 0.001
    # The other way round is the same question.
    mirrored = auc_interval(1 - area, sizes, Z, excess=excess)
    assert mirrored == pytest.approx((1 - high, 1 - low), abs=1e-6)


def test_with_many_rows_the_error_is_delongs():
    rng = np.random.default_rng(0)
    y = rng.random(5000) < 0.3
    area = auc_influence(y, y + rng.normal(0, 1.5, 5000))
    error, sizes = standard_error(area.influence), (int(y.sum()), int((~y).sum()))
    excess = area_excess(area.value, sizes, error)
    low, high = auc_interval(area.value, sizes, Z, excess=excess)
    assert (high - low) / 2 == pytest.approx(Z * error, rel=0.03)


@pytest.mark.parametrize(("n", "leaves"), [(30, (0.1, 0.4)), (60, (0.02, 0.1, 0.5, 0.9))])
def test_intervals_of_an_area_cover_in_small_samples(n, leaves):
    """Simulated: the plain interval of DeLong covers 77 to 85 % here."""
    rng = np.random.default_rng(0)
    risk = np.array(leaves)
    share = np.full(risk.size, 1 / risk.size)
    positive, negative = share * risk / (share @ risk), share * (1 - risk) / (share @ (1 - risk))
    true = float(positive @ (np.cumsum(negative) - negative / 2))
    held, plain = [], []
    while len(held) < 400:
        leaf = rng.integers(0, risk.size, n)
        y = rng.random(n) < risk[leaf]
        if not 3 <= y.sum() <= n - 3:
            continue
        area = auc_influence(y, leaf.astype(float))
        error, sizes = standard_error(area.influence), (int(y.sum()), int((~y).sum()))
        low, high = auc_interval(area.value, sizes, Z, excess=area_excess(area.value, sizes, error))
        held.append(low <= true <= high)
        plain.append(abs(area.value - true) <= Z * error)
    assert 0.92 <= np.mean(held) <= 0.99
    assert np.mean(held) > np.mean(plain)


@given(st.floats(1e-6, 1), st.floats(0, 0.5))
def test_the_ends_of_a_loss_are_just_plausible(mean, error):
    low, high = loss_interval(Score(mean, np.zeros(3)), Z, error)
    assert 0 <= low <= mean <= high
    for end in (low, high):
        assert (mean - end) ** 2 == pytest.approx((Z * error) ** 2 * end / mean, rel=1e-6, abs=1e-6)


def test_intervals_of_a_rare_loss_cover():
    """Few rows carry it: with too few of them by luck, a mean ± t is too low and too narrow."""
    rng = np.random.default_rng(0)
    n, risk = 100, np.array([0.01, 0.03, 0.06, 0.10])
    value = np.array([0.02, 0.03, 0.05, 0.12])
    true = float((risk * (1 - risk) + (value - risk) ** 2).mean())
    z, held, plain = float(student.ppf(0.975, n - 1)), [], []
    for _ in range(2000):
        leaf = rng.integers(0, risk.size, n)
        losses = (value[leaf] - (rng.random(n) < risk[leaf])) ** 2
        mean, error = losses.mean(), losses.std(ddof=1) / np.sqrt(n)
        low, high = loss_interval(Score(mean, np.zeros(n)), z, error)
        held.append(low <= true <= high)
        plain.append(abs(mean - true) <= z * error)
    assert 0.93 <= np.mean(held) <= 0.97
    assert np.mean(plain) < 0.92


def test_a_change_that_three_rows_carry_rests_on_three_rows():
    many = Score(0.0, np.random.default_rng(0).normal(0, 0.01, 1000))
    assert half_width(many, 0.95, groups=None) == pytest.approx(
        Z * standard_error(many.influence), rel=0.01
    )
    influence = np.zeros(1000)
    influence[:3] = 0.01
    few = Score(0.03, influence)
    assert half_width(few, 0.95, groups=None) > 2.4 * standard_error(influence)
    assert half_width(Score(0.0, np.zeros(10)), 0.95, groups=None) == 0
    learning = half_width(many, 0.95, groups=None, extra=3 * standard_error(many.influence) ** 2)
    assert learning == pytest.approx(2 * half_width(many, 0.95, groups=None))
    unseen = half_width(Score(0.0, np.zeros(10)), 0.95, groups=None, least=0.1)
    assert unseen == pytest.approx(0.1 * student.ppf(0.975, 9))
    # Groups count as one observation each.
    together = half_width(few, 0.95, groups=np.arange(1000) // 500)
    assert together > half_width(few, 0.95, groups=None)


@given(st.floats(0.01, 0.99), st.integers(2, 80), st.integers(2, 80), st.floats(0.2, 5))
def test_the_ends_of_an_area_are_just_plausible(area, n_positive, n_negative, excess):
    """With the variance that the end itself implies (Newcombe's method 5), and another source's."""
    sizes = (n_positive, n_negative)
    extra = 0.0004
    ends = auc_interval(area, sizes, Z, excess=excess, extra=extra)
    for end in ends:
        if 1e-6 < end < 1 - 1e-6:
            mean = (n_positive + n_negative) / 2 - 1
            spread = 1 + mean * ((1 - end) / (2 - end) + end / (1 + end))
            variance = end * (1 - end) * spread / (n_positive * n_negative)
            assert (area - end) ** 2 == pytest.approx(Z**2 * (excess * variance + extra), rel=1e-5)
