"""The learners of the paper's experiments: collections, the cross-validated tree, the forest.

All of them work on a :class:`Problem`: one data set, coded once, with its feature space fixed
from all its rows (ranges and categories only; no outcome enters).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from research.paper.cart import grid_scores, grow_cart
from research.paper.data import load_case_study
from research.paper.protocols import Rows, folds, partition
from research.paper.settings import generator
from steadytree.evaluation.scores import auc
from steadytree.growing.collections import grow_collections
from steadytree.growing.fitting import TrainingData
from steadytree.tree.rows import CodedRows
from steadytree.tree.space import FeatureSpace
from steadytree.tree.tree import Tree

__all__ = [
    "Problem",
    "aucs",
    "cross_validated_tree",
    "grow_batches",
    "grow_forest",
    "load_problem",
    "scores_of",
    "tree_auc",
]

N_FOLDS = 5


@dataclass(frozen=True, eq=False)
class Problem:
    """One data set, ready for scikit-learn and for our trees.

    Attributes
    ----------
    data : TrainingData
        Columns for scikit-learn, and the encoder that made them.
    coded : float array (n, n_features)
        For :meth:`Tree.apply_coded`, rounded to float32 as scikit-learn compares.
    groups, time : int array or None
        Rows that must stay together; the calendar year.
    """

    name: str
    data: TrainingData
    coded: NDArray[np.float64]
    groups: NDArray[np.int64] | None
    time: NDArray[np.int64] | None

    @property
    def space(self) -> FeatureSpace:
        """Ranges and categories of the features."""
        return self.data.space

    @property
    def y(self) -> NDArray[np.int64]:
        """The outcome: 1 is the event."""
        return self.data.rows.y

    @property
    def table(self) -> pd.DataFrame:
        """The features as the data set has them."""
        frame: pd.DataFrame = self.data.rows.table
        return frame

    def take(self, rows: Rows) -> tuple[pd.DataFrame, NDArray[np.int64]]:
        """Features and outcomes of some rows."""
        return self.table.iloc[rows], self.y[rows]

    @property
    def columns(self) -> NDArray[np.float32]:
        """The features as scikit-learn's trees take them."""
        return self.data.columns


@lru_cache(maxsize=2)
def load_problem(
    name: str, max_rows: int | None = None, seed: int = 0, *, codes: bool = False
) -> Problem:
    """Load and code a data set; with ``max_rows``, a random part of it.

    With ``codes`` every category is its number, 0 to k - 1 in the order of its levels, as in a
    table that was made all numbers before anybody grew a tree on it.
    """
    study = load_case_study(name)
    X = study.X
    if codes:
        numbers = {c: X[c].cat.codes.astype("float64") for c in study.categorical}
        X = X.assign(**{c: column.where(column >= 0) for c, column in numbers.items()})
    y = np.asarray(study.y, dtype=np.int64)
    # Codes of the groups, in order of appearance: only equality matters.
    groups = None if study.groups is None else study.groups.factorize()[0].astype(np.int64)
    rows = np.arange(len(y))
    if max_rows is not None and len(y) > max_rows:
        rows, _ = partition(rows, y, groups, max_rows / len(y), generator(seed, "rows", name))
    space = FeatureSpace.from_data(X, y)
    coded = space.encode(X.iloc[rows])
    data = TrainingData.from_rows(
        CodedRows(coded, y[rows], table=X.iloc[rows]), space=space, classes=np.array([0, 1])
    )
    return Problem(
        name=name,
        data=data,
        coded=coded.astype(np.float32).astype(np.float64),
        groups=None if groups is None else groups[rows],
        time=None if study.time is None else np.asarray(study.time, dtype=np.int64)[rows],
    )


def scores_of(tree: Tree, problem: Problem, rows: Rows) -> NDArray[np.float64]:
    """Share of the event in the leaf of each row."""
    return np.asarray(tree.value[tree.apply_coded(problem.coded[rows]), 1])


def tree_auc(problem: Problem, tree: Tree, rows: Rows) -> float:
    """AUC of a tree on the rows."""
    return auc(problem.y[rows] == 1, scores_of(tree, problem, rows))


def aucs(problem: Problem, trees: Sequence[Tree], rows: Rows) -> NDArray[np.float64]:
    """AUC of each tree on the rows; a tree that occurs twice is scored once."""
    known: dict[int, float] = {}
    for tree in trees:
        if id(tree) not in known:
            known[id(tree)] = tree_auc(problem, tree, rows)
    return np.array([known[id(tree)] for tree in trees])


def grow_batches(
    problem: Problem,
    batches: Sequence[Rows],
    *,
    n_bootstraps: int,
    depths: Sequence[int],
    min_leaves: Sequence[int],
    rng: np.random.Generator,
    nested: bool = True,
    n_settings: int | None = None,
) -> list[list[Tree]]:
    """Grow a collection on each batch of rows: every point of the grid on every bootstrap.

    Section 3.1. Trees come bootstrap by bootstrap, in the order of the grid.

    Parameters
    ----------
    nested : bool, default True
        Grow each bootstrap once per leaf size to the largest depth and cut it to the lesser
        ones; else fit every setting by itself with a seed of its own.
    n_settings : int, optional
        Draw this many points of the grid, the same for all bootstraps.
    """
    grid = [
        {"max_depth": depth, "min_samples_leaf": leaf} for depth in depths for leaf in min_leaves
    ]
    if n_settings is not None and n_settings < len(grid):
        grid = [grid[i] for i in np.sort(rng.permutation(len(grid))[:n_settings])]
    grown = grow_collections(
        DecisionTreeClassifier(),
        problem.data,
        batches,
        grid,
        n_bootstraps=n_bootstraps,
        seeds=rng.integers(2**31, size=(len(batches), n_bootstraps)),
        nested=nested,
        n_jobs=1,
    )
    return [list(collection.trees) for collection in grown]


def cross_validated_tree(
    problem: Problem,
    rows: Rows,
    *,
    depths: Sequence[int],
    min_leaves: Sequence[int],
    rng: np.random.Generator,
) -> Tree:
    """Grow CART with depth and leaf size from a five-fold cross-validation of the AUC.

    The paper's ``CART CV``. Equal scores go to the shallower tree, then to the larger leaves.
    """
    seed = int(rng.integers(2**31))
    parts = list(folds(rows, problem.y, problem.groups, N_FOLDS, rng))
    total = grid_scores(problem.data, parts, depths=depths, min_leaves=min_leaves, seed=seed)
    choices = [
        (-round(float(total[k, i]), 12), depth, -leaf)
        for i, depth in enumerate(depths)
        for k, leaf in enumerate(min_leaves)
    ]
    _, depth, leaf = min(choices)
    return grow_cart(problem.data, rows, max_depth=depth, min_samples_leaf=-leaf, seed=seed)


def grow_forest(
    problem: Problem, rows: Rows, *, size: int, seed: int
) -> tuple[RandomForestClassifier, dict[str, Any]]:
    """Grow the random forest, and describe it: its largest tree, importances by feature."""
    forest = RandomForestClassifier(n_estimators=size, random_state=seed)
    forest.fit(problem.columns[rows], problem.y[rows])
    largest = max(forest.estimators_, key=lambda model: model.tree_.node_count)
    importances = np.bincount(
        problem.data.encoder.column_feature,
        weights=forest.feature_importances_,
        minlength=problem.space.n_features,
    )
    return forest, {
        "depth": int(largest.tree_.max_depth),
        "nodes": int(largest.tree_.node_count),
        "importances": importances,
    }
