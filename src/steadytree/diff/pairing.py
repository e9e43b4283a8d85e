"""Which rule became which, and which changes of rules are one change of a split.

The optimal matching is read the way a person would read it. Moving the first split of a tree
changes a condition of every rule below it: people should read "the first split on age moved
from 50 to 53: 6 rules", not six changes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from steadytree.diff.changes import (
    ConditionChange,
    Rule,
    RuleChange,
    SplitChange,
    compare_conditions,
    concerned_by,
)
from steadytree.distance.equations import cost_matrix
from steadytree.distance.matching import PathMatching
from steadytree.tree.alignment import align_tree
from steadytree.tree.columns import codes_in
from steadytree.tree.paths import Paths
from steadytree.tree.space import FeatureSpace
from steadytree.tree.words import Condition

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
        self.changes = cache(self._compare)

    def _compare(self, p: int, q: int) -> tuple[ConditionChange, ...]:
        return compare_conditions(self.a.space, self.conditions_a[p], self.conditions_b[q])

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
            old_partner, old_rule = self.partner.pop(p, None), back.pop(twin, None)
            if old_partner is not None:
                del back[old_partner]
            if old_rule is not None:
                del self.partner[old_rule]
            self.partner[p], back[twin] = twin, p
            if old_partner is not None and old_rule is not None:  # those left alone are a pair
                self.partner[old_rule], back[old_partner] = old_partner, old_rule

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


# -- many rules that changed alike ------------------------------------------------------

# A split: its feature, and its threshold, its two sets of categories, or None where it
# only asks whether the value is missing.
Cut = tuple[int, Hashable]


def group_changes(rules: Sequence[RuleChange], old: Paths, new: Paths) -> tuple[SplitChange, ...]:
    """Group identical changes of conditions, then sort by how near the root they are."""
    space = old.space
    found: dict[Hashable, _Group] = {}
    for rule in rules:
        for change in rule.changes:
            group = _Group(change, _cut_of(change, space), set(), set())
            found.setdefault(_key(change, space), group).changed.add(rule.number)
    before, after = _Splits.of(old), _Splits.of(new)
    # A rule that is there only now belongs to a split that other rules show to be new.
    for rule in rules:
        lone = rule.new or rule.old
        if rule.status not in ("added", "dropped") or lone is None:
            continue
        added = rule.status == "added"
        more, fewer = (after, before) if added else (before, after)
        for key in _keys_of_rule("condition_added" if added else "condition_removed", lone, space):
            if key in found and more.exceeds(fewer, found[key].cut):
                found[key].lone.add(rule.number)
    placed = _join_replaced([_place(group, before, after) for group in found.values()])
    placed.sort(key=lambda p: (p.depth, -len(p.split.rules), p.split.rules))
    return tuple(p.split for p in placed)


@dataclass(frozen=True)
class _Group:
    """The same change in several rules, and rules only there because of it."""

    change: ConditionChange
    cut: Cut
    changed: set[int]
    lone: set[int]


@dataclass(frozen=True)
class _Placed:
    """A change of a split, how near the root it is, and the rules that changed with it."""

    depth: int
    changed: set[int]
    split: SplitChange


def _place(group: _Group, before: _Splits, after: _Splits) -> _Placed:
    split = _split_change(group.change, tuple(sorted(group.changed | group.lone)))
    cut, last = group.cut, max((*before.depth.values(), *after.depth.values()), default=0) + 1
    if split.kind in ("missing_changed", "categories_changed"):
        depths = [depth for (j, _), depth in before.depth.items() if j == split.feature]
        depth = min(depths, default=last)
        return _Placed(depth, group.changed, replace(split, first=depth == 0))
    home, other = (after, before) if split.kind == "added" else (before, after)
    real = home.exceeds(other, cut)
    if split.kind == "moved":
        real = real and after.exceeds(before, (split.feature, split.new_bound))
    if not real:
        return _Placed(last, group.changed, replace(split, only_conditions=True))
    depth = home.depth.get(cut, last)
    first = depth == 0 and other.depth.get(cut) != 0
    return _Placed(depth, group.changed, replace(split, first=first))


def _cut_of(change: ConditionChange, space: FeatureSpace) -> Cut:
    """Name the split that a change concerns."""
    return change.feature, _cut(*concerned_by(change), space)


def _key(change: ConditionChange, space: FeatureSpace) -> Hashable:
    if change.kind == "threshold_moved":
        return ("moved", change.feature, change.old_bound, change.new_bound)
    if change.kind == "categories_changed":
        return ("categories", change.feature, frozenset(change.gained + change.lost))
    if change.kind == "missing_changed":
        return ("missing", change.feature)
    return (change.kind, *_cut_of(change, space))


def _cut(condition: Condition | None, bound: float | None, space: FeatureSpace) -> Hashable:
    """Name the split itself, whichever side of it a rule is on."""
    if bound is not None or condition is None or condition.allowed is None:
        return bound
    inside = frozenset(condition.allowed)
    return frozenset({inside, frozenset(space.categories[condition.feature] or ()) - inside})


def _keys_of_rule(kind: str, rule: Rule, space: FeatureSpace) -> Iterable[Hashable]:
    for c in rule.conditions:
        if c.allowed is not None:
            yield (kind, c.feature, _cut(c, None, space))
            continue
        bounds = [bound for bound in (c.lower, c.upper) if np.isfinite(bound)]
        # Without a bound the split is on missingness.
        yield from ((kind, c.feature, bound) for bound in bounds or (None,))


_SPLIT_KINDS = {
    "threshold_moved": "moved",
    "condition_added": "added",
    "condition_removed": "removed",
}


def _split_change(change: ConditionChange, numbers: tuple[int, ...]) -> SplitChange:
    kind = _SPLIT_KINDS.get(change.kind, change.kind)
    whole, _ = concerned_by(change)
    asks = kind in ("added", "removed") and whole is not None
    return SplitChange(
        kind,
        change.feature,
        change.name,
        numbers,
        old_bound=change.old_bound,
        new_bound=change.new_bound,
        shift=change.shift,
        share_of_range=change.share_of_range,
        categories=(whole.allowed or ()) if asks and whole else change.gained + change.lost,
    )


@dataclass(frozen=True)
class _Splits:
    """The splits of a tree: how often each occurs, and how near the root."""

    depth: dict[Cut, int]
    count: Counter[Cut]

    def exceeds(self, other: _Splits, cut: Cut) -> bool:
        return self.count[cut] > other.count[cut]

    @classmethod
    def of(cls, paths: Paths) -> _Splits:
        aligned = align_tree(paths.tree, paths.space)
        tree, space = aligned.tree, paths.space
        depths: dict[Cut, int] = {}
        count: Counter[Cut] = Counter()
        for node in np.flatnonzero(~tree.is_leaf).tolist():
            j, mask = int(aligned.feature[node]), aligned.left_mask[node]
            name: Hashable
            if mask is None:
                t = float(tree.threshold[node])
                name = t if np.isfinite(t) else None
            else:
                cats = space.categories[j] or ()
                left = frozenset(cats[code] for code in codes_in(mask, len(cats)))
                name = frozenset({left, frozenset(cats) - left})
            depth = int(tree.node_depth[node])
            depths[j, name] = min(depth, depths.get((j, name), depth))
            count[j, name] += 1
        return cls(depths, count)


def _join_replaced(placed: list[_Placed]) -> list[_Placed]:
    """One split removed and one added at the same depth in the same rules: a swap."""
    real = [one for one in placed if not one.split.only_conditions]
    added = [one for one in real if one.split.kind == "added"]
    out = list(placed)
    for old in real:
        alike = [new for new in added if (new.changed, new.depth) == (old.changed, old.depth)]
        if old.split.kind != "removed" or not alike:
            continue
        new = alike[0].split
        added.remove(alike[0])
        swap = replace(
            old.split,
            kind="replaced",
            rules=tuple(sorted({*old.split.rules, *new.rules})),
            new_bound=new.new_bound,
            new_feature=new.feature,
            new_name=new.name,
            new_categories=new.categories,
        )
        out = [one for one in out if one not in (old, alike[0])]
        out.append(_Placed(old.depth, old.changed, swap))
    return out
