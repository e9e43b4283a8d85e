"""An ensemble as the teacher of one tree: smooth targets instead of raw outcomes.

A single tree fitted to 0/1 outcomes chases noise, which is what makes retrained trees
jump. A forest's out-of-bag predictions, averaged with cross-fitted boosting, carry the same
signal with far less noise, and the ensemble can be asked about rows that never occurred
(augmentation). The drift switch decides whether it may still learn from the rows of before.

On the tuning sets of ``research/benchmarks/retraining.py`` boosting trees of four leaves predicts
unseen rows one AUC point better than a forest; averaged with the forest the targets are
nearly as good and steadier. Boosting has no out-of-bag rows, so that its predictions of its
own rows come from five folds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadytree._jobs import in_threads
from steadytree.evaluation.cross_fitting import make_folds
from steadytree.evaluation.scores import predict_rows
from steadytree.growing._loops import BinnedTree, GrowthLimits, loops
from steadytree.growing.best_first import (
    BinnedTable,
    FloatArray,
    Grown,
    GrowthRules,
    IndexArray,
    TaughtRows,
    bins_of,
    cut_points,
)
from steadytree.growing.fitting import ColumnEncoder
from steadytree.growing.leaf_values import share_columns, target_columns
from steadytree.growing.nodes import NodeFactory, export_tree
from steadytree.tree.decision import Decision
from steadytree.tree.rows import CodedRows
from steadytree.tree.space import FeatureSpace
from steadytree.tree.tree import Tree

# -- Forests and boosting on columns that are cut into bins once per teacher --
# The teacher is fitted again in every fold of every retraining, so its speed matters most. Its
# columns are cut into at most 255 bins, and all trees of forest and boosting grow on them. The
# recipes are the usual ones (Breiman's forest with out-of-bag predictions; gradient boosting with
# second derivatives, as histogram-based libraries do it); the draws depend on the seed alone.

MOST_BINS = 255
ROWS_PER_TREE = 20_000
"""Most rows that one tree of the forest, or one round of boosting, is fitted to."""


@dataclass(frozen=True, eq=False)
class BinnedColumns:
    """Rows by the bins of their values, laid out by row and by column."""

    by_row: NDArray[np.uint8]
    by_column: NDArray[np.uint8]

    def __len__(self) -> int:
        return len(self.by_row)


class ColumnBins:
    """Where columns are cut: between observed values, at most 254 cuts.

    The last bin (``MOST_BINS``) is "missing".
    """

    def __init__(self, columns: NDArray[Any]) -> None:
        self.cuts = [cut_points(column.astype(np.float64), MOST_BINS - 1) for column in columns.T]

    def transform(self, columns: NDArray[Any]) -> BinnedColumns:
        """Bins of the values of any rows."""
        by_column = np.empty(columns.shape[::-1], dtype=np.uint8)
        for j, cuts in enumerate(self.cuts):
            by_column[j] = bins_of(columns[:, j].astype(np.float64), cuts, MOST_BINS)
        return BinnedColumns(np.ascontiguousarray(by_column.T), by_column)


@dataclass(frozen=True, eq=False)
class Forest:
    """Trees on bootstraps of the rows; it predicts the mean of what they say."""

    trees: Sequence[BinnedTree]

    @classmethod
    def fit(
        cls,
        table: BinnedColumns,
        targets: FloatArray,
        weight: FloatArray,
        limits: GrowthLimits,
        *,
        n_trees: int,
        seed: int,
    ) -> tuple[Forest, FloatArray]:
        """Fit, and predict each row by the trees that did not draw it.

        Squared error of class shares is Gini impurity. A row that every tree drew is
        predicted by all of them. Returns the forest and the predictions.
        """
        n = len(table)
        rng = np.random.default_rng(seed)
        seeds = rng.integers(2**62, size=n_trees)
        out, times = np.zeros_like(targets), np.zeros(n)
        trees: list[BinnedTree] = []
        for number in seeds.tolist():
            count = np.bincount(rng.integers(n, size=min(n, ROWS_PER_TREE)), minlength=n)
            mine, others = count * weight, np.flatnonzero(count == 0)
            rows, sums = np.flatnonzero(mine > 0), mine[:, None] * targets
            arguments = table.by_column, rows, mine, sums, limits, number
            tree = BinnedTree(*loops().grow_tree(*arguments))
            trees.append(tree)
            loops().add_values(table.by_row, others, MOST_BINS, tree, 1.0, out)
            times[others] += 1
        forest, always = cls(trees), times == 0
        out /= np.maximum(times, 1)[:, None]
        if always.any():
            out[always] = forest.predict(table)[always]
        return forest, out

    def predict(self, table: BinnedColumns) -> FloatArray:
        """Targets of any rows."""
        out = np.zeros((len(table), self.trees[0].values.shape[1]))
        every = np.arange(len(table))
        for tree in self.trees:
            loops().add_values(table.by_row, every, MOST_BINS, tree, 1.0, out)
        return out / len(self.trees)


@dataclass(frozen=True, eq=False)
class Boosting:
    """Small trees added one after the other on the scale of log-odds (or of the response).

    ``trees`` has a list per round: one tree per column of scores.
    """

    trees: list[list[BinnedTree]]
    start: FloatArray
    step: float
    n_classes: int | None

    @classmethod
    def fit(
        cls,
        table: BinnedColumns,
        targets: FloatArray,
        weight: FloatArray,
        limits: GrowthLimits,
        *,
        rows: IndexArray,
        n_classes: int | None,
        n_rounds: int,
        step: float,
        seed: int,
    ) -> tuple[Boosting, FloatArray]:
        """Fit on some rows of a table; return the model and its scores of all rows."""
        rng = np.random.default_rng(seed)
        rows = rows[weight[rows] > 0]
        model = cls([], _scores(targets, weight, rows, n_classes), step, n_classes)
        score, k = np.repeat(model.start[None, :], len(table), axis=0), targets.shape[1]
        slope, curve = np.zeros((k, len(table), 1)), np.zeros((k, len(table)))
        for _ in range(n_rounds):
            some = rows
            if len(rows) > ROWS_PER_TREE:
                some = np.sort(rng.choice(rows, ROWS_PER_TREE, replace=False, shuffle=False))
            share = model.shares(score[some])
            slope[:, some, 0] = (weight[some, None] * (targets[some] - share)).T
            bend = 1.0 if n_classes is None else share * (1.0 - share)
            curve[:, some] = (weight[some, None] * bend).T
            trees = []
            for sums, bends in zip(slope, curve, strict=True):
                number = int(rng.integers(2**62))
                arguments = table.by_column, some, bends, sums, limits, number
                trees.append(BinnedTree(*loops().grow_tree(*arguments)))
            model._add(trees, table, score)
            model.trees.append(trees)
        return model, score

    def _add(self, trees: Sequence[BinnedTree], table: BinnedColumns, score: FloatArray) -> None:
        """Add what one round says of all rows of a table."""
        every = np.arange(len(table))
        for column, tree in enumerate(trees):
            out = score[:, column : column + 1]
            loops().add_values(table.by_row, every, MOST_BINS, tree, self.step, out)

    def shares(self, score: FloatArray) -> FloatArray:
        """Targets from scores."""
        if self.n_classes is None:
            return score
        if self.n_classes == 2:
            with np.errstate(over="ignore"):  # a share of 0 all the same
                return np.asarray(1.0 / (1.0 + np.exp(-score)))
        odds = np.exp(score - score.max(axis=1, keepdims=True))
        return np.asarray(odds / odds.sum(axis=1, keepdims=True))

    def predict(self, table: BinnedColumns) -> FloatArray:
        """Targets of any rows."""
        added = np.zeros((len(table), len(self.start)))
        for trees in self.trees:
            self._add(trees, table, added)
        return self.shares(self.start + added)


def _scores(
    targets: FloatArray, weight: FloatArray, rows: IndexArray, n_classes: int | None
) -> FloatArray:
    """Scores that say the mean of some rows of every row."""
    mean = np.average(targets[rows], axis=0, weights=weight[rows])
    if n_classes is None:
        return np.asarray(mean)
    kept = np.clip(mean, 1e-12, 1 - 1e-12)
    return np.asarray(np.log(kept / (1 - kept)) if n_classes == 2 else np.log(kept))


# -- An ensemble as the teacher of one tree: smooth targets instead of raw outcomes --

FOREST_LEAF = (5, 20)
"""Rows in the leaves of the forest's trees: a hundredth of all rows, within these bounds."""
FOREST_SHARE = 0.5
"""Share of the forest in the teacher; the rest is boosting."""
BOOSTING_ROUNDS = 100
BOOSTING_STEPS = 5.0
"""Learning rate times rounds: fewer rounds take longer steps."""
BOOSTING_LEAVES, BOOSTING_LEAF_ROWS, BOOSTING_FEATURES = 4, 20, 0.3
"""Leaves of a tree, rows in each, and the share of the columns that a split may look at."""
BOOSTING_FOLDS = 5
SWAP_PROBABILITY = 0.5
COPIES = 3
AUGMENTED_ROWS = 60_000
"""Most augmented rows: beyond 20,000 real rows there are fewer than three copies."""
DRIFT_ERRORS = 2.0
FEWEST_CASES = 10


@dataclass(frozen=True, eq=False)
class Teacher:
    """A fitted ensemble and what it says of each of its own rows without having seen it.

    ``out_of_bag`` has one column per class (one column for two classes: the share of the
    second), or the response. ``boosted`` is None where the rows were too few to cross-fit it.
    ``share`` says how far it believes the ``deployed`` tree (:func:`blend_with_deployed`).
    """

    out_of_bag: FloatArray
    forest: Forest
    boosted: Boosting | None
    encoder: ColumnEncoder
    bins: ColumnBins
    n_classes: int | None
    deployed: Tree | None = None
    share: float = 0.0

    def predict(self, coded: FloatArray) -> FloatArray:
        """Targets for any coded rows, in the columns of ``out_of_bag``."""
        table = self.bins.transform(self.encoder.transform(coded))
        out = self.forest.predict(table)
        if self.boosted is not None:
            out = _mean_of(out, self.boosted.predict(table))
        if self.deployed is None:
            return out
        by_deployed = share_columns(predict_rows(self.deployed, coded).value, self.n_classes)
        return (1 - self.share) * out + self.share * by_deployed


@dataclass(frozen=True)
class Drift:
    """What the drift switch saw.

    Attributes
    ----------
    detected : bool
        Whether a teacher on the new rows alone predicts them better than one on old and new
        rows, by more than ``limit`` standard errors.
    statistic : float
        Mean difference of the paired out-of-bag losses over its standard error (above 0: the
        new rows alone do better); NaN where the new rows were too few to ask.
    loss_both, loss_new : float
        Mean out-of-bag loss on the new rows of either teacher (log loss, or squared error).
    limit : float

    Examples
    --------
    >>> from steadytree.growing.teacher import Drift
    >>> Drift(detected=False, statistic=-1.2, loss_both=0.31, loss_new=0.35).detected
    False
    """

    detected: bool
    statistic: float
    loss_both: float
    loss_new: float
    limit: float = DRIFT_ERRORS


def _mean_of(forest: FloatArray, boosted: FloatArray) -> FloatArray:
    return np.asarray(FOREST_SHARE * forest + (1 - FOREST_SHARE) * boosted)


def fit_teacher(
    space: FeatureSpace,
    rows: CodedRows,
    *,
    n_classes: int | None,
    n_estimators: int = 100,
    n_jobs: int | None = None,
    seed: int = 0,
) -> Teacher:
    """Fit forest and boosting, and keep their predictions of rows they did not see.

    ``n_estimators`` is the number of trees of the forest, and of rounds of boosting (at
    most 100).
    """
    encoder = ColumnEncoder(space)
    columns = encoder.transform(rows.coded)
    bins = ColumnBins(columns)
    table, targets = bins.transform(columns), target_columns(rows.y, n_classes)
    n_columns = columns.shape[1]
    drawn = n_columns / 3 if n_classes is None else np.sqrt(n_columns)
    min_leaf = int(np.clip(len(rows) // 100, *FOREST_LEAF))
    lesson = table, targets, rows.weights
    limits = GrowthLimits(MOST_BINS + 1, max(1, int(drawn)), min_leaf, 1e-12, 0)
    fit_forest = partial(Forest.fit, *lesson, limits, n_trees=n_estimators, seed=seed)
    rounds, looked_at = min(n_estimators, BOOSTING_ROUNDS), ceil(BOOSTING_FEATURES * n_columns)
    fit_boosting = partial(
        Boosting.fit,
        *lesson,
        GrowthLimits(MOST_BINS + 1, max(1, looked_at), BOOSTING_LEAF_ROWS, 1e-3, BOOSTING_LEAVES),
        n_classes=n_classes,
        n_rounds=rounds,
        step=min(1.0, BOOSTING_STEPS / rounds),
        seed=seed,
    )
    classifier = n_classes is not None
    folds = make_folds(rows.y, classifier=classifier, n_folds=BOOSTING_FOLDS, seed=seed)
    if len(rows) < 2 * len(folds):
        folds = []
    fits = [np.arange(len(rows)), *(train for train, _ in folds)] if folds else []
    tasks: list[Callable[[], Any]] = [fit_forest, *(partial(fit_boosting, rows=r) for r in fits)]
    forest, out = (found := in_threads(tasks, n_jobs))[0]
    if not folds:  # too few rows to leave any out
        return Teacher(out, forest, None, encoder, bins, n_classes)
    own = np.zeros_like(out)
    for (_, test), (model, score) in zip(folds, found[2:], strict=True):
        own[test] = model.shares(score[test])
    return Teacher(_mean_of(out, own), forest, found[1][0], encoder, bins, n_classes)


def augment(coded: FloatArray, copies: int, rng: np.random.Generator) -> FloatArray:
    """Make copies of the rows with each value swapped for another row's with probability ½.

    Between the real rows lie regions where a tree must decide too; the teacher is asked
    about them.
    """
    out = []
    for _ in range(copies):
        other = coded[rng.permutation(len(coded))]
        out.append(np.where(rng.random(coded.shape) < SWAP_PROBABILITY, other, coded))
    return np.concatenate(out) if out else coded[:0]


def teach(
    teacher: Teacher,
    rows: CodedRows,
    targets: FloatArray,
    *,
    copies: int = COPIES,
    seed: int = 0,
    n_old: int = 0,
    drifted: bool = False,
    deployed_share: float = 0.0,
    whole: tuple[CodedRows, int] | None = None,
) -> TaughtRows:
    """Real rows with their targets (weight 1) and augmented rows (together weight 1).

    There are at most ``AUGMENTED_ROWS`` augmented rows: fewer copies of more rows, and one copy
    of a part of them where the real ones alone are more.
    """
    weight, n_classes = rows.weights, teacher.n_classes
    outcomes = target_columns(rows.y, n_classes)
    known = outcomes, n_old, drifted, deployed_share, whole
    taught = TaughtRows(rows.coded, targets, weight, len(rows), n_classes, *known)
    if copies == 0:
        return taught
    rng, some, share = np.random.default_rng(seed), np.arange(len(rows)), 1.0
    if len(rows) > AUGMENTED_ROWS:
        some = np.sort(rng.choice(len(rows), AUGMENTED_ROWS, replace=False))
        share = weight.sum() / max(weight[some].sum(), 1e-300)
    copies = max(1, min(copies, AUGMENTED_ROWS // len(rows)))
    extra = augment(rows.coded[some], copies, rng)
    return replace(
        taught,
        coded=np.concatenate([rows.coded, extra]),
        targets=np.concatenate([targets, teacher.predict(extra)]),
        weight=np.concatenate([weight, np.tile(weight[some], copies) * share / copies]),
    )


def row_losses(y: NDArray[Any], predicted: FloatArray, n_classes: int | None) -> FloatArray:
    """Loss of each row: log loss with shares kept off 0 and 1, or squared error."""
    if n_classes is None:
        return np.asarray((y - predicted[:, 0]) ** 2)
    shares = predicted[:, 0] if n_classes == 2 else predicted[np.arange(len(y)), y]
    if n_classes == 2:
        shares = np.where(y == 1, shares, 1 - shares)
    return np.asarray(-np.log(np.clip(shares, 0.005, 0.995)))


def choose_teacher(
    space: FeatureSpace,
    old: CodedRows | None,
    new: CodedRows,
    *,
    n_classes: int | None,
    n_estimators: int = 100,
    n_jobs: int | None = None,
    seed: int = 0,
) -> tuple[Teacher, FloatArray, Drift | None]:
    """Teacher on old and new rows, or on new rows alone if those have drifted away.

    The two teachers are compared on the new rows by their paired out-of-bag losses; the one
    on new rows alone wins if it is better by two standard errors. Without ``old`` there is no
    switch. Returns the teacher, the targets of the old rows (if any) followed by the new
    ones, and what the switch saw.
    """
    fit = partial(fit_teacher, space, n_classes=n_classes, n_estimators=n_estimators, n_jobs=n_jobs)
    if old is None:
        teacher = fit(new, seed=seed)
        return teacher, teacher.out_of_bag, None
    both = fit(CodedRows.stack([old, new]), seed=seed)
    if not _enough_cases(new.y, n_classes):
        return both, both.out_of_bag, Drift(False, float("nan"), float("nan"), float("nan"))
    alone = fit(new, seed=seed + 1)
    loss_both = row_losses(new.y, both.out_of_bag[len(old) :], n_classes)
    loss_new = row_losses(new.y, alone.out_of_bag, n_classes)
    gain = loss_both - loss_new
    statistic = float(gain.mean() / (gain.std() / np.sqrt(len(gain)) + 1e-12))
    drift = Drift(
        statistic > DRIFT_ERRORS, statistic, float(loss_both.mean()), float(loss_new.mean())
    )
    if not drift.detected:
        return both, both.out_of_bag, drift
    return alone, np.concatenate([alone.predict(old.coded), alone.out_of_bag]), drift


def _enough_cases(y: NDArray[Any], n_classes: int | None) -> bool:
    if n_classes is None:
        return len(y) >= 2 * FEWEST_CASES
    counts = np.bincount(y, minlength=n_classes)
    return bool(len(y) - counts.max() >= FEWEST_CASES)


def blend_with_deployed(
    teacher: Teacher, deployed: Tree, rows: CodedRows
) -> tuple[Teacher, FloatArray]:
    """Mix the teacher with the deployed tree in the share that predicts the new rows best.

    Without the old rows the deployed tree is all that is left of the old data. Its predictions of
    the new rows are honest (it never saw them), and so are the teacher's out-of-bag ones, so the
    share of the tree that predicts the new rows best can be read off them. Where the world has
    changed, that share goes to 0 by itself. Returns the teacher and the targets of the rows.
    """
    own, n_classes = teacher.out_of_bag, teacher.n_classes
    by_deployed = share_columns(predict_rows(deployed, rows.coded).value, n_classes)
    gap = by_deployed - own
    room = float((gap**2).sum())
    error = target_columns(rows.y, n_classes) - own
    share = float(np.clip((error * gap).sum() / room, 0.0, 1.0)) if room > 0 else 0.0
    targets = (1 - share) * own + share * by_deployed
    return replace(teacher, deployed=deployed, share=share), targets


# -- a first tree worth keeping: one tree that says what a forest says -----------------------
# Distilled from an ensemble's predictions of rows it has not seen, real and augmented, on the
# scale that retraining proposes its edits on (arcsin of the root of p: a step from 1 to 4 % counts
# as much as one from 40 to 50 %). Leaf values are from real rows only. Such a tree starts nearer to
# where retraining would take it, so it has less reason to change later.

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
    rules = GrowthRules(make.table, make.layers, min_leaf, max_depth)
    grown = Grown(rules, np.arange(len(taught.weight))).extend(max_leaves)
    root = make.from_growth(grown, grown.n_leaves)
    make.steady_by(root)
    return export_tree(
        root, space, classes=classes, decision=decision, precision=precision, metadata=metadata
    )
