"""Whether a new tree keeps to a plan, clause by clause: held, broken, or not to be judged.

A limit is no proof where little was seen: one unchanged row shows nothing of a hundred. So a
counted share holds its limit only if the upper end of its 95 % interval does, a change of the
score only if the lower end does, and on too few rows neither is judged. What is not judged does
not hold.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from steadytree.evaluation.performance import MOVES, ROUNDING, Measured, subgroups
from steadytree.evaluation.plan import LIMITS, ChangePlan
from steadytree.evaluation.scores import wilson
from steadytree.exceptions import InputError, PlanError
from steadytree.tree.columns import column_names, column_values
from steadytree.tree.json import plain_json
from steadytree.tree.space import FeatureSpace
from steadytree.tree.tree import Tree
from steadytree.tree.words import PLAIN

FloatArray = NDArray[np.float64]

VERDICTS = HELD, BROKEN, NOT_JUDGED = "held", "broken", "not judged"
COUNTED = frozenset({"flips", "moved_5", "moved_10", "score_change"})
"""Measures that are counted on rows."""
MEASURES = frozenset({limit.measure for limit in LIMITS.values()})

FEWEST_ROWS = 100
"""Rows below which no share of them is judged."""
FEWEST_EVENTS = 20
"""Rows of the rarer class below which no score is judged, and no improvement is claimed."""

# Limits are decimal numbers that people type: 0.1 must not fail on the last bit.
LAST_BIT = 1e-12

Rows = NDArray[np.intp]


# -- what is measured ------------------------------------------------------------------


@dataclass(frozen=True)
class PlanFault:
    """Why some measures say nothing: no clause on them can be judged.

    ``words`` is a clause ("column 'age' is empty in these rows"); ``column`` names the column of
    the rows that somebody may accept as it is.
    """

    words: str
    measures: Collection[str] = COUNTED
    column: str | None = None

    @classmethod
    def of_column(cls, name: str, words: str, measures: Collection[str] = COUNTED) -> PlanFault:
        """Say what is wrong with a column of the rows."""
        return cls(f"column {name!r} {words}", measures, name)


@dataclass(frozen=True)
class ScoreMeasures:
    """Scores of both trees on the same rows, the change with its 95 % interval, and events.

    NaN where nothing was measured.
    """

    name: str
    old: float
    new: float
    change: float
    low: float
    high: float
    events: int

    @classmethod
    def of(cls, measured: Measured, y: NDArray[Any]) -> ScoreMeasures:
        """Take the honest score from a line of a performance table."""
        estimate, half = measured.estimate, measured.change_margin(0.95)
        change = estimate.change.value
        scores = (estimate.deployed.value, estimate.recipe.value)
        events = count_events(y, classifier=measured.name == "AUC")
        return cls(measured.name, *scores, change, change - half, change + half, events)

    @property
    def worse_than_chance(self) -> bool:
        """Whether both trees predict worse than one that knows nothing."""
        return max(self.old, self.new) < (0.5 if self.name == "AUC" else 0.0)


@dataclass(frozen=True, eq=False, kw_only=True)
class ChangeMeasures:
    """All that a plan can ask about a change from one tree to another.

    ``changed`` and ``moves`` say of each row whether its decision changes and how far its risk
    moves; ``table`` are the rows, for groups by column. ``score`` measures some rows (None: all).
    ``same_tree`` and ``same_decisions``: no row anywhere could be decided or seen otherwise.
    ``keeps`` says whether something locked is as it was; ``forbidden`` is what the old tree was
    made without.
    """

    dissimilarity: float
    n_leaves: int
    used: Collection[str]
    keeps: Callable[[Any], bool]
    changed: NDArray[np.bool_] | None = None
    moves: NDArray[np.float64] | None = None
    table: Any = None
    score: Callable[[Rows | None], ScoreMeasures] | None = None
    forbidden: Collection[str] = ()
    same_tree: bool = False
    same_decisions: bool = False
    faults: Sequence[PlanFault] = ()

    def hits(self, measure: str) -> NDArray[np.bool_] | None:
        """Which rows a share counts; None where there are no rows."""
        if measure == "flips":
            return self.changed
        return None if self.moves is None else self.moves > MOVES[measure] + ROUNDING


def count_events(y: NDArray[Any], *, classifier: bool) -> int:
    """Rows of the rarer class (several classes: outside the largest one; a response: all)."""
    if not classifier or not len(y):
        return len(y)
    return len(y) - int(np.bincount(y).max())


# -- what is found ---------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Clause:
    """One clause of a plan, what was measured, and whether it holds.

    Attributes
    ----------
    name : str
        Entry of the plan: "max_flips", "locked".
    limit : float or str
        What is locked, or forbidden, is a text.
    verdict : {"held", "broken", "not judged"}
    measured : float
        NaN where nothing could be measured, and for what is locked or forbidden.
    low, high : float
        The 95 % interval, where the measure has one.
    n : int or None
        Rows that it rests on; of a score the events.
    group : str or None
        The group of rows it is about: "sex = f".
    reason : str
        Why it is not judged, or broken although the estimate is within the limit.

    Examples
    --------
    >>> from steadytree.evaluation.plan_check import Clause
    >>> Clause(name="max_leaves", limit=8, measured=9, verdict="broken").text
    'leaves 9, at most 8: broken'
    """

    name: str
    group: str | None = None
    limit: float | str
    measured: float = math.nan
    low: float = math.nan
    high: float = math.nan
    n: int | None = None
    verdict: str
    reason: str = ""

    @property
    def held(self) -> bool:
        """Whether it holds; what could not be judged does not."""
        return self.verdict == HELD

    @property
    def text(self) -> str:
        """Return it in words: "dissimilarity 12.0 %, at most 10.0 %: broken"."""
        return f"{self.finding}: {self.verdict}{self.reason and f' ({self.reason})'}"

    @property
    def finding(self) -> str:
        """Return what was asked and measured in words, without the verdict."""
        if isinstance(self.limit, str):
            return f"{self.name} {self.limit!r}"
        limit = LIMITS[self.name]
        side = "at most" if limit.upper else "at least"
        measured = "unknown" if math.isnan(self.measured) else limit.show(self.measured)
        where = "" if self.group is None else f"{self.group}: "
        return f"{where}{limit.words} {measured}, {side} {limit.show(self.limit)}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; null for what was not measured.

        Returns
        -------
        dict
        """
        values: dict[str, Any] = plain_json(asdict(self))
        return values | {"reason": self.reason or None, "text": self.text}


@dataclass(frozen=True)
class PlanCheck:
    """Every clause of a plan with its verdict; true when all of them hold.

    Attributes
    ----------
    clauses : tuple of Clause

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> import steadytree as st
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> old = DecisionTreeClassifier(max_depth=1, random_state=0).fit(X[:200], y[:200])
    >>> new = DecisionTreeClassifier(max_depth=1, random_state=0).fit(X[:400], y[:400])
    >>> check = st.compare(old, new, X[400:], y[400:]).check({"max_flips": 0.05})
    >>> check.held, [clause.name for clause in check.not_held]
    (False, ['max_flips'])
    """

    clauses: tuple[Clause, ...] = field(default=())

    @property
    def held(self) -> bool:
        """Whether every clause holds (also when there is none)."""
        return all(clause.held for clause in self.clauses)

    @property
    def not_held(self) -> tuple[Clause, ...]:
        """The clauses that are broken or could not be judged."""
        return tuple(clause for clause in self.clauses if not clause.held)

    def __bool__(self) -> bool:
        return self.held

    def to_text(self) -> str:
        """Return one line per clause.

        Returns
        -------
        str
        """
        return "\n".join(clause.text for clause in self.clauses)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON: ``held`` and ``clauses``.

        Returns
        -------
        dict
        """
        return {"held": self.held, "clauses": [clause.to_dict() for clause in self.clauses]}

    def raise_if_not_held(self) -> None:
        """Raise ``PlanError`` naming every clause that does not hold."""
        if not self.held:
            lines = "; ".join(clause.text for clause in self.not_held)
            raise PlanError(
                f"expected every clause of the plan to hold, got {len(self.not_held)} that "
                f"{'does' if len(self.not_held) == 1 else 'do'} not: {lines}; "
                "keep the deployed tree, raise the price of change, or revise the plan"
            )

    def refusal(self) -> str:
        """Say why the plan does not let the tree pass, a sentence for each clause.

        Returns
        -------
        str
        """
        # Names of columns stay as they are written.
        texts = [("where " if c.group else "") + c.text for c in self.not_held]
        return ". ".join(f"{text[:1].upper()}{text[1:]}" for text in texts)


# -- the check -------------------------------------------------------------------------


def check_plan(plan: ChangePlan, measures: ChangeMeasures) -> PlanCheck:
    """Judge every clause of a plan.

    Raises
    ------
    InputError
        For a clause about rows or outcomes that were not given.
    """
    before = measures.forbidden if plan else ()
    forbid = before if plan.forbid is None else plan.forbid
    kept = [("locked", item, measures.keeps(item)) for item in plan.locked]
    kept += [("forbid", name, name not in measures.used) for name in forbid]
    clauses = [
        Clause(name=name, limit=str(item), verdict=HELD if holds else BROKEN)
        for name, item, holds in kept
    ]
    faults = [f for f in measures.faults if f.column is None or f.column not in plan.accept]
    for name, column, limit in plan.limits():
        measure = LIMITS[name].measure
        wrong = [fault.words for fault in faults if measure in fault.measures]
        for group, rows in _groups(column, name, measures):
            judged = _judge(name, limit, measures, rows)
            if wrong and not measures.same_tree:
                judged |= {"verdict": NOT_JUDGED, "reason": " and ".join(wrong)}
            clauses.append(Clause(name=name, limit=limit, group=group, **judged))
    return PlanCheck(tuple(clauses))


def _groups(
    column: str | None, name: str, measures: ChangeMeasures
) -> Iterator[tuple[str | None, Rows | None]]:
    if column is None:
        yield None, None
        return
    if measures.table is None:
        raise InputError(
            f"expected rows for per_group.{column}.{name}, got none; pass X, or --data"
        )
    for group, rows in subgroups(measures.table, column):
        yield f"{PLAIN.name(column)} = {PLAIN.name(group)}", rows


def _judge(name: str, limit: float, measures: ChangeMeasures, rows: Rows | None) -> dict[str, Any]:
    measure = LIMITS[name].measure
    if measure in ("dissimilarity", "n_leaves"):
        value = float(getattr(measures, measure))
        return {"measured": value, "verdict": HELD if value <= limit + LAST_BIT else BROKEN}
    if measure == "score_change":
        return _judge_score(name, limit, measures, rows)
    hits = measures.hits(measure)
    if hits is None:
        raise InputError(
            f"expected rows for {name}, got none; pass the rows to count: X, or --data"
        )
    hits = hits if rows is None else hits[rows]
    exact = measures.same_tree or (measure == "flips" and measures.same_decisions)
    return _judge_share(limit, int(hits.sum()), len(hits), exact=exact)


def _judge_share(limit: float, hits: int, n: int, *, exact: bool) -> dict[str, Any]:
    """Judge a counted share; ``exact``: no row anywhere could be counted."""
    if exact:
        return {"measured": 0.0, "low": 0.0, "high": 0.0, "n": n, "verdict": HELD}
    low, high = wilson(hits, n)
    share = hits / n if n else math.nan
    out: dict[str, Any] = {"measured": share, "low": low, "high": high, "n": n}
    if n < FEWEST_ROWS:
        reason = f"{n} row{'' if n == 1 else 's'}, at least {FEWEST_ROWS} are needed"
        return {**out, "verdict": NOT_JUDGED, "reason": reason}
    if high <= limit + LAST_BIT:
        return {**out, "verdict": HELD}
    within = share <= limit + LAST_BIT
    reason = f"on {n:,} rows it could be as much as {PLAIN.percent(high, 1)}" if within else ""
    return {**out, "verdict": BROKEN, "reason": reason}


def _judge_score(
    name: str, limit: float, measures: ChangeMeasures, rows: Rows | None
) -> dict[str, Any]:
    if measures.score is None:
        raise InputError(
            f"expected rows with outcomes for {name}, got none; pass X and y, or --data and "
            "--target"
        )
    if measures.same_tree:
        verdict = HELD if limit <= LAST_BIT else BROKEN
        return {"measured": 0.0, "low": 0.0, "high": 0.0, "verdict": verdict}
    found = measures.score(rows)
    out: dict[str, Any] = {
        "measured": found.change,
        "low": found.low,
        "high": found.high,
        "n": found.events,
    }
    reason = _says_nothing(found)
    if reason:
        return {**out, "verdict": NOT_JUDGED, "reason": reason}
    reached = found.change >= limit - LAST_BIT
    if name == "min_gain":
        return {**out, "verdict": HELD if reached else BROKEN}
    if found.low >= limit - LAST_BIT:
        return {**out, "verdict": HELD}
    reason = f"it could be as little as {PLAIN.signed(found.low)}" if reached else ""
    return {**out, "verdict": BROKEN, "reason": reason}


def _says_nothing(found: ScoreMeasures) -> str:
    """Say why scores cannot be judged; "" where they can."""
    what = "event" if found.name == "AUC" else "row"
    if found.events < FEWEST_EVENTS:
        several = "" if found.events == 1 else "s"
        return f"{found.events} {what}{several}, at least {FEWEST_EVENTS} are needed"
    if math.isnan(found.change):
        return "no rows were left out to measure it"
    if found.worse_than_chance:
        return (
            f"both trees predict worse than chance ({found.name} {found.old:.3f} and "
            f"{found.new:.3f}): are outcomes turned round?"
        )
    return ""


# -- columns of the rows that are not what the trees were made for ---------------------------
# A plan counts rows. Where a column that the trees use is empty, in other units or coded
# otherwise, every row goes to the same side of every split on it: two trees that differ there
# decide alike, and a limit on changed decisions is held by rows that say nothing. So each column
# in use is held against what the trees and their space remember of it.


MOST_OUTSIDE = 0.5
"""Beyond the known range a move of a threshold costs nothing: no limit on change holds there."""
FAR, FAR_OUTSIDE = 10.0, 0.05
"""Where values go so many times beyond the range, fewer of them tell: other units."""
FEWEST_VALUES = 20
UNKNOWN_SHARE = 0.5
"""A column is taken for coded otherwise where more than this share of its values is unknown."""
MISSING_SHARE = 0.5
"""A column that was never missing is taken for broken where more than this share of it is."""
EXPECTED_SHARE = 0.05
CHANCE = 1e-6
"""A side that had ``EXPECTED_SHARE`` of the rows or more is not left empty by chance if that is
less likely than this."""


def changed_columns(
    trees: Sequence[Tree],
    space: FeatureSpace,
    coded: FloatArray,
    *,
    unknown: Mapping[int, float] | None = None,
    everywhere: bool = False,
) -> dict[int, str]:
    """Say which columns that the trees use do not look like those they were made for, and why.

    Parameters
    ----------
    trees : sequence of Tree
        Written in ``space``.
    space : FeatureSpace
        What is known of each feature: its range, its categories, whether it can be missing.
    coded : array
        The rows as the space codes them.
    unknown : mapping of int to float, optional
        Share of the values of a categorical column that are none of its categories.
    everywhere : bool, default False
        Look for other units in columns that no tree uses as well.

    Returns
    -------
    dict
        By position of the feature, words that go on after its name: "is empty in these rows".
    """
    found: dict[int, str] = {}
    used = frozenset[int]().union(*(tree.used_features for tree in trees))
    if not len(coded):
        return found
    for j in range(space.n_features) if everywhere else sorted(used):
        missing = float(np.isnan(coded[:, j]).mean())
        not_known = (unknown or {}).get(j, 0.0)
        outside = _share_outside(space, j, coded[:, j])
        if j in used and not_known > UNKNOWN_SHARE:
            found[j] = f"has unknown categories in {not_known:.0%} of these rows"
        elif j in used and missing == 1:
            found[j] = "is empty in these rows"
        elif j in used and missing > MISSING_SHARE and not space.can_be_missing[j]:
            found[j] = f"is missing in {missing:.0%} of these rows and never was before"
        elif outside:
            found[j] = f"lies outside the known range in {outside:.0%} of these rows: other units?"
    for tree in trees:
        if open_ones := sorted(tree.used_features - set(found)):
            reached = _reached(tree, coded)
            sided = {j: _one_sided(tree, j, reached) for j in open_ones}
            found |= {j: words for j, words in sided.items() if words}
    return found


def _share_outside(space: FeatureSpace, j: int, values: FloatArray) -> float:
    """Share of a numeric column's values beyond the range, if more than a few outliers are."""
    values = values[~np.isnan(values)]
    if space.categories[j] is not None or values.size < FEWEST_VALUES:
        return 0.0
    low, high = float(space.lower[j]), float(space.upper[j])
    share = float(((values < low) | (values > high)).mean())
    far = float(np.abs(values).max()) >= FAR * max(abs(low), abs(high)) > 0
    return share if share > (FAR_OUTSIDE if far else MOST_OUTSIDE) else 0.0


def unknown_shares(
    X: Any, space: FeatureSpace, coded: FloatArray, among: Collection[int]
) -> dict[int, float]:
    """Share of each categorical column's values that are there but none of its categories."""
    names = column_names(X)
    shares = {}
    for j in among:
        name = space.feature_labels[j] if names is not None else j
        if space.categories[j] is None or (names is not None and name not in names):
            continue
        there = ~np.asarray(pd.isna(column_values(X, name)), dtype=bool)
        if there.any():
            shares[j] = float(np.isnan(coded[there, j]).mean())
    return shares


def _reached(tree: Tree, coded: FloatArray) -> FloatArray:
    """Count the rows that come to each node."""
    leaves = tree.apply_coded(tree.round_values(coded))
    reached = np.bincount(leaves, minlength=tree.n_nodes).astype(np.float64)
    for node in tree.preorder[::-1].tolist():
        if not tree.is_leaf[node]:
            reached[node] = reached[tree.children_left[node]] + reached[tree.children_right[node]]
    return reached


def _one_sided(tree: Tree, j: int, reached: FloatArray) -> str | None:
    """Say that no row goes to a side where many went before, at every split on a feature."""
    empty_share = 0.0
    for node in np.flatnonzero(tree.feature == j).tolist():
        sides = [tree.children_left[node], tree.children_right[node]]
        count, weight = reached[sides], tree.weight[sides]
        if count.sum() < FEWEST_VALUES or not weight.sum() > 0:
            continue
        if count.all():
            return None
        share = float((weight / weight.sum())[count == 0].max())
        if share >= EXPECTED_SHARE and (1 - share) ** count.sum() < CHANCE:
            empty_share = max(empty_share, share)
    if not empty_share:
        return None
    return f"sends all of these rows to one side, where {empty_share:.0%} went to the other before"
