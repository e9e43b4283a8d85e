"""Solve eq. (distance) for whole collections: which solver, and where things lie in memory.

Two solvers give the same results bit for bit. One goes straight from paths to scipy's
assignment, a pair at a time. The other, ``kernels``, is compiled by numba, many times as fast,
but importing numba takes longer than importing everything else; so it runs where there is enough
to do. Which one runs depends on the sizes of the problem alone.

The compiled solver packs a collection into three pools of whole numbers (``pack``), amounts in
quanta (``distance.variants``), shifted left to make room for column numbers in the low bits::

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
from collections.abc import Callable, Iterator, Sequence
from types import ModuleType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from steadytree._io import check_matching
from steadytree._jobs import in_threads, is_elsewhere, run_jobs, threads_here
from steadytree._optional import numba_if_wanted
from steadytree.distance._solver.pack import PackedCollection, distinct_trees, pack
from steadytree.distance.variants import Measure, PathAmounts, in_quanta, path_distances
from steadytree.tree.paths import Paths

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Rows = NDArray[np.intp]
Part = PackedCollection | tuple[tuple[Paths, ...], Measure]
"""Some trees as a solver takes them: packed for the compiled one, or as paths."""
Normalise = Callable[[FloatArray, Rows, Rows], FloatArray]

SMALL_PAIRS = 500
SMALL_CELLS = 200_000

PART_LEAVES = 12_000
"""Leaves of a part: 200 trees of 60. Two such parts take about a second of one core."""
PART_TREES = 1_024
"""Trees of a part at most: a block of results then is 8 MiB."""
BAND_CELLS = 2**24
"""Cells of a band, a part's distances to everything, at most: 128 MiB."""
LARGE_MATRIX = 2**24
"""Cells from which on a matrix is filled block by block: the copies made of it would count."""


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
    out: FloatArray = kernels.pairwise(
        pack(a, measure), None if b is None else pack(b, measure), n_jobs
    )
    return out


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


# -- block by block ------------------------------------------------------------------------
# For matrices larger than memory, and for more than one machine. The distinct trees are cut
# into parts of about as many leaves each, and every part of one collection meets every part of
# the other in a job of about a second. A distance depends on its two trees alone, so neither
# the parts nor who computes them change a bit of it.


def prepare_part(paths: Sequence[Paths], measure: Measure) -> Part:
    """Lay out some trees, all different, for :func:`part_distances`."""
    if compiled_solver() is None:
        return tuple(paths), measure
    return pack(paths, measure, deduplicate=False)


def part_distances(a: Part, b: Part | None) -> FloatArray:
    """Distances between all trees of one part and all of another (or of the same), in one thread.

    On a cluster this runs on a worker, whose solver is that of who prepared the parts.
    """
    if isinstance(a, PackedCollection):
        from steadytree.distance._solver import kernels

        assert b is None or isinstance(b, PackedCollection)
        out: FloatArray = kernels.pairwise(a, b, 1)
        return out
    paths, measure = a
    assert not isinstance(b, PackedCollection)
    return pairwise_by_scipy(paths, None if b is None else b[0], measure, 1)


def is_large(a: Sequence[Paths], b: Sequence[Paths]) -> bool:
    """Whether the matrix of all distances is better never made as a whole."""
    return len(a) * len(b) > LARGE_MATRIX


def by_blocks(a: Sequence[Paths], b: Sequence[Paths] | None) -> bool:
    """Whether a matrix is large, or other machines are there and more to do than one job."""
    b = a if b is None else b
    if is_large(a, b):
        return True
    if not is_elsewhere():
        return False
    rows, columns = (sum(paths.n_paths for paths in side) for side in (a, b))
    return rows * columns > PART_LEAVES**2


class _Share(NamedTuple):
    """Some distinct trees of a collection, and the trees given that equal one of them."""

    trees: slice
    at: Rows
    """Where the trees given stand,"""
    local: Rows
    """and which of the part each is."""


class DistanceBlocks:
    """All distances between two collections, or within one, without their matrix.

    Parameters
    ----------
    a, b : sequences of Paths
        Without b, all pairs within a, each computed once.
    measure : Measure
    n_jobs : int, optional
        Threads; or the workers of the cluster that joblib was told to use.
    """

    def __init__(
        self,
        a: Sequence[Paths],
        b: Sequence[Paths] | None,
        measure: Measure,
        *,
        n_jobs: int | None = None,
    ) -> None:
        self._measure, self._symmetric = measure, b is None
        self._n_jobs = n_jobs
        self._a, of_row = distinct_trees(a, measure)
        self._b, self._of_column = (self._a, of_row) if b is None else distinct_trees(b, measure)
        most = max(1, min(PART_TREES, BAND_CELLS // len(self._of_column)))
        self._rows = _shares(self._a, of_row, most)
        self._columns = self._rows if b is None else _shares(self._b, self._of_column, PART_TREES)

    def fill(self, out: FloatArray, normalise: Normalise) -> None:
        """Write the distances into a matrix, or a memory map of one, as they come."""
        for rows, columns, values in self._blocks():
            values = values[np.ix_(rows.local, columns.local)]
            out[np.ix_(rows.at, columns.at)] = normalise(values, rows.at, columns.at)
            if self._symmetric and rows is not columns:
                out[np.ix_(columns.at, rows.at)] = normalise(values.T, columns.at, rows.at)

    def means(self, normalise: Normalise) -> FloatArray:
        """Mean distance of each tree of a to those of b (or to all of a, itself included)."""
        # Of one collection each block counts for its rows and for its columns. The blocks come
        # row by row, so that every sum is made in the order of the columns, whoever computed them.
        every = np.arange(len(self._of_column))
        if not self._symmetric:
            out = np.empty(sum(rows.at.size for rows in self._rows))
            for at, band in self.bands():
                out[at] = normalise(band, at, every).mean(axis=1)
            return out
        total = np.zeros(every.size)
        for rows, columns, values in self._blocks():
            values = values[np.ix_(rows.local, columns.local)]
            total[rows.at] += normalise(values, rows.at, columns.at).sum(axis=1)
            if rows is not columns:
                mirrored = np.ascontiguousarray(values.T)
                total[columns.at] += normalise(mirrored, columns.at, rows.at).sum(axis=1)
        return total / total.size

    def bands(self) -> Iterator[tuple[Rows, FloatArray]]:
        """Give some rows of a at a time, and their raw distances to all of b."""
        assert not self._symmetric
        for _, blocks in itertools.groupby(self._blocks(), lambda block: block[0].trees.start):
            row = list(blocks)
            band = np.concatenate([values for *_, values in row], axis=1)
            rows = row[0][0]
            yield rows.at, band[np.ix_(rows.local, self._of_column)]

    def _blocks(self) -> Iterator[tuple[_Share, _Share, FloatArray]]:
        """All blocks of raw distances, row by row; of one collection, those from the diagonal."""
        columns = [self._packed(self._b, part) for part in self._columns]
        plan = [
            (i, j)
            for i in range(len(self._rows))
            for j in range(i if self._symmetric else 0, len(columns))
        ]
        results = run_jobs(part_distances, self._jobs(plan, columns), n_jobs=self._n_jobs)
        for (i, j), values in zip(plan, results, strict=True):
            yield self._rows[i], self._columns[j], values

    def _jobs(
        self, plan: Sequence[tuple[int, int]], columns: Sequence[Part]
    ) -> Iterator[tuple[Part, Part | None]]:
        """Arguments of each job; a part of the rows is made when its turn comes."""
        for i, row in itertools.groupby(plan, lambda at: at[0]):
            part = columns[i] if self._symmetric else self._packed(self._a, self._rows[i])
            for _, j in row:
                yield part, None if self._symmetric and i == j else columns[j]

    def _packed(self, trees: Sequence[Paths], part: _Share) -> Part:
        return prepare_part(trees[part.trees], self._measure)


def _shares(trees: Sequence[Paths], inverse: Rows, most: int) -> list[_Share]:
    """Cut a collection into parts of about the same number of leaves."""
    leaves = np.cumsum([paths.n_paths for paths in trees])
    count = max(-(-int(leaves[-1]) // PART_LEAVES), -(-len(trees) // most))
    # The part of a tree is that of its last leaf.
    number = -(-leaves * count // leaves[-1])
    cuts = [0, *(np.flatnonzero(np.diff(number)) + 1).tolist(), len(trees)]
    shares = []
    for start, end in itertools.pairwise(cuts):
        for first in range(start, end, most):
            last = min(first + most, end)
            at = np.flatnonzero((inverse >= first) & (inverse < last))
            shares.append(_Share(slice(first, last), at, inverse[at] - first))
    return shares
