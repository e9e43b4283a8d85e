"""What the number of trees B does: more trees, a better-looking winner.

Collections of the largest size are grown once; the smaller ones are their first bootstraps. The
tree with the best score is chosen on half of the holdout and scored on both halves: the
difference is how much the choice flatters itself, which grows with the number of trees.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from research.paper.experiments.study import choose_extremes
from research.paper.jobs import Job
from research.paper.models import aucs, grow_batches, load_problem
from research.paper.protocols import grows_nested, make_split, partition
from research.paper.settings import generator
from steadytree.distance.distances import pairwise_tree_distances
from steadytree.estimators.selection import pareto_mask

__all__ = ["FIELDS", "compute"]

FIELDS = ("batch_sizes", "depths", "min_leaves", "max_rows")


def compute(job: Job) -> dict[str, Any]:
    """Compare collections of several sizes on one split."""
    settings = job.settings
    problem = load_problem(job.dataset, settings.max_rows, job.seed)
    words = (job.dataset, job.index)
    split = make_split(
        problem.y, problem.groups, protocol="paper", rng=generator(job.seed, "split", *words)
    )
    rng = generator(job.seed, "batch", *words)
    reference, trees = grow_batches(
        problem,
        [split.first, split.train],
        n_bootstraps=max(settings.batch_sizes),
        depths=settings.depths,
        min_leaves=settings.min_leaves,
        rng=rng,
        nested=grows_nested("paper"),
    )
    distances = pairwise_tree_distances(trees, reference, space=problem.space)
    parts = partition(split.report, problem.y, problem.groups, 0.5, rng)
    halves = [aucs(problem, trees, rows) for rows in parts]
    whole = aucs(problem, trees, split.report)
    grid = len(settings.depths) * len(settings.min_leaves)
    found = []
    for size in settings.batch_sizes:
        n = size * grid
        mean = distances[:n, :n].mean(axis=1)
        ends = choose_extremes(mean, whole[:n])
        best, least = ends["pareto_auc"], ends["pareto_distance"]
        same, other = [], []
        for a, b in ((0, 1), (1, 0)):
            winner = choose_extremes(mean, halves[a][:n])["pareto_auc"]
            same.append(halves[a][winner])
            other.append(halves[b][winner])
        frontier = pareto_mask(np.column_stack([mean, whole[:n]]), [False, True])
        found.append(
            {
                "bootstraps": size,
                "trees": n,
                "frontier_size": int(frontier.sum()),
                "best_auc": float(whole[best]),
                "least_distance_auc": float(whole[least]),
                "reduction": float(1 - mean[least] / mean[best]) if mean[best] > 0 else 0.0,
                "price": float(whole[best] - whole[least]),
                "auc_same_half": float(np.mean(same)),
                "auc_other_half": float(np.mean(other)),
            }
        )
    return {"sizes": found}
