"""All trees up to a depth on some conditions, in the numbers that a bound needs.

A condition divides the *atoms* of its feature: the intervals between its cut points, or its
categories, and "missing". What a rule demands of a feature is a *state*: the atoms that pass.
The distance of a rule to each old rule is a sum over features (eq. dist-paths), so a table by
state gives it in a few additions, and the sums over a leaf's rows follow from those by atom.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadytree.certificate import leaf_loops, subtree_loops
from steadytree.certificate.leaf_loops import Judging, Leaves
from steadytree.evaluation.scores import quantile
from steadytree.growing.best_first import FloatArray, Split
from steadytree.growing.leaf_values import INTERVAL
from steadytree.growing.nodes import SearchNode
from steadytree.retraining.edits.search import PricedEdits
from steadytree.tree.walk import Box, Side

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


# -- The objective that a certificate bounds, for any tree: in numbers that leaves add up to --
# .. math:: J(T) = missed(T) + \mu\,\frac{d'(A, T)}{m(A)} + c\,[T \ne A],
#
# with the leaves estimated afresh and each carrying the best of the labels that the label rule
# permits. The edit cost c counts once, because any tree can be had by one edit, a rebuilt root;
# a tree of several edits is thus compared as kindly as all others.


@dataclass(frozen=True, eq=False)
class Terms:
    """Leaves of one tree as the bound sees them, and what follows.

    ``partner`` is the old rule of each leaf (their number: none), ``multipliers`` those at
    which each leaf wants just that.
    """

    leaves: Leaves
    value: float
    area: float
    partner: Any
    multipliers: FloatArray


class LeafwiseObjective:
    """J of any tree at one price, from sums over its leaves.

    ``constant`` is what does not depend on the tree (but for the edit cost), ``ranking`` what
    the area between the ranking curve and the diagonal is worth (twice AUC minus one).
    """

    def __init__(self, search: PricedEdits, price: float) -> None:
        self.search, self.price = search, price
        criterion, anchor = search.criterion, search.anchor
        self.stats = row_sums(search)
        self.total = self.stats.sum(axis=0)
        self.judging = _judging(search, self.total)
        self.edit_cost = search.edit_cost
        self.ranking = self.constant = 0.0
        if search.n_classes is not None:
            share = criterion.auc_share
            self.constant = -(1 - share) * criterion.best_deviance / criterion.deviance_room
            if share:
                self.constant += share * (criterion.best_auc - 0.5) / criterion.auc_room
                if min(self.judging.positives, self.judging.negatives) > 0:
                    self.ranking = share / (2 * criterion.auc_room)
        # Every old rule pays for itself until a leaf becomes its partner.
        self.constant += price * float(self.judging.rule_price.sum())
        self.unit = anchor.measure.quantum / anchor.mass

    def terms(self, root: SearchNode) -> Terms:
        """Judge a tree; leaves without enough rows are judged like the others."""
        columns = self.search.anchor.columns(root, {})
        half = self.search.anchor.measure.label_weight // 2
        away = np.vstack([columns.cost, columns.feature_cost + half]).T * self.unit
        n, width = len(columns.leaves), max(self.judging.n_classes, 2)
        leaves = Leaves(np.zeros(n), np.zeros(n), np.zeros(n), np.zeros((n, away.shape[1])))
        judging = self.judging._replace(min_leaf=0.0)
        room = np.zeros(width), np.zeros(width), np.zeros(width, dtype=bool)
        for i, leaf in enumerate(columns.leaves):
            sums = self.stats[leaf.rows].sum(axis=0)
            leaf_loops.describe(sums, np.ascontiguousarray(away[i]), judging, leaves, i, *room)
        for i in np.flatnonzero(np.isinf(leaves.fixed)).tolist():
            self._without_rows(leaves, i, columns.leaves[i], away[i])
        partner = np.zeros(n, dtype=np.int64)
        multipliers = np.zeros(away.shape[1] - 1)
        moved = subtree_loops.assign(leaves.reach, n, partner, multipliers)
        loss, area = subtree_loops.tree_value(leaves.fixed, leaves.events, leaves.others, n)
        value = self.constant + loss - self.ranking * area + self.price * moved
        return Terms(leaves, float(value), float(area), partner, multipliers)

    def _without_rows(self, leaves: Leaves, i: int, leaf: SearchNode, away: FloatArray) -> None:
        """Judge a leaf of the deployed tree that no real row reaches, by what it says itself."""
        judging, outcome = self.judging, float(self.search.outcome(leaf))
        leaves.fixed[i] = 0.0 if judging.n_classes else leaf.loss * judging.loss_unit
        leaves.reach[i] = away
        if judging.n_classes:
            cost = (judging.rule_outcome != outcome) * judging.label_cost
        else:
            cost = np.abs(judging.rule_outcome - outcome * judging.label_cost)
        leaves.reach[i, :-1] += cost - judging.rule_price

    def edited(self, root: SearchNode) -> float:
        """Return the edit cost: 0 only where no rule of the deployed tree is touched."""
        return 0.0 if _same_rules(root, self.search.start) else self.edit_cost

    def of(self, root: SearchNode) -> float:
        """Objective of a tree, the edit cost counted once."""
        return self.terms(root).value + self.edited(root)


def _same_rules(one: SearchNode, two: SearchNode) -> bool:
    if one.is_leaf or two.is_leaf:
        return one.is_leaf and two.is_leaf
    (split, *kids), (other, *others) = one.parts, two.parts
    return split == other and all(_same_rules(*pair) for pair in zip(kids, others, strict=True))


def _judging(search: PricedEdits, total: FloatArray) -> Judging:
    make, criterion, anchor = search.make, search.criterion, search.anchor
    n = search.n_classes or 0
    unit = anchor.measure.quantum / anchor.mass
    label_cost = anchor.measure.label_weight * unit
    leaves = anchor.columns(search.start, {}).leaves
    own = np.array([float(search.outcome(leaf)) for leaf in leaves])
    outcome = anchor.rule_outcomes[:, 0].astype(np.float64)
    inherited = np.zeros(max(n, 2), dtype=bool)
    decision, loss_unit = search.decision, 0.0
    low, high = search.space.response_range or (0.0, 0.0)
    if n == 0:
        own, outcome = own * label_cost, outcome * unit
        loss_unit = 1 / criterion.spread
    else:
        loss_unit = (1 - criterion.auc_share) / criterion.deviance_room
        if decision.steady > 0:
            inherited[[leaf.inherited_label for leaf in leaves]] = True
    half = anchor.measure.label_weight // 2
    return Judging(
        n_classes=n,
        min_leaf=float(max(search.limits.min_leaf, 1)),
        loss_unit=float(loss_unit),
        positives=float(total[4]) if n == 2 else 0.0,
        negatives=float(total[3] - total[4]) if n == 2 else 0.0,
        strength=float(make.steadying.strength),
        unit=float(make.steadying.unit),
        spread=float(make.steadying.spread),
        interval=float(quantile(INTERVAL)),
        threshold=float("nan") if decision.threshold is None else float(decision.threshold),
        positive=int(decision.position),
        class_weight=np.array(decision.class_weight or [1.0] * max(n, 2), dtype=np.float64),
        label_errors=float(decision.steady),
        inherited=inherited,
        low=float(low),
        high=float(high),
        rule_outcome=outcome,
        rule_price=(anchor.rules.sum(axis=1) + half) * unit,
        own_outcome=own,
        label_cost=float(label_cost),
    )
