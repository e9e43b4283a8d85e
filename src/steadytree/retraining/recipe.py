"""The whole recipe of one retraining: teacher, price path and the tree from scratch.

It is run once on all rows for the proposal and once per fold for honest scores, so it takes
row numbers and gives trees.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadytree.core.tree import Tree
from steadytree.growing.binning import BinnedTable
from steadytree.growing.distillation import distil_tree, size_by_minority
from steadytree.growing.teacher import (
    COPIES,
    BlendedTeacher,
    Drift,
    Teacher,
    blend_with_deployed,
    choose_teacher,
    teach,
)
from steadytree.retraining.edits.search import EditedTree, PricedEdits, SearchSettings
from steadytree.retraining.problem import Problem

__all__ = ["Recipe", "RecipeSettings", "run_recipe"]

LARGER = 4
"""An edited tree may have this many leaves more than its size asks for."""


@dataclass(frozen=True)
class RecipeSettings:
    """Settings of the recipe.

    Attributes
    ----------
    prices : tuple of float
        Decreasing; infinity stands for "leaf values only".
    n_estimators : int
        Trees of the teacher.
    max_leaves : int or None
        None: sized by the minority class.
    max_depth : int
    min_samples_leaf : int
        In real rows; the taught table holds ``1 + copies`` times as many.
    copies : int
        Augmented rows per real row.
    """

    prices: tuple[float, ...]
    n_estimators: int = 100
    max_leaves: int | None = None
    max_depth: int = 8
    min_samples_leaf: int = 8
    copies: int = COPIES


@dataclass(frozen=True)
class Recipe:
    """What one run of the recipe made."""

    path: list[EditedTree]
    scratch: Tree
    drift: Drift | None
    blend_share: float | None


def run_recipe(
    problem: Problem,
    rows: NDArray[np.intp] | None,
    settings: RecipeSettings,
    *,
    locked: Sequence[int] = (),
    seed: int = 0,
    n_jobs: int | None = None,
) -> Recipe:
    """Run the recipe on the old rows and some of the new rows (None: all)."""
    space, n_classes = problem.space, problem.n_classes
    new = problem.new if rows is None else problem.new.take(rows)
    old = problem.old
    teacher: Teacher | BlendedTeacher
    teacher, targets, drift = choose_teacher(
        space,
        None if old is None else old.as_tuple(),
        new.as_tuple(),
        n_classes=n_classes,
        n_estimators=settings.n_estimators,
        n_jobs=n_jobs,
        seed=seed,
    )
    share = None
    if old is None:
        teacher, targets = blend_with_deployed(teacher, problem.deployed, new.coded, new.y)
        share = teacher.share
    coded = new.coded if old is None else np.concatenate([old.coded, new.coded])
    y = new.y if old is None else np.concatenate([old.y, new.y])
    taught = teach(
        teacher,
        coded,
        targets,
        sample_weight=_joint_weight(problem, new.weight, len(new)),
        copies=settings.copies,
        seed=seed + 12,
    )
    table = BinnedTable(taught.coded, space, taught.n_real)
    size = settings.max_leaves or size_by_minority(y, n_classes)
    deployed = problem.deployed
    min_leaf = settings.min_samples_leaf * (1 + settings.copies)
    search = PricedEdits(
        deployed,
        taught,
        space,
        outcome_variance=problem.outcome_variance(),
        settings=SearchSettings(
            min_leaf=min_leaf,
            max_depth=max(settings.max_depth, deployed.depth),
            max_leaves=max(size, deployed.n_leaves) + LARGER,
            root_sizes=(size,),
        ),
        locked=locked,
        table=table,
    )
    scratch = distil_tree(
        taught,
        space,
        classes=deployed.classes,
        max_leaves=size,
        min_leaf=min_leaf,
        max_depth=settings.max_depth,
        decision_threshold=deployed.decision_threshold,
        precision=deployed.precision,
        table=table,
        metadata={"edits": []},
    )
    return Recipe(search.path(settings.prices), scratch, drift, share)


def _joint_weight(problem: Problem, weight: Any, n_new: int) -> NDArray[np.float64] | None:
    old = problem.old
    if old is None or (old.weight is None and weight is None):
        return None if weight is None else np.asarray(weight)
    return np.concatenate(
        [
            np.ones(len(old)) if old.weight is None else old.weight,
            np.ones(n_new) if weight is None else weight,
        ]
    )
