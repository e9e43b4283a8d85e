"""A leaf's own rows keep the upper hand over the teacher, however much that may count."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steadytree.evaluation.scores import wilson
from steadytree.growing.leaf_values import (
    FEWEST_ROWS,
    MOST_ROWS,
    LeafRows,
    Steadying,
    estimate_steadying,
)


def leaf(rows: float, hits: float, teacher: float, old: tuple[float, float] = (0, 0)) -> LeafRows:
    return LeafRows(np.array(old, float), np.array([rows, hits], float), np.array([teacher]))


@given(st.integers(1, 500), st.floats(0, 1), st.floats(0, 1), st.floats(0.01, 50))
def test_a_prediction_never_leaves_the_interval_of_the_observed_rate(
    n: int, rate: float, teacher: float, unit: float
) -> None:
    hits = round(rate * n)
    value, _, strength = Steadying(MOST_ROWS, unit=unit).predict(
        leaf(n * unit, hits * unit, teacher)
    )
    low, high = wilson(hits, n, 0.95)
    assert low - 1e-9 <= value[0] <= high + 1e-9
    assert min(hits / n, teacher) - 1e-9 <= value[0] <= max(hits / n, teacher) + 1e-9
    assert 0 <= strength <= MOST_ROWS * unit * (1 + 1e-9)


def test_43_of_43_never_reads_45_per_cent() -> None:
    value, *_ = Steadying(MOST_ROWS).predict(leaf(43, 43, 0.4))
    assert value[0] > 0.98


def test_old_rows_count_in_full_until_the_new_ones_contradict_them() -> None:
    agree = [leaf(100, 30, 0.3, old=(100, 31)), leaf(80, 60, 0.75, old=(120, 88))]
    differ = [leaf(200, 120, 0.6, old=(300, 30)), leaf(150, 15, 0.1, old=(200, 150))]
    options = {"unit": 1.0, "classifier": True, "spread": 0.0}
    assert estimate_steadying(agree, drifted=True, **options).old_share == 1.0
    assert estimate_steadying(differ, drifted=True, **options).old_share < 0.1
    assert estimate_steadying(differ, drifted=False, **options).old_share == 1.0


def test_the_teacher_counts_as_much_as_the_rates_agree_with_it() -> None:
    """Rates drawn around the teacher with the spread of k further rows give about k."""
    rng = np.random.default_rng(0)
    options = {"unit": 1.0, "classifier": True, "spread": 0.0, "drifted": False}
    for k in (15.0, 40.0):
        leaves = []
        for _ in range(2000):
            teacher = rng.uniform(0.1, 0.9)
            truth = rng.beta(k * teacher, k * (1 - teacher))
            leaves.append(leaf(60, rng.binomial(60, truth), teacher))
        assert estimate_steadying(leaves, **options).strength == pytest.approx(k, rel=0.15)
    exact = [leaf(60, rng.binomial(60, 0.3), 0.3) for _ in range(300)]
    assert estimate_steadying(exact, **options).strength > 60
    wild = [leaf(200, 200 * (i % 2), 0.5) for i in range(20)]
    assert estimate_steadying(wild, **options).strength == FEWEST_ROWS


def test_a_response_is_steadied_by_its_spread_within_leaves() -> None:
    rng = np.random.default_rng(0)
    leaves = []
    for _ in range(2000):
        truth = rng.normal(0, np.sqrt(4.0 / 25))  # the teacher is as good as 25 rows
        leaves.append(leaf(50, rng.normal(truth, 2, 50).sum(), 0.0))
    found = estimate_steadying(leaves, unit=1.0, classifier=False, spread=4.0, drifted=False)
    assert found.strength == pytest.approx(25, rel=0.15)
    value, _, strength = found.predict(leaf(50, 100.0, 0.0))  # 2.0 against 0 ± 0.55
    arm = 1.96 * np.sqrt(4 / 50)
    assert 2.0 - arm * arm / 2.0 == pytest.approx(value[0])
    assert strength < found.strength


def test_without_rows_there_is_only_the_teacher() -> None:
    value, by, strength = Steadying().predict(leaf(0, 0, 0.4))
    assert (value.tolist(), by.tolist(), strength) == ([0.4], [0.4], 0.0)


@given(st.integers(1, 300), st.floats(0, 1), st.floats(0, 1), st.floats(0, 1), st.floats(0.1, 300))
def test_what_the_deployed_leaf_said_stays_within_the_same_limits(
    n: int, rate: float, teacher: float, before: float, past: float
) -> None:
    hits = round(rate * n)
    value, by, k = Steadying(MOST_ROWS).predict(leaf(n, hits, teacher), np.array([before]), past)
    low, high = wilson(hits, n, 0.95)
    assert low - 1e-9 <= value[0] <= high + 1e-9
    assert value[0] == pytest.approx((hits + k * by[0]) / (n + k), abs=1e-12)


def test_a_deployed_leaf_that_still_fits_outweighs_a_teacher_who_does_not() -> None:
    alone, *_ = Steadying(MOST_ROWS).predict(leaf(11, 10, 0.45))
    known, *_ = Steadying(MOST_ROWS).predict(leaf(11, 10, 0.45), np.array([0.92]), 37)
    assert alone[0] < 0.8 < 0.85 < known[0]
