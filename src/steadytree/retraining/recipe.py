"""The whole recipe of one retraining: teacher, price path and the tree from scratch.

It is run once on all rows for the proposal and once per fold for honest scores, so it takes
row numbers and gives trees.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steadytree.core.rows import CodedRows
from steadytree.core.tree import Tree
from steadytree.growing.binning import BinnedTable
from steadytree.growing.distillation import distil_tree, size_by_minority
from steadytree.growing.teacher import (
    BlendedTeacher,
    Drift,
    Teacher,
    blend_with_deployed,
    choose_teacher,
    teach,
)
from steadytree.retraining.edits.candidates import EditLimits
from steadytree.retraining.edits.search import EditedTree, PricedEdits
from steadytree.retraining.options import SearchOptions
from steadytree.retraining.problem import Problem

__all__ = ["Recipe", "run_recipe"]

LARGER = 4
"""An edited tree may have this many leaves more than its size asks for."""


@dataclass(frozen=True)
class Recipe:
    """What one run of the recipe gives: trees by decreasing price, and the one from scratch."""

    path: list[EditedTree]
    scratch: Tree
    drift: Drift | None
    blend_share: float | None


def run_recipe(
    problem: Problem,
    rows: NDArray[np.intp] | None,
    prices: Sequence[float],
    options: SearchOptions,
    *,
    locked: Sequence[int] = (),
    seed: int = 0,
    n_jobs: int | None = None,
) -> Recipe:
    """Run the recipe on the old rows and some of the new rows (None: all).

    ``prices`` decrease; infinity stands for "leaf values only".
    """
    space, n_classes, deployed = problem.space, problem.n_classes, problem.deployed
    old, new = problem.training_rows(rows)
    every = CodedRows.stack([new] if old is None else [old, new])
    teacher: Teacher | BlendedTeacher
    teacher, targets, drift = choose_teacher(
        space,
        old,
        new,
        n_classes=n_classes,
        n_estimators=options.n_estimators,
        n_jobs=n_jobs,
        seed=seed,
    )
    share = None
    if old is None:
        teacher, targets = blend_with_deployed(teacher, deployed, new)
        share = teacher.share
    taught = teach(teacher, every, targets, copies=options.copies, seed=seed + 12)
    table = BinnedTable(taught.coded, space, taught.n_real)
    size = options.max_leaf_nodes or size_by_minority(every.y, n_classes)
    # In rows of the taught table, which holds the augmented ones as well.
    min_leaf = options.min_samples_leaf * (1 + options.copies)
    search = PricedEdits(
        deployed,
        taught,
        space,
        outcome_variance=problem.outcome_variance(),
        limits=EditLimits(
            min_leaf=min_leaf,
            max_depth=max(options.max_depth, deployed.depth),
            max_leaves=max(size, deployed.n_leaves) + LARGER,
            root_sizes=(size,),
        ),
        options=options,
        locked=locked,
        table=table,
    )
    scratch = distil_tree(
        taught,
        space,
        classes=deployed.classes,
        max_leaves=size,
        min_leaf=min_leaf,
        max_depth=options.max_depth,
        decision_threshold=deployed.decision_threshold,
        precision=deployed.precision,
        table=table,
        metadata={"edits": []},
    )
    return Recipe(search.path(prices), scratch, drift, share)
