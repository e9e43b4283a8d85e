"""Old tree against new: rows decided otherwise, discrimination, calibration, by subgroup.

A class that differs is another decision. A predicted response differs nearly always a
little, so there a prediction has moved when it moves by more than 5 % of the response range.

Scores stand in three columns, each with a name that says which tree is scored on which rows: the
deployed tree, which saw none of them; the proposal's own tree, which was trained on them; and
the honest estimate for the proposal, corrected by trees made without a fold
(:mod:`steadytree.evaluation.cross_fitting`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from steadytree.evaluation.cross_fitting import CrossFitted, Estimate, decides_alike, ranks_alike
from steadytree.evaluation.scores import (
    Interval,
    Measure,
    Predictions,
    Score,
    absolute_errors,
    area_excess,
    auc_interval,
    errors,
    flagged,
    half_width,
    loss_interval,
    mean_cost,
    mean_interval,
    mean_parts,
    mean_score,
    predict_rows,
    proportion_interval,
    quantile,
    ranked_classes,
    recall_of,
    score_rows,
    share_errors,
    squared_errors,
    standard_error,
    wilson,
)
from steadytree.exceptions import InputError
from steadytree.tree.columns import column_names, column_values, n_rows
from steadytree.tree.decision import Decision
from steadytree.tree.space import FeatureSpace
from steadytree.tree.tree import Tree

Rows = NDArray[np.intp]

# -- rows decided otherwise, in all and by subgroup -----------------------------------------

REGRESSION_FLIP = 0.05
"""For regression a decision has no label; a prediction that moves by more than this share
of the response range counts as flipped."""

MOVES = {"moved_5": 0.05, "moved_10": 0.10}
"""Columns that count the rows whose risk (or prediction) moves by more than so much."""

# Shares are means of counts: a move of 0.05 on the dot must not fail on the last bit.
ROUNDING = 1e-9

MOST_LEVELS = 10

WELL_FOUND, HARDLY_FOUND = 0.20, 0.05
"""Shares of a class's rows that are decided so: above which it is found, below which it is not."""


def response_span(space: FeatureSpace, *, classifier: bool) -> float | None:
    """Width of the response range (0 where the space has none); None for classes."""
    if classifier:
        return None
    low, high = space.response_range or (0.0, 0.0)
    return high - low


def prediction_moved(
    old: NDArray[np.float64], new: NDArray[np.float64], span: float
) -> NDArray[np.bool_]:
    """Rows whose predicted response moves by more than 5 % of the response range."""
    return np.asarray(np.abs(new - old) > REGRESSION_FLIP * span)


def flipped(old: Predictions, new: Predictions, span: float | None) -> NDArray[np.bool_]:
    """Rows whose decision differs; ``span`` is the response range of a regression."""
    if span is None:
        return np.asarray(old.label != new.label)
    return prediction_moved(old.value[:, 0], new.value[:, 0], span)


def classes_given_up(
    rules: tuple[Sequence[Any], Sequence[Any]],
    rows: tuple[NDArray[Any], NDArray[Any]] | None = None,
    y: NDArray[Any] | None = None,
) -> dict[Any, bool]:
    """Classes that a new tree gives up: True, decided for nobody any more; False, hardly found.

    Scores of ranking do not notice it. A class is given up that rules of the old tree decide on
    and none of the new one does, or that the old tree decides for some rows and the new one for
    none; or that the old one finds in at least a fifth of its rows and the new one in less than
    a twentieth.

    Parameters
    ----------
    rules : labels of the rules of the old and of the new tree
    rows : decisions of the old and of the new tree on some rows, optional
    y : classes of these rows, optional
    """
    lost: dict[Any, bool] = {}
    for name in dict.fromkeys(rules[0]):
        dropped = name not in set(rules[1])
        if rows is None:
            if dropped:
                lost[name] = True
            continue
        before, after = rows[0] == name, rows[1] == name
        if dropped or (before.any() and not after.any()):
            lost[name] = True
        elif y is not None and (y == name).any():
            found, still = before[y == name].mean(), after[y == name].mean()
            if found >= WELL_FOUND and still < HARDLY_FOUND:
                lost[name] = False
    return lost


def risk_moves(old: Predictions, new: Predictions, span: float | None) -> NDArray[np.float64]:
    """How far each row's prediction moves, from 0 to 1.

    Half the sum of the absolute changes of the class shares: for two classes that is the
    change of the risk. For a response the change over the response range.
    """
    change = np.abs(new.value - old.value)
    if span is None:
        return np.asarray(change.sum(axis=1) / 2)
    return np.asarray(change[:, 0] / span) if span > 0 else np.zeros(len(change))


def moved_shares(moves: NDArray[np.float64]) -> dict[str, float]:
    """Share of the rows that move by more than 5 and by more than 10 points."""
    if not moves.size:
        return dict.fromkeys(MOVES, float("nan"))
    return {name: float((moves > limit + ROUNDING).mean()) for name, limit in MOVES.items()}


def subgroups(X: Any, by: Any) -> Iterator[tuple[Any, NDArray[np.intp]]]:
    """Split rows by a column name, an array with one entry per row, or a function of X.

    A numeric column with more than ten values is cut at its quartiles. Missing values
    form their own group.
    """
    count = n_rows(X)
    if isinstance(by, str):
        names = column_names(X)
        if names is None or by not in names:
            raise InputError(
                f"expected a column of the new rows, got by={by!r}; "
                f"columns are {list(names) if names else 'unnamed: pass an array instead'}"
            )
        values = column_values(X, by)
    else:
        values = np.asarray(by(X) if isinstance(by, Callable) else by)  # type: ignore[arg-type]
    if values.shape != (count,):
        raise InputError(
            f"expected one subgroup per row, {count} in all, got shape {values.shape}; "
            "pass the name of a column or an array with an entry per row"
        )
    series = pd.Series(values)
    if series.dtype.kind in "fi" and series.nunique() > MOST_LEVELS:
        series = pd.qcut(series, 4, duplicates="drop")
    codes, levels = pd.factorize(series, sort=True, use_na_sentinel=True)
    for code, level in enumerate(levels):
        shown = str(level) if isinstance(level, pd.Interval) else level
        yield shown, np.flatnonzero(codes == code)
    if (codes < 0).any():
        yield "(missing)", np.flatnonzero(codes < 0)


def flip_table(
    X: Any,
    by: Any,
    changed: NDArray[np.bool_],
    moves: NDArray[np.float64],
    *,
    level: float,
) -> pd.DataFrame:
    """Share of rows whose decision changes in each subgroup, with Wilson intervals.

    ``moved_5`` and ``moved_10`` are the shares whose risk moves by more than 5 and 10 points.
    """
    rows = []
    for name, index in subgroups(X, by):
        n, hits = len(index), int(changed[index].sum())
        shown = (hits / n, *wilson(hits, n, level))
        rows.append((name, n, *shown, *moved_shares(moves[index]).values()))
    columns = ["group", "n", "flips", "low", "high", *MOVES]
    return pd.DataFrame(rows, columns=columns).set_index("group")


# -- a final test: rows that nothing was trained or chosen on --------------------------


def score_on_test(
    trees: Mapping[str, Tree],
    coded: NDArray[np.float64],
    y: NDArray[Any],
    decision: Decision,
    *,
    span: float | None,
    groups: NDArray[Any] | None = None,
) -> pd.DataFrame:
    """One row per tree; changes are against the first one, paired.

    Parameters
    ----------
    trees : mapping of str to Tree
        The deployed tree first.
    coded, y : arrays
        The test rows in the space's codes; positions in the classes, or responses.
    decision : Decision
        The policy that decisions cost by.
    span : float or None
        Response range of a regression.
    groups : array, optional
        Rows of one group count as one observation.

    Returns
    -------
    DataFrame
        Columns: ``n``, ``events`` (rows outside the largest class; None for a response),
        ``score`` (AUC or R²), ``score_se``, ``score_change`` with its 95 % interval
        ``change_low`` and ``change_high``, ``flips``, and for classes ``brier``, ``cost`` and
        (two classes) ``sensitivity`` and ``specificity``.
    """
    predicted = {name: predict_rows(tree, coded) for name, tree in trees.items()}
    base = next(iter(predicted))
    classifier = span is None
    first = score_rows(y, predicted[base].value, classifier=classifier)
    rows = []
    for name, each in predicted.items():
        score = score_rows(y, each.value, classifier=classifier)
        change = score.minus(first)
        half = quantile(0.95) * standard_error(change.influence, groups)
        row: dict[str, Any] = {
            "tree": name,
            "n": len(y),
            "events": len(y) - int(np.bincount(y).max()) if classifier else None,
            "score": score.value,
            "score_se": standard_error(score.influence, groups),
            "score_change": change.value,
            "change_low": change.value - half,
            "change_high": change.value + half,
            "flips": float(flipped(predicted[base], each, span).mean()),
        }
        if classifier:
            row["brier"] = squared_errors(each, y).value
            row["cost"] = mean_cost(decision)(each, y).value
        if classifier and each.value.shape[1] == 2:
            row["sensitivity"] = recall_of(decision.position)(each, y).value
            row["specificity"] = recall_of(1 - decision.position)(each, y).value
        rows.append(row)
    return pd.DataFrame(rows).set_index("tree")


# -- the performance table -------------------------------------------------------------


COLUMNS = {
    "deployed": "the deployed tree on the new rows; it was not trained on them",
    "own": "the proposed tree on the new rows, which it was trained on: too good to be quoted",
    "recipe": "the proposed tree as it would do on rows it has not seen: its score on the new "
    "rows less what such trees, made again without a part of the rows, lose on that part",
    "change": "recipe minus deployed",
}
"""Which tree is scored on which rows, in words, for every column of a performance table."""

INTERVALS = {
    "area": "DeLong",
    "share": "Wilson",
    "mean of shares": "Wilson",
    "mean": "t",
    "loss": "t",
}


@dataclass(frozen=True)
class Measured:
    """One measure of the three, and what its intervals need.

    ``kind`` is "area", "share", "mean of shares", "mean" or "loss" (a mean of what is never
    below 0). ``sizes`` are the rows it rests on:
    for an area the positives and the negatives, for a share its denominators in the deployed
    tree and in the proposal, for a mean the rows. ``alike``: the two trees cannot differ in it.
    ``leaf`` is each row's leaf in the proposal.
    """

    name: str
    kind: str
    sizes: tuple[int, int]
    estimate: Estimate
    alike: bool
    groups: NDArray[np.intp] | None
    leaf: NDArray[Any]

    @property
    def n(self) -> int:
        """Rows that it rests on."""
        return min(self.sizes)

    @property
    def interval(self) -> str:
        """Name of the method of its intervals."""
        return INTERVALS[self.kind] if self.groups is None else f"clustered {INTERVALS[self.kind]}"

    def bounds(self, level: float, *, proposal: bool) -> Interval:
        """Interval of the honest score of the proposal, or of the deployed tree's score."""
        estimate = self.estimate
        score, plain = (
            (estimate.recipe, estimate.own) if proposal else (estimate.deployed, estimate.deployed)
        )
        if np.isnan(score.value):
            return float("nan"), float("nan")
        groups = self.groups
        count = None if groups is None else int(groups.max(initial=0)) + 1
        learning = score.learning_variance(self.leaf)
        error = float(np.sqrt(standard_error(score.influence, groups) ** 2 + learning))
        if self.kind in ("mean", "loss"):
            interval = mean_interval if self.kind == "mean" else loss_interval
            return interval(score, quantile(level, self.n if count is None else count), error)
        z = quantile(level, count)
        # A tree that is given has the plain error; what the correction adds comes on top.
        given = standard_error(plain.influence, groups)
        extra = max(0.0, error**2 - given**2)
        if self.kind == "area":
            excess = area_excess(plain.value, self.sizes, given)
            return auc_interval(score.value, self.sizes, z, excess=excess, extra=extra)
        n = float(self.sizes[int(proposal)])
        if groups is not None or self.kind == "mean of shares":
            expected = plain.value * (1 - plain.value) / max(n - 1, 1)
            n = n / max(1.0, given**2 / expected) if expected > 0 else n
        return proportion_interval(score.value, n, z, extra)

    def change_margin(self, level: float) -> float:
        """Half the width of the interval of the change."""
        change = self.estimate.change
        if np.isnan(change.value):
            return float("nan")
        # A change that no row showed could still be: as if half a row had changed each way
        # (Agresti and Min), each passing half of the others in an area.
        least = {"area": 0.5 / (self.n + 2), "mean": 0.0, "loss": 0.0}.get(
            self.kind, 1 / (self.n + 2)
        )
        least = 0.0 if self.alike else least
        learning = change.learning_variance(self.leaf)
        return half_width(change, level, groups=self.groups, extra=learning, least=least)

    def error(self) -> float:
        """Return the standard error of the honest score, never 0 by luck.

        It is that of its 95 % interval: half the width over the normal quantile.
        """
        low, high = self.bounds(0.95, proposal=True)
        return (high - low) / (2 * quantile(0.95))

    def change_error(self) -> float:
        """Return the standard error of the honest change, in the same way."""
        return self.change_margin(0.95) / quantile(0.95)


def performance_table(
    scores: CrossFitted,
    name: str,
    *,
    parts: Sequence[tuple[Any, Rows]],
    level: float,
) -> pd.DataFrame:
    """Measures of a candidate in each part of the rows, one line per measure.

    The positive class of two is that of the candidate, for the deployed tree's measures too.
    """
    tree = scores.own[name]
    records = []
    for group, rows in parts:
        for measured in _measures(scores, name, rows, tree.decision.position):
            estimate, half = measured.estimate, measured.change_margin(level)
            deployed_low, deployed_high = measured.bounds(level, proposal=False)
            recipe_low, recipe_high = measured.bounds(level, proposal=True)
            change = estimate.change.value
            records.append(
                {
                    "group": group,
                    "metric": measured.name,
                    "n": measured.n,
                    "deployed": estimate.deployed.value,
                    "deployed_low": deployed_low,
                    "deployed_high": deployed_high,
                    "own": estimate.own.value,
                    "recipe": estimate.recipe.value,
                    "recipe_low": recipe_low,
                    "recipe_high": recipe_high,
                    "change": change,
                    "change_low": change - half,
                    "change_high": change + half,
                    "interval": measured.interval,
                }
            )
    table = pd.DataFrame(records).set_index(["group", "metric"])
    table.attrs["columns"] = dict(COLUMNS)
    if tree == scores.deployed:
        again = "the deployed tree again; it was not trained on them"
        table.attrs["columns"] |= {"own": again, "recipe": again}
    elif name in scores.fixed:
        table.attrs["columns"]["recipe"] = "the same tree in every fold, scored as it is"
    elif not scores.folds:
        table.attrs["columns"]["recipe"] = "unknown: no rows were left out to estimate it (n_folds)"
    return table


def measure_score(scores: CrossFitted, name: str, rows: Rows | None = None) -> Measured:
    """ROC AUC or R² of a candidate: the first line of its table, and its place on the frontier."""
    measured = _measurer(scores, name, rows)
    estimate = scores.score_estimate(name, rows=rows)
    if not scores.classifier:
        return measured("R2", "mean", estimate)
    y = scores.y if rows is None else scores.y[rows]
    counts = np.bincount(y, minlength=scores.deployed.value.shape[1])
    rarest = int(counts[counts > 0].min(initial=len(y)))  # against all others
    alike = all(
        ranks_alike(scores.deployed, scores.own[name], k) for k in ranked_classes(counts.size)
    )
    return measured("AUC", "area", estimate, (rarest, len(y) - rarest), alike=alike)


def measure_policy(scores: CrossFitted, name: str, decision: Decision) -> Iterator[Measured]:
    """Yield the Brier score of a candidate, as in its table, and the mean cost of its decisions."""
    measured = _measurer(scores, name, None)
    same = decides_alike(scores.deployed, scores.own[name])
    brier = scores.estimate(name, squared_errors)
    yield measured("Brier score", "loss", brier)
    cost = scores.estimate(name, mean_cost(decision), alike=same)
    yield measured("cost", "mean", cost)


def _measurer(scores: CrossFitted, name: str, rows: Rows | None) -> Callable[..., Measured]:
    """Return what puts an estimate on some rows together with what its intervals need."""
    at = np.arange(len(scores.y)) if rows is None else rows
    groups = None
    if scores.groups is not None:
        groups = np.unique(scores.groups[at], return_inverse=True)[1]
    leaf = scores.predictions(name)[0].leaves()[at]
    everyone = (len(at), len(at))

    def measured(
        title: str,
        kind: str,
        estimate: Estimate,
        sizes: tuple[int, int] = everyone,
        *,
        alike: bool = False,
    ) -> Measured:
        here = estimate.map(lambda score: score.at(at))
        return Measured(title, kind, sizes, here, alike, groups, leaf)

    return measured


def _measures(scores: CrossFitted, name: str, rows: Rows, positive: int) -> Iterator[Measured]:
    y = scores.y[rows]
    n = len(rows)
    measured = _measurer(scores, name, rows)
    yield measure_score(scores, name, rows)

    def of(measure: Measure, alike: bool = False) -> Estimate:
        return scores.estimate(name, measure, rows=rows, alike=alike)

    if not scores.classifier:
        yield measured("mean absolute error", "mean", of(absolute_errors))
        yield measured("mean error", "mean", of(errors))
        return
    same = decides_alike(scores.deployed, scores.own[name])
    k = scores.deployed.value.shape[1]
    counts = np.bincount(y, minlength=k)
    recalls = [of(recall_of(c), same).within(0.0, 1.0) for c in range(k)]
    everyone = np.ones(n, dtype=bool)
    shares = [mean_parts(y == c, everyone).score().spread_to(len(scores.y), rows) for c in range(k)]
    present = [c for c in range(k) if counts[c]] or list(range(k))

    def accuracy(*each: Score) -> Score:
        """Recalls of the classes, weighted by how many rows each has."""
        total = Score(0.0, np.zeros(len(scores.y)))
        for c, recall in zip(present, each, strict=True):
            total = total.plus(recall.times(shares[c]))
        return total

    seen = [recalls[c] for c in present]
    yield measured("accuracy", "share", seen[0].map(accuracy, *seen[1:]), alike=same)
    balanced = seen[0].map(lambda *each: mean_score(each, len(scores.y)), *seen[1:])
    yield measured("balanced accuracy", "mean of shares", balanced, alike=same)
    if k == 2:
        negative = 1 - positive
        hits, passes = recalls[positive], recalls[negative]
        n1, n0 = int(counts[positive]), int(counts[negative])
        yield measured("sensitivity", "share", hits, (n1, n1), alike=same)
        yield measured("specificity", "share", passes, (n0, n0), alike=same)
        # Who is flagged needs no outcome: the proposal's own tree says it.
        yes, no = (of(flagged(c), True) for c in (positive, negative))
        for title, recall, share, called in (
            ("positive predictive value", hits, shares[positive], yes),
            ("negative predictive value", passes, shares[negative], no),
        ):
            value = recall.map(lambda r, f, s=share: r.times(s).over(f), called)
            sizes = tuple(round(e.value * n) if n else 0 for e in (called.deployed, called.own))
            yield measured(title, "share", value.within(0.0, 1.0), (sizes[0], sizes[1]), alike=same)
        yield measured("flagged positive", "share", yes, alike=same)
        # Above 0: the model predicts more events than happen.
        yield measured(
            "calibration: mean predicted minus observed", "mean", of(share_errors(positive))
        )
    yield measured("Brier score", "loss", of(squared_errors))
