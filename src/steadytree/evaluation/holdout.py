"""Score trees on rows they were not grown on, with a standard error, cheaply.

A tree gives all rows of a leaf the same prediction, so that the area under the ROC curve
needs only the class weights in each leaf. Any other scikit-learn scorer works as well; it
is called on the whole holdout and once without each fold.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from numbers import Real
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.metrics import get_scorer
from sklearn.utils import _safe_indexing

from steadytree._jobs import run_jobs
from steadytree._progress import track
from steadytree.evaluation.scores import ranked_classes, roc_areas, roc_steps
from steadytree.exceptions import InputError
from steadytree.tree.rows import CodedRows
from steadytree.tree.tree import Tree

FloatArray = NDArray[np.float64]
Rows = NDArray[np.int64]
T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Holdout:
    """Rows to score on, each in a fold, for the standard error and the honest estimate."""

    rows: CodedRows  # with the user's own table, for scorers that look at columns
    classes: NDArray[Any] | None
    folds: NDArray[np.int64]

    @property
    def n_folds(self) -> int:
        """Number of folds."""
        return int(self.folds.max()) + 1

    @cached_property
    def rounded(self) -> FloatArray:
        """Values as scikit-learn's trees compare them, rounded once for all trees."""
        return self.rows.coded.astype(np.float32).astype(np.float64)


@dataclass(frozen=True, eq=False)
class Scores:
    """Scores of the candidates: on all rows, and without each fold."""

    score: FloatArray
    error: FloatArray
    without_fold: FloatArray
    """Of shape (n_candidates, n_folds)."""


class Measure(ABC):
    """A score of a tree on some rows of a holdout."""

    def __init__(self, holdout: Holdout) -> None:
        self.holdout = holdout

    @abstractmethod
    def all_and_without(self, tree: Tree, rows: Rows) -> tuple[float, float, FloatArray]:
        """Return the score, its standard error, and the score without each fold."""

    def on_rows(self, tree: Tree, rows: Rows) -> float:
        """Return the score on some rows."""
        return self.all_and_without(tree, rows)[0]


def make_measure(scoring: Any, holdout: Holdout) -> tuple[Measure, Any]:
    """Return how to score a tree, and the scikit-learn scorer that it equals.

    The default is ROC AUC (one-vs-rest for several classes) or R².
    """
    classes = holdout.classes
    default = "r2" if classes is None else "roc_auc" if len(classes) == 2 else "roc_auc_ovr"
    name = default if scoring is None else scoring
    if isinstance(name, str):
        try:
            scorer = get_scorer(name)
        except ValueError as error:
            raise InputError(
                f"expected scoring to be a scikit-learn scorer, got {scoring!r}; "
                "sklearn.metrics.get_scorer_names() lists them"
            ) from error
    elif callable(name):
        scorer = name
    else:
        raise InputError(
            f"expected scoring to be the name of a scorer, a callable or None, got {scoring!r}"
        )
    if name == default:
        return (_R2(holdout) if classes is None else _RankScore(holdout)), scorer
    return _AnyScorer(holdout, scorer), scorer


def score_trees(
    trees: Sequence[Tree],
    group: NDArray[np.int64],
    rows: Sequence[Rows],
    measure: Measure,
    *,
    n_folds: int,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> Scores:
    """Score trees, each distinct object once.

    ``group`` is the bootstrap of each tree, ``rows`` are for each bootstrap the holdout rows
    to score on.
    """
    members = [np.flatnonzero(group == g) for g in range(len(rows))]
    jobs = run_jobs(
        _score_group,
        (([trees[int(i)] for i in some], rows[g]) for g, some in enumerate(members)),
        common=(measure,),
        n_jobs=n_jobs,
    )
    done = list(track(jobs, total=len(members), label="Scoring trees", verbose=verbose))
    score, error = np.full(len(trees), np.nan), np.full(len(trees), np.nan)
    without = np.full((len(trees), n_folds), np.nan)
    for some, results in zip(members, done, strict=True):
        for i, (value, spread, parts) in zip(some, results, strict=True):
            score[i], error[i], without[i] = value, spread, parts
    return Scores(score, error, without)


def _score_group(
    measure: Measure, trees: Sequence[Tree], rows: Rows
) -> list[tuple[float, float, FloatArray]]:
    return measure_each(trees, partial(measure.all_and_without, rows=rows))


def measure_each(trees: Sequence[Tree], measure: Callable[[Tree], T]) -> list[T]:
    """Measure every tree; settings that gave the same tree share an object, measured once."""
    known: dict[int, T] = {}
    for tree in trees:
        if id(tree) not in known:
            known[id(tree)] = measure(tree)
    return [known[id(tree)] for tree in trees]


def _leaves(tree: Tree, holdout: Holdout, rows: Rows) -> NDArray[np.int32]:
    coded = holdout.rows.coded if tree.precision == "float64" else holdout.rounded
    everything = rows.size == len(coded) and np.array_equal(rows, np.arange(rows.size))
    return tree.apply_coded(coded if everything else coded[rows])


def _over_n_less_one(total: float, squares: float) -> float:
    """Turn an error that divides by n into one that divides by n - 1: the root of n / (n - 1).

    Of weighted rows n is Kish's effective number, the squared sum of the weights over the sum
    of their squares; as in :class:`~steadytree.evaluation.scores.Parts` it counts for two at
    least.
    """
    n = max(total**2 / squares, 2.0) if squares > 0 else 2.0
    return float(np.sqrt(n / (n - 1)))


class _RankScore(Measure):
    """ROC AUC, one-vs-rest and macro-averaged for several classes, from leaf counts.

    Its standard error is linearised: each row's influence on the area, summed in squares
    (DeLong's estimate, for weighted rows and several classes), over n - 1 within a class.
    """

    def all_and_without(self, tree: Tree, rows: Rows) -> tuple[float, float, FloatArray]:
        held = self.holdout.rows
        shape = (self.holdout.n_folds, *tree.value.shape)
        leaf = _leaves(tree, self.holdout, rows)
        at = np.ravel_multi_index((self.holdout.folds[rows], leaf, held.y[rows]), shape)

        def summed(weight: FloatArray | None) -> FloatArray:
            """Weight of the rows by fold, node and class."""
            weights = None if weight is None else weight[rows]
            counts = np.bincount(at, weights=weights, minlength=int(np.prod(shape)))
            return counts.reshape(shape).astype(np.float64)

        by_fold = summed(held.weight)
        total = squares = by_fold.sum(axis=0)
        if held.weight is not None:
            squares = summed(held.weight**2).sum(axis=0)
        areas, influence = self._areas(
            tree, np.concatenate([total[None], total[None] - by_fold]), squares
        )
        error = float(np.sqrt((squares * influence**2).sum()))
        return float(areas[0]), error if np.isfinite(areas[0]) else np.nan, areas[1:]

    @staticmethod
    def _areas(
        tree: Tree, tables: FloatArray, squares: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Areas of several tables (node x class weights), and influences in the first.

        ``squares`` are the squared weights of the first, for its degrees of freedom.
        """
        targets = ranked_classes(tree.value.shape[1])
        areas = np.full((len(targets), len(tables)), np.nan)
        influence = np.zeros((len(targets), *tables.shape[1:]))
        for t, c in enumerate(targets):
            # Leaves with equal shares are one step of the curve.
            _, rank = np.unique(tree.value[:, c], return_inverse=True)
            order = np.argsort(rank, kind="stable")
            starts = np.searchsorted(rank[order], np.arange(rank.max() + 1))
            positive, all_classes = tables[:, :, c], tables.sum(axis=2)
            step_p = np.add.reduceat(positive[:, order], starts, axis=1)
            step_n = np.add.reduceat((all_classes - positive)[:, order], starts, axis=1)
            areas[t] = roc_areas(step_p, step_n)
            if np.isnan(areas[t, 0]):
                continue
            below, above = roc_steps(step_p[0], step_n[0])
            sum_p, sum_n = step_p[0].sum(), step_n[0].sum()
            squares_p = float(squares[:, c].sum())
            squares_n = float(squares.sum()) - squares_p
            pos = (below - areas[t, 0]) / sum_p * _over_n_less_one(sum_p, squares_p)
            neg = (above - areas[t, 0]) / sum_n * _over_n_less_one(sum_n, squares_n)
            influence[t] = neg[rank][:, None]
            influence[t][:, c] = pos[rank]
        present = ~np.isnan(areas)
        count = present.sum(axis=0)
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = np.where(present, areas, 0).sum(axis=0) / count
        return mean, influence.sum(axis=0) / max(int(count[0]), 1)


class _R2(Measure):
    """R² with a linearised standard error."""

    def __init__(self, holdout: Holdout) -> None:
        super().__init__(holdout)
        # R² does not change with the origin; the mean as origin keeps sums of squares exact.
        self.centre = float(np.average(holdout.rows.y, weights=holdout.rows.weight))

    def all_and_without(self, tree: Tree, rows: Rows) -> tuple[float, float, FloatArray]:
        holdout = self.holdout
        response = holdout.rows.y[rows] - self.centre
        predicted = tree.value[_leaves(tree, holdout, rows), 0] - self.centre
        squared_error = (response - predicted) ** 2
        weight = np.ones(rows.size) if holdout.rows.weight is None else holdout.rows.weight[rows]
        folds, count = holdout.folds[rows], holdout.n_folds
        terms = (1.0, response, response**2, squared_error)
        sums = [np.bincount(folds, weights=weight * term, minlength=count) for term in terms]
        sums.append(np.bincount(folds, minlength=count))
        by_fold = np.stack(sums, axis=1).astype(np.float64)
        total = by_fold.sum(axis=0)
        values = self._r2(np.concatenate([total[None], total[None] - by_fold]))
        if rows.size < 2 or not (spread := total[2] - total[1] ** 2 / total[0]) > 0:
            return float(values[0]), np.nan, values[1:]
        influence = squared_error - (1 - values[0]) * (response - total[1] / total[0]) ** 2
        error = np.sqrt(((weight * influence) ** 2).sum()) / spread
        error *= _over_n_less_one(float(total[0]), float((weight**2).sum()))
        return float(values[0]), float(error), values[1:]

    @staticmethod
    def _r2(sums: FloatArray) -> FloatArray:
        """R² as scikit-learn defines it: 1 or 0 for a constant response, NaN for one row.

        From the sums of weights, responses, their squares and squared errors, and the rows.
        """
        with np.errstate(invalid="ignore", divide="ignore"):
            spread = sums[:, 2] - sums[:, 1] ** 2 / sums[:, 0]
            tiny = 1e-12 * np.abs(sums[:, 2])
            explained = 1 - sums[:, 3] / spread
        constant = np.where(sums[:, 3] <= tiny, 1.0, 0.0)
        return np.where(sums[:, 4] < 2, np.nan, np.where(spread > tiny, explained, constant))


class _AnyScorer(Measure):
    """Any scikit-learn scorer; standard error by the delete-a-group jackknife over folds."""

    def __init__(self, holdout: Holdout, scorer: Callable[..., Any]) -> None:
        super().__init__(holdout)
        self.scorer = scorer
        self.takes_weights = _takes_weights(scorer)

    def all_and_without(self, tree: Tree, rows: Rows) -> tuple[float, float, FloatArray]:
        folds, count = self.holdout.folds[rows], self.holdout.n_folds
        value = self.on_rows(tree, rows)
        if count < 2:
            return value, np.nan, np.full(count, np.nan)
        parts = np.array([self.on_rows(tree, rows[folds != k]) for k in range(count)])
        error = np.sqrt((count - 1) / count * ((parts - parts.mean()) ** 2).sum())
        return value, float(error), parts

    def on_rows(self, tree: Tree, rows: Rows) -> float:
        holdout = self.holdout
        table = _safe_indexing(holdout.rows.table, rows)
        y = holdout.rows.y[rows]
        kind = _KnownRegressor if holdout.classes is None else _KnownClassifier
        known = kind(tree, holdout.classes, table, _leaves(tree, holdout, rows))
        truth = y if holdout.classes is None else holdout.classes[y]
        weights = {}
        if holdout.rows.weight is not None and self.takes_weights:
            weights["sample_weight"] = holdout.rows.weight[rows]
        name = scorer_name(self.scorer)
        try:
            value = self.scorer(known, table, truth, **weights)
        except Exception as error:
            raise InputError(
                f"expected scoring={name} to score a tree on the holdout, got "
                f"{type(error).__name__}: {error}; check that it suits the task and its classes"
            ) from error
        if isinstance(value, bool) or not isinstance(value, Real):
            raise InputError(f"expected scoring={name} to return one number, got {value!r}")
        return float(value)


class _KnownLeaves(BaseEstimator):
    """A predictor for scorers that remembers the leaves of the table it is scored on."""

    def __init__(self, tree: Any, classes: Any, table: Any, leaf: Any) -> None:
        self.tree, self.classes, self.table, self.leaf = tree, classes, table, leaf

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def _leaf_of(self, X: Any) -> Any:
        return self.leaf if X is self.table else self.tree.apply(X)

    def fit(self, X: Any, y: Any) -> Any:
        """Do nothing: the tree is finished."""
        return self


class _KnownClassifier(ClassifierMixin, _KnownLeaves):
    @property
    def classes_(self) -> NDArray[Any]:
        return np.asarray(self.classes)

    def predict(self, X: Any) -> NDArray[Any]:
        return np.asarray(self.classes[self.tree.label[self._leaf_of(X)]])

    def predict_proba(self, X: Any) -> FloatArray:
        return np.asarray(self.tree.value[self._leaf_of(X)])


class _KnownRegressor(RegressorMixin, _KnownLeaves):
    def predict(self, X: Any) -> FloatArray:
        return np.asarray(self.tree.value[self._leaf_of(X), 0])


def _takes_weights(scorer: Any) -> bool:
    """Whether a scorer, or the metric inside it, has a ``sample_weight``."""
    inner = getattr(scorer, "_score_func", scorer)
    try:
        return "sample_weight" in inspect.signature(inner).parameters
    except (TypeError, ValueError):
        return False


def scorer_name(scorer: Any) -> str:
    """Name of a scorer's metric, or its own."""
    inner = getattr(scorer, "_score_func", scorer)
    return str(getattr(inner, "__name__", type(inner).__name__))
