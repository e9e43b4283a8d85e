"""One split of one case study: two collections grown once, and all that the paper reads off them.

Frontier, scores, mean distances, sizes, importances, the frequency of the first splits and the
top of the selected tree (the paper, Sections 3.2 to 3.6 and 4.2) all come from here; so do the
experiments on the geometry of the distance, so that nothing is computed twice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from research.paper.experiments import geometry
from research.paper.jobs import Job
from research.paper.models import (
    Problem,
    aucs,
    cross_validated_tree,
    grow_batches,
    grow_forest,
    load_problem,
    tree_auc,
)
from research.paper.protocols import Rows, grows_nested, make_split, partition
from research.paper.settings import LARGEST_DEPTH, generator, seed_of
from steadytree.distance.distances import pairwise_tree_distances
from steadytree.distance.equations import distance_bound
from steadytree.estimators.assessment import LEAF_NODE, count_splits
from steadytree.estimators.selection import RULES, pareto_mask
from steadytree.evaluation.scores import auc
from steadytree.tree.printing import split_condition
from steadytree.tree.space import FeatureSpace
from steadytree.tree.tree import Tree

__all__ = ["BALANCED", "CHOICES", "FIELDS", "LEAF", "TOLERANCE", "choose_extremes", "compute"]

FIELDS = (
    "n_bootstraps",
    "n_settings",
    "depths",
    "min_leaves",
    "forest_size",
    "n_detailed",
    "label_weights",
    "max_rows",
)

TOLERANCE = 0.02
"""Epsilon of the selection rule after eq. (select-tree); the paper does not give its value."""

CHOICES = {"pareto_auc": "score", "pareto_distance": "distance", "selected": "tolerance"}
"""The library's rule for each tree that the paper looks at."""

BALANCED = ("balanced", "balanced_relative")
"""The paper's second rule, on the scale the paper gives and on the one between 0 and 1."""

LEAF = "(leaf)"
"""What the split tables count where a tree has no split at a place."""

FloatArray = NDArray[np.float64]


def compute(job: Job) -> dict[str, Any]:
    """Run one split of one case study under one protocol."""
    settings, words = job.settings, (job.dataset, job.index)
    problem = load_problem(job.dataset, settings.max_rows, job.seed)
    split = make_split(
        problem.y,
        problem.groups,
        protocol=job.protocol,
        rng=generator(job.seed, "split", *words),
    )
    rng = generator(job.seed, "trees", job.protocol, *words)
    grid: dict[str, Any] = {
        "depths": settings.depths,
        "min_leaves": settings.min_leaves,
        "rng": rng,
    }
    reference, trees = grow_batches(
        problem,
        [split.first, split.train],
        n_bootstraps=settings.n_bootstraps,
        nested=grows_nested(job.protocol),
        n_settings=settings.n_settings,
        **grid,
    )
    cv = cross_validated_tree(problem, split.train, **grid)
    distances = pairwise_tree_distances(trees, reference, space=problem.space)
    mean = distances.mean(axis=1)
    scores = {"choose": aucs(problem, trees, split.choose)}
    same = job.protocol == "paper"
    scores["report"] = scores["choose"] if same else aucs(problem, trees, split.report)
    relative = pairwise_tree_distances(
        trees,
        reference,
        space=problem.space,
        variant="metric",
        normalize="relative",
    ).mean(axis=1)
    frontier = pareto_mask(np.column_stack([mean, scores["choose"]]), [False, True])
    chosen = choose_extremes(mean, scores["choose"], relative)

    methods = {
        name: _describe(problem, trees[i], split.choose, split.report) for name, i in chosen.items()
    }
    methods["cv"] = _describe(problem, cv, split.choose, split.report)
    own = [*(trees[i] for i in chosen.values()), cv]
    for name, values in zip(methods, _distances_to(problem, own, reference), strict=True):
        methods[name].update(values)
    methods["forest"] = _forest(problem, split.train, split.choose, split.report, job)

    result: dict[str, Any] = {
        "rows": {
            "train": len(split.train),
            "first": len(split.first),
            "choose": len(split.choose),
            "report": len(split.report),
            "events_choose": int(problem.y[split.choose].sum()),
            "events_report": int(problem.y[split.report].sum()),
        },
        "features": list(problem.space.feature_labels),
        "methods": methods,
        "cloud": {
            "distance": mean,
            "dissimilarity": relative,
            "choose": scores["choose"],
            "report": scores["report"],
            "leaves": [t.n_leaves for t in trees],
            "depth": [t.depth for t in trees],
            "frontier": np.flatnonzero(frontier),
        },
        "distinct_trees": {"first": _distinct(distances.T), "second": _distinct(distances)},
        "first_splits": _count_first_splits(trees, problem.space),
        "top": _top(trees[chosen["selected"]]),
        "same_tree": _same_trees(trees, chosen),
        "normaliser": geometry.normaliser(distances, trees, reference, **scores),
        "size": geometry.size_effect(mean, scores["report"], scores["choose"], trees, chosen),
    }
    if same:
        result["halves"] = _halves(problem, trees, mean, split.report, job)
        if job.index < settings.n_detailed:
            result["geometry"] = geometry.detailed(
                problem, trees, reference, distances, scores["report"], job
            )
    return result


def choose_extremes(
    distance: FloatArray, score: FloatArray, dissimilarity: FloatArray | None = None
) -> dict[str, int]:
    """Positions of the trees the paper looks at: the ends of the frontier, and its two rules.

    ``pareto_auc`` has the best score, ``pareto_distance`` the least mean distance; ``selected``
    has the least distance among scores within the tolerance of the best, and ``balanced`` the
    largest (score - d) / 2 (both after eq. (select-tree)), d being the mean distance over the
    bound with D = 12. Where the mean dissimilarity is given, ``balanced_relative`` has it for d.
    Ties go to the better other merit, then to the first tree.
    """
    table = pd.DataFrame({"distance": distance, "score": score, "eligible": True})
    found = {name: RULES[rule](table, TOLERANCE) for name, rule in CHOICES.items()}
    scales = {"balanced": distance / distance_bound(LARGEST_DEPTH)}
    if dissimilarity is not None:
        scales["balanced_relative"] = dissimilarity
    for name, scale in scales.items():
        found[name] = RULES["balanced"](table.assign(dissimilarity=scale), TOLERANCE)
    return found


def _same_trees(trees: Sequence[Tree], chosen: Mapping[str, int]) -> dict[str, dict[str, bool]]:
    """Whether the balanced rules choose a tree that another rule chooses as well."""
    return {
        rule: {other: trees[chosen[rule]] == trees[chosen[other]] for other in CHOICES}
        for rule in BALANCED
    }


def _describe(problem: Problem, tree: Tree, choose: Rows, report: Rows) -> dict[str, Any]:
    return {
        "auc_choose": tree_auc(problem, tree, choose),
        "auc_report": tree_auc(problem, tree, report),
        "depth": tree.depth,
        "nodes": tree.n_nodes,
        "leaves": tree.n_leaves,
        "importances": tree.feature_importances(),
    }


def _distances_to(
    problem: Problem, trees: Sequence[Tree], reference: Sequence[Tree]
) -> list[dict[str, float]]:
    """Mean distance of each tree to the first batch, on four scales.

    Raw; over the bound with D = 12; over the bound with the depth of each pair (which the
    author's package uses); and as dissimilarity between 0 and 1.
    """
    raw = pairwise_tree_distances(trees, reference, space=problem.space)
    pair = raw / geometry.pair_bounds(trees, reference)
    relative = pairwise_tree_distances(
        trees, reference, space=problem.space, variant="metric", normalize="relative"
    )
    return [
        {
            "distance": float(raw[i].mean()),
            "distance_bound": float(raw[i].mean() / distance_bound(LARGEST_DEPTH)),
            "distance_pair_depth": float(pair[i].mean()),
            "dissimilarity": float(relative[i].mean()),
        }
        for i in range(len(trees))
    ]


def _forest(problem: Problem, train: Rows, choose: Rows, report: Rows, job: Job) -> dict[str, Any]:
    forest, described = grow_forest(
        problem,
        train,
        size=job.settings.forest_size,
        seed=seed_of(job.seed, "forest", job.protocol, job.dataset, job.index),
    )
    for name, rows in (("auc_choose", choose), ("auc_report", report)):
        shares = forest.predict_proba(problem.columns[rows])[:, 1]
        described[name] = auc(problem.y[rows] == 1, shares)
    return described


def _distinct(distances: FloatArray) -> int:
    """Trees that differ in their distances to all trees of the other collection."""
    return len(np.unique(distances, axis=0))


def _count_first_splits(trees: Sequence[Tree], space: FeatureSpace) -> dict[str, dict[str, int]]:
    """How often each feature is split on at the root, its left and its right child."""
    counts = count_splits(trees, space).rename(index={LEAF_NODE: LEAF})
    return {
        place: {str(name): int(n) for name, n in sorted(counts[place].items()) if n}
        for place in ("root", "left", "right")
    }


def _places(tree: Tree) -> dict[str, int | None]:
    inner = not tree.is_leaf[0]
    return {
        "root": 0,
        "left": int(tree.children_left[0]) if inner else None,
        "right": int(tree.children_right[0]) if inner else None,
    }


def _top(tree: Tree) -> dict[str, Any]:
    """Describe the first two levels of splits, as in the paper's figure of selected trees."""
    shown: dict[str, Any] = {}
    for place, node in _places(tree).items():
        if node is None:
            continue
        leaf = bool(tree.is_leaf[node])
        shown[place] = {
            "split": LEAF if leaf else str(split_condition(tree, node, left=True)),
            "feature": LEAF if leaf else tree.feature_labels[tree.feature[node]],
            "share_of_rows": tree.weight[node] / tree.weight[0],
            "share_of_events": tree.value[node, 1],
            "label": int(tree.label[node]),
        }
    return shown


def _halves(
    problem: Problem, trees: Sequence[Tree], mean: FloatArray, holdout: Rows, job: Job
) -> list[dict[str, float]]:
    """Choose on half of the holdout, and score on that half and on the other.

    The trees are the same and the halves alike, so the difference is what choosing and
    reporting on the same rows adds: the optimism of the paper's protocol.
    """
    rng = generator(job.seed, "halves", job.dataset, job.index)
    parts = partition(holdout, problem.y, problem.groups, 0.5, rng)
    if any(np.unique(problem.y[part]).size < 2 for part in parts):
        return []
    scores = [aucs(problem, trees, part) for part in parts]
    found = []
    for chosen_on, other in ((0, 1), (1, 0)):
        row: dict[str, float] = {}
        for name, i in choose_extremes(mean, scores[chosen_on]).items():
            row[f"{name}_same"] = float(scores[chosen_on][i])
            row[f"{name}_other"] = float(scores[other][i])
            row[f"{name}_distance"] = float(mean[i])
        found.append(row)
    return found
