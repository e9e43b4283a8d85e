"""Intervals: against scipy, at the ends, in small samples, with few rows that carry a change."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, norm
from scipy.stats import t as student

from steadytree.evaluation.scores import (
    Score,
    area_excess,
    auc_influence,
    auc_interval,
    half_width,
    loss_interval,
    mean_interval,
    proportion_interval,
    quantile,
    standard_error,
    wilson,
)

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


def test_a_perfect_area_of_a_few_rows_is_wide():
    """Three against three, ranked perfectly: DeLong's error is 0, and means nothing."""
    low, high = auc_interval(1.0, (3, 3), Z, excess=area_excess(1.0, (3, 3), 0.0))
    assert high == 1
    assert low < 0.6
    assert np.isnan(auc_interval(np.nan, (3, 3), Z)).all()
    assert np.isnan(auc_interval(0.5, (0, 3), Z)).all()


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


def test_a_corrected_loss_below_0_is_plausible_from_0_on():
    assert loss_interval(Score(-0.01, np.zeros(3)), 2.0, 0.02) == (0, pytest.approx(0.03))


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


def test_few_groups_have_students_quantile():
    assert quantile(0.95) == pytest.approx(Z)
    assert quantile(0.95, 4) == pytest.approx(student.ppf(0.975, 3))
    assert quantile(0.95, 1) == quantile(0.95, 2)


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


def test_how_far_delongs_error_is_trusted():
    """As many rows as are ranked wrongly, against four of a prior."""
    area, sizes = 0.8, (10, 40)
    mean = 25 - 1
    expected = 0.16 * (1 + mean * (0.2 / 1.2 + 0.8 / 1.8)) / 400
    evidence = 4 * 10 * 0.16
    for ratio in (0.25, 1.0, 4.0):
        found = area_excess(area, sizes, float(np.sqrt(ratio * expected)))
        weighed = (evidence * ratio + 4) / (evidence + 4)
        assert found == pytest.approx(max(ratio, weighed))
    assert area_excess(1.0, (5, 5), 0.3) == 1
    assert area_excess(0.7, (0, 5), 0.3) == 1


def test_a_loss_of_nothing_is_a_mean():
    assert mean_interval(Score(0.2, np.zeros(3)), 2.0, 0.05) == pytest.approx((0.1, 0.3))
    assert loss_interval(Score(0.0, np.zeros(3)), 2.0, 0.05) == (0.0, 0.1)
    assert loss_interval(Score(-0.5, np.zeros(3)), 2.0, 0.05) == (0.0, 0.0)


def test_proportions_without_rows_are_unknown():
    for found in (proportion_interval(0.5, 0, Z), proportion_interval(np.nan, 5, Z)):
        assert np.isnan(found).all()
    assert np.isnan(wilson(0, -1)).all()
    # With another source of error the ends move as if asked of the true value.
    share, n, extra = 0.3, 20, 0.01
    for end in proportion_interval(share, n, Z, extra):
        assert (share - end) ** 2 == pytest.approx(Z**2 * (end * (1 - end) / n + extra))


def test_degrees_of_freedom_by_hand():
    """Satterthwaite: two rows that carry all have as many degrees as two rows."""
    influence = np.zeros(50)
    influence[:4] = [0.3, -0.3, 0.3, -0.3]
    kurtosis = 50 * 4 * 0.3**4 / (4 * 0.09) ** 2
    free = 2 * 50 / (kurtosis - 1)
    expected = np.sqrt(4 * 0.09) * student.ppf(0.95, free)
    assert half_width(Score(0.0, influence), 0.9, groups=None) == pytest.approx(expected)
    one = np.eye(50)[0]
    assert half_width(Score(0.0, one), 0.9, groups=None) == pytest.approx(
        student.ppf(0.95, 2 * 50 / 49)
    )
    even = np.tile([0.1, -0.1], 3)  # no kurtosis: one less than there are rows
    error = np.sqrt(6 * 0.01)
    assert half_width(Score(0.0, even), 0.9, groups=None) == pytest.approx(
        error * student.ppf(0.95, 5)
    )
    assert half_width(Score(0.0, even), 0.9, groups=None, least=2 * error) == pytest.approx(
        2 * error * student.ppf(0.95, 5)
    )
    groups = np.array([0, 0, 0, 1, 1, 2])
    sums = np.array([0.1, 0.0, -0.1])
    kurtosis = 3 * (sums**4).sum() / (sums**2).sum() ** 2
    found = half_width(Score(0.0, even), 0.9, groups=groups)
    free = min(2.0, 2 * 3 / (kurtosis - 1))
    assert found == pytest.approx(standard_error(even, groups) * student.ppf(0.95, free))
