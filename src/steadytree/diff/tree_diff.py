"""``TreeDiff``: what changed between two trees, as data and in words."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from steadytree._text import harmless_words
from steadytree._views import notebook_view, write_report
from steadytree.diff.changes import Rule, RuleChange, SplitChange, count_rules
from steadytree.diff.diff_summary import diff_summary, kept_data
from steadytree.publish import names_for_others, rare_words
from steadytree.publish import publish as published
from steadytree.publish.cells import people_words
from steadytree.tree.words import PLAIN, WordStyle, format_number, listed

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from steadytree.tree.space import FeatureSpace
    from steadytree.tree.tree import Tree

STATUSES = ("kept", "relabelled", "moved", "added", "dropped")
"""Status of a rule: the same; other label only; other conditions; only new; only old."""

MOST_CHANGES = 12
"""Changes of splits that are listed; two trees with little in common have many."""

ORDER = ("moved", "relabelled", "added", "dropped", "kept")


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

    def to_dict(self, *, publish: bool = False) -> dict[str, Any]:
        """Return everything about the change as plain values: what pages and JSON are drawn from.

        Laid out as :doc:`the schema of summaries </reference/formats>` says: rules before and
        after, with what was counted among the rows given, changes of splits, both trees.

        Parameters
        ----------
        publish : bool, default False
            For others: people rounded (``steadytree.publish.publish``), rare categories not named.

        Returns
        -------
        dict
        """
        if not publish:
            return diff_summary(self)
        return published(diff_summary(names_for_others(self)), rare_words(self))

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
        counts = status_counts(self)
        return f"TreeDiff({counts}; dissimilarity {PLAIN.percent(self.dissimilarity, 1)})"

    def __str__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        return notebook_view(self)


# -- in words --------------------------------------------------------------------------


def status_counts(diff: TreeDiff, statuses: Iterable[str] = STATUSES) -> str:
    """Count the rules of each status that occurs: "3 kept, 1 added"."""
    return ", ".join(f"{diff.counts[s]} {s}" for s in statuses if diff.counts[s])


def headline(diff: TreeDiff) -> list[str]:
    """Return the sentences that open every form of the diff."""
    counts = diff.counts
    warning = given_up_words(diff.classes_given_up)
    if diff.unchanged:
        lines = [f"No rule changed: {count_rules(counts['new_rules'])}, dissimilarity 0.0 %."]
    else:
        lines = [
            f"{count_rules(counts['old_rules'])} before, {counts['new_rules']} now: "
            f"{status_counts(diff)}. Dissimilarity {PLAIN.percent(diff.dissimilarity, 1)}."
        ]
    lines = [*([warning] if warning else []), *lines]
    if diff.n_rows is not None:
        rows = f"{diff.n_rows:,} row{'s' if diff.n_rows != 1 else ''}"
        share = PLAIN.percent(diff.flips, 1)
        if diff.mean_value_shift is None:
            lines.append(f"Of {rows}, {share} get another decision.")
        else:
            shift = PLAIN.significant(diff.mean_value_shift, 6)
            lines.append(
                f"Over {rows} the prediction changes by {shift} on average, for "
                f"{share} of them by more than 5 % of the response range."
            )
    for what, names in (("gained", diff.predictors_gained), ("lost", diff.predictors_lost)):
        if names:
            lines.append(f"Predictors {what}: {', '.join(map(PLAIN.name, names))}.")
    if (kept := kept_data(diff)) is not None:
        lines.append(kept_sentence(kept))
    return lines


def given_up_words(
    given_up: Mapping[Any, bool],
    *,
    new: str = "the new tree",
    old: str = "the old tree",
    style: WordStyle = PLAIN,
) -> str:
    """Warn of classes that a tree gives up; empty where it gives up none."""
    parts = []
    for nobody, words in (
        (True, "decides {names} for nobody any more, which {old} does for some"),
        (False, "hardly finds {names} any more, which {old} finds"),
    ):
        names = [style.name(name) for name, none in given_up.items() if none is nobody]
        if names:
            parts.append(words.format(names=listed(names, "and"), old=old))
    return f"WARNING: {new} {', and '.join(parts)}." if parts else ""


def kept_sentence(kept: Mapping[str, Any], style: WordStyle = PLAIN) -> str:
    """Say which rules keep their label against their share, and how many rows that concerns."""
    one, rows = len(kept["rules"]) == 1, kept["rows"]
    numbers = listed(kept["rules"], "and")
    what = f"Rule{'' if one else 's'} {numbers} keep{'s its' if one else ' their'} decision"
    whom = ""
    if rows is not None:
        training = "training " if rows["of"] is None and "of_below" not in rows else ""
        whom = f" ({people_words(rows, 'of', style)} {training}rows)"
    if kept["reason"]:
        return f"{what}: the predicted share {kept['reason']}{whom}."
    return f"{what} although the predicted share says otherwise{whom}."


def rule_facts(diff: TreeDiff, rule: RuleChange, *, changes: bool = True) -> list[str]:
    """Return what there is to say about one rule beside its text, one fact per entry.

    Without ``changes`` those of its conditions are left out: both forms show them.
    """
    facts = [change.text for change in rule.changes] if changes else []
    old, new = rule.old, rule.new
    if old is not None and new is not None:
        if rule.relabelled:
            facts.append(f"label changed from {old.outcome_text} to {new.outcome_text}")
        if "value_changed" in rule.kinds:
            before, after = old.numbers.predicted_words(), new.numbers.predicted_words()
            facts.append(f"{value_name(diff, new)} {before} -> {after}")
    elif (lone := new or old) is not None:
        facts.append(f"{value_name(diff, lone)} {lone.numbers.predicted_words()}")
    if new is not None and new.kept:
        facts.append(f"label {new.kept}")
    halves = [half for half in (old, new) if half is not None]
    found = {
        "observed in training": [half.numbers.observed_words() for half in halves],
        "rows": ["" if half.share is None else PLAIN.percent(half.share, 1) for half in halves],
        "observed in the rows": [_observed_in_rows(half) for half in halves],
    }
    for what, words in found.items():
        if all(words):
            facts.append(f"{what} {' -> '.join(dict.fromkeys(words))}")
    return facts


def _observed_in_rows(rule: Rule) -> str:
    """Return what was observed among the rows given that follow a rule: "12 of 43 (27.9 %)"."""
    if rule.rows is None:
        return ""
    if rule.outcome_rate is None:
        return "none" if rule.rows == 0 else ""
    if rule.outcomes is None:
        return f"{format_number(rule.outcome_rate)} in {rule.rows:,}"
    return f"{rule.outcomes:,} of {rule.rows:,} ({PLAIN.percent(rule.outcome_rate, 1)})"


def value_name(diff: TreeDiff, rule: Rule) -> str:
    """Return what the number shown beside a rule is."""
    if diff.classes is None:
        return "predicts"
    shown = rule.label if diff.positive is None else diff.classes[diff.positive]
    return f"predicts {PLAIN.name(shown)}"


def diff_text(diff: TreeDiff) -> str:
    """Return plain text, at most one idea per line."""
    lines = headline(diff)
    if diff.splits:
        lines += ["", "What changed"]
        lines += [f"  - {line}" for line in _what_changed(diff)]
    for status in ORDER:
        if rules := diff.with_status(status):
            lines += ["", f"{status.capitalize()} ({len(rules)})"]
        for rule in rules:
            lines += _rule_lines(diff, rule)
    return "\n".join(lines)


def _what_changed(diff: TreeDiff) -> list[str]:
    """Return the changes of splits in words, the smaller ones counted."""
    shown = [
        split.text + ("" if split.share is None else f", {PLAIN.percent(split.share, 1)} of rows")
        for split in diff.splits[:MOST_CHANGES]
    ]
    rest = len(diff.splits) - len(shown)
    return shown + ([f"and {rest} more"] if rest else [])


def _rule_lines(diff: TreeDiff, rule: RuleChange) -> list[str]:
    texts = [half.text for half in (rule.old, rule.new) if half is not None]
    if len(texts) == 1 or not rule.changes:
        lines = [f"  {rule.number}. {texts[-1]}"]
    else:
        lines = [f"  {rule.number}. {texts[0]}", f"     -> {texts[1]}"]
    facts = rule_facts(diff, rule, changes=False)
    return lines + ([f"     {'; '.join(facts)}"] if facts else [])


def diff_markdown(diff: TreeDiff) -> str:
    """Return Markdown: headline, changes of splits, one table of rules."""
    first, *rest = headline(diff)
    lines = ["**" + _md(first) + "**", ""]
    lines += [f"{_md(line)}  " for line in rest]
    if diff.splits:
        lines += ["", "### What changed", ""]
        lines += [f"- {_md(line)}" for line in _what_changed(diff)]
    lines += ["", "### Rules", "", "| # | status | before | now | details |"]
    lines += ["| --: | --- | --- | --- | --- |"]
    for status in ORDER:
        for rule in diff.with_status(status):
            old = "" if rule.old is None else _md(harmless_words(rule.old.text))
            new = "" if rule.new is None else _md(harmless_words(rule.new.text))
            facts = "; ".join(_md(fact) for fact in rule_facts(diff, rule))
            lines.append(f"| {rule.number} | {rule.status} | {old} | {new} | {facts} |")
    return "\n".join(lines) + "\n"


def _md(text: str) -> str:
    """Keep names from being read as Markdown or HTML."""
    for mark in "\\`*_[]|":
        text = text.replace(mark, "\\" + mark)
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return " ".join(text.split())
