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

__all__ = ["FAR", "N_VECTORS", "assign", "solve_rectangular"]

IntArray = NDArray[np.int64]

# Beyond every cost: marks columns that are out of play. Costs stay below 2**60.
FAR = np.int64(1) << np.int64(61)
# The workspace holds this many vectors of ``width`` numbers.
N_VECTORS = 15
# Share of n whose column minima are below the start's threshold: more matches at once,
# but more columns that must be raised again. Measured flat between 0.8 and 1.
CORE_SHARE = 0.9

_compiled: Any = njit(nogil=True, cache=True)
_inlined: Any = njit(nogil=True, cache=True, inline="always")
# Offsets are unsigned: numba then leaves out the check for negative positions.
_u: Any = np.uint64
_i: Any = np.int64


@_inlined
def _minimum(cost: Any, at: Any, work: Any, dual: Any, size: Any) -> Any:
    best = FAR
    for j in range(size):
        r = cost[at + j] - work[dual + j]
        best = r if r < best else best
    return best


@_inlined
def _first_scan(cost: Any, at: Any, work: Any, dual: Any, into: Any, size: Any, offset: Any) -> Any:
    best = FAR
    for j in range(size):
        r = cost[at + j] - work[dual + j] + offset
        work[into + j] = r
        best = r if r < best else best
    return best


@_inlined
def _scan(
    cost: Any, at: Any, work: Any, dual: Any, source: Any, into: Any, size: Any, offset: Any
) -> Any:
    best = FAR
    for j in range(size):
        r = cost[at + j] - work[dual + j] + offset
        s = work[source + j]
        s = r if r < s else s
        work[into + j] = s
        best = s if s < best else best
    return best


@_compiled
def _place(work: Any, at: Any, size: Any, value: Any) -> Any:
    for j in range(size):
        if work[at + j] == value:
            return _i(j)
    return _i(0)


@_compiled
def _place_reduced(cost: Any, at: Any, work: Any, dual: Any, size: Any, value: Any) -> Any:
    for j in range(size):
        if cost[at + j] - work[dual + j] == value:
            return _i(j)
    return _i(0)


@_compiled
def _threshold(work: Any, m: Any, wanted: Any) -> Any:
    """Return t so that about (and at most) ``wanted`` of the first m numbers are below it."""
    low, high = work[0], work[0]
    for j in range(1, m):
        x = work[j]
        low = x if x < low else low
        high = x if x > high else high
    for _ in range(12):
        middle = (low + high) >> 1
        below = _i(0)
        for j in range(m):
            below += _i(work[j] < middle)
        if below > wanted:
            high = middle
        else:
            low = middle
            if below == wanted:
                break
    return low


@_compiled
def solve_rectangular(
    cost: Any, stride: Any, core: Any, flip: Any, work: Any, width: Any, n: Any, m: Any, shift: Any
) -> Any:
    """Least total of an assignment of n rows to m >= n columns, divided by 2**shift.

    Parameters
    ----------
    cost : int64 array
        Row i at ``i * stride``; multiples of 2**shift below 2**60 in size.
    stride : int
        m rounded up to a multiple of 4; what stands in the padding does not matter.
    core, flip : int64 arrays
        Space for the core and its transpose.
    work : int64 array of N_VECTORS * width
        Its first m numbers are the column minima of ``cost``. On return the columns of the
        rows are at ``COLUMN * width``.
    width : int
        At least max(n, m) + 4.
    n, m, shift : int
        shift = 0, or 2**shift > m + 3.
    """
    # Vectors in the workspace: distances (two buffers), duals with and without the packed
    # index, duals of columns outside the core, exits, partners, the search tree.
    reach, u, v = 2 * width, 4 * width, 5 * width
    packed_v, packed_u, outside = 6 * width, 7 * width, 8 * width
    way_out, row_of, column_of = 9 * width, 10 * width, 11 * width
    distance, tree, taker, original = 12 * width, 13 * width, 14 * width, 1 * width
    mask = (_i(1) << shift) - 1
    square = n == m
    if n == 1:
        b = work[0]
        at = _i(0)
        for j in range(1, m):
            if work[j] < b:
                b = work[j]
                at = _i(j)
        work[column_of] = at
        return b >> shift

    # The core: columns that start with v < 0, or all of them where that is most of them.
    compact = m > 12 and 5 * m > 6 * n
    limit = _i(0)
    if not square:
        limit = (_threshold(work, m, _i(CORE_SHARE * n)) >> shift) << shift
    size = _i(0)
    if compact:
        for j in range(m):
            x = work[j]
            if x < limit:
                work[original + size] = j
                work[v + size] = x - limit
                work[outside + j] = -FAR
                size += 1
            else:
                work[outside + j] = -(j & mask)
        for j in range(m, stride):
            work[outside + j] = -FAR
        pitch = (min(m, size + n) + 3) & ~3
        for i in range(n):
            source, into = _u(i * stride), _u(i * pitch)
            for a in range(_u(size)):
                core[into + a] = cost[source + _u(work[_u(original) + a])]
            for a in range(_u(size), _u((size + 3) & ~3)):
                core[into + a] = 0
        table = core
    else:
        size = m
        pitch = stride
        table = cost
        for j in range(m):
            x = work[j]
            work[v + j] = x if square else (x - limit if x < limit else 0)
            work[original + j] = j
    padded = (size + 3) & ~3
    rows = (n + 3) & ~3
    for a in range(size):
        work[packed_v + a] = work[v + a] - (a & mask)
        work[row_of + a] = -1
    for a in range(size, padded):
        work[packed_v + a] = -FAR
    for i in range(n):
        source, into = _u(i * pitch), _u(i)
        for a in range(_u(size)):
            flip[a * _u(rows) + into] = table[source + a]
    for a in range(size):
        for i in range(n, rows):
            flip[a * rows + i] = 0

    # Row duals; rows take their cheapest column while it is free.
    for i in range(n):
        at = _u(i * pitch)
        key = _minimum(table, at, work, _u(packed_v), _u(padded))
        value = (key >> shift) << shift
        work[column_of + i] = -1
        work[way_out + i] = FAR
        if compact:
            leave = _minimum(cost, _u(i * stride), work, _u(outside), _u(stride))
            work[way_out + i] = leave
            leave = (leave >> shift) << shift
            if leave < value:
                work[u + i] = leave
                work[packed_u + i] = leave - (i & mask)
                continue
        work[u + i] = value
        work[packed_u + i] = value - (i & mask)
        a = (
            key & mask
            if shift > 0
            else _place_reduced(table, at, work, _u(packed_v), _u(padded), key)
        )
        if work[row_of + a] < 0:
            work[row_of + a] = i
            work[column_of + i] = a
    for i in range(n, rows):
        work[packed_u + i] = -FAR

    # Columns without a row rise to their next tight row, at most to 0.
    for a in range(size):
        if work[row_of + a] < 0 and (square or work[v + a] < 0):
            at = _u(a * rows)
            key = _minimum(flip, at, work, _u(packed_u), _u(rows))
            value = (key >> shift) << shift
            if square or value < 0:
                i = (
                    key & mask
                    if shift > 0
                    else _place_reduced(flip, at, work, _u(packed_u), _u(rows), key)
                )
                if work[column_of + i] < 0:
                    work[column_of + i] = a
                    work[row_of + a] = i
            else:
                value = _i(0)
            work[v + a] = value
            work[packed_v + a] = value - (a & mask)

    # Shortest augmenting paths from the free rows.
    for free in range(n):
        if work[column_of + free] >= 0:
            continue
        i = free
        steps = 0
        source, into = reach, reach + width
        padded = (size + 3) & ~3
        dual = work[u + i]
        key = _first_scan(table, _u(i * pitch), work, _u(packed_v), _u(source), _u(padded), -dual)
        leave = ((work[way_out + i] - dual) >> shift) << shift
        leaver = _i(i)
        via = _i(-1)
        while True:
            if leave <= key:
                # The path ends in a column outside the core, which joins the core.
                length = leave
                end = size
                via = leaver
                exit_key = work[way_out + leaver]
                j = (
                    exit_key & mask
                    if shift > 0
                    else _place_reduced(
                        cost, _u(leaver * stride), work, _u(outside), _u(stride), exit_key
                    )
                )
                work[original + end] = j
                work[v + end] = 0
                work[packed_v + end] = -(end & mask)
                work[row_of + end] = -1
                work[outside + j] = -FAR
                fresh = (size & 3) == 0
                size += 1
                if fresh:
                    for a in range(end + 1, end + 4):
                        work[packed_v + a] = -FAR
                for r in range(n):
                    c = cost[r * stride + j]
                    flip[end * rows + r] = c
                    table[r * pitch + end] = c
                    if fresh:
                        for a in range(end + 1, end + 4):
                            table[r * pitch + a] = 0
                    if work[way_out + r] == c + (j & mask):
                        work[way_out + r] = _minimum(
                            cost, _u(r * stride), work, _u(outside), _u(stride)
                        )
                for r in range(n, rows):
                    flip[end * rows + r] = 0
                break
            a = key & mask if shift > 0 else _place(work, _u(source), _u(padded), key)
            length = (key >> shift) << shift
            i = work[row_of + a]
            if i < 0:
                end = a
                break
            work[distance + steps] = length
            work[tree + steps] = a
            steps += 1
            work[packed_v + a] = -FAR
            work[source + a] = FAR
            offset = length - work[u + i]
            candidate = ((work[way_out + i] + offset) >> shift) << shift
            if candidate < leave:
                leave = candidate
                leaver = _i(i)
            key = _scan(
                table,
                _u(i * pitch),
                work,
                _u(packed_v),
                _u(source),
                _u(into),
                _u(padded),
                offset,
            )
            source, into = into, source
        # Arithmetic is exact, so the way back is found by equality, among earlier steps.
        a = end
        reached = length
        before = steps
        while True:
            found = -1
            i = _i(free)
            if via >= 0:
                i = via
                if via != free:
                    for k in range(steps):
                        if work[row_of + work[tree + k]] == via:
                            found = k
                            break
                via = _i(-1)
            else:
                at_a = a * rows
                target = reached + work[v + a]
                if flip[at_a + free] - work[u + free] != target:
                    for k in range(before):
                        i = work[row_of + work[tree + k]]
                        if flip[at_a + i] - work[u + i] + work[distance + k] == target:
                            found = k
                            break
            work[taker + a] = i
            if found < 0:
                break
            before = found
            a = work[tree + found]
            reached = work[distance + found]
        work[u + free] += length
        for k in range(steps):
            a = work[tree + k]
            gain = length - work[distance + k]
            work[u + work[row_of + a]] += gain
            value = work[v + a] - gain
            work[v + a] = value
            work[packed_v + a] = value - (a & mask)
        a = end
        while True:
            i = work[taker + a]
            following = work[column_of + i]
            work[row_of + a] = i
            work[column_of + i] = a
            if i == free:
                break
            a = following

    # Unmatched columns with v < 0: find them a row, or raise v to 0.
    if not square:
        for i in range(n):
            work[packed_u + i] = work[u + i] - (i & mask)
        for lone in range(size):
            if work[row_of + lone] >= 0 or work[v + lone] >= 0:
                continue
            source, into = reach, reach + width
            best = -work[v + lone]
            last = -1
            steps = 0
            key = _first_scan(flip, _u(lone * rows), work, _u(packed_u), _u(source), _u(rows), best)
            while True:
                length = (key >> shift) << shift
                if length >= best:
                    break
                i = key & mask if shift > 0 else _place(work, _u(source), _u(rows), key)
                work[packed_u + i] = -FAR
                work[source + i] = FAR
                work[distance + steps] = length
                work[tree + steps] = i
                a = work[column_of + i]
                offset = length - work[v + a]
                if offset < best:
                    best = offset
                    last = steps
                steps += 1
                key = _scan(
                    flip,
                    _u(a * rows),
                    work,
                    _u(packed_u),
                    _u(source),
                    _u(into),
                    _u(rows),
                    offset,
                )
                source, into = into, source
            k = last
            moves = 0
            given_up = _i(lone) if last < 0 else work[column_of + work[tree + last]]
            while k >= 0:
                i = work[tree + k]
                target = work[distance + k] + work[u + i]
                found = -1
                a = _i(lone)
                if flip[lone * rows + i] - work[v + lone] != target:
                    for earlier in range(k):
                        a = work[column_of + work[tree + earlier]]
                        if flip[a * rows + i] - work[v + a] + work[distance + earlier] == target:
                            found = earlier
                            break
                work[source + moves] = i
                work[taker + moves] = a
                moves += 1
                k = found
            work[v + lone] += best
            for k in range(steps):
                i = work[tree + k]
                gain = best - work[distance + k]
                work[u + i] -= gain
                work[packed_u + i] = work[u + i] - (i & mask)
                work[v + work[column_of + i]] += gain
            if last >= 0:
                work[row_of + given_up] = -1
            for k in range(moves):
                i = work[source + k]
                a = work[taker + k]
                work[column_of + i] = a
                work[row_of + a] = i

    total = _i(0)
    for i in range(n):
        a = work[column_of + i]
        total += table[i * pitch + a] >> shift
        work[column_of + i] = work[original + a]
    return total


COLUMN = 11


def assign(cost: IntArray, *, packed: bool = True) -> tuple[int, IntArray]:
    """Least total and the column of each row, for whole-number costs with rows <= columns.

    Parameters
    ----------
    cost : int64 array (n, m) with n <= m
    packed : bool, default True
        Keep column numbers in the low bits where there is room for them.
    """
    n, m = cost.shape
    width = max(n, m) + 2 * 4
    stride = (m + 3) & ~3
    shift = index_bits(m, float(np.abs(cost).max())) if packed else 0
    table = np.zeros((n, stride), dtype=np.int64)
    table[:, :m] = cost << shift
    work = np.zeros(N_VECTORS * width, dtype=np.int64)
    work[:m] = table[:, :m].min(axis=0)
    core, flip = (np.zeros((width + 4) * (width + 4), dtype=np.int64) for _ in range(2))
    total = solve_rectangular(table.ravel(), stride, core, flip, work, width, n, m, _i(shift))
    return int(total), work[COLUMN * width : COLUMN * width + n].copy()


def index_bits(columns: int, largest: float) -> int:
    """Low bits that hold a column number, or 0 where costs leave no room for them.

    Searches add up to four costs; the sum must stay below 2**60.
    """
    bits = int(columns + 4).bit_length()
    return bits if columns < 4096 and 4 * largest * 2.0**bits < 2.0**60 else 0
