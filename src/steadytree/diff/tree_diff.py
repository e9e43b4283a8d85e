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
from steadytree.diff.pairing import Rule, RuleChange
from steadytree.diff.splits import SplitChange
from steadytree.tree.json import plain_json
from steadytree.tree.words import PLAIN

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
        (``steadytree.evaluation.flips.classes_given_up``).
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
        same = ("number", "status", "value_change", "share_in_both", "cost", "overlap")
        row: dict[str, Any] = {name: getattr(rule, name) for name in same}
        row["kinds"] = ", ".join(rule.kinds)
        row["changes"] = "; ".join(change.text for change in rule.changes)
        row["kept_against_share"] = rule.new is not None and rule.new.kept_against_share
        row["kept"] = "" if rule.new is None else rule.new.kept
        for side, one in (("old", rule.old), ("new", rule.new)):
            if one is not None:
                for name in ("label", "share", "rows", "outcomes", "outcome_rate"):
                    row[f"{side}_{name}"] = getattr(one, name)
                row[f"{side}_rule"] = one.text
                row[f"{side}_value"] = shown_value(self, one)
                row[f"{side}_observed"] = one.numbers.observed_words()
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
        given_up = self.classes_given_up
        return {
            "schema_version": SCHEMA_VERSION,
            "kind": "tree-diff",
            "task": "regression" if self.classes is None else "classification",
            "classes": plain_json(self.classes),
            "positive": plain_json((self.classes or ())[self.positive])
            if self.positive is not None
            else None,
            "lost_classes": plain_json(self.lost_classes),
            "hardly_found": plain_json([c for c, nobody in given_up.items() if not nobody]),
            "decision": {
                "old": self.old.decision.words(self.old.classes),
                "new": self.new.decision.words(self.new.classes),
            },
            **_plain(self, "unchanged dissimilarity distance counts"),
            "predictors": _plain(self, _PREDICTORS),
            **_plain(self, "n_rows flips mean_value_shift"),
            "splits": [_plain(split, _SPLIT) for split in self.splits],
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


_PREDICTORS = "gained=predictors_gained lost=predictors_lost kept=predictors_kept"
_CONDITION = "feature=name lower upper categories=allowed present missing"
_CHANGE = "kind feature=name side from=old_bound to=new_bound shift share_of_range gained lost text"
_SPLIT = (
    "kind only_conditions feature=name new_feature=new_name first from=old_bound to=new_bound "
    "shift share_of_range categories new_categories rules share text"
)
_RULE_CHANGE = "number status kinds relabelled value_change cost overlap share_in_both"
_RULE = "kept_against_share kept share rows outcomes outcome_rate"


def _plain(item: Any, fields: str) -> dict[str, Any]:
    """Attributes as plain values, by their own names or, "from=old_bound", by others."""
    named = (field.partition("=") for field in fields.split())
    return {key: plain_json(getattr(item, name or key)) for key, _, name in named}


def _rule_change_dict(rule: RuleChange) -> dict[str, Any]:
    return {
        **_plain(rule, _RULE_CHANGE),
        "changes": [_plain(change, _CHANGE) for change in rule.changes],
        "old": _rule_dict(rule.old),
        "new": _rule_dict(rule.new),
    }


def _rule_dict(rule: Rule | None) -> dict[str, Any] | None:
    if rule is None:
        return None
    known = rule.numbers.rows is not None
    return {
        **_plain(rule, "leaf text label value"),
        "trained_on": _plain(rule.numbers, "rows outcomes mean") if known else None,
        **_plain(rule, _RULE),
        "conditions": [{**_plain(c, _CONDITION), "text": str(c)} for c in rule.conditions],
    }
