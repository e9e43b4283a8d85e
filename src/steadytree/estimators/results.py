"""Candidates: the settings they are grown with, and how far, how good and how large each is.

One is chosen among them, and a report shows the choice.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import is_classifier, is_regressor
from sklearn.model_selection import ParameterGrid
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from steadytree.diff import diff_trees
from steadytree.diff.candidate_trees import add_candidate_trees
from steadytree.diff.diff_summary import diff_summary
from steadytree.distance.distances import normalised, weighted_means
from steadytree.distance.equations import check_options, paths_of
from steadytree.estimators.selection import pareto_mask
from steadytree.evaluation.holdout import measure_each
from steadytree.exceptions import InputError
from steadytree.growing.collections import PAPER_GRID, Collection
from steadytree.publish import names_for_others
from steadytree.publish import publish as published
from steadytree.publish.cells import SUMMARY, people, score
from steadytree.tree.json import plain_json
from steadytree.tree.space import FeatureSpace
from steadytree.tree.tree import Tree

FloatArray = NDArray[np.float64]
Grid = Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Sequence[Any]]]

OBJECTIVES = {"distance": False, "score": True, "n_leaves": False, "depth": False}
"""Objectives by name, and whether larger is better."""


# -- the learner and its settings ---------------------------------------------------------


def base_and_grid(
    estimator: Any, param_grid: Grid | None, *, task: str
) -> tuple[Any, list[dict[str, Any]]]:
    """Return the learner and the settings to try: by default CART and the paper's grid.

    That grid is for learners that have all of its settings: an exact solver with a ``max_depth``
    alone would search for years at depth 12. Others are tried as they are.
    """
    classifies = task == "classification"
    base = estimator
    if base is None:
        base = DecisionTreeClassifier() if classifies else DecisionTreeRegressor()
    if isinstance(base, type) or not (hasattr(base, "fit") and hasattr(base, "get_params")):
        raise InputError(
            f"expected estimator to be a scikit-learn tree, got {base!r}; "
            "pass an instance such as DecisionTreeClassifier()"
        )
    if is_regressor(base) if classifies else is_classifier(base):
        raise InputError(f"expected a base estimator for {task}, got {type(base).__name__}")
    grid: Any = param_grid
    if grid is None:
        known = base.get_params(deep=False)
        grid = PAPER_GRID if set(PAPER_GRID) <= set(known) else {}
    settings = [dict(one) for one in ParameterGrid(grid)]
    if not settings:
        raise InputError(f"expected param_grid to hold at least one setting, got {grid!r}")
    return base, settings


def largest_depth(base: Any, grid: Sequence[Mapping[str, Any]], trees: Sequence[Tree]) -> int:
    """D: the largest depth the grid allows, or the deepest tree where it sets no limit."""
    default = base.get_params(deep=False).get("max_depth")
    limits = [one.get("max_depth", default) for one in grid]
    deepest = max(measure_each(trees, lambda tree: tree.depth))
    if any(limit is None for limit in limits):
        return deepest
    return max(deepest, *(int(limit) for limit in limits))


# -- distances from the first batch --------------------------------------------------------


def mean_distances(
    candidates: Sequence[Tree],
    references: Sequence[Tree],
    *,
    space: FeatureSpace,
    variant: str,
    label_weight: float | str,
    max_depth: int,
    n_jobs: int | None = None,
) -> pd.DataFrame:
    r"""Measure how far each candidate is, on average, from the trees of the first batch.

    The paper's :math:`d_b = \sum_{\beta=1}^B d(T^0_\beta, T_b) / B` (Section 3.1). Settings
    that gave the same tree share an object, which is compared once. ``max_depth`` is D of the
    bound 2^D (2D + lambda).

    Returns
    -------
    DataFrame
        ``mean_distance`` as measured, ``mean_distance_of_bound``, and ``mean_dissimilarity``, in
        [0, 1] and always of the metric variant.
    """
    options = check_options(variant=variant, label_weight=label_weight, max_depth=max_depth)
    ours, where, _ = _distinct(candidates)
    theirs, _, counts = _distinct(references)
    paths = paths_of([*ours, *theirs], space, options)
    a, b = paths[: len(ours)], paths[len(ours) :]
    share = counts / counts.sum()
    relative = replace(options, variant="metric", normalize="relative")
    if variant == "metric":
        raw, dissimilarity = weighted_means(
            a, b, share, options, [options, relative], n_jobs=n_jobs
        )
    else:
        (raw,) = weighted_means(a, b, share, options, [options], n_jobs=n_jobs)
        (dissimilarity,) = weighted_means(a, b, share, relative, [relative], n_jobs=n_jobs)
    of_bound = normalised(raw, a, b, replace(options, normalize="bound"))
    means = {
        "mean_distance": raw,
        "mean_distance_of_bound": of_bound,
        "mean_dissimilarity": dissimilarity,
    }
    return pd.DataFrame({name: mean[where] for name, mean in means.items()})


def _distinct(trees: Sequence[Tree]) -> tuple[list[Tree], NDArray[np.int64], FloatArray]:
    """Return distinct objects, the position of each tree among them, and their counts."""
    distinct = {id(tree): tree for tree in trees}
    position = {key: i for i, key in enumerate(distinct)}
    where = np.array([position[id(tree)] for tree in trees], dtype=np.int64)
    return list(distinct.values()), where, np.bincount(where).astype(np.float64)


def check_objectives(objectives: Any) -> tuple[str, ...]:
    """Check the objectives of the frontier: different names, at least two."""
    several = not isinstance(objectives, str) and isinstance(objectives, Sequence)
    names = tuple(objectives) if several else (objectives,)
    if not 2 <= len(names) == len([name for name in OBJECTIVES if name in names]):
        raise InputError(
            f"expected objectives to be two or more of {list(OBJECTIVES)}, got {objectives!r}"
        )
    return names


def candidate_table(
    candidates: Collection,
    grid: Sequence[Mapping[str, Any]],
    distances: pd.DataFrame,
) -> pd.DataFrame:
    """Everything known about the candidates but their score, one row each."""
    trees = candidates.trees
    table = pd.DataFrame({"bootstrap": candidates.bootstrap})
    for name in dict.fromkeys(name for one in grid for name in one):
        values = pd.Series([one.get(name) for one in grid], dtype=object)
        table[f"param_{name}"] = values.take(candidates.setting).infer_objects().to_numpy()
    table = table.join(distances)
    table["selection_score"] = table["selection_score_se"] = np.nan
    table["n_leaves"] = [tree.n_leaves for tree in trees]
    table["depth"] = measure_each(trees, lambda tree: tree.depth)
    return table


def ranked(
    table: pd.DataFrame,
    objectives: Sequence[str],
    score: FloatArray,
    error: FloatArray | float = np.nan,
) -> pd.DataFrame:
    """Return the table with scores, and who is on the frontier by them."""
    table = table.assign(selection_score=score, selection_score_se=error)
    columns = {"distance": "mean_distance", "score": "selection_score"}
    points = table[[columns.get(name, name) for name in objectives]].to_numpy(dtype=np.float64)
    # A tree without a score cannot be chosen, even where score is no objective.
    points[np.isnan(score)] = np.nan
    maximize = [OBJECTIVES[name] for name in objectives]
    return table.assign(on_frontier=pareto_mask(points, maximize))


def honest_estimate(
    choose: Callable[[FloatArray], int],
    without_fold: FloatArray,
    evaluate: Callable[[int, int], float],
) -> tuple[float, float]:
    """Estimate the score of a tree chosen this way, on rows that had no say in the choice.

    The best of many scores is too good: it was chosen for its luck on these rows as well.
    So the choice is made again without each fold, and its tree is scored on that fold:
    ``choose(scores)`` is the position of a candidate, ``without_fold`` holds the scores without
    each fold in its columns, ``evaluate(i, k)`` scores candidate i on fold k. Returns mean and
    standard error over the folds, NaN where there are too few rows for two folds.

    The error is that of the mean as an estimate for a tree chosen on other rows. The choices
    of the folds share most of their rows and err together, so that the folds' spread over
    their number is too small: Nadeau and Bengio's 1/K + n_test / n_train takes its place.
    Intervals take Student's t with K - 1 degrees of freedom.
    """
    n_folds = without_fold.shape[1]
    found = []
    for fold in range(n_folds if n_folds > 1 else 0):
        if not np.isnan(without_fold[:, fold]).all():
            found.append(evaluate(choose(without_fold[:, fold]), fold))
    values = np.array([value for value in found if not np.isnan(value)])
    if values.size < 2:
        return np.nan, np.nan
    shared = 1 / values.size + 1 / (n_folds - 1)
    return float(values.mean()), float(values.std(ddof=1) * np.sqrt(shared))


# -- the choice as plain data --------------------------------------------------------------


def stable_summary(model: Any, *, publish: bool = False) -> dict[str, Any]:
    """Return what there is to say of a fitted stable tree and of those it was chosen among."""
    trees, results = list(model.candidates_), model.results_
    best, space = int(model.best_index_), model.feature_space_
    chosen, rows = trees[best], results.to_dict("records")
    candidates = [_candidate(i, row, trees[i], i == best) for i, row in enumerate(rows)]
    compact = add_candidate_trees(candidates, trees, base=chosen, space=space)
    drawn = () if publish else {j for tree in compact for j in tree["f"]}
    estimate, error = model.score_estimate_, model.score_estimate_se_
    summary = {
        **SUMMARY,
        "kind": "stable",
        "published": False,
        "chosen": candidates[best]["name"],
        "distance": float(rows[best]["mean_distance"]),
        "dissimilarity": float(rows[best]["mean_dissimilarity"]),
        # Of the choosing as a whole, on folds it was not made on; and the score chosen by.
        "estimate": score(estimate, None, error) if math.isfinite(estimate) else None,
        "chosen_by": score(model.selection_score_, None),
        "candidates": candidates,
        "candidate_trees": compact,
        "diff": _only_tree(chosen, space, drawn=drawn, publish=publish),
        "settings": {k: _setting(v) for k, v in model.get_params(deep=False).items()},
    }
    return published(summary) if publish else summary


def _candidate(i: int, row: Mapping[str, Any], tree: Tree, chosen: bool) -> dict[str, Any]:
    settings = [column for column in row if column.startswith("param_")]
    return {
        "name": f"Candidate {i + 1}",
        "kind": "",
        "price": None,
        "distance": float(row["mean_distance"]),
        "dissimilarity": float(row["mean_dissimilarity"]),
        "n_leaves": tree.n_leaves,
        "depth": tree.depth,
        "edits": [],
        "on_frontier": bool(row["on_frontier"]),
        "chosen": chosen,
        "score": score(row["selection_score"], None, row["selection_score_se"]),
        "flips": None,
        "moved": None,
        "parameters": ", ".join(f"{name.removeprefix('param_')} {row[name]}" for name in settings),
        "tree": None,
        "counts": None,
    }


def _only_tree(
    tree: Tree, space: FeatureSpace, *, drawn: Iterable[int], publish: bool
) -> dict[str, Any]:
    """Return a tree as the new one of a diff that has no old one.

    The rows of a rule are those that it was trained on.
    """
    diff = diff_trees(tree, tree, space=space)
    if publish:
        diff = names_for_others(diff)
    out = diff_summary(diff, drawn=set(drawn))
    total = float(tree.weight[0])
    for rule in out["rules"]:
        rule["old"] = None
        if total > 0:
            rule["new"]["rows"] = people(tree.weight[rule["new"]["leaf"]], total, "share")
    out["trees"]["old"] = out["policy"]["old"] = None
    return out


def _setting(value: Any) -> Any:
    """Return a setting that is short enough to read; data passed as one is only described."""
    if isinstance(value, (list, tuple, set, frozenset)) and len(value) <= 12:
        return plain_json(value)
    if value is None or isinstance(value, (str, int, float, bool)):
        return plain_json(value)
    if isinstance(value, Mapping):
        return {str(k): repr(v) for k, v in value.items()}
    if hasattr(value, "shape"):
        return f"given ({' × '.join(str(n) for n in value.shape)})"
    return getattr(value, "__name__", None) or type(value).__name__
