"""What is known of a value on its way, against values themselves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from steadytree.formats.conditions import Split, State, possible, sides_of

NUMBERS = (-np.inf, -1.0, 0.0, 0.5, 1.0, 2.0, np.inf)


def holds(state: State | None, value: Any) -> bool:
    """Whether a value gets there; None is a missing one, -1 a category never met."""
    if state is None:
        return False
    if value is None:
        return state.missing
    if not state.present:
        return False
    if state.codes is not None:
        return state.unseen if value == -1 else value in state.codes
    above = state.low is None or value > state.low
    return above and (state.high is None or value <= state.high)


@pytest.mark.parametrize("second", [-np.inf, 0.0, 1.0, np.inf])
@pytest.mark.parametrize("first", [-1.0, 0.5, np.inf])
def test_numbers(first: float, second: float) -> None:
    for state in sides_of(Split(0, threshold=first), State()):
        if state is None:
            continue
        split = Split(0, threshold=second)
        yes, no, missing = sides_of(split, state)
        for value in (*NUMBERS, None):
            here = holds(state, value)
            assert holds(yes, value) == (here and value is not None and value <= second)
            assert holds(no, value) == (here and value is not None and value > second)
            assert holds(missing, value) == (here and value is None)
        found = [side is not None for side in (yes, no, missing)]
        assert found == list(possible(split, state))


@pytest.mark.parametrize("unseen", [False, True])
def test_categories(unseen: bool) -> None:
    state = State(codes=frozenset({0, 1, 2}), unseen=True)
    split = Split(0, codes=frozenset({1, 2}), unseen=unseen)
    yes, no, missing = sides_of(split, state)
    for value in (0, 1, 2, -1, None):
        goes = value in (1, 2) or (value == -1 and unseen)
        assert holds(yes, value) == (value is not None and goes)
        assert holds(no, value) == (value is not None and not goes)
        assert holds(missing, value) == (value is None)
    assert yes is not None
    assert possible(split, yes) == (True, False, False)
