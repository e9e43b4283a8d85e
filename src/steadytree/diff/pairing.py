"""Which rule became which: the optimal matching, read the way a person would read it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, pairwise
from typing import Any

import numpy as np

from steadytree.core.paths import Paths
from steadytree.diff.changes import ConditionChange, compare_conditions
from steadytree.distance.matching import PathMatching

__all__ = ["Pair", "read_pairs"]

# A matched pair is one rule that changed if at least this share of what the less
# demanding rule asks is asked by the other as well; see diff_trees.
SAME_RULE_OVERLAP = 0.5
# Costs closer than this are equal.
TIE = 1e-9
# Looking for ties takes time quadratic in the number of changed pairs.
MOST_PAIRS_FOR_TIES = 200


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
    return [pair for pair in pairs if not pair.changes or pair.overlap >= SAME_RULE_OVERLAP]


class _Work:
    """The matching while it is rearranged."""

    def __init__(self, matching: PathMatching) -> None:
        self.a, self.b = matching.a, matching.b
        self.label_weight = float(matching.options.label_weight)
        self.partner = {pair.path_a: pair.path_b for pair in matching.pairs}
        self._pairs: dict[tuple[int, int], Pair] = {}

    @cached_property
    def tightenings(self) -> tuple[list[dict[int, float]], list[dict[int, float]]]:
        return _tightenings(self.a), _tightenings(self.b)

    def pair(self, p: int, q: int) -> Pair:
        if (p, q) not in self._pairs:
            self._pairs[p, q] = self._make_pair(p, q)
        return self._pairs[p, q]

    def _make_pair(self, p: int, q: int) -> Pair:
        a, b = self.a, self.b
        x, z = self.tightenings[0][p], self.tightenings[1][q]
        shared = sum(min(v, z[i]) for i, v in x.items() if i in z)
        total_p, total_q = float(a.tightening_sum[p]), float(b.tightening_sum[q])
        less = min(total_p, total_q)
        changes = compare_conditions(a.space, a.conditions_of(p), b.conditions_of(q))
        if a.classes is None:
            outcome = float(abs(a.value[p, 0] - b.value[q, 0]))
        else:
            outcome = float(a.label[p] != b.label[q])
        cost = max((total_p + total_q) / 2 - shared, 0.0) + self.label_weight * outcome
        return Pair(p, q, changes, cost, min(shared / less, 1.0) if less > 0 else 1.0)

    def same_conditions_first(self) -> None:
        """Put rules with the very same conditions together."""
        back = {q: p for p, q in self.partner.items()}
        same: dict[Any, int] = {}
        for q in range(self.b.n_paths):
            same.setdefault(self.b.conditions_of(q), q)
        for p in range(self.a.n_paths):
            twin = same.get(self.a.conditions_of(p))
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
        changed = [p for p, q in self.partner.items() if self.pair(p, q).changes]
        if len(changed) > MOST_PAIRS_FOR_TIES:
            return
        again = True
        while again:
            again = False
            for p, other in combinations(changed, 2):
                now = (self.pair(p, self.partner[p]), self.pair(other, self.partner[other]))
                then = (self.pair(p, now[1].new), self.pair(other, now[0].new))
                dearer = sum(t.cost for t in then) - sum(n.cost for n in now)
                if dearer <= TIE and _count(then) < _count(now):
                    self.partner[p], self.partner[other] = now[1].new, now[0].new
                    again = True


def _count(pairs: tuple[Pair, Pair]) -> int:
    return sum(len(pair.changes) for pair in pairs)


def _tightenings(paths: Paths) -> list[dict[int, float]]:
    """Each path's tightenings by coordinate."""
    coord, tightening = paths.coord.tolist(), np.asarray(paths.tightening).tolist()
    return [
        dict(zip(coord[start:stop], tightening[start:stop], strict=True))
        for start, stop in pairwise(paths.indptr.tolist())
    ]
