"""``retrain``: the tree that changes least among those that predict as well as can be had."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import _safe_indexing, check_random_state

from steadytree.core.space import FeatureSpace
from steadytree.core.tree import Tree
from steadytree.evaluation.crossfit import CrossFitted
from steadytree.evaluation.flips import flipped
from steadytree.evaluation.folds import Fold, check_rowwise, make_folds
from steadytree.evaluation.predictions import Predictions, predict_rows
from steadytree.exceptions import InputError, NotFittedTreeError, SteadyTreeError
from steadytree.growing.cart import cross_validated_cart
from steadytree.readers import as_tree
from steadytree.retraining.frontier import (
    CandidateTree,
    Rule,
    build_frontier,
    choose,
    selection_cost,
)
from steadytree.retraining.locks import resolve_locks
from steadytree.retraining.problem import Problem, prepare_problem
from steadytree.retraining.recipe import Recipe, RecipeSettings, run_recipe
from steadytree.retraining.result import Retraining

__all__ = ["DEFAULT_PRICE", "PRICES", "retrain"]

DEFAULT_PRICE = 0.2
PRICES = (1.0, 0.5, 0.3, 0.2, 0.15, 0.1, 0.07, 0.05, 0.02)
"""Prices on every path, besides the one asked for."""

Progress = Callable[[str, int, int], None]


def retrain(
    deployed: Any,
    X_new: Any,
    y_new: Any,
    *,
    X_old: Any = None,
    y_old: Any = None,
    price: float = DEFAULT_PRICE,
    select: Rule = None,
    tolerance: float = 0.02,
    locked: Any = (),
    candidates: Any = (),
    compare: bool = False,
    decision_threshold: float | str | None = None,
    space: FeatureSpace | None = None,
    sample_weight: Any = None,
    sample_weight_old: Any = None,
    groups: Any = None,
    time: Any = None,
    n_folds: int = 5,
    n_estimators: int = 100,
    max_leaf_nodes: int | None = None,
    max_depth: int = 8,
    min_samples_leaf: int = 8,
    n_jobs: int | None = None,
    random_state: Any = None,
    verbose: int = 0,
    progress: Progress | None = None,
) -> Retraining:
    """Propose a successor of a deployed tree that changes only what pays.

    Starting from the deployed tree A, edits (move or swap a condition, rebuild a subtree,
    grow a leaf, prune) are made as long as what they save in loss to a forest's soft targets
    is worth their price: the change they make, measured by the paper's distance in its
    metric form. Leaf values are always re-estimated; A's labels stay unless the evidence
    pays for changing them. Sweeping the price gives every tree between "keep" and
    "from scratch"; each is scored by running the whole recipe again without the rows it is
    scored on.

    Parameters
    ----------
    deployed : fitted model, Tree or path
        Anything :func:`as_tree` reads.
    X_new, y_new
        The rows that arrived. A category A never met follows A's missing values and can be
        learned; the space is then widened, with a warning.
    X_old, y_old : optional
        Rows A was trained on: with them the teacher learns from both, unless the drift
        switch finds that the new rows no longer follow the old. Without them A's own
        predictions stand in for them, as far as they still fit the new rows.
    price : float, default 0.2
        Exchange rate: changing rules worth the whole tree A (its mass) must save this share
        of the spread of the outcome that can be explained. Lower prices buy more change.
    select : None, "tolerance", "one_se" or callable
        None: the tree at ``price``. "tolerance": the least change among candidates whose
        score is within ``tolerance`` (relative) of the best. "one_se": the least change
        within one paired standard error of the best. A function gets the frontier and
        returns a candidate's name or row number.
    locked : "root", node number, feature name, condition or rule text, or several
        What edits may not touch. Locking a leaf locks its whole rule and its label; its
        share is still re-estimated.
    candidates : models or mapping of name to model
        Your own candidates: a fitted model is scored on the new rows as it is, an unfitted
        estimator is cross-fitted like ours (on old and new rows).
    compare : bool, default False
        Add cross-validated CART, retrained independently.
    decision_threshold : float, "prevalence" or None
        None: the deployed tree's own.
    space : FeatureSpace, optional
        By default the one stored with the deployed tree, else made from all rows given.
    sample_weight, sample_weight_old : arrays, optional
        Weights in training; scores count rows.
    groups : array, optional
        Rows of one group (a patient) stay on one side of every fold.
    time : array, optional
        Folds go forward in time: trained on earlier rows, scored on the next block.
    n_folds : int, default 5
        Folds of the cross-fitted scores; 0 for none. Their teachers have half as many trees.
    n_estimators : int, default 100
        Trees of the teacher's forest, and its rounds of boosting (at most 100).
    max_leaf_nodes : int, optional
        Size to aim for; by default by the number of minority cases (6 to 24). A tree that
        is already larger may stay so.
    max_depth, min_samples_leaf : int
        Limits on new rules.
    n_jobs : int, optional
        Runs of the recipe at the same time; results do not depend on it.
    random_state : int, RandomState or None
    verbose : int, default 0
        1: progress on stderr.
    progress : callable, optional
        Called as ``progress(step, done, total)``.

    Returns
    -------
    Retraining

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> import steadytree as st
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> first = st.DistilledTreeClassifier(random_state=0).fit(X[:300], y[:300])
    >>> update = st.retrain(first, X[300:], y[300:], X_old=X[:300], y_old=y[:300],
    ...                     n_folds=2, random_state=0)
    >>> update.dissimilarity < 0.5
    True
    """
    if not price >= 0:
        raise InputError(f"expected a price >= 0, got {price!r}; the default is {DEFAULT_PRICE}")
    if isinstance(select, str) and select not in ("tolerance", "one_se"):
        raise InputError(
            f'expected select None, "tolerance", "one_se" or a function, got {select!r}'
        )
    problem = prepare_problem(
        deployed,
        X_new,
        y_new,
        X_old=X_old,
        y_old=y_old,
        sample_weight=sample_weight,
        sample_weight_old=sample_weight_old,
        decision_threshold=decision_threshold,
        space=space,
    )
    n = len(problem.new)
    group_of = check_rowwise(groups, n, "groups")
    time_of = check_rowwise(time, n, "time")
    seed = int(check_random_state(random_state).randint(2**31 - 100))
    folds = _folds(problem, n_folds, group_of, time_of, seed)
    price = float(price)
    prices = tuple(sorted({*PRICES, price, np.inf}, reverse=True))
    settings = RecipeSettings(
        prices=prices,
        n_estimators=n_estimators,
        max_leaves=max_leaf_nodes,
        max_depth=max_depth,
        min_samples_leaf=min_samples_leaf,
    )
    locks = tuple(sorted(resolve_locks(locked, problem.deployed, problem.space)))
    own = _own_candidates(candidates)
    tables = _Tables(X_new, y_new, X_old, y_old) if own else None
    runs = _Runs(problem, settings, locks, own, tables, compare, seed)
    made = list(_run_all(runs, folds, n_jobs, _reporter(verbose, progress)))
    full = made[0]
    scores = _cross_fitted(problem, full.candidates, made[1:], folds, group_of)
    coded = problem.new.coded
    before = predict_rows(problem.deployed, coded)
    span = None
    if problem.space.response_range is not None and problem.n_classes is None:
        span = problem.space.response_range[1] - problem.space.response_range[0]
    flips = {
        c.name: float(flipped(before, predict_rows(c.tree, coded), span).mean())
        for c in full.candidates
    }
    frontier = build_frontier(full.candidates, problem.deployed, problem.space, scores, flips)
    options: dict[str, Any] = {"price": price, "tolerance": tolerance, "scores": scores}
    chosen = choose(frontier, select, **options)
    frontier["chosen"] = frontier.index == chosen
    trees = {c.name: c.tree for c in full.candidates}
    return Retraining(
        tree=trees[chosen],
        deployed=problem.deployed,
        trees=trees,
        frontier=frontier,
        chosen=chosen,
        drift=full.recipe.drift,
        selection_cost=selection_cost(frontier, chosen, select, **options),
        space=problem.space,
        settings={
            "steadytree": version("steadytree"),
            "price": price,
            "select": select if select is None or isinstance(select, str) else "function",
            "tolerance": tolerance,
            "prices": [p for p in prices if np.isfinite(p)],
            "n_folds": len(folds),
            "folds": "time" if time is not None else "groups" if groups is not None else "random",
            "n_estimators": n_estimators,
            "n_estimators_in_folds": _fold_trees(n_estimators),
            "max_leaf_nodes": max_leaf_nodes,
            "max_depth": max_depth,
            "min_samples_leaf": min_samples_leaf,
            "locked_nodes": list(locks),
            "compare": compare,
            "seed": seed,
            "n_new": n,
            "n_old": None if problem.old is None else len(problem.old),
            "share_of_deployed_in_teacher": full.recipe.blend_share,
            "space": problem.space.digest(),
        },
        X_new=X_new,
        y_new=problem.new.y,
        old_predictions=before,
        new_predictions=scores.predictions[chosen],
        groups=group_of,
        notes=problem.notes,
    )


# -- runs of the recipe -------------------------------------------------------------------


@dataclass(frozen=True)
class _Tables:
    """The user's own tables, for candidates that fit themselves."""

    X_new: Any
    y_new: Any
    X_old: Any
    y_old: Any

    def training(self, rows: NDArray[np.intp] | None) -> tuple[Any, Any]:
        X, y = self.X_new, np.asarray(self.y_new)
        if rows is not None:
            X, y = _safe_indexing(X, rows), y[rows]
        if self.X_old is None:
            return X, y
        return _stack(self.X_old, X), np.concatenate([np.asarray(self.y_old), y])


def _stack(a: Any, b: Any) -> Any:
    if isinstance(a, pd.DataFrame):
        return pd.concat([a, b], ignore_index=True)
    if hasattr(a, "vstack"):  # polars
        return a.vstack(b)
    return np.concatenate([np.asarray(a), np.asarray(b)])


@dataclass(frozen=True)
class _Made:
    """Candidates of one run; of a fold, with their predictions of the rows left out."""

    candidates: list[CandidateTree]
    recipe: Recipe


@dataclass(frozen=True)
class _Runs:
    """Everything a run needs; sent to workers."""

    problem: Problem
    settings: RecipeSettings
    locks: tuple[int, ...]
    own: dict[str, Any]
    tables: _Tables | None
    compare: bool
    seed: int

    def run(self, rows: NDArray[np.intp] | None, n_jobs: int | None) -> _Made:
        problem, settings = self.problem, self.settings
        if rows is not None:
            settings = RecipeSettings(
                **{**settings.__dict__, "n_estimators": _fold_trees(settings.n_estimators)}
            )
        recipe = run_recipe(
            problem, rows, settings, locked=self.locks, seed=self.seed, n_jobs=n_jobs
        )
        out = [CandidateTree("keep", "keep", problem.deployed)]
        for edited in recipe.path:
            free = np.isposinf(edited.price)
            out.append(
                CandidateTree(
                    "leaf values" if free else f"price {edited.price:g}",
                    "leaf values" if free else "priced edits",
                    edited.tree,
                    edited.price,
                    edited.edits,
                )
            )
        out.append(CandidateTree("from scratch", "from scratch", recipe.scratch))
        if self.compare:
            out.append(CandidateTree("CART", "CART", self._cart(rows)))
        for name, model in self.own.items():
            tree, fitted_here = self._own_tree(name, model, rows)
            out.append(CandidateTree(name, "own", tree, cross_fitted=fitted_here))
        return _Made(out, recipe)

    def _cart(self, rows: NDArray[np.intp] | None) -> Tree:
        problem = self.problem
        new = problem.new if rows is None else problem.new.take(rows)
        parts = [new] if problem.old is None else [problem.old, new]
        weights = [p.weight for p in parts]
        weight = None
        if any(w is not None for w in weights):
            weight = np.concatenate(
                [np.ones(len(p)) if p.weight is None else p.weight for p in parts]
            )
        return cross_validated_cart(
            problem.space,
            np.concatenate([p.coded for p in parts]),
            np.concatenate([p.y for p in parts]),
            classes=problem.deployed.classes,
            sample_weight=weight,
            decision_threshold=problem.deployed.decision_threshold,
            seed=self.seed,
        )

    def _own_tree(self, name: str, model: Any, rows: NDArray[np.intp] | None) -> tuple[Tree, bool]:
        try:
            tree, fitted_here = as_tree(model), False
        except NotFittedTreeError:
            assert self.tables is not None
            fitted = clone(model).fit(*self.tables.training(rows))
            tree, fitted_here = as_tree(fitted), True
        try:
            tree = tree.in_space(self.problem.space)
        except SteadyTreeError as error:
            raise InputError(
                f"candidate {name!r} does not fit the deployed tree: {error}"
            ) from error
        threshold = self.problem.deployed.decision_threshold
        if threshold is not None and tree.decision_threshold is None:
            tree = tree.relabelled(threshold)
        if tree.classes != self.problem.deployed.classes:
            raise InputError(
                f"expected candidate {name!r} to have the deployed tree's classes "
                f"{self.problem.deployed.classes}, got {tree.classes}"
            )
        return tree, fitted_here


def _fold_trees(n_estimators: int) -> int:
    return max(n_estimators // 2, min(n_estimators, 50))


def _run_all(
    runs: _Runs, folds: list[Fold], n_jobs: int | None, report: Progress
) -> Iterator[_Made]:
    """Run on all rows, then once per fold; the seeds are fixed, so the order does not matter."""
    tasks: list[NDArray[np.intp] | None] = [None, *(train for train, _ in folds)]
    workers = min(effective_n_jobs(n_jobs), len(tasks))
    inside = None if workers > 1 else n_jobs
    report("retraining on all rows", 0, len(tasks))
    stream = Parallel(n_jobs=workers, return_as="generator")(
        delayed(runs.run)(rows, inside) for rows in tasks
    )
    for done, made in enumerate(stream, start=1):
        step = "cross-fitting the scores" if done < len(tasks) else "done"
        report(step, done, len(tasks))
        yield made


def _reporter(verbose: int, progress: Progress | None) -> Progress:
    def report(step: str, done: int, total: int) -> None:
        if progress is not None:
            progress(step, done, total)
        if verbose:
            print(f"retrain: {done}/{total} {step}", file=sys.stderr, flush=True)

    return report


def _folds(
    problem: Problem,
    n_folds: int,
    groups: NDArray[Any] | None,
    time: NDArray[Any] | None,
    seed: int,
) -> list[Fold]:
    if n_folds == 0:
        return []
    if n_folds < 2:
        raise InputError(f"expected n_folds 0 or at least 2, got {n_folds!r}")
    made = make_folds(
        problem.new.y,
        classifier=problem.n_classes is not None,
        n_folds=n_folds,
        groups=groups,
        time=time,
        seed=seed,
    )
    # A fold whose training rows hold one class only teaches nothing.
    return [(train, test) for train, test in made if len(np.unique(problem.new.y[train])) > 1]


def _cross_fitted(
    problem: Problem,
    candidates: Sequence[CandidateTree],
    made: list[_Made],
    folds: list[Fold],
    groups: NDArray[Any] | None,
) -> CrossFitted:
    n, coded = len(problem.new), problem.new.coded
    width = problem.deployed.value.shape[1]
    predictions = {
        c.name: Predictions(np.full((n, width), np.nan), np.zeros(n, dtype=np.int32))
        for c in candidates
    }
    for (_, test), run in zip(folds, made, strict=True):
        for item in run.candidates:
            part = predict_rows(item.tree, coded[test])
            predictions[item.name].value[test] = part.value
            predictions[item.name].label[test] = part.label
    return CrossFitted(problem.new.y, problem.n_classes is not None, folds, predictions, groups)


def _own_candidates(candidates: Any) -> dict[str, Any]:
    if isinstance(candidates, Mapping):
        named = {str(name): model for name, model in candidates.items()}
    else:
        models = candidates if isinstance(candidates, (list, tuple)) else [candidates]
        named = {f"own {i}": model for i, model in enumerate(models, start=1)}
    reserved = {"keep", "leaf values", "from scratch", "CART"}
    clash = sorted(name for name in named if name in reserved or name.startswith("price "))
    if clash:
        raise InputError(f"expected other names for your candidates than {clash}; rename them")
    return named
