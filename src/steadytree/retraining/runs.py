"""All candidates of a retraining, made on all rows and again without each fold.

A run on all rows gives the trees that may be proposed. A run without a fold repeats
everything (teacher, search, the user's own estimators), so that the fold's rows can score
each kind of candidate honestly.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from steadytree.core.rows import CodedRows, stack_tables
from steadytree.core.tree import Tree
from steadytree.evaluation.folds import Fold
from steadytree.exceptions import InputError, NotFittedTreeError, SteadyTreeError
from steadytree.growing.cart import cross_validated_cart
from steadytree.growing.teacher import Drift
from steadytree.readers import as_tree
from steadytree.retraining.frontier import CandidateTree
from steadytree.retraining.options import SearchOptions
from steadytree.retraining.problem import Problem
from steadytree.retraining.recipe import run_recipe

__all__ = ["CandidateMaker", "Progress", "Run", "name_candidates", "run_with_folds"]

Progress = Callable[[str, int, int], None]

RESERVED = ("keep", "leaf values", "from scratch", "CART")


@dataclass(frozen=True)
class Run:
    """The candidates of one run, and what its teacher was made of."""

    candidates: list[CandidateTree]
    drift: Drift | None
    blend_share: float | None


@dataclass(frozen=True, eq=False)
class CandidateMaker:
    """Makes every candidate from some of the new rows; sent to workers.

    Attributes
    ----------
    problem : Problem
        With the user's tables only where an estimator of theirs has to be fitted.
    prices : tuple of float
        Decreasing, infinity first.
    options : SearchOptions
    locks : tuple of int
        Nodes of the deployed tree that edits may not touch.
    own : mapping of str to model
        The user's candidates, fitted or not.
    compare : bool
        Whether to add cross-validated CART.
    seed : int
    """

    problem: Problem
    prices: tuple[float, ...]
    options: SearchOptions
    locks: tuple[int, ...]
    own: Mapping[str, Any]
    compare: bool
    seed: int

    def run(self, rows: NDArray[np.intp] | None, n_jobs: int | None) -> Run:
        """Make the candidates from all new rows (None), or from those a fold leaves."""
        recipe = run_recipe(
            self.problem,
            rows,
            self.prices,
            self.options if rows is None else self.options.in_folds(),
            locked=self.locks,
            seed=self.seed,
            n_jobs=n_jobs,
        )
        out = [CandidateTree("keep", "keep", self.problem.deployed)]
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
        return Run(out, recipe.drift, recipe.blend_share)

    def _cart(self, rows: NDArray[np.intp] | None) -> Tree:
        old, new = self.problem.training_rows(rows)
        every = CodedRows.stack([new] if old is None else [old, new])
        deployed = self.problem.deployed
        return cross_validated_cart(
            self.problem.space,
            every,
            classes=deployed.classes,
            decision_threshold=deployed.decision_threshold,
            seed=self.seed,
        )

    def _own_tree(self, name: str, model: Any, rows: NDArray[np.intp] | None) -> tuple[Tree, bool]:
        deployed = self.problem.deployed
        try:
            tree, fitted_here = as_tree(model), False
        except NotFittedTreeError:
            fitted = clone(model).fit(*self._tables(rows))
            tree, fitted_here = as_tree(fitted), True
        try:
            tree = tree.in_space(self.problem.space)
        except SteadyTreeError as error:
            raise InputError(
                f"candidate {name!r} does not fit the deployed tree: {error}"
            ) from error
        threshold = deployed.decision_threshold
        if threshold is not None and tree.decision_threshold is None:
            tree = tree.relabelled(threshold)
        if tree.classes != deployed.classes:
            raise InputError(
                f"expected candidate {name!r} to have the deployed tree's classes "
                f"{deployed.classes}, got {tree.classes}"
            )
        return tree, fitted_here

    def _tables(self, rows: NDArray[np.intp] | None) -> tuple[Any, NDArray[Any]]:
        """Return the user's own tables and outcomes, for an estimator that fits itself."""
        old, new, deployed = self.problem.old, self.problem.new, self.problem.deployed
        X, y = new.table, new.y
        if rows is not None:
            X, y = _safe_indexing(X, rows), y[rows]
        if old is not None:
            X, y = stack_tables([old.table, X]), np.concatenate([old.y, y])
        return X, y if deployed.classes is None else deployed.class_names(y)


def run_with_folds(
    maker: CandidateMaker, folds: Sequence[Fold], n_jobs: int | None, report: Progress
) -> tuple[Run, list[Run]]:
    """Run on all rows, and without each fold; seeds are fixed, so the order does not matter."""
    tasks: list[NDArray[np.intp] | None] = [None, *(train for train, _ in folds)]
    workers = min(effective_n_jobs(n_jobs), len(tasks))
    inside = None if workers > 1 else n_jobs
    report("retraining on all rows", 0, len(tasks))
    stream = Parallel(n_jobs=workers, return_as="generator")(
        delayed(maker.run)(rows, inside) for rows in tasks
    )
    runs: list[Run] = []
    for run in stream:
        runs.append(run)
        step = "cross-fitting the scores" if len(runs) < len(tasks) else "done"
        report(step, len(runs), len(tasks))
    return runs[0], runs[1:]


def name_candidates(candidates: Any) -> dict[str, Any]:
    """Give the user's own candidates names that none of ours has."""
    if isinstance(candidates, Mapping):
        named = {str(name): model for name, model in candidates.items()}
    else:
        models = candidates if isinstance(candidates, (list, tuple)) else [candidates]
        named = {f"own {i}": model for i, model in enumerate(models, start=1)}
    clash = sorted(name for name in named if name in RESERVED or name.startswith("price "))
    if clash:
        raise InputError(f"expected other names for your candidates than {clash}; rename them")
    return named
