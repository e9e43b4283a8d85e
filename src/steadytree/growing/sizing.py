"""How many leaves: the fewest that predict rows left out as well as any size does.

Every further leaf is one more rule that somebody has to read, and beyond some size it explains
nothing. So the whole recipe (teacher, growth, leaf values) is repeated without each of five
folds; one growth holds the trees of all sizes, and the rows left out tell them apart. Chosen is
the smallest tree whose loss is not above the best one's by more than one standard error of their
paired difference (the one-standard-error rule of Breiman et al., 1984, on paired rows).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from steadytree._jobs import run_jobs
from steadytree.core.rows import CodedRows
from steadytree.core.space import FeatureSpace
from steadytree.evaluation.folds import Fold, make_folds
from steadytree.evaluation.scores import predict_rows
from steadytree.growing.binning import FloatArray
from steadytree.growing.distillation import MOST_LEAVES, distil_trees
from steadytree.growing.teacher import (
    fit_teacher,
    half_the_trees,
    row_losses,
    share_columns,
    teach,
)

__all__ = ["SizeChoice", "choose_size"]

FOLDS = 5


@dataclass(frozen=True, eq=False)
class SizeChoice:
    """What each size costs on rows left out, and the size chosen.

    Attributes
    ----------
    leaves : int array
    loss : float array
        Mean over all rows, each predicted by a tree made without it: log loss (half the
        deviance), or squared error for a response.
    error : float array
        Standard error of the difference to the best size, the rows paired.
    chosen : int
    """

    leaves: NDArray[np.intp]
    loss: FloatArray
    error: FloatArray
    chosen: int

    @property
    def above_best(self) -> FloatArray:
        """Loss above that of the best size."""
        return np.asarray(self.loss - self.loss.min())

    def to_frame(self) -> pd.DataFrame:
        """One row per size: loss, the difference to the best and its error, and the choice."""
        return pd.DataFrame(
            {
                "loss": self.loss,
                "above_best": self.above_best,
                "error": self.error,
                "chosen": self.leaves == self.chosen,
            },
            index=pd.Index(self.leaves, name="leaves"),
        )


def choose_size(
    space: FeatureSpace,
    rows: CodedRows,
    *,
    n_classes: int | None,
    min_leaf: int,
    max_depth: int,
    n_estimators: int,
    copies: int,
    n_jobs: int | None,
    seed: int,
) -> SizeChoice | None:
    """Choose the number of leaves by rows left out; None where no row can be left out."""
    folds = make_folds(rows.y, classifier=n_classes is not None, n_folds=FOLDS, seed=seed)
    if not folds or min(len(train) for train, _ in folds) < 2 * min_leaf:
        return None
    sizes = range(2, MOST_LEAVES + 1)

    def losses(fold: Fold) -> FloatArray:
        train, test = rows.take(fold[0]), rows.take(fold[1])
        teacher = fit_teacher(
            space,
            train,
            n_classes=n_classes,
            n_estimators=half_the_trees(n_estimators),
            seed=seed,
        )
        taught = teach(teacher, train, teacher.out_of_bag, copies=copies, seed=seed + 11)
        trees = distil_trees(
            taught,
            space,
            classes=None if n_classes is None else tuple(range(n_classes)),
            sizes=sizes,
            min_leaf=min_leaf,
            max_depth=max_depth,
            precision="float32",
        )
        return np.column_stack(
            [
                row_losses(
                    test.y,
                    share_columns(predict_rows(tree, test.coded).value, n_classes),
                    n_classes,
                )
                for tree in trees
            ]
        )

    each = ((fold,) for fold in folds)
    parts = run_jobs(losses, each, total=len(folds), label="sizes", n_jobs=n_jobs)
    order = np.concatenate([test for _, test in folds])
    return one_error_rule(np.vstack(parts), rows.weights[order], sizes)


def one_error_rule(losses: FloatArray, weight: FloatArray, sizes: Sequence[int]) -> SizeChoice:
    """Choose the smallest size within one error of the best; a column of losses per size."""
    share = weight / weight.sum()
    mean = share @ losses
    best = int(mean.argmin())
    excess = losses - losses[:, [best]]
    # As for any weighted mean: each row's part in it, squared.
    error = np.sqrt(((share[:, None] * (excess - (mean - mean[best]))) ** 2).sum(axis=0))
    chosen = int(np.flatnonzero(mean - mean[best] <= error)[0])
    return SizeChoice(np.asarray(sizes), mean, error, int(sizes[chosen]))
