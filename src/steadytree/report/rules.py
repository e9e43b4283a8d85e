"""Every rule before and after as plain data: what it says, and whom among the rows it concerns."""

from __future__ import annotations

from typing import Any

from steadytree.core.words import PAGE, rounded_share
from steadytree.diff import Rule, RuleChange, TreeDiff
from steadytree.diff.words import change_words

__all__ = ["RuleTable"]


class RuleTable:
    """Rules of a diff as plain data, one of ``rows`` each."""

    def __init__(self, diff: TreeDiff) -> None:
        self.diff = diff
        self._rules: dict[str, list[tuple[RuleChange, Rule]]] = {
            "old": [(change, change.old) for change in diff.rules if change.old is not None],
            "new": [(change, change.new) for change in diff.rules if change.new is not None],
        }
        self.rows = [self._row(rule) for rule in diff.rules]

    def leaves(self, side: str) -> dict[int, int]:
        """Rule number of each leaf of one tree."""
        return {rule.leaf: change.number for change, rule in self._rules[side]}

    def shares(self, side: str) -> dict[int, float]:
        """Share of rows at each leaf of one tree; empty where none were counted."""
        return {
            rule.leaf: rounded_share(rule.share, 4)
            for _, rule in self._rules[side]
            if rule.share is not None
        }

    def changed(self, side: str) -> set[int]:
        """Leaves of one tree whose rule is not what it was."""
        return {rule.leaf for change, rule in self._rules[side] if change.status != "kept"}

    # -- one rule ----------------------------------------------------------------------

    def _row(self, change: RuleChange) -> dict[str, Any]:
        return {
            "number": change.number,
            "status": change.status,
            "relabelled": change.relabelled,
            "changes": [change_words(c, PAGE) for c in change.changes]
            + (["decision changed"] if change.relabelled else [])
            + ([change.new.kept] if change.new is not None and change.new.kept else []),
            "old": self._half(change.old),
            "new": self._half(change.new),
        }

    def _half(self, rule: Rule | None) -> dict[str, Any] | None:
        if rule is None:
            return None
        return {
            "leaf": rule.leaf,
            "conditions": [
                c.words(PAGE, self.diff.space.categories[c.feature]) for c in rule.conditions
            ]
            or ["everyone"],
            "outcome": rule.numbers.label_words(PAGE),
            "numbers": _numbers(rule),
            "share": None if rule.share is None else rounded_share(rule.share, 4),
            "rows": _rows_words(rule),
            "observed": _observed_words(rule),
            "against": rule.kept_against_share,
        }


def _rows_words(rule: Rule) -> str | None:
    """Write how many rows follow a rule: "171 (60 %)"."""
    return None if rule.rows is None else f"{rule.rows:,} ({PAGE.percent(rule.share)})"


def _observed_words(rule: Rule) -> str | None:
    """Write what was observed among the rows of a rule: "12 of 43 (28 %)"."""
    if not rule.rows or rule.outcome_rate is None:
        return None
    if rule.outcomes is None:
        return PAGE.significant(rule.outcome_rate)
    return f"{rule.outcomes:,} of {rule.rows:,} ({PAGE.percent(rule.outcomes / rule.rows)})"


def _numbers(rule: Rule) -> str:
    """Write what the leaf predicts and what was observed in training, as in the drawing."""
    numbers, words = rule.numbers, []
    if numbers.shown is not None:
        words.append(f"predicts {PAGE.name(numbers.shown)} {numbers.predicted_words(PAGE)}")
    if observed := numbers.all_observed_words(PAGE):
        words.append(f"observed {observed}")
    return "; ".join(words)
