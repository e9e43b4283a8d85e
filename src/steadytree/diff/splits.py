"""Read one change where many rules changed alike: changes at the level of splits.

Moving the first split of a tree changes a condition of every rule below it. People
should read "the first split on age moved from 50 to 53: 6 rules", not six changes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from steadytree.diff.diff_words import concerned_by, split_words
from steadytree.diff.pairing import ConditionChange, Rule, RuleChange
from steadytree.tree.alignment import align_tree
from steadytree.tree.paths import Paths
from steadytree.tree.space import FeatureSpace
from steadytree.tree.values import codes_in
from steadytree.tree.words import Condition

# A split: its feature, and its threshold, its two sets of categories, or None where it
# only asks whether the value is missing.
Cut = tuple[int, Hashable]


@dataclass(frozen=True)
class SplitChange:
    """One change of a split, and the rules it concerns.

    Attributes
    ----------
    kind : str
        "moved", "added", "removed", "replaced" (one split removed and another added in
        the same rules), "categories_changed" or "missing_changed".
    only_conditions : bool
        The trees have the split equally often; it is conditions of some rules that were
        moved, added or removed, not the split itself.
    feature, name
        The feature split on (of the old split, if it was replaced).
    rules : tuple of int
        Numbers of the rules concerned.
    first : bool
        Whether it is the first split (the root) of the tree.
    old_bound, new_bound, shift, share_of_range : float or None
        The threshold before and after, in units and in share of the range.
    categories : tuple
        Categories that changed sides, or that a categorical condition lets pass.
    new_feature, new_name
        Of the new split, if it was replaced.
    new_categories : tuple
        What the new categorical condition lets pass, if it was replaced.
    share : float or None
        Share of the rows that follow one of these rules in either tree.

    Examples
    --------
    >>> import steadytree as st
    >>> space = st.FeatureSpace.from_data([[20.0], [70.0]]).replace(names=("age",))
    >>> old, new = (
    ...     st.tree_from_rules(f'''
    ...     age <= {cut}: no
    ...     else: yes
    ...     ''')
    ...     for cut in (50, 55)
    ... )
    >>> split = st.diff_trees(old, new, space=space).splits[0]
    >>> split.kind, split.rules
    ('moved', (1, 2))
    >>> split.text
    'the first split on age moved from 50 to 55 (+5, 10.0 % of its range): 2 rules'
    """

    kind: str
    feature: int
    name: str
    rules: tuple[int, ...]
    first: bool = False
    old_bound: float | None = None
    new_bound: float | None = None
    shift: float | None = None
    share_of_range: float | None = None
    categories: tuple[Any, ...] = ()
    new_feature: int | None = None
    new_name: str | None = None
    new_categories: tuple[Any, ...] = ()
    share: float | None = None
    only_conditions: bool = False

    @property
    def text(self) -> str:
        """Return the change in words."""
        return split_words(self)


def group_changes(rules: Sequence[RuleChange], old: Paths, new: Paths) -> tuple[SplitChange, ...]:
    """Group identical changes of conditions, then sort by how near the root they are."""
    space = old.space
    found: dict[Hashable, _Group] = {}
    for rule in rules:
        for change in rule.changes:
            key = _key(change, space)
            found.setdefault(key, _Group(change, _cut_of(change, space), set(), set()))
            found[key].changed.add(rule.number)
    before, after = _Splits.of(old), _Splits.of(new)
    # A rule that is there only now belongs to a split that other rules show to be new.
    for rule in rules:
        added = rule.status == "added"
        lone = rule.new if added else rule.old
        if rule.status not in ("added", "dropped") or lone is None:
            continue
        more, fewer = (after, before) if added else (before, after)
        kind = "condition_added" if added else "condition_removed"
        for key in _keys_of_rule(kind, lone, space):
            if key in found and more.exceeds(fewer, found[key].cut):
                found[key].lone.add(rule.number)
    placed = _join_replaced([_Placed.of(group, before, after) for group in found.values()])
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
    depth: int
    changed: frozenset[int]
    split: SplitChange

    @classmethod
    def of(cls, group: _Group, before: _Splits, after: _Splits) -> _Placed:
        split = _split_change(group.change, tuple(sorted(group.changed | group.lone)))
        cut, last = group.cut, max(before.last, after.last) + 1
        home, other = (after, before) if split.kind == "added" else (before, after)
        real = home.exceeds(other, cut)
        if split.kind == "moved":
            real = real and after.exceeds(before, (split.feature, split.new_bound))
        if split.kind in ("missing_changed", "categories_changed"):
            depth = before.depth_of_feature(split.feature, last)
            split = replace(split, first=depth == 0)
        elif real:
            depth = home.depth.get(cut, last)
            split = replace(split, first=depth == 0 and other.depth.get(cut) != 0)
        else:
            depth, split = last, replace(split, only_conditions=True)
        return cls(depth, frozenset(group.changed), split)


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


def _split_change(change: ConditionChange, numbers: tuple[int, ...]) -> SplitChange:
    kind = {
        "threshold_moved": "moved",
        "condition_added": "added",
        "condition_removed": "removed",
    }.get(change.kind, change.kind)
    categories: tuple[Any, ...] = change.gained + change.lost
    whole, _ = concerned_by(change)
    if kind in ("added", "removed") and whole is not None:
        categories = whole.allowed or ()
    return SplitChange(
        kind,
        change.feature,
        change.name,
        numbers,
        old_bound=change.old_bound,
        new_bound=change.new_bound,
        shift=change.shift,
        share_of_range=change.share_of_range,
        categories=categories,
    )


@dataclass(frozen=True)
class _Splits:
    """The splits of a tree: how often each occurs, and how near the root."""

    depth: dict[Cut, int]
    count: Counter[Cut]

    @property
    def last(self) -> int:
        return max(self.depth.values(), default=0)

    def exceeds(self, other: _Splits, cut: Cut) -> bool:
        return self.count[cut] > other.count[cut]

    def depth_of_feature(self, feature: int, default: int) -> int:
        return min((d for (j, _), d in self.depth.items() if j == feature), default=default)

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
    out = list(placed)
    for gone in placed:
        if gone.split.kind != "removed" or gone.split.only_conditions:
            continue
        for come in out:
            if come.split.only_conditions:
                continue
            if (come.split.kind, come.changed, come.depth) == ("added", gone.changed, gone.depth):
                out.remove(come)
                out.remove(gone)
                swap = replace(
                    gone.split,
                    kind="replaced",
                    rules=tuple(sorted({*gone.split.rules, *come.split.rules})),
                    new_bound=come.split.new_bound,
                    new_feature=come.split.feature,
                    new_name=come.split.name,
                    new_categories=come.split.categories,
                )
                out.append(_Placed(gone.depth, gone.changed, swap))
                break
    return out
