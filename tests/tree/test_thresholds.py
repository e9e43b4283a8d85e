"""Thresholds in other number formats: every value goes the way it went."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as some

from steadytree.tree.values import double_threshold, next_above, single_threshold

NUMBERS = some.floats(allow_nan=False, allow_infinity=False)
SINGLES = some.floats(width=32, allow_nan=False, allow_infinity=False)


def singles_near(t: float) -> np.ndarray:
    with np.errstate(over="ignore"):
        near = np.float32(t)
        up, down = np.float32(np.inf), np.float32(-np.inf)
        return np.array(
            [down, np.nextafter(near, down), near, np.nextafter(near, up), up], dtype=np.float32
        )


@given(NUMBERS | SINGLES)
def test_doubles_go_where_their_singles_went(t: float) -> None:
    found = double_threshold(t, "float32")
    with np.errstate(over="ignore"):
        above = np.nextafter(found, np.inf)
        assert float(np.float32(found)) <= t
        assert float(np.float32(above)) > t
    assert double_threshold(t, "float64") == t


@given(NUMBERS | SINGLES)
def test_singles_go_where_they_went(t: float) -> None:
    for x in singles_near(t).tolist():
        assert (x <= single_threshold(t)) == (x <= t)
        assert (np.float32(x) < np.float32(next_above(t, "float32"))) == (x <= t)


@given(NUMBERS)
def test_a_strict_comparison_of_doubles(t: float) -> None:
    strict = next_above(t, "float64")
    with np.errstate(over="ignore"):
        near = (np.nextafter(t, -np.inf), t, np.nextafter(t, np.inf))
    for x in near:
        assert (x < strict) == (x <= t)


def test_infinite_thresholds_stay() -> None:
    for t in (np.inf, -np.inf):
        assert double_threshold(t, "float64") == t
        assert single_threshold(t) == t
    assert double_threshold(np.inf, "float32") == np.inf
    # Doubles below the range of singles round to minus infinity, and go left of it.
    found = double_threshold(-np.inf, "float32")
    with np.errstate(over="ignore"):
        assert np.float32(found) == -np.inf < np.float32(np.nextafter(found, np.inf))
