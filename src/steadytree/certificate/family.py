r"""Every tree of a small family, judged in numbers that its leaves add up to.

The objective of a search is no sum over leaves, for two reasons: a ranking compares leaves with
each other, and an old rule has one partner only. Below two levels of conditions that hardly
matters. On C cut points there are about C² leaves but C³ trees: the leaves are judged all at once,
and pairs of them tell what a tree ranks. What is left is the partner: with a multiplier
:math:`u_q \ge 0` for each old rule q,

.. math:: d'(A, T) \ge \sum_q (w'_q - u_q)
   + \sum_{p} \min\bigl(w'_p,\ \min_q\, d(p, q) - w'_q + u_q\bigr),

so that every tree has a bound, and only trees whose bound is below the best tree known are
matched exactly, those with the lowest bounds first.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment, linprog

from steadytree.evaluation.scores import quantile
from steadytree.growing._loops import loops
from steadytree.growing.best_first import BinnedTable, FloatArray, IndexArray, Split
from steadytree.growing.leaf_values import INTERVAL
from steadytree.growing.nodes import NodeFactory, SearchNode, nodes_of
from steadytree.retraining.edits.search import PricedEdits
from steadytree.tree.columns import bit_set
from steadytree.tree.walk import Box, Side

TOLERANCE = 1e-9
"""A tree that is better by less is not better but rounded."""
CLOSE = 1e-9
"""Labels this close to the boundary are permitted either way: rounding must not decide."""
ROUNDS, MATCHED_AT_ONCE, MOST_MATCHED = 8, 500, 20_000
"""Multipliers tried in each part of the found tree; trees that are few enough to be matched without
further ones; and those matched at most."""
ROWS_AT_ONCE = 50_000

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


# -- what leaves are worth --------------------------------------------------------------------


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


class Leaves(NamedTuple):
    """Some leaves as the objective sees them.

    ``loss`` is infinite where there are too few rows; ``events`` and ``others`` are the shares of
    all expected events and non-events. ``reach`` is the distance to each old rule less that rule's
    own price, and last the price of having no partner.
    """

    loss: FloatArray
    events: FloatArray
    others: FloatArray
    reach: FloatArray

    def take(self, at: IndexArray | NDArray[np.bool_]) -> Leaves:
        """Take some of the leaves."""
        return Leaves(*(values[at] for values in self))

    def __add__(self, more: Leaves) -> Leaves:  # type: ignore[override]
        return Leaves(*(np.concatenate(both) for both in zip(self, more, strict=True)))


class LeafObjective:
    r"""The objective of any tree at one price, from its leaves.

    .. math:: J(T) = missed(T) + \mu\,\frac{d'(A, T)}{m(A)} + c\,[T \ne A],

    with the leaves estimated afresh and each carrying the best of the labels that the label rule
    permits. The edit cost c counts once, because any tree can be had by one edit, a rebuilt root;
    a tree of several edits is thus compared as kindly as all others.
    """

    def __init__(self, search: PricedEdits, price: float) -> None:
        self.search, self.price = search, price
        criterion, anchor = search.criterion, search.anchor
        self.n_classes = search.n_classes or 0
        self.k = search.make.k
        self.min_leaf = max(search.limits.min_leaf, 1)
        self.stats = row_sums(search)
        total = self.stats.sum(axis=0)
        self.unit = anchor.measure.quantum / anchor.mass
        self.label_cost = anchor.measure.label_weight * self.unit
        half = anchor.measure.label_weight // 2
        self.rule_price = (anchor.rules.sum(axis=1) + half) * self.unit
        self.nothing = np.append(anchor.rules.sum(axis=1), half) * self.unit
        """Distance of the rule without conditions to each old rule, and to nothing."""
        self.rule_outcome = anchor.rule_outcomes[:, 0] * (1 if self.n_classes else self.unit)
        mine = anchor.columns(search.start, {}).leaves
        self.own_outcome = np.array([float(search.outcome(leaf)) for leaf in mine])
        self.ranking = 0.0
        # Every old rule pays for itself until a leaf becomes its partner.
        self.constant = search.edit_cost + price * float(self.rule_price.sum())
        if not self.n_classes:
            self.loss_unit = 1 / criterion.spread
            return
        share = criterion.auc_share
        self.loss_unit = (1 - share) / criterion.deviance_room
        self.constant -= self.loss_unit * criterion.best_deviance
        self.inherited = np.zeros(self.n_classes, dtype=bool)
        self.inherited[[leaf.inherited_label for leaf in mine]] = True
        if share:
            self.constant += share * (criterion.best_auc - 0.5) / criterion.auc_room
            self.positives = float(total[4])
            self.negatives = float(total[3] - total[4])
            if min(self.positives, self.negatives) > 0:
                self.ranking = share / (2 * criterion.auc_room)

    def leaves(self, sums: FloatArray, away: FloatArray, min_leaf: float) -> Leaves:
        """Judge leaves from the sums over their rows and their distances from the old rules."""
        n, k = len(sums), self.k
        enough = (sums[:, 0] >= min_leaf - 0.5) & (sums[:, 2 + k] > 0)
        every = Leaves(np.full(n, np.inf), np.zeros(n), np.zeros(n), away)
        if not enough.any():
            return every
        sums, away = sums[enough], away[enough].copy()
        # A leaf of the deployed tree may stay as it is.
        stays = away[:, :-1] <= CLOSE
        value, real, part = self._values(sums), sums[:, 2 + k], sums[:, 3 + k : 3 + 2 * k]
        if not self.n_classes:
            weight, squares, total = sums[:, 5:8].T
            loss = np.maximum(0.0, squares - total**2 / weight)
            scaled = np.array([self.search._scaled(one) for one in value]) * self.label_cost
            cost = np.abs(scaled[:, None] - self.rule_outcome)
            for q, own in enumerate(self.own_outcome * self.label_cost):
                kept = np.abs(own - self.rule_outcome)
                cost = np.where(stays[:, q, None], np.minimum(cost, kept), cost)
        else:
            if self.ranking:
                every.events[enough] = part[:, 0] / self.positives
                every.others[enough] = (real - part[:, 0]) / self.negatives
            if self.n_classes == 2:
                part = np.column_stack([real - part[:, 0], part[:, 0]])
                value = np.clip(np.hstack([1.0 - value, value]), 0.0, 1.0)
            part, value = np.maximum(part, 1e-12), np.maximum(value, 0.0)
            loss = -(part * np.log(part / part.sum(axis=1, keepdims=True))).sum(axis=1)
            shares = value / np.maximum(value.sum(axis=1, keepdims=True), 1e-300)
            allowed = self._permitted(shares, real / self.search.make.steadying.unit)
            for q, own in enumerate(self.own_outcome.astype(int)):
                allowed[stays[:, q], own] = True
            cost = np.where(allowed[:, self.rule_outcome], 0.0, self.label_cost)
        away[:, :-1] += cost - self.rule_price
        every.loss[enough], every.reach[enough] = self.loss_unit * loss, away
        return every

    def _values(self, sums: FloatArray) -> FloatArray:
        """Return what leaves predict, in the teacher's columns (``Steadying.predict``)."""
        by, k = self.search.make.steadying, self.k
        weight, outcomes = sums[:, 1:2], sums[:, 2 : 2 + k]
        teacher = sums[:, 3 + k : 3 + 2 * k] / sums[:, 2 + k : 3 + k]
        with np.errstate(invalid="ignore", divide="ignore"):
            rows, rate = weight / by.unit, outcomes / weight
            if self.n_classes:
                share, square = np.clip(rate, 0.0, 1.0), quantile(INTERVAL) ** 2 / rows
                half = np.sqrt(np.maximum(square * (share * (1 - share) + square / 4), 0.0))
                low, high = ((share + square / 2 + s * half) / (1 + square) for s in (-1, 1))
                low = np.where(share <= 0, 0.0, np.maximum(low, 0.0))
                high = np.where(share >= 1, 1.0, np.minimum(high, 1.0))
            else:
                half = 1.96 * np.sqrt(by.spread / rows)
                low, high = rate - half, rate + half
            room = np.maximum(np.where(teacher > rate, high - rate, rate - low), 0.0)
            way = np.abs(teacher - rate)
            moves = room**2 / way
            most = np.where(way <= room, np.inf, weight * moves / (way - moves))
            strength = np.minimum(by.strength * by.unit, most.min(axis=1))[:, None]
            steadied = (outcomes + strength * teacher) / (weight + strength)
        return np.where(weight > 0, steadied, teacher)

    def _permitted(self, shares: FloatArray, rows: FloatArray) -> NDArray[np.bool_]:
        """Labels that the rule permits: by the shares, or kept for want of evidence."""
        decision = self.search.decision
        if decision.threshold is not None:
            at = decision.threshold
            short = np.empty_like(shares)
            short[:, decision.position] = at - shares[:, decision.position]
            short[:, 1 - decision.position] = -short[:, decision.position]
            error = np.sqrt(at * (1 - at) / rows)[:, None]
        else:
            weight = np.array(decision.class_weight or [1.0] * self.n_classes)
            mine, best = weight * shares, (weight * shares).max(axis=1, keepdims=True)
            variance = weight[mine.argmax(axis=1)][:, None] * best + weight * mine
            short, error = best - mine, np.sqrt(variance / rows[:, None])
        kept = self.inherited & (short <= decision.steady * error + CLOSE)
        return np.asarray((short <= CLOSE) | kept)

    def of_tree(self, root: SearchNode) -> Leaves:
        """Judge the leaves of a tree; those without enough rows like the others."""
        columns = self.search.anchor.columns(root, {})
        half = self.search.anchor.measure.label_weight // 2
        away = np.vstack([columns.cost, columns.feature_cost + half]).T * self.unit
        sums = np.array([self.stats[leaf.rows].sum(axis=0) for leaf in columns.leaves])
        leaves = self.leaves(sums, away, 0.0)
        # A leaf that no real row reaches is judged by what it says itself.
        for i in np.flatnonzero(np.isinf(leaves.loss)).tolist():
            leaf, outcome = columns.leaves[i], float(self.search.outcome(columns.leaves[i]))
            leaves.loss[i] = 0.0 if self.n_classes else leaf.loss * self.loss_unit
            cost = np.abs(self.rule_outcome - outcome * self.label_cost)
            if self.n_classes:
                cost = np.where(self.rule_outcome == outcome, 0.0, self.label_cost)
            leaves.reach[i, :-1] = away[i, :-1] + cost - self.rule_price
        return leaves

    def value(self, leaves: Leaves) -> float:
        """Objective of the tree that has these leaves and is not the deployed one."""
        moved = float(leaves.reach[:, -1].sum() + _saved(leaves)[matched(leaves)].sum())
        ranks = np.abs(_crossed(leaves, leaves)).sum() / 2
        return float(self.constant + leaves.loss.sum() - self.ranking * ranks + self.price * moved)

    def near(self, leaves: Leaves, multipliers: FloatArray) -> FloatArray:
        """Least part of the objective that each leaf has in the distance, at some multipliers."""
        saved = (_saved(leaves) + multipliers).min(axis=1)
        return np.asarray(self.price * (leaves.reach[:, -1] + np.minimum(saved, 0.0)))


def _saved(leaves: Leaves) -> FloatArray:
    """Return what partners save over having none: 0 at most, as none may always be had."""
    return np.asarray(np.minimum(leaves.reach[:, :-1] - leaves.reach[:, -1:], 0.0))


def _crossed(one: Leaves, two: Leaves) -> FloatArray:
    """Return what pairs of leaves rank: twice AUC less one is the sum over all pairs of a tree."""
    return np.asarray(np.outer(one.events, two.others) - np.outer(one.others, two.events))


def matched(leaves: Leaves) -> tuple[IndexArray, IndexArray]:
    """Leaves of a tree and the old rules that are their best partners."""
    rows, columns = linear_sum_assignment(_saved(leaves))
    return rows, columns


def best_multipliers(leaves: Leaves) -> FloatArray:
    """Multipliers at which each leaf of a tree wants no other rule than its best partner."""
    saved = _saved(leaves)
    n, m = saved.shape
    limits = np.vstack([np.kron(np.eye(n), np.ones(m)), np.kron(np.ones(n), np.eye(m))])
    found = linprog(saved.ravel(), A_ub=limits, b_ub=np.ones(n + m), method="highs")
    return np.asarray(np.maximum(-found.ineqlin.marginals[n:], 0.0))


# -- all trees in one place -------------------------------------------------------------------

Conditions = tuple[int, ...]
"""A tree: its first cut, and those of its sides (the first again: not divided); none: a leaf."""


@dataclass(frozen=True, eq=False)
class Place:
    """A part of the found tree that other trees may take the place of.

    ``rest`` are the leaves of the found tree outside it.
    """

    node: SearchNode
    box: Box
    rest: Leaves


class Family:
    """All trees of at most ``depth`` levels, one or two, on some cuts."""

    def __init__(self, objective: LeafObjective, cuts: list[Split], depth: int) -> None:
        self.objective, self.cuts, self.depth = objective, cuts, depth
        self._parts: dict[tuple[int, object], FloatArray] = {}

    def search(
        self, place: Place, multipliers: FloatArray, best: float
    ) -> tuple[float, float, Conditions | None]:
        """Find the best tree in one place.

        Returns a lower bound of all of them, the objective of the best one and its conditions; or
        ``best`` and None where none is below it.
        """
        objective, rest, found = self.objective, place.rest, None
        whole, leaves = self._leaves(place)
        value = objective.value(rest + whole)
        if value < best - TOLERANCE:
            best, found = value, ()
        fixed, bounds = self._without_distance(leaves, rest), np.full(1, -np.inf)
        shape, limit = fixed.shape, best - TOLERANCE
        for _ in range(ROUNDS):
            bounds = np.maximum(bounds, fixed + self._distances(leaves, rest, multipliers))
            if (bounds < limit).sum() <= MATCHED_AT_ONCE:
                break
            lowest = np.array(np.unravel_index(bounds.argmin(), shape))
            multipliers = best_multipliers(rest + leaves.take(self._leaves_of(lowest)))
        trees = np.argwhere(bounds < limit)
        bounds = bounds[tuple(trees.T)]
        for count, i in enumerate(np.argsort(bounds, kind="stable").tolist()):
            if bounds[i] >= best - TOLERANCE:
                break
            if count == MOST_MATCHED:
                return float(bounds[i]), best, found
            value = objective.value(rest + leaves.take(self._leaves_of(trees[i])))
            if value < best - TOLERANCE:
                best, found = value, tuple(trees[i].tolist())
        return best, best, found

    def _leaves_of(self, conditions: IndexArray) -> IndexArray:
        """Where the leaves of a tree lie: by first cut, side, second cut and its side."""
        n, (first, *seconds) = len(self.cuts), conditions.tolist()
        out = []
        for side, second in enumerate(seconds):
            at = ((first * 2 + side) * n + second) * 2
            out += [at + side] if second == first else [at, at + 1]
        return np.array(out)

    def _leaves(self, place: Place) -> tuple[Leaves, Leaves]:
        """Judge the place as a leaf, and every leaf of trees that divide it.

        These lie by first cut, side, second cut and its side; of a half both cuts are the same.
        """
        objective, rows = self.objective, place.node.rows
        rows = rows[(objective.stats[rows] != 0).any(axis=1)]
        coded, n = objective.search.make.table.coded, len(self.cuts)
        width = objective.stats.shape[1]
        half, both = np.zeros((n, width)), np.zeros((n, n, width))
        for at in range(0, len(rows), ROWS_AT_ONCE):
            some = rows[at : at + ROWS_AT_ONCE]
            left = np.column_stack([s.goes_left(coded[some, s.feature]) for s in self.cuts])
            left = left.astype(np.float64)
            stats = objective.stats[some]
            half += left.T @ stats
            for k in range(width):
                both[:, :, k] += (left * stats[:, k, None]).T @ left
        total = objective.stats[rows].sum(axis=0)
        one, two = half[:, None], half[None]
        sums = np.empty((n, 2, n, 2, width))
        sums[:, 0, :, 0], sums[:, 0, :, 1] = both, one - both
        sums[:, 1, :, 0], sums[:, 1, :, 1] = two - both, total - one - two + both
        whole, away = self._away(place.box)
        leaves = objective.leaves(
            sums.reshape(-1, width), away.reshape(-1, away.shape[-1]), objective.min_leaf
        )
        if self.depth == 1:
            divided = np.broadcast_to(~np.eye(n, dtype=bool)[:, None], (n, 2, n))
            leaves.loss.reshape(n, 2, n, 2)[divided] = np.inf
        return objective.leaves(total[None], whole[None], objective.min_leaf), leaves

    def _away(self, box: Box) -> tuple[FloatArray, FloatArray]:
        """Distances of a box, and of every leaf inside, to each old rule and to nothing."""
        n, anchor = len(self.cuts), self.objective.search.anchor
        whole = self.objective.nothing.copy()
        for j, demand in box.items():
            whole += self._part(j, demand)
        change = np.zeros((n, 2, whole.size))
        sides = [anchor.sides(cut, box) for cut in self.cuts]
        for c, cut in enumerate(self.cuts):
            before = self._part(cut.feature, box.get(cut.feature))
            for s, side in enumerate(sides[c]):
                if side is not None:  # else no row gets there
                    change[c, s] = self._part(cut.feature, side) - before
        away = whole + change[:, :, None, None] + change[None, None]
        for (c, one), (d, two) in product(enumerate(self.cuts), repeat=2):
            if one.feature != two.feature:
                continue
            before = self._part(one.feature, box.get(one.feature))
            for s, side in enumerate(sides[c]):
                if side is None:
                    continue
                for t, last in enumerate(anchor.sides(two, {**box, one.feature: side})):
                    if last is not None:
                        away[c, s, d, t] = whole + self._part(one.feature, last) - before
        return whole, away

    def _part(self, j: int, side: Side | None) -> FloatArray:
        """Return what a demand on one feature adds to the distances of the empty rule."""
        key = j, None if side is None else side.state
        if key not in self._parts:
            anchor = self.objective.search.anchor
            out = np.zeros(len(self.objective.nothing))
            if side is not None:
                x = anchor.amounts([{j: side}])[0]
                inside = np.flatnonzero(x)
                rules = anchor.rules[:, inside]
                out[:-1] = np.abs(rules - x[inside]).sum(axis=1) - rules.sum(axis=1)
                out[-1] = x.sum()
            self._parts[key] = out * self.objective.unit
        return self._parts[key]

    def _sides(self, values: FloatArray) -> FloatArray:
        """Values of leaves by first cut, side, second cut and its side; 0 where no leaf is."""
        every, n = np.arange(len(self.cuts)), len(self.cuts)
        out = values.reshape(n, 2, n, 2).copy()
        for s in (0, 1):  # a half that is not divided has one leaf
            out[every, s, every, 1 - s] = 0.0
        return out

    def _without_distance(self, leaves: Leaves, rest: Leaves) -> FloatArray:
        """Objective of every tree but for the distance: (first cut, second left, second right)."""
        ranking, value = self.objective.ranking, leaves.loss.copy()
        start = self.objective.constant + float(rest.loss.sum())
        start -= ranking * float(np.abs(_crossed(rest, rest)).sum() / 2)
        if ranking:
            value -= ranking * np.abs(_crossed(leaves, rest)).sum(axis=1)
        events, others = self._sides(leaves.events), self._sides(leaves.others)
        ranks = np.abs(events[..., 0] * others[..., 1] - events[..., 1] * others[..., 0])
        side = self._sides(value).sum(axis=3) - ranking * ranks
        out = start + side[:, 0, :, None] + side[:, 1, None]
        for s, t in product((0, 1), repeat=2) if ranking else ():
            one = events[:, 0, :, None, s] * others[:, 1, None, :, t]
            out -= ranking * np.abs(one - others[:, 0, :, None, s] * events[:, 1, None, :, t])
        return np.asarray(out)

    def _distances(self, leaves: Leaves, rest: Leaves, multipliers: FloatArray) -> FloatArray:
        """Lower bounds of the part that the distance has in the objective of every tree."""
        objective = self.objective
        side = self._sides(objective.near(leaves, multipliers)).sum(axis=3)
        start = objective.near(rest, multipliers).sum() - objective.price * multipliers.sum()
        return np.asarray(start + side[:, 0, :, None] + side[:, 1, None])
