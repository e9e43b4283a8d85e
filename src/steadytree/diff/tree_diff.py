"""``TreeDiff``: what changed between two trees, as data; the words are in ``words``."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from steadytree._views import ReportContent, notebook_view, write_report
from steadytree.diff.diff_words import (
    STATUSES,
    diff_markdown,
    diff_text,
    shown_value,
    status_counts,
)
from steadytree.diff.pairing import ConditionChange, Rule, RuleChange
from steadytree.diff.splits import SplitChange
from steadytree.tree.json import plain_json
from steadytree.tree.words import PLAIN, Condition

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from steadytree.tree.space import FeatureSpace
    from steadytree.tree.tree import Tree

SCHEMA_VERSION = 1


def positive_class(tree: Tree, classes: tuple[Any, ...] | None) -> int | None:
    """Position among two classes of the one that is decided on; None without two of them."""
    if classes is None or len(classes) != 2:
        return None
    own = tree.classes or ()
    return classes.index(own[tree.decision.position]) if len(own) == 2 else 1


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class TreeDiff:
    """What changed between two trees; made by :func:`diff_trees`.

    Attributes
    ----------
    rules : tuple of RuleChange
        Every rule of either tree: those of the old tree from left to right, then the
        added ones. See :class:`steadytree.diff.RuleChange` for status, conditions, shares
        and rates.
    splits : tuple of SplitChange
        The same changes at the level of splits: one entry for "the first split on age
        moved from 50 to 53: 6 rules". Nearest the root first.
    counts : dict
        Number of rules by status (kept, relabelled, moved, added, dropped), and of
        ``old_rules`` and ``new_rules``.
    predictors_gained, predictors_lost, predictors_kept : tuple of str
        Features that only the new, only the old, and both trees use.
    dissimilarity : float
        In [0, 1]; 0 means the same rules (``variant="metric", normalize="relative"``).
    distance : float
        The metric distance itself.
    flips : float or None
        Share of the rows whose decision (label) changes; in regression whose prediction
        moves by more than 5 % of the response range. None without rows.
    changed_decisions : boolean array or None
        Which rows these are.
    mean_value_shift : float or None
        In regression the mean absolute change of the prediction over the rows.
    n_rows : int or None
    classes : tuple or None
        Classes that labels and shares refer to; the second of two is the positive one.
    classes_given_up : dict
        Classes that the new tree gives up. True: decided for nobody any more, by no rule or
        for none of the rows. False: hardly found among the rows any more
        (``steadytree.evaluation.performance.classes_given_up``).
    old, new : Tree
    space : FeatureSpace
    category_counts : mapping of int to int array
        Rows of each category of each feature of the space; empty where none were given.

    Examples
    --------
    >>> import steadytree as st
    >>> space = st.FeatureSpace.from_data([[20.0], [70.0]]).replace(names=("age",))
    >>> old, new = (
    ...     st.tree_from_rules(f'''
    ...     age <= {cut}: no
    ...     else: yes
    ...     ''')
    ...     for cut in (50, 55)
    ... )
    >>> diff = st.diff_trees(old, new, space=space)
    >>> diff
    TreeDiff(2 moved; dissimilarity 6.5 %)
    >>> print(diff.to_text())
    2 rules before, 2 now: 2 moved. Dissimilarity 6.5 %.
    <BLANKLINE>
    What changed
      - the first split on age moved from 50 to 55 (+5, 10.0 % of its range): 2 rules
    <BLANKLINE>
    Moved (2)
      1. age <= 50: no
         -> age <= 55: no
      2. age > 50: yes
         -> age > 55: yes
    """

    rules: tuple[RuleChange, ...]
    splits: tuple[SplitChange, ...]
    predictors_gained: tuple[str, ...]
    predictors_lost: tuple[str, ...]
    predictors_kept: tuple[str, ...]
    dissimilarity: float
    distance: float
    flips: float | None
    changed_decisions: NDArray[np.bool_] | None
    mean_value_shift: float | None
    n_rows: int | None
    classes: tuple[Any, ...] | None
    classes_given_up: dict[Any, bool]
    old: Tree
    new: Tree
    space: FeatureSpace
    category_counts: Mapping[int, NDArray[np.intp]] = field(default_factory=dict)

    # -- reading it ---------------------------------------------------------------

    @cached_property
    def counts(self) -> dict[str, int]:
        """Count the rules by status, and the rules of either tree."""
        counts = {status: sum(r.status == status for r in self.rules) for status in STATUSES}
        counts["old_rules"] = sum(r.old is not None for r in self.rules)
        counts["new_rules"] = sum(r.new is not None for r in self.rules)
        return counts

    @property
    def unchanged(self) -> bool:
        """Whether every rule was kept with its outcome (in regression, its value).

        Class shares may differ: they change no rule.
        """
        return all(
            rule.status == "kept"
            and (self.classes is not None or "value_changed" not in rule.kinds)
            for rule in self.rules
        )

    @property
    def positive(self) -> int | None:
        """Position of the positive one of two classes, whose shares are shown."""
        return positive_class(self.new, self.classes)

    @property
    def lost_classes(self) -> tuple[Any, ...]:
        """Classes that the old tree decides on and the new one for nobody any more."""
        return tuple(c for c, nobody in self.classes_given_up.items() if nobody)

    @property
    def kept_against_share(self) -> tuple[RuleChange, ...]:
        """Rules of the new tree whose label is not the one their own shares would give."""
        return tuple(r for r in self.rules if r.new is not None and r.new.kept_against_share)

    def with_status(self, *statuses: str) -> tuple[RuleChange, ...]:
        """Rules of the given status.

        Parameters
        ----------
        *statuses : str
            Of "kept", "relabelled", "moved", "added" and "dropped".

        Returns
        -------
        tuple of RuleChange
        """
        return tuple(r for r in self.rules if r.status in statuses)

    # -- other forms --------------------------------------------------------------

    def to_text(self) -> str:
        """Return plain text for a terminal or a log.

        Returns
        -------
        str
        """
        return diff_text(self)

    def to_markdown(self) -> str:
        """Return Markdown, for a pull request or an issue.

        Returns
        -------
        str
        """
        return diff_markdown(self)

    def to_frame(self) -> pd.DataFrame:
        """One row per rule: status, both forms in words, numbers and changes.

        ``value`` is what the leaf predicts; ``observed`` what was counted there among the rows
        the tree was trained on; ``rows``, ``outcomes`` and ``outcome_rate`` what was counted
        among the rows given.

        Returns
        -------
        DataFrame
        """
        columns = [
            *("number", "status", "kinds", "old_rule", "new_rule", "changes"),
            *("old_label", "new_label", "old_value", "new_value", "value_change"),
            *("old_share", "new_share", "share_in_both", "old_rows", "new_rows"),
            *("old_outcomes", "new_outcomes", "old_outcome_rate", "new_outcome_rate"),
            *("old_observed", "new_observed", "kept_against_share", "kept", "cost", "overlap"),
        ]
        return pd.DataFrame([self._frame_row(rule) for rule in self.rules], columns=columns)

    def _frame_row(self, rule: RuleChange) -> dict[str, Any]:
        row: dict[str, Any] = {
            "number": rule.number,
            "status": rule.status,
            "kinds": ", ".join(rule.kinds),
            "changes": "; ".join(change.text for change in rule.changes),
            "value_change": rule.value_change,
            "share_in_both": rule.share_in_both,
            "kept_against_share": rule.new is not None and rule.new.kept_against_share,
            "kept": "" if rule.new is None else rule.new.kept,
            "cost": rule.cost,
            "overlap": rule.overlap,
        }
        for side, one in (("old", rule.old), ("new", rule.new)):
            if one is not None:
                row |= {
                    f"{side}_rule": one.text,
                    f"{side}_label": one.label,
                    f"{side}_value": shown_value(self, one),
                    f"{side}_share": one.share,
                    f"{side}_rows": one.rows,
                    f"{side}_outcomes": one.outcomes,
                    f"{side}_observed": one.numbers.observed_words(),
                    f"{side}_outcome_rate": one.outcome_rate,
                }
        return row

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON, in a stable layout.

        Version 1, top level: ``schema_version``, ``kind`` ("tree-diff"), ``task``,
        ``classes``, ``positive`` (of two classes the one whose shares are shown),
        ``lost_classes`` (decided for nobody any more), ``hardly_found`` (classes),
        ``decision`` (old and new, in words), ``unchanged``, ``dissimilarity``,
        ``distance``, ``counts`` (kept, relabelled, moved, added, dropped, old_rules,
        new_rules), ``predictors`` (gained, lost, kept), ``n_rows``, ``flips``,
        ``mean_value_shift``, ``splits``, ``rules``.

        Each of ``splits``: ``kind`` (moved, added, removed, replaced,
        categories_changed, missing_changed), ``only_conditions``, ``feature``,
        ``new_feature``, ``first``, ``from``, ``to``, ``shift``, ``share_of_range``,
        ``categories``, ``new_categories``, ``rules`` (numbers), ``share``, ``text``.

        Each of ``rules``: ``number``, ``status``, ``kinds``, ``relabelled``,
        ``value_change``, ``cost``, ``overlap``, ``share_in_both``, ``changes`` (each
        ``kind``, ``feature``, ``side``, ``from``, ``to``, ``shift``,
        ``share_of_range``, ``gained``, ``lost``, ``text``), and ``old`` and ``new``:
        null, or ``leaf``, ``text``, ``label``, ``value`` (list: what the leaf predicts),
        ``trained_on`` (null, or ``rows``, ``outcomes`` of the class shown, ``mean``: observed
        among the rows the tree was trained on), ``kept_against_share``, ``kept`` (why, in
        words), ``share``, ``rows``, ``outcomes``, ``outcome_rate`` (observed among the rows
        given), ``conditions`` (each ``feature``, ``lower``, ``upper``, ``categories``,
        ``present``, ``missing``, ``text``).

        What is unknown or unbounded is null. New entries may be added within a version;
        none is removed or changes its meaning.

        Returns
        -------
        dict
        """
        return {
            "schema_version": SCHEMA_VERSION,
            "kind": "tree-diff",
            "task": "regression" if self.classes is None else "classification",
            "classes": plain_json(self.classes),
            "positive": plain_json(None if self.positive is None else self.classes[self.positive])
            if self.classes
            else None,
            "lost_classes": plain_json(self.lost_classes),
            "hardly_found": plain_json(
                tuple(c for c, nobody in self.classes_given_up.items() if not nobody)
            ),
            "decision": {
                "old": self.old.decision.words(self.old.classes),
                "new": self.new.decision.words(self.new.classes),
            },
            "unchanged": self.unchanged,
            "dissimilarity": self.dissimilarity,
            "distance": self.distance,
            "counts": dict(self.counts),
            "predictors": {
                "gained": list(self.predictors_gained),
                "lost": list(self.predictors_lost),
                "kept": list(self.predictors_kept),
            },
            "n_rows": self.n_rows,
            "flips": self.flips,
            "mean_value_shift": self.mean_value_shift,
            "splits": [_split_dict(split) for split in self.splits],
            "rules": [_rule_change_dict(rule) for rule in self.rules],
        }

    def report_content(self) -> ReportContent:
        """Return what the report shows of it.

        Returns
        -------
        ReportContent
        """
        affected = None
        if self.flips is not None and self.n_rows is not None:
            affected = ("", self.flips * self.n_rows, self.n_rows, "rows")
        return ReportContent(
            kind="diff",
            title="What changed between two decision trees",
            names=("Old tree", "New tree"),
            diff=self,
            affected=affected,
            provenance=(
                ("Old tree", self.old),
                ("New tree", self.new),
                ("Feature space", self.space),
                *([("Rows counted", f"{self.n_rows:,}")] if self.n_rows else []),
            ),
        )

    def report(self, path: str | os.PathLike[str], **options: Any) -> Path:
        """Write the comparison as one self-contained HTML page.

        Parameters
        ----------
        path : path-like
        **options
            Of :func:`steadytree.views.summarise`: ``title``, ``level``, ``publish`` (people
            rounded, for others).

        Returns
        -------
        Path
        """
        return write_report(self, path, **options)

    def __repr__(self) -> str:
        counts = status_counts(self)
        return f"TreeDiff({counts}; dissimilarity {PLAIN.percent(self.dissimilarity, 1)})"

    def __str__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        return notebook_view(self)


def _split_dict(split: SplitChange) -> dict[str, Any]:
    return {
        "kind": split.kind,
        "only_conditions": split.only_conditions,
        "feature": split.name,
        "new_feature": split.new_name,
        "first": split.first,
        "from": plain_json(split.old_bound),
        "to": plain_json(split.new_bound),
        "shift": plain_json(split.shift),
        "share_of_range": plain_json(split.share_of_range),
        "categories": plain_json(split.categories),
        "new_categories": plain_json(split.new_categories),
        "rules": list(split.rules),
        "share": split.share,
        "text": split.text,
    }


def _rule_change_dict(rule: RuleChange) -> dict[str, Any]:
    return {
        "number": rule.number,
        "status": rule.status,
        "kinds": list(rule.kinds),
        "relabelled": rule.relabelled,
        "value_change": rule.value_change,
        "cost": rule.cost,
        "overlap": rule.overlap,
        "share_in_both": rule.share_in_both,
        "changes": [_change_dict(change) for change in rule.changes],
        "old": None if rule.old is None else _rule_dict(rule.old),
        "new": None if rule.new is None else _rule_dict(rule.new),
    }


def _change_dict(change: ConditionChange) -> dict[str, Any]:
    return {
        "kind": change.kind,
        "feature": change.name,
        "side": change.side,
        "from": plain_json(change.old_bound),
        "to": plain_json(change.new_bound),
        "shift": plain_json(change.shift),
        "share_of_range": plain_json(change.share_of_range),
        "gained": plain_json(change.gained),
        "lost": plain_json(change.lost),
        "text": change.text,
    }


def _rule_dict(rule: Rule) -> dict[str, Any]:
    numbers, counted = rule.numbers, None
    if numbers.rows is not None:
        counted = {"rows": numbers.rows, "outcomes": numbers.outcomes, "mean": numbers.mean}
    return {
        "leaf": rule.leaf,
        "text": rule.text,
        "label": plain_json(rule.label),
        "value": list(rule.value),
        "trained_on": counted,
        "kept_against_share": rule.kept_against_share,
        "kept": rule.kept,
        "share": rule.share,
        "rows": rule.rows,
        "outcomes": rule.outcomes,
        "outcome_rate": rule.outcome_rate,
        "conditions": [_condition_dict(c) for c in rule.conditions],
    }


def _condition_dict(condition: Condition) -> dict[str, Any]:
    return {
        "feature": condition.name,
        "lower": plain_json(condition.lower),
        "upper": plain_json(condition.upper),
        "categories": plain_json(condition.allowed),
        "present": condition.present,
        "missing": condition.missing,
        "text": str(condition),
    }
