"""A first tree worth keeping: one tree that says what a forest says.

Distilled from an ensemble's predictions of rows it has not seen, real and augmented, on the
scale that retraining proposes its edits on (arcsin√p: a step from 1 to 4 % counts as much as
one from 40 to 50 %). Leaf values are from real rows only. Such a tree starts nearer to where
retraining would take it, so it has less reason to change later.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadytree.core.decision import Decision
from steadytree.core.space import FeatureSpace
from steadytree.core.tree import Tree
from steadytree.growing.best_first import grow_best_first
from steadytree.growing.binning import BinnedTable
from steadytree.growing.node_export import export_tree
from steadytree.growing.nodes import NodeFactory
from steadytree.growing.teacher import TaughtRows

__all__ = ["distil_tree", "distil_trees", "size_by_minority"]

CASES_PER_LEAF = 2.5
ROWS_PER_LEAF = 10.0
FEWEST_LEAVES, MOST_LEAVES = 6, 24


def size_by_minority(y: NDArray[Any], n_classes: int | None) -> int:
    """Leaves that the data can pay for: one per 2.5 rows outside the largest class.

    Between 6 and 24, the range a person reads. For regression, one per ten rows.
    """
    if n_classes is None:
        cases = len(y) / ROWS_PER_LEAF
    else:
        cases = (len(y) - np.bincount(y, minlength=n_classes).max()) / CASES_PER_LEAF
    return int(np.clip(round(cases), FEWEST_LEAVES, MOST_LEAVES))


def distil_tree(
    taught: TaughtRows,
    space: FeatureSpace,
    *,
    classes: tuple[Any, ...] | None,
    max_leaves: int,
    min_leaf: int,
    max_depth: int,
    decision: Decision | float | None = None,
    precision: str = "float64",
    make: NodeFactory | None = None,
    metadata: dict[str, Any] | None = None,
) -> Tree:
    """Grow one tree on the teacher's targets.

    ``min_leaf`` counts real rows. ``make`` may hold the taught rows already; how the values of
    this tree are steadied then holds for all that it makes.
    """
    return distil_trees(
        taught,
        space,
        classes=classes,
        sizes=(max_leaves,),
        min_leaf=min_leaf,
        max_depth=max_depth,
        decision=decision,
        precision=precision,
        make=make,
        metadata=metadata,
    )[0]


def distil_trees(
    taught: TaughtRows,
    space: FeatureSpace,
    *,
    classes: tuple[Any, ...] | None,
    sizes: Sequence[int],
    min_leaf: int,
    max_depth: int,
    decision: Decision | float | None = None,
    precision: str = "float64",
    make: NodeFactory | None = None,
    metadata: dict[str, Any] | None = None,
) -> list[Tree]:
    """Trees of several sizes, all beginnings of one growth; see :func:`distil_tree`."""
    if make is None:
        make = NodeFactory(taught, BinnedTable(taught.coded, space, taught.n_real))
    grown = grow_best_first(
        make.table,
        taught.weight,
        make.targets,
        np.arange(len(taught.weight)),
        max_leaves=max(sizes),
        min_leaf=min_leaf,
        max_depth=max_depth,
        counted=make.is_real,
    )
    trees = []
    for size in sizes:
        root = make.from_growth(grown, min(size, grown.n_leaves))
        make.steady_by(root)
        trees.append(
            export_tree(
                root,
                space,
                classes=classes,
                decision=decision,
                precision=precision,
                metadata=metadata,
            )
        )
    return trees
