"""The retraining example of Section 2.5: how far trees move when the data double.

A tree is trained on half of the training rows and, independently, on all of them: once by
cross-validation and once by the paper's method (Section 3.1), depth at most 4. The distance
between the two trees of a method is given in per cent of the bound for that depth.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from research.paper.experiments.study import choose_extremes
from research.paper.jobs import Job
from research.paper.models import (
    Problem,
    aucs,
    cross_validated_tree,
    grow_batches,
    load_problem,
    tree_auc,
)
from research.paper.protocols import FIRST_BATCH, Rows, grows_nested, make_split, partition
from research.paper.settings import generator
from steadytree.distance.distances import pairwise_tree_distances, tree_distance
from steadytree.distance.equations import distance_bound
from steadytree.tree.json import tree_to_dict
from steadytree.tree.printing import tree_text
from steadytree.tree.tree import Tree

__all__ = ["FIELDS", "compute", "pareto_tree"]

FIELDS = ("n_bootstraps", "example_depths", "min_leaves", "max_rows")


def compute(job: Job) -> dict[str, Any]:
    """Train both methods on half and on all of the training rows, and compare."""
    settings = job.settings
    problem = load_problem(job.dataset, settings.max_rows, job.seed)
    split = make_split(
        problem.y,
        problem.groups,
        protocol=job.protocol,
        rng=generator(job.seed, "split", job.dataset, job.index),
    )
    depths = settings.example_depths
    pairs: dict[str, list[Tree]] = {"cv": [], "pareto": []}
    for part, rows in (("half", split.first), ("all", split.train)):
        rng = generator(job.seed, "example", job.protocol, job.dataset, job.index, part)
        pairs["cv"].append(
            cross_validated_tree(
                problem, rows, depths=depths, min_leaves=settings.min_leaves, rng=rng
            )
        )
        pairs["pareto"].append(
            pareto_tree(
                problem,
                rows,
                split.choose,
                n_bootstraps=settings.n_bootstraps,
                depths=depths,
                min_leaves=settings.min_leaves,
                rng=rng,
                nested=grows_nested(job.protocol),
            )
        )
    found: dict[str, Any] = {
        name: _compare(problem, before, after, split.report, max(depths))
        for name, (before, after) in pairs.items()
    }
    if job.index == 0:  # the split that is drawn
        for name, trees in pairs.items():
            found[name]["files"] = [tree_to_dict(tree) for tree in trees]
    return found


def pareto_tree(
    problem: Problem,
    rows: Rows,
    choose: Rows,
    *,
    n_bootstraps: int,
    depths: tuple[int, ...],
    min_leaves: tuple[int, ...],
    rng: np.random.Generator,
    nested: bool = True,
    first: Rows | None = None,
) -> Tree:
    """Grow a tree by the paper's method: two collections on ``rows``, chosen on ``choose``.

    Without ``first`` the first batch is a random half of the rows. The rule is the first one
    after eq. (select-tree): the least mean distance among scores within 2 % of the best.
    """
    if first is None:
        # Growth and rows go together: see `research.paper.protocols`.
        first, _ = partition(rows, problem.y, problem.groups, FIRST_BATCH, rng, stratify=nested)
    reference, trees = grow_batches(
        problem,
        [first, rows],
        n_bootstraps=n_bootstraps,
        depths=depths,
        min_leaves=min_leaves,
        rng=rng,
        nested=nested,
    )
    mean = pairwise_tree_distances(trees, reference, space=problem.space).mean(axis=1)
    return trees[choose_extremes(mean, aucs(problem, trees, choose))["selected"]]


def _compare(
    problem: Problem, before: Tree, after: Tree, report: Rows, depth: int
) -> dict[str, Any]:
    distance = tree_distance(before, after, space=problem.space)
    old, new = (
        {problem.space.feature_labels[j] for j in tree.feature[~tree.is_leaf]}
        for tree in (before, after)
    )
    return {
        "distance": distance,
        "distance_bound": distance / distance_bound(depth),
        "dissimilarity": tree_distance(
            before, after, space=problem.space, variant="metric", normalize="relative"
        ),
        "auc_half": tree_auc(problem, before, report),
        "auc_all": tree_auc(problem, after, report),
        "depths": [before.depth, after.depth],
        "features": [len(old), len(new)],
        "same_features": old == new,
        "trees": [tree_text(before), tree_text(after)],
    }
