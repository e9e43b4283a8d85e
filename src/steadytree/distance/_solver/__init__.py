"""Solve eq. (distance) for whole collections: which solver, and where things lie in memory.

Two solvers give the same results bit for bit. ``scipy_solver`` goes straight from paths to
scipy's assignment. ``kernels`` is compiled by numba, many times as fast, but importing numba
takes longer than importing everything else; so it runs where there is enough to do. Which one
runs depends on the sizes of the problem alone.

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

from collections.abc import Sequence
from types import ModuleType

from numpy import float64
from numpy.typing import NDArray

from steadytree._io import check_matching
from steadytree._optional import numba_if_wanted
from steadytree.distance._solver import scipy_solver
from steadytree.distance._solver.pack import PackedCollection, pack
from steadytree.distance.variants import Measure
from steadytree.tree.paths import Paths

__all__ = ["Part", "compiled_solver", "pairwise", "part_distances", "prepare_part"]

Part = PackedCollection | tuple[tuple[Paths, ...], Measure]
"""Some trees as a solver takes them: packed for the compiled one, or as paths."""

SMALL_PAIRS = 500
SMALL_CELLS = 200_000


def compiled_solver() -> ModuleType | None:
    """Return ``kernels``; None without numba, or where ``STEADYTREE_NO_NUMBA=1`` is set."""
    if numba_if_wanted() is None:
        return None
    from steadytree.distance._solver import kernels

    return kernels


def pairwise(
    a: Sequence[Paths], b: Sequence[Paths] | None, measure: Measure, n_jobs: int | None = None
) -> NDArray[float64]:
    """Distances between all trees of ``a`` and all of ``b`` (or of ``a``), eq. (distance)."""
    one, other = (max(paths.n_paths for paths in some) for some in (a, a if b is None else b))
    check_matching(one, other)
    if _is_small(a, a if b is None else b) or (kernels := compiled_solver()) is None:
        return scipy_solver.pairwise(a, b, measure, n_jobs)
    out: NDArray[float64] = kernels.pairwise(
        pack(a, measure), None if b is None else pack(b, measure), n_jobs
    )
    return out


def prepare_part(paths: Sequence[Paths], measure: Measure) -> Part:
    """Lay out some trees, all different, for :func:`part_distances`."""
    if compiled_solver() is None:
        return tuple(paths), measure
    return pack(paths, measure, deduplicate=False)


def part_distances(a: Part, b: Part | None) -> NDArray[float64]:
    """Distances between all trees of one part and all of another (or of the same), in one thread.

    On a cluster this runs on a worker, whose solver is that of who prepared the parts.
    """
    out: NDArray[float64]
    if isinstance(a, PackedCollection):
        from steadytree.distance._solver import kernels

        assert b is None or isinstance(b, PackedCollection)
        out = kernels.pairwise(a, b, 1)
        return out
    paths, measure = a
    assert not isinstance(b, PackedCollection)
    return scipy_solver.pairwise(paths, None if b is None else b[0], measure, 1)


def _is_small(a: Sequence[Paths], b: Sequence[Paths]) -> bool:
    """Whether scipy is done before numba would be imported."""
    pairs = len(a) * len(b)
    if pairs > SMALL_PAIRS:
        return False
    largest = max(paths.n_paths for paths in a) * max(paths.n_paths for paths in b)
    return pairs * largest <= SMALL_CELLS
