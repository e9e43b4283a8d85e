"""What conditions of three outcomes say where they are joined."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from steadytree.formats.conditions import (
    FALSE,
    TRUE,
    UNKNOWN,
    All,
    AnyOf,
    AtMost,
    FirstKnown,
    Joined,
    Not,
    OddlyMany,
    below,
    equals,
    join,
    of_no_parts,
)

BY_HAND = {
    All: lambda p: FALSE if FALSE in p else UNKNOWN if UNKNOWN in p else TRUE,
    AnyOf: lambda p: TRUE if TRUE in p else UNKNOWN if UNKNOWN in p else FALSE,
    OddlyMany: lambda p: UNKNOWN if UNKNOWN in p else TRUE if p.count(TRUE) % 2 else FALSE,
    FirstKnown: lambda p: next((o for o in p if o != UNKNOWN), UNKNOWN),
}


def outcome(joined: Joined, parts: tuple[int, ...]) -> int:
    so_far: int | None = None
    for part in parts:
        so_far, decided = join(joined, so_far, part)
        if decided:
            return so_far
    return of_no_parts(joined) if so_far is None else so_far


@pytest.mark.parametrize("kind", BY_HAND)
def test_every_combination(kind: type[Joined]) -> None:
    for n in range(5):
        for parts in product((TRUE, FALSE, UNKNOWN), repeat=n):
            assert outcome(kind(()), parts) == BY_HAND[kind](parts)


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("value", [0.1, 1.0, -3.5, 0.0, 1e-40, np.inf])
def test_the_next_number_below(value: float, precision: str) -> None:
    kind = np.dtype(precision).type
    at = kind(below(0, value, precision).threshold)
    with np.errstate(over="ignore"):
        assert float(at) < value <= float(np.nextafter(at, kind(np.inf)))


def test_nothing_is_below_everything() -> None:
    assert below(0, -np.inf, "float64") == Not(AtMost(0, np.inf))


def test_equality_is_two_comparisons() -> None:
    upper, lower = equals(2, 5.0, "float64").parts
    assert (upper.threshold, upper.feature) == (5.0, 2)
    assert lower.part.threshold == np.nextafter(5.0, 0)
