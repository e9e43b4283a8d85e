"""Paths in whole numbers: eq. (dist-paths), unmatched costs and masses, computed here only.

Tightenings, weights and outcomes are rounded once to multiples of a tiny quantum (2**-44,
an absolute error below 3e-14 per bound; more for label weights above 256, up to 2**-32), so
that every sum and difference after that is exact. Any optimal matching then has exactly the
same total: distances do not depend on the order of the arguments, on the number of threads or
on the solver, equal trees are at distance exactly 0, and the triangle inequality of the metric
form survives rounding.

Whole numbers are kept as floats where scipy wants floats: in double precision they stay exact.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from steadytree.core.limits import check_matching
from steadytree.core.paths import Paths
from steadytree.distance.options import DistanceOptions
from steadytree.distance.variants import VARIANTS, LonePaths, Variant

__all__ = ["Measure", "PathAmounts", "cost_matrix", "in_quanta", "path_distances"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


def _quantise(values: FloatArray, bits: int) -> IntArray:
    return np.rint(values * 2.0**bits).astype(np.int64)


@dataclass(frozen=True, slots=True)
class Measure:
    r"""The options of a distance as arithmetic in quanta of 2**-bits.

    ``label_weight`` is :math:`\lambda` in quanta, an even number, ``weight`` as given.
    """

    variant: Variant
    outcome: str
    weight: float
    bits: int
    label_weight: int

    @classmethod
    def of(cls, options: DistanceOptions) -> Measure:
        """44 binary digits after the point, down to 32 where lambda is enormous."""
        weight = options.label_weight
        bits = 44 - (math.ceil(math.log2(weight / 256)) if weight > 256 else 0)
        half = round(weight * 2.0 ** (bits - 1))
        return cls(VARIANTS[options.variant], options.outcome, weight, bits, 2 * half)

    @property
    def quantum(self) -> float:
        """What one quantum is worth."""
        return 2.0**-self.bits

    def tightenings(self, x: FloatArray) -> IntArray:
        """Half of each tightening, in quanta: their L1 distance is the feature part of d(p, q)."""
        return _quantise(x, self.bits - 1)

    def compares_labels(self, is_classifier: bool) -> bool:
        """Whether the outcome term is "labels differ" rather than an L1 distance."""
        return is_classifier and self.outcome == "label"

    def outcomes(self, label: NDArray[Any], value: FloatArray, is_classifier: bool) -> IntArray:
        r"""Return what :meth:`outcome_costs` compares: labels, or vectors in quanta.

        Their L1 distance is the outcome term of eq. (dist-paths): class shares times
        :math:`\lambda/2`, Gini impurity times :math:`\lambda`, or the scaled response of a
        regression tree times :math:`\lambda`.
        """
        if self.compares_labels(is_classifier):
            return label[:, None].astype(np.int64)
        if not is_classifier:
            return _quantise(self.weight * value, self.bits)
        if self.outcome == "distribution":
            return _quantise(self.weight / 2 * value, self.bits)
        return _quantise(self.weight * (1 - (value**2).sum(axis=1, keepdims=True)), self.bits)

    def outcome_costs(self, a: IntArray, b: IntArray, is_classifier: bool) -> FloatArray:
        """Outcome term of every pair, in quanta."""
        if self.compares_labels(is_classifier):
            return np.asarray((a != b.T) * float(self.label_weight))
        return np.asarray(cdist(a, b, "cityblock"))

    def unmatched(self, feature_cost: IntArray, paper_weight: FloatArray) -> IntArray | None:
        """c(p) of every path in quanta; None where the other tree decides it."""
        if self.variant.unmatched is None:
            return None
        weight = _quantise(paper_weight, self.bits)
        return self.variant.unmatched(LonePaths(feature_cost, weight, self.label_weight // 2))

    def unmatched_numbers(self, paths: Paths) -> FloatArray:
        """c(p) of every path as a plain number, for a variant that asks no other tree."""
        assert self.variant.unmatched is not None
        lone = LonePaths(paths.tightening_sum / 2, paths.paper_weight, self.weight / 2)
        return self.variant.unmatched(lone)

    def mass(self, paths: Paths) -> float:
        """m(T): the sum of c over the tree's paths, its distance to the empty tree."""
        return float(self.unmatched_numbers(paths).sum())


class PathAmounts:
    """One tree's paths in quanta; rows of ``x`` are over the coordinates some tree bounds."""

    def __init__(self, paths: Paths, measure: Measure, column: IntArray, width: int) -> None:
        self.paths, self.measure = paths, measure
        self.x = np.zeros((paths.n_paths, width))
        self.x[paths.path_of_entry, column[paths.coord]] = measure.tightenings(paths.tightening)
        self.is_classifier = paths.classes is not None
        self.outcome = measure.outcomes(paths.label, paths.value, self.is_classifier)

    def unmatched(self) -> IntArray | None:
        """c(p) of every path, None where the other tree decides it."""
        return self.measure.unmatched(self.x.sum(axis=1).astype(np.int64), self.paths.paper_weight)


def in_quanta(trees: Sequence[Paths], measure: Measure) -> tuple[list[PathAmounts], IntArray]:
    """Write trees of one space in quanta; also the coordinates that the columns stand for."""
    used = np.zeros(trees[0].n_coords, dtype=bool)
    for paths in trees:
        used[paths.coord] = True
    column = used.cumsum() - 1
    coordinates = used.nonzero()[0]
    for paths in trees:
        check_matching(paths.n_paths, coordinates.size, "bounds and categories")
    return [PathAmounts(paths, measure, column, coordinates.size) for paths in trees], coordinates


def path_distances(a: PathAmounts, b: PathAmounts) -> FloatArray:
    """All path distances d(p, q), eq. (dist-paths), in quanta."""
    check_matching(len(a.x), len(b.x))
    cost = a.measure.outcome_costs(a.outcome, b.outcome, a.is_classifier)
    if a.x.shape[1]:
        cost += cdist(a.x, b.x, "cityblock")
    return cost


def cost_matrix(a: Paths, b: Paths, options: DistanceOptions) -> FloatArray:
    """All path distances d(p, q) of two trees in one space, as numbers."""
    measure = Measure.of(options)
    (left, right), _ = in_quanta([a, b], measure)
    return path_distances(left, right) * measure.quantum
