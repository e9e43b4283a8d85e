"""Distances between whole collections of trees: compiled, exact, work T1 * T2 a pair.

The cost matrix comes from walking the smaller tree. By the identity in
:mod:`steadytree.tree.paths`, d(p, q) = (s_p + s_q)/2 - sum of min(x_p, x_q) + outcome, and a
step of the walk changes one coordinate: the row of the cost matrix at a node is its
parent's row with one clamp per column, and it is the parent's row itself where the other
tree never bounds that coordinate.

A tree meets many others in turn, and what its paths are worth (their duals) changes little from
one to the next. So each tree keeps the duals of the last pair in which it was the smaller one.
They are taken off its rows, which leaves the best matching as it is and lets the search start
near it.

Threads share the rows; each pair's result depends on
the pair alone, and whole numbers make it exact, so it is the same for any number of threads.
"""

# mypy: allow-untyped-defs
from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from steadytree._jobs import in_threads, threads_here
from steadytree.distance._solver.assignment import (
    DUAL_U,
    FAR,
    N_VECTORS,
    compiled,
    index_bits,
    inlined,
    signed,
    solve_rectangular,
    source_digest,
    unsigned,
)
from steadytree.distance._solver.pack import (
    BASE,
    COORDS,
    FIRST_PATH,
    LABELS,
    LANES,
    N_NODES,
    N_PATHS,
    NODES,
    OPS,
    PRICE_SUM,
    STRIDE,
    SUMS,
    VALUES,
    PackedCollection,
)

FloatArray = NDArray[np.float64]

# A chunk of work holds about this many pairs: small enough to share out, large enough that
# calling it costs nothing.
CHUNK_PAIRS = 2000


@inlined
def _step(mem, source, into, amounts, at, m, old, new):
    """Row of a node from its parent's: minus min(new, y) - min(old, y) in each column."""
    s, t, y = unsigned(source), unsigned(into), unsigned(at)
    if new > old:
        for j in range(unsigned(m)):
            x = amounts[y + j]
            x = x if x > old else old
            x = x if x < new else new
            mem[t + j] = mem[s + j] + (old - x)
    else:
        for j in range(unsigned(m)):
            x = amounts[y + j]
            x = x if x > new else new
            x = x if x < old else old
            mem[t + j] = mem[s + j] + (x - new)


@inlined
def _last_step(mem, source, into, amounts, at, base, minimum, new_minimum, m, old, new, own):
    """Step into a leaf, its own and the columns' terms, and the running column minima."""
    s, t, y, b = unsigned(source), unsigned(into), unsigned(at), unsigned(base)
    before, after = unsigned(minimum), unsigned(new_minimum)
    constant = own + old
    for j in range(unsigned(m)):
        x = amounts[y + j]
        x = x if x > old else old
        x = x if x < new else new
        r = mem[s + j] + amounts[b + j] + (constant - x)
        mem[t + j] = r
        x = mem[before + j]
        mem[after + j] = r if r < x else x


@inlined
def _no_step(mem, source, into, amounts, base, minimum, new_minimum, m, own):
    """Leaf whose last step is already taken, or does not concern the other tree."""
    # As _last_step without its clamp: two loops, so that neither has a branch inside.
    s, t, b = unsigned(source), unsigned(into), unsigned(base)
    before, after = unsigned(minimum), unsigned(new_minimum)
    for j in range(unsigned(m)):
        r = mem[s + j] + amounts[b + j] + own
        mem[t + j] = r
        x = mem[before + j]
        mem[after + j] = r if r < x else x


@compiled
def _add_outcomes(mem, cost, amounts, own, own_stride, other, n, m, count):
    """Add the L1 distances of outcome vectors to the cost matrix; new column minima."""
    for j in range(m):
        mem[j] = FAR
    for i in range(n):
        row = unsigned(cost + i * m)
        for k in range(count):
            x = amounts[own + k * own_stride + i]
            y = unsigned(other + k * m)
            for j in range(unsigned(m)):
                d = amounts[y + j] - x
                mem[row + j] += d if d > 0 else -d
        for j in range(unsigned(m)):
            mem[j] = min(mem[j], mem[row + j])


@compiled
def _build_cost(meta, structure, amounts, s, t, mem, width, cost, stack, depths, prior, n_values):
    """Cost d(p, q) - c(p) - prior(q), tree s as rows q, tree t as columns p; column minima."""
    n = meta[s, N_PATHS]
    m = meta[t, STRIDE]
    coords, base = meta[t, COORDS], meta[t, BASE]
    labels, sums, ops = meta[s, LABELS], meta[s, SUMS], meta[s, OPS]
    # Two buffers of minima take turns; the last row writes into the first.
    minimum, new_minimum = signed(0), width
    if n & 1:
        minimum, new_minimum = new_minimum, minimum
    # In mem: a row of zeros, a row per depth, and at ``depths`` where each depth's row is.
    for j in range(m):
        mem[stack + j] = 0
        mem[minimum + j] = FAR
    node = meta[s, NODES]
    for _ in range(meta[s, N_NODES]):
        depth = structure[node]
        path = structure[node + 1]
        op = structure[node + 2]
        end = structure[node + 3]
        node += 4
        source = mem[depths + depth - 1] if depth > 0 else stack
        into = stack + (depth + 1) * m
        stop = end if path < 0 else end - 1
        while op < stop:
            at = structure[coords + structure[op]]
            if at >= 0:
                k = ops + 2 * op
                _step(mem, source, into, amounts, at, m, amounts[k], amounts[k + 1])
                source = into
            op += 1
        if path < 0:
            mem[depths + depth] = source
            continue
        columns = base
        if n_values == 0:
            columns += structure[labels + path] * m
        at = signed(-1)
        old, new = signed(0), signed(0)
        if op < end:
            at = structure[coords + structure[op]]
            k = ops + 2 * op
            old, new = amounts[k], amounts[k + 1]
            if at >= 0 and new < old:
                _step(mem, source, into, amounts, at, m, old, new)
                source = into
                at = signed(-1)
        row = cost + path * m
        own = amounts[sums + path] - mem[prior + path]
        if at >= 0:
            _last_step(
                mem, source, row, amounts, at, columns, minimum, new_minimum, m, old, new, own
            )
        else:
            _no_step(mem, source, row, amounts, columns, minimum, new_minimum, m, own)
        minimum, new_minimum = new_minimum, minimum
    if n_values > 0:
        _add_outcomes(
            mem, cost, amounts, meta[s, VALUES], meta[s, STRIDE], meta[t, VALUES], n, m, n_values
        )


def _entry_point(digest: int) -> Any:
    @njit(nogil=True, cache=True)
    def rows(pools, layout, settings, first, last, mem, out):
        """Distances of trees first..last-1 to the trees from number ``others`` on, into ``out``.

        Within one collection (``symmetric``) only to later trees.
        """
        if digest == 0:
            return
        meta, structure, amounts = pools
        width, cost, core, flip, stack, depths, learnt = layout
        others, symmetric, n_values, nearest, shift, largest, quantum = settings
        for i in range(first, last):
            for j in range(i + 1 if symmetric else 0, meta.shape[0] - others):
                s, t = signed(i), signed(others + j)
                if meta[s, N_PATHS] > meta[t, N_PATHS]:
                    s, t = t, s
                n, m, stride = meta[s, N_PATHS], meta[t, N_PATHS], meta[t, STRIDE]
                # The first row of the stack is zeros; costs of the nearest path stay as they are.
                prior = stack if nearest else learnt + meta[s, FIRST_PATH]
                _build_cost(
                    meta, structure, amounts, s, t, mem, width, cost, stack, depths, prior, n_values
                )
                total = meta[t, PRICE_SUM]
                if nearest:
                    # An unmatched path costs its distance to the nearest path of the other tree.
                    for k in range(m):
                        total += mem[k] >> shift
                    for k in range(n):
                        row = unsigned(cost + k * stride)
                        for q in range(unsigned(m)):
                            mem[row + q] -= mem[q]
                    for k in range(m):
                        mem[k] = 0
                for k in range(n):
                    total += mem[prior + k] >> shift
                total += solve_rectangular(mem, width, cost, stride, core, flip, n, m, shift)
                if n > 1 and not nearest:
                    for k in range(n):
                        dual = mem[prior + k] + mem[DUAL_U * width + k]
                        mem[prior + k] = min(max(dual, -largest), largest)
                out[i, j] = total * quantum

    return rows


_rows = _entry_point(source_digest())


class _Problem:
    """Two packed collections in one pool, and how a pair's memory is laid out.

    Amounts are shifted to make room for column numbers in the low bits.
    """

    def __init__(self, a: PackedCollection, b: PackedCollection) -> None:
        same = a is b
        others = 0 if same else a.n_distinct
        pools = (a.meta, a.structure, a.amounts) if same else b.appended_to(a)
        smaller, larger = sorted((a.max_paths, b.max_paths))
        largest = max(a.reach + b.reach, a.price, b.price)
        self.shift = index_bits(larger, 2 * largest)  # and as much taken off again
        amounts = pools[2].copy() if same else pools[2]
        amounts <<= self.shift  # in place: it is the largest pool
        self.pools = pools[0], pools[1], amounts
        shift = np.int64(self.shift)
        most = np.int64(largest) << shift
        self.settings = (others, same, a.n_values, a.nearest, shift, most, 2.0**-a.bits)
        width = larger + 2 * LANES
        depth = max(a.max_depth, b.max_depth)
        area = (smaller + 2 * LANES) * (larger + 2 * LANES)
        stack = (depth + 2) * (larger + 2 * LANES)
        n_paths = a.n_paths if same else a.n_paths + b.n_paths
        sizes = (N_VECTORS * width, area, area, area, stack, depth + 2, n_paths)
        starts = np.cumsum(sizes)
        self.layout = tuple(np.int64(x) for x in (width, *starts[:-1]))
        self.memory = int(starts[-1])


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
    b = a if b is None else b
    problem = _Problem(a, b)
    out = np.zeros((a.n_distinct, b.n_distinct))
    chunk = max(1, CHUNK_PAIRS // b.n_distinct)
    starts = range(0, a.n_distinct, chunk)
    turn = itertools.count()

    def work() -> None:
        mem = np.empty(problem.memory, dtype=np.int64)
        mem[problem.layout[-1] :] = 0  # nothing is learnt yet
        while (k := next(turn)) < len(starts):
            first, last = starts[k], min(starts[k] + chunk, a.n_distinct)
            _rows(problem.pools, problem.layout, problem.settings, first, last, mem, out)

    in_threads([work] * min(threads_here(n_jobs), len(starts)), n_jobs)
    if a is b:
        out += out.T
    return out[np.ix_(a.inverse, b.inverse)]
