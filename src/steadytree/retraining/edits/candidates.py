"""Candidate edits of one node: move or swap its condition, rebuild, grow or prune below it.

Each candidate is a new node to put in place of the old one, with the loss it saves. What
does not depend on the price is computed once per node and kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from steadytree.growing._loops import best_routes
from steadytree.growing.best_first import BinnedTable, FloatArray, Grown, GrowthRules, Split
from steadytree.growing.nodes import SearchNode, Way, side_condition
from steadytree.tree.space import FeatureSpace

GROW_SIZES = (2, 3)
SMALL_TREE = 8
MOVE_SHARES = (0.0, 0.25, 1.0)
"""Shares of the price of its way that the moves of a cut are chosen at."""


SAME_ROWS = ("growth", "pruned")
"""What is kept of a node and stays true while its rows are the same, whatever is below it."""


@dataclass(frozen=True)
class EditLimits:
    """What the edits of one tree must respect."""

    min_leaf: int  # real rows in every new leaf
    max_depth: int
    max_leaves: int
    root_sizes: tuple[int, ...] = ()  # further sizes to try when the whole tree is rebuilt


class Exchange(NamedTuple):
    """Another condition in one's place, both in words: "move age <= 50 to age <= 52"."""

    text: str
    was: str
    now: str

    def __str__(self) -> str:
        return self.text.format(self.was, self.now)


Words = str | Exchange
MOVED, REPLACED = "move {} to {}", "replace {} by {}"


@dataclass(frozen=True, slots=True)
class Candidate:
    """One edit: what it saves, and the node to put in place.

    ``exchange`` says how where the condition alone was exchanged, ``mirrored`` that its sides
    were as well.
    """

    gain: float
    node: SearchNode
    exchange: str = ""
    mirrored: bool = False


@dataclass(frozen=True, slots=True)
class _Routing:
    """Loss of sending the rows of each bin left rather than right, current subtrees kept."""

    count: FloatArray  # (n_features, n_bins + 1)
    cost: FloatArray


def candidates_of(
    node: SearchNode, depth: int, limits: EditLimits, *, price_per_move: float, least: float
) -> list[Candidate]:
    """All edits of a node that save more than ``least`` loss.

    ``price_per_move`` is the loss that moving a threshold across its whole range must save,
    per leaf below: it only guides which threshold to propose.
    """
    found: list[Candidate] = []
    if node.is_leaf:
        if not node.locked:
            found += _kept(node, "grow", lambda: _grown(node, depth, limits, GROW_SIZES))
    else:
        if not node.holds_lock:
            found += _kept(node, "fresh", lambda: _fresh(node, depth, limits))
        if not node.locked and node.n_real >= 2 * limits.min_leaf:
            found += _kept(node, "swap", lambda: list(_swaps(node, limits)))
            found += _moves(node, limits, price_per_move)
    return [c for c in found if c.gain > least and not c.node.starved]


def forget(node: SearchNode, *, below: bool = False) -> None:
    """Drop the edits that were found for a node that is no longer in the tree."""
    for key in ("grow", "fresh", "swap", "moves", "routing", "flat", *SAME_ROWS):
        node.cache.pop(key, None)
    if below and not node.is_leaf:
        for side in node.parts[1:]:
            forget(side, below=True)


def _kept(node: SearchNode, key: str, compute: Callable[[], list[Candidate]]) -> list[Candidate]:
    if key not in node.cache:
        node.cache[key] = compute()
    return node.cache[key]  # type: ignore[no-any-return]


def edit_words(old: SearchNode, edit: Candidate, way: Way) -> Words:
    """Say what an edit of a node does, below the conditions on the way to it."""
    new, space = edit.node, old.make.table.space
    was = "" if old.is_leaf else str(side_condition(old.parts[0], space, way=way))
    if new.is_leaf:
        return f"remove the split on {was}"
    now = str(side_condition(new.parts[0], space, left=not edit.mirrored, way=way))
    if old.is_leaf:
        return f"split a leaf in {new.n_leaves} on {now}"
    if edit.exchange:
        return Exchange(edit.exchange, was, now)
    if new.n_leaves == old.n_leaves == 2 and new.parts[0].feature == old.parts[0].feature:
        return Exchange(MOVED, was, now)  # the same thing, said more simply
    start = "" if now == was else f", starting at {now}"
    return f"rebuild the part below {was} with {new.n_leaves} leaves{start}"


# -- rebuild, grow, prune -----------------------------------------------------------------


def _grown(
    node: SearchNode, depth: int, limits: EditLimits, sizes: tuple[int, ...]
) -> list[Candidate]:
    make = node.make
    if node.n_real < 2 * limits.min_leaf or depth >= limits.max_depth:
        return []
    grown: Grown | None = node.cache.get("growth")
    if grown is None:
        rules = GrowthRules(make.table, make.layers, limits.min_leaf, limits.max_depth - depth)
        grown = node.cache["growth"] = Grown(rules, node.rows)
    grown.extend(max(sizes))
    # A leaf that grows passes its label on; a rebuilt subtree starts without labels.
    inherited = node.inherited_label if node.is_leaf else -1
    out = []
    for size in sorted({min(size, grown.n_leaves) for size in sizes} - {1}):
        new = make.from_growth(grown, size, inherited)
        if not node.is_leaf and size == node.n_leaves == 2:
            was, first = (side_condition(at.parts[0], make.table.space) for at in (node, new))
            if str(was) == str(first):
                continue  # the very same rule
        out.append(Candidate(node.loss - new.loss, new))
    return out


def _fresh(node: SearchNode, depth: int, limits: EditLimits) -> list[Candidate]:
    k = node.n_leaves
    sizes = {2, 3, k - 1, k, k + 1, k + 2} if k <= SMALL_TREE else {k // 2, k, k + 2}
    if depth == 0:
        sizes |= set(limits.root_sizes)
    out = _grown(node, depth, limits, tuple(sorted(s for s in sizes if s > 1)))
    pruned: SearchNode | None = node.cache.get("pruned")
    if pruned is None:
        pruned = node.cache["pruned"] = node.make.leaf(node.rows, prior=node.prior)
    return [*out, Candidate(node.loss - pruned.loss, pruned)]


# -- move, swap ---------------------------------------------------------------------------


def _routing(node: SearchNode) -> _Routing:
    kept: _Routing | None = node.cache.get("routing")
    if kept is None:
        make, (_, left, right) = node.make, node.parts
        rows, targets = node.rows, make.targets
        here = targets[rows]
        layers = np.empty((len(targets), 2))
        layers[rows, 0] = make.is_real[rows]
        layers[rows, 1] = make.taught.weight[rows] * (
            ((here - make.predict(left, rows)) ** 2).sum(axis=1)
            - ((here - make.predict(right, rows)) ** 2).sum(axis=1)
        )
        kept = node.cache["routing"] = _Routing(*make.table.histogram(rows, layers))
    return kept


def _cheapest(
    routing: _Routing,
    split: Split,
    left: tuple[FloatArray, FloatArray],
    way: FloatArray,
    limits: EditLimits,
    price: float,
) -> list[int]:
    """Positions of the best cuts, of which ``left`` has rows and loss of the present values left.

    ``way`` is how far each lies; at each share of the price there is one, if any leaves enough
    rows on both sides.
    """
    count, cost = left
    if split.missing_left:
        count = count + routing.count[split.feature, -1]
        cost = cost + routing.cost[split.feature, -1]
    total, least = routing.count[split.feature].sum(), limits.min_leaf
    cost = np.where((count >= least) & (total - count >= least), cost, np.inf)
    if not np.isfinite(cost).any():
        return []
    return [int((cost + share * price * way).argmin()) for share in MOVE_SHARES]


def _moves(node: SearchNode, limits: EditLimits, price: float) -> Iterator[Candidate]:
    make, split = node.make, node.parts[0]
    j, routing = split.feature, _routing(node)
    proposals: list[Split] = []
    if split.left is not None and make.table.ranked[j]:
        proposals += _order_moves(node, routing, limits, price)
    elif split.left is not None:
        proposals += _set_moves(routing, split, int(make.table.n_categories[j]))
    elif np.isfinite(split.threshold):
        edges = make.table.edges[j]
        parts = routing.count[j, : edges.size], routing.cost[j, : edges.size]
        left = np.cumsum(parts[0]), np.cumsum(parts[1])
        way = _shares_moved(make.table.space, j, edges, split.threshold) * node.n_leaves
        for at in _cheapest(routing, split, left, way, limits, price):
            proposals.append(Split(j, float(edges[at]), None, split.missing_left))
    if routing.count[j, -1] > 0:
        flipped = not split.missing_left
        proposals.append(Split(j, split.threshold, split.left, flipped, split.unseen_left))
    done: dict[Split, Candidate] = node.cache.setdefault("moves", {})
    for new in dict.fromkeys(proposals):
        if new == split:
            continue
        if new not in done:
            moved = make.reroute(node, node.rows, split=new)
            done[new] = Candidate(node.loss - moved.loss, moved, MOVED)
        yield done[new]


def _shares_moved(space: FeatureSpace, j: int, edges: FloatArray, threshold: float) -> FloatArray:
    """Share of a feature's range between each of its edges and a threshold."""
    # Halved: the range itself may be beyond the largest number.
    span = float(space.upper[j] / 2 - space.lower[j] / 2)
    return np.asarray(np.abs(edges / 2 - threshold / 2) / (span if span > 0 else 0.5))


def _set_moves(routing: _Routing, split: Split, n_categories: int) -> list[Split]:
    """Move the one category that saves most, or every category to its better side."""
    j = split.feature
    cost, count = routing.cost[j, :n_categories], routing.count[j, :n_categories]
    inside = np.zeros(n_categories, dtype=bool)
    inside[list(split.left or ())] = True
    saved = np.where(inside, cost, -cost)  # by moving the category across
    saved[count == 0] = -np.inf
    out = []
    best = int(saved.argmax())
    for flip in (np.arange(n_categories) == best, saved > 0):
        new = inside ^ flip
        left = tuple(np.flatnonzero(new).tolist())
        # Both sides must still receive something.
        if flip.any() and count[new].sum() > 0 and count[~new].sum() > 0:
            out.append(Split(j, float("nan"), left, split.missing_left, split.unseen_left))
    return out


def _order_moves(
    node: SearchNode, routing: _Routing, limits: EditLimits, price: float
) -> list[Split]:
    """Move the cut of ordered categories, the lower ones staying on the side they are on."""
    table, split = node.make.table, node.parts[0]
    j = split.feature
    n = int(table.n_categories[j])
    inside = np.zeros(n, dtype=bool)
    inside[list(split.left or ())] = True
    lower = np.tri(n - 1, n, dtype=bool)  # the first category, the first two, ...
    if inside[0] == inside[-1]:  # no cut along the order yet: either way round
        sets = np.concatenate([lower, ~lower])
    else:
        sets = lower if inside[0] else ~lower
    left = sets @ routing.count[j, :n], sets @ routing.cost[j, :n]
    way = (sets ^ inside).sum(axis=1) / table.space.n_categories(j) * node.n_leaves
    best = _cheapest(routing, split, left, way, limits, price)
    chosen = (tuple(np.flatnonzero(sets[at]).tolist()) for at in best)
    return [Split(j, float("nan"), some, split.missing_left, split.unseen_left) for some in chosen]


def _swaps(node: SearchNode, limits: EditLimits) -> Iterator[Candidate]:
    """Best conditions on another feature that keep both subtrees, either way round."""
    make, split, routing = node.make, node.parts[0], _routing(node)
    # Everything to one side is the common zero of both ways round.
    offset = routing.cost.sum(axis=1)
    found: list[tuple[float, int, bool, Split]] = []
    for flipped in (False, True):
        signed = _Routing(routing.count, -routing.cost if flipped else routing.cost)
        for cost, new in _best_conditions(make.table, signed, limits.min_leaf):
            if new.feature != split.feature:
                total = cost + (float(offset[new.feature]) if flipped else 0.0)
                found.append((total, new.feature, flipped, new))
    found.sort(key=lambda item: item[:3])
    for _, _, flipped, new in found[:2]:
        exchanged = make.reroute(node, node.rows, split=new, flipped=flipped)
        yield Candidate(node.loss - exchanged.loss, exchanged, REPLACED, flipped)


def _best_conditions(
    table: BinnedTable, routing: _Routing, min_leaf: int
) -> Iterator[tuple[float, Split]]:
    """Loss of routing by the best condition on a feature, and the condition.

    Of the features that are cut along an order, only the three best: one may be the node's own.
    """
    for j in np.flatnonzero(~table.ranked).tolist():
        best = _best_set_routing(routing, j, int(table.n_categories[j]), min_leaf)
        if best is not None:
            yield best
    ranked = np.flatnonzero(table.ranked)
    if not ranked.size:
        return
    least, at, side = best_routes(
        routing.count, routing.cost, ranked, table.n_edges, float(min_leaf)
    )
    for i in np.argsort(least, kind="stable")[:3].tolist():
        if not np.isfinite(least[i]):
            break
        split = table.threshold_split(int(ranked[i]), int(at[i]), missing_left=bool(side[i]))
        yield float(least[i]), split


def _best_set_routing(
    routing: _Routing, j: int, n: int, min_leaf: int
) -> tuple[float, Split] | None:
    inside = routing.cost[j, :n] < 0
    missing_left = bool(routing.cost[j, -1] < 0)
    count, cost = (
        part[j, :n][inside].sum() + (part[j, -1] if missing_left else 0.0)
        for part in (routing.count, routing.cost)
    )
    if count < min_leaf or routing.count[j].sum() - count < min_leaf:
        return None
    left = tuple(np.flatnonzero(inside).tolist())
    return float(cost), Split(j, float("nan"), left, missing_left)
