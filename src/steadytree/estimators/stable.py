"""Stable trees: the paper's method (Section 3.1) as scikit-learn estimators."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from steadytree._views import write_report
from steadytree.distance.equations import check_options
from steadytree.estimators.predictor import (
    ClassifierTreeMixin,
    RegressorTreeMixin,
    TreeClassifier,
    TreeLearner,
    TreeRegressor,
    check_share,
    check_whole,
)
from steadytree.estimators.results import (
    Grid,
    base_and_grid,
    candidate_table,
    check_objectives,
    honest_estimate,
    largest_depth,
    mean_distances,
    ranked,
    stable_summary,
)
from steadytree.estimators.selection import Rule, check_rule, check_tolerance, select_candidate
from steadytree.evaluation.cross_fitting import assign_folds
from steadytree.evaluation.holdout import Holdout, make_measure, score_trees
from steadytree.exceptions import InputError, SteadyTreeWarning, UnsupportedModelError
from steadytree.growing.collections import Collection, grow_collections
from steadytree.growing.fitting import TrainingData
from steadytree.tree.decision import Decision
from steadytree.tree.rows import CodedRows
from steadytree.tree.tree import Tree

# -- holdout, first batch, folds: every part keeps every class it can ------------------

Rows = NDArray[np.int64]

FOLDS = 5  # of the holdout, for the honest estimate


@dataclass(frozen=True, eq=False)
class Division:
    """How the rows were divided."""

    first: Rows  # X0
    training: Rows  # X, which holds X0
    held: Rows  # set apart for the holdout
    holdout: Holdout
    """What candidates are scored on: the rows set apart, the user's own, or, out of bag, all."""
    out_of_bag: bool

    def scored_rows(self, in_bag: NDArray[np.bool_]) -> list[Rows]:
        """Rows of the holdout that the trees of each bootstrap are scored on."""
        if self.out_of_bag:
            return [self.training[~bag[self.training]] for bag in in_bag]
        return [np.arange(len(self.holdout.rows))] * len(in_bag)


def divide(
    data: TrainingData,
    *,
    first_batch: float | NDArray[np.bool_],
    holdout: float | str | CodedRows,
    rng: np.random.Generator,
) -> Division:
    """Set the holdout apart, then the first batch (X0 of the paper) from the rest (X).

    Either is a share or the user's own: a mask, and rows coded in the same space. A holdout
    may also be "oob".
    """
    y, classes = data.rows.y, data.classes
    every = np.arange(len(y))
    strata = None if classes is None else y
    if not isinstance(first_batch, float):
        check_batches(np.flatnonzero(first_batch), every)
        # A holdout of the same mix of early and late rows.
        strata = first_batch.astype(np.int64) + (0 if strata is None else 2 * strata)
    held, training = every[:0], every
    scored = holdout if isinstance(holdout, CodedRows) else data.rows
    if isinstance(holdout, float):
        held, training = split_share(every, strata, holdout, rng)
        scored = scored.take(held)
    if classes is not None:
        own = isinstance(holdout, CodedRows)
        check_holdout_classes(scored.y, classes, own=own)
    folds = assign_folds(scored.y, classifier=classes is not None, most=FOLDS, rng=rng)
    if isinstance(first_batch, float):
        strata = None if classes is None else y[training]
        first, _ = split_share(training, strata, first_batch, rng)
    else:
        first = training[first_batch[training]]
    check_batches(first, training)
    measured = Holdout(scored.with_weight(scored.weight), classes, folds)
    return Division(first, training, held, measured, isinstance(holdout, str))


def split_share(
    rows: Rows, strata: NDArray[Any] | None, share: float, rng: np.random.Generator
) -> tuple[Rows, Rows]:
    """Draw a random share of the rows, stratified; returns the rows drawn and the rest.

    A stratum of two rows or more has at least one on either side; a single row stays in
    the rest.
    """
    groups = np.zeros(rows.size, dtype=np.int64) if strata is None else strata
    _, group = np.unique(groups, return_inverse=True)
    size = np.bincount(group)
    exact = share * size
    take = np.floor(exact).astype(np.int64)
    # Largest remainders first, so that the total is the share of all rows.
    short = round(share * rows.size) - int(take.sum())
    order = np.lexsort((rng.random(size.size), -(exact - take)))
    take[order[: max(short, 0)]] += 1
    take = np.where(size >= 2, np.clip(take, 1, np.maximum(size - 1, 1)), 0)
    drawn = np.zeros(rows.size, dtype=bool)
    for g, count in enumerate(take):
        members = np.flatnonzero(group == g)
        drawn[rng.permutation(members)[:count]] = True
    return rows[drawn], rows[~drawn]


def check_first_batch(first_batch: Any, n_rows: int) -> NDArray[np.bool_]:
    """Return the user's own first batch as an array of a truth value per row."""
    mask = np.asarray(first_batch)
    if mask.dtype != bool or mask.shape != (n_rows,):
        raise InputError(
            f"expected first_batch in fit to be a mask of {n_rows} rows, got {mask.dtype} of shape "
            f"{mask.shape}; a share is a parameter of the estimator"
        )
    return mask


def check_batches(first: Rows, training: Rows) -> None:
    """Refuse a first batch that is empty or leaves nothing to arrive later."""
    if first.size == 0:
        raise InputError(
            f"expected the first batch to hold some of the {training.size} training rows, got none "
            "(is it an empty mask, or a date before all rows?)"
        )
    if first.size == training.size:
        raise InputError(
            f"expected the first batch to leave some of the {training.size} training rows for "
            "later, got all of them: without new rows there is no change to be stable against"
        )


def check_holdout_classes(y: NDArray[Any], classes: NDArray[Any], *, own: bool) -> None:
    """Refuse the user's own holdout without a class; one drawn lacks those of a single row."""
    there = np.bincount(y, minlength=len(classes)) > 0
    absent = classes[~there].tolist()
    if not absent:
        return
    if not own and there.sum() >= 2:
        warnings.warn(
            f"expected every class in the holdout, got a single row of {absent}: it is kept for "
            "training, and the score speaks of the other classes",
            SteadyTreeWarning,
            stacklevel=4,
        )
        return
    raise InputError(
        f"expected every class in the holdout, got no row of {absent}; "
        'use a larger holdout, holdout="oob", or other X_val and y_val'
    )


# -- the estimators --------------------------------------------------------------------


def _check_holdout(value: Any, name: str) -> None:
    if value != "oob":
        check_share(value, name, other=' or "oob"')


class _StableTree(TreeLearner):
    """What the classifier and the regressor share: everything but the task."""

    _parameter_checks: ClassVar = {
        "n_bootstraps": check_whole(1),
        "first_batch": partial(check_share, other=" (rows go to fit(first_batch=...))"),
        "holdout": _check_holdout,
        "select": lambda value, _: check_rule(value),
        "tolerance": lambda value, _: check_tolerance(value),
        "objectives": lambda value, _: check_objectives(value),
    }

    def __init__(
        self,
        estimator: Any = None,
        param_grid: Grid | None = None,
        *,
        n_bootstraps: int = 10,
        first_batch: float = 0.5,
        holdout: float | str = 0.25,
        scoring: str | Callable[..., float] | None = None,
        select: Rule = "tolerance",
        tolerance: float = 0.02,
        objectives: Sequence[str] = ("distance", "score"),
        variant: str = "paper",
        label_weight: float | str = 1.0,
        nested: bool = True,
        categorical_features: str | Sequence[int | str | bool] | None = "from_dtype",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self._keep_parameters(locals())

    def to_tree(self) -> Tree:
        """Return the chosen tree, in the form that distances and diffs work on.

        Returns
        -------
        Tree
        """
        check_is_fitted(self)
        tree: Tree = self.best_estimator_.to_tree()
        return tree

    def report(
        self,
        path: str | os.PathLike[str],
        *,
        title: str | None = None,
        publish: bool = False,
    ) -> Path:
        """Write the choice of this tree among its candidates as one HTML page.

        Parameters
        ----------
        path : path-like
        title : str, optional
            Heading of the page.
        publish : bool, default False
            For others: people rounded (``steadytree.publish.publish``), rare categories not named.

        Returns
        -------
        Path
        """
        check_is_fitted(self)
        return write_report(stable_summary(self, publish=publish), path, title=title)

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        first_batch: Any = None,
        X_val: Any = None,
        y_val: Any = None,
    ) -> Self:
        """Grow both collections, measure every candidate, and keep the chosen tree.

        Parameters
        ----------
        X : array, pandas or polars frame of shape (n, n_features)
            Numbers, categories, booleans, strings and missing values are welcome.
        y : array of shape (n,)
        sample_weight : array of shape (n,), optional
            Counts when trees are grown and scored; bootstraps draw all rows alike.
        first_batch : boolean mask, optional
            Your own first batch, such as the rows before a date, in place of the random
            share. Of its rows, those in the holdout are not trained on.
        X_val, y_val : optional
            Your own holdout, in place of a share of ``X``.

        Returns
        -------
        self
        """
        self._check_parameters()
        base, grid = base_and_grid(self.estimator, self.param_grid, task=self._task)
        data, decision = self._training_data(X, y, sample_weight)
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31 - 1))
        parts = self._divide(data, first_batch, X_val, y_val, rng)
        measure, self.scorer_ = make_measure(self.scoring, parts.holdout)
        reference, candidates = self._grow(base, grid, data, parts, decision, rng)
        self.max_depth_ = largest_depth(base, grid, (*reference.trees, *candidates.trees))
        distances = mean_distances(
            candidates.trees,
            reference.trees,
            space=data.space,
            variant=self.variant,
            label_weight=self.label_weight,
            max_depth=self.max_depth_,
            n_jobs=self.n_jobs,
        )
        scored = parts.scored_rows(candidates.in_bag)
        scores = score_trees(
            candidates.trees,
            candidates.bootstrap,
            scored,
            measure,
            n_folds=parts.holdout.n_folds,
            n_jobs=self.n_jobs,
            verbose=self.verbose,
        )
        objectives = check_objectives(self.objectives)
        table = candidate_table(candidates, grid, distances)

        def choose(score: NDArray[np.float64]) -> int:
            results = ranked(table, objectives, score)
            return select_candidate(results, self.select, tolerance=self.tolerance)

        def score_on_fold(i: int, fold: int) -> float:
            rows = scored[candidates.bootstrap[i]]
            return measure.on_rows(candidates.trees[i], rows[parts.holdout.folds[rows] == fold])

        results = ranked(table, objectives, scores.score, scores.error)
        self.best_index_ = select_candidate(results, self.select, tolerance=self.tolerance)
        self.results_ = results.assign(chosen=np.arange(len(results)) == self.best_index_)
        self.score_estimate_, self.score_estimate_se_ = honest_estimate(
            choose, scores.without_fold, score_on_fold
        )
        self.selection_score_ = float(scores.score[self.best_index_])
        self.scores_ = scores.score
        self.mean_distances_ = distances["mean_distance"].to_numpy()
        self.pareto_mask_ = self.results_["on_frontier"].to_numpy()
        self.reference_trees_ = reference.trees
        self.candidates_ = candidates.trees
        self.first_batch_indices_ = parts.first
        self.holdout_indices_ = parts.held
        self.decision_threshold_ = None if decision is None else decision.threshold
        self.best_params_ = dict(grid[int(candidates.setting[self.best_index_])])
        self.best_estimator_ = self._predictor(candidates.trees[self.best_index_])
        self._warn_of_one_decision(candidates.trees[self.best_index_], data.rows)
        return self

    _predictor: ClassVar[type[TreeClassifier | TreeRegressor]]

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_options(variant=self.variant, label_weight=self.label_weight, max_depth=1)

    def _divide(
        self, data: TrainingData, first_batch: Any, X_val: Any, y_val: Any, rng: np.random.Generator
    ) -> Division:
        """Set the holdout and the first batch apart, unless the user names them."""
        holdout: Any = "oob" if self.holdout == "oob" else float(self.holdout)
        if X_val is not None or y_val is not None:
            holdout = self._holdout_rows(X_val, y_val, data)
        first: Any = float(self.first_batch)
        if first_batch is not None:
            first = check_first_batch(first_batch, len(data.rows))
        return divide(data, first_batch=first, holdout=holdout, rng=rng)

    def _grow(
        self,
        base: Any,
        grid: Sequence[dict[str, Any]],
        data: TrainingData,
        parts: Division,
        decision: Decision | None,
        rng: np.random.Generator,
    ) -> list[Collection]:
        """Grow the collections on the first batch and on all training rows."""
        usable = data.rows.weights > 0
        batches = (parts.first[usable[parts.first]], parts.training[usable[parts.training]])
        check_batches(*batches)
        try:
            return grow_collections(
                base,
                data,
                batches,
                grid,
                n_bootstraps=self.n_bootstraps,
                seeds=rng.integers(0, 2**31 - 1, size=(2, self.n_bootstraps)),
                nested=self.nested,
                keep_out_of_bag=parts.out_of_bag,
                decision=decision,
                n_jobs=self.n_jobs,
                verbose=self.verbose,
            )
        except UnsupportedModelError as error:
            raise UnsupportedModelError(
                f"expected a base estimator that grows one tree, got {type(base).__name__}: {error}"
            ) from error


class StableTreeClassifier(ClassifierTreeMixin, ClassifierMixin, _StableTree):
    """Choose, among many trees, an accurate one that more data would not overturn.

    A tree grown again after new rows arrive often looks like another tree, and people
    who relied on the first lose trust. This estimator follows Section 3.1 of *Improving
    Stability in Decision Tree Models* (Bertsimas and Digalakis Jr). It splits the
    training rows into a first batch X0 and the rest, grows trees on bootstraps of X0 and
    of all training rows over a grid of settings, and measures for each tree of the
    second collection the mean distance to the first and a score on held-out rows. From
    the Pareto frontier of both a rule chooses one tree, which then predicts.

    Parameters
    ----------
    estimator : estimator, default DecisionTreeClassifier()
        A scikit-learn tree, or any estimator whose fitted form :func:`as_tree` reads.
    param_grid : dict or list of dicts, optional
        Settings to try, as in ``GridSearchCV``. Default: the paper's, depth 3-12 and
        ``min_samples_leaf`` 3, 5, 10, 30, 50; an estimator without these two is tried as
        it is.
    n_bootstraps : int, default 10
        Bootstraps per batch; every setting is grown on each.
    first_batch : float, default 0.5
        Share of the training rows in the first batch, drawn at random and stratified;
        ``fit(first_batch=rows)`` names the rows instead.
    holdout : float or "oob", default 0.25
        Share of the rows that candidates are scored on, stratified and never grown on;
        or "oob": each tree is scored on the rows its bootstrap left out, so that all
        rows train. ``fit(X_val=, y_val=)`` takes your own.
    scoring : str, callable or None
        A scikit-learn scorer; default ROC AUC (one-vs-rest for several classes).
    select : {"tolerance", "balanced", "score", "distance"} or callable
        How to choose from the frontier, see :data:`steadytree.estimators.selection.RULES`.
        A callable gets ``results_`` and returns the position of a row; it is called once
        more for each fold of the honest estimate.
    tolerance : float, default 0.02
        For "tolerance": the share of the best score that may be given up.
    objectives : sequence, default ("distance", "score")
        Two or more of "distance", "score", "n_leaves" and "depth".
    variant : {"paper", "metric", "cover"}, default "paper"
        Of the distance, see :func:`tree_distance`.
    label_weight : float or "balanced", default 1.0
        Of the distance.
    nested : bool, default True
        Grow CART once per bootstrap to the largest depth and cut it for the others; many
        times faster. Where gains tie exactly a cut tree may differ from one grown to
        that depth. Otherwise settings are fitted one by one, each with a seed of its own,
        derived from the bootstrap's: trees vary more, as in the paper's own collections.
    decision_threshold : float, "prevalence", Decision or None
        For two classes: a leaf says the positive class where its share reaches this number.
        "prevalence" is its rate in the rows of ``fit``. See :class:`Decision`.
    pos_label : class label, optional
        The class to be detected. By default 1 of {0, 1} and {-1, 1}, True of {False, True},
        "yes" of {"no", "yes"}; of others ``classes_[1]``, but a threshold then needs it.
    class_weight : dict, "balanced" or None
        Multiplies the sample weights, in growing and in scoring. With weights a leaf
        must also hold the weight of ``min_samples_leaf`` average rows.
    categorical_features : "from_dtype", None or list
        Categorical columns: those of category, string or boolean type, none, or a list
        of names, positions or flags.
    n_jobs : int, optional
        Jobs of joblib; the result does not depend on it.
    random_state : int, RandomState or None
    verbose : int, default 0
        1 shows progress on standard error.

    Attributes
    ----------
    best_estimator_ : TreeClassifier
        The chosen tree.
    best_index_ : int
        Its row in ``results_``.
    best_params_ : dict
        Its settings.
    results_ : DataFrame
        One row per candidate: bootstrap, settings, mean distance to the first batch (as
        measured, over the bound, and the dissimilarity in [0, 1]), the score used to
        choose with its standard error, size, and whether it is on the frontier and was
        chosen.
    selection_score_ : float
        Score of the chosen tree on the rows it was chosen by: too good to be reported.
    score_estimate_, score_estimate_se_ : float
        An honest estimate of the score of a tree chosen this way, and its standard
        error: the choice is repeated without each fifth of the holdout and scored on
        that fifth (error after Nadeau and Bengio, since the choices share their rows; for
        an interval take t with 4 degrees of freedom). NaN where a class has fewer than
        two holdout rows.
    pareto_mask_, mean_distances_, scores_ : arrays
        Frontier, mean distance and selection score of each candidate.
    reference_trees_, candidates_ : tuples of Tree
        The first and the second collection.
    feature_space_ : FeatureSpace
        Ranges and categories that all distances were taken in.
    max_depth_ : int
        D of the bound: the grid's largest depth, or the deepest tree where it has none.
    scorer_ : callable
    decision_threshold_ : float or None
    first_batch_indices_, holdout_indices_ : int arrays
        Rows of ``X``.
    classes_, n_features_in_, feature_names_in_, feature_importances_ :
        As in scikit-learn.

    Notes
    -----
    A missing value follows the direction its split gives to missing values. A category
    that was not there at fit time is treated as missing.

    The paper chooses and reports on the same holdout rows. Here the score that chose is
    called ``selection_score``, and ``score_estimate_`` is the one to report.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from steadytree.estimators import StableTreeClassifier
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> model = StableTreeClassifier(n_bootstraps=2, random_state=0).fit(X, y)
    >>> model.results_["chosen"].sum()
    np.int64(1)
    """

    _task = "classification"
    _predictor = TreeClassifier

    def __init__(
        self,
        estimator: Any = None,
        param_grid: Grid | None = None,
        *,
        n_bootstraps: int = 10,
        first_batch: float = 0.5,
        holdout: float | str = 0.25,
        scoring: str | Callable[..., float] | None = None,
        select: Rule = "tolerance",
        tolerance: float = 0.02,
        objectives: Sequence[str] = ("distance", "score"),
        variant: str = "paper",
        label_weight: float | str = 1.0,
        nested: bool = True,
        decision_threshold: Decision | float | str | None = None,
        pos_label: Any = None,
        class_weight: Mapping[Any, float] | str | None = None,
        categorical_features: str | Sequence[int | str | bool] | None = "from_dtype",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self._keep_parameters(locals())


class StableTreeRegressor(RegressorTreeMixin, RegressorMixin, _StableTree):
    """Choose, among many regression trees, a good one that more data would not overturn.

    See :class:`StableTreeClassifier` for the method, the parameters and the attributes;
    the default score is R², and the outcome term of the distance is the difference of
    the leaf values over the range of the response.

    Parameters
    ----------
    estimator : estimator, default DecisionTreeRegressor()
    param_grid, n_bootstraps, first_batch, holdout, scoring, select, tolerance, objectives, \
variant, label_weight, nested, categorical_features, n_jobs, random_state, verbose :
        As for :class:`StableTreeClassifier`.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from steadytree.estimators import StableTreeRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = StableTreeRegressor(n_bootstraps=2, random_state=0).fit(X, y)
    >>> model.best_estimator_.to_tree().is_classifier
    False
    """

    _task = "regression"
    _predictor = TreeRegressor
