"""A first tree worth keeping: one tree that says what a forest says.

Distilled from an ensemble's predictions of rows it has not seen, real and augmented, on the
scale that retraining proposes its edits on (arcsin√p: a step from 1 to 4 % counts as much as
one from 40 to 50 %). Leaf values are from real rows only. Such a tree starts nearer to where
retraining would take it, so it has less reason to change later.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadytree.growing.best_first import BinnedTable, grow_best_first
from steadytree.growing.nodes import NodeFactory, export_tree
from steadytree.growing.teacher import TaughtRows
from steadytree.tree.decision import Decision
from steadytree.tree.space import FeatureSpace
from steadytree.tree.tree import Tree

CASES_PER_LEAF = 2.5
ROWS_PER_LEAF = 10.0
FEWEST_LEAVES, MOST_LEAVES = 6, 16
MOST_CONDITIONS = 5
"""Conditions in a rule of a first tree: a sixth gains 0.14 AUC points (benchmarks/distilled.md)."""
LEAF_ROWS = (8, 20)
"""Fewest real rows in a leaf of a first tree: a tenth of all rows, within these bounds."""


def size_by_minority(y: NDArray[Any], n_classes: int | None, most: int = MOST_LEAVES) -> int:
    """Leaves that the data can pay for: one per 2.5 rows outside the largest class.

    At least 6, at most ``most``, and never fewer than there are classes. For regression, one
    per ten rows.
    """
    if n_classes is None:
        cases = len(y) / ROWS_PER_LEAF
    else:
        cases = (len(y) - np.bincount(y, minlength=n_classes).max()) / CASES_PER_LEAF
    return max(int(np.clip(round(cases), FEWEST_LEAVES, most)), n_classes or 1)


def leaf_rows(n_rows: int) -> int:
    """Rows that a leaf of a first tree needs: 20, where there are rows enough to split at all."""
    return int(np.clip(n_rows // 10, *LEAF_ROWS))


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
    if make is None:
        make = NodeFactory(taught, BinnedTable(taught.coded, space, taught.n_real))
    grown = grow_best_first(
        make.table,
        taught.weight,
        make.targets,
        np.arange(len(taught.weight)),
        max_leaves=max_leaves,
        min_leaf=min_leaf,
        max_depth=max_depth,
        counted=make.is_real,
    )
    root = make.from_growth(grown, grown.n_leaves)
    make.steady_by(root)
    return export_tree(
        root,
        space,
        classes=classes,
        decision=decision,
        precision=precision,
        metadata=metadata,
    )
