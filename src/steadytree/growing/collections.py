"""Grow collections of trees: bootstraps times a grid of settings (the paper, Section 3.1).

The paper trains trees on bootstraps of the first batch and of all training data, for
every depth and leaf size of a grid. Most of that work is repeated: a CART tree of depth 5
is the top of the tree of depth 12 grown from the same rows. So each (bootstrap, other
settings) is grown once to the largest depth and cut (``nested=True``). The paper's own
trees vary more: there every fit has a random seed of its own (``nested=False``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import joblib
import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from steadytree._jobs import run_jobs
from steadytree._progress import track
from steadytree.growing.fitting import TrainingData, fit_by_weight, fit_tree
from steadytree.tree.decision import Decision
from steadytree.tree.tree import Tree

PAPER_GRID: dict[str, list[int]] = {
    "max_depth": list(range(3, 13)),
    "min_samples_leaf": [3, 5, 10, 30, 50],
}
"""The paper's grid: D in 3..12 and M in {3, 5, 10, 30, 50}."""

# A class that is rarer than this many draws can meet is left to the global class list.
REDRAWS = 100

Setting = Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class Bootstrap:
    """One resample: the rows drawn (with repeats), and the seed of the learner."""

    rows: NDArray[np.int64]
    seed: int


@dataclass(frozen=True, eq=False)
class Collection:
    """Trees of every bootstrap and setting, bootstrap by bootstrap, in the grid's order.

    Settings that give the same tree share one object.
    """

    trees: tuple[Tree, ...]
    bootstrap: NDArray[np.int64]
    setting: NDArray[np.int64]
    in_bag: NDArray[np.bool_]
    """Of shape (n_bootstraps, n_rows): which rows each bootstrap drew."""


def draw_bootstrap(
    rows: NDArray[np.int64],
    y: NDArray[Any] | None,
    seed: int,
    *,
    keep_out_of_bag: bool = False,
) -> Bootstrap:
    """Sample rows uniformly with replacement, as many as there are.

    A draw that loses a class (or, with ``keep_out_of_bag``, leaves none of it out) is
    drawn again; after 100 draws it is taken as it is, and the missing class keeps its
    place in the tree's class list with share 0. ``y`` is the class of every row of the table,
    None for regression.
    """
    rng = np.random.default_rng(seed)
    wanted = None if y is None else np.unique(y[rows])
    for _ in range(REDRAWS):
        drawn = rng.integers(0, rows.size, rows.size)
        if wanted is None or y is None:
            break
        complete = np.unique(y[rows[drawn]]).size == wanted.size
        if complete and keep_out_of_bag:
            left_out = np.ones(rows.size, dtype=bool)
            left_out[drawn] = False
            complete = np.unique(y[rows[left_out]]).size == wanted.size
        if complete:
            break
    return Bootstrap(rows[drawn], int(rng.integers(0, 2**31 - 1)))


def grow_collections(
    estimator: Any,
    data: TrainingData,
    batches: Sequence[NDArray[np.int64]],
    grid: Sequence[Setting],
    *,
    n_bootstraps: int,
    seeds: NDArray[np.int64],
    nested: bool = True,
    keep_out_of_bag: bool = False,
    decision: Decision | float | None = None,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> list[Collection]:
    """Grow one collection per batch of rows.

    Parameters
    ----------
    batches : sequence of int arrays
        Rows of each batch: the first batch and the full training data.
    grid : sequence of mappings
        Settings tried on every bootstrap.
    seeds : int array (n_batches, n_bootstraps)
        Drawn beforehand, so that the result does not depend on ``n_jobs``.
    nested : bool, default True
        Grow CART once per bootstrap to the largest ``max_depth`` and cut it for the
        others. Where gains tie exactly a cut tree may differ from one grown to that
        depth; both are CART trees. Repeated rows are then counted by weight, which is
        the same and faster. Otherwise settings are fitted one by one: each is grown to
        its own depth with a seed of its own, derived from the bootstrap's, so that ties
        are broken anew in every fit. Settings with ``max_leaf_nodes`` or ``ccp_alpha``,
        and other learners, are always fitted one by one.
    keep_out_of_bag : bool, default False
        Draw bootstraps that leave some row of every class out.
    """
    plan = _plan(estimator, grid, nested=nested)
    tasks = [(k, b) for k in range(len(batches)) for b in range(n_bootstraps)]
    # Growing releases the GIL, so threads share the data.
    jobs = run_jobs(
        _grow_bootstrap,
        ((k, int(seeds[k, b])) for k, b in tasks),
        common=(data, batches, plan, len(grid), keep_out_of_bag, decision),
        n_jobs=n_jobs,
    )
    grown = list(track(jobs, total=len(tasks), label="Growing trees", verbose=verbose))
    return [
        _collect([done for (k, _), done in zip(tasks, grown, strict=True) if k == batch], data)
        for batch in range(len(batches))
    ]


@dataclass(frozen=True)
class _Growth:
    """One fit, and the grid positions that are cuts of it: (position, depth or None).

    ``by_itself``: fitted one by one, with a seed of its own.
    """

    estimator: Any
    members: tuple[tuple[int, int | None], ...]
    by_itself: bool = False


def _plan(estimator: Any, grid: Sequence[Setting], *, nested: bool) -> list[_Growth]:
    """Group the settings that one growth serves, deepest first."""
    groups: dict[str, list[tuple[int, int | None]]] = {}
    plan: list[_Growth] = []
    for position, setting in enumerate(grid):
        if nested and _can_be_cut(estimator, setting):
            rest = {name: value for name, value in setting.items() if name != "max_depth"}
            groups.setdefault(joblib.hash(rest), []).append((position, setting["max_depth"]))
        else:
            own = clone(estimator).set_params(**setting)
            plan.append(_Growth(own, ((position, None),), by_itself=True))
    for members in groups.values():
        members.sort(key=lambda member: -np.inf if member[1] is None else -member[1])
        deepest = clone(estimator).set_params(**grid[members[0][0]])
        plan.append(_Growth(deepest, tuple(members)))
    return plan


def _can_be_cut(estimator: Any, setting: Setting) -> bool:
    """Whether cutting a deeper tree is the same method as growing to ``max_depth``."""
    # Best-first growth and pruning decide by the whole tree, so that a cut is another method.
    if type(estimator) not in (DecisionTreeClassifier, DecisionTreeRegressor):
        return False
    if "max_depth" not in setting:
        return False
    parameters = {**estimator.get_params(deep=False), **setting}
    return parameters["max_leaf_nodes"] is None and parameters["ccp_alpha"] == 0


def _grow_bootstrap(
    data: TrainingData,
    batches: Sequence[NDArray[np.int64]],
    plan: Sequence[_Growth],
    n_settings: int,
    keep_out_of_bag: bool,
    decision: Decision | float | None,
    batch: int,
    seed: int,
) -> tuple[list[Tree], NDArray[np.int64]]:
    """Grow all settings on one bootstrap; returns the trees and the rows drawn."""
    y = None if data.classes is None else data.rows.y
    drawn = draw_bootstrap(batches[batch], y, seed, keep_out_of_bag=keep_out_of_bag)
    trees: list[Tree | None] = [None] * n_settings
    for growth in plan:
        fit = fit_by_weight if len(growth.members) > 1 else fit_tree
        seed = _own_seed(drawn.seed, growth.members[0][0]) if growth.by_itself else drawn.seed
        tree = fit(growth.estimator, data, drawn.rows, seed=seed, decision=decision)
        for position, depth in growth.members:
            if depth is not None and tree.depth > depth:
                tree = tree.truncate(depth)
            trees[position] = tree
    return [tree for tree in trees if tree is not None], np.unique(drawn.rows)


def _own_seed(seed: int, position: int) -> int:
    """Seed of the fit of one setting; the settings beside it in the grid do not matter."""
    return int(np.random.default_rng([seed, position]).integers(0, 2**31 - 1))


def _collect(
    grown: Sequence[tuple[list[Tree], NDArray[np.int64]]], data: TrainingData
) -> Collection:
    in_bag = np.zeros((len(grown), len(data.rows.y)), dtype=bool)
    for b, (_, rows) in enumerate(grown):
        in_bag[b, rows] = True
    n_settings = len(grown[0][0])
    return Collection(
        trees=tuple(tree for trees, _ in grown for tree in trees),
        bootstrap=np.repeat(np.arange(len(grown)), n_settings),
        setting=np.tile(np.arange(n_settings), len(grown)),
        in_bag=in_bag,
    )
