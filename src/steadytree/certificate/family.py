"""All trees up to a depth on some conditions, in the numbers that a bound needs.

A condition divides the *atoms* of its feature: the intervals between its cut points, or its
categories, and "missing". What a rule demands of a feature is a *state*: the atoms that pass.
The distance of a rule to each old rule is a sum over features (eq. dist-paths), so a table by
state gives it in a few additions, and the sums over a leaf's rows follow from those by atom.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from steadytree.certificate.loops import (
    IntArray,
    Judging,
    Layout,
    Leaves,
    assign,
    describe,
    empty_leaves,
    room_for,
    tree_value,
)
from steadytree.evaluation.scores import quantile
from steadytree.growing._loops import loops
from steadytree.growing.best_first import BinnedTable, FloatArray, IndexArray, Split, bins_of
from steadytree.growing.leaf_values import INTERVAL
from steadytree.growing.nodes import NodeFactory, SearchNode, nodes_of
from steadytree.retraining.edits.search import PricedEdits
from steadytree.tree.values import bit_set
from steadytree.tree.walk import Box, Side

# -- which conditions the trees are built from: the stated cut points ------------------------
# A certificate speaks of every tree on some conditions, so these must hold what matters: all
# conditions of the deployed tree and of the proposal, then those that explain most in some node
# of the proposal, then evenly spaced cuts of the most telling features.

EVEN_CUTS = (1, 3, 7, 15, 31, 63, 127, 254)
"""Evenly spaced cuts of a feature, in rounds until there are enough."""
CUTS_PER_FEATURE = 4
"""Beside the features of both trees there are at most as many as give each so many cuts."""


def cut_key(split: Split, table: BinnedTable) -> tuple[int, object]:
    """Return what two conditions have in common that divide every value alike."""
    j = split.feature
    can_miss = bool(table.space.can_be_missing[j])
    if split.left is None:
        return j, (split.threshold, can_miss and split.missing_left)
    n = int(table.n_categories[j])
    mask = bit_set(split.left, n)
    if can_miss:
        mask |= int(split.missing_left) << n
    # Which side is called left makes no other tree.
    return j, min(mask, (1 << (n + can_miss)) - 1 - mask)


def choose_cuts(
    make: NodeFactory, trees: list[SearchNode], most: int, min_leaf: int
) -> list[Split]:
    """Return the conditions of some trees and about ``most`` in all, in the order of features.

    The last of the trees is the one whose nodes say what is promising.
    """
    table = make.table
    chosen: dict[tuple[int, object], Split] = {}
    for root in trees:
        for node in nodes_of(root):
            if not node.is_leaf:
                split = node.parts[0]
                chosen.setdefault(cut_key(split, table), split)
    found = [item for node in nodes_of(trees[-1]) for item in _promising(make, node, min_leaf)]
    found.sort(key=lambda item: (-item[0], str(cut_key(item[1], table))))
    room = len(chosen) + max(most - len(chosen), 0) // 2
    features = list(dict.fromkeys([s.feature for s in chosen.values()]))
    n_features = max(most // CUTS_PER_FEATURE, len(features))
    for _, split in found:
        if split.feature not in features and len(features) < n_features:
            features.append(split.feature)
        if len(chosen) < room and split.feature in features:
            chosen.setdefault(cut_key(split, table), split)
    strength = dict.fromkeys(features, 0.0)
    for gain, split in found:
        if split.feature in strength:
            strength[split.feature] = max(strength[split.feature], gain)
    features.sort(key=lambda j: -strength[j])
    layers = make.table.histogram(_real_rows(make, trees[-1]), make.layers)
    for count in EVEN_CUTS:
        for j in features:
            for split in _even(table, layers[:, j], j, count):
                if len(chosen) >= most:
                    break
                chosen.setdefault(cut_key(split, table), split)
    return sorted(chosen.values(), key=lambda s: (s.feature, str(cut_key(s, table)[1])))


def _real_rows(make: NodeFactory, node: SearchNode) -> IndexArray:
    return node.rows[make.is_real[node.rows] > 0]


def _promising(make: NodeFactory, node: SearchNode, min_leaf: int) -> Iterator[tuple[float, Split]]:
    """Best condition on each feature in one node, with the squared error it explains."""
    if node.n_real < 2 * min_leaf:
        return
    layers = make.table.histogram(_real_rows(make, node), make.layers)
    total = layers[:, 0, :].sum(axis=1)
    base, one = float((total[2:] ** 2).sum() / total[1]), np.zeros(1, dtype=np.intp)
    for j in range(make.table.n_features):
        order = _order(make.table, layers[:, j], j)
        in_order = np.ascontiguousarray(layers[:, j][:, None, [*order, -1]])
        n_cuts = np.array([order.size - 1])
        gain, _, at, missing_left = loops().best_cut(
            in_order, one, n_cuts, total, float(min_leaf), 0.0
        )
        if np.isfinite(gain):
            if layers[0, j, -1] == 0:  # never seen here: with the heavier side
                missing_left = np.cumsum(in_order[1, 0, : at + 1])[-1] * 2 >= total[1]
            yield float(gain - base), _split_after(make.table, j, order, at, bool(missing_left))


def _order(table: BinnedTable, layers: FloatArray, j: int) -> IndexArray:
    """Bins of a feature along its order, or categories in the order of their mean target."""
    if table.ranked[j]:
        return np.arange(table.n_edges[j] + 1)
    n = int(table.n_categories[j])
    weight = np.maximum(layers[1, :n], 1e-300)
    means = layers[2:, :n] / weight
    centred = means - (layers[2:].sum(axis=1) / max(layers[1].sum(), 1e-300))[:, None]
    column = int((layers[1, :n] * centred**2).sum(axis=1).argmax())
    return np.argsort(np.where(layers[1, :n] > 0, means[column], 0.0), kind="stable")


def _split_after(
    table: BinnedTable, j: int, order: IndexArray, at: int, missing_left: bool
) -> Split:
    if table.ranked[j]:
        return table.threshold_split(j, at, missing_left)
    return Split(j, np.nan, tuple(sorted(order[: at + 1].tolist())), missing_left)


def _even(table: BinnedTable, layers: FloatArray, j: int, count: int) -> Iterator[Split]:
    """Evenly spaced conditions on a feature, and whether it is missing."""
    order, missing = _order(table, layers, j), layers[0, -1] > 0
    cuts = order.size - 1
    share = np.cumsum(layers[1, order]) / max(layers[1].sum(), 1e-300)
    at = np.unique(np.linspace(-1, cuts, min(count, cuts) + 2).round().astype(int)[1:-1])
    for i in at.tolist():
        for missing_left in (False, True) if missing else (bool(share[i] * 2 >= 1),):
            yield _split_after(table, j, order, i, missing_left)
    if missing:
        yield _split_after(table, j, order, order.size - 1, False)


# -- the trees on these conditions ----------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Family:
    """Trees of at most ``depth`` levels of conditions on ``cuts``.

    Attributes
    ----------
    features : tuple of int
        Features of the space that are cut.
    atoms : int array (n_rows, n_features)
        Atom of each row in each of the features, numbered through.
    layout : Layout
        The conditions and the states, in arrays.
    number : dict
        State by feature and what is demanded of it.
    """

    depth: int
    cuts: tuple[Split, ...]
    features: tuple[int, ...]
    atoms: IntArray
    layout: Layout
    number: dict[tuple[int, object], int]

    def states(self, box: Box) -> IntArray:
        """State of each feature in a box."""
        demanded = ((j, box[j].state if j in box else None) for j in self.features)
        return np.array([self.number[key] for key in demanded], dtype=np.int64)


def make_family(
    search: PricedEdits, cuts: list[Split], depth: int, boxes: Iterable[Box] = ()
) -> Family:
    """Lay out the trees on some conditions, which come in the order of their features.

    ``boxes`` are places besides the root that trees may start from.
    """
    table = search.make.table
    features = tuple(sorted({split.feature for split in cuts}))
    feature = np.array([features.index(split.feature) for split in cuts], dtype=np.int64)
    first = np.zeros(len(features) + 1, dtype=np.int64)
    atoms = np.zeros((len(table.coded), len(features)), dtype=np.int64)
    values = []  # one of each atom, the last one missing
    for i, j in enumerate(features):
        edges: FloatArray = np.arange(int(table.n_categories[j]) - 1, dtype=np.float64) + 0.5
        inside = np.arange(int(table.n_categories[j]), dtype=np.float64)
        if table.numeric[j]:
            thresholds = [s.threshold for s in cuts if s.feature == j]
            edges = np.unique([x for x in thresholds if np.isfinite(x)])
            inside = np.array([*edges, np.inf])
        values.append(np.append(inside, np.nan))
        atoms[:, i] = first[i] + bins_of(table.coded[:, j], edges, inside.size)
        first[i + 1] = first[i] + inside.size + 1
    left = np.zeros((len(cuts), first[-1]), dtype=bool)
    for c, (split, i) in enumerate(zip(cuts, feature.tolist(), strict=True)):
        left[c, first[i] : first[i + 1]] = split.goes_left(values[i])
    full, after, added, base, number = _states(search, cuts, features, depth, list(boxes))
    layout = Layout(feature, first, left, full, after, added, base)
    return Family(depth, tuple(cuts), features, atoms, layout, number)


def _states(
    search: PricedEdits,
    cuts: list[Split],
    features: tuple[int, ...],
    depth: int,
    boxes: list[Box],
) -> tuple[IntArray, IntArray, FloatArray, FloatArray, dict[tuple[int, object], int]]:
    """Return what a layout says of states, and the number of each."""
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
    return np.array(full, dtype=np.int64), table, added * unit, base, number


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
    partner: IntArray
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
        n = len(columns.leaves)
        leaves, room = empty_leaves(n, away.shape[1] - 1), room_for(self.judging.n_classes)
        judging = self.judging._replace(min_leaf=0.0)
        for i, leaf in enumerate(columns.leaves):
            sums = self.stats[leaf.rows].sum(axis=0)
            describe(sums, np.ascontiguousarray(away[i]), judging, leaves, i, room)
        for i in np.flatnonzero(np.isinf(leaves.fixed)).tolist():
            self._without_rows(leaves, i, columns.leaves[i], away[i])
        partner = np.zeros(n, dtype=np.int64)
        multipliers = np.zeros(away.shape[1] - 1)
        moved = assign(leaves.reach, n, partner, multipliers)
        loss, area = tree_value(leaves, n)
        value = self.constant + loss - self.ranking * area + self.price * moved
        return Terms(leaves, float(value), partner, multipliers)

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
