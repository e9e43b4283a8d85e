"""The largest distance of trees of a given depth."""

from __future__ import annotations

import math
import re
from typing import Any

import pytest

import steadytree as st
from steadytree.exceptions import InputError
from tests.golden import MID_1, MID_2, UNIT, build


def test_the_bound() -> None:
    assert st.distance_bound(0) == 1.0
    assert st.distance_bound(4) == 144.0
    assert st.distance_bound(12, 24) == 2**12 * 48
    assert st.distance_bound(3, 0.0) == 48.0


def test_the_bound_of_the_pair_would_invert_rankings() -> None:
    """Why max_depth is asked for: each pair over its own depth turns the order round."""
    deep_a = build((0, 0.5, (1, 0.5, (0, 0.25, "no", "yes"), "no"), "yes"))
    deep_b = build((1, 0.4, (0, 0.4, (1, 0.2, "yes", "no"), "yes"), "no"))
    shallow, deep = (
        st.tree_distance(a, b, space=UNIT) for a, b in ((MID_1, MID_2), (deep_a, deep_b))
    )
    assert shallow < deep
    assert shallow / st.distance_bound(1) > deep / st.distance_bound(3)
    one, two = (
        st.tree_distance(a, b, space=UNIT, normalize="bound", max_depth=3)
        for a, b in ((MID_1, MID_2), (deep_a, deep_b))
    )
    assert one < two


@pytest.mark.parametrize(
    ("max_depth", "weight", "message"),
    [
        (-1, 1.0, "expected max_depth to be a whole number >= 0, got -1"),
        (1.5, 1.0, "expected max_depth to be a whole number >= 0, got 1.5"),
        ("x", 1.0, "expected max_depth to be a whole number >= 0, got 'x'"),
        (math.inf, 1.0, "expected max_depth to be a whole number >= 0, got inf"),
        (None, 1.0, "expected max_depth to be a whole number >= 0, got None"),
        (3, -1.0, "expected label_weight to be a number >= 0, got -1.0"),
        (3, math.nan, "expected label_weight to be a number >= 0, got nan"),
        (3, "x", "expected label_weight to be a number >= 0, got 'x'"),
    ],
)
def test_the_bound_of_nonsense(max_depth: Any, weight: Any, message: str) -> None:
    with pytest.raises(InputError, match="^" + re.escape(message)):
        st.distance_bound(max_depth, weight)


@pytest.mark.parametrize("depth", [1001, 1100, 10**6, 10**400])
def test_a_depth_whose_bound_no_float_can_hold(depth: int) -> None:
    message = "^expected max_depth of at most 1000 for a bound that a float can hold, got 1"
    with pytest.raises(InputError, match=message):
        st.distance_bound(depth)
    with pytest.raises(InputError, match=message):
        st.tree_distance(MID_1, MID_2, space=UNIT, normalize="bound", max_depth=depth)
    assert math.isfinite(st.distance_bound(1000, 1e6))
    # Without the bound, nothing depends on the depth.
    assert st.tree_distance(MID_1, MID_2, space=UNIT, max_depth=depth) > 0


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (5e-324, "expected label_weight to be 0 or at least 1e-06, got 5e-324, which leaves the"),
        (1e-7, "expected label_weight to be 0 or at least 1e-06, got 1e-07, .* pass 0 to leave"),
        (1.1e6, "expected label_weight to be at most 1e.06, got 1100000.0, which leaves the feat"),
        (1e300, "expected label_weight to be at most 1e.06, got 1e.300, .* the labels decide"),
        (10**400, "expected label_weight to be at most 1e.06, got 1000"),
    ],
)
def test_a_label_weight_that_eats_digits_is_refused(weight: float, message: str) -> None:
    with pytest.raises(InputError, match=f"^{message}"):
        st.tree_distance(MID_1, MID_2, space=UNIT, label_weight=weight)
    with pytest.raises(InputError, match=f"^{message}"):
        st.distance_bound(3, weight)


def test_label_weights_up_to_the_limits_are_taken() -> None:
    assert st.distance_bound(0, 1e-6) == 1e-6
    assert st.distance_bound(0, 1e6) == 1e6
    for beyond in (0.999e-6, 1e6 + 0.5):
        with pytest.raises(InputError, match="expected label_weight to be"):
            st.distance_bound(0, beyond)


def test_a_balanced_weight_has_limits_too() -> None:
    with pytest.raises(InputError, match="expected label_weight to be at most"):
        st.tree_distance(MID_1, MID_2, space=UNIT, label_weight="balanced", max_depth=10**400)
