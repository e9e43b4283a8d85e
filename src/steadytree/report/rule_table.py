"""The rule table: every rule before and after, what happened to it, and how many it concerns."""

from __future__ import annotations

from typing import Any

from steadytree.core.words import PAGE
from steadytree.diff import Rule, RuleChange, TreeDiff
from steadytree.diff.words import change_words
from steadytree.report.disclosure import coarse_mean, coarse_share, mask_partition, rests_on_few

__all__ = ["RuleTable"]


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
            "changes": [change_words(c, PAGE) for c in change.changes]
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
            "conditions": [
                c.words(PAGE, self.diff.space.categories[c.feature]) for c in rule.conditions
            ]
            or ["everyone"],
            "outcome": PAGE.number(self._mean(rule, side))
            if rule.label is None
            else PAGE.name(rule.label),
            "share": self._share(rule, side),
            "rate": self._rate(rule, side),
            "masked": rule.leaf in self._masked[side],
            "against": rule.kept_against_share,
        }


def _side(change: RuleChange, side: str) -> Rule | None:
    return change.old if side == "old" else change.new
