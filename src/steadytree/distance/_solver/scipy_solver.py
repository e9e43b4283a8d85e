"""The kernels' functions with numpy and scipy, for where numba cannot be imported.

The same rounded whole numbers go through ``linear_sum_assignment``: in double precision
they stay exact, so the results are those of the kernels, only later. Set the environment
variable ``STEADYTREE_NO_NUMBA=1`` to choose this module.
"""

from __future__ import annotations

import itertools
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

from steadytree.core.paths import Paths
from steadytree.distance._solver.pack import (
    PackedCollection,
    compares_labels,
    outcome_amounts,
    quantise,
    unmatched,
)

__all__ = ["pairwise"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


class _Amounts:
    """One tree's tightenings, outcomes and unmatched costs in quanta, as dense arrays."""

    def __init__(self, paths: Paths, packed: PackedCollection) -> None:
        bits, weight = packed.bits, packed.label_weight
        self.x = np.zeros((paths.n_paths, paths.n_coords))
        rows = np.repeat(np.arange(paths.n_paths), np.diff(paths.indptr))
        self.x[rows, paths.coord] = quantise(paths.tightening, bits - 1)
        if compares_labels(paths, packed.outcome):
            half = round(weight * 2.0 ** (bits - 1))
            self.outcome = half * np.eye(len(paths.classes or ()))[paths.label]
        else:
            self.outcome = outcome_amounts(
                paths.value, paths.classes is not None, packed.outcome, weight, bits
            ).astype(np.float64)
        self.price = unmatched(
            self.x.sum(axis=1).astype(np.int64), paths.paper_weight, packed.variant, weight, bits
        ).astype(np.float64)


def _match(small: _Amounts, large: _Amounts, variant: str) -> tuple[FloatArray, IntArray, int]:
    """Path distances, each small path's partner, and the tree distance, all in quanta."""
    cost = cdist(small.x, large.x, "cityblock") + cdist(small.outcome, large.outcome, "cityblock")
    price = cost.min(axis=0) if variant == "cover" else large.price
    _, columns = linear_sum_assignment(cost - price)
    matched = cost[np.arange(columns.size), columns] - price[columns]
    total = int(price.astype(np.int64).sum() + matched.astype(np.int64).sum())
    return cost, columns.astype(np.int64), total


def pairwise(
    a: PackedCollection, b: PackedCollection | None = None, n_jobs: int | None = None
) -> FloatArray:
    """Distances between all trees of ``a`` and all of ``b``; see ``kernels.pairwise``."""
    symmetric = b is None
    b = a if b is None else b
    first = [_Amounts(paths, a) for paths in a.paths]
    second = first if symmetric else [_Amounts(paths, b) for paths in b.paths]
    out = np.zeros((len(first), len(second)))
    turn = itertools.count()

    def work() -> None:
        while (i := next(turn)) < len(first):
            for j in range(i + 1 if symmetric else 0, len(second)):
                small, large = first[i], second[j]
                if len(small.x) > len(large.x):
                    small, large = large, small
                out[i, j] = _match(small, large, a.variant)[2] * 2.0**-a.bits

    threads = min(effective_n_jobs(n_jobs), len(first))
    if threads <= 1:
        work()
    else:
        with ThreadPoolExecutor(threads) as pool:
            for done in [pool.submit(work) for _ in range(threads)]:
                done.result()
    if symmetric:
        out += out.T
    return out[np.ix_(a.inverse, b.inverse)]
