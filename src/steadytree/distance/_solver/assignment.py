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
  from that column (over the core, transposed for it) gives it a row or raises v to 0.
- Scans without branches: costs are multiples of 2**shift, and the column number in the low
  bits turns "where is the minimum" into "what is the minimum". With ``shift=0`` (very
  large trees or weights) the place is looked up.

The argument lists are long and repeat each other on purpose: gathered in one tuple, with the
loops that open ``_auction`` and ``_start`` shared, small trees took 5 % longer.
"""

# mypy: allow-untyped-defs
from __future__ import annotations

import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numba import njit

from steadytree.distance._solver.pack import CLASHING, LANES

# -- inner loops, and where the vectors lie in memory ----------------------------------
# Written so that they compile to vector instructions without branches: positions are
# unsigned (numba then leaves out its check for negative ones), and a scan reads one buffer
# and writes another, because updating in place compiles to masked stores, which are slow on
# many processors.

# Beyond every sum of costs, which stay below 2**61: marks columns that are out of play.
FAR = np.int64(1) << np.int64(62)
# Vectors of ``width`` numbers at the start of a pair's memory (see the package's docstring).
# The first holds the column minima of the cost matrix, the second helps to build them.
ORIGINAL = 1  # number in the cost matrix of a column of the core
REACH = 2  # distances of a search, two buffers
DUAL_U, DUAL_V = 4, 5
PACKED_V, PACKED_U = 6, 7  # duals with the index in the low bits; -FAR: out of play
OUTSIDE = 8  # as PACKED_V, for columns outside the core; -FAR: inside
EXIT = 9  # cost of the cheapest column outside the core, by row
ROW, COLUMN = 10, 11  # partners: of a column of the core, of a row
DISTANCE, TREE = 12, 13  # a search: distance of each step, and its column (or row)
TAKER = 14  # who takes a column when a search ends
EXIT_AT = 15  # the column of EXIT; if it is inside the core (by now), EXIT is too low
N_VECTORS = 16

# Only entry points, which Python calls, are cached and have wrappers; the rest is compiled
# into them.
_njit: Any = njit  # its stub lacks some options
compiled: Any = _njit(nogil=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)
inlined: Any = _njit(nogil=True, inline="always")
unsigned: Any = np.uint64
signed: Any = np.int64


def source_digest() -> int:
    """Digest of the code that is compiled into an entry point, never 0.

    numba's cache looks at the entry point's own file only. Entry points are closures over
    this number, which makes it part of the cache's key: an edit of any of these files
    compiles anew.
    """
    here = Path(__file__).parent
    files = ("assignment.py", "pack.py", "kernels.py")
    text = b"".join((here / name).read_bytes() for name in files if (here / name).exists())
    return zlib.crc32(text) | 1


@inlined
def minimum(mem, row, dual, size):
    """Least reduced cost of a row."""
    r0, d0 = unsigned(row), unsigned(dual)
    best = FAR
    for j in range(unsigned(size)):
        r = mem[r0 + j] - mem[d0 + j]
        best = r if r < best else best
    return best


@inlined
def lower(mem, row, dual, source, into, size):
    """Least reduced cost of every column so far, or in one more row."""
    r0, s0, t0 = unsigned(row), unsigned(source), unsigned(into)
    for j in range(unsigned(size)):
        r = mem[r0 + j] - dual
        s = mem[s0 + j]
        mem[t0 + j] = r if r < s else s


@inlined
def first_scan(mem, row, dual, into, size, offset):
    """Distances over the cells of one row; the least of them."""
    r0, d0, t0 = unsigned(row), unsigned(dual), unsigned(into)
    best = FAR
    for j in range(unsigned(size)):
        r = mem[r0 + j] - mem[d0 + j] + offset
        mem[t0 + j] = r
        best = r if r < best else best
    return best


@inlined
def scan(mem, row, dual, source, into, size, offset):
    """Distances so far, or over the cells of one more row; the least of them."""
    r0, d0, s0, t0 = unsigned(row), unsigned(dual), unsigned(source), unsigned(into)
    best = FAR
    for j in range(unsigned(size)):
        r = mem[r0 + j] - mem[d0 + j] + offset
        s = mem[s0 + j]
        s = r if r < s else s
        mem[t0 + j] = s
        best = s if s < best else best
    return best


@compiled
def place(mem, at, size, value):
    for j in range(size):
        if mem[at + j] == value:
            return signed(j)
    return signed(0)


@compiled
def place_reduced(mem, row, dual, size, value):
    for j in range(size):
        if mem[row + j] - mem[dual + j] == value:
            return signed(j)
    return signed(0)


@compiled
def find_exit(mem, width, cost, stride, i, shift):
    """Cheapest column outside the core for row i; FAR where none is left."""
    row, outside = cost + i * stride, OUTSIDE * width
    key = minimum(mem, row, outside, stride)
    at = signed(0)
    if key < FAR:
        if shift > 0:
            at = key & ((signed(1) << shift) - 1)
        else:
            at = place_reduced(mem, row, outside, stride, key)
    value = (key >> shift) << shift
    mem[EXIT * width + i] = value
    mem[EXIT_AT * width + i] = at
    return value


# -- shortest augmenting paths ---------------------------------------------------------


@compiled
def join_core(mem, width, cost, stride, core, pitch, n, size, leaver, mask):
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
        mem[core + i * pitch + size] = mem[cost + i * stride + j]


@compiled
def match_rows(mem, width, cost, stride, table, pitch, n, size, shift):
    """Shortest augmenting paths from the rows without a column; the core's new size."""
    mask = (signed(1) << shift) - 1
    u, v, packed_v = DUAL_U * width, DUAL_V * width, PACKED_V * width
    way_out, exit_at, outside = EXIT * width, EXIT_AT * width, OUTSIDE * width
    row_of, column_of = ROW * width, COLUMN * width
    distance, tree, taker = DISTANCE * width, TREE * width, TAKER * width
    for free in range(n):
        if mem[column_of + free] >= 0:
            continue
        i = signed(free)
        steps = signed(0)
        source, into = REACH * width, (REACH + 1) * width
        padded = (size + (LANES - 1)) & -LANES
        dual = mem[u + i]
        key = first_scan(mem, table + i * pitch, packed_v, source, padded, -dual)
        leave = mem[way_out + i]
        if mem[outside + mem[exit_at + i]] == -FAR:
            leave = find_exit(mem, width, cost, stride, i, shift)
        leave -= dual
        leaver = i
        while leave > key:
            a = key & mask if shift > 0 else place(mem, source, padded, key)
            i = mem[unsigned(row_of + a)]
            if i < 0:
                break
            length = (key >> shift) << shift
            mem[unsigned(distance + steps)] = length
            mem[unsigned(tree + steps)] = a
            steps += 1
            mem[unsigned(packed_v + a)] = -FAR
            mem[unsigned(source + a)] = FAR
            offset = length - mem[unsigned(u + i)]
            candidate = mem[unsigned(way_out + i)] + offset
            if candidate < leave:
                if mem[unsigned(outside + mem[unsigned(exit_at + i)])] == -FAR:
                    candidate = find_exit(mem, width, cost, stride, i, shift) + offset
                if candidate < leave:
                    leave = candidate
                    leaver = i
            key = scan(mem, table + i * pitch, packed_v, source, into, padded, offset)
            source, into = into, source
        # The path ends in a free column, or in one outside the core, which joins it.
        # Arithmetic is exact, so the way back is found by equality, among earlier steps.
        if leave > key:
            length = (key >> shift) << shift
            end = a
            i = signed(-1)
        else:
            length = leave
            end = size
            join_core(mem, width, cost, stride, table, pitch, n, size, leaver, mask)
            size += 1
            i = leaver
        a = end
        reached = length
        found = steps
        while True:
            before = found
            found = signed(-1)
            if i >= 0:
                if i != free:
                    for k in range(steps):
                        if mem[row_of + mem[tree + k]] == i:
                            found = signed(k)
                            break
            else:
                i = signed(free)
                at = table + a
                target = reached + mem[v + a]
                if mem[at + i * pitch] - mem[u + i] != target:
                    for k in range(before):
                        i = mem[unsigned(row_of + mem[unsigned(tree + k)])]
                        if (
                            mem[unsigned(at + i * pitch)]
                            - mem[unsigned(u + i)]
                            + mem[unsigned(distance + k)]
                            == target
                        ):
                            found = signed(k)
                            break
            mem[taker + a] = i
            if found < 0:
                break
            a = mem[tree + found]
            reached = mem[distance + found]
            i = signed(-1)
        mem[u + free] += length
        for k in range(steps):
            a = mem[unsigned(tree + k)]
            gain = length - mem[unsigned(distance + k)]
            mem[unsigned(u + mem[unsigned(row_of + a)])] += gain
            value = mem[unsigned(v + a)] - gain
            mem[unsigned(v + a)] = value
            mem[unsigned(packed_v + a)] = value - (a & mask)
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


@compiled
def _transpose(mem, table, pitch, flip, rows, n, size):
    """Columns of the core as rows, by four; what is left over of a row is 0."""
    for i in range(0, n, 4):
        i1, i2, i3 = min(i + 1, n - 1), min(i + 2, n - 1), min(i + 3, n - 1)
        t0, t1 = table + i * pitch, table + i1 * pitch
        t2, t3 = table + i2 * pitch, table + i3 * pitch
        for a in range(size):
            f = flip + a * rows + i
            mem[unsigned(f)] = mem[unsigned(t0 + a)]
            mem[unsigned(f + 1)] = mem[unsigned(t1 + a)]
            mem[unsigned(f + 2)] = mem[unsigned(t2 + a)]
            mem[unsigned(f + 3)] = mem[unsigned(t3 + a)]
    for a in range(size):
        for i in range((n + 3) & -4, rows):
            mem[flip + a * rows + i] = 0


@compiled
def settle_columns(mem, width, table, pitch, flip, n, size, shift):
    """Give every unmatched column with v < 0 a row, or raise its v to 0."""
    mask = (signed(1) << shift) - 1
    u, v, packed_u = DUAL_U * width, DUAL_V * width, PACKED_U * width
    row_of, column_of = ROW * width, COLUMN * width
    distance, tree, taker = DISTANCE * width, TREE * width, TAKER * width
    lones = signed(0)
    for a in range(size):
        lones += signed(mem[row_of + a] < 0 and mem[v + a] < 0)
    if lones == 0:
        return
    rows = (n + (LANES - 1)) & -LANES
    rows += LANES * (rows % CLASHING == 0)
    _transpose(mem, table, pitch, flip, rows, n, size)
    for i in range(n):
        mem[packed_u + i] = mem[u + i] - (i & mask)
    for i in range(n, rows):
        mem[packed_u + i] = -FAR
    for lone in range(size):
        if mem[row_of + lone] >= 0 or mem[v + lone] >= 0:
            continue
        source, into = REACH * width, (REACH + 1) * width
        best = -mem[v + lone]
        last = signed(-1)
        steps = signed(0)
        key = first_scan(mem, flip + lone * rows, packed_u, source, rows, best)
        while True:
            length = (key >> shift) << shift
            if length >= best:
                break
            i = key & mask if shift > 0 else place(mem, source, rows, key)
            mem[unsigned(packed_u + i)] = -FAR
            mem[unsigned(source + i)] = FAR
            mem[unsigned(distance + steps)] = length
            mem[unsigned(tree + steps)] = i
            a = mem[unsigned(column_of + i)]
            offset = length - mem[unsigned(v + a)]
            if offset < best:
                best = offset
                last = steps
            steps += 1
            key = scan(mem, flip + a * rows, packed_u, source, into, rows, offset)
            source, into = into, source
        k = last
        moves = signed(0)
        given_up = signed(lone) if last < 0 else mem[column_of + mem[tree + last]]
        while k >= 0:
            i = mem[tree + k]
            target = mem[distance + k] + mem[u + i]
            found = signed(-1)
            a = signed(lone)
            if mem[flip + lone * rows + i] - mem[v + lone] != target:
                for earlier in range(k):
                    a = mem[column_of + mem[tree + earlier]]
                    if mem[flip + a * rows + i] - mem[v + a] + mem[distance + earlier] == target:
                        found = signed(earlier)
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


# -- one problem: a start, an auction, the searches ------------------------------------

# Share of n whose column minima are below the start's threshold: more matches at once,
# but more columns that must be raised again. Measured flat between 0.8 and 1.
CORE_SHARE = 0.9
# From this many rows on, an auction improves the start: it halves the cells that the
# searches look at in trees of 600 leaves and gains nothing below 100.
AUCTION_FROM = 96


@compiled
def _threshold(mem, m, wanted):
    """Return t so that about (and at most) ``wanted`` of the column minima are below it."""
    low, high = mem[0], mem[0]
    for j in range(1, m):
        x = mem[j]
        low = x if x < low else low
        high = x if x > high else high
    for _ in range(12):
        middle = (low + high) >> 1
        below = signed(0)
        for j in range(m):
            below += signed(mem[j] < middle)
        if below > wanted:
            high = middle
        else:
            low = middle
            if below == wanted:
                break
    return low


@compiled
def _split(mem, width, stride, m, limit, mask):
    """Columns with a minimum below the limit form the core; its size."""
    v, original, outside = DUAL_V * width, ORIGINAL * width, OUTSIDE * width
    size = signed(0)
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


@compiled
def _gather(mem, width, cost, stride, core, pitch, n, size, padded):
    """Copy the core's columns, by four rows."""
    original = ORIGINAL * width
    for i in range(0, n, 4):
        i1, i2, i3 = min(i + 1, n - 1), min(i + 2, n - 1), min(i + 3, n - 1)
        c0, c1 = cost + i * stride, cost + i1 * stride
        c2, c3 = cost + i2 * stride, cost + i3 * stride
        t0, t1, t2, t3 = core + i * pitch, core + i1 * pitch, core + i2 * pitch, core + i3 * pitch
        for a in range(size):
            j = mem[unsigned(original + a)]
            mem[unsigned(t0 + a)] = mem[unsigned(c0 + j)]
            mem[unsigned(t1 + a)] = mem[unsigned(c1 + j)]
            mem[unsigned(t2 + a)] = mem[unsigned(c2 + j)]
            mem[unsigned(t3 + a)] = mem[unsigned(c3 + j)]
        for k in range(i, min(i + 4, n)):
            for a in range(size, padded):
                mem[core + k * pitch + a] = 0


@compiled
def _auction(mem, width, cost, stride, table, pitch, n, size, shift, step):
    """Rows bid for columns until each holds one; lowers v, and the core may grow.

    A bid lowers v of the cheapest column to where the second cheapest is as good, and by
    ``step`` more, which keeps rows from taking turns at ties. Only the duals are kept: they
    are close to the best ones, and the exact searches take over from there.
    """
    mask = (signed(1) << shift) - 1
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
    count = signed(n)
    bids = 20 * n
    while count > 0 and bids > 0:
        bids -= 1
        count -= 1
        i = mem[waiting + count]
        at = table + i * pitch
        key = minimum(mem, at, packed_v, padded)
        value = (key >> shift) << shift
        leave = mem[way_out + i]
        if leave < value and mem[outside + mem[exit_at + i]] == -FAR:
            leave = find_exit(mem, width, cost, stride, i, shift)
        if leave < value:
            a = size
            join_core(mem, width, cost, stride, table, pitch, n, size, i, mask)
            size += 1
            padded = (size + (LANES - 1)) & -LANES
            second = min(value, find_exit(mem, width, cost, stride, i, shift))
            value = leave
        else:
            a = key & mask if shift > 0 else place_reduced(mem, at, packed_v, padded, key)
            mem[packed_v + a] = -FAR
            key = minimum(mem, at, packed_v, padded)
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


@compiled
def _start(mem, width, cost, stride, table, pitch, n, size, padded, shift, square):
    """Row duals; rows take their cheapest column if free, then columns their next row."""
    mask = (signed(1) << shift) - 1
    u, v, packed_u, packed_v = DUAL_U * width, DUAL_V * width, PACKED_U * width, PACKED_V * width
    row_of, column_of = ROW * width, COLUMN * width
    way_out, exit_at, outside = EXIT * width, EXIT_AT * width, OUTSIDE * width
    for a in range(size):
        mem[packed_v + a] = mem[v + a] - (a & mask)
        mem[row_of + a] = -1
    for a in range(size, padded):
        mem[packed_v + a] = -FAR
    for i in range(n):
        at = table + i * pitch
        key = minimum(mem, at, packed_v, padded)
        value = (key >> shift) << shift
        mem[column_of + i] = -1
        leave = mem[way_out + i]
        if leave < value and mem[outside + mem[exit_at + i]] == -FAR:
            leave = find_exit(mem, width, cost, stride, i, shift)
        if leave < value:
            value = leave
        else:
            a = key & mask if shift > 0 else place_reduced(mem, at, packed_v, padded, key)
            if mem[row_of + a] < 0:
                mem[row_of + a] = i
                mem[column_of + i] = a
        mem[u + i] = value
        mem[packed_u + i] = value - (i & mask)
    # The cheapest row of every column, all columns at once; two buffers take turns.
    source, into = REACH * width, (REACH + 1) * width
    for a in range(padded):
        mem[source + a] = FAR
    for i in range(n):
        lower(mem, table + i * pitch, mem[packed_u + i], source, into, padded)
        source, into = into, source
    for a in range(size):
        if mem[row_of + a] < 0 and (square or mem[v + a] < 0):
            key = mem[source + a]
            value = (key >> shift) << shift
            if square or value < 0:
                i = key & mask
                if shift == 0:
                    i = signed(0)
                    while mem[table + i * pitch + a] - mem[u + i] != key:
                        i += 1
                if mem[column_of + i] < 0:
                    mem[column_of + i] = a
                    mem[row_of + a] = i
            else:
                value = signed(0)
            mem[v + a] = value
            mem[packed_v + a] = value - (a & mask)


@inlined
def solve_rectangular(mem, width, cost, stride, core, flip, n, m, shift):
    """Least total of an assignment of n rows to m >= n columns, divided by 2**shift.

    Parameters
    ----------
    mem : int64 array
        Its first m numbers are the column minima of the costs. On return the columns of
        the rows are at ``COLUMN * width``, and from two rows on their duals at
        ``DUAL_U * width``.
    width : int
        At least max(n, m) + 2 * LANES.
    cost, stride : int
        Row i of the costs is at ``cost + i * stride``: multiples of 2**shift below 2**59
        in size; stride is a multiple of LANES from m on, the padding holds anything below
        2**59.
    core, flip : int
        Where the core and its transpose may be put, ``(n + 2 * LANES) * (m + 2 * LANES)`` each.
    n, m, shift : int
        shift = 0, or 2**shift >= max(n, m).
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
    mask = (signed(1) << shift) - 1
    square = n == m
    compact = m > 12 and 5 * m > 6 * n
    limit = signed(0)
    if not square:
        limit = (_threshold(mem, m, signed(CORE_SHARE * n)) >> shift) << shift
    if compact:
        size = _split(mem, width, stride, m, limit, mask)
        padded = (size + (LANES - 1)) & -LANES
        pitch = stride if n >= AUCTION_FROM else (min(m, size + n) + (LANES - 1)) & -LANES
        table = core
        _gather(mem, width, cost, stride, core, pitch, n, size, padded)
    else:
        # Nearly all columns: they are their own core.
        size, padded, pitch, table = m, stride, stride, cost
        for j in range(m):
            x = mem[j]
            mem[DUAL_V * width + j] = x if square else (x - limit if x < limit else 0)
            mem[ORIGINAL * width + j] = j
    # No column outside the core costs less than the limit. That will do as a row's exit until
    # it matters: the place after the last column counts as inside, so it is then looked for.
    mem[OUTSIDE * width + width - 1] = -FAR if compact else 0
    for i in range(n):
        mem[EXIT * width + i] = limit if compact else FAR
        mem[EXIT_AT * width + i] = width - 1
    if n >= AUCTION_FROM:
        low, high = mem[0], mem[0]
        for j in range(1, m):
            low, high = min(low, mem[j]), max(high, mem[j])
        # A small part of the spread; of a square problem, where minima spread less, a larger.
        step = max((high - low) >> (shift + (5 if square else 6)), 1) << shift
        size = _auction(mem, width, cost, stride, table, pitch, n, size, shift, step)
        padded = (size + (LANES - 1)) & -LANES
    _start(mem, width, cost, stride, table, pitch, n, size, padded, shift, square)
    size = match_rows(mem, width, cost, stride, table, pitch, n, size, shift)
    if not square:
        settle_columns(mem, width, table, pitch, flip, n, size, shift)
    total = signed(0)
    for i in range(n):
        a = mem[column_of + i]
        total += mem[table + i * pitch + a] >> shift
        mem[column_of + i] = mem[ORIGINAL * width + a]
    return total


def index_bits(columns: int, largest: float) -> int:
    """Low bits that hold a column number, or 0 where costs leave no room for them.

    Searches add up to four costs; the sum must stay below 2**61.
    """
    bits = int(columns - 1).bit_length()
    return bits if bits <= 12 and 4 * largest * 2.0**bits < 2.0**61 else 0
