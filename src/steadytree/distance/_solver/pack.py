"""Collections of trees as flat arrays of whole numbers, ready for the kernels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadytree.distance.equations import Measure
from steadytree.tree.paths import Paths

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]

# Columns of ``PackedCollection.meta``.
N_PATHS, STRIDE, NODES, N_NODES, COORDS, BASE = range(6)
LABELS, VALUES, SUMS, PRICE_SUM, OPS, FIRST_PATH = range(6, 12)
N_META = 12
# Rows are padded to a multiple of this, so that vector loops have nothing left over.
LANES = 8
# Rows of so many numbers, or of a multiple, lie over each other in a processor's cache.
CLASHING = 64


def padded_length(columns: Any) -> Any:
    """Length of a row, or of several, with the padding; at most ``2 * LANES`` - 1 longer."""
    whole = -(-columns // LANES) * LANES
    return whole + LANES * (whole % CLASHING == 0)


@dataclass(frozen=True, eq=False, repr=False)
class PackedCollection:
    """Distinct trees of a collection in two pools, and which tree is which.

    Attributes
    ----------
    inverse : int array
        For each tree given, the position of its equal among the distinct ones.
    meta : int array (n_distinct, N_META)
        Sizes and offsets of each tree, columns as named in this module.
    structure : int array
        Nodes (depth, path, first and last operation), coordinates of the operations, where
        each coordinate's row of tightenings starts in ``amounts`` (-1 if the tree never
        bounds it), and labels.
    amounts : int array
        Operations (old and new tightening), tightenings by coordinate, column terms by
        label, outcome vectors and half sums of tightenings, in quanta.
    bits : int
        The quantum is 2**-bits.
    reach, price : float
        In quanta: no path distance between two such collections exceeds the sum of their
        ``reach``, no unmatched cost the larger ``price``.
    max_depth, n_ops, n_nodes : int
        Depth of the deepest tree; operations and nodes in ``structure``.
    n_values : int
        Length of the outcome vectors compared by L1 distance; 0 where labels are compared.
    nearest : bool
        Whether the other tree decides what an unmatched path costs; ``amounts`` then hold 0.
    """

    inverse: NDArray[np.intp]
    meta: IntArray
    structure: IntArray
    amounts: IntArray
    bits: int
    reach: float
    price: float
    max_depth: int
    n_ops: int
    n_nodes: int
    n_values: int
    nearest: bool

    def appended_to(self, other: PackedCollection) -> tuple[IntArray, IntArray, IntArray]:
        """``meta``, ``structure`` and ``amounts`` of the other collection and then this one.

        Operation k has its amounts at ``2 * k + meta[OPS]``: the pools differ in length.
        """
        skip, skip_amounts = other.structure.size, other.amounts.size
        meta, structure = self.meta.copy(), self.structure.copy()
        meta[:, [NODES, COORDS, LABELS]] += skip
        meta[:, [BASE, VALUES, SUMS]] += skip_amounts
        meta[:, OPS] = skip_amounts - 2 * skip
        meta[:, FIRST_PATH] += other.n_paths
        maps = self.n_ops + 4 * self.n_nodes
        structure[self.n_ops : maps].reshape(-1, 4)[:, 2:] += skip
        where = structure[maps : self.meta[0, LABELS]]
        where[where >= 0] += skip_amounts
        return (
            np.concatenate([other.meta, meta]),
            np.concatenate([other.structure, structure]),
            np.concatenate([other.amounts, self.amounts]),
        )

    @property
    def n_distinct(self) -> int:
        """Number of distinct trees."""
        return len(self.meta)

    @property
    def n_paths(self) -> int:
        """Leaves of all distinct trees."""
        return int(self.meta[:, N_PATHS].sum())

    @property
    def max_paths(self) -> int:
        """Leaves of the largest tree."""
        return int(self.meta[:, N_PATHS].max())


def pack(paths: Sequence[Paths], measure: Measure, *, deduplicate: bool = True) -> PackedCollection:
    """Lay out a collection for the kernels, each distinct tree once.

    Trees are equal if they are the same set of paths with the same outcomes as far as the
    distance looks at them, whatever the order of their splits. All are over one space, with
    labels aligned with one list of classes.
    """
    if not deduplicate:
        return _lay_out(_Flat(paths, measure), np.arange(len(paths)), measure)
    flat, inverse = _distinct_flat(paths, measure)
    return _lay_out(flat, inverse, measure)


def distinct_trees(
    paths: Sequence[Paths], measure: Measure
) -> tuple[tuple[Paths, ...], NDArray[np.intp]]:
    """Return each distinct tree once, and for each tree given which of these is its equal."""
    flat, inverse = _distinct_flat(paths, measure)
    return flat.paths, inverse


def _distinct_flat(paths: Sequence[Paths], measure: Measure) -> tuple[_Flat, NDArray[np.intp]]:
    # Told by their identity first, which costs nothing.
    objects = {id(one): one for one in paths}
    position = {key: k for k, key in enumerate(objects)}
    inverse = np.array([position[id(one)] for one in paths])
    different = list(objects.values())
    flat = _Flat(different, measure)
    keep, equal = _distinct(flat)
    if keep.size < len(different):
        flat = _Flat([different[k] for k in keep], measure)
    return flat, equal[inverse]


class _Flat:
    """The final tightenings and the outcomes of all trees one after another, rounded."""

    def __init__(self, paths: Sequence[Paths], measure: Measure) -> None:
        self.paths = tuple(paths)
        self.n_paths = np.array([p.label.size for p in paths], dtype=np.int64)
        self.first_path = _starts(self.n_paths)
        self.tree_of_path = np.repeat(np.arange(len(paths)), self.n_paths)
        self.label = np.concatenate([p.label for p in paths]).astype(np.int64)
        self.weight = np.concatenate([p.paper_weight for p in paths])
        self.coord = np.concatenate([p.coord for p in paths]).astype(np.int64)
        self.amount = measure.tightenings(np.concatenate([p.tightening for p in paths]))
        ends, starts = (
            np.concatenate([p.indptr[part] for p in paths])
            for part in (slice(1, None), slice(None, -1))
        )
        per_path = (ends - starts).astype(np.int64)
        self.path_of_entry = np.repeat(np.arange(per_path.size), per_path)
        self.entry_start = _starts(per_path)
        self.sum = _segment_sums(self.amount, self.entry_start)
        is_classifier = paths[0].classes is not None
        self.by_label = measure.compares_labels(is_classifier)
        self.outcome = measure.outcomes(
            self.label, np.concatenate([p.value for p in paths]), is_classifier
        )


def _starts(sizes: NDArray[np.integer]) -> IntArray:
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def _segment_sums(values: NDArray[Any], start: IntArray) -> NDArray[Any]:
    """Sum of each segment; whole numbers, so differences of running sums are exact."""
    running = np.concatenate([np.zeros(1, dtype=values.dtype), np.cumsum(values)])
    return np.asarray(running[start[1:]] - running[start[:-1]])


def _mix(values: NDArray[np.uint64], seed: int) -> NDArray[np.uint64]:
    """Spread every bit over all 64 (multiply and shift, twice)."""
    x = values + np.uint64(seed)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        x = (x ^ (x >> np.uint64(shift))) * np.uint64(factor)
    return x ^ (x >> np.uint64(31))


def _distinct(flat: _Flat) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """First tree of each set of equal trees, and for each tree which of them is its equal.

    A tree's digest is a sum over its paths, a path's a sum over its bounds, so neither
    depends on an order; two independent sums make 128 bits.
    """
    # Most trees differ in plain sums already, which are the same for equal ones.
    of_tree = flat.entry_start[flat.first_path]
    sums = (_segment_sums(x, of_tree).tolist() for x in (flat.amount, flat.amount * flat.coord))
    if len(set(zip(flat.n_paths.tolist(), *sums, strict=True))) == len(flat.paths):
        each = np.arange(len(flat.paths))
        return each, each
    columns = [flat.n_paths.astype(np.uint64)]
    for seed in (0x9E3779B97F4A7C15, 0xD1B54A32D192ED03):
        entry = _mix(_mix(flat.coord.astype(np.uint64), seed) + flat.amount.astype(np.uint64), seed)
        path = _segment_sums(entry, flat.entry_start)
        for k in range(flat.outcome.shape[1]):
            path = _mix(path, seed) + flat.outcome[:, k].astype(np.uint64)
        path = _mix(path, seed) + flat.weight.view(np.uint64)
        columns.append(_segment_sums(_mix(path, seed), flat.first_path))
    position: dict[tuple[int, ...], int] = {}
    keep, inverse = list[int](), list[int]()
    for k, digest in enumerate(zip(*(column.tolist() for column in columns), strict=True)):
        if position.setdefault(digest, len(keep)) == len(keep):
            keep.append(k)
        inverse.append(position[digest])
    return np.array(keep), np.array(inverse)


def _lay_out(flat: _Flat, inverse: NDArray[np.intp], measure: Measure) -> PackedCollection:
    paths = flat.paths
    n_trees, n_coords = len(paths), paths[0].n_coords
    n_labels = len(paths[0].classes or ()) if flat.by_label else 1
    n_values = 0 if flat.by_label else flat.outcome.shape[1]
    stride = padded_length(flat.n_paths)
    meta = np.zeros((n_trees, N_META), dtype=np.int64)
    meta[:, N_PATHS], meta[:, STRIDE] = flat.n_paths, stride
    meta[:, FIRST_PATH] = flat.first_path[:-1]

    # structure: operations' coordinates, nodes, coordinate maps, labels
    walks = [p.walked for p in paths]
    n_ops = np.array([walk.op_coord.size for walk in walks])
    n_nodes = np.array([walk.depth.size for walk in walks])
    first_op, first_node = _starts(n_ops), _starts(n_nodes)
    op_shift = np.repeat(first_op[:-1], n_nodes)
    nodes = np.stack(
        [
            np.concatenate([walk.depth for walk in walks]),
            np.concatenate([walk.path for walk in walks]),
            np.concatenate([walk.op_start[:-1] for walk in walks]) + op_shift,
            np.concatenate([walk.op_start[1:] for walk in walks]) + op_shift,
        ],
        axis=1,
    ).astype(np.int64)
    op_coord = np.concatenate([walk.op_coord for walk in walks]).astype(np.int64)
    coords_at = op_coord.size + nodes.size
    labels_at = coords_at + n_trees * n_coords
    meta[:, NODES] = op_coord.size + 4 * first_node[:-1]
    meta[:, N_NODES] = n_nodes
    meta[:, COORDS] = coords_at + n_coords * np.arange(n_trees)
    meta[:, LABELS] = labels_at + flat.first_path[:-1]

    # amounts: operations, tightenings by coordinate, column terms by label, outcomes
    entry_tree = flat.tree_of_path[flat.path_of_entry]
    # Which coordinates each tree bounds, in order, and which of these each entry belongs to.
    at = entry_tree * n_coords + flat.coord
    used = np.zeros(n_trees * n_coords, dtype=bool)
    used[at] = True
    bounded = used.nonzero()[0]
    row = (used.cumsum() - 1)[at]
    row_start = 2 * op_coord.size + _starts(stride[bounded // n_coords])
    table_end = int(row_start[-1])
    base_start = table_end + _starts(stride * n_labels)
    value_start = int(base_start[-1]) + _starts(stride * n_values)
    sums_at = int(value_start[-1])
    amounts = np.zeros(sums_at + flat.sum.size, dtype=np.int64)
    amounts[sums_at:] = flat.sum
    meta[:, SUMS] = sums_at + flat.first_path[:-1]
    # Amounts are half tightenings; the identity of core.paths takes off the whole minimum.
    for side, tightening in enumerate(([w.op_old for w in walks], [w.op_new for w in walks])):
        amounts[side : 2 * op_coord.size : 2] = 2 * measure.tightenings(np.concatenate(tightening))
    local = np.arange(flat.tree_of_path.size) - flat.first_path[flat.tree_of_path]
    amounts[row_start[row] + local[flat.path_of_entry]] = 2 * flat.amount
    unmatched = measure.unmatched(flat.sum, flat.weight)
    price = np.zeros_like(flat.sum) if unmatched is None else unmatched
    column = base_start[flat.tree_of_path] + local
    for label in range(n_labels):
        differs = measure.label_weight * (flat.label != label) if flat.by_label else 0
        amounts[column + label * stride[flat.tree_of_path]] = flat.sum - price + differs
    column = value_start[flat.tree_of_path] + local
    for k in range(n_values):
        amounts[column + k * stride[flat.tree_of_path]] = flat.outcome[:, k]
    meta[:, BASE], meta[:, VALUES] = base_start[:-1], value_start[:-1]
    meta[:, PRICE_SUM] = _segment_sums(price, flat.first_path)

    where = np.full(n_trees * n_coords, -1, dtype=np.int64)
    where[bounded] = row_start[:-1]
    return PackedCollection(
        inverse=inverse,
        meta=meta,
        structure=np.concatenate([op_coord, nodes.ravel(), where, flat.label]),
        amounts=amounts,
        bits=measure.bits,
        reach=float(flat.sum.max() + measure.label_weight),
        price=float(price.max()),
        max_depth=int(nodes[:, 0].max()),
        n_ops=op_coord.size,
        n_nodes=len(nodes),
        n_values=n_values,
        nearest=unmatched is None,
    )
