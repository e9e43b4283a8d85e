"""Old tree against new on the new rows: discrimination, decisions and calibration, by subgroup.

Three columns of scores, each with a name that says which tree is scored on which rows: the
deployed tree, which saw none of them; the proposal's own tree, which was trained on them; and
the honest estimate for the proposal, corrected by trees made without a fold
(:mod:`steadytree.evaluation.cross_fitting`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from steadytree.evaluation.cross_fitting import CrossFitted, Estimate, decides_alike, ranks_alike
from steadytree.evaluation.flips import flipped
from steadytree.evaluation.intervals import (
    Interval,
    area_excess,
    auc_interval,
    half_width,
    loss_interval,
    mean_interval,
    proportion_interval,
    quantile,
)
from steadytree.evaluation.scores import (
    Measure,
    Predictions,
    Score,
    absolute_errors,
    area_of,
    errors,
    flagged,
    mean_cost,
    mean_parts,
    mean_score,
    predict_rows,
    r2_score,
    recall_of,
    share_errors,
    squared_errors,
    standard_error,
)
from steadytree.tree.decision import Decision
from steadytree.tree.tree import Tree

# -- A final test: trees scored on rows that nothing was trained or chosen on --


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
    first = _score(predicted[base], y, classifier)
    rows = []
    for name, each in predicted.items():
        score = _score(each, y, classifier)
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


def _score(predicted: Predictions, y: NDArray[Any], classifier: bool) -> Score:
    if not classifier:
        return r2_score(squared_errors(predicted, y).score(), y)
    k = predicted.value.shape[1]
    areas = [area_of(column)(predicted, y).score() for column in ([1] if k == 2 else range(k))]
    return areas[0] if len(areas) == 1 else mean_score(areas, len(y))


# -- Old tree against new on the new rows: discrimination, decisions and calibration, by subgroup --

Rows = NDArray[np.intp]

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
    at = tree.decision.position
    records = []
    for group, rows in parts:
        for measured in _measures(scores, name, rows, at):
            record: dict[str, Any] = {"group": group, "metric": measured.name, "n": measured.n}
            estimate = measured.estimate
            low, high = measured.bounds(level, proposal=False)
            record |= {
                "deployed": estimate.deployed.value,
                "deployed_low": low,
                "deployed_high": high,
                "own": estimate.own.value,
            }
            low, high = measured.bounds(level, proposal=True)
            change, half = estimate.change.value, measured.change_margin(level)
            record |= {
                "recipe": estimate.recipe.value,
                "recipe_low": low,
                "recipe_high": high,
                "change": change,
                "change_low": change - half,
                "change_high": change + half,
            }
            record["interval"] = measured.interval
            records.append(record)
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


def measure_score(
    scores: CrossFitted, name: str, rows: Rows | None = None, leave_out: int | None = None
) -> Measured:
    """ROC AUC or R² of a candidate: the first line of its table, and its place on the frontier."""
    every = np.arange(len(scores.y)) if rows is None else rows
    estimate = scores.score_estimate(name, rows=rows, leave_out=leave_out)
    groups = _group_codes(scores.groups, every)
    take = _taken(estimate, every)
    leaf = _leaves(scores, name, every)
    y = scores.y[every]
    if not scores.classifier:
        return Measured("R2", "mean", (len(y), len(y)), take, False, groups, leaf)
    counts = np.bincount(y, minlength=scores.deployed.value.shape[1])
    rarest = int(counts[counts > 0].min(initial=len(y)))  # against all others
    columns = range(counts.size) if counts.size > 2 else (1,)
    alike = all(ranks_alike(scores.deployed, scores.own[name], k) for k in columns)
    return Measured("AUC", "area", (rarest, len(y) - rarest), take, alike, groups, leaf)


def measure_policy(
    scores: CrossFitted, name: str, decision: Decision, leave_out: int | None = None
) -> Iterator[Measured]:
    """Yield the Brier score of a candidate, as in its table, and the mean cost of its decisions."""
    every = np.arange(len(scores.y))
    groups, leaf = _group_codes(scores.groups, every), _leaves(scores, name, every)
    same = decides_alike(scores.deployed, scores.own[name])
    for title, kind, measure, alike in (
        ("Brier score", "loss", squared_errors, False),
        ("cost", "mean", mean_cost(decision), same),
    ):
        found = scores.estimate(name, measure, alike=alike, leave_out=leave_out)
        estimate = _taken(found, every)
        yield Measured(title, kind, (len(every), len(every)), estimate, False, groups, leaf)


def _measures(scores: CrossFitted, name: str, rows: Rows, positive: int) -> Iterator[Measured]:
    y = scores.y[rows]
    groups, leaf = _group_codes(scores.groups, rows), _leaves(scores, name, rows)
    n = len(rows)
    yield measure_score(scores, name, rows)

    def measured(
        title: str,
        kind: str,
        estimate: Estimate,
        sizes: tuple[int, int] = (n, n),
        *,
        alike: bool = False,
    ) -> Measured:
        return Measured(title, kind, sizes, estimate, alike, groups, leaf)

    def of(measure: Measure, alike: bool = False) -> Estimate:
        return _taken(scores.estimate(name, measure, rows=rows, alike=alike), rows)

    if not scores.classifier:
        yield measured("mean absolute error", "mean", of(absolute_errors))
        yield measured("mean error", "mean", of(errors))
        return
    same = decides_alike(scores.deployed, scores.own[name])
    k = scores.deployed.value.shape[1]
    counts = np.bincount(y, minlength=k)
    recalls = [of(recall_of(c), same).within(0.0, 1.0) for c in range(k)]
    shares = [mean_parts(y == c, np.ones(n, dtype=bool)).score() for c in range(k)]
    present = [c for c in range(k) if counts[c]] or list(range(k))

    def accuracy(*each: Score) -> Score:
        """Recalls of the classes, weighted by how many rows each has."""
        total = Score(0.0, np.zeros(n))
        for c, recall in zip(present, each, strict=True):
            total = total.plus(recall.times(shares[c]))
        return total

    seen = [recalls[c] for c in present]
    yield measured("accuracy", "share", seen[0].map(accuracy, *seen[1:]), alike=same)
    balanced = seen[0].map(lambda *each: mean_score(each, n), *seen[1:])
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


def _taken(estimate: Estimate, rows: Rows) -> Estimate:
    """Keep the influences of some rows; the others have none."""
    return estimate.map(lambda score: score.at(rows))


def _leaves(scores: CrossFitted, name: str, rows: Rows) -> NDArray[Any]:
    """Leaf of some rows in a candidate's own tree."""
    return scores.predictions(name)[0].leaves()[rows]


def _group_codes(groups: NDArray[Any] | None, rows: Rows) -> NDArray[np.intp] | None:
    return None if groups is None else np.unique(groups[rows], return_inverse=True)[1]
