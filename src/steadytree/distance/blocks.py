"""Distances block by block: for matrices larger than memory, and for more than one machine.

The distinct trees are cut into parts of about as many leaves each, and every part of one
collection meets every part of the other in a job of about a second. A distance depends on its
two trees alone, so neither the parts nor who computes them change a bit of it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from steadytree._jobs import Shared, Workers
from steadytree.distance._solver import Part, part_distances, prepare_part
from steadytree.distance._solver.pack import distinct_trees
from steadytree.distance.variants import Measure
from steadytree.tree.paths import Paths

FloatArray = NDArray[np.float64]
Rows = NDArray[np.intp]

PART_LEAVES = 12_000
"""Leaves of a part: 200 trees of 60. Two such parts take about a second of one core."""
PART_TREES = 1_024
"""Trees of a part at most: a block of results then is 8 MiB."""
BAND_CELLS = 2**24
"""Cells of a band, a part's distances to everything, at most: 128 MiB."""
LARGE_MATRIX = 2**24
"""Cells from which on a matrix is filled block by block: the copies made of it would count."""

Normalise = Callable[[FloatArray, Rows, Rows], FloatArray]


def is_large(a: Sequence[Paths], b: Sequence[Paths]) -> bool:
    """Whether the matrix of all distances is better never made as a whole."""
    return len(a) * len(b) > LARGE_MATRIX


def by_blocks(a: Sequence[Paths], b: Sequence[Paths] | None) -> bool:
    """Whether a matrix is large, or other machines are there and more to do than one job."""
    b = a if b is None else b
    if is_large(a, b):
        return True
    if not Workers(None).elsewhere:
        return False
    leaves = [sum(paths.n_paths for paths in side) for side in (a, b)]
    return leaves[0] * leaves[1] > PART_LEAVES**2


def _as_it_is(distances: FloatArray, rows: Rows, columns: Rows) -> FloatArray:
    return distances


class Block(NamedTuple):
    """Raw distances of some distinct trees of one collection to some of the other."""

    rows: slice
    columns: slice
    values: FloatArray


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
        self._workers = Workers(n_jobs)
        self._a, self._of_row = distinct_trees(a, measure)
        self._b, self._of_column = (
            (self._a, self._of_row) if b is None else distinct_trees(b, measure)
        )
        most = max(1, min(PART_TREES, BAND_CELLS // len(self._of_column)))
        self._rows = _parts(self._a, most)
        self._columns = self._rows if b is None else _parts(self._b, PART_TREES)

    def fill(self, out: FloatArray, normalise: Normalise = _as_it_is) -> None:
        """Write the distances into a matrix, or a memory map of one, as they come."""
        for block in self._blocks():
            rows, columns = self._given(block)
            values = block.values[np.ix_(rows.local, columns.local)]
            out[np.ix_(rows.at, columns.at)] = normalise(values, rows.at, columns.at)
            if self._symmetric and block.rows != block.columns:
                mirrored = normalise(values.T, columns.at, rows.at)
                out[np.ix_(columns.at, rows.at)] = mirrored

    def means(self, normalise: Normalise) -> FloatArray:
        """Mean distance of each tree of a to those of b (or to all of a, itself included)."""
        if self._symmetric:
            return self._means_of_triangle(normalise)
        out = np.empty(len(self._of_row))
        for rows, band in self.bands():
            out[rows] = normalise(band, rows, np.arange(len(self._of_column))).mean(axis=1)
        return out

    def bands(self) -> Iterator[tuple[Rows, FloatArray]]:
        """Give some rows of a at a time, and their raw distances to all of b."""
        assert not self._symmetric
        for _, blocks in itertools.groupby(self._blocks(), lambda block: block.rows.start):
            row = list(blocks)
            rows, _ = self._given(row[0])
            band = np.concatenate([block.values for block in row], axis=1)
            yield rows.at, band[np.ix_(rows.local, self._of_column)]

    def _means_of_triangle(self, normalise: Normalise) -> FloatArray:
        # Each block counts for its rows and for its columns. The blocks come row by row, so that
        # every sum is made in the order of the columns, whoever computed them.
        total = np.zeros(len(self._of_row))
        for block in self._blocks():
            rows, columns = self._given(block)
            values = block.values[np.ix_(rows.local, columns.local)]
            total[rows.at] += normalise(values, rows.at, columns.at).sum(axis=1)
            if block.rows != block.columns:
                mirrored = np.ascontiguousarray(values.T)
                total[columns.at] += normalise(mirrored, columns.at, rows.at).sum(axis=1)
        return total / total.size

    def _given(self, block: Block) -> tuple[_Given, _Given]:
        return _Given.of(self._of_row, block.rows), _Given.of(self._of_column, block.columns)

    def _blocks(self) -> Iterator[Block]:
        """All blocks, row by row; of one collection, those from the diagonal on."""
        columns = [self._share(self._b[part]) for part in self._columns]
        plan = [
            (i, j)
            for i in range(len(self._rows))
            for j in range(i if self._symmetric else 0, len(self._columns))
        ]
        jobs = self._jobs(plan, columns)
        results = self._workers.run(part_distances, jobs, stream=True)
        for (i, j), values in zip(plan, results, strict=True):
            yield Block(self._rows[i], self._columns[j], values)

    def _jobs(
        self, plan: Sequence[tuple[int, int]], columns: Sequence[Shared]
    ) -> Iterator[tuple[Shared, Shared | None]]:
        """Arguments of each job; a part of the rows is made when its turn comes."""
        for i, row in itertools.groupby(plan, lambda at: at[0]):
            part = columns[i] if self._symmetric else self._share(self._a[self._rows[i]])
            for _, j in row:
                yield part, None if self._symmetric and i == j else columns[j]

    def _share(self, paths: Sequence[Paths]) -> Shared:
        part: Part = prepare_part(paths, self._measure)
        return self._workers.share(part)


class _Given(NamedTuple):
    """The trees given that are those of one part: where they stand, and which of it they are."""

    at: Rows
    local: Rows

    @classmethod
    def of(cls, inverse: Rows, part: slice) -> _Given:
        at = np.flatnonzero((inverse >= part.start) & (inverse < part.stop))
        return cls(at, inverse[at] - part.start)


def _parts(trees: Sequence[Paths], most: int) -> list[slice]:
    """Cut a collection into parts of about the same number of leaves."""
    leaves = np.cumsum([paths.n_paths for paths in trees])
    count = max(-(-int(leaves[-1]) // PART_LEAVES), -(-len(trees) // most))
    # The part of a tree is that of its last leaf.
    number = -(-leaves * count // leaves[-1])
    cuts = [0, *(np.flatnonzero(np.diff(number)) + 1).tolist(), len(trees)]
    return [
        slice(at, min(at + most, end))
        for start, end in itertools.pairwise(cuts)
        for at in range(start, end, most)
    ]
