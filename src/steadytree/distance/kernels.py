"""Distances between whole collections of trees: compiled, exact, work T1 * T2 a pair.

The cost matrix comes from walking the smaller tree. By the identity in
:mod:`steadytree.core.paths`, d(p, q) = (s_p + s_q)/2 - sum of min(x_p, x_q) + outcome, and a
step of the walk changes one coordinate: the row of the cost matrix at a node is its
parent's row with one clamp per column, and it is the parent's row itself where the other
tree never bounds that coordinate. Threads share the rows; each pair's result depends on
the pair alone, and whole numbers make it exact, so it is the same for any number of threads.
"""

from __future__ import annotations

import itertools
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numba import njit
from numpy.typing import NDArray

from steadytree.core.paths import Paths
from steadytree.distance.assignment import (
    COLUMN,
    FAR,
    N_VECTORS,
    index_bits,
    solve_rectangular,
)
from steadytree.distance.packing import (
    BASE,
    COORDS,
    LABELS,
    N_NODES,
    N_PATHS,
    NODES,
    PRICE_SUM,
    STRIDE,
    SUMS,
    VALUES,
    PackedCollection,
    pack,
)

__all__ = ["pairwise", "solve"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

# A chunk of work holds about this many pairs: small enough to share out, large enough that
# calling it costs nothing.
CHUNK_PAIRS = 2000

_compiled: Any = njit(nogil=True, cache=True)
# Offsets are unsigned: numba then leaves out the check for negative positions.
_u: Any = np.uint64
_i: Any = np.int64


@_compiled
def _step(
    stack: Any, source: Any, into: Any, other: Any, at: Any, m: Any, old: Any, new: Any
) -> Any:
    """Row of a node from its parent's: minus min(new, y) - min(old, y) in each column."""
    s, t, y = _u(source), _u(into), _u(at)
    if new > old:
        for j in range(_u(m)):
            x = other[y + j]
            x = x if x > old else old
            x = x if x < new else new
            stack[t + j] = stack[s + j] + (old - x)
    else:
        for j in range(_u(m)):
            x = other[y + j]
            x = x if x > new else new
            x = x if x < old else old
            stack[t + j] = stack[s + j] + (x - new)


@_compiled
def _last_step(
    stack: Any,
    source: Any,
    cost: Any,
    into: Any,
    other: Any,
    at: Any,
    base: Any,
    work: Any,
    minimum: Any,
    new_minimum: Any,
    m: Any,
    old: Any,
    new: Any,
    own: Any,
) -> Any:
    """Step into a leaf, its own and the columns' terms, and the running column minima."""
    s, t, y, b = _u(source), _u(into), _u(at), _u(base)
    before, after = _u(minimum), _u(new_minimum)
    own += old
    for j in range(_u(m)):
        x = other[y + j]
        x = x if x > old else old
        x = x if x < new else new
        r = stack[s + j] + other[b + j] + (own - x)
        cost[t + j] = r
        x = work[before + j]
        work[after + j] = r if r < x else x


@_compiled
def _no_step(
    stack: Any,
    source: Any,
    cost: Any,
    into: Any,
    other: Any,
    base: Any,
    work: Any,
    minimum: Any,
    new_minimum: Any,
    m: Any,
    own: Any,
) -> Any:
    """Leaf whose last step is already in ``stack``."""
    s, t, b = _u(source), _u(into), _u(base)
    before, after = _u(minimum), _u(new_minimum)
    for j in range(_u(m)):
        r = stack[s + j] + other[b + j] + own
        cost[t + j] = r
        x = work[before + j]
        work[after + j] = r if r < x else x


@_compiled
def _add_outcomes(
    stack: Any,
    cost: Any,
    own: Any,
    own_at: Any,
    own_stride: Any,
    other: Any,
    other_at: Any,
    n: Any,
    m: Any,
    count: Any,
    work: Any,
) -> Any:
    """Add the L1 distances of outcome vectors to the cost matrix; new column minima."""
    for j in range(m):
        work[j] = FAR
    for i in range(n):
        row = _u(i * m)
        for k in range(count):
            x = own[own_at + k * own_stride + i]
            y = _u(other_at + k * m)
            for j in range(_u(m)):
                d = other[y + j] - x
                stack[j] = cost[row + j] + (d if d > 0 else -d)
            for j in range(_u(m)):
                cost[row + j] = stack[j]
        for j in range(m):
            work[j] = min(work[j], cost[i * m + j])


@_compiled
def _build_cost(
    meta: Any,
    structure: Any,
    amounts: Any,
    s: Any,
    other_meta: Any,
    other_structure: Any,
    other_amounts: Any,
    t: Any,
    cost: Any,
    stack: Any,
    work: Any,
    width: Any,
    n_values: Any,
) -> Any:
    """Cost d(p, q) - c(p), tree s as rows q, tree t as columns p; column minima."""
    n = meta[s, N_PATHS]
    m = other_meta[t, STRIDE]
    coords = other_meta[t, COORDS]
    base = other_meta[t, BASE]
    labels = meta[s, LABELS]
    sums = meta[s, SUMS]
    # Two buffers of minima take turns; the last row writes into the first.
    minimum, new_minimum = _i(0), width
    if n & 1:
        minimum, new_minimum = new_minimum, minimum
    for j in range(m):
        stack[j] = 0
        work[minimum + j] = FAR
    # stack: a zero row, one row per depth, and from the end where each depth's row is.
    where = stack.size - 1
    node = meta[s, NODES]
    for _ in range(meta[s, N_NODES]):
        depth = structure[node]
        path = structure[node + 1]
        op = structure[node + 2]
        end = structure[node + 3]
        node += 4
        source = stack[where - depth + 1] if depth > 0 else _i(0)
        into = (depth + 1) * m
        stop = end if path < 0 else end - 1
        while op < stop:
            at = other_structure[coords + structure[op]]
            if at >= 0:
                _step(
                    stack, source, into, other_amounts, at, m, amounts[2 * op], amounts[2 * op + 1]
                )
                source = into
            op += 1
        if path < 0:
            stack[where - depth] = source
            continue
        column_terms = base
        if n_values == 0:
            column_terms += structure[labels + path] * m
        at = _i(-1)
        old, new = _i(0), _i(0)
        if op < end:
            at = other_structure[coords + structure[op]]
            old, new = amounts[2 * op], amounts[2 * op + 1]
            if at >= 0 and new < old:
                _step(stack, source, into, other_amounts, at, m, old, new)
                source = into
                at = _i(-1)
        if at >= 0:
            _last_step(
                stack,
                source,
                cost,
                path * m,
                other_amounts,
                at,
                column_terms,
                work,
                minimum,
                new_minimum,
                m,
                old,
                new,
                amounts[sums + path],
            )
        else:
            _no_step(
                stack,
                source,
                cost,
                path * m,
                other_amounts,
                column_terms,
                work,
                minimum,
                new_minimum,
                m,
                amounts[sums + path],
            )
        minimum, new_minimum = new_minimum, minimum
    if n_values > 0:
        _add_outcomes(
            stack,
            cost,
            amounts,
            meta[s, VALUES],
            meta[s, STRIDE],
            other_amounts,
            other_meta[t, VALUES],
            n,
            m,
            n_values,
            work,
        )


@_compiled
def _pair(
    meta: Any,
    structure: Any,
    amounts: Any,
    s: Any,
    other_meta: Any,
    other_structure: Any,
    other_amounts: Any,
    t: Any,
    cost: Any,
    core: Any,
    flip: Any,
    stack: Any,
    work: Any,
    width: Any,
    n_values: Any,
    cover: Any,
    shift: Any,
) -> Any:
    """Distance in quanta; tree s has at most as many paths as tree t."""
    n = meta[s, N_PATHS]
    m = other_meta[t, N_PATHS]
    stride = other_meta[t, STRIDE]
    _build_cost(
        meta,
        structure,
        amounts,
        s,
        other_meta,
        other_structure,
        other_amounts,
        t,
        cost,
        stack,
        work,
        width,
        n_values,
    )
    total = other_meta[t, PRICE_SUM]
    if cover:
        # An unmatched path costs its distance to the nearest path of the other tree.
        for j in range(m):
            total += work[j] >> shift
        for i in range(n):
            row = i * stride
            for j in range(m):
                cost[row + j] -= work[j]
        for j in range(m):
            work[j] = 0
    return total + solve_rectangular(cost, stride, core, flip, work, width, n, m, shift)


@_compiled
def _rows(
    meta: Any,
    structure: Any,
    amounts: Any,
    other_meta: Any,
    other_structure: Any,
    other_amounts: Any,
    first: Any,
    last: Any,
    symmetric: Any,
    cost: Any,
    core: Any,
    flip: Any,
    stack: Any,
    work: Any,
    width: Any,
    n_values: Any,
    cover: Any,
    shift: Any,
    quantum: Any,
    out: Any,
) -> Any:
    """Distances of trees first..last-1 of one collection to all (later) ones of the other."""
    for i in range(first, last):
        for j in range(i + 1 if symmetric else 0, other_meta.shape[0]):
            if meta[i, N_PATHS] <= other_meta[j, N_PATHS]:
                total = _pair(
                    meta,
                    structure,
                    amounts,
                    i,
                    other_meta,
                    other_structure,
                    other_amounts,
                    j,
                    cost,
                    core,
                    flip,
                    stack,
                    work,
                    width,
                    n_values,
                    cover,
                    shift,
                )
            else:
                total = _pair(
                    other_meta,
                    other_structure,
                    other_amounts,
                    j,
                    meta,
                    structure,
                    amounts,
                    i,
                    cost,
                    core,
                    flip,
                    stack,
                    work,
                    width,
                    n_values,
                    cover,
                    shift,
                )
            out[i, j] = total * quantum


class _Workspace:
    """Arrays one thread works in, large enough for the largest pair."""

    def __init__(self, smaller: int, larger: int, depth: int) -> None:
        n, m = smaller + 4, larger + 4
        self.width = m + 4
        self.cost, self.core, self.flip = (np.empty(n * (m + n), dtype=np.int64) for _ in range(3))
        self.stack = np.empty((depth + 2) * m + depth + 2, dtype=np.int64)
        self.work = np.empty(N_VECTORS * self.width, dtype=np.int64)

    def arrays(self) -> tuple[Any, ...]:
        return self.cost, self.core, self.flip, self.stack, self.work, _i(self.width)


def _index_shift(a: PackedCollection, b: PackedCollection) -> int:
    return index_bits(max(a.max_paths, b.max_paths), (a.bound + b.bound) * 2.0**a.bits)


def pairwise(
    a: PackedCollection, b: PackedCollection | None = None, n_jobs: int | None = None
) -> FloatArray:
    """Distances between all trees of ``a`` and all of ``b`` (or of ``a``), eq. (distance).

    Parameters
    ----------
    a, b : PackedCollection
        Packed with the same options; without b, all pairs within a.
    n_jobs : int, optional
        Threads, as joblib counts them. The result is the same for any number.

    Returns
    -------
    ndarray of shape (trees given to a, trees given to b)
    """
    symmetric = b is None
    b = a if b is None else b
    shift = _index_shift(a, b)
    amounts = a.amounts << shift
    other = amounts if symmetric else b.amounts << shift
    smaller, larger = sorted((a.max_paths, b.max_paths))
    out = np.zeros((a.n_distinct, b.n_distinct))
    chunk = max(1, CHUNK_PAIRS // b.n_distinct)
    starts = range(0, a.n_distinct, chunk)
    turn = itertools.count()

    def work() -> None:
        space = _Workspace(smaller, larger, max(a.max_depth, b.max_depth))
        while (k := next(turn)) < len(starts):
            _rows(
                a.meta,
                a.structure,
                amounts,
                b.meta,
                b.structure,
                other,
                starts[k],
                min(starts[k] + chunk, a.n_distinct),
                symmetric,
                *space.arrays(),
                a.n_values,
                a.variant == "cover",
                _i(shift),
                2.0**-a.bits,
                out,
            )

    threads = min(effective_n_jobs(n_jobs), len(starts))
    if threads <= 1:
        work()
    else:
        with ThreadPoolExecutor(threads) as pool:
            for done in [pool.submit(work) for _ in range(threads)]:
                done.result()
    if symmetric:
        out += out.T
    return out[np.ix_(a.inverse, b.inverse)]


def solve(
    a: Paths, b: Paths, *, label_weight: float, outcome: str, variant: str
) -> tuple[FloatArray, IntArray]:
    """Match the paths of two trees, eq. (distance).

    Returns
    -------
    cost : ndarray (a.n_paths, b.n_paths)
        Path distances d(p, q), eq. (dist-paths).
    partner : int array (a.n_paths,)
        The path of b that each path of a is matched with; -1 where it has none.
    """
    packed = [
        pack([p], label_weight=label_weight, outcome=outcome, variant=variant) for p in (a, b)
    ]
    swapped = a.n_paths > b.n_paths
    small, large = reversed(packed) if swapped else packed
    n, m = small.max_paths, large.max_paths
    stride = int(large.meta[0, STRIDE])
    shift = _index_shift(small, large)
    space = _Workspace(n, m, max(small.max_depth, large.max_depth))
    sides = [(p.meta, p.structure, p.amounts << shift, 0) for p in (small, large)]
    cost, core, flip, stack, work, width = space.arrays()
    _build_cost(*sides[0], *sides[1], cost, stack, work, width, small.n_values)
    price = large.amounts[large.meta[0, SUMS] :][:m] - large.amounts[large.meta[0, BASE] :][:m]
    if small.n_values == 0:
        # The column term of label 0 also holds lambda where the label is another one.
        weight = 2 * round(label_weight * 2.0 ** (small.bits - 1))
        price = price + weight * (large.paths[0].label != 0)
    distances = ((cost[: n * stride].reshape(n, stride)[:, :m] >> shift) + price) * (
        2.0**-small.bits
    )
    _pair(
        *sides[0],
        *sides[1],
        cost,
        core,
        flip,
        stack,
        work,
        width,
        small.n_values,
        variant == "cover",
        _i(shift),
    )
    columns = work[COLUMN * width : COLUMN * width + n]
    if not swapped:
        return distances, columns.copy()
    partner = np.full(m, -1, dtype=np.int64)
    partner[columns] = np.arange(n)
    return np.ascontiguousarray(distances.T), partner
