"""Which values of a feature can get to a place in a tree, and to which side of a split."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

__all__ = ["Split", "State", "possible", "sides_of"]


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
