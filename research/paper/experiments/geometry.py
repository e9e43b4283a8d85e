"""What the paper's distance measures, looked at from outside the paper.

Whether it is a metric on real collections; what the label weight, the normaliser and the size
of a tree do to the ranking of trees by "stability".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from research.paper.jobs import Job
from research.paper.models import Problem
from research.paper.settings import LARGEST_DEPTH, generator
from steadytree.distance.distances import pairwise_tree_distances
from steadytree.distance.equations import distance_bound
from steadytree.estimators.selection import pareto_mask
from steadytree.tree.tree import Tree

__all__ = [
    "detailed",
    "normaliser",
    "pair_bounds",
    "partial_rank_correlation",
    "rank_correlation",
    "size_effect",
    "triangle_violations",
]

FloatArray = NDArray[np.float64]

TRIANGLE_TREES = 150
REFERENCE_TREES = 100
"""Trees of the first batch that the mean distances are taken from under other label weights."""
_TOLERANCE = 1e-9  # a violation smaller than this is rounding


def rank_correlation(a: Any, b: Any) -> float | None:
    """Spearman's correlation; None where one side is constant."""
    x, y = rankdata(a), rankdata(b)
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        return None
    return float(np.corrcoef(x, y)[0, 1])


def partial_rank_correlation(a: Any, b: Any, given: Any) -> float | None:
    """Spearman's correlation of what is left of a and b once ``given`` is accounted for."""
    ab, ac, bc = rank_correlation(a, b), rank_correlation(a, given), rank_correlation(b, given)
    if ab is None or ac is None or bc is None:
        return None
    left = (1 - ac**2) * (1 - bc**2)
    return float((ab - ac * bc) / np.sqrt(left)) if left > 1e-12 else None


def pair_bounds(a: Sequence[Tree], b: Sequence[Tree]) -> FloatArray:
    """Bound of Proposition 2 with D the larger depth of each pair."""
    table = np.array([distance_bound(d) for d in range(64)])
    depths_a, depths_b = np.array([t.depth for t in a]), np.array([t.depth for t in b])
    return np.asarray(table[np.maximum(depths_a[:, None], depths_b[None, :])])


def normaliser(
    distances: FloatArray,
    trees: Sequence[Tree],
    reference: Sequence[Tree],
    choose: FloatArray,
    report: FloatArray,
) -> dict[str, Any]:
    """Rank the trees by mean distance, over one bound for all or over the bound of each pair.

    Dividing by 2^D (2D + 1) with D the depth of the pair makes a deep tree look close to
    everything. Either way, also what the paper's Table 1 would then say: the distance that the
    closest tree saves against the one with the best score, and the AUC that it costs.
    """
    fixed = distances.mean(axis=1) / distance_bound(LARGEST_DEPTH)
    pair = (distances / pair_bounds(trees, reference)).mean(axis=1)
    depth = np.array([t.depth for t in trees])
    leaves = np.array([t.n_leaves for t in trees])
    out: dict[str, Any] = {"ranking_agreement": rank_correlation(fixed, pair)}
    for name, values in (("fixed", fixed), ("pair", pair)):
        least, best = int(np.lexsort((-choose, values))[0]), int(np.lexsort((values, -choose))[0])
        out[name] = {
            "closest_distance": float(values[least]),
            "best_distance": float(values[best]),
            "price": float(report[best] - report[least]),
            "with_depth": rank_correlation(values, depth),
            "with_leaves": rank_correlation(values, leaves),
            "mean": float(values.mean()),
            "least_depth": int(depth[least]),
            "least_leaves": int(leaves[least]),
        }
    return out


def size_effect(
    mean: FloatArray,
    report: FloatArray,
    choose: FloatArray,
    trees: Sequence[Tree],
    chosen: Mapping[str, int],
) -> dict[str, Any]:
    """Tell how much of "stable" is "small".

    Correlations over the collection, and what the smallest tree would have achieved: the tree
    with the fewest leaves (ties: the best score on the rows that choose).
    """
    leaves = np.array([t.n_leaves for t in trees])
    small = int(np.lexsort((-choose, leaves))[0])
    with_leaves = rank_correlation(mean, leaves)
    return {
        "distance_with_leaves": with_leaves,
        "explained_by_leaves": None if with_leaves is None else with_leaves**2,
        "distance_with_auc": rank_correlation(mean, report),
        "distance_with_auc_given_leaves": partial_rank_correlation(mean, report, leaves),
        "leaves_with_auc": rank_correlation(leaves, report),
        "smallest": {
            "leaves": int(leaves[small]),
            "distance": float(mean[small]),
            "auc_report": float(report[small]),
        },
        "median_leaves": float(np.median(leaves)),
        "least_distance_leaves": int(leaves[chosen["pareto_distance"]]),
        "best_score_leaves": int(leaves[chosen["pareto_auc"]]),
    }


def triangle_violations(distances: FloatArray) -> dict[str, Any]:
    """Share of triples of trees in which one side is longer than the other two together.

    Also the worst ratio of the long side to the sum of the others.
    """
    n = len(distances)
    violated, worst = 0, 1.0
    for k in range(n):
        # All pairs (i, j) against the way through k; each triple has at most one long side.
        way = distances[:, k, None] + distances[None, k, :]
        longer = np.triu(distances > way + _TOLERANCE, 1)
        violated += int(longer.sum())
        if longer.any():
            with np.errstate(divide="ignore"):
                worst = max(worst, float((distances[longer] / way[longer]).max()))
    triples = n * (n - 1) * (n - 2) // 6
    return {
        "triples": triples,
        "violated": violated,
        "share": violated / triples if triples else 0.0,
        "worst_ratio": worst,
    }


def detailed(
    problem: Problem,
    trees: Sequence[Tree],
    reference: Sequence[Tree],
    distances: FloatArray,
    score: FloatArray,
    job: Job,
) -> dict[str, Any]:
    """Compute the distances that only some splits afford: other label weights, and within T."""
    space = problem.space
    rng = generator(job.seed, "triangle", job.dataset, job.index)
    sample = [trees[i] for i in np.sort(rng.permutation(len(trees))[:TRIANGLE_TREES])]
    triangle = {
        f"{variant}_{weight:g}": triangle_violations(
            pairwise_tree_distances(sample, space=space, variant=variant, label_weight=weight)
        )
        for variant, weight in (("paper", 1.0), ("paper", 24.0), ("metric", 1.0))
    }
    near = np.sort(rng.permutation(len(reference))[:REFERENCE_TREES])
    some = [reference[i] for i in near]
    usual = distances[:, near].mean(axis=1)
    weights: dict[str, Any] = {"1.0": _label_weight(usual, usual, score)}
    for weight in job.settings.label_weights:
        other = pairwise_tree_distances(trees, some, space=space, label_weight=weight)
        weights[str(weight)] = _label_weight(other.mean(axis=1), usual, score)
    relative = pairwise_tree_distances(
        trees, some, space=space, variant="metric", normalize="relative"
    ).mean(axis=1)
    leaves = [t.n_leaves for t in trees]
    least = int(np.lexsort((-score, relative))[0])
    return {
        "triangle": triangle,
        "label_weight": weights,
        "dissimilarity": {
            "with_leaves": rank_correlation(relative, leaves),
            "with_distance": rank_correlation(relative, usual),
            "least_leaves": leaves[least],
            "least_auc_report": float(score[least]),
        },
    }


def _label_weight(mean: FloatArray, usual: FloatArray, score: FloatArray) -> dict[str, Any]:
    least = int(np.lexsort((-score, mean))[0])
    best = int(np.lexsort((mean, -score))[0])
    return {
        "frontier_size": int(pareto_mask(np.column_stack([mean, score]), [False, True]).sum()),
        "ranking_agreement": rank_correlation(mean, usual),
        "reduction": float(1 - mean[least] / mean[best]) if mean[best] > 0 else 0.0,
        "price": float(score[best] - score[least]),
        "least_auc": float(score[least]),
    }
