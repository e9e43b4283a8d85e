"""Where missing values go is part of a rule, even where nobody has seen a missing value yet.

A space that knows a feature as never missing takes no notice of the direction that missing values
take at its splits, so that all of them could be turned round at no distance. Where a split of the
old tree stands again in the new one with its direction turned, the feature therefore counts as
one that can be missing; and a retraining leaves such directions as they were. The same holds of
categories that nobody has met, where a tree sends them another way than missing values: they then
count as one more category.
"""

from __future__ import annotations

import warnings
from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from steadytree.diff.pairing import read_pairs
from steadytree.distance.matching import PathMatching, match_paths
from steadytree.exceptions import ClippedThresholdWarning
from steadytree.tree.alignment import AlignedTree, align_trees
from steadytree.tree.paths import Paths
from steadytree.tree.space import FeatureSpace
from steadytree.tree.tree import Tree

OTHER = "any other"
"""Stands for the categories that nobody has met."""


class Turned(NamedTuple):
    """Features of which a split stands again and sends what it did not list another way."""

    missing: frozenset[int] = frozenset()
    unseen: frozenset[int] = frozenset()


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
    """The splits of a tree in a space, and where missing values go at each.

    ``unseen``: or rather categories that nobody has met.
    """

    aligned: AlignedTree
    unseen: bool = False

    @property
    def tree(self) -> Tree:
        return self.aligned.tree

    @property
    def left(self) -> NDArray[np.bool_]:
        """Which splits send them left."""
        return self.tree.unseen_left if self.unseen else self.tree.missing_left

    def nodes(self) -> Iterator[tuple[int, int]]:
        """List the splits whose direction the space takes no notice of, with their features."""
        can_miss = self.aligned.space.can_be_missing
        for node in np.flatnonzero(~self.tree.is_leaf).tolist():
            j = int(self.aligned.feature[node])
            if self.aligned.left_mask[node] is not None if self.unseen else not can_miss[j]:
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
        left, sides = bool(self.left[node]), self._sides(node)
        return left if sides is None else sides[not left]

    def heavier(self, node: int) -> bool:
        """Whether they go where more of the training rows went."""
        tree = self.tree
        left, right = tree.weight[tree.children_left[node]], tree.weight[tree.children_right[node]]
        return bool(left > right if self.left[node] else right > left)

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
        return bool(self.left[step.node]) == step.left

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


def turned_features(matching: PathMatching) -> Turned:
    """Find features of which a split stands again with missing values, or unseen ones, turned.

    Missing values only of features that the space of the matching knows as never missing: of
    others the distance takes account.
    """
    found = [frozenset[int](), frozenset[int]()]
    for both in _look(matching.a.tree, matching.b.tree, matching.a.space):
        suspects = both.suspects
        turned = {j for node, j in both.new.nodes() if j in suspects and both.turned_at(node)}
        if suspects - turned:
            turned |= {
                t.feature
                for t in both.twins(matching, suspects - turned)
                if both.old.passes(t.old) != both.new.passes(t.new) and not both.moved_by_default(t)
            }
        found[both.new.unseen] = frozenset(turned)
    missing, unseen = found
    return Turned(missing | _only_missing((matching.a, matching.b)), unseen)


def _only_missing(both: Sequence[Paths]) -> frozenset[int]:
    """Find features whose missing values have a rule for themselves in either tree.

    In a space that knows a feature as never missing nobody can follow such a rule.
    """
    trees, space = [paths.tree for paths in both], both[0].space
    if all(paths.n_paths == paths.tree.n_leaves for paths in both):
        return frozenset()
    every = np.ones_like(space.can_be_missing)
    found = set[int]()
    for paths, known in zip(_paths(trees, space.replace(can_be_missing=every)), both, strict=True):
        for p in np.flatnonzero(~np.isin(paths.leaf, known.leaf)).tolist():
            found |= {
                c.feature
                for c in paths.conditions_of(p)
                if not (c.present if c.allowed is None else c.allowed)
            }
    return frozenset(found)


def _paths(trees: Sequence[Tree], space: FeatureSpace) -> list[Paths]:
    with _nothing_measured():
        return Paths.from_trees(trees, space)


def _nothing_measured() -> warnings.catch_warnings[None]:
    """Keep quiet about thresholds that are clipped, where no distance is told."""
    return warnings.catch_warnings(action="ignore", category=ClippedThresholdWarning)


def space_with_turned(old: Tree, new: Tree, space: FeatureSpace) -> FeatureSpace:
    """Return the space in which two trees are compared: one that knows what is turned."""
    reached = all(p.n_paths == p.tree.n_leaves for p in _paths([old, new], space))
    if reached and not any(both.suspects for both in _look(old, new, space)):
        return space
    return with_turned(space, turned_features(match_paths(old, new, space=space, variant="metric")))


def with_turned(space: FeatureSpace, turned: Turned) -> FeatureSpace:
    """Return a space in which some more features can be missing, or have other categories."""
    if not any(turned):
        return space
    flags, ordered = space.can_be_missing.copy(), space.ordered.copy()
    flags[sorted(turned.missing)] = True
    ordered[sorted(turned.unseen)] = False
    categories = list(space.categories)
    for j in turned.unseen:
        known = categories[j] or ()
        name = OTHER
        while name in known:
            name += "_"
        categories[j] = (*known, name)
    return space.replace(can_be_missing=flags, ordered=ordered, categories=tuple(categories))


def _look(old: Tree, new: Tree, space: FeatureSpace) -> Iterator[_Both]:
    """Go through what splits do not list: missing values, and unseen ones where told apart."""
    aligned = align_trees([old, new], space)
    yield _Both(*map(_Directions, aligned))
    if any(one.tree.tells_unseen_from_missing for one in aligned):
        yield _Both(*(_Directions(one, unseen=True) for one in aligned))


def keep_directions(tree: Tree, deployed: Tree, space: FeatureSpace) -> Tree:
    """Return a tree with the deployed tree's directions at the splits that stand again.

    Only of features that are never missing in ``space``, and of categories that nobody has met:
    no row has shown a reason to turn them. Both trees are written in the space.
    """
    looks = [both for both in _look(deployed, tree, space) if both.suspects]
    if not looks:
        return tree
    with _nothing_measured():
        matching = match_paths(deployed, tree, space=space, variant="metric")
    missing_left, unseen_left = tree.missing_left, tree.unseen_left
    for both in looks:
        left = both.kept(matching)
        if both.new.unseen:
            unseen_left = left
        else:
            unseen_left = np.where(unseen_left == missing_left, left, unseen_left)
            missing_left = left
    same = [(missing_left, tree.missing_left), (unseen_left, tree.unseen_left)]
    if all(np.array_equal(*pair) for pair in same):
        return tree
    return tree.replace(missing_left=missing_left, unseen_left=unseen_left)


class _Both:
    """Two trees, the splits of the one that stand again in the other, and their directions."""

    def __init__(self, old: _Directions, new: _Directions) -> None:
        self.old, self.new = old, new
        self.before, self.after = old.by_cut(), new.by_cut()

    def as_before(self, node: int) -> bool:
        """Whether every split of the old tree that asks the same takes the same direction."""
        return self.before[self.new.cut(node)].keys() == {self.new.goes(node)}

    def turned_from(self, node: int) -> bool:
        """Whether every split of the old tree that asks the same takes the other direction."""
        known = self.before[self.new.cut(node)]
        return len(known) == 1 and self.new.goes(node) not in known

    def turned_at(self, node: int) -> bool:
        """Whether all splits that ask the same as one of the new tree have been turned round."""
        before, after = (cuts[self.new.cut(node)].keys() for cuts in (self.before, self.after))
        return bool(before) and not before & after

    def kept(self, matching: PathMatching) -> NDArray[np.bool_]:
        """Return the directions of the new tree, as in the old one where a split stands again."""
        suspects, votes = self.suspects, defaultdict[int, Counter[bool]](Counter)
        for twins in self.twins(matching, suspects):
            votes[twins.new.node][self.old.passes(twins.old) == twins.new.left] += 1
        left = self.new.left.copy()
        for node, j in self.new.nodes():
            if j not in suspects or self.as_before(node):
                continue
            if self.turned_from(node):
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

    def moved_by_default(self, twins: _Twins) -> bool:
        """Whether a split moved, and each tree sends missing values where most of its rows go.

        So they are sent where training saw none of them: the direction is no rule of its own,
        and turns wherever a cut moves past the middle of the rows.
        """
        same = self.old.cut(twins.old.node) == self.new.cut(twins.new.node)
        return not same and self.old.heavier(twins.old.node) and self.new.heavier(twins.new.node)

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
