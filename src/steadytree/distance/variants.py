r"""Path distances, the cost of leaving a path unmatched, and one assignment.

All three variants of the tree distance are one problem,

.. math:: d(T_1, T_2) = \sum_p c(p) + \min_{\text{injective } \sigma}
          \sum_q \bigl[d(\sigma(q), q) - c(\sigma(q))\bigr],

with p over the larger tree, q over the smaller, and c(p) the cost of leaving p
unmatched. This module states it plainly with numpy and scipy for one pair of trees;
``kernels`` solves it for whole collections.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

from steadytree.core.paths import Paths
from steadytree.distance.options import DistanceOptions

__all__ = ["assign", "cost_matrix", "mass", "metric_weight", "outcome_vectors", "unmatched_cost"]

FloatArray = NDArray[np.float64]


def outcome_vectors(paths: Paths, options: DistanceOptions) -> FloatArray:
    r"""Write the outcome term of eq. (dist-paths) as an L1 distance between vectors.

    "label": indicator vectors times :math:`\lambda/2`; "distribution": class shares
    times :math:`\lambda/2`; "impurity": Gini impurity times :math:`\lambda`;
    regression: response over its range times :math:`\lambda`.
    """
    weight = options.label_weight
    if paths.classes is None:
        return weight * paths.value
    if options.outcome == "distribution":
        return weight / 2 * paths.value
    if options.outcome == "impurity":
        return np.asarray(weight * (1 - (paths.value**2).sum(axis=1, keepdims=True)))
    return weight / 2 * np.eye(len(paths.classes))[paths.label]


def cost_matrix(a: Paths, b: Paths, options: DistanceOptions) -> FloatArray:
    """All path distances d(p, q), eq. (dist-paths)."""
    used = np.union1d(a.coord, b.coord)
    column = np.full(a.n_coords, -1)
    column[used] = np.arange(used.size)
    outcome = cdist(outcome_vectors(a, options), outcome_vectors(b, options), "cityblock")
    if not used.size:
        return np.asarray(outcome)
    features = cdist(_dense(a, column, used.size), _dense(b, column, used.size), "cityblock")
    return np.asarray(features / 2 + outcome)


def _dense(paths: Paths, column: NDArray[np.int64], width: int) -> FloatArray:
    out = np.zeros((paths.n_paths, width))
    rows = np.repeat(np.arange(paths.n_paths), np.diff(paths.indptr))
    out[rows, column[paths.coord]] = paths.tightening
    return out


def metric_weight(paths: Paths, label_weight: float) -> FloatArray:
    r"""Cost w'(p) of an unmatched path in the metric form.

    The feature part of the distance from p to the unrestricted path, plus
    :math:`\lambda/2`. Then :math:`|w'(p) - w'(q)| \le d(p, q) \le w'(p) + w'(q)`, which
    makes the tree distance a metric whatever the sizes of the trees.
    """
    return np.asarray(paths.tightening_sum / 2 + label_weight / 2)


def mass(paths: Paths, label_weight: float) -> float:
    """m(T): the sum of w' over the tree's paths, its distance to the empty tree."""
    return float(metric_weight(paths, label_weight).sum())


def unmatched_cost(paths: Paths, cost: FloatArray, options: DistanceOptions) -> FloatArray:
    """c(p) for every path; ``cost`` has these paths as rows."""
    if options.variant == "paper":
        return paths.paper_weight
    if options.variant == "metric":
        return metric_weight(paths, options.label_weight)
    return np.asarray(cost.min(axis=1))


def assign(
    a: Paths, b: Paths, cost: FloatArray, options: DistanceOptions
) -> tuple[NDArray[np.intp], NDArray[np.intp], FloatArray]:
    """Optimal matching of eq. (distance): paths of a, paths of b, and c of the larger."""
    larger, table = (a, cost) if a.n_paths >= b.n_paths else (b, cost.T)
    price = unmatched_cost(larger, table, options)
    reduced = table - price[:, None] if a.n_paths != b.n_paths else table
    rows, columns = linear_sum_assignment(reduced)
    return (rows, columns, price) if larger is a else (columns, rows, price)
