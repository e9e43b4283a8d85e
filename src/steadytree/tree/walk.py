"""From trees to their paths: one walk, compiled by numba or run as it stands.

Distances ask of a tree how much each path tightens each coordinate of the space, and by which
changes of single coordinates the walk gets there. ``walk`` answers for many trees in one call.
It uses nothing but loops and entries of flat tables, so numba compiles it as it is, and Python
runs it on lists where numba is missing or not worth importing. Both do the same arithmetic in
the same order: the results are equal bit for bit.

The walk keeps one box, that of the node it is at. A step into a child changes a few coordinates
of one feature; the changes are written down as operations, and going back undoes them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from steadytree._optional import numba_if_wanted
from steadytree.tree.alignment import AlignedTree
from steadytree.tree.columns import codes_in
from steadytree.tree.space import FeatureSpace
from steadytree.tree.words import NumericState

# -- one condition at a time -------------------------------------------------------------
# One condition at a time: a box is split at a condition into its two sides. ``tree.walk`` does
# the same for whole trees.

FloatArray = NDArray[np.float64]
State = NumericState | int


class Side(NamedTuple):
    """What a path demands of one feature, and how much that tightens the space."""

    state: State
    tightening: dict[int, float]  # by coordinate, only those above 0
    weight: float  # the feature's part of eq. (weight-path)


# A box: the features that a path restricts.
Box = dict[int, Side]


class Boxes:
    """How a condition narrows a box of one space, and how much a box tightens the space.

    ``start`` has the first coordinate of each feature, and their number as one entry more.
    Numeric: upper side, lower side, and (if it can be missing) present, missing.
    Categorical: one per category, and one for missing.
    """

    def __init__(self, space: FeatureSpace) -> None:
        self.space = space
        # Of a range beyond the largest number, half of everything: multiplied by 1 or by 0.5.
        with np.errstate(over="ignore"):
            self.factor = np.where(np.isinf(space.upper - space.lower), 0.5, 1.0)
        self.lower, self.upper = space.lower * self.factor, space.upper * self.factor
        ranges = (self.lower, self.upper, self.upper - self.lower, self.factor)
        self.ranges = list(zip(*(column.tolist() for column in ranges), strict=True))
        self.can_miss: list[bool] = space.can_be_missing.tolist()
        # Categories of a feature, "missing" included; 0: numeric.
        self.count = [
            0 if categories is None else len(categories) + missing
            for categories, missing in zip(space.categories, self.can_miss, strict=True)
        ]
        sizes = [
            count or 2 + 2 * missing
            for count, missing in zip(self.count, self.can_miss, strict=True)
        ]
        self.start = [0, *accumulate(sizes)]

    def state(self, box: Box, j: int) -> State:
        """Return what a box demands of a feature; everything passes where it has no say."""
        if j in box:
            return box[j].state
        if self.count[j]:
            return (1 << self.count[j]) - 1
        return (-np.inf, np.inf, True, self.can_miss[j])

    def split(
        self, box: Box, j: int, threshold: float, mask: int | None, missing_left: bool
    ) -> tuple[Side | None, Side | None]:
        """Feature j of a box on the left and right of a split; None where nothing passes.

        ``mask`` is the bit set of the categories that go left (the bit after the last one is
        "missing"), None for a split at a threshold.
        """
        state = self.state(box, j)
        if isinstance(state, int):
            assert mask is not None
            return self._side(j, state & mask or None), self._side(j, state & ~mask or None)
        low, high, present, missing = state
        return (
            self._numeric(j, low, min(high, threshold), present, missing and missing_left),
            self._numeric(j, max(low, threshold), high, present, missing and not missing_left),
        )

    def _numeric(
        self, j: int, low: float, high: float, present: bool, missing: bool
    ) -> Side | None:
        """One side of a threshold; None where neither a number nor "missing" gets through."""
        present = present and low < high
        return self._side(j, (low, high, present, missing) if present or missing else None)

    def _side(self, j: int, state: State | None) -> Side | None:
        if state is None:
            return None
        first = self.start[j]
        if isinstance(state, int):
            count = self.count[j]
            out = {first + c: 2.0 / count for c in codes_in(~state, count)}
            return Side(state, out, (count - len(out)) / count if out else 0.0)
        low, high, present, missing = state
        lower, upper, span, factor = self.ranges[j]
        out = {}
        weight = 0.0
        if present and span > 0:
            top = max((upper - high * factor) / span, 0.0)
            bottom = max((low * factor - lower) / span, 0.0)
            if top > 0:
                out[first] = top = min(top, 1.0)
            if bottom > 0:
                out[first + 1] = bottom = min(bottom, 1.0)
            if out:
                weight = max(1.0 - top - bottom, 0.0)
        if self.can_miss[j] and not (present and missing):
            out[first + (3 if present else 2)] = 1.0
            weight += 0.5
        return Side(state, out, weight)

    def cuts(
        self, feature: NDArray[np.int64], threshold: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """How much each threshold tightens its feature: as an upper and as a lower bound.

        Entries without a threshold (NaN) mean nothing. The numbers are those of ``split``, bit
        for bit.
        """
        lower, upper = self.lower[feature], self.upper[feature]
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            span, threshold = upper - lower, threshold * self.factor[feature]
            above = np.where(span > 0, (upper - threshold) / span, 0.0)
            below = np.where(span > 0, (threshold - lower) / span, 0.0)
        above, below = (np.minimum(np.maximum(x, 0.0), 1.0) for x in (above, below))
        return above, below

    def box_of(self, aligned: AlignedTree, node: int) -> Box:
        """Return the box of one node that some value can reach."""
        tree = aligned.tree
        way = [node]
        while way[-1] != 0:
            way.append(int(tree.parent[way[-1]]))
        box: Box = {}
        for parent, child in zip(way[:0:-1], way[-2::-1], strict=True):
            j = int(aligned.feature[parent])
            sides = self.split(
                box,
                j,
                float(tree.threshold[parent]),
                aligned.left_mask[parent],
                bool(tree.missing_left[parent]),
            )
            side = sides[int(tree.children_left[parent] != child)]
            assert side is not None, "expected a node that some value can reach"
            box[j] = side
        return box


# -- whole trees, in one walk ------------------------------------------------------------

# From so many nodes on it is worth importing numba (half a second), or, where somebody has,
# reading the compiled walk from numba's cache (a tenth of one).
IMPORTED_FROM = 5_000
COMPILED_FROM = 500
# Room for tightenings, per path; a walk that needs more says so and is taken again.
ENTRIES_PER_PATH = 16


class Nodes(NamedTuple):
    """Trees one after another, written in the features of one space.

    ``first`` has the first node of each tree, and the number of nodes as one entry more.
    Children are numbered within their tree. ``above`` and ``below`` are how much a threshold
    tightens as an upper bound (of its left side) and as a lower one (of its right side). At
    ``set_at`` in ``sets`` it says for each category whether it goes left. ``ends`` marks where
    paths end.
    """

    first: Any
    left: Any
    right: Any
    feature: Any
    threshold: Any
    above: Any
    below: Any
    missing_left: Any
    set_at: Any
    sets: Any
    ends: Any


class _Features(NamedTuple):
    """By feature: its first coordinate, its categories (0: numeric), can it be missing."""

    start: Any
    count: Any
    can_miss: Any


class _Box(NamedTuple):
    """The box that the walk is in."""

    x: Any  # tightening, by coordinate
    low: Any  # numeric features: low < value <= high,
    high: Any
    present: Any  # whether a value gets through, and whether "missing" does
    missing: Any
    uses: Any  # steps on the way that concern the feature
    held: Any  # features with such steps, in order


class _Way(NamedTuple):
    """By depth: feature of the step there, what was so before it, and its operations."""

    step: Any
    low: Any
    high: Any
    present: Any
    missing: Any
    start: Any
    end: Any


class Walked(NamedTuple):
    """What a walk found, tree by tree; ``of_*`` is where each tree's part starts.

    Paths: the leaf (numbered within its tree), w(p), and in ``indptr`` (one entry more per tree)
    where its tightenings ``coord``, ``tightening`` start. Nodes that some value can reach, in
    preorder: their number, depth, the path that ends there (-1: none), and in ``op_start`` (one
    entry more per tree) where the operations start that lead there from the parent: coordinate
    ``op_coord`` changes from ``op_old`` to ``op_new``.
    """

    of_paths: Any
    of_entries: Any
    of_visits: Any
    of_ops: Any
    leaf: Any
    weight: Any
    indptr: Any
    coord: Any
    tightening: Any
    node: Any
    depth: Any
    path: Any
    op_start: Any
    op_coord: Any
    op_old: Any
    op_new: Any


def walk(nodes: Any, features: Any, box: Any, way: Any, waiting: Any, out: Any) -> None:
    """Walk every tree in preorder, and write down its paths and operations.

    ``waiting`` has room for the nodes to visit, their parents and their depths. Tightenings
    beyond the room for them are counted, not written.
    """
    # Looked up once: in Python most of the time would go there.
    first, left, right, feature, threshold, above, below, missing_left, set_at, sets, ends = nodes
    start, count, can_miss = features
    x, low, high, present, missing, uses, held = box
    way_step, way_low, way_high, way_present, way_missing, way_start, way_end = way
    waiting_node, waiting_parent, waiting_depth = waiting
    coord = out.coord
    tightening = out.tightening
    indptr = out.indptr
    op_coord = out.op_coord
    op_old = out.op_old
    op_new = out.op_new
    op_start = out.op_start
    space_for = len(coord)
    n_paths = n_entries = n_visits = n_ops = 0
    for tree in range(len(first) - 1):
        base = first[tree]
        first_path = n_paths
        first_entry = n_entries
        first_op = n_ops
        taken = n_held = 0  # steps taken, features they concern
        indptr[n_paths + tree] = 0
        # The last one waiting is no node: it makes the walk undo everything.
        waiting_node[0] = -1
        waiting_parent[0] = -1
        waiting_depth[0] = 1
        waiting_node[1] = base
        waiting_parent[1] = -1
        waiting_depth[1] = 0
        top = 1
        while top >= 0:
            node = waiting_node[top]
            parent = waiting_parent[top]
            depth = waiting_depth[top]
            top -= 1
            while taken > 0 and taken >= depth:
                j = way_step[taken]
                for k in range(way_start[taken], way_end[taken]):
                    x[op_coord[k]] = op_old[k]
                if count[j] == 0:
                    low[j] = way_low[taken]
                    high[j] = way_high[taken]
                    present[j] = way_present[taken]
                    missing[j] = way_missing[taken]
                uses[j] -= 1
                if uses[j] == 0:
                    k = 0
                    while held[k] != j:
                        k += 1
                    n_held -= 1
                    while k < n_held:
                        held[k] = held[k + 1]
                        k += 1
                taken -= 1
            if node < 0:
                break
            before = n_ops
            if parent >= 0:
                j = feature[parent]
                at = start[j]
                goes_left = left[parent] + base == node
                if count[j] > 0:
                    through = 0
                    here = set_at[parent]
                    amount = 2.0 / count[j]
                    for k in range(count[j]):
                        if x[at + k] == 0.0:
                            if (sets[here + k] == 1) == goes_left:
                                through += 1
                            else:
                                op_coord[n_ops] = at + k
                                op_old[n_ops] = 0.0
                                op_new[n_ops] = amount
                                n_ops += 1
                    if through == 0:
                        n_ops = before
                        continue
                else:
                    bottom = low[j]
                    ceiling = high[j]
                    lower = x[at + 1]
                    upper = x[at]
                    if goes_left:
                        if threshold[parent] < ceiling:
                            ceiling = threshold[parent]
                            upper = above[parent]
                    elif threshold[parent] > bottom:
                        bottom = threshold[parent]
                        lower = below[parent]
                    numbers = present[j] == 1 and bottom < ceiling
                    holes = missing[j] == 1 and (missing_left[parent] == 1) == goes_left
                    if not numbers and not holes:
                        continue
                    if not numbers:
                        # Only missing values get here: no number is bounded.
                        upper = lower = 0.0
                    if upper != x[at]:
                        op_coord[n_ops] = at
                        op_old[n_ops] = x[at]
                        op_new[n_ops] = upper
                        n_ops += 1
                    if lower != x[at + 1]:
                        op_coord[n_ops] = at + 1
                        op_old[n_ops] = x[at + 1]
                        op_new[n_ops] = lower
                        n_ops += 1
                    if can_miss[j] == 1:
                        if not numbers and x[at + 2] == 0.0:
                            op_coord[n_ops] = at + 2
                            op_old[n_ops] = 0.0
                            op_new[n_ops] = 1.0
                            n_ops += 1
                        if not holes and x[at + 3] == 0.0:
                            op_coord[n_ops] = at + 3
                            op_old[n_ops] = 0.0
                            op_new[n_ops] = 1.0
                            n_ops += 1
                    way_low[depth] = low[j]
                    way_high[depth] = high[j]
                    way_present[depth] = present[j]
                    way_missing[depth] = missing[j]
                    low[j] = bottom
                    high[j] = ceiling
                    present[j] = 1 if numbers else 0
                    missing[j] = 1 if holes else 0
                for k in range(before, n_ops):
                    x[op_coord[k]] = op_new[k]
                taken = depth
                way_step[depth] = j
                way_start[depth] = before
                way_end[depth] = n_ops
                if uses[j] == 0:
                    k = n_held
                    while k > 0 and held[k - 1] > j:
                        held[k] = held[k - 1]
                        k -= 1
                    held[k] = j
                    n_held += 1
                uses[j] += 1
            out.node[n_visits] = node - base
            out.depth[n_visits] = depth
            out.path[n_visits] = -1
            op_start[n_visits + tree] = before - first_op
            n_visits += 1
            if ends[node] == 0:
                top += 1
                waiting_node[top] = right[node] + base
                waiting_parent[top] = node
                waiting_depth[top] = depth + 1
                top += 1
                waiting_node[top] = left[node] + base
                waiting_parent[top] = node
                waiting_depth[top] = depth + 1
                continue
            weight = 0.0
            for h in range(n_held):
                j = held[h]
                at = start[j]
                part = 0.0  # of eq. (weight-path)
                if count[j] > 0:
                    excluded = 0
                    for k in range(at, at + count[j]):
                        if x[k] > 0:
                            if n_entries < space_for:
                                coord[n_entries] = k
                                tightening[n_entries] = x[k]
                            n_entries += 1
                            excluded += 1
                    if excluded > 0:
                        part = (count[j] - excluded) / count[j]
                else:
                    # Written out: of most trees, nearly all the time is spent here.
                    upper = x[at]
                    lower = x[at + 1]
                    if upper > 0:
                        if n_entries < space_for:
                            coord[n_entries] = at
                            tightening[n_entries] = upper
                        n_entries += 1
                    if lower > 0:
                        if n_entries < space_for:
                            coord[n_entries] = at + 1
                            tightening[n_entries] = lower
                        n_entries += 1
                    if upper > 0 or lower > 0:
                        part = 1.0 - upper - lower
                        if part < 0:
                            part = 0.0
                    if can_miss[j] == 1:
                        for k in range(at + 2, at + 4):
                            if x[k] > 0:
                                if n_entries < space_for:
                                    coord[n_entries] = k
                                    tightening[n_entries] = x[k]
                                n_entries += 1
                                part += 0.5
                weight += part
            out.leaf[n_paths] = node - base
            out.weight[n_paths] = weight
            out.path[n_visits - 1] = n_paths - first_path
            indptr[n_paths + tree + 1] = n_entries - first_entry
            n_paths += 1
        op_start[n_visits + tree] = n_ops - first_op
        out.of_paths[tree + 1] = n_paths
        out.of_entries[tree + 1] = n_entries
        out.of_visits[tree + 1] = n_visits
        out.of_ops[tree + 1] = n_ops


@cache
def compiled_walk() -> Callable[..., None] | None:
    """Return ``walk`` compiled; None without numba."""
    numba = numba_if_wanted()
    return None if numba is None else numba.njit(nogil=True, cache=True)(walk)


def walk_trees(nodes: Nodes, boxes: Boxes) -> Walked:
    """Walk trees given as arrays; what is found comes as arrays as well."""
    n_trees, n_nodes = nodes.first.size - 1, nodes.left.size
    run = compiled_walk() if _is_large(n_nodes) else None
    fill = _lists if run is None else np.full
    features = _Features(boxes.start, boxes.count, boxes.can_miss)
    if run is None:
        nodes_given = Nodes(*(column.tolist() for column in nodes))
    else:
        nodes_given = nodes
        features = _Features(*(np.array(column, dtype=np.int64) for column in features))
    room = _room(fill, boxes, int(np.diff(nodes.first).max()))
    # A step on a numeric feature changes at most four coordinates.
    n_ops = 4 * n_nodes + sum(boxes.count[j] for j in nodes.feature[nodes.set_at >= 0].tolist())
    n_paths = int(np.count_nonzero(nodes.ends))
    n_entries = ENTRIES_PER_PATH * n_paths
    while True:
        out = _tables(fill, n_trees, n_nodes, n_paths, n_ops, n_entries)
        (run or walk)(nodes_given, features, *room, out)
        if int(out.of_entries[-1]) <= n_entries:
            break
        n_entries = int(out.of_entries[-1])
    if run is not None:
        return out
    used = dict.fromkeys(("coord", "tightening"), out.of_entries[-1])
    used |= dict.fromkeys(("op_coord", "op_old", "op_new"), out.of_ops[-1])
    return Walked(
        *(
            np.array(column[: used.get(name)], dtype=np.float64 if name in _FLOATS else np.int32)
            for name, column in zip(Walked._fields, out, strict=True)
        )
    )


def _is_large(n_nodes: int) -> bool:
    """Whether compiled code pays: it is at hand, or there is enough to do."""
    if compiled_walk.cache_info().currsize:
        return True
    return n_nodes >= (COMPILED_FROM if "numba" in sys.modules else IMPORTED_FROM)


_FLOATS = ("weight", "tightening", "op_old", "op_new")
_Fill = Callable[[int, Any, Any], Any]


def _lists(size: int, value: Any, dtype: Any) -> Any:
    # Python reads entries of lists several times as fast.
    return [value] * size


def _room(fill: _Fill, boxes: Boxes, n_nodes: int) -> tuple[_Box, _Way, tuple[Any, Any, Any]]:
    """Room for the largest tree, with the unrestricted box in it, and for what is waiting."""
    count, depth = len(boxes.count), n_nodes // 2 + 3
    missing = fill(count, 0, np.int64)
    missing[:] = boxes.can_miss
    box = _Box(
        x=fill(boxes.start[-1], 0.0, np.float64),
        low=fill(count, -np.inf, np.float64),
        high=fill(count, np.inf, np.float64),
        present=fill(count, 1, np.int64),
        missing=missing,
        uses=fill(count, 0, np.int64),
        held=fill(min(count, depth) + 1, 0, np.int64),
    )
    step, present, was_missing, start, end, *waiting = (fill(depth, 0, np.int64) for _ in range(8))
    low, high = (fill(depth, 0.0, np.float64) for _ in range(2))
    way = _Way(step, low, high, present, was_missing, start, end)
    return box, way, (waiting[0], waiting[1], waiting[2])


def _tables(
    fill: _Fill, n_trees: int, n_nodes: int, n_paths: int, n_ops: int, n_entries: int
) -> Walked:
    """Tables to write on, for so many nodes, paths, operations and tightenings at most."""
    sizes = {
        **dict.fromkeys(("of_paths", "of_entries", "of_visits", "of_ops"), n_trees + 1),
        **dict.fromkeys(("leaf", "weight"), n_paths),
        "indptr": n_paths + n_trees,
        **dict.fromkeys(("coord", "tightening"), n_entries),
        **dict.fromkeys(("node", "depth", "path"), n_nodes),
        "op_start": n_nodes + n_trees,
        **dict.fromkeys(("op_coord", "op_old", "op_new"), n_ops),
    }
    return Walked(
        **{
            name: fill(size, 0.0, np.float64) if name in _FLOATS else fill(size, 0, np.int32)
            for name, size in sizes.items()
        }
    )
