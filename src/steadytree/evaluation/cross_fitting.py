r"""How good a proposed tree is on rows that it did not see, though it saw all there are.

The proposal T was trained on every new row, so its score on them flatters it. Trees
:math:`T_k` made the same way without fold k tell by how much. With A the deployed tree, which
saw none of the rows, a score m of the proposal is estimated as

.. math:: m(T) - \sum_k w_k \{ [m(T_k) - m(A)]_{train_k} - [m(T_k) - m(A)]_{test_k} \}

on all rows, less what a gain over A shrinks by on rows left out (:math:`w_k`: share of the
rows left out). A is there to take the luck of the fold out of the difference. The estimate is
of the proposal's own tree: its decisions are the ones counted, and where it decides or ranks
everybody as A does, the change is 0 exactly. Each row's influence adds up in the same way,
which gives the errors, but for what learning from the rows adds
(:meth:`~steadytree.evaluation.scores.Score.learning_variance`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import GroupKFold, KFold, StratifiedGroupKFold, StratifiedKFold

from steadytree.evaluation.scores import (
    Measure,
    Parts,
    PerRow,
    Predictions,
    Score,
    area_of,
    mean_score,
    predict_leaves,
    predict_rows,
    r2_score,
    ranked_classes,
    squared_errors,
    standard_error,
)
from steadytree.exceptions import InputError
from steadytree.tree.tree import Tree

FloatArray = NDArray[np.float64]
Rows = NDArray[np.intp]

# -- folds -----------------------------------------------------------------------------
# Folds are random (each class spread evenly), by group (a patient is never on both sides) or by
# time (train on the earlier rows, score on the next block).

Fold = tuple[NDArray[np.intp], NDArray[np.intp]]


def make_folds(
    y: NDArray[Any],
    *,
    classifier: bool,
    n_folds: int,
    groups: NDArray[Any] | None = None,
    time: NDArray[Any] | None = None,
    seed: int = 0,
) -> list[Fold]:
    """Return (train, test) row numbers of the folds; empty if the rows are too few for any."""
    n = len(y)
    if time is not None:
        return _time_folds(n, n_folds, time, groups)
    units = np.arange(n) if groups is None else groups
    smallest = n
    if classifier:
        smallest = min(len(np.unique(units[y == k])) for k in np.unique(y))
    n_folds = min(n_folds, smallest, len(np.unique(units)))
    if n_folds < 2:
        return []
    splitter: Any = GroupKFold(n_folds)
    if classifier or groups is None:
        stratified = StratifiedKFold if groups is None else StratifiedGroupKFold
        kind = stratified if classifier else KFold
        splitter = kind(n_folds, shuffle=True, random_state=seed)
    return list(splitter.split(np.zeros(n), y, groups))


def _time_folds(
    n: int, n_folds: int, time: NDArray[Any], groups: NDArray[Any] | None
) -> list[Fold]:
    """Blocks of time: train on all before, score on the next; equal times stay together."""
    _, rank = np.unique(time, return_inverse=True)
    order = np.sort(rank)
    cuts = sorted({int(order[n * i // (n_folds + 1)]) for i in range(1, n_folds + 1)} - {0})
    out = []
    for start, stop in pairwise([*cuts, int(order[-1]) + 1]):
        train, test = np.flatnonzero(rank < start), np.flatnonzero((rank >= start) & (rank < stop))
        if groups is not None:
            train = train[~np.isin(groups[train], groups[test])]
        if len(train) and len(test):
            out.append((train, test))
    return out


def assign_folds(
    y: NDArray[Any], *, classifier: bool, most: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Assign rows to folds at random, each class spread evenly.

    There are at most ``most`` folds, and no more than the rarest class has rows, so that
    every fold can be scored; with a single fold nothing can be estimated honestly. Unlike
    :func:`make_folds` it gives each row's fold, for scores without a fold, and it draws from
    the caller's own generator.
    """
    n = len(y)
    counts = np.bincount(y) if classifier else np.array([n // 2])
    n_folds = int(max(1, min(most, counts[counts > 0].min())))
    folds = np.empty(n, dtype=np.int64)
    start = 0
    for g in np.unique(y) if classifier else (None,):
        members = np.flatnonzero(y == g) if classifier else np.arange(n)
        folds[rng.permutation(members)] = (start + np.arange(members.size)) % n_folds
        start += members.size
    return folds


def check_rowwise(values: Any, n: int, name: str) -> NDArray[Any] | None:
    """Return groups or times as an array with one entry per new row."""
    if values is None:
        return None
    array = np.asarray(values)
    if array.shape != (n,):
        raise InputError(
            f"expected {n} entries in {name}, one per new row, got shape {array.shape}"
        )
    return array


# -- honest estimates ------------------------------------------------------------------


@dataclass(frozen=True)
class Estimate:
    """One score of three: the deployed tree, the proposal's own tree, and the honest one.

    ``own`` is measured on rows that the tree was trained on; ``recipe`` is corrected for that
    (NaN where there are no folds to correct it with).
    """

    deployed: Score
    own: Score
    recipe: Score

    @property
    def change(self) -> Score:
        """The honest change, against the deployed tree."""
        return self.recipe.minus(self.deployed)

    def map(self, rule: Callable[..., Score], *others: Estimate) -> Estimate:
        """Apply a rule to each of the three, with those of other estimates."""
        every = (self, *others)
        return Estimate(
            rule(*(e.deployed for e in every)),
            rule(*(e.own for e in every)),
            rule(*(e.recipe for e in every)),
        )

    def within(self, low: float, high: float) -> Estimate:
        """Keep the corrected score within bounds that a score cannot leave."""
        return Estimate(self.deployed, self.own, self.recipe.clipped(low, high))


@dataclass(frozen=True, eq=False)
class CrossFitted:
    """Every candidate's own tree and its trees without each fold, to score it honestly.

    Attributes
    ----------
    coded, y : arrays
        The new rows in the space's codes; positions in the classes, or responses.
    deployed : Tree
        It never saw the rows.
    own : mapping of str to Tree
        Each candidate's tree, trained on all rows.
    in_folds : sequence of mappings
        The same by fold, trained without the fold's rows.
    folds : list of (train, test)
    fixed : frozenset of str
        Candidates that are the same tree in every fold ("keep", a user's fitted model):
        they are scored as they are.
    groups : array, optional
        Rows of one group count as one observation.
    scored : bool array, optional
        Rows that the deployed tree has not seen, the only ones to score on; None: all.
    """

    coded: FloatArray
    y: NDArray[Any]
    deployed: Tree
    own: Mapping[str, Tree]
    in_folds: Sequence[Mapping[str, Tree]]
    folds: list[Fold]
    fixed: frozenset[str] = frozenset()
    groups: NDArray[Any] | None = None
    scored: NDArray[np.bool_] | None = None
    _scores: dict[str, Estimate] = field(init=False, default_factory=dict, repr=False)
    _latest: dict[str, list[Predictions]] = field(init=False, default_factory=dict, repr=False)
    _leaves: dict[int, NDArray[np.int32]] = field(init=False, default_factory=dict, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        kept = {k: v for k, v in self.__dict__.items() if k != "before"}
        return {**kept, "_scores": {}, "_latest": {}, "_leaves": {}}

    @property
    def classifier(self) -> bool:
        """Whether outcomes are classes."""
        return self.deployed.is_classifier

    # -- predictions --------------------------------------------------------------

    @cached_property
    def before(self) -> Predictions:
        """What the deployed tree says of all rows."""
        return predict_rows(self.deployed, self.coded)

    def predictions(self, name: str) -> list[Predictions]:
        """Predict all rows by a candidate: by its own tree, then by the tree of each fold.

        Only those of the candidate asked for last are kept, and the leaves of all rows in every
        tree. A fixed candidate has one tree.
        """
        if name not in self._latest:
            trees = [self.own[name]]
            if name not in self.fixed:
                trees += [fold[name] for fold in self.in_folds]
            self._latest.clear()
            self._latest[name] = [
                self.before if tree is self.deployed else self._predict(tree) for tree in trees
            ]
        return self._latest[name]

    def _predict(self, tree: Tree) -> Predictions:
        leaf = self._leaves.get(id(tree))
        if leaf is None:
            leaf = self._leaves[id(tree)] = tree.apply_coded(tree.round_values(self.coded))
        return predict_leaves(tree, leaf)

    def left_out(self, name: str, amount: PerRow) -> FloatArray:
        """Amount of each row by a tree made without it; NaN for rows never left out.

        A fixed candidate is looked at on every row.
        """
        own, *by_fold = self.predictions(name)
        if name in self.fixed:
            every = amount(own, self.y)
            return every if self.scored is None else np.where(self.scored, every, np.nan)
        out = np.full(len(self.y), np.nan)
        for (_, test), part in zip(self.folds, by_fold, strict=True):
            out[test] = amount(part.take(test), self.y[test])
        return out

    # -- estimates ----------------------------------------------------------------

    def estimate(
        self,
        name: str,
        measure: Measure,
        *,
        rows: Rows | None = None,
        alike: bool = False,
    ) -> Estimate:
        """Score a candidate on some rows (None: all), as it is and honestly.

        ``alike``: the candidate's own tree cannot differ from the deployed one in this
        measure, or needs no outcomes for it, so that there is nothing to correct.
        """
        every = np.arange(len(self.y))
        inside = np.isin(every, every if rows is None else rows)
        if self.scored is not None:
            inside &= self.scored
        own, *by_fold = self.predictions(name)
        base = np.flatnonzero(inside)
        y = self.y[base]
        before, after = measure(self.before.take(base), y), measure(own.take(base), y)
        n = len(self.y)
        deployed, shown = (part.score().spread_to(n, base) for part in (before, after))
        if name in self.fixed or alike:
            return Estimate(deployed, shown, shown)
        optimism = self._optimism(measure, by_fold, inside)
        return Estimate(deployed, shown, shown.minus(optimism))

    def _optimism(
        self, measure: Measure, by_fold: Sequence[Predictions], inside: NDArray[np.bool_]
    ) -> Score:
        """How much of a gain over the deployed tree is lost on rows left out."""
        parts: list[tuple[float, Rows, Parts, Rows, Parts]] = []
        for fold, predicted in zip(self.folds, by_fold, strict=True):
            train, test = (rows[inside[rows]] for rows in fold)
            seen, left = (self._gain(measure, predicted, rows) for rows in (train, test))
            if seen.known and left.known:
                parts.append((float((left.stratum >= 0).sum()), train, seen, test, left))
        influence, learnt = np.zeros(len(self.y)), np.zeros(len(self.y))
        total = sum(weight for weight, *_ in parts)
        if not total:
            return Score(float("nan"), influence)
        value = 0.0
        # An area is a mean over either class: half of what it is flattered by comes from each.
        strata = (0, 1) if any((seen.stratum == 1).any() for _, _, seen, *_ in parts) else (0,)
        for s in strata:
            shares = [weight / total for weight, *_ in parts]
            means = [
                float(left.part[left.stratum == s].mean()) if (left.stratum == s).any() else 0.0
                for *_, left in parts
            ]
            # One mean for all rows left out: folds are small, and what tells their means
            # apart is luck that belongs to the error. Over n - 1 rows in all.
            centre = float(np.dot(shares, means))
            n = sum(int((left.stratum == s).sum()) for *_, left in parts)
            scale = np.sqrt(n / max(n - 1, 1))
            for share, mean, (_, train, seen, test, left) in zip(shares, means, parts, strict=True):
                among, out = seen.stratum == s, left.stratum == s
                if not out.any():
                    continue
                trained = float(seen.part[among].mean())
                if s == 0:
                    value += share * (trained - mean)
                for sign, rows, part, middle in (
                    (1.0, train[among], seen.part[among], trained),
                    (-1.0, test[out], left.part[out], centre),
                ):
                    influence[rows] += sign * share * scale * (part - middle) / part.size
                    learnt[rows] += sign * share * part / (part.size * len(strata))
        return Score(value, influence, learnt)

    def _gain(self, measure: Measure, predicted: Predictions, rows: Rows) -> Parts:
        """Gain over the deployed tree on some rows, row by row."""
        y = self.y[rows]
        new, old = measure(predicted.take(rows), y), measure(self.before.take(rows), y)
        return Parts(new.part - old.part, new.stratum)

    # -- the score of the frontier ------------------------------------------------

    def score_estimate(self, name: str, *, rows: Rows | None = None) -> Estimate:
        """ROC AUC (mean of one-vs-rest for several classes) or R² of a candidate.

        R² has one spread, that of the rows' responses, whatever fold a row is in.
        """
        found = self._areas if self.classifier else self._explained
        if rows is not None:
            return found(name, rows)
        if name not in self._scores:
            self._scores[name] = found(name, None)
        return self._scores[name]

    def _areas(self, name: str, rows: Rows | None) -> Estimate:
        tree = self.own[name]
        first, *others = (
            self.estimate(
                name, area_of(column), rows=rows, alike=ranks_alike(self.deployed, tree, column)
            )
            for column in ranked_classes(tree.value.shape[1])
        )
        if others:
            first = first.map(lambda *scores: mean_score(scores, len(self.y)), *others)
        return first.within(0.0, 1.0)

    def _explained(self, name: str, rows: Rows | None) -> Estimate:
        base = np.arange(len(self.y)) if rows is None else rows

        def explained(error: Score) -> Score:
            return r2_score(error.at(base), self.y[base]).spread_to(len(self.y), base)

        return self.estimate(name, squared_errors, rows=rows).map(explained)

    def score(self, name: str) -> Score:
        """Honest score of a candidate."""
        return self.score_estimate(name).recipe

    def error(self, score: Score) -> float:
        """Compute the standard error of a score or of a difference of scores.

        Of two candidates' leaves none are the same: the deployed tree's stand for both.
        """
        if np.isnan(score.value):
            return float("nan")
        variance = score.learning_variance(self.before.leaves()) if score.learnt.any() else 0.0
        return float(np.sqrt(standard_error(score.influence, self.groups) ** 2 + variance))


# -- trees that cannot differ -----------------------------------------------------------


def decides_alike(one: Tree, two: Tree) -> bool:
    """Whether two trees have the same rules with the same labels, so that no decision differs."""
    leaves = same_rules(one, two)
    return leaves is not None and bool((one.label[leaves[0]] == two.label[leaves[1]]).all())


def ranks_alike(one: Tree, two: Tree, column: int) -> bool:
    """Whether two trees have the same rules and rank their leaves by a class in the same way."""
    leaves = same_rules(one, two)
    if leaves is None:
        return False
    first, second = (
        np.unique(tree.value[nodes, column], return_inverse=True)[1]
        for tree, nodes in zip((one, two), leaves, strict=True)
    )
    return np.array_equal(first, second)


def same_rules(one: Tree, two: Tree) -> tuple[list[int], list[int]] | None:
    """Leaves of two trees from left to right; None where a condition differs."""
    first, second = one.preorder, two.preorder
    if one.precision != two.precision or one.n_nodes != two.n_nodes:
        return None
    inner = ~one.is_leaf[first]
    same = (
        np.array_equal(one.feature[first], two.feature[second])
        and np.array_equal(
            one.threshold[first[inner]], two.threshold[second[inner]], equal_nan=True
        )
        and np.array_equal(one.missing_left[first[inner]], two.missing_left[second[inner]])
        and all(
            one.left_categories[a] == two.left_categories[b]
            for a, b in zip(first[inner].tolist(), second[inner].tolist(), strict=True)
        )
    )
    return (one.leaves.tolist(), two.leaves.tolist()) if same else None
