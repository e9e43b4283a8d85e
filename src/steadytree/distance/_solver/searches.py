"""Shortest augmenting paths: from rows without a column, and from columns that must rise."""

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
    files = ("searches.py", "assignment.py", "pack.py", "kernels.py")
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
