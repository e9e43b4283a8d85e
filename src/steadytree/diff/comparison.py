"""Two trees side by side: how far apart, what changed, for whom, and which predicts better.

The trees may come from anywhere; nothing is trained. :func:`steadytree.retrain` answers the
same questions about a tree it proposes.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from steadytree._views import notebook_view, write_report
from steadytree.diff import TreeDiff, diff_trees
from steadytree.diff.diff_summary import affected_groups, moved_cells, rarest_rows
from steadytree.distance import tree_distance
from steadytree.evaluation.cross_fitting import CrossFitted, check_rowwise, decides_alike
from steadytree.evaluation.locks import forbidden_before, keeps_locks, resolve_locks
from steadytree.evaluation.performance import (
    MOVES,
    flip_table,
    measure_score,
    moved_shares,
    response_span,
    risk_moves,
)
from steadytree.evaluation.plan import ChangePlan
from steadytree.evaluation.plan_check import (
    ChangeMeasures,
    PlanCheck,
    PlanFault,
    ScoreMeasures,
    changed_columns,
    check_plan,
    unknown_shares,
)
from steadytree.evaluation.scores import Predictions, predict_rows, quantile
from steadytree.exceptions import InputError, SteadyTreeWarning
from steadytree.plugins import read_model
from steadytree.publish import publish as published
from steadytree.publish.cells import SUMMARY, change, people
from steadytree.publish.cells import score as score_cell
from steadytree.tree.alignment import (
    JoinedSpace,
    common_space,
    joined_space,
    response_range_of_rows,
    space_of_rows,
    space_of_rows_note,
)
from steadytree.tree.columns import as_table, n_rows, outcome_values
from steadytree.tree.decision import (
    find_one_decision,
    one_decision_of_leaves,
    warn_of_one_decision,
)
from steadytree.tree.recoded import may_be_missing, never_missing, stand_ins
from steadytree.tree.rows import TRAINING_ROWS, CodedRows, code_outcomes, code_table, fingerprint
from steadytree.tree.space import FeatureSpace
from steadytree.tree.tree import Tree
from steadytree.tree.words import PLAIN

TRAINED_ON = {
    None: "The new tree may have been trained on these rows: its score is then flattered.",
    "old": "The old tree was trained on these rows: its score is flattered.",
    "new": "The new tree was trained on these rows: its score is flattered.",
    "both": "Both trees were trained on these rows: their scores are flattered.",
    "neither": "Neither tree was trained on these rows.",
}
"""What the scores are worth, by which tree had seen the rows."""


@dataclass(frozen=True)
class ScoreChange:
    """Score of both trees on the same rows, with the paired standard error of the change.

    Attributes
    ----------
    name : str
        "AUC" (mean of one-vs-rest for several classes) or "R2".
    old, new : float
    change, change_se : float
        New minus old, and its standard error.
    trained_on : str or None
        Which of the trees was trained on the rows ("old", "new", "both", "neither");
        None where nobody said.

    Examples
    --------
    >>> from steadytree.diff.comparison import ScoreChange
    >>> print(ScoreChange("AUC", 0.8, 0.82, 0.02, 0.01, trained_on="neither"))
    AUC: 0.800 -> 0.820 (+0.020, standard error 0.010). Neither tree was trained on these rows.
    """

    name: str
    old: float
    new: float
    change: float
    change_se: float
    trained_on: str | None = None

    def __str__(self) -> str:
        moved = (
            f"{self.old:.3f}, unchanged"
            if self.change == self.change_se == 0
            else f"{self.old:.3f} -> {self.new:.3f} "
            f"({self.change:+.3f}, standard error {self.change_se:.3f})"
        )
        return f"{self.name}: {moved}. {TRAINED_ON[self.trained_on]}"


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class TreeComparison:
    """What :func:`compare` found.

    Attributes
    ----------
    diff : TreeDiff
        What changed, rule by rule; ``old``, ``new`` and ``space`` are its.
    score : ScoreChange or None
        None without outcomes.
    rows : CodedRows or None
        The rows compared on, coded once; outcomes are NaN where none were given.
    changed_decisions : boolean array or None
        Which rows get another decision from the new tree.
    own_word : tuple of str
        Features whose range or categories only the new tree's own space states: the
        dissimilarity rests on its word, and no clause on it can be judged.
    changed_columns : mapping of str to str
        Columns of the rows that do not look like those the trees were made for (empty, other
        units, other categories), and why: what is counted on them cannot be judged.
    one_decision : mapping of str to str
        What "old" or "new" decides for everybody, in words, where it tells nobody apart: of
        the rows, or without them by what is stored in its leaves.
    plan : ChangePlan
        What was to be held; empty where nothing was asked.
    space_note : str
        What distances are measured over, where the old tree stores no space; else empty.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> import steadytree as st
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> old = DecisionTreeClassifier(max_depth=1, random_state=0).fit(X[:200], y[:200])
    >>> new = DecisionTreeClassifier(max_depth=1, random_state=0).fit(X[:400], y[:400])
    >>> comparison = st.compare(old, new, X[400:], y[400:], trained_on="neither")
    >>> comparison
    TreeComparison(dissimilarity 50.0%, flips 13.6 %)
    >>> print(comparison.check({"max_flips": 0.05}).to_text())
    rows with another decision 13.6 %, at most 5.0 %: broken
    """

    diff: TreeDiff
    score: ScoreChange | None = None
    rows: CodedRows | None = None
    own_word: tuple[str, ...] = ()
    changed_columns: Mapping[str, str] = field(default_factory=dict)
    one_decision: Mapping[str, str] = field(default_factory=dict)
    plan: ChangePlan = field(default_factory=ChangePlan)
    space_note: str = ""

    @property
    def changed_decisions(self) -> NDArray[np.bool_] | None:
        """Which rows get another decision from the new tree."""
        return self.diff.changed_decisions

    @cached_property
    def risk_moves(self) -> NDArray[np.float64] | None:
        """How far the prediction of each row moves, from 0 to 1; None without rows.

        ``|new − old|`` of the positive class; with several classes half the sum of the shares'
        absolute changes; in regression the change as a share of the response range.
        """
        if self.rows is None:
            return None
        trees, coded = _in_space(self.diff), self.rows.coded
        every = list(dict.fromkeys((*(trees[0].classes or ()), *(trees[1].classes or ()))))
        old, new = (_aligned(predict_rows(tree, coded), tree.classes, every) for tree in trees)
        span = response_span(self.diff.space, classifier=self.diff.old.is_classifier)
        return risk_moves(old, new, span)

    def risk_moved(self) -> dict[str, float] | None:
        """Share of the rows whose risk moves by more than 5 and by more than 10 points.

        Returns
        -------
        dict or None
            ``moved_5`` and ``moved_10``; None without rows.
        """
        return None if self.risk_moves is None else moved_shares(self.risk_moves)

    @property
    def dissimilarity(self) -> float:
        """How far apart the trees are: 0 the same rules, 1 nothing shared."""
        return self.diff.dissimilarity

    @cached_property
    def distance(self) -> float:
        """The paper's distance of the trees, eq. (distance)."""
        return float(tree_distance(self.diff.old, self.diff.new, space=self.diff.space))

    def flips(self, by: Any = None, *, level: float = 0.95) -> Any:
        """Share of the rows whose decision changes.

        Parameters
        ----------
        by : str, array or callable, optional
            A column of the rows, one value per row, or a function of the rows; numeric
            columns with many values are cut at their quartiles.
        level : float, default 0.95
            Coverage of the (Wilson) intervals.

        Returns
        -------
        float, or with ``by`` a DataFrame
            One row per subgroup: n, flips, low, high, moved_5, moved_10 (share whose risk
            moves by more than 5 and 10 points). None without rows.
        """
        if by is None:
            return self.diff.flips
        if self.rows is None or self.changed_decisions is None or self.risk_moves is None:
            raise InputError("expected rows to count by subgroup, got none; pass X")
        changed, moves = self.changed_decisions, self.risk_moves
        return flip_table(self.rows.table, by, changed, moves, level=level)

    @cached_property
    def plan_check(self) -> PlanCheck:
        """Every clause of the plan: held, broken, or not to be judged."""
        return self.check(self.plan)

    def check(self, plan: Any) -> PlanCheck:
        """Hold the change against a plan.

        Parameters
        ----------
        plan : ChangePlan, dict, path of a TOML file, or a list of these

        Returns
        -------
        PlanCheck
        """
        return check_plan(_plan_of(plan, self.diff.old, self.diff.new), self._measures)

    @cached_property
    def _measures(self) -> ChangeMeasures:
        diff, rows = self.diff, self.rows
        old, new = _in_space(diff)

        def keeps(item: Any) -> bool:
            nodes = resolve_locks(item, old, diff.space, printed=diff.old)
            return keeps_locks(new, old, nodes, diff.space)

        score = None
        if rows is not None and self.score is not None:
            fitted = _as_they_are(diff, rows)

            def score(part: NDArray[np.intp] | None) -> ScoreMeasures:
                return ScoreMeasures.of(
                    measure_score(fitted, "new", part), rows.y if part is None else rows.y[part]
                )

        return ChangeMeasures(
            dissimilarity=self.dissimilarity,
            n_leaves=new.n_leaves,
            used=frozenset(diff.new.feature_labels[j] for j in diff.new.used_features),
            forbidden=forbidden_before(diff.old),
            keeps=keeps,
            changed=self.changed_decisions,
            moves=self.risk_moves,
            table=None if rows is None else rows.table,
            score=score,
            same_decisions=old.is_classifier
            and old.classes == new.classes
            and decides_alike(old, new),
            faults=self._faults(),
        )

    def _faults(self) -> list[PlanFault]:
        """Return why some measures say nothing, so that no clause on them can be judged."""
        faults = [PlanFault.of_column(*item) for item in self.changed_columns.items()]
        if self.own_word:
            names = ", ".join(map(repr, self.own_word))
            faults.append(
                PlanFault(
                    f"only the new tree's own space says how far {names} can range; pass rows, or "
                    "an old tree that carries its space",
                    {"dissimilarity"},
                )
            )
        if self.score is not None and self.score.trained_on in ("new", "both"):
            faults.append(PlanFault("the new tree was trained on these rows", {"score_change"}))
        return faults

    def to_text(self) -> str:
        """Return plain text: the diff, the policies, how many risks move, and the scores.

        Returns
        -------
        str
        """
        diff = self.diff
        lines = [diff.to_text()]
        if self.space_note:
            lines.append(self.space_note)
        if policies := self._policies():
            lines.append("\n".join(policies))
        if (moved := self.risk_moved()) is not None:
            what = "risk" if diff.old.is_classifier else "prediction"
            if diff.positive is not None:
                what += f" of {PLAIN.name((diff.classes or ())[diff.positive])}"
            five, ten = (PLAIN.percent(moved[key], 1) for key in MOVES)
            lines.append(
                f"The {what} moves by more than 5 points for {five} of the rows, "
                f"by more than 10 points for {ten}."
            )
        if self.score is not None:
            lines.append(str(self.score))
        return "\n\n".join(lines)

    def _policies(self) -> list[str]:
        """Say how both trees decide, and which of them decides nothing."""
        if self.diff.old.classes is None or self.diff.new.classes is None:
            return []
        old, new = (
            tree.decision.words([PLAIN.name(c) for c in tree.classes or ()])
            for tree in (self.diff.old, self.diff.new)
        )
        lines = [f"Policy of both trees: {old}."]
        if old != new:
            lines = [f"Policy of the old tree: {old}.", f"Policy of the new tree: {new}."]
        return [*lines, *self.one_decision.values()]

    def to_dict(self, *, by: Any = (), publish: bool = False) -> dict[str, Any]:
        """Return everything about it as plain values; ``diff`` is :meth:`TreeDiff.to_dict`.

        Parameters
        ----------
        by : sequence of str, or mapping of str to column, array or function
            Columns to report changed decisions by.
        publish : bool, default False
            For others: people rounded (``steadytree.publish.publish``), rare categories not named.

        Returns
        -------
        dict
        """
        diff, n = self.diff, 0 if self.rows is None else len(self.rows)
        named = by if isinstance(by, Mapping) else {str(column): column for column in by}
        moved = self.risk_moved()
        summary = {
            **SUMMARY,
            "kind": "comparison",
            "published": False,
            "dissimilarity": self.dissimilarity,
            "distance": self.distance,
            "affected": None
            if diff.flips is None or moved is None
            else {
                "n": people(n),
                "flips": people(diff.flips * n, n),
                "moved": moved_cells(moved, n, "both"),
            },
            "groups": [affected_groups(name, self.flips(column)) for name, column in named.items()],
            "score": None if self.score is None else self._score_data(self.score),
            "changed_columns": [{"column": k, "why": v} for k, v in self.changed_columns.items()],
            "one_decision": dict(self.one_decision),
            "plan": self.plan_check.to_dict(),
            "space_note": self.space_note or None,
            "diff": diff.to_dict(publish=publish),
        }
        return published(summary) if publish else summary

    def _score_data(self, moved: ScoreChange) -> dict[str, Any]:
        """Return both scores as cells, with what they are worth."""
        assert self.rows is not None
        half = quantile(0.95) * moved.change_se
        rarest = rarest_rows(self.rows.y, classifier=self.diff.old.is_classifier)
        return {
            "name": moved.name,
            "old": score_cell(moved.old, rarest),
            "new": score_cell(moved.new, rarest),
            "change": change(moved.change, moved.change - half, moved.change + half, rarest),
            "trained_on": moved.trained_on,
        }

    def report(
        self,
        path: str | os.PathLike[str],
        *,
        title: str | None = None,
        publish: bool = False,
    ) -> Path:
        """Write the comparison as one self-contained HTML page.

        Parameters
        ----------
        path : path-like
        title : str, optional
            Heading of the page.
        publish : bool, default False
            For others: as in :meth:`to_dict`.

        Returns
        -------
        Path
        """
        return write_report(self.to_dict(publish=publish), path, title=title)

    def __repr__(self) -> str:
        share = self.diff.flips
        flips = "" if share is None else f", flips {PLAIN.percent(share, 1)}"
        return f"TreeComparison(dissimilarity {self.dissimilarity:.1%}{flips})"

    def __str__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        return notebook_view(self.diff)


def compare(
    old: Any,
    new: Any,
    X: Any = None,
    y: Any = None,
    *,
    plan: Any = None,
    space: FeatureSpace | None = None,
    groups: Any = None,
    trained_on: str | None = None,
) -> TreeComparison:
    """Compare two finished trees: distance, changed rules, changed decisions, scores.

    This is what ``steadytree compare`` prints.

    Parameters
    ----------
    old, new : model, Tree or path of a tree file
    X : array or frame, optional
        Rows to count and score on.
    y : array, optional
        Their outcomes, to score both trees (AUC or R²). The scores are honest for rows that
        neither tree was trained on; see ``trained_on``.
    plan : ChangePlan, dict, path of a TOML file, or a list of these, optional
        What the change must hold: ``.plan_check`` has a verdict on every clause.
    space : FeatureSpace, optional
        By default the one stored with the old tree, else made from the rows (the middle 99 %
        of each column, out to the old tree's thresholds: ``space_note`` says so), else the one
        stored with the new tree (a limit on the dissimilarity cannot be judged then: a tree that
        brings its own yardstick can make any change look small). Ranges that are stored never
        widen; what the new tree needs besides, a category or a column, is added.
    groups : array, optional
        Rows of one group (a patient) count as one observation in the error of the scores.
    trained_on : {"old", "new", "both", "neither"}, optional
        Which tree was trained on these rows, to be said beside the scores. By default a tree
        of ours that was made from these very rows is recognised.

    Returns
    -------
    TreeComparison

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> import steadytree as st
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> old = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X[:200], y[:200])
    >>> new = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X[:400], y[:400])
    >>> plan = {"max_dissimilarity": 0.9, "max_flips": 0.5}
    >>> st.compare(old, new, X[400:], y[400:], plan=plan).plan_check.held
    True
    """
    if trained_on not in TRAINED_ON:
        names = ", ".join(f'"{name}"' for name in TRAINED_ON if name)
        raise InputError(f"expected trained_on {names} or None, got {trained_on!r}")
    before, after = read_model(old), read_model(new)
    asked = _plan_of(plan, before, after)
    if X is None and (y is not None or groups is not None):
        raise InputError("expected X with y or groups, got none; pass the rows as X")
    X = None if X is None else as_table(X)
    yardstick, space_note = _yardstick(before, after, X, y, space)
    used = yardstick.space
    rows = score = None
    changed: dict[str, str] = {}
    if X is not None:
        outcomes = np.full(n_rows(X), np.nan)
        if y is not None:
            name = f"y ({y.name!r})" if isinstance(y, pd.Series) and y.name is not None else "y"
            owner = {"owner": "either tree", "name": name}
            outcomes = code_outcomes(y, before.classes, len(outcomes), **owner)
        coded = code_table(X, used, _used_columns(before, after))
        groups = check_rowwise(groups, len(outcomes), "groups")
        rows = CodedRows(coded, outcomes, groups=groups, table=X)
    diff = diff_trees(before, after, rows, y=None if y is None else np.ravel(y), space=used)
    if rows is not None:
        if y is not None:
            score = _score(diff, rows, trained_on)
        changed = _changed_columns(diff, used, rows)
    compared = TreeComparison(
        diff=diff,
        score=score,
        rows=rows,
        own_word=yardstick.own_word,
        space_note=space_note,
        changed_columns=changed,
        one_decision=_one_decision(diff, rows, None if y is None else before.classes),
        plan=asked,
    )
    compared.plan_check  # noqa: B018  what the rows lack, or that there are none, is said at once
    return compared


def _plan_of(plan: Any, old: Tree, new: Tree) -> ChangePlan:
    """Read a plan; one that asks something is not held against the same tree twice."""
    asked = ChangePlan.read(plan)
    # What is noted beside a tree makes no other tree of it.
    if asked and old.replace(metadata=new.metadata) == new:
        raise InputError(
            "expected two trees to hold a plan against, got the same tree twice; "
            "pass the deployed tree and the new one"
        )
    return asked


def _yardstick(
    before: Tree, after: Tree, X: Any, y: Any, space: FeatureSpace | None
) -> tuple[JoinedSpace, str]:
    """Return the space to measure in, and a note where its ranges are not stored.

    Never the new tree's own word where there is another.
    """
    note = ""
    if space is not None:
        known = space
    elif before.space is not None:
        known = before.space
    elif X is not None:
        known = space_of_rows(before, X, needed=before.used_features)
        if y is not None and not before.is_classifier:
            known = known.replace(response_range=response_range_of_rows(before, outcome_values(y)))
        note = space_of_rows_note("old", "rows given")
    else:
        known = common_space([before, after], None)
        used = {tree.feature_labels[j] for tree in (before, after) for j in tree.used_features}
        note = "No ranges are stored with the old tree: distances are over those of the new one."
        return JoinedSpace(known, tuple(sorted(used))), note
    if known.names is None and before.feature_names is not None:
        known = known.replace(names=before.feature_names)
    joined = joined_space(never_missing(known, before), after, X)
    known = may_be_missing(joined.space, stand_ins(before, joined.space))
    return replace(joined, space=known), note


def _changed_columns(diff: TreeDiff, space: FeatureSpace, rows: CodedRows) -> dict[str, str]:
    """Say, and warn, which columns that the trees use are not what they were made for, and why.

    ``space`` is the one before turned directions were added.
    """
    trees = [tree.in_space(space) for tree in (diff.old, diff.new)]
    used = frozenset[int]().union(*(tree.used_features for tree in trees))
    found = changed_columns(
        trees, space, rows.coded, unknown=unknown_shares(rows.table, space, rows.coded, used)
    )
    changed = {space.feature_labels[j]: words for j, words in sorted(found.items())}
    if changed:
        listed = "; ".join(f"column {name!r} {words}" for name, words in changed.items())
        warnings.warn(
            f"{listed}. What is counted on such rows says little; convert or complete them first",
            SteadyTreeWarning,
            stacklevel=3,
        )
    return changed


def _one_decision(
    diff: TreeDiff, rows: CodedRows | None, classes: tuple[Any, ...] | None
) -> dict[str, str]:
    """Say, and warn, which tree decides the same for all rows; ``classes`` of known outcomes."""
    out = {}
    for which, tree in (("old", diff.old), ("new", diff.new)):
        if rows is None:
            found = one_decision_of_leaves(tree)
        elif tree.classes is None:
            continue
        else:
            at, coded = tree.decision.position, tree.in_space(diff.space)
            risk = coded.value[coded.apply_coded(coded.round_values(rows.coded)), at]
            events = None if classes is None else rows.y == classes.index(tree.classes[at])
            found = find_one_decision(coded, risk, events)
        if found is not None:
            out[which] = found.words(f"The {which} tree")
            warn_of_one_decision(found, f"the {which} tree", stacklevel=4)
    return out


def _known_rows(before: Tree, after: Tree, rows: CodedRows) -> str | None:
    """Say which tree remembers having been made from these rows; None where neither does."""
    plain = CodedRows(rows.coded, rows.y)
    old, new = (
        fingerprint(replace(plain, coded=tree.round_values(rows.coded)))
        in tree.metadata.get(TRAINING_ROWS, ())
        for tree in (before, after)
    )
    return "both" if old and new else "old" if old else "new" if new else None


def _used_columns(*trees: Tree) -> frozenset[str] | None:
    """Names of the columns that some of the trees use; None where one has no names."""
    if any(tree.feature_names is None for tree in trees):
        return None
    return frozenset(tree.feature_labels[j] for tree in trees for j in tree.used_features)


def _in_space(diff: TreeDiff) -> tuple[Tree, Tree]:
    """Both trees written in the space they are compared in."""
    return diff.old.in_space(diff.space), diff.new.in_space(diff.space)


def _as_they_are(diff: TreeDiff, rows: CodedRows) -> CrossFitted:
    """Both trees beside each other, to be scored as they are: nothing was trained."""
    old, new = _in_space(diff)
    return CrossFitted(
        coded=rows.coded,
        y=rows.y,
        deployed=old,
        own={"new": new},
        in_folds=(),
        folds=[],
        fixed=frozenset(["new"]),
        groups=rows.groups,
    )


def _score(diff: TreeDiff, rows: CodedRows, trained_on: str | None) -> ScoreChange:
    if diff.old.classes != diff.new.classes:
        raise InputError(
            f"expected the same classes to compare scores, got {diff.old.classes} "
            f"and {diff.new.classes}; leave the outcomes out"
        )
    measured = measure_score(_as_they_are(diff, rows), "new")
    found = measured.estimate
    return ScoreChange(
        measured.name,
        found.deployed.value,
        found.own.value,
        found.change.value,
        measured.change_error(),
        trained_on or _known_rows(diff.old, diff.new, rows),
    )


def _aligned(
    predicted: Predictions, classes: tuple[Any, ...] | None, every: list[Any]
) -> Predictions:
    """Write shares in the classes of both trees: none of a class that a tree does not know."""
    if classes is None or list(classes) == every:
        return predicted
    value = np.zeros((len(predicted.value), len(every)))
    value[:, [every.index(c) for c in classes]] = predicted.value
    return Predictions(value, predicted.label)
