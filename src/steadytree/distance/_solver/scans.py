"""The inner loops of the assignment, and where its vectors lie in memory.

Written so that they compile to vector instructions without branches: positions are
unsigned (numba then leaves out its check for negative ones), and a scan reads one buffer
and writes another, because updating in place compiles to masked stores, which are slow on
many processors.
"""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numba import njit

__all__ = ["FAR", "N_VECTORS", "compiled", "find_exit", "inlined", "signed", "source_digest"]

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
    files = ("scans.py", "searches.py", "assignment.py", "pack.py", "kernels.py")
    text = b"".join((here / name).read_bytes() for name in files if (here / name).exists())
    return zlib.crc32(text) | 1


@inlined
def minimum(mem: Any, row: Any, dual: Any, size: Any) -> Any:
    """Least reduced cost of a row."""
    r0, d0 = unsigned(row), unsigned(dual)
    best = FAR
    for j in range(unsigned(size)):
        r = mem[r0 + j] - mem[d0 + j]
        best = r if r < best else best
    return best


@inlined
def lower(mem: Any, row: Any, dual: Any, source: Any, into: Any, size: Any) -> Any:
    """Least reduced cost of every column so far, or in one more row."""
    r0, s0, t0 = unsigned(row), unsigned(source), unsigned(into)
    for j in range(unsigned(size)):
        r = mem[r0 + j] - dual
        s = mem[s0 + j]
        mem[t0 + j] = r if r < s else s


@inlined
def first_scan(mem: Any, row: Any, dual: Any, into: Any, size: Any, offset: Any) -> Any:
    """Distances over the cells of one row; the least of them."""
    r0, d0, t0 = unsigned(row), unsigned(dual), unsigned(into)
    best = FAR
    for j in range(unsigned(size)):
        r = mem[r0 + j] - mem[d0 + j] + offset
        mem[t0 + j] = r
        best = r if r < best else best
    return best


@inlined
def scan(mem: Any, row: Any, dual: Any, source: Any, into: Any, size: Any, offset: Any) -> Any:
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
def place(mem: Any, at: Any, size: Any, value: Any) -> Any:
    for j in range(size):
        if mem[at + j] == value:
            return signed(j)
    return signed(0)


@compiled
def place_reduced(mem: Any, row: Any, dual: Any, size: Any, value: Any) -> Any:
    for j in range(size):
        if mem[row + j] - mem[dual + j] == value:
            return signed(j)
    return signed(0)


@compiled
def find_exit(mem: Any, width: Any, cost: Any, stride: Any, i: Any, shift: Any) -> Any:
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
