"""Conditions that are true, false or unknown, as PMML and ONNX join them.

A comparison with a value that is missing is unknown; what joins several says how far that goes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

# -- Which values of a feature can get to a place in a tree, and to which side of a split --


@dataclass(frozen=True)
class State:
    """Which values of a feature can get here: low < x <= high, or some categories; or missing."""

    low: float | None = None
    high: float | None = None
    codes: frozenset[int] | None = None
    unseen: bool = False
    present: bool = True
    missing: bool = True


@dataclass(frozen=True)
class Split:
    """A question with two sides, by threshold or by categories."""

    feature: int
    threshold: float = np.nan
    codes: frozenset[int] | None = None
    unseen: bool = False


def possible(split: Split, state: State) -> tuple[bool, bool, bool]:
    """Whether anything gets to either side of a split or, missing, to neither."""
    if not state.present:
        return False, False, state.missing
    if split.codes is not None:
        assert state.codes is not None
        return (
            not state.codes.isdisjoint(split.codes) or (state.unseen and split.unseen),
            not state.codes <= split.codes or (state.unseen and not split.unseen),
            state.missing,
        )
    t = split.threshold
    return (
        state.low is None or state.low < t,
        t != np.inf and (state.high is None or t < state.high),
        state.missing,
    )


def sides_of(split: Split, state: State) -> list[State | None]:
    """Return what gets to either side of a split and, missing, to neither; None for nothing."""
    there = replace(state, missing=False)
    if split.codes is not None:
        assert state.codes is not None
        inside, unseen = state.codes & split.codes, state.unseen and split.unseen
        yes = replace(there, codes=inside, unseen=unseen)
        no = replace(there, codes=state.codes - inside, unseen=state.unseen and not unseen)
    else:
        t, low, high = split.threshold, state.low, state.high
        yes = replace(there, high=t if high is None else min(high, t))
        no = replace(there, low=t if low is None else max(low, t))
    sides = (yes, no, replace(state, present=False))
    return [s if so else None for s, so in zip(sides, possible(split, state), strict=True)]


# -- Conditions that are true, false or unknown, as PMML and ONNX join them --

TRUE, FALSE, UNKNOWN = 0, 1, 2


@dataclass(frozen=True)
class AtMost:
    """``x <= threshold``; ``missing`` is the outcome where there is no value."""

    feature: int
    threshold: float
    missing: int = UNKNOWN


@dataclass(frozen=True)
class OneOf:
    """Whether a category is one of these; ``unseen`` is the outcome for one never met."""

    feature: int
    codes: frozenset[int]
    unseen: int = FALSE
    missing: int = UNKNOWN


@dataclass(frozen=True)
class IsMissing:
    """Whether there is no value; never unknown."""

    feature: int


@dataclass(frozen=True)
class Constant:
    """Always the same outcome."""

    outcome: int


@dataclass(frozen=True)
class Not:
    """The contrary; what is unknown stays so."""

    part: Condition


@dataclass(frozen=True)
class All:
    """True if all parts are, false if one is, else unknown."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True)
class AnyOf:
    """True if one part is, false if none is, else unknown."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True)
class OddlyMany:
    """True if an odd number of parts is; unknown if one part is."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True)
class FirstKnown:
    """The outcome of the first part that is not unknown: a condition and its surrogates."""

    parts: tuple[Condition, ...]


Joined = All | AnyOf | OddlyMany | FirstKnown
Condition = AtMost | OneOf | IsMissing | Constant | Not | All | AnyOf | OddlyMany | FirstKnown


def below(feature: int, value: float, precision: str) -> Condition:
    """``x < value`` for numbers of a precision."""
    if value == -np.inf:
        return Not(AtMost(feature, np.inf))
    kind = np.dtype(precision).type
    with np.errstate(over="ignore"):
        near = kind(value)
        # As doubles: numpy would round the value to compare it with a single.
        at = near if float(near) < value else np.nextafter(near, kind(-np.inf))
    return AtMost(feature, float(at))


def equals(feature: int, value: float, precision: str) -> All:
    """``x == value`` for numbers of a precision."""
    return All((AtMost(feature, value), Not(below(feature, value, precision))))


def of_no_parts(joined: Joined) -> int:
    """Return the outcome where nothing is joined."""
    return TRUE if isinstance(joined, All) else UNKNOWN if isinstance(joined, FirstKnown) else FALSE


def join(joined: Joined, so_far: int | None, outcome: int) -> tuple[int, bool]:
    """Return the outcome of the parts so far with one more, and whether the rest cannot matter."""
    if isinstance(joined, FirstKnown):
        return outcome, outcome != UNKNOWN
    if isinstance(joined, OddlyMany):
        if outcome == UNKNOWN:
            return UNKNOWN, True
        odd = (outcome == TRUE) != (so_far == TRUE)
        return (TRUE if odd else FALSE), False
    decides = FALSE if isinstance(joined, All) else TRUE
    if outcome == decides:
        return outcome, True
    return (UNKNOWN if UNKNOWN in (outcome, so_far) else outcome), False
