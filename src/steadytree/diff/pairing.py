"""Which rule became which: the optimal matching, read the way a person would read it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from steadytree.core.paths import Paths
from steadytree.core.words import Condition
from steadytree.diff.changes import ConditionChange, compare_conditions
from steadytree.distance.amounts import cost_matrix
from steadytree.distance.matching import PathMatching

__all__ = ["Pair", "read_pairs", "some_case_follows_both"]

# A matched pair is one rule that changed if at least this share of what the less
# demanding rule asks is asked by the other as well; see diff_trees.
SAME_RULE_OVERLAP = 0.5
# Costs closer than this are equal.
TIE = 1e-9


@dataclass(frozen=True)
class Pair:
    """A rule of the old tree and the rule of the new tree that it became."""

    old: int
    new: int
    changes: tuple[ConditionChange, ...]
    cost: float
    overlap: float


def read_pairs(matching: PathMatching) -> list[Pair]:
    """Pairs that are one rule each, by path of the old tree; see :func:`diff_trees`."""
    work = _Work(matching)
    work.same_conditions_first()
    work.fewest_changes_at_ties()
    pairs = [work.pair(p, q) for p, q in sorted(work.partner.items())]
    return [
        pair
        for pair in pairs
        if not pair.changes
        or (
            pair.overlap >= SAME_RULE_OVERLAP
            and some_case_follows_both(work.conditions_a[pair.old], work.conditions_b[pair.new])
        )
    ]


def some_case_follows_both(one: Sequence[Condition], two: Sequence[Condition]) -> bool:
    """Whether the conditions of two rules can hold at once."""
    other = {c.feature: c for c in two}
    return all(_compatible(c, other[c.feature]) for c in one if c.feature in other)


def _compatible(a: Condition, b: Condition) -> bool:
    if a.missing and b.missing:
        return True
    if not (a.present and b.present):
        return False
    if a.allowed is not None:
        return bool(set(a.allowed) & set(b.allowed or ()))
    return max(a.lower, b.lower) < min(a.upper, b.upper)


class _Work:
    """The matching while it is rearranged."""

    def __init__(self, matching: PathMatching) -> None:
        self.a, self.b = matching.a, matching.b
        self.conditions_a, self.conditions_b = self.a.conditions, self.b.conditions
        self.cost = cost_matrix(self.a, self.b, matching.options)
        self.partner = {pair.path_a: pair.path_b for pair in matching.pairs}
        self._changes: dict[tuple[int, int], tuple[ConditionChange, ...]] = {}

    def changes(self, p: int, q: int) -> tuple[ConditionChange, ...]:
        if (p, q) not in self._changes:
            self._changes[p, q] = compare_conditions(
                self.a.space, self.conditions_a[p], self.conditions_b[q]
            )
        return self._changes[p, q]

    def pair(self, p: int, q: int) -> Pair:
        x, z = _tightenings(self.a, p), _tightenings(self.b, q)
        shared = sum(min(v, z[i]) for i, v in x.items() if i in z)
        less = float(min(self.a.tightening_sum[p], self.b.tightening_sum[q]))
        overlap = min(shared / less, 1.0) if less > 0 else 1.0
        return Pair(p, q, self.changes(p, q), max(float(self.cost[p, q]), 0.0), overlap)

    def same_conditions_first(self) -> None:
        """Put rules with the very same conditions together."""
        back = {q: p for p, q in self.partner.items()}
        same: dict[Any, int] = {}
        for q, conditions in enumerate(self.conditions_b):
            same.setdefault(conditions, q)
        for p, conditions in enumerate(self.conditions_a):
            twin = same.get(conditions)
            if twin is None or self.partner.get(p) == twin:
                continue
            was_p, was_q = self.partner.pop(p, None), back.pop(twin, None)
            if was_p is not None:
                del back[was_p]
            if was_q is not None:
                del self.partner[was_q]
            self.partner[p], back[twin] = twin, p
            if was_p is not None and was_q is not None:  # the two left alone become a pair
                self.partner[was_q], back[was_p] = was_p, was_q

    def fewest_changes_at_ties(self) -> None:
        """Exchange partners where that costs the same and changes fewer conditions."""
        changed = [p for p, q in self.partner.items() if self.changes(p, q)]
        again = True
        while again:
            again = False
            for p, other in self._tied(changed):
                q, r = self.partner[p], self.partner[other]
                now = len(self.changes(p, q)) + len(self.changes(other, r))
                then = len(self.changes(p, r)) + len(self.changes(other, q))
                dearer = self.cost[p, r] + self.cost[other, q]
                dearer -= self.cost[p, q] + self.cost[other, r]
                if dearer <= TIE and then < now:
                    self.partner[p], self.partner[other] = r, q
                    again = True

    def _tied(self, changed: list[int]) -> list[tuple[int, int]]:
        """Pairs of rules that can exchange partners at no cost, as matched now."""
        rows = np.array(changed, dtype=np.intp)
        columns = np.array([self.partner[p] for p in changed], dtype=np.intp)
        cost = self.cost[np.ix_(rows, columns)]
        own = np.diag(cost)
        dearer = cost + cost.T - own[:, None] - own[None, :]
        first, second = np.nonzero(np.triu(dearer <= TIE, k=1))
        return list(zip(rows[first].tolist(), rows[second].tolist(), strict=True))


def _tightenings(paths: Paths, path: int) -> dict[int, float]:
    """How much a path tightens each coordinate."""
    span = slice(int(paths.indptr[path]), int(paths.indptr[path + 1]))
    return dict(zip(paths.coord[span].tolist(), paths.tightening[span].tolist(), strict=True))
