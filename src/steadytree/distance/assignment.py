r"""The assignment problem of eq. (distance), exact in whole numbers, compiled by numba.

Match each of n rows (the smaller tree's paths) to its own column out of m >= n (the larger
tree's) at least total cost. Shortest augmenting paths with dual variables u, v; what makes
it quick here:

- A start from the columns. Rows compete for the same few columns (every path wants the
  widest partner), so row minima leave nearly all rows free. Column minima spread well: the
  columns whose minimum is among the smallest get :math:`v_j = \min_i c_{ij} - t < 0`, with
  t near the n-th smallest minimum.
- A small core. Only columns with v < 0 or a partner are scanned; of all others a row needs
  just the cheapest, its *exit*. The core has about n columns however large m is.
- An unmatched column must end with v = 0. Where the start set v < 0 too boldly, a search
  from that column (over the transposed core) gives it a row or raises v to 0.
- Scans without branches: costs are multiples of 2**shift, and the column number in the low
  bits turns "where is the minimum" into "what is the minimum". With ``shift=0`` (very
  large trees or weights) the place is looked up.
- Scans read one buffer and write another: updating in place compiles to masked stores,
  which are slow on many processors.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from steadytree.distance.packing import LANES

__all__ = ["COLUMN", "FAR", "N_VECTORS", "assign", "index_bits", "solve_rectangular"]

IntArray = NDArray[np.int64]

# Beyond every cost: marks columns that are out of play. Costs stay below 2**60.
FAR = np.int64(1) << np.int64(61)
# Share of n whose column minima are below the start's threshold: more matches at once,
# but more columns that must be raised again. Measured flat between 0.8 and 1.
CORE_SHARE = 0.9
# From this many rows on, an auction improves the start: it halves the cells that the
# searches look at in trees of 600 leaves and gains nothing below 100.
AUCTION_FROM = 96

# One memory block holds everything a pair needs: first these vectors of ``width`` numbers,
# then the cost matrix, the core and its transpose at offsets the caller chooses.
MINIMA = 0  # column minima of the cost matrix (and a second buffer for building them)
ORIGINAL = 1  # number in the cost matrix of a column of the core
REACH = 2  # distances of a search, two buffers
DUAL_U, DUAL_V = 4, 5
PACKED_V, PACKED_U = 6, 7  # duals with the index in the low bits; -FAR: out of play
OUTSIDE = 8  # as PACKED_V, for columns outside the core; -FAR: inside
EXIT = 9  # cost of the cheapest column outside the core, by row
ROW, COLUMN = 10, 11  # partners: of a column of the core, of a row
DISTANCE, TREE = 12, 13  # a search: distance of each step, and its column (or row)
TAKER = 14  # who takes a column when a search ends
EXIT_AT = 15  # the column of EXIT; it may have joined the core since, then EXIT is too low
N_VECTORS = 16

# Python never calls these itself, so numba need not compile wrappers for that.
_njit: Any = njit  # its stub lacks some options
_compiled: Any = _njit(nogil=True, cache=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)
_inlined: Any = njit(nogil=True, cache=True, inline="always")
# Unsigned positions: numba then leaves out its check for negative ones.
_u: Any = np.uint64
_i: Any = np.int64


@_inlined
def _minimum(mem: Any, row: Any, dual: Any, size: Any) -> Any:
    """Least reduced cost of a row."""
    r0, d0 = _u(row), _u(dual)
    best = FAR
    for j in range(_u(size)):
        r = mem[r0 + j] - mem[d0 + j]
        best = r if r < best else best
    return best


@_inlined
def _first_scan(mem: Any, row: Any, dual: Any, into: Any, size: Any, offset: Any) -> Any:
    """Distances over the cells of one row; the least of them."""
    r0, d0, t0 = _u(row), _u(dual), _u(into)
    best = FAR
    for j in range(_u(size)):
        r = mem[r0 + j] - mem[d0 + j] + offset
        mem[t0 + j] = r
        best = r if r < best else best
    return best


@_inlined
def _scan(mem: Any, row: Any, dual: Any, source: Any, into: Any, size: Any, offset: Any) -> Any:
    """Distances so far, or over the cells of one more row; the least of them."""
    r0, d0, s0, t0 = _u(row), _u(dual), _u(source), _u(into)
    best = FAR
    for j in range(_u(size)):
        r = mem[r0 + j] - mem[d0 + j] + offset
        s = mem[s0 + j]
        s = r if r < s else s
        mem[t0 + j] = s
        best = s if s < best else best
    return best


@_compiled
def _place(mem: Any, at: Any, size: Any, value: Any) -> Any:
    for j in range(size):
        if mem[at + j] == value:
            return _i(j)
    return _i(0)


@_compiled
def _place_reduced(mem: Any, row: Any, dual: Any, size: Any, value: Any) -> Any:
    for j in range(size):
        if mem[row + j] - mem[dual + j] == value:
            return _i(j)
    return _i(0)


@_compiled
def _find_exit(mem: Any, width: Any, cost: Any, stride: Any, i: Any, shift: Any) -> Any:
    """Cheapest column outside the core for row i; FAR where none is left."""
    row, outside = cost + i * stride, OUTSIDE * width
    key = _minimum(mem, row, outside, stride)
    at = _i(0)
    if key < FAR:
        if shift > 0:
            at = key & ((_i(1) << shift) - 1)
        else:
            at = _place_reduced(mem, row, outside, stride, key)
    value = (key >> shift) << shift
    mem[EXIT * width + i] = value
    mem[EXIT_AT * width + i] = at
    return value


@_compiled
def _threshold(mem: Any, m: Any, wanted: Any) -> Any:
    """Return t so that about (and at most) ``wanted`` of the column minima are below it."""
    low, high = mem[0], mem[0]
    for j in range(1, m):
        x = mem[j]
        low = x if x < low else low
        high = x if x > high else high
    for _ in range(12):
        middle = (low + high) >> 1
        below = _i(0)
        for j in range(m):
            below += _i(mem[j] < middle)
        if below > wanted:
            high = middle
        else:
            low = middle
            if below == wanted:
                break
    return low


@_compiled
def _split(mem: Any, width: Any, stride: Any, m: Any, limit: Any, mask: Any) -> Any:
    """Columns with a minimum below the limit form the core; its size."""
    v, original, outside = DUAL_V * width, ORIGINAL * width, OUTSIDE * width
    size = _i(0)
    for j in range(m):
        x = mem[j]
        if x < limit:
            mem[original + size] = j
            mem[v + size] = x - limit
            mem[outside + j] = -FAR
            size += 1
        else:
            mem[outside + j] = -(j & mask)
    for j in range(m, stride):
        mem[outside + j] = -FAR
    return size


@_compiled
def _gather(
    mem: Any,
    width: Any,
    cost: Any,
    stride: Any,
    core: Any,
    pitch: Any,
    flip: Any,
    rows: Any,
    n: Any,
    size: Any,
    padded: Any,
) -> Any:
    """Copy the core's columns (maybe onto themselves), and transpose them, by four rows."""
    original = ORIGINAL * width
    for i in range(0, n, 4):
        i1, i2, i3 = min(i + 1, n - 1), min(i + 2, n - 1), min(i + 3, n - 1)
        c0, c1, c2, c3 = (
            cost + i * stride,
            cost + i1 * stride,
            cost + i2 * stride,
            cost + i3 * stride,
        )
        t0, t1, t2, t3 = core + i * pitch, core + i1 * pitch, core + i2 * pitch, core + i3 * pitch
        for a in range(size):
            j = mem[_u(original + a)]
            x0, x1, x2, x3 = mem[_u(c0 + j)], mem[_u(c1 + j)], mem[_u(c2 + j)], mem[_u(c3 + j)]
            f = flip + a * rows + i
            mem[_u(f)] = x0
            mem[_u(f + 1)] = x1
            mem[_u(f + 2)] = x2
            mem[_u(f + 3)] = x3
            mem[_u(t0 + a)] = x0
            mem[_u(t1 + a)] = x1
            mem[_u(t2 + a)] = x2
            mem[_u(t3 + a)] = x3
        for k in range(i, min(i + 4, n)):
            for a in range(size, padded):
                mem[core + k * pitch + a] = 0
    for a in range(size):
        for i in range((n + 3) & -4, rows):
            mem[flip + a * rows + i] = 0


@_compiled
def _join_core(
    mem: Any,
    width: Any,
    cost: Any,
    stride: Any,
    core: Any,
    pitch: Any,
    flip: Any,
    rows: Any,
    n: Any,
    size: Any,
    leaver: Any,
    mask: Any,
) -> Any:
    """Put the exit of row ``leaver`` into the core, as column ``size``."""
    j = mem[EXIT_AT * width + leaver]
    mem[ORIGINAL * width + size] = j
    mem[DUAL_V * width + size] = 0
    mem[PACKED_V * width + size] = -(size & mask)
    mem[ROW * width + size] = -1
    mem[OUTSIDE * width + j] = -FAR
    fresh = size % LANES == 0
    if fresh:
        for a in range(size + 1, size + LANES):
            mem[PACKED_V * width + a] = -FAR
            for i in range(n):
                mem[core + i * pitch + a] = 0
    for i in range(n):
        x = mem[cost + i * stride + j]
        mem[flip + size * rows + i] = x
        mem[core + i * pitch + size] = x
    for i in range(n, rows):
        mem[flip + size * rows + i] = 0


@_compiled
def _auction(
    mem: Any,
    width: Any,
    cost: Any,
    stride: Any,
    table: Any,
    pitch: Any,
    flip: Any,
    rows: Any,
    n: Any,
    size: Any,
    shift: Any,
    compact: Any,
    step: Any,
) -> Any:
    """Rows bid for columns until each holds one; lowers v, and the core may grow.

    A bid lowers v of the cheapest column to where the second cheapest is as good, and by
    ``step`` more, which keeps rows from taking turns at ties. Only the duals are kept: they
    are close to the best ones, and the exact searches take over from there.
    """
    mask = (_i(1) << shift) - 1
    v, packed_v, row_of = DUAL_V * width, PACKED_V * width, ROW * width
    way_out, exit_at, outside = EXIT * width, EXIT_AT * width, OUTSIDE * width
    waiting = TREE * width
    padded = (size + (LANES - 1)) & -LANES
    for a in range(size):
        mem[packed_v + a] = mem[v + a] - (a & mask)
        mem[row_of + a] = -1
    for a in range(size, padded):
        mem[packed_v + a] = -FAR
    for i in range(n):
        mem[waiting + i] = n - 1 - i
        if compact:
            _find_exit(mem, width, cost, stride, i, shift)
        else:
            mem[way_out + i] = FAR
            mem[exit_at + i] = 0
            mem[outside] = 0
    count = _i(n)
    bids = 20 * n
    while count > 0 and bids > 0:
        bids -= 1
        count -= 1
        i = mem[waiting + count]
        at = table + i * pitch
        key = _minimum(mem, at, packed_v, padded)
        value = (key >> shift) << shift
        leave = mem[way_out + i]
        if leave < value and mem[outside + mem[exit_at + i]] == -FAR:
            leave = _find_exit(mem, width, cost, stride, i, shift)
        if leave < value:
            a = size
            _join_core(mem, width, cost, stride, table, pitch, flip, rows, n, size, i, mask)
            size += 1
            padded = (size + (LANES - 1)) & -LANES
            second = min(value, _find_exit(mem, width, cost, stride, i, shift))
            value = leave
        else:
            a = key & mask if shift > 0 else _place_reduced(mem, at, packed_v, padded, key)
            mem[packed_v + a] = -FAR
            key = _minimum(mem, at, packed_v, padded)
            second = min((key >> shift) << shift, leave)
        # Far below any price that helps, but safe from overflow.
        dual = max(mem[v + a] - (second - value) - step, -(FAR >> 2))
        mem[v + a] = dual
        mem[packed_v + a] = dual - (a & mask)
        loser = mem[row_of + a]
        mem[row_of + a] = i
        if loser >= 0:
            mem[waiting + count] = loser
            count += 1
    return size


@_compiled
def _start(
    mem: Any,
    width: Any,
    cost: Any,
    stride: Any,
    table: Any,
    pitch: Any,
    flip: Any,
    rows: Any,
    n: Any,
    size: Any,
    padded: Any,
    shift: Any,
    compact: Any,
    square: Any,
) -> Any:
    """Row duals; rows take their cheapest column if free, then columns their next row."""
    mask = (_i(1) << shift) - 1
    u, v, packed_u, packed_v = DUAL_U * width, DUAL_V * width, PACKED_U * width, PACKED_V * width
    row_of, column_of = ROW * width, COLUMN * width
    for a in range(size):
        mem[packed_v + a] = mem[v + a] - (a & mask)
        mem[row_of + a] = -1
    for a in range(size, padded):
        mem[packed_v + a] = -FAR
    for i in range(n):
        at = table + i * pitch
        key = _minimum(mem, at, packed_v, padded)
        value = (key >> shift) << shift
        mem[column_of + i] = -1
        leave = FAR
        if compact:
            leave = _find_exit(mem, width, cost, stride, i, shift)
        else:
            mem[EXIT * width + i] = FAR
            mem[EXIT_AT * width + i] = 0
            mem[OUTSIDE * width] = 0
        if leave < value:
            value = leave
        else:
            a = key & mask if shift > 0 else _place_reduced(mem, at, packed_v, padded, key)
            if mem[row_of + a] < 0:
                mem[row_of + a] = i
                mem[column_of + i] = a
        mem[u + i] = value
        mem[packed_u + i] = value - (i & mask)
    for i in range(n, rows):
        mem[packed_u + i] = -FAR
    for a in range(size):
        if mem[row_of + a] < 0 and (square or mem[v + a] < 0):
            at = flip + a * rows
            key = _minimum(mem, at, packed_u, rows)
            value = (key >> shift) << shift
            if square or value < 0:
                i = key & mask if shift > 0 else _place_reduced(mem, at, packed_u, rows, key)
                if mem[column_of + i] < 0:
                    mem[column_of + i] = a
                    mem[row_of + a] = i
            else:
                value = _i(0)
            mem[v + a] = value
            mem[packed_v + a] = value - (a & mask)


@_compiled
def _match_rows(
    mem: Any,
    width: Any,
    cost: Any,
    stride: Any,
    table: Any,
    pitch: Any,
    flip: Any,
    rows: Any,
    n: Any,
    size: Any,
    shift: Any,
) -> Any:
    """Shortest augmenting paths from the rows without a column; the core's new size."""
    mask = (_i(1) << shift) - 1
    u, v, packed_v = DUAL_U * width, DUAL_V * width, PACKED_V * width
    way_out, exit_at, outside = EXIT * width, EXIT_AT * width, OUTSIDE * width
    row_of, column_of = ROW * width, COLUMN * width
    distance, tree, taker = DISTANCE * width, TREE * width, TAKER * width
    for free in range(n):
        if mem[column_of + free] >= 0:
            continue
        i = _i(free)
        steps = _i(0)
        source, into = REACH * width, (REACH + 1) * width
        padded = (size + (LANES - 1)) & -LANES
        dual = mem[u + i]
        key = _first_scan(mem, table + i * pitch, packed_v, source, padded, -dual)
        leave = mem[way_out + i]
        if mem[outside + mem[exit_at + i]] == -FAR:
            leave = _find_exit(mem, width, cost, stride, i, shift)
        leave -= dual
        leaver = i
        while leave > key:
            a = key & mask if shift > 0 else _place(mem, source, padded, key)
            i = mem[_u(row_of + a)]
            if i < 0:
                break
            length = (key >> shift) << shift
            mem[_u(distance + steps)] = length
            mem[_u(tree + steps)] = a
            steps += 1
            mem[_u(packed_v + a)] = -FAR
            mem[_u(source + a)] = FAR
            offset = length - mem[_u(u + i)]
            candidate = mem[_u(way_out + i)] + offset
            if candidate < leave:
                if mem[_u(outside + mem[_u(exit_at + i)])] == -FAR:
                    candidate = _find_exit(mem, width, cost, stride, i, shift) + offset
                if candidate < leave:
                    leave = candidate
                    leaver = i
            key = _scan(mem, table + i * pitch, packed_v, source, into, padded, offset)
            source, into = into, source
        # The path ends in a free column, or in one outside the core, which joins it.
        # Arithmetic is exact, so the way back is found by equality, among earlier steps.
        if leave > key:
            length = (key >> shift) << shift
            end = a
            i = _i(-1)
        else:
            length = leave
            end = size
            _join_core(mem, width, cost, stride, table, pitch, flip, rows, n, size, leaver, mask)
            size += 1
            i = leaver
        a = end
        reached = length
        found = steps
        while True:
            before = found
            found = _i(-1)
            if i >= 0:
                if i != free:
                    for k in range(steps):
                        if mem[row_of + mem[tree + k]] == i:
                            found = _i(k)
                            break
            else:
                i = _i(free)
                at = flip + a * rows
                target = reached + mem[v + a]
                if mem[at + i] - mem[u + i] != target:
                    for k in range(before):
                        i = mem[_u(row_of + mem[_u(tree + k)])]
                        if mem[_u(at + i)] - mem[_u(u + i)] + mem[_u(distance + k)] == target:
                            found = _i(k)
                            break
            mem[taker + a] = i
            if found < 0:
                break
            a = mem[tree + found]
            reached = mem[distance + found]
            i = _i(-1)
        mem[u + free] += length
        for k in range(steps):
            a = mem[_u(tree + k)]
            gain = length - mem[_u(distance + k)]
            mem[_u(u + mem[_u(row_of + a)])] += gain
            value = mem[_u(v + a)] - gain
            mem[_u(v + a)] = value
            mem[_u(packed_v + a)] = value - (a & mask)
        a = end
        while True:
            i = mem[taker + a]
            following = mem[column_of + i]
            mem[row_of + a] = i
            mem[column_of + i] = a
            if i == free:
                break
            a = following
    return size


@_compiled
def _settle_columns(
    mem: Any, width: Any, flip: Any, rows: Any, n: Any, size: Any, shift: Any
) -> Any:
    """Give every unmatched column with v < 0 a row, or raise its v to 0."""
    mask = (_i(1) << shift) - 1
    u, v, packed_u = DUAL_U * width, DUAL_V * width, PACKED_U * width
    row_of, column_of = ROW * width, COLUMN * width
    distance, tree, taker = DISTANCE * width, TREE * width, TAKER * width
    for i in range(n):
        mem[packed_u + i] = mem[u + i] - (i & mask)
    for lone in range(size):
        if mem[row_of + lone] >= 0 or mem[v + lone] >= 0:
            continue
        source, into = REACH * width, (REACH + 1) * width
        best = -mem[v + lone]
        last = _i(-1)
        steps = _i(0)
        key = _first_scan(mem, flip + lone * rows, packed_u, source, rows, best)
        while True:
            length = (key >> shift) << shift
            if length >= best:
                break
            i = key & mask if shift > 0 else _place(mem, source, rows, key)
            mem[_u(packed_u + i)] = -FAR
            mem[_u(source + i)] = FAR
            mem[_u(distance + steps)] = length
            mem[_u(tree + steps)] = i
            a = mem[_u(column_of + i)]
            offset = length - mem[_u(v + a)]
            if offset < best:
                best = offset
                last = steps
            steps += 1
            key = _scan(mem, flip + a * rows, packed_u, source, into, rows, offset)
            source, into = into, source
        k = last
        moves = _i(0)
        given_up = _i(lone) if last < 0 else mem[column_of + mem[tree + last]]
        while k >= 0:
            i = mem[tree + k]
            target = mem[distance + k] + mem[u + i]
            found = _i(-1)
            a = _i(lone)
            if mem[flip + lone * rows + i] - mem[v + lone] != target:
                for earlier in range(k):
                    a = mem[column_of + mem[tree + earlier]]
                    if mem[flip + a * rows + i] - mem[v + a] + mem[distance + earlier] == target:
                        found = _i(earlier)
                        break
            mem[source + moves] = i
            mem[taker + moves] = a
            moves += 1
            k = found
        mem[v + lone] += best
        for k in range(steps):
            i = mem[tree + k]
            gain = best - mem[distance + k]
            mem[u + i] -= gain
            mem[packed_u + i] = mem[u + i] - (i & mask)
            mem[v + mem[column_of + i]] += gain
        if last >= 0:
            mem[row_of + given_up] = -1
        for k in range(moves):
            i = mem[source + k]
            a = mem[taker + k]
            mem[column_of + i] = a
            mem[row_of + a] = i


@_inlined
def solve_rectangular(
    mem: Any,
    width: Any,
    cost: Any,
    stride: Any,
    core: Any,
    flip: Any,
    n: Any,
    m: Any,
    shift: Any,
) -> Any:
    """Least total of an assignment of n rows to m >= n columns, divided by 2**shift.

    Parameters
    ----------
    mem : int64 array
        Its first m numbers are the column minima of the costs. On return the columns of
        the rows are at ``COLUMN * width``.
    width : int
        At least max(n, m) + 2 * LANES.
    cost, stride : int
        Row i of the costs is at ``cost + i * stride``: multiples of 2**shift below 2**60
        in size; stride is m rounded up to a multiple of LANES, the padding holds anything
        below 2**60.
    core, flip : int
        Where the core and its transpose may be put, ``(n + LANES) * (m + LANES)`` each.
    n, m, shift : int
        shift = 0, or 2**shift > max(n, m) + LANES.
    """
    column_of = COLUMN * width
    if n == 1:
        best = mem[0]
        mem[column_of] = 0
        for j in range(1, m):
            if mem[j] < best:
                best = mem[j]
                mem[column_of] = j
        return best >> shift
    mask = (_i(1) << shift) - 1
    square = n == m
    compact = m > 12 and 5 * m > 6 * n
    rows = (n + (LANES - 1)) & -LANES
    limit = _i(0)
    if not square:
        limit = (_threshold(mem, m, _i(CORE_SHARE * n)) >> shift) << shift
    if compact:
        size = _split(mem, width, stride, m, limit, mask)
        padded = (size + (LANES - 1)) & -LANES
        pitch = stride if n >= AUCTION_FROM else (min(m, size + n) + (LANES - 1)) & -LANES
        table = core
        _gather(mem, width, cost, stride, core, pitch, flip, rows, n, size, padded)
    else:
        # Nearly all columns: they are their own core.
        size, padded, pitch, table = m, stride, stride, cost
        for j in range(m):
            x = mem[j]
            mem[DUAL_V * width + j] = x if square else (x - limit if x < limit else 0)
            mem[ORIGINAL * width + j] = j
        _gather(mem, width, cost, stride, cost, stride, flip, rows, n, m, stride)
    if n >= AUCTION_FROM:
        low, high = mem[0], mem[0]
        for j in range(1, m):
            low, high = min(low, mem[j]), max(high, mem[j])
        step = max((high - low) >> (shift + 6), 1) << shift
        size = _auction(
            mem,
            width,
            cost,
            stride,
            table,
            pitch,
            flip,
            rows,
            n,
            size,
            shift,
            compact,
            step,
        )
        padded = (size + (LANES - 1)) & -LANES
    _start(
        mem,
        width,
        cost,
        stride,
        table,
        pitch,
        flip,
        rows,
        n,
        size,
        padded,
        shift,
        compact,
        square,
    )
    size = _match_rows(mem, width, cost, stride, table, pitch, flip, rows, n, size, shift)
    if not square:
        _settle_columns(mem, width, flip, rows, n, size, shift)
    total = _i(0)
    for i in range(n):
        a = mem[column_of + i]
        total += mem[table + i * pitch + a] >> shift
        mem[column_of + i] = mem[ORIGINAL * width + a]
    return total


_solve: Any = njit(nogil=True, cache=True)(solve_rectangular.py_func)


def assign(cost: IntArray, *, packed: bool = True) -> tuple[int, IntArray]:
    """Least total and the column of each row, for whole-number costs with rows <= columns.

    Parameters
    ----------
    cost : int64 array (n, m) with n <= m
    packed : bool, default True
        Keep column numbers in the low bits where there is room for them.
    """
    n, m = cost.shape
    width = m + 2 * LANES
    stride = -(-m // LANES) * LANES
    shift = index_bits(m, float(np.abs(cost).max())) if packed else 0
    area = (n + LANES) * (m + LANES)
    at = N_VECTORS * width
    # Nothing may be read before it is written, so it starts as garbage.
    mem = np.full(at + 3 * area, -(2**62) + 1, dtype=np.int64)
    table = mem[at : at + n * stride].reshape(n, stride)
    table[:, :m] = cost << shift
    table[:, m:] = 0
    mem[:m] = table[:, :m].min(axis=0)
    total = _solve(mem, width, at, stride, at + area, at + 2 * area, n, m, np.int64(shift))
    return int(total), mem[COLUMN * width : COLUMN * width + n].copy()


def index_bits(columns: int, largest: float) -> int:
    """Low bits that hold a column number, or 0 where costs leave no room for them.

    Searches add up to four costs; the sum must stay below 2**60.
    """
    bits = int(columns + LANES).bit_length()
    return bits if columns < 4096 and 4 * largest * 2.0**bits < 2.0**60 else 0
