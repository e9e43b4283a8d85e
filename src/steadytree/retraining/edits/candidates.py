"""Candidate edits of one node: move or swap its condition, rebuild, grow or prune below it.

Each candidate is a new node to put in place of the old one, with the loss it saves. What
does not depend on the price is computed once per node and kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from steadytree.growing.best_first import grow_best_first
from steadytree.growing.binning import FloatArray, Split
from steadytree.growing.nodes import NodeFactory, SearchNode, side_condition

__all__ = ["Candidate", "EditLimits", "candidates_of"]

GROW_SIZES = (2, 3)
SMALL_TREE = 8
MOVE_SHARES = (0.0, 0.25, 1.0)
"""Shares of the price of its way that the moves of a cut are chosen at."""


@dataclass(frozen=True)
class EditLimits:
    """What the edits of one tree must respect."""

    min_leaf: int  # real rows in every new leaf
    max_depth: int
    max_leaves: int
    root_sizes: tuple[int, ...] = ()  # further sizes to try when the whole tree is rebuilt


@dataclass(frozen=True, slots=True)
class Candidate:
    """One edit: what it saves, what it is, and the node to put in place."""

    gain: float
    kind: str
    text: str
    node: SearchNode


@dataclass(frozen=True, slots=True)
class _Routing:
    """Loss of sending the rows of each bin left rather than right, current subtrees kept."""

    count: FloatArray  # (n_features, n_bins + 1)
    cost: FloatArray


def candidates_of(
    make: NodeFactory,
    node: SearchNode,
    depth: int,
    limits: EditLimits,
    *,
    price_per_move: float,
    least: float,
) -> list[Candidate]:
    """All edits of a node that save more than ``least`` loss.

    ``price_per_move`` is the loss that moving a threshold across its whole range must save,
    per leaf below: it only guides which threshold to propose.
    """
    found: list[Candidate] = []
    if node.is_leaf:
        if not node.locked:
            found += _kept(node, "grow", lambda: _grown(make, node, depth, limits, GROW_SIZES))
    else:
        if not node.holds_lock:
            found += _kept(node, "fresh", lambda: _fresh(make, node, depth, limits))
        if not node.locked and node.n_real >= 2 * limits.min_leaf:
            found += _kept(node, "swap", lambda: list(_swaps(make, node, limits)))
            found += _moves(make, node, limits, price_per_move)
    return [c for c in found if c.gain > least and not c.node.starved]


def _kept(node: SearchNode, key: str, compute: Callable[[], list[Candidate]]) -> list[Candidate]:
    if key not in node.cache:
        node.cache[key] = compute()
    return node.cache[key]  # type: ignore[no-any-return]


def _edit(old: SearchNode, new: SearchNode, kind: str, text: str) -> Candidate:
    return Candidate(old.loss - new.loss, kind, text, new)


# -- rebuild, grow, prune -----------------------------------------------------------------


def _grown(
    make: NodeFactory,
    node: SearchNode,
    depth: int,
    limits: EditLimits,
    sizes: tuple[int, ...],
) -> list[Candidate]:
    if node.n_real < 2 * limits.min_leaf or depth >= limits.max_depth:
        return []
    grown = grow_best_first(
        make.table,
        make.taught.weight,
        make.targets,
        node.rows,
        max_leaves=max(sizes),
        min_leaf=limits.min_leaf,
        max_depth=limits.max_depth - depth,
        counted=make.is_real,
    )
    space = make.table.space
    # A leaf that grows passes its label on; a rebuilt subtree starts without labels.
    inherited = node.inherited_label if node.is_leaf else -1
    kind = "grow" if node.is_leaf else "rebuild"
    out = []
    for size in sorted({min(size, grown.n_leaves) for size in sizes} - {1}):
        new = make.from_growth(grown, size, inherited)
        first = side_condition(new.parts[0], space)
        if node.is_leaf:
            text = f"split a leaf in {size} on {first}"
        else:
            was = side_condition(node.parts[0], space)
            text = f"rebuild the part below {was} with {size} leaves, starting at {first}"
            if size == node.n_leaves == 2 and new.parts[0].feature == node.parts[0].feature:
                if str(was) == str(first):
                    continue  # the very same rule
                text = f"move {was} to {first}"  # the same thing, said more simply
        out.append(_edit(node, new, kind, text))
    return out


def _fresh(make: NodeFactory, node: SearchNode, depth: int, limits: EditLimits) -> list[Candidate]:
    k = node.n_leaves
    sizes = {2, 3, k - 1, k, k + 1, k + 2} if k <= SMALL_TREE else {k // 2, k, k + 2}
    if depth == 0:
        sizes |= set(limits.root_sizes)
    out = _grown(make, node, depth, limits, tuple(sorted(s for s in sizes if s > 1)))
    pruned = make.leaf(node.rows, prior=node.prior)
    text = f"remove the split on {side_condition(node.parts[0], make.table.space)}"
    return [*out, _edit(node, pruned, "prune", text)]


# -- move, swap ---------------------------------------------------------------------------


def _routing(make: NodeFactory, node: SearchNode) -> _Routing:
    kept = node.cache.get("routing")
    if kept is None:
        _, left, right = node.parts
        rows, targets = node.rows, make.targets
        here = targets[rows]
        difference = np.zeros(len(targets))
        difference[rows] = make.taught.weight[rows] * (
            ((here - make.predict(left, rows)) ** 2).sum(axis=1)
            - ((here - make.predict(right, rows)) ** 2).sum(axis=1)
        )
        count, cost = make.table.histogram(rows, [make.is_real, difference])
        kept = node.cache["routing"] = _Routing(count, cost)
    return kept


def _resplit(
    make: NodeFactory, node: SearchNode, split: Split, *, flipped: bool = False
) -> SearchNode:
    _, left, right = node.parts
    if flipped:
        left, right = right, left
    below, above = make.divide(node.rows, split)
    return make.join(
        node.rows, split, make.reroute(left, below), make.reroute(right, above), prior=node.prior
    )


def _threshold_costs(
    make: NodeFactory, routing: _Routing, j: int, min_leaf: int, *, missing_left: bool
) -> tuple[FloatArray, FloatArray]:
    """Loss of cutting feature j at each of its cut points; inf where a side is too small."""
    edges = make.table.edges[j]
    count = np.cumsum(routing.count[j, : edges.size])
    cost = np.cumsum(routing.cost[j, : edges.size])
    if missing_left:
        count, cost = count + routing.count[j, -1], cost + routing.cost[j, -1]
    total = routing.count[j].sum()
    allowed = (count >= min_leaf) & (total - count >= min_leaf)
    return np.where(allowed, cost, np.inf), edges


def _moves(
    make: NodeFactory, node: SearchNode, limits: EditLimits, price: float
) -> Iterator[Candidate]:
    split, _, _ = node.parts
    j = split.feature
    routing = _routing(make, node)
    space = make.table.space
    proposals: list[Split] = []
    if split.left is not None and make.table.ranked[j]:
        proposals += _order_moves(make, node, routing, limits.min_leaf, price)
    elif split.left is not None:
        proposals += _set_moves(routing, split, int(make.table.n_categories[j]))
    elif np.isfinite(split.threshold):
        cost, edges = _threshold_costs(
            make, routing, j, limits.min_leaf, missing_left=split.missing_left
        )
        if np.isfinite(cost).any():
            way = space.share_between(j, edges, split.threshold) * node.n_leaves
            for share in MOVE_SHARES:
                at = int((cost + share * price * way).argmin())
                proposals.append(Split(j, float(edges[at]), None, split.missing_left))
    if routing.count[j, -1] > 0:
        proposals.append(Split(j, split.threshold, split.left, not split.missing_left))
    done: dict[Split, Candidate] = node.cache.setdefault("moves", {})
    was = side_condition(split, space)
    for new in dict.fromkeys(proposals):
        if new == split:
            continue
        if new not in done:
            text = f"move {was} to {side_condition(new, space)}"
            done[new] = _edit(node, _resplit(make, node, new), "move", text)
        yield done[new]


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
            out.append(Split(j, float("nan"), left, split.missing_left))
    return out


def _order_moves(
    make: NodeFactory, node: SearchNode, routing: _Routing, min_leaf: int, price: float
) -> list[Split]:
    """Move the cut of ordered categories, the lower ones staying on the side they are on."""
    split, _, _ = node.parts
    j = split.feature
    n = int(make.table.n_categories[j])
    inside = np.zeros(n, dtype=bool)
    inside[list(split.left or ())] = True
    lower = np.tri(n - 1, n, dtype=bool)  # the first category, the first two, ...
    if inside[0] == inside[-1]:  # no cut along the order yet: either way round
        sets = np.concatenate([lower, ~lower])
    else:
        sets = lower if inside[0] else ~lower
    cost, count = sets @ routing.cost[j, :n], sets @ routing.count[j, :n]
    if split.missing_left:
        cost, count = cost + routing.cost[j, -1], count + routing.count[j, -1]
    total = routing.count[j].sum()
    cost[(count < min_leaf) | (total - count < min_leaf)] = np.inf
    if not np.isfinite(cost).any():
        return []
    way = (sets ^ inside).sum(axis=1) / make.table.space.n_categories(j) * node.n_leaves
    best = (int((cost + share * price * way).argmin()) for share in MOVE_SHARES)
    chosen = (tuple(np.flatnonzero(sets[at]).tolist()) for at in best)
    return [Split(j, float("nan"), left, split.missing_left) for left in chosen]


def _swaps(make: NodeFactory, node: SearchNode, limits: EditLimits) -> Iterator[Candidate]:
    """Best conditions on another feature that keep both subtrees, either way round."""
    split, _, _ = node.parts
    routing = _routing(make, node)
    table, space = make.table, make.table.space
    found: list[tuple[float, Split, bool]] = []
    for j in range(table.n_features):
        if j == split.feature:
            continue
        for flipped in (False, True):
            sign = -1.0 if flipped else 1.0
            signed = _Routing(routing.count, sign * routing.cost)
            best = _best_routing(make, signed, j, limits.min_leaf)
            if best is not None:
                # Everything to one side is the common zero of both ways round.
                offset = float(routing.cost[j].sum()) if flipped else 0.0
                found.append((best[0] + offset, best[1], flipped))
    found.sort(key=lambda item: item[0])
    was = side_condition(split, space)
    for _, new, flipped in found[:2]:
        text = f"replace {was} by {side_condition(new, space, left=not flipped)}"
        yield _edit(node, _resplit(make, node, new, flipped=flipped), "swap", text)


def _best_routing(
    make: NodeFactory, routing: _Routing, j: int, min_leaf: int
) -> tuple[float, Split] | None:
    table = make.table
    gone_count, gone_cost = routing.count[j, -1], routing.cost[j, -1]
    if table.ranked[j]:
        missing_left = bool(gone_cost < 0) if gone_count > 0 else False
        cost, _ = _threshold_costs(make, routing, j, min_leaf, missing_left=missing_left)
        if not np.isfinite(cost).any():
            return None
        at = int(cost.argmin())
        if gone_count == 0:
            below = routing.count[j, : at + 1].sum()
            missing_left = bool(below * 2 >= routing.count[j].sum())
        return float(cost[at]), table.threshold_split(j, at, missing_left)
    n = int(table.n_categories[j])
    inside = routing.cost[j, :n] < 0
    missing_left = bool(gone_cost < 0)
    count = routing.count[j, :n][inside].sum() + (gone_count if missing_left else 0)
    if count < min_leaf or routing.count[j].sum() - count < min_leaf:
        return None
    cost_sum = float(routing.cost[j, :n][inside].sum() + (gone_cost if missing_left else 0.0))
    left = tuple(np.flatnonzero(inside).tolist())
    return cost_sum, Split(j, float("nan"), left, missing_left)
