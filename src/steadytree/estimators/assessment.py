"""How stable is a tree learner on this data? Refit it on resamples and compare the trees.

What R's ``stablelearner`` shows and Sections 3.3 to 3.5 of the paper measure, for any
learner of one tree: how much trees, their predictions, their splits and their feature
importances change when the training rows do.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.spatial.distance import pdist, squareform
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.utils import _safe_indexing, check_random_state

from steadytree._jobs import run_jobs
from steadytree._progress import track
from steadytree.distance import pairwise_tree_distances, tree_distance
from steadytree.estimators.predictor import check_whole
from steadytree.evaluation.holdout import Holdout, make_measure, scorer_name
from steadytree.evaluation.scores import predict_rows
from steadytree.exceptions import InputError, OneDecisionWarning, UnsupportedModelError
from steadytree.growing.collections import draw_bootstrap
from steadytree.growing.fitting import Task, TrainingData, fit_tree
from steadytree.plugins import read_model
from steadytree.publish.cells import SUMMARY
from steadytree.tree.decision import one_decision_of_leaves, warn_of_one_decision
from steadytree.tree.json import plain_json
from steadytree.tree.space import FeatureSpace
from steadytree.tree.tree import Tree
from steadytree.tree.words import PLAIN

Rows = NDArray[np.int64]

# -- tables about a collection of trees ------------------------------------------------

LEAF_NODE = "Leaf node"
"""Row of the split table for trees that have no split in that place, as in the paper."""

PLACES = ("root", "left", "right", "anywhere")
"""The first split, the splits left and right of it, and anywhere in the tree."""


def spread_of(table: pd.DataFrame, *measures: str) -> pd.DataFrame:
    """Mean, sd, min ... of the numbers in each column, one row per column."""
    return table.agg(list(measures)).T.rename(columns={"std": "sd"})


def count_splits(trees: Sequence[Tree], space: FeatureSpace) -> pd.DataFrame:
    """Count the trees that split on each feature in each place.

    One row per feature of the space, in its order, and a last one, ``LEAF_NODE``, for trees
    without a split there; columns as ``PLACES``.
    """
    labels = [*space.feature_labels, LEAF_NODE]
    counts = np.zeros((len(labels), len(PLACES)), dtype=np.int64)
    for grown in trees:
        tree = grown.in_space(space)
        left, right = int(tree.children_left[0]), int(tree.children_right[0])
        for place, node in enumerate((0, left, right)):
            # Without a first split there is nothing left or right of it either.
            j = int(tree.feature[node]) if node >= 0 else -1
            counts[j, place] += 1
        used = np.unique(tree.feature[tree.feature >= 0])
        counts[used, 3] += 1
        counts[-1, 3] += used.size == 0
    return pd.DataFrame(counts, index=pd.Index(labels, name="feature"), columns=list(PLACES))


def split_table(trees: Sequence[Tree], space: FeatureSpace) -> pd.DataFrame:
    """Share of trees that split on each feature in each place (the paper's split table)."""
    shares = count_splits(trees, space) / len(trees)
    order = shares.iloc[:-1].sort_values(["root", "anywhere"], ascending=False, kind="stable")
    return pd.concat([order, shares.iloc[-1:]])


def all_cuts(trees: Sequence[Tree], space: FeatureSpace) -> pd.DataFrame:
    """List every split of every tree, one row each."""
    rows = []
    for i, grown in enumerate(trees):
        tree = grown.in_space(space)
        for node in np.flatnonzero(~tree.is_leaf).tolist():
            j = int(tree.feature[node])
            codes, cats = tree.left_categories[node], space.categories[j]
            named = None
            if codes is not None and cats is not None:
                # A set and its complement are the same cut: write the smaller one.
                rest = tuple(sorted(set(range(len(cats))).difference(codes)))
                chosen = min(tuple(codes), rest, key=lambda s: (len(s), s))
                named = " or ".join(str(cats[c]) for c in chosen) or "(any)"
            name, depth = space.feature_labels[j], int(tree.node_depth[node])
            rows.append((i, name, depth, tree.threshold[node], named))
    columns = ["resample", "feature", "depth", "threshold", "categories"]
    return pd.DataFrame(rows, columns=columns)


def cut_point_table(cuts: pd.DataFrame, space: FeatureSpace, n_trees: int) -> pd.DataFrame:
    """Spread of the thresholds of each feature, over all splits on it."""
    rows = {}
    for j, name in enumerate(space.feature_labels):
        mine = cuts[cuts["feature"] == name]
        if mine.empty:
            continue
        row: dict[str, Any] = {
            "n_cuts": len(mine),
            "share_of_trees": mine["resample"].nunique() / n_trees,
        }
        values = mine["threshold"].to_numpy(dtype=np.float64)
        values = values[np.isfinite(values)]
        if space.categories[j] is not None:
            counted = mine["categories"].value_counts()
            row["most_common_set"] = counted.index[0]
            row["share_of_cuts"] = counted.iloc[0] / len(mine)
        elif values.size:
            at = np.quantile(values, [0, 0.25, 0.5, 0.75, 1])
            row |= zip(("min", "q25", "median", "q75", "max"), at, strict=True)
            row["sd"] = values.std(ddof=1) if values.size > 1 else np.nan
            # The interquartile range as a share of the feature's range.
            width = float(space.upper[j] - space.lower[j])
            row["relative_spread"] = (at[3] - at[1]) / width if width > 0 else 0.0
        rows[name] = row
    table = pd.DataFrame.from_dict(rows, orient="index").rename_axis("feature")
    if table.empty:
        return table
    return table.sort_values(["share_of_trees", "n_cuts"], ascending=False, kind="stable")


def importance_table(by_resample: pd.DataFrame) -> pd.DataFrame:
    """Mean, sd, min and max of each feature's importance, the most important first."""
    table = spread_of(by_resample, "mean", "std", "min", "max").rename_axis("feature")
    return table.sort_values("mean", ascending=False, kind="stable")


# -- the assessment --------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class StabilityAssessment:
    """What changed between trees of one learner, grown on bootstraps of the same data.

    Attributes
    ----------
    summary : DataFrame
        Mean, sd, min, median and max over resamples (or pairs) of every measure.
    dissimilarity, agreement : DataFrames (n_resamples, n_resamples)
        Between all pairs of trees: dissimilarity of the rules in [0, 1]; share of rows
        with the same predicted class, or the concordance correlation of predictions.
    scores : DataFrame
        Score on the rows each tree was not grown on, one row per resample.
    splits : DataFrame
        Share of trees that split on a feature at the root, left and right of it, and
        anywhere; "Leaf node" where there is no split.
    cut_points : DataFrame
        Spread of the thresholds of each numeric feature, or the most common set of each
        categorical one.
    cuts : DataFrame
        Every split of every tree.
    importances : DataFrame
        Mean, sd, min and max of each feature's importance.
    importances_by_resample : DataFrame (n_resamples, n_features)
    sizes : DataFrame
        Leaves, depth and features used, one row per resample.
    trees : tuple of Tree
    space : FeatureSpace
    learner, score_name : str

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> import steadytree as st
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> found = st.assess_stability(
    ...     DecisionTreeClassifier(max_depth=2), X, y, n_resamples=5, random_state=0
    ... )
    >>> print(found)
    DecisionTreeClassifier refitted on 5 bootstraps:
      rules differ by 29 % between two trees (sd 17 %; 0 % = the same rules)
      predictions agree on 95.3 % of the rows
      ROC AUC 0.963 (sd 0.018) on rows the tree was not grown on
      ...
    """

    summary: pd.DataFrame
    dissimilarity: pd.DataFrame
    agreement: pd.DataFrame
    scores: pd.DataFrame
    splits: pd.DataFrame
    cut_points: pd.DataFrame
    cuts: pd.DataFrame
    importances: pd.DataFrame
    importances_by_resample: pd.DataFrame
    sizes: pd.DataFrame
    trees: tuple[Tree, ...]
    space: FeatureSpace
    learner: str
    score_name: str

    def __str__(self) -> str:
        """Return what a person wants to know first, in a few lines."""
        at = self.summary["mean"]
        spread = self.summary["sd"]
        root = self.splits["root"].sort_values(ascending=False, kind="stable")
        lines = [
            f"{self.learner} refitted on {len(self.trees)} bootstraps:",
            f"  rules differ by {PLAIN.percent(at['dissimilarity'], 0)} between two trees "
            f"(sd {PLAIN.percent(spread['dissimilarity'], 0)}; 0 % = the same rules)",
            f"  predictions agree {self._agreement_in_words(at['agreement'])}",
            f"  {self.score_name} {at['score']:.3f} (sd {spread['score']:.3f}) "
            "on rows the tree was not grown on",
            f"  {at['n_leaves']:.1f} leaves (sd {spread['n_leaves']:.1f}), "
            f"depth {at['depth']:.1f} (sd {spread['depth']:.1f})",
            f"  first split: {_shares(root)}",
        ]
        return "\n".join(lines)

    def _agreement_in_words(self, agreement: float) -> str:
        if self.trees[0].is_classifier:
            return f"on {PLAIN.percent(agreement, 1)} of the rows"
        return f"with a concordance correlation of {agreement:.2f}"

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the trees as plain values, for JSON.

        Returns
        -------
        dict
        """
        frames = ("scores", "splits", "cut_points", "importances", "sizes")
        return {
            **SUMMARY,
            "kind": "assessment",
            "published": False,
            "learner": self.learner,
            "n_resamples": len(self.trees),
            "score_name": self.score_name,
            "summary": plain_json(self.summary.rename_axis("measure")),
            **{name: plain_json(getattr(self, name)) for name in frames},
            "dissimilarity": self.dissimilarity.to_numpy().tolist(),
            "agreement": self.agreement.to_numpy().tolist(),
        }


def assess_stability(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    n_resamples: int = 30,
    scoring: Any = None,
    space: FeatureSpace | None = None,
    categorical_features: str | Sequence[int | str | bool] | None = "from_dtype",
    n_jobs: int | None = None,
    random_state: Any = None,
    verbose: int = 0,
) -> StabilityAssessment:
    """Refit a tree learner on bootstraps of the data and report how much its trees change.

    Parameters
    ----------
    estimator : estimator
        A scikit-learn tree, a ``GridSearchCV`` over one, one of steadytree's estimators,
        or anything whose fitted form :func:`as_tree` reads. It is copied, never changed.
    X : array, pandas or polars frame
        Categories, strings and missing values are encoded for scikit-learn's trees.
    y : array
    n_resamples : int, default 30
        Bootstraps: as many rows as there are, drawn with replacement.
    scoring : str, callable or None
        A scikit-learn scorer; default ROC AUC (one-vs-rest for several classes) or R².
    space : FeatureSpace, optional
        To compare in; by default that of ``X``.
    categorical_features : "from_dtype", None or list
        Ignored if ``space`` is given.
    n_jobs : int, optional
        Jobs of joblib; the result does not depend on it.
    random_state : int, RandomState or None
    verbose : int, default 0
        1 shows progress on standard error.

    Returns
    -------
    StabilityAssessment

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from steadytree.estimators.assessment import assess_stability
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> found = assess_stability(
    ...     DecisionTreeClassifier(max_depth=3), X, y, n_resamples=5, random_state=0
    ... )
    >>> found.dissimilarity.shape
    (5, 5)
    """
    check_whole(2)(n_resamples, "n_resamples")
    data = TrainingData.from_table(
        X if hasattr(X, "shape") else np.asarray(X),
        y,
        task=_task_of(estimator),
        space=space,
        categorical_features=categorical_features,
    )
    rng = np.random.default_rng(check_random_state(random_state).randint(2**31 - 1))
    drawn = _draw(data, int(n_resamples), rng)
    seeds = rng.integers(0, 2**31 - 1, size=len(drawn))
    try:
        refitted = run_jobs(
            _refit,
            zip(drawn, seeds.tolist(), strict=True),
            common=(estimator, data),
            n_jobs=n_jobs,
        )
        trees = tuple(track(refitted, total=len(drawn), label="Refitting", verbose=verbose))
    except UnsupportedModelError as error:
        raise UnsupportedModelError(
            f"expected an estimator that grows one tree, got {type(estimator).__name__}: {error}"
        ) from error
    alike = [one_decision_of_leaves(tree) for tree in trees if tree.n_leaves > 1]
    alike = [found for found in alike if found is not None]
    if alike:
        who = f"{len(alike)} of {len(trees)} trees decide the same for everybody. The first"
        warn_of_one_decision(alike[0], who)
    return _report(estimator, trees, drawn, data, scoring, n_jobs)


def _refit(estimator: Any, data: TrainingData, rows: Rows, seed: int) -> Tree:
    with warnings.catch_warnings():
        # Said once, of all of them.
        warnings.simplefilter("ignore", OneDecisionWarning)
        return fit_tree(estimator, data, rows, seed=seed)


def _task_of(estimator: Any) -> Task:
    known = not isinstance(estimator, type) and hasattr(estimator, "fit")
    if known and is_classifier(estimator):
        return "classification"
    if known and is_regressor(estimator):
        return "regression"
    raise InputError(
        f"expected a scikit-learn classifier or regressor, got {estimator!r}; "
        "pass an instance such as DecisionTreeClassifier()"
    )


def _draw(data: TrainingData, count: int, rng: np.random.Generator) -> list[Rows]:
    """Rows of each bootstrap, with repeats."""
    every = np.arange(len(data.rows.y))
    y = None if data.classes is None else data.rows.y
    seeds = rng.integers(0, 2**31 - 1, size=count)
    return [draw_bootstrap(every, y, int(s), keep_out_of_bag=True).rows for s in seeds]


def _report(
    estimator: Any,
    trees: tuple[Tree, ...],
    drawn: Sequence[Rows],
    data: TrainingData,
    scoring: Any,
    n_jobs: int | None,
) -> StabilityAssessment:
    every = np.arange(len(data.rows.y))
    measure, scorer = make_measure(scoring, Holdout(data.rows, data.classes, np.zeros_like(every)))
    tested = [np.setdiff1d(every, rows) for rows in drawn]
    names = pd.RangeIndex(len(trees), name="resample")
    scores = pd.DataFrame(
        {
            "score": [measure.on_rows(t, rows) for t, rows in zip(trees, tested, strict=True)],
            "n_test": [rows.size for rows in tested],
        },
        index=names,
    )
    distances = pairwise_tree_distances(
        list(trees), space=data.space, variant="metric", normalize="relative", n_jobs=n_jobs
    )
    agreement = _agreement(trees, data.rows.coded)
    sizes = pd.DataFrame(
        {
            "n_leaves": [t.n_leaves for t in trees],
            "depth": [t.depth for t in trees],
            "n_features": [np.unique(t.feature[t.feature >= 0]).size for t in trees],
            "n_train": [rows.size for rows in drawn],
        },
        index=names,
    )
    by_resample = pd.DataFrame(
        [t.feature_importances() for t in trees],
        index=names,
        columns=list(data.space.feature_labels),
    )
    cuts = all_cuts(trees, data.space)
    pairs = np.triu_indices(len(trees), 1)
    by_pair = pd.DataFrame({"dissimilarity": distances[pairs], "agreement": agreement[pairs]})
    every_measure = pd.concat([by_pair, scores["score"], sizes[["n_leaves", "depth"]]], axis=1)
    default = {"r2_score": "R²", "roc_auc_score": "ROC AUC"}
    score_name = scorer_name(scorer)
    return StabilityAssessment(
        summary=spread_of(every_measure, "mean", "std", "min", "median", "max"),
        dissimilarity=pd.DataFrame(distances, index=names, columns=names),
        agreement=pd.DataFrame(agreement, index=names, columns=names),
        scores=scores,
        splits=split_table(trees, data.space),
        cut_points=cut_point_table(cuts, data.space, len(trees)),
        cuts=cuts,
        importances=importance_table(by_resample),
        importances_by_resample=by_resample,
        sizes=sizes,
        trees=trees,
        space=data.space,
        learner=_learner_name(estimator),
        score_name=default.get(score_name, score_name),
    )


def perturb_thresholds(
    tree: Tree, amount: float, rng: np.random.Generator, *, space: FeatureSpace | None = None
) -> Tree:
    """Multiply every threshold by a factor drawn from [1 - amount, 1 + amount].

    The direct perturbation of the paper's sensitivity analysis: t (1 + 2 θmax θ - θmax) with θ
    uniform on [0, 1]. With a space, thresholds are kept within its ranges.
    """
    factor = 1 + amount * rng.uniform(-1, 1, tree.n_nodes)
    threshold = tree.threshold * factor
    if space is not None:
        numeric = np.isfinite(threshold)
        j = tree.feature[numeric]
        threshold[numeric] = np.clip(threshold[numeric], space.lower[j], space.upper[j])
    return tree.replace(threshold=threshold, label=tree.label)


def measure_sensitivity(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    amounts: Sequence[float] = (0.1, 0.25, 0.5, 0.75, 1.0),
    n_repeats: int = 10,
    random_state: int | None = None,
) -> pd.DataFrame:
    """Measure how a tree's dissimilarity to itself grows with changes of thresholds and data.

    The two experiments of the paper's appendix, for one learner and one data set.

    Parameters
    ----------
    estimator : scikit-learn estimator
        A tree learner; cloned, never fitted itself.
    X, y : data
    amounts : sequence of float
        Sizes of the change, in [0, 1].
    n_repeats : int, default 10
    random_state : int, optional

    Returns
    -------
    DataFrame
        One row per repetition: ``perturbation`` ("thresholds" or "data"), ``amount`` and
        ``distance``, drawn by :class:`steadytree.plotting.SensitivityDisplay`.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from steadytree.estimators.assessment import measure_sensitivity
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> found = measure_sensitivity(
    ...     DecisionTreeClassifier(max_depth=2, random_state=0), X, y, amounts=[0.1, 0.5, 1.0],
    ...     n_repeats=5, random_state=0,
    ... )
    >>> found[found["perturbation"] == "thresholds"].groupby("amount")["distance"].mean().round(2)
    amount
    0.1    0.02
    0.5    0.08
    1.0    0.16
    Name: distance, dtype: float64
    """
    rng = np.random.default_rng(random_state)
    space = FeatureSpace.from_data(X, y)
    target = np.asarray(y)
    half, rows = len(target) // 2, []
    options: dict[str, Any] = {"space": space, "variant": "metric", "normalize": "relative"}
    for _ in range(n_repeats):
        order = rng.permutation(len(target))
        first, second = order[:half], order[half : 2 * half]
        base = read_model(clone(estimator).fit(_safe_indexing(X, first), target[first]))
        for amount in amounts:
            shaken = perturb_thresholds(base, amount, rng, space=space)
            rows.append(("thresholds", amount, tree_distance(base, shaken, **options)))
            swapped = round(amount * half)
            mixed = np.concatenate([second[:swapped], first[swapped:]])
            other = read_model(clone(estimator).fit(_safe_indexing(X, mixed), target[mixed]))
            rows.append(("data", amount, tree_distance(base, other, **options)))
    return pd.DataFrame(rows, columns=["perturbation", "amount", "distance"])


def _agreement(trees: Sequence[Tree], coded: NDArray[np.float64]) -> NDArray[np.float64]:
    """Agreement of predictions on all rows: same class, or concordance correlation."""
    predictions = [predict_rows(tree, coded) for tree in trees]
    if trees[0].is_classifier:
        agreed = pdist(np.array([p.label for p in predictions]), lambda a, b: np.mean(a == b))
    else:
        agreed = pdist(np.array([p.value[:, 0] for p in predictions]), _concordance)
    return np.asarray(squareform(agreed) + np.eye(len(trees)))


def _concordance(a: NDArray[np.float64], b: NDArray[np.float64]) -> float:
    """Lin's concordance correlation; 1 where both are the same constant."""
    spread = a.var() + b.var() + (a.mean() - b.mean()) ** 2
    together = 2 * np.mean((a - a.mean()) * (b - b.mean()))
    return float(together / spread) if spread > 0 else 1.0


def _learner_name(estimator: Any) -> str:
    inner = getattr(estimator, "estimator", None)
    name = type(estimator).__name__
    return name if inner is None else f"{name}({type(inner).__name__})"


def _shares(shares: pd.Series, most: int = 4) -> str:
    used = {PLAIN.name(name): share for name, share in shares.items() if share > 0}
    shown = [f"{name} {PLAIN.percent(share, 0)}" for name, share in used.items()]
    more = f" and {len(shown) - most} more" if len(shown) > most else ""
    return ", ".join(shown[:most]) + more
