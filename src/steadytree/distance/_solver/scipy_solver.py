"""One pair at a time with numpy and scipy: the matching itself, and small collections.

The same whole numbers as in the kernels go through ``linear_sum_assignment``, so the totals
are the kernels', bit for bit. Two trees are done here before numba would be imported; without
numba everything is.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from steadytree._jobs import threads_here
from steadytree.distance.variants import Measure, PathAmounts, in_quanta, path_distances
from steadytree.tree.paths import Paths

# -- Share work among threads the way joblib counts them --


def in_threads(work: Callable[[], None], n_jobs: int | None, most: int) -> None:
    """Run ``work``, which takes parts off a common list until none is left, in threads.

    At most ``most`` threads, one per part.
    """
    threads = min(threads_here(n_jobs), most) if most > 1 else 1
    if threads <= 1:
        work()
        return
    with ThreadPoolExecutor(threads) as pool:
        for done in [pool.submit(work) for _ in range(threads)]:
            done.result()


# -- One pair at a time with numpy and scipy: the matching itself, and small collections --

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


class Match(NamedTuple):
    """An optimal matching; costs in quanta.

    ``rows[i]`` of a is matched with ``columns[i]`` of b. ``cost`` is d(p, q) of all pairs,
    ``price`` is c(p) of the larger tree's paths (0 where all have a partner).
    """

    rows: NDArray[np.intp]
    columns: NDArray[np.intp]
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
) -> tuple[NDArray[np.intp], NDArray[np.intp], IntArray, int]:
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


def pairwise(
    a: Sequence[Paths], b: Sequence[Paths] | None, measure: Measure, n_jobs: int | None = None
) -> FloatArray:
    """Distances between all trees of ``a`` and all of ``b`` (or of ``a``), eq. (distance)."""
    amounts, _ = in_quanta(a if b is None else [*a, *b], measure)
    if b is not None and len(amounts) == 2:
        return np.array([[match(*amounts).total * measure.quantum]])
    first, left = _distinct(amounts[: len(a)])
    second, right = (first, left) if b is None else _distinct(amounts[len(a) :])
    out = np.zeros((len(first), len(second)))
    turn = itertools.count()

    def work() -> None:
        while (i := next(turn)) < len(first):
            for j in range(i + 1 if b is None else 0, len(second)):
                out[i, j] = match(first[i], second[j]).total * measure.quantum

    in_threads(work, n_jobs, len(first))
    if b is None:
        out += out.T
    return out[np.ix_(left, right)]


def _distinct(trees: Sequence[PathAmounts]) -> tuple[list[PathAmounts], list[int]]:
    """Distinct trees, and for each tree the position of its equal among them.

    Trees are equal if they are the same set of paths, whatever the order of their splits.
    """
    position: dict[bytes, int] = {}
    kept: list[PathAmounts] = []
    inverse = []
    for tree in trees:
        rows = np.column_stack([tree.x, tree.outcome, tree.paths.paper_weight])
        key = b"".join(sorted(row.tobytes() for row in rows))
        if position.setdefault(key, len(kept)) == len(kept):
            kept.append(tree)
        inverse.append(position[key])
    return kept, inverse
