"""Other systems' nodes as our own splits, whatever happens to missing values.

A node of PMML or ONNX may ask for several things at once, have many children, ask for equality of
numbers, or fall back on another feature where one is missing. A :class:`Fork` says so with
conditions that are true, false or unknown; :func:`nested_splits` writes it out as splits with two
sides. What follows a fork is written out once for each way to it, without the splits that this
way has decided already; everything else stays as the source has it, split by split, but for those
that send every row one way.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from steadytree.formats.conditions import (
    FALSE,
    TRUE,
    UNKNOWN,
    AtMost,
    Condition,
    Constant,
    IsMissing,
    Joined,
    Not,
    OneOf,
    Split,
    State,
    join,
    of_no_parts,
    possible,
    sides_of,
)
from steadytree.plugins import MAX_NODES, Branch, Leaf, Node, TreeFormatError, UnsupportedModelError

MAX_COPIES = 20_000
"""Nodes that may be added where the same part of a tree is reached in several ways."""
MAX_SPLITS_IN_ONE = 2_000
"""What a single node of the source may take."""
MAX_PARTS = 500
"""Comparisons that a single condition may have."""


@dataclass(frozen=True)
class Column:
    """What is known of a feature: how many categories it has (None: numeric).

    ``unseen_is_missing``: a category never met is taken for a missing value.
    """

    n_categories: int | None = None
    unseen_is_missing: bool = False


@dataclass(frozen=True)
class Refusal:
    """A place that the tree must not lead to, and why."""

    reason: str


@dataclass(eq=False)
class NoResult:
    """Where the source gives rows no result.

    Rows with a missing value go with the larger part of the others from there, those with values
    that no child takes go to ``instead``. ``met`` collects, in words, which there are.
    """

    instead: Target | None = None
    seen: set[str] = field(default_factory=set)


@dataclass(eq=False)
class Fork:
    """A node: its children in order, each with the condition for it.

    The first child whose condition is true is taken. ``otherwise`` where there is none;
    ``unknown`` as soon as a condition is unknown, by default the next child is asked. ``value``,
    ``weight`` and ``label`` are those of the node, as far as it has them.
    """

    choices: list[tuple[Condition, Target]]
    otherwise: Target
    unknown: Target | None = None
    value: Sequence[float] | None = None
    weight: float | None = None
    label: int | None = None


Target = Fork | Leaf | Refusal | NoResult


# -- ways to the children of a fork -------------------------------------------------


_Known = dict[int, State]


ANYWHERE = -1  # an end for rows that may go either way


@dataclass(frozen=True, eq=False)
class _Two:
    """A split with two sides; ``missing_left`` is None where no missing value comes."""

    split: Split
    left: _Binary
    right: _Binary
    missing_left: bool | None = None


_Binary = _Two | int


class _Writer:
    """Writes forks out."""

    def __init__(self, columns: Sequence[Column]) -> None:
        self.columns = columns

    def state(self, known: _Known, feature: int) -> State:
        whole = self.whole(feature)
        return known.get(feature) or State(codes=whole.codes, unseen=whole.unseen)

    def whole(self, feature: int) -> Split:
        """Return the question whether there is a value at all."""
        column = self.columns[feature]
        n = column.n_categories
        if n is None:
            return Split(feature, threshold=np.inf)
        # A category that is taken for missing goes where missing values go.
        return Split(feature, codes=frozenset(range(n)), unseen=not column.unseen_is_missing)

    def decide(self, condition: Condition, known: _Known) -> Split | int:
        """Return the outcome of a condition, or a split that must be asked before it is known."""
        if isinstance(condition, Constant):
            return condition.outcome
        if isinstance(condition, Not):
            inside = self.decide(condition.part, known)
            if isinstance(inside, Split) or inside == UNKNOWN:
                return inside
            return FALSE if inside == TRUE else TRUE
        if isinstance(condition, AtMost | OneOf | IsMissing):
            return self._decide_one(condition, known)
        so_far: int | None = None
        for part in condition.parts:
            outcome = self.decide(part, known)
            if isinstance(outcome, Split):
                return outcome
            so_far, decided = join(condition, so_far, outcome)
            if decided:
                return so_far
        return of_no_parts(condition) if so_far is None else so_far

    def _decide_one(self, condition: AtMost | OneOf | IsMissing, known: _Known) -> Split | int:
        j = condition.feature
        if isinstance(condition, IsMissing):
            split, outcomes = self.whole(j), (FALSE, FALSE, TRUE)
        else:
            if isinstance(condition, AtMost):
                split = Split(j, threshold=condition.threshold)
            else:
                split = Split(j, codes=condition.codes, unseen=condition.unseen == TRUE)
            outcomes = (TRUE, FALSE, condition.missing)
        so = possible(split, self.state(known, j))
        found = {outcome for outcome, there in zip(outcomes, so, strict=True) if there}
        if not found:  # no row gets here: any outcome will do
            return FALSE
        return found.pop() if len(found) == 1 else split

    def choose(self, fork: Fork, known: _Known, places: Callable[[Target], int]) -> _Binary:
        """Ask for the children of a fork in order; the ends are places of targets."""
        for condition, _ in fork.choices:
            _check_size(condition)
        first: list[_Binary | None] = [None]
        # Splits, with what follows if it is so, if not and if there is no value, and their place.
        asked: list[tuple[Split, list[_Binary | None], list[_Binary | None], int]] = []
        waiting = [(first, 0, 0, known)]
        while waiting:
            slots, k, child, here = waiting.pop()
            found, child = self._next(fork, child, here, places)
            if isinstance(found, int):
                slots[k] = None if found == ANYWHERE else found
                continue
            after: list[_Binary | None] = [None] * 3
            asked.append((found, after, slots, k))
            if len(asked) > MAX_SPLITS_IN_ONE:
                raise UnsupportedModelError(
                    f"expected conditions that take at most {MAX_SPLITS_IN_ONE:,} splits when "
                    "written out, got more in one node; nobody could read such a tree"
                )
            for side, state in enumerate(sides_of(found, self.state(here, found.feature))):
                if state is not None:
                    waiting.append((after, side, child, {**here, found.feature: state}))
        for split, after, slots, k in reversed(asked):
            slots[k] = self._two(split, *after)
        return ANYWHERE if first[0] is None else first[0]

    def _next(
        self, fork: Fork, child: int, known: _Known, places: Callable[[Target], int]
    ) -> tuple[Split | int, int]:
        """Go as far as what is known leads: to a target, or to the next split and its child."""
        for at in range(child, len(fork.choices)):
            condition, target = fork.choices[at]
            found = self.decide(condition, known)
            if isinstance(found, Split):
                return found, at
            if found == TRUE:
                return places(target), at
            if found == UNKNOWN and fork.unknown is not None:
                return _end(fork.unknown, known, places), at
        return _end(fork.otherwise, known, places), child

    def _contrary(self, split: Split) -> Split:
        """Return the split by category whose sides are exchanged."""
        assert split.codes is not None
        everything = self.whole(split.feature).codes or frozenset()
        return replace(split, codes=everything - split.codes, unseen=not split.unseen)

    def _joined(self, split: Split, yes: _Binary, no: _Binary) -> _Two:
        """Return a split with two sides; two by category in a row that part alike become one."""
        for one, inner in ((yes, no), (no, yes)):
            if (
                split.codes is None
                or not isinstance(inner, _Two)
                or inner.split.feature != split.feature
                or inner.split.codes is None
                or inner.missing_left is not None
                or not isinstance(one, int)
                or one not in (inner.left, inner.right)
            ):
                continue
            reach = split if inner is yes else self._contrary(split)
            first = inner.right == one
            other, chosen = inner.right, self._contrary(inner.split)
            if first:
                other, chosen = inner.left, inner.split
            assert reach.codes is not None
            assert chosen.codes is not None
            both = replace(
                split, codes=reach.codes & chosen.codes, unseen=reach.unseen and chosen.unseen
            )
            if inner is yes:
                return _Two(both, other, one)
            return _Two(self._contrary(both), one, other)
        return _Two(split, yes, no)

    def _two(
        self, split: Split, yes: _Binary | None, no: _Binary | None, missing: _Binary | None
    ) -> _Binary | None:
        """Return a split with two sides, missing values on one; less where nothing comes."""
        present = no if yes is None else yes
        if yes is not None and no is not None and not (isinstance(yes, int) and yes == no):
            present = self._joined(split, yes, no)
        if present is None or missing is None:
            return missing if present is None else present
        taken = _take_in(present, split.feature, missing)
        if taken is None:
            taken = _Two(self.whole(split.feature), present, missing, False)
        return taken


def _end(target: Target, known: _Known, places: Callable[[Target], int]) -> int:
    """Return the place of a target, or of what stands for it where it gives no result."""
    if not isinstance(target, NoResult):
        return places(target)
    if not all(state.present for state in known.values()):
        target.seen.add("missing values")
        return ANYWHERE
    target.seen.add("values that no child of a node takes")
    return ANYWHERE if target.instead is None else places(target.instead)


def _check_size(condition: Condition) -> None:
    """Refuse a condition of too many parts."""
    count, stack = 0, [condition]
    while stack:
        part = stack.pop()
        count += 1
        if isinstance(part, Not):
            stack.append(part.part)
        elif isinstance(part, Joined):
            stack += part.parts
        if count > MAX_PARTS:
            raise UnsupportedModelError(
                f"expected conditions of at most {MAX_PARTS:,} comparisons, got a longer one"
            )


def _take_in(way: _Binary, feature: int, missing: _Binary) -> _Binary | None:
    """Lead missing values through a way to where they belong; None if that cannot be."""
    if way is missing or (isinstance(way, int) and way == missing):
        return way
    if isinstance(way, int) or way.split.feature != feature or way.missing_left is not None:
        return None
    # An end at once rather than one further down.
    sides = sorted(((way.left, True), (way.right, False)), key=lambda s: isinstance(s[0], _Two))
    for side, left in sides:
        taken = _take_in(side, feature, missing)
        if taken is not None:
            both = (taken, way.right) if left else (way.left, taken)
            return _Two(way.split, *both, left)
    return None


# -- the whole tree ----------------------------------------------------------------


@dataclass(eq=False)
class _Place:
    """A node of the tree in the making: a leaf, or a split with the positions of its sides."""

    what: _Two | Leaf
    source: Fork | None = None
    share: float = 1.0
    sides: list[int] = field(default_factory=list)


def nested_splits(root: Target, columns: Sequence[Column]) -> Node:
    """Write a tree of forks out as nested splits with two sides each."""
    writer = _Writer(columns)
    places: list[_Place] = []
    copies = 0
    # With each: what is known there, and the share of its rows that this copy of it gets.
    waiting: list[tuple[Target, _Known, float, tuple[int, int] | None]] = [(root, {}, 1.0, None)]

    def put(place: _Place, parent: tuple[int, int] | None) -> int:
        nonlocal copies
        copies += place.share < 1
        if copies > MAX_COPIES or len(places) >= MAX_NODES:
            raise TreeFormatError(
                f"expected at most {MAX_NODES:,} nodes, {MAX_COPIES:,} of them where conditions "
                "are written out, got more; nobody could read such a tree"
            )
        places.append(place)
        if parent is not None:
            places[parent[0]].sides[parent[1]] = len(places) - 1
        return len(places) - 1

    while waiting:
        target, known, share, parent = waiting.pop()
        if isinstance(target, Refusal):
            raise UnsupportedModelError(target.reason)
        assert not isinstance(target, NoResult)  # something else has its place
        if isinstance(target, Leaf):
            leaf = replace(target, weight=target.weight * share)
            put(_Place(leaf, share=share), parent)
            continue
        targets: list[Target] = []

        def place_of(wanted: Target, listed: list[Target] = targets) -> int:
            for at, one in enumerate(listed):
                if one is wanted:
                    return at
            listed.append(wanted)
            return len(listed) - 1

        # What stands once stays as the source has it, be it decided further up or not.
        way = writer.choose(target, known if share < 1 else {}, place_of)
        ends = Counter(_ends(way))
        inner: list[tuple[_Binary, _Known, tuple[int, int] | None, Fork | None]] = [
            (way, known, parent, target)
        ]
        while inner:
            here, now, above, source = inner.pop()
            if here == ANYWHERE:
                raise UnsupportedModelError("expected a result for some row, got none for any")
            if isinstance(here, int):
                waiting.append((targets[here], now, share / ends[here], above))
                continue
            at = put(_Place(here, source, share, [-1, -1]), above)
            j = here.split.feature
            for side, after in enumerate((here.left, here.right)):
                then = {**now, j: _on_side(here, writer.state(now, j), side)}
                inner.append((after, then, (at, side), None))
    return _nested(places, columns)


def _ends(way: _Binary) -> list[int]:
    found, stack = [], [way]
    while stack:
        here = stack.pop()
        if isinstance(here, int):
            found.append(here)
        else:
            stack += (here.left, here.right)
    return found


def _on_side(two: _Two, state: State, side: int) -> State:
    """Return what gets to a side of a split, missing values included."""
    *present, missing = sides_of(two.split, state)
    here = present[side]
    takes_missing = missing is not None and two.missing_left is (side == 0)
    if here is None:
        return replace(state, present=False, missing=takes_missing)
    return replace(here, missing=takes_missing)


def _nested(places: list[_Place], columns: Sequence[Column]) -> Node:
    built: dict[int, Node] = {}
    rows: dict[int, float] = {}
    for at in reversed(range(len(places))):
        place = places[at]
        if isinstance(place.what, Leaf):
            built[at], rows[at] = place.what, place.what.weight
            continue
        split, source = place.what.split, place.source
        left, right = (built.pop(side) for side in place.sides)
        heavier_left = rows[place.sides[0]] >= rows[place.sides[1]]
        rows[at] = rows[place.sides[0]] + rows[place.sides[1]]
        missing_left = place.what.missing_left
        by_itself = split.codes is not None and not columns[split.feature].unseen_is_missing
        own: dict[str, Any] = {}
        if source is not None:
            weight = None if source.weight is None else source.weight * place.share
            own = {"value": source.value, "weight": weight, "label": source.label}
        built[at] = Branch(
            feature=split.feature,
            left=left,
            right=right,
            threshold=split.threshold,
            left_categories=None if split.codes is None else tuple(sorted(split.codes)),
            missing_left=heavier_left if missing_left is None else missing_left,
            unseen_left=split.unseen if by_itself else None,
            **own,
        )
    return built[0]
