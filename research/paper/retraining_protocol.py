"""One protocol for every study of retraining: rows, measures, and the coin to beat.

40 % of the rows deploy a tree, 30 % arrive later, 30 % are untouched test rows. The page of the
paper (`research.paper.experiments.retraining`) takes whole years of the sets that have a calendar
year, and all their rows; the retraining table (``python -m research.benchmarks.retraining``) takes
at most 4,000 rows of every set. Methods, measures and the coin line are the same.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from research.paper.data import TIME_ORDERED, list_case_studies, load_case_study
from research.paper.protocols import Rows
from steadytree.distance.distances import tree_distance
from steadytree.evaluation.scores import auc
from steadytree.exceptions import ClippedThresholdWarning
from steadytree.tree.space import FeatureSpace
from steadytree.tree.tree import Tree

__all__ = [
    "NAMES",
    "TUNING",
    "UNTOUCHED",
    "Deployment",
    "coin_gain",
    "measure",
    "split_set",
    "time_parts",
]

NAMES = tuple(sorted(list_case_studies()))
TUNING = NAMES[::2]
UNTOUCHED = NAMES[1::2]
"""The halves of the sets, fixed by this rule before anything was tuned: every other name in
alphabetical order (from the first) for tuning, the rest untouched."""

MOST_ROWS = 4_000
DEPLOY_SHARE, NEW_SHARE = 0.4, 0.3


@dataclass(frozen=True, eq=False)
class Deployment:
    """A data set as a deployment meets it: rows that deploy, rows that arrive, rows that test.

    Attributes
    ----------
    space : FeatureSpace
        The space all trees are compared in.
    """

    space: FeatureSpace
    X_old: pd.DataFrame
    y_old: NDArray[np.int64]
    X_new: pd.DataFrame
    y_new: NDArray[np.int64]
    X_test: pd.DataFrame
    y_test: NDArray[np.int64]

    @property
    def base_rate(self) -> float:
        """Share of events among the deployment rows: the threshold of all decisions.

        At one half a rare outcome is never predicted, and neither the label term nor the flips
        could tell two trees apart.
        """
        return float(self.y_old.mean())

    @property
    def X_all(self) -> pd.DataFrame:
        """The rows there are when the tree is retrained."""
        return pd.concat([self.X_old, self.X_new], ignore_index=True)

    @property
    def y_all(self) -> NDArray[np.int64]:
        """Their outcomes."""
        return np.concatenate([self.y_old, self.y_new])


def split_set(name: str, seed: int) -> Deployment:
    """Split at most 4,000 rows (and nine tenths) of a data set.

    In order of time where the set has a calendar year (the test rows are then the latest),
    else at random. Rows of one group (a crash) stay together.
    """
    study = load_case_study(name)
    y = np.asarray(study.y).astype(np.int64)
    rng = np.random.default_rng([seed, NAMES.index(name)])
    unit = np.arange(len(y)) if study.groups is None else pd.factorize(study.groups)[0]
    units = rng.permutation(unit.max() + 1)
    sizes = np.bincount(unit)[units]
    budget = min(MOST_ROWS, 0.9 * len(y))
    units = units[np.cumsum(sizes) <= budget]
    if name in TIME_ORDERED:
        first = pd.Series(np.asarray(study.time, dtype=float)).groupby(unit).min().to_numpy()
        units = units[np.argsort(first[units], kind="stable")]
    reached = np.cumsum(np.bincount(unit)[units])
    shares = np.array([DEPLOY_SHARE, DEPLOY_SHARE + NEW_SHARE])
    part_of = np.full(unit.max() + 1, -1)
    for i, members in enumerate(np.split(units, np.searchsorted(reached, shares * reached[-1]))):
        part_of[members] = i
    old, new, test = (np.flatnonzero(part_of[unit] == i) for i in range(3))
    tables = [study.X.iloc[rows].reset_index(drop=True) for rows in (old, new, test)]
    known = np.concatenate([old, new])
    space = FeatureSpace.from_data(
        pd.concat(tables[:2], ignore_index=True), y[known], task="classification"
    )
    return Deployment(space, tables[0], y[old], tables[1], y[new], tables[2], y[test])


def time_parts(time: NDArray[np.int64]) -> tuple[Rows, Rows, Rows]:
    """Rows that deploy, that are new, and that test: whole years, about 40, 30 and 30 %."""
    years, counts = np.unique(time, return_counts=True)
    reached = np.cumsum(counts) / len(time)
    first = int(np.argmin(np.abs(reached[:-2] - DEPLOY_SHARE)))
    second = (
        first + 1 + int(np.argmin(np.abs(reached[first + 1 : -1] - (DEPLOY_SHARE + NEW_SHARE))))
    )
    old = np.flatnonzero(time <= years[first])
    new = np.flatnonzero((time > years[first]) & (time <= years[second]))
    return old, new, np.flatnonzero(time > years[second])


def measure(deployment: Deployment, before: Tree, after: Tree) -> dict[str, Any]:
    """Tell how far a tree moved, how well both predict, and whose decision changes.

    Distances, flips and what is said of decisions go by the labels the trees carry.
    """
    space, X, y = deployment.space, deployment.X_test, deployment.y_test == 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ClippedThresholdWarning)
        paper = tree_distance(before, after, space=space)
        metric = tree_distance(before, after, space=space, variant="metric")
        relative = tree_distance(before, after, space=space, variant="metric", normalize="relative")
    old, new = (tree.predict_proba(X)[:, 1] for tree in (before, after))
    return {
        "distance": paper,
        "metric": metric,
        "dissimilarity": relative,
        "auc_before": auc(y, old),
        "auc_after": auc(y, new),
        "flips": float(np.mean(before.predict(X) != after.predict(X))),
        "flips_half": float(np.mean((old >= 0.5) != (new >= 0.5))),
        "leaves": [before.n_leaves, after.n_leaves],
        **_decisions(after.predict(X) == 1, y),
        # Above 0: more events are predicted than happen.
        "calibration": float(np.mean(new) - np.mean(y)),
        "brier": float(np.mean((new - y) ** 2)),
        "moved_5": float(np.mean(np.abs(new - old) > 0.05)),
        "moved_10": float(np.mean(np.abs(new - old) > 0.10)),
    }


def _decisions(flagged: NDArray[np.bool_], y: NDArray[np.bool_]) -> dict[str, float]:
    """Tell how the decisions of a tree fare among those with and without the event."""
    sensitivity, specificity = float(flagged[y].mean()), float((~flagged[~y]).mean())
    return {
        "sensitivity": sensitivity,
        "specificity": specificity,
        "balanced_accuracy": (sensitivity + specificity) / 2,
    }


def coin_gain(gain: float, moved: float, whole: float) -> float:
    """Compute what a coin gains by keeping the tree or training anew, at the same mean distance.

    The honest yardstick: a method is worth its trouble only above this line.

    Parameters
    ----------
    gain : float
        What training anew gains over keeping the tree.
    moved, whole : float
        How far the method moves the tree, and how far training anew does.
    """
    return gain * moved / whole if whole else 0.0
