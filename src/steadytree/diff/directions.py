"""Where missing values go is part of a rule, even where nobody has seen a missing value yet.

A space that knows a feature as never missing takes no notice of the direction that missing values
take at its splits, so that all of them could be turned round at no distance. Where a split of one
tree stands in the other with its direction turned, the feature therefore counts as one that can be
missing; and a retraining leaves such directions as they were. The same holds of categories that
nobody has met, where a tree sends them another way than missing values: they then count as one
more category. A split that moved is another split: its direction is part of the move.
"""

from __future__ import annotations

import warnings
from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from steadytree._io import check_matching
from steadytree.diff.changes import SAME_BOUND
from steadytree.diff.pairing import read_pairs
from steadytree.distance.matching import PathMatching, match_paths
from steadytree.exceptions import ClippedThresholdWarning
from steadytree.tree.alignment import AlignedTree, align_trees
from steadytree.tree.paths import Paths
from steadytree.tree.space import FeatureSpace
from steadytree.tree.tree import Tree
from steadytree.tree.words import Condition

OTHER = "any other"
"""Stands for the categories that nobody has met."""


class _Step(NamedTuple):
    """A split on the way to a leaf, and the side that the way takes."""

    node: int
    left: bool


class _Twins(NamedTuple):
    """A split of the old tree and the one of the new tree that stands for it."""

    feature: int
    old: _Step
    new: _Step


@dataclass(frozen=True)
class _Directions:
    """The splits of a tree in a space, and where missing values go at each."""

    aligned: AlignedTree

    @property
    def tree(self) -> Tree:
        return self.aligned.tree

    def nodes(self) -> Iterator[tuple[int, int]]:
        """List the splits whose direction the space takes no notice of, with their features."""
        can_miss = self.aligned.space.can_be_missing
        for node in np.flatnonzero(~self.tree.is_leaf).tolist():
            j = int(self.aligned.feature[node])
            if not can_miss[j]:
                yield node, j

    def _sides(self, node: int) -> tuple[int, int] | None:
        """Categories on the left and on the right; None at a threshold."""
        mask = self.aligned.left_mask[node]
        if mask is None:
            return None
        categories = self.aligned.space.categories[int(self.aligned.feature[node])] or ()
        every = (1 << len(categories)) - 1
        return mask & every, every & ~mask

    def cut(self, node: int) -> Hashable:
        """Name the question of a split, whichever of its sides is written first."""
        sides = self._sides(node)
        asked = float(self.tree.threshold[node]) if sides is None else frozenset(sides)
        return int(self.aligned.feature[node]), asked

    def goes(self, node: int) -> Hashable:
        """Return the side of the question that they take."""
        left, sides = bool(self.tree.missing_left[node]), self._sides(node)
        return left if sides is None else sides[not left]

    def by_cut(self) -> defaultdict[Hashable, Counter[Hashable]]:
        """Count the directions at each question; none where it is not asked."""
        found = defaultdict[Hashable, Counter[Hashable]](Counter)
        for node, _ in self.nodes():
            found[self.cut(node)][self.goes(node)] += 1
        return found

    def way(self, leaf: int) -> dict[int, list[_Step]]:
        """Return the splits above a leaf by feature, from the leaf up."""
        tree, below = self.tree, leaf
        steps: dict[int, list[_Step]] = defaultdict(list)
        while below:
            node = int(tree.parent[below])
            left = int(tree.children_left[node]) == below
            steps[int(self.aligned.feature[node])].append(_Step(node, left))
            below = node
        return steps

    def passes(self, step: _Step) -> bool:
        """Whether they take the side that a rule takes at a split."""
        return bool(self.tree.missing_left[step.node]) == step.left

    def binding(self, steps: list[_Step]) -> dict[Hashable, _Step]:
        """Of the splits on a feature those that set a rule's bounds, by side or set."""
        found: dict[Hashable, _Step] = {}
        for step in reversed(steps):
            if self.aligned.left_mask[step.node] is not None:
                found[self.cut(step.node)] = step
                continue
            now, cuts = found.get(step.left), self.tree.threshold
            tighter = now is None or (cuts[step.node] < cuts[now.node]) == step.left
            if tighter:
                found[step.left] = step
        return found


def space_with_turned(old: Tree, new: Tree, space: FeatureSpace) -> FeatureSpace:
    """Return the space in which two trees are compared: one that knows what is turned.

    That is a feature whose missing values, though the space knows none, pass one of two rules that
    ask the same and not the other, or have a rule for themselves; and one of which so do categories
    that nobody has met.
    """
    apart = old.tells_unseen_from_missing or new.tells_unseen_from_missing
    if space.can_be_missing.all() and not apart:
        return space
    check_matching(old.n_leaves, new.n_leaves)
    both = _paths([old, new], space)
    every = space.replace(can_be_missing=np.ones_like(space.can_be_missing))
    wide = _paths([old, new], _with_other(every, range(space.n_features)))
    before, after = (_regions(*paths) for paths in zip(both, wide, strict=True))
    pairs = [(one, after[asked]) for asked, one in before.items() if asked in after]
    missing = _only_missing(both, wide)
    unseen = set[int]()
    for one, two in pairs:
        for j in one.keys() & two.keys():
            missing |= {j} if one[j].missing is not two[j].missing else set()
            unseen |= {j} if _lets_other(one[j]) is not _lets_other(two[j]) else set()
    missing -= set(np.flatnonzero(space.can_be_missing).tolist())
    flags = space.can_be_missing.copy()
    flags[sorted(missing)] = True
    known = _with_other(space, unseen) if unseen and apart else space
    return known.replace(can_be_missing=flags) if missing else known


def _regions(narrow: Paths, wide: Paths) -> dict[Hashable, dict[int, Condition]]:
    """Return by what each rule asks in a space what it asks in a wider one, feature by feature."""
    asked = dict(zip(wide.leaf.tolist(), wide.conditions, strict=True))
    return {
        tuple(_named(c, narrow.space) for c in conditions): {c.feature: c for c in asked[leaf]}
        for leaf, conditions in zip(narrow.leaf.tolist(), narrow.conditions, strict=True)
    }


def _named(condition: Condition, space: FeatureSpace) -> Hashable:
    """Name a condition so that bounds that are nearly equal are one."""
    j, allowed = condition.feature, condition.allowed
    step = SAME_BOUND * float(space.upper[j]) - SAME_BOUND * float(space.lower[j]) or 1.0
    bounds = (condition.lower, condition.upper)
    rounded = [b if np.isinf(b) else round(b / step) for b in bounds]
    return j, *rounded, None if allowed is None else frozenset(allowed)


def _only_missing(narrow: Sequence[Paths], wide: Sequence[Paths]) -> set[int]:
    """Find features whose missing values have a rule for themselves in a tree.

    In a space that knows a feature as never missing nobody can follow such a rule.
    """
    return {
        c.feature
        for known, paths in zip(narrow, wide, strict=True)
        for p in np.flatnonzero(~np.isin(paths.leaf, known.leaf)).tolist()
        for c in paths.conditions[p]
        if not (c.present if c.allowed is None else set(c.allowed) - {OTHER})
    }


def _lets_other(condition: Condition) -> bool:
    return condition.allowed is not None and condition.allowed[-1:] == (OTHER,)


def _with_other(space: FeatureSpace, features: Iterable[int]) -> FeatureSpace:
    """Return a space in which categorical features have one more category: any other."""
    ordered, categories = space.ordered.copy(), list(space.categories)
    for j in features:
        known = categories[j]
        if known is not None:
            ordered[j] = False
            categories[j] = (*known, OTHER)
    return space.replace(ordered=ordered, categories=tuple(categories))


def _paths(trees: Sequence[Tree], space: FeatureSpace) -> list[Paths]:
    with _nothing_measured():
        return Paths.from_trees(trees, space)


def _nothing_measured() -> warnings.catch_warnings[None]:
    """Keep quiet about thresholds that are clipped, where no distance is told."""
    return warnings.catch_warnings(action="ignore", category=ClippedThresholdWarning)


def keep_directions(tree: Tree, deployed: Tree, space: FeatureSpace) -> Tree:
    """Return a tree with the deployed tree's directions at the splits that stand again.

    Only of features that are never missing in ``space``: no row has shown a reason to turn them.
    Both trees are written in the space.
    """
    both = _Both(*map(_Directions, align_trees([deployed, tree], space)))
    if not both.suspects:
        return tree
    with _nothing_measured():
        matching = match_paths(deployed, tree, space=space, variant="metric")
    left = both.kept(matching)
    if np.array_equal(left, tree.missing_left):
        return tree
    unseen_left = np.where(tree.unseen_left == tree.missing_left, left, tree.unseen_left)
    return tree.replace(missing_left=left, unseen_left=unseen_left)


class _Both:
    """Two trees, the splits of the one that stand again in the other, and their directions."""

    def __init__(self, old: _Directions, new: _Directions) -> None:
        self.old, self.new = old, new
        self.before, self.after = old.by_cut(), new.by_cut()

    def as_before(self, node: int) -> bool:
        """Whether every split of the old tree that asks the same takes the same direction."""
        return self.before[self.new.cut(node)].keys() == {self.new.goes(node)}

    def kept(self, matching: PathMatching) -> NDArray[np.bool_]:
        """Return the directions of the new tree, as in the old one where a split stands again."""
        suspects, votes = self.suspects, defaultdict[int, Counter[bool]](Counter)
        for twins in self.twins(matching, suspects):
            votes[twins.new.node][self.old.passes(twins.old) == twins.new.left] += 1
        left = self.new.tree.missing_left.copy()
        for node, j in self.new.nodes():
            if j not in suspects or self.as_before(node):
                continue
            if len(self.before[self.new.cut(node)]) == 1:  # the other one, wherever it is asked
                left[node] = not left[node]
            elif node in votes:
                left[node] = votes[node].most_common(1)[0][0]
        return left

    @property
    def suspects(self) -> frozenset[int]:
        """Features of both trees whose splits are not all as they were."""
        used = {j for _, j in self.old.nodes()}
        return frozenset(j for n, j in self.new.nodes() if j in used and not self.as_before(n))

    def twins(self, matching: PathMatching, features: Collection[int]) -> list[_Twins]:
        """Pair old and new splits: the same, or the one moved to where the other is.

        A split moved from one place only: the one that most rules say.
        """
        found = []
        for pair in read_pairs(matching):
            before = self.old.way(int(matching.a.leaf[pair.old]))
            after = self.new.way(int(matching.b.leaf[pair.new]))
            for j in features:
                ends = self.old.binding(before[j]), self.new.binding(after[j])
                found += [_Twins(j, *twins) for twins in _twins(*ends) if self._stands(*twins)]
        places = Counter((self.new.cut(t.new.node), self.old.cut(t.old.node)) for t in found)
        home = {now: was for (now, was), _ in reversed(places.most_common())}
        return [t for t in found if home[self.new.cut(t.new.node)] == self.old.cut(t.old.node)]

    def _stands(self, one: _Step, two: _Step) -> bool:
        """Whether two splits ask the same, or each is one that the other tree has no more of."""
        was, now = self.old.cut(one.node), self.new.cut(two.node)
        fewer = self.before[was].total() > self.after[was].total()
        return was == now or (fewer and self.after[now].total() > self.before[now].total())


def _twins(
    old: Mapping[Hashable, _Step], new: Mapping[Hashable, _Step]
) -> Iterator[tuple[_Step, _Step]]:
    """Pair splits that bound a feature alike in two rules, or the one set that each has."""
    yield from ((step, new[key]) for key, step in old.items() if key in new)
    alone = [step for key, step in old.items() if key not in new]
    fresh = [step for key, step in new.items() if key not in old]
    sets = not {True, False} & (old.keys() | new.keys())
    if sets and len(alone) == len(fresh) == 1:
        yield alone[0], fresh[0]
