"""Retraining on data with a real time order: plain CART, the paper's method, and ours.

The earliest 40 % of the years' rows deploy a tree, the next 30 % are the new data, the latest
30 % test. Each method deploys its own tree and retrains it; ``ours_same`` starts from the very
tree that plain CART deployed, so that it can be compared like for like.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from research.paper.experiments.example import pareto_tree
from research.paper.jobs import Job
from research.paper.models import Problem, cross_validated_tree, load_problem
from research.paper.protocols import VALIDATION_SHARE, Rows, partition
from research.paper.retraining_methods import distilled_first, priced_edits
from research.paper.retraining_protocol import Deployment, measure, time_parts
from research.paper.settings import generator, seed_of
from steadytree.tree.tree import Tree

__all__ = ["FIELDS", "PRICES", "compute"]

FIELDS = ("n_bootstraps", "depths", "min_leaves", "forest_size", "max_rows")

SUBSET = 0.8
"""Share of the deployment and of the new rows that each repetition draws."""

PRICES = (0.1, 0.2)

Pairs = dict[str, tuple[Tree, Tree]]
"""The deployed and the retrained tree of each method."""


def compute(job: Job) -> dict[str, Any]:
    """Deploy and retrain by every method on one random 80 % of the earlier rows."""
    settings = job.settings
    problem = load_problem(job.dataset, settings.max_rows, job.seed)
    assert problem.time is not None
    rng = generator(job.seed, "retraining", job.dataset, job.index)
    old, new, test = time_parts(problem.time)
    old, new = (partition(r, problem.y, problem.groups, SUBSET, rng)[0] for r in (old, new))
    grid: dict[str, Any] = {"depths": settings.depths, "min_leaves": settings.min_leaves}

    cart = cross_validated_tree(problem, old, rng=rng, **grid)
    both = np.concatenate([old, new])
    pairs: Pairs = {
        "cart": (cart, cross_validated_tree(problem, both, rng=rng, **grid)),
        "paper": _paper(problem, old, new, rng, n_bootstraps=settings.n_bootstraps, **grid),
    }
    deployment = Deployment(
        problem.space, *problem.take(old), *problem.take(new), *problem.take(test)
    )
    pairs.update(_ours(deployment, cart, seed_of(job.seed, "ours", job.dataset, job.index)))
    threshold = deployment.base_rate
    return {
        "rows": {"old": len(old), "new": len(new), "test": len(test)},
        "methods": {
            name: measure(deployment, *(tree.relabelled(threshold) for tree in pair))
            for name, pair in pairs.items()
        },
    }


def _paper(
    problem: Problem, old: Rows, new: Rows, rng: np.random.Generator, **options: Any
) -> tuple[Tree, Tree]:
    """Apply the paper's method on the old rows, and on all with the old rows as first batch.

    A quarter of the rows chooses, so that nothing is chosen on the test rows.
    """
    parts = [partition(r, problem.y, problem.groups, VALIDATION_SHARE, rng) for r in (old, new)]
    (old_choose, old_train), (new_choose, new_train) = parts
    before = pareto_tree(problem, old_train, old_choose, rng=rng, **options)
    after = pareto_tree(
        problem,
        np.concatenate([old_train, new_train]),
        np.concatenate([old_choose, new_choose]),
        rng=rng,
        first=old_train,
        **options,
    )
    return before, after


def _ours(deployment: Deployment, cart: Tree, seed: int) -> Pairs:
    """Priced edits from CART's own tree and from a distilled first tree."""
    pairs: Pairs = {}
    for name, start in (("same", cart), ("own", distilled_first(deployment, seed))):
        deployed = start.relabelled(deployment.base_rate)
        trees = priced_edits(deployment, deployed, seed).trees
        for price in PRICES:
            pairs[f"ours_{name}_{price:g}"] = (deployed, trees[f"price {price:g}"])
        if name == "own":
            pairs["scratch"] = (deployed, trees["from scratch"])
    return pairs
