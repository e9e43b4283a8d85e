"""Positions of values on their feature's scale: exact at knots, monotone, true to the rows."""

from __future__ import annotations

import math
import sys
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as hs
from numpy.typing import NDArray

from steadytree.exceptions import InputError
from steadytree.tree.values import (
    MAX_KNOTS,
    FeatureScale,
    check_knots,
    quantile_knots,
    share_of_range,
)
from tests.naive import share_below
from tests.strategies import examples

LARGEST = sys.float_info.max
finite = hs.floats(allow_nan=False, allow_infinity=False)


def scale_of(values: NDArray[np.float64]) -> FeatureScale:
    return FeatureScale(float(values.min()), float(values.max()), quantile_knots(values))


# -- a share of a range -----------------------------------------------------------


@examples(300)
@given(hs.lists(finite, min_size=3, max_size=3, unique=True))
def test_a_share_of_any_range_is_right(numbers: list[float]) -> None:
    lower, value, upper = sorted(numbers)
    exact = (Fraction(value) - Fraction(lower)) / (Fraction(upper) - Fraction(lower))
    assert share_of_range(value, lower, upper) == pytest.approx(float(exact), rel=1e-9, abs=1e-15)


def test_a_range_beyond_the_largest_number() -> None:
    assert share_of_range(0.0, -LARGEST, LARGEST) == 0.5
    np.testing.assert_array_equal(
        share_of_range(np.array([-LARGEST, LARGEST / 2, LARGEST]), -LARGEST, LARGEST),
        [0.0, 0.75, 1.0],
    )


# -- positions --------------------------------------------------------------------

columns = hs.lists(hs.floats(-1e6, 1e6), min_size=2, max_size=60).map(np.array)


@examples(200)
@given(columns, hs.lists(hs.floats(-2e6, 2e6), min_size=1, max_size=20))
def test_positions_rise_and_both_sides_add_up(
    column: NDArray[np.float64], values: list[float]
) -> None:
    scale = scale_of(column)
    values = sorted([*values, *column.tolist()])
    below = [scale.below(v) for v in values]
    above = [scale.above(v) for v in values]
    if column.min() == column.max():
        return
    assert below == sorted(below)
    assert above == sorted(above, reverse=True)
    assert (below[0], above[-1]) == (0.0, 0.0) or values[-1] > column.max()
    assert min(below + above) >= 0.0
    assert max(below + above) <= 1.0
    np.testing.assert_allclose(np.add(below, above), 1.0, rtol=0, atol=1e-12)


@examples(200)
@given(columns)
def test_knots_are_exact(column: NDArray[np.float64]) -> None:
    scale, knots = scale_of(column), quantile_knots(column) or ()
    for value, position in knots:
        assert scale.below(value) == position
        assert scale.above(value) == 1.0 - position
    assert check_knots(knots, float(column.min()), float(column.max()), "x") == (knots or None)


def test_the_ends_and_beyond() -> None:
    scale = FeatureScale(0.0, 10.0, ((2.0, 0.9),))
    assert [scale.below(v) for v in (-math.inf, -1.0, 0.0, 10.0, 11.0, math.inf)] == [0] * 3 + [
        1
    ] * 3
    assert [scale.above(v) for v in (-math.inf, -1.0, 0.0, 10.0, 11.0, math.inf)] == [1] * 3 + [
        0
    ] * 3
    assert scale.below(1.0) == 0.45
    assert scale.above(6.0) == pytest.approx(0.05)
    # However close to the end, a bound is still a bound.
    assert scale.above(math.nextafter(10.0, 0.0)) > 0.0
    wide = FeatureScale(-LARGEST, LARGEST, None)
    assert (wide.below(0.0), wide.above(0.0)) == (0.5, 0.5)


# -- knots from rows --------------------------------------------------------------


@examples(200)
@given(hs.lists(hs.integers(-8, 8), min_size=2, max_size=80))
def test_a_cut_lies_at_the_share_of_rows_below_it(rows: list[int]) -> None:
    """Rows at the lowest and the highest value count half."""
    column = np.array(rows, dtype=np.float64)
    scale, low, high = scale_of(column), min(rows), max(rows)
    counted = [0.5 if row in (low, high) else 1.0 for row in rows]
    if low == high:
        return
    distinct = sorted(set(rows))
    for left, right in pairwise(distinct):
        share = sum(c for row, c in zip(rows, counted, strict=True) if row <= left) / sum(counted)
        assert scale.below((left + right) / 2) == pytest.approx(share, abs=1e-12)


@pytest.mark.parametrize("n", [2, 3, 50, 101, 1000])
@pytest.mark.parametrize("times", [1, 3])
def test_an_even_grid_gives_the_range_scale(n: int, times: int) -> None:
    column = np.repeat(np.linspace(-3.0, 5.0, n), times)
    scale = scale_of(column)
    for value in np.linspace(-3.0, 5.0, 333).tolist():
        assert scale.below(value) == pytest.approx((value + 3.0) / 8.0, abs=1e-12)


def test_a_value_that_most_rows_hold() -> None:
    column = np.array([0.0] * 800 + list(range(1, 201)))
    knots = dict(quantile_knots(column) or ())
    assert knots[0.5] == (800 - 400) / (1000 - 400 - 0.5)
    middle = np.array([-1.0] * 10 + [0.0] * 80 + [1.0] * 10)
    assert quantile_knots(middle) == ((-0.5, 5 / 90), (0.5, 85 / 90))


@pytest.mark.parametrize("seed", range(5))
def test_many_values_are_within_two_hundredths(seed: int) -> None:
    rng = np.random.default_rng(seed)
    column = np.exp(rng.normal(size=5000) * 3).round(3)
    column[rng.random(5000) < 0.3] = column[0]
    knots = quantile_knots(column) or ()
    assert 60 <= len(knots) <= MAX_KNOTS - 2
    scale = scale_of(column)
    distinct = np.unique(column)
    cuts = distinct[:-1] / 2 + distinct[1:] / 2
    share = np.searchsorted(np.sort(column), cuts, side="right") / column.size
    ours = np.array([scale.below(cut) for cut in cuts.tolist()])
    assert np.abs(ours - share).max() < 0.02
    # The value that a third of the rows hold has a knot on either side.
    at = int(np.searchsorted(distinct, column[0]))
    for cut in (float(cuts[at - 1]), float(cuts[at])):
        assert cut in dict(knots)


def test_missing_values_and_constants() -> None:
    assert quantile_knots(np.array([np.nan, np.nan])) is None
    assert quantile_knots(np.array([3.0, 3.0, np.nan])) is None
    with_gap = quantile_knots(np.array([0.0, 1.0, np.nan, 5.0]))
    assert with_gap == quantile_knots(np.array([0.0, 1.0, 5.0]))


def test_neighbouring_floats_and_the_largest() -> None:
    close = [1.0]
    for _ in range(4):
        close.append(math.nextafter(close[-1], 2.0))
    knots = quantile_knots(np.array(close)) or ()
    assert check_knots(knots, close[0], close[-1], "x") == knots
    tiny = np.arange(-3, 6) * 5e-324
    knots = quantile_knots(tiny) or ()
    assert check_knots(knots, float(tiny[0]), float(tiny[-1]), "x") == knots
    assert quantile_knots(np.array([-LARGEST, LARGEST])) == ((0.0, 0.5),)


@pytest.mark.parametrize(
    ("knots", "message"),
    [
        (((5.0, 0.5), (4.0, 0.6)), "values that rise between 0 and 10, got 5 before 4"),
        (((4.0, 0.5), (5.0, 0.5)), "positions that rise between 0 and 1, got 0.5 before 0.5"),
        (((0.0, 0.5),), "values that rise between 0 and 10, got 0 before 0"),
        (((12.0, 0.5),), "values that rise between 0 and 10, got 12 before 10"),
        (((math.nan, 0.5),), "values that rise between 0 and 10, got 0 before nan"),
        (((5.0, 1.5),), "positions that rise between 0 and 1, got 1.5 before 1"),
    ],
)
def test_knots_that_make_no_scale(knots: tuple[tuple[float, float], ...], message: str) -> None:
    with pytest.raises(InputError, match=f"expected knots of 'age' with {message}"):
        check_knots(knots, 0.0, 10.0, "age")


@examples(100)
@given(columns, hs.floats(-1e6, 1e6))
def test_the_line_of_the_definition(column: NDArray[np.float64], value: float) -> None:
    low, high = float(column.min()), float(column.max())
    if low < high and low <= value <= high:
        naive = share_below(value, low, high, quantile_knots(column) or ())
        assert scale_of(column).below(value) == pytest.approx(naive, rel=1e-9, abs=1e-12)
