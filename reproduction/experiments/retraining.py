"""Retraining on data with a real time order: plain CART, the paper's method, and ours.

The earliest 40 % of the years' rows deploy a tree, the next 30 % are the new data, the latest
30 % test. Each method deploys its own tree and retrains it; ``ours_same`` starts from the very
tree that plain CART deployed, so that it can be compared like for like.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from reproduction.experiments.example import pareto_tree
from reproduction.jobs import Job
from reproduction.models import Problem, auc, cross_validated_tree, load_problem, scores_of
from reproduction.protocols import VALIDATION_SHARE, Rows, partition
from reproduction.settings import generator, seed_of
from steadytree.core.tree import Tree
from steadytree.distance.distances import tree_distance
from steadytree.estimators.distilled import DistilledTreeClassifier
from steadytree.retraining import retrain

__all__ = ["FIELDS", "PRICES", "VERSION", "compute", "time_parts"]

VERSION = 1
FIELDS = ("n_bootstraps", "depths", "min_leaves", "forest_size", "max_rows")

DEPLOY_SHARE, NEW_SHARE = 0.4, 0.3
SUBSET = 0.8
"""Share of the deployment and of the new rows that each repetition draws."""

PRICES = (0.1, 0.2)


def time_parts(time: NDArray[np.int64]) -> tuple[Rows, Rows, Rows]:
    """Rows that deploy, that are new, and that test: whole years, about 40, 30 and 30 %."""
    years, counts = np.unique(time, return_counts=True)
    reached = np.cumsum(counts) / len(time)
    first = int(np.argmin(np.abs(reached[:-2] - DEPLOY_SHARE)))
    second = (
        first + 1 + int(np.argmin(np.abs(reached[first + 1 : -1] - (DEPLOY_SHARE + NEW_SHARE))))
    )
    old = np.flatnonzero(time <= years[first])
    new = np.flatnonzero((time > years[first]) & (time <= years[second]))
    return old, new, np.flatnonzero(time > years[second])


def compute(job: Job) -> dict[str, Any]:
    """Deploy and retrain by every method on one random 80 % of the earlier rows."""
    settings = job.settings
    problem = load_problem(job.dataset, settings.max_rows, job.seed)
    assert problem.time is not None
    rng = generator(job.seed, "retraining", job.dataset, job.index)
    old, new, test = time_parts(problem.time)
    old, new = (partition(r, problem.y, problem.groups, SUBSET, rng)[0] for r in (old, new))
    both = np.concatenate([old, new])
    threshold = float(problem.y[old].mean())
    grid: dict[str, Any] = {"depths": settings.depths, "min_leaves": settings.min_leaves}

    cart = cross_validated_tree(problem, old, rng=rng, **grid)
    pairs: dict[str, tuple[Tree, Tree]] = {
        "cart": (cart, cross_validated_tree(problem, both, rng=rng, **grid)),
        "paper": _paper(problem, old, new, rng, n_bootstraps=settings.n_bootstraps, **grid),
    }
    pairs.update(_ours(problem, cart, old, new, threshold, job))
    return {
        "rows": {"old": len(old), "new": len(new), "test": len(test)},
        "methods": {
            name: _compare(problem, before, after, test, threshold)
            for name, (before, after) in pairs.items()
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


def _ours(
    problem: Problem, cart: Tree, old: Rows, new: Rows, threshold: float, job: Job
) -> dict[str, tuple[Tree, Tree]]:
    """Priced edits from CART's own tree and from a distilled first tree."""
    table = problem.table
    seed = seed_of(job.seed, "ours", job.dataset, job.index)
    distilled = DistilledTreeClassifier(random_state=seed, decision_threshold=threshold)
    first = distilled.fit(table.iloc[old], problem.y[old]).to_tree()
    made: dict[str, tuple[Tree, Tree]] = {}
    for name, start in (("same", cart), ("own", first)):
        deployed = start.relabelled(threshold)
        # Every price lies on one path, so one call serves them all; scores are taken on the test
        # rows here, so the cross-fitted ones are not needed.
        done = retrain(
            deployed,
            table.iloc[new],
            problem.y[new],
            X_old=table.iloc[old],
            y_old=problem.y[old],
            space=problem.space,
            n_folds=0,
            random_state=seed,
        )
        for price in PRICES:
            made[f"ours_{name}_{price:g}"] = (deployed, done.trees[f"price {price:g}"])
        if name == "own":
            made["scratch"] = (deployed, done.trees["from scratch"])
    return made


def _compare(
    problem: Problem, before: Tree, after: Tree, test: Rows, threshold: float
) -> dict[str, Any]:
    """Distance, scores and flips; labels at the base rate of the deployment rows.

    With labels at one half a rare outcome is never predicted, and neither the label term nor
    the flips could tell two trees apart.
    """
    a, b = (tree.relabelled(threshold) for tree in (before, after))
    scores = [scores_of(tree, problem, test) for tree in (a, b)]
    return {
        "distance": tree_distance(a, b, space=problem.space),
        "metric": tree_distance(a, b, space=problem.space, variant="metric"),
        "dissimilarity": tree_distance(
            a, b, space=problem.space, variant="metric", normalize="relative"
        ),
        "auc_before": auc(problem.y[test], scores[0]),
        "auc_after": auc(problem.y[test], scores[1]),
        "flips": float(np.mean((scores[0] >= threshold) != (scores[1] >= threshold))),
        "leaves": [a.n_leaves, b.n_leaves],
    }
