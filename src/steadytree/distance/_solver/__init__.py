"""Solve eq. (distance) for whole collections: which solver, and where things lie in memory.

Two solvers give the same results bit for bit. One goes straight from paths to scipy's
assignment, a pair at a time. The other, ``kernels``, is compiled by numba, many times as fast,
but importing numba takes longer than importing everything else; so it runs where there is enough
to do. Which one runs depends on the sizes of the problem alone.

The compiled solver packs a collection into three pools of whole numbers (``pack``), amounts in
quanta (``distance.equations``), shifted left to make room for column numbers in the low bits::

    meta        a row per distinct tree: its sizes, and where its parts start in the pools
    structure   | coordinate of each operation | nodes: depth, path, first and last operation
                | per tree and coordinate: start of its row in amounts, or -1 | labels |
    amounts     | operations: old, new | rows: a tree's tightenings of one coordinate, by path
                | column terms, by label | outcome vectors | half sums of tightenings |

Two collections are one pool, the second appended to the first. A thread solves its pairs in
one block of memory ``mem``, overwritten by every pair; n rows are the smaller tree's paths, m
columns the larger's, ``stride`` is m rounded up to whole vector registers (``LANES``), but no
multiple of 512 bytes, which would have all rows compete for the same places of the cache::

    0                     16 vectors of ``width`` numbers; number k starts at k * width (``scans``):
                          column minima, duals, partners, a search's distances and steps
    cost                  n x stride: d(p, q) - c(p); row i at cost + i * stride
    core                  the columns worth scanning, gathered: row i at core + i * pitch
    flip                  the core transposed, once it is needed: column a at flip + a * rows
    stack                 a row of zeros, then a row per depth of the walk that builds the costs
    depths                where the row of each depth is: in the stack, or an ancestor's
    learnt                what the paths of every tree were worth when it last was the smaller one

     mem  0            cost             core             flip             stack        depths
          | vectors .. | n x stride ... | n x pitch .... | size x rows .. | rows ..... | .. |
            minima       walk of the      columns with     for searches     depth + 2
            u, v, ...    smaller tree     v < 0 or a       from columns     rows
                         writes it        partner
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from steadytree._io import check_matching
from steadytree._jobs import in_threads, threads_here
from steadytree._optional import numba_if_wanted
from steadytree.distance._solver.pack import distinct_trees, pack
from steadytree.distance.equations import Measure, PathAmounts, in_quanta, path_distances
from steadytree.tree.paths import Paths

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Rows = NDArray[np.intp]

SMALL_PAIRS = 500
SMALL_CELLS = 200_000


# -- one pair ------------------------------------------------------------------------------


class Match(NamedTuple):
    """An optimal matching; costs in quanta.

    ``rows[i]`` of a is matched with ``columns[i]`` of b. ``cost`` is d(p, q) of all pairs,
    ``price`` is c(p) of the larger tree's paths (0 where all have a partner).
    """

    rows: Rows
    columns: Rows
    cost: FloatArray
    price: IntArray
    total: int


def match(a: PathAmounts, b: PathAmounts) -> Match:
    """Solve eq. (distance) for one pair of trees."""
    cost = path_distances(a, b)
    if cost.shape[0] >= cost.shape[1]:
        rows, columns, price, total = assign(cost, a.unmatched)
    else:
        columns, rows, price, total = assign(cost.T, b.unmatched)
    return Match(rows, columns, cost, price, total)


def assign(
    cost: FloatArray, unmatched: Callable[[], IntArray | None]
) -> tuple[Rows, Rows, IntArray, int]:
    """Match at the least total cost, in quanta, where some rows may stay without a column.

    Rows are the larger tree's paths; ``unmatched`` gives c(p) of each, or None where it is
    the distance to the nearest column. Returns rows, columns, c(p) and the total.
    """
    if cost.shape[0] == cost.shape[1]:
        # Every path finds a partner.
        price, reduced = np.zeros(len(cost), dtype=np.int64), cost
    else:
        known = unmatched()
        price = cost.min(axis=1).astype(np.int64) if known is None else known
        reduced = cost - price[:, None]
    rows, columns = linear_sum_assignment(reduced)
    # Summed as integers: a total may need more digits than a float has.
    return rows, columns, price, int(price.sum() + reduced[rows, columns].astype(np.int64).sum())


# -- collections ---------------------------------------------------------------------------


def compiled_solver() -> ModuleType | None:
    """Return ``kernels``; None without numba, or where ``STEADYTREE_NO_NUMBA=1`` is set."""
    if numba_if_wanted() is None:
        return None
    from steadytree.distance._solver import kernels

    return kernels


def pairwise(
    a: Sequence[Paths], b: Sequence[Paths] | None, measure: Measure, n_jobs: int | None = None
) -> FloatArray:
    """Distances between all trees of ``a`` and all of ``b`` (or of ``a``), eq. (distance)."""
    other = a if b is None else b
    check_matching(_most_paths(a), _most_paths(other))
    if _is_small(a, other) or (kernels := compiled_solver()) is None:
        return pairwise_by_scipy(a, b, measure, n_jobs)
    packed = pack(a, measure), None if b is None else pack(b, measure)
    return np.asarray(kernels.pairwise(*packed, n_jobs))


def _is_small(a: Sequence[Paths], b: Sequence[Paths]) -> bool:
    """Whether scipy is done before numba would be imported."""
    pairs = len(a) * len(b)
    return pairs <= SMALL_PAIRS and pairs * _most_paths(a) * _most_paths(b) <= SMALL_CELLS


def _most_paths(trees: Sequence[Paths]) -> int:
    return max(paths.n_paths for paths in trees)


def pairwise_by_scipy(
    a: Sequence[Paths], b: Sequence[Paths] | None, measure: Measure, n_jobs: int | None = None
) -> FloatArray:
    """Distances between collections, one pair at a time."""
    if b is not None and len(a) == len(b) == 1:
        amounts, _ = in_quanta([*a, *b], measure)
        return np.array([[match(*amounts).total * measure.quantum]])
    rows, of_row = distinct_trees(a, measure)
    columns, of_column = (rows, of_row) if b is None else distinct_trees(b, measure)
    amounts, _ = in_quanta(rows if b is None else [*rows, *columns], measure)
    first, second = amounts[: len(rows)], amounts[-len(columns) :]
    out = np.zeros((len(rows), len(columns)))
    turn = itertools.count()

    def work() -> None:
        while (i := next(turn)) < len(first):
            for j in range(i + 1 if b is None else 0, len(second)):
                out[i, j] = match(first[i], second[j]).total * measure.quantum

    in_threads([work] * min(threads_here(n_jobs), len(first)), n_jobs)
    if b is None:
        out += out.T
    return out[np.ix_(of_row, of_column)]
