"""All trees up to a depth on some conditions, in the numbers that a bound needs.

A condition divides the *atoms* of its feature: the intervals between its cut points, or its
categories, and "missing". What a rule demands of a feature is a *state*: the atoms that pass.
The distance of a rule to each old rule is a sum over features (eq. dist-paths), so a table by
state gives it in a few additions, and the sums over a leaf's rows follow from those by atom.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steadytree.core.boxes import Box, Side
from steadytree.growing.binning import FloatArray, Split
from steadytree.retraining.edits.search import PricedEdits

__all__ = ["Family", "States", "make_family", "row_sums"]

IntArray = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class States:
    """What rules may demand of single features, and what that adds to their distances.

    Attributes
    ----------
    full : int array (n_features,)
        State of each feature where nothing is demanded.
    after : int array (n_states, n_cuts, 2)
        State on the left and right of a cut of the same feature; -1 where nothing passes.
    added : float array (n_states, n_rules + 1)
        What a state adds to the distance to each old rule, over having no say; last, to the
        distance to the rule without conditions. In units of the deployed tree's mass.
    number : dict
        State by feature and what is demanded of it.
    """

    full: IntArray
    after: IntArray
    added: FloatArray
    number: dict[tuple[int, object], int]

    def of_box(self, box: Box, features: tuple[int, ...]) -> IntArray:
        """State of each feature in a box."""
        return np.array(
            [self.number[j, box[j].state if j in box else None] for j in features], dtype=np.int64
        )


@dataclass(frozen=True, eq=False)
class Family:
    """Trees of at most ``depth`` levels of conditions on ``cuts``.

    Attributes
    ----------
    feature : int array (n_cuts,)
        Position in ``features`` of each cut's feature.
    features, n_atoms : tuples of int
        Features of the space that are cut, and the number of atoms of each.
    atoms : int array (n_rows, n_features)
        Atom of each row in each of the features, numbered through.
    left : bool array (n_cuts, n_atoms)
        Atoms that go left.
    base : float array (n_rules + 1,)
        Distance of the rule without conditions to each old rule, and to nothing.
    """

    depth: int
    cuts: tuple[Split, ...]
    features: tuple[int, ...]
    n_atoms: tuple[int, ...]
    feature: IntArray
    atoms: IntArray
    left: NDArray[np.bool_]
    states: States
    base: FloatArray


def make_family(
    search: PricedEdits, cuts: list[Split], depth: int, boxes: Iterable[Box] = ()
) -> Family:
    """Lay out the trees on some conditions, which come in the order of their features.

    ``boxes`` are places besides the root that trees may start from.
    """
    table = search.make.table
    features = tuple(sorted({split.feature for split in cuts}))
    place = {j: i for i, j in enumerate(features)}
    feature = np.array([place[split.feature] for split in cuts], dtype=np.int64)
    columns, values, start = [], [], 0
    for j in features:
        mine = [split for split in cuts if split.feature == j]
        rows = table.coded[:, j]
        gone = np.isnan(rows)
        if table.numeric[j]:
            edges = np.unique([s.threshold for s in mine if np.isfinite(s.threshold)])
            atom = np.searchsorted(edges, np.where(gone, 0.0, rows), side="left")
            values.append(np.array([*edges, np.inf, np.nan]))
        else:
            atom = np.where(gone, 0.0, rows).astype(np.intp)
            values.append(np.array([*range(int(table.n_categories[j])), np.nan]))
        columns.append(start + np.where(gone, values[-1].size - 1, atom))
        start += values[-1].size
    left = np.zeros((len(cuts), start), dtype=bool)
    first = np.concatenate([[0], np.cumsum([v.size for v in values])])
    for c, split in enumerate(cuts):
        i = int(feature[c])
        left[c, first[i] : first[i + 1]] = split.goes_left(values[i])
    states, base = _states(search, cuts, features, depth, list(boxes))
    atoms = np.zeros((len(table.coded), 0), dtype=np.int64)
    if columns:
        atoms = np.ascontiguousarray(np.column_stack(columns), dtype=np.int64)
    counts = tuple(v.size for v in values)
    return Family(depth, tuple(cuts), features, counts, feature, atoms, left, states, base)


def _states(
    search: PricedEdits,
    cuts: list[Split],
    features: tuple[int, ...],
    depth: int,
    boxes: list[Box],
) -> tuple[States, FloatArray]:
    anchor = search.anchor
    unit = anchor.measure.quantum / anchor.mass
    rules = anchor.rules
    sides: list[tuple[int, Side | None]] = []
    after: list[dict[tuple[int, int], int]] = []
    number: dict[tuple[int, object], int] = {}
    full = []

    def state_of(j: int, side: Side | None) -> int:
        key = j, None if side is None else side.state
        if key not in number:
            number[key] = len(sides)
            sides.append((j, side))
            after.append({})
        return number[key]

    for j in features:
        mine = [(c, split) for c, split in enumerate(cuts) if split.feature == j]
        full.append(state_of(j, None))
        fresh = list(dict.fromkeys([full[-1], *(state_of(j, b[j]) for b in boxes if j in b)]))
        for _ in range(depth):
            reached, fresh = fresh, []
            for state in reached:
                side = sides[state][1]
                box: Box = {} if side is None else {j: side}
                for c, split in mine:
                    for k, part in enumerate(anchor.sides(split, box)):
                        if part is not None:
                            after[state][c, k] = new = state_of(j, part)
                            if not after[new]:
                                fresh.append(new)
            fresh = list(dict.fromkeys(fresh))
    table = np.full((len(sides), len(cuts), 2), -1, dtype=np.int64)
    added = np.zeros((len(sides), len(rules) + 1))
    for state, (j, side) in enumerate(sides):
        for (c, k), new in after[state].items():
            table[state, c, k] = new
        if side is not None:
            first, last = anchor.boxes.start[j], anchor.boxes.start[j + 1]
            x = anchor.amounts([{j: side}])[0, first:last]
            mine_of_rules = rules[:, first:last]
            added[state, :-1] = np.abs(mine_of_rules - x).sum(axis=1) - mine_of_rules.sum(axis=1)
            added[state, -1] = x.sum()
    half = anchor.measure.label_weight // 2
    base = np.append(rules.sum(axis=1), half) * unit
    return States(np.array(full, dtype=np.int64), table, added * unit, number), base


def row_sums(search: PricedEdits) -> FloatArray:
    """Return what is summed over the rows of a leaf, by row.

    Real rows: their number, the weight and weighted outcomes that the leaf's value counts, the
    weight and weighted targets of the teacher. For a response then, over all rows: weight,
    weighted squared and weighted targets of the search.
    """
    make = search.make
    taught, number = make.taught, np.arange(len(make.taught.weight))
    real = number < taught.n_real
    weight = np.where(real, taught.weight, 0.0)
    counts = weight * np.where(number < taught.n_old, make.steadying.old_share, 1.0)
    outcomes = np.zeros_like(taught.targets)
    outcomes[: taught.n_real] = taught.observed
    columns = [make.is_real, counts, counts[:, None] * outcomes]
    columns += [weight, weight[:, None] * taught.targets]
    if taught.n_classes is None:
        everywhere = taught.weight
        squares = everywhere * (make.targets**2).sum(axis=1)
        columns += [everywhere, squares, everywhere[:, None] * make.targets]
    return np.column_stack(columns)
