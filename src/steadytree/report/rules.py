"""The rule table: every rule before and after, what happened to it, and how many it concerns."""

from __future__ import annotations

from typing import Any

from steadytree.diff import ConditionChange, Rule, RuleChange, SplitChange, TreeDiff
from steadytree.report.disclosure import coarse_mean, coarse_share, mask_partition, rests_on_few
from steadytree.report.words import (
    clean,
    condition_words,
    listed,
    name_words,
    number,
    percent,
    rule_words,
)

__all__ = ["RuleTable", "change_words", "split_words"]


class RuleTable:
    """Rules of a diff as plain data, with small cells masked.

    Parameters
    ----------
    diff : TreeDiff
    min_cell : int
        Rules that fewer people follow are masked, and others with them where they could be
        computed from the rest.

    Attributes
    ----------
    rows : list of dict
        One per rule; see :func:`steadytree.report.summarise`.
    """

    def __init__(self, diff: TreeDiff, min_cell: int) -> None:
        self.diff, self.min_cell = diff, min_cell
        self._masked = {side: self._masked_leaves(side) for side in ("old", "new")}
        self.rows = [self._row(rule) for rule in diff.rules]

    def leaves(self, side: str) -> dict[int, int]:
        """Rule number of each leaf of one tree."""
        return {
            rule.leaf: change.number
            for change in self.diff.rules
            if (rule := _side(change, side)) is not None
        }

    def shares(self, side: str) -> dict[int, float | None]:
        """Share of rows at each leaf of one tree; None where masked."""
        return {
            rule.leaf: self._share(rule, side)
            for change in self.diff.rules
            if (rule := _side(change, side)) is not None and rule.share is not None
        }

    def changed(self, side: str) -> set[int]:
        """Leaves of one tree whose rule is not what it was."""
        return {
            rule.leaf
            for change in self.diff.rules
            if change.status != "kept" and (rule := _side(change, side)) is not None
        }

    def _masked_leaves(self, side: str) -> set[int]:
        rules = [rule for change in self.diff.rules if (rule := _side(change, side)) is not None]
        if self.diff.n_rows is None or any(rule.share is None for rule in rules):
            return set()
        counts = [round((rule.share or 0.0) * self.diff.n_rows, 6) for rule in rules]
        flags = mask_partition(counts, self.min_cell)
        return {rule.leaf for rule, flag in zip(rules, flags, strict=True) if flag}

    def _share(self, rule: Rule, side: str) -> float | None:
        if rule.share is None or self.diff.n_rows is None or rule.leaf in self._masked[side]:
            return None
        return coarse_share(rule.share, self.diff.n_rows, self.min_cell)

    def _rate(self, rule: Rule, side: str) -> float | None:
        """Outcome rate of the rows at a rule, rounded to what its rows can carry."""
        if rule.outcome_rate is None or rule.leaf in self._masked[side]:
            return None
        if self.diff.classes is None:
            return float(f"{rule.outcome_rate:.3g}")
        count = (rule.share or 0.0) * (self.diff.n_rows or 0)
        return coarse_share(rule.outcome_rate, count, self.min_cell)

    def _row(self, change: RuleChange) -> dict[str, Any]:
        return {
            "number": change.number,
            "status": change.status,
            "relabelled": change.relabelled,
            "changes": [change_words(c) for c in change.changes]
            + (["decision changed"] if change.relabelled else []),
            "old": self._half(change.old, "old"),
            "new": self._half(change.new, "new"),
        }

    def _mean(self, rule: Rule, side: str) -> float:
        """Predicted value, coarse where it rests on few people, as in the drawing."""
        tree = self.diff.old if side == "old" else self.diff.new
        mean = float(rule.value[0])
        if rule.leaf in self._masked[side] or rests_on_few(tree, rule.leaf, self.min_cell):
            return coarse_mean(mean, self.diff.space)
        return float(f"{mean:.4g}")

    def _half(self, rule: Rule | None, side: str) -> dict[str, Any] | None:
        if rule is None:
            return None
        return {
            "leaf": rule.leaf,
            "conditions": rule_words(rule.conditions, self.diff.space),
            "outcome": number(self._mean(rule, side))
            if rule.label is None
            else name_words(rule.label),
            "share": self._share(rule, side),
            "rate": self._rate(rule, side),
            "masked": rule.leaf in self._masked[side],
            "against": rule.kept_against_share,
        }


def _side(change: RuleChange, side: str) -> Rule | None:
    return change.old if side == "old" else change.new


def _moved(old: float, new: float, share_of_range: float | None) -> str:
    text = f"{number(float(f'{old:.6g}'))} → {number(float(f'{new:.6g}'))}"
    if share_of_range is None:
        return text
    return f"{text} ({percent(abs(share_of_range), 1)} of its range)"


def change_words(change: ConditionChange) -> str:
    """One changed condition in words."""
    name = name_words(change.name)
    if change.kind == "threshold_moved":
        assert change.old_bound is not None
        assert change.new_bound is not None
        side = "upper" if change.side == "upper" else "lower"
        moved = _moved(change.old_bound, change.new_bound, change.share_of_range)
        return f"{name}: {side} limit {moved}"
    if change.kind in ("condition_added", "condition_removed"):
        added = change.kind == "condition_added"
        bound = change.new_bound if added else change.old_bound
        verb = "new condition" if added else "no longer asks"
        if bound is not None:
            return f"{verb}: {name} {'≤' if change.side == 'upper' else '>'} {number(bound)}"
        whole = change.new if added else change.old
        return f"{verb}: {condition_words(whole) if whole is not None else name}"
    if change.kind == "categories_changed":
        parts = []
        if change.gained:
            parts.append(f"{listed([name_words(c) for c in change.gained], 'and')} now included")
        if change.lost:
            lost = listed([name_words(c) for c in change.lost], "and")
            parts.append(f"{lost} no longer included")
        return f"{name}: {', '.join(parts)}"
    return f"{name}: missing values take another way"


def split_words(split: SplitChange) -> str:
    """One changed split in words, with the number of rules it concerns."""
    name = name_words(split.name)
    count = f"{len(split.rules)} rule{'' if len(split.rules) == 1 else 's'}"
    which = "First split" if split.first else "Split"
    if split.kind == "moved":
        assert split.old_bound is not None
        assert split.new_bound is not None
        moved = _moved(split.old_bound, split.new_bound, split.share_of_range)
        return f"{which} on {name}: {moved}, {count}"
    if split.kind == "categories_changed":
        who = listed([name_words(c) for c in split.categories], "and")
        return f"{which} on {name}: {who} on the other side, {count}"
    if split.kind == "missing_changed":
        return f"Missing values of {name} take another way, {count}"
    old = name + _at(split.old_bound, split.categories)
    if split.kind == "removed":
        return f"{which} on {old} removed, {count}"
    if split.kind == "added":
        return f"{which} on {name}{_at(split.new_bound, split.categories)} added, {count}"
    new = clean(split.new_name) + _at(split.new_bound, split.new_categories)
    return f"{which} on {old} replaced by {new}, {count}"


def _at(bound: float | None, categories: tuple[Any, ...]) -> str:
    if bound is not None:
        return f" at {number(bound)}"
    return f" ({', '.join(name_words(c) for c in categories)})" if categories else ""
