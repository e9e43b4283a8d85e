"""Every rule before and after as plain data: what it says, and whom among the rows it concerns."""

from __future__ import annotations

from typing import Any

from steadytree.core.disclosure import coarse_mean
from steadytree.core.words import PAGE, rounded_share
from steadytree.diff import Rule, RuleChange, TreeDiff
from steadytree.diff.told import ToldDiff
from steadytree.diff.words import change_words

__all__ = ["RuleTable"]


class RuleTable:
    """Rules of a diff as plain data, one of ``rows`` each, as far as they may be told."""

    def __init__(self, diff: TreeDiff, min_cell: int) -> None:
        self.diff, self.told = diff, ToldDiff(diff, min_cell)
        self._rules: dict[str, list[tuple[RuleChange, Rule]]] = {
            "old": [(change, change.old) for change in diff.rules if change.old is not None],
            "new": [(change, change.new) for change in diff.rules if change.new is not None],
        }
        self.rows = [self._row(rule) for rule in diff.rules]

    def leaves(self, side: str) -> dict[int, int]:
        """Rule number of each leaf of one tree."""
        return {rule.leaf: change.number for change, rule in self._rules[side]}

    def shares(self, side: str) -> dict[int, tuple[float, str] | None]:
        """Share of rows at each leaf of one tree, as a number and in words; None where hidden."""
        return {
            rule.leaf: self._share(rule, side)
            for _, rule in self._rules[side]
            if rule.rows is not None
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
            "old": self._half(change.old, "old"),
            "new": self._half(change.new, "new"),
        }

    def _half(self, rule: Rule | None, side: str) -> dict[str, Any] | None:
        if rule is None:
            return None
        share, rows = self._share(rule, side), self.told.rows_words(rule, side)
        observed = self.told.observed_words(rule, side)
        if observed is None and rule.rows and rule.outcome_rate is not None:
            observed = "hidden"
        return {
            "leaf": rule.leaf,
            "conditions": [
                c.words(PAGE, self.diff.space.categories[c.feature]) for c in rule.conditions
            ]
            or ["everyone"],
            "outcome": PAGE.number(self._mean(rule, side))
            if rule.label is None
            else PAGE.name(rule.label),
            "numbers": self._numbers(rule, side),
            "share": None if share is None else share[0],
            "rows": rows,
            "observed": observed,
            "masked": rule.rows is not None and rows is None,
            "against": rule.kept_against_share,
        }

    def _share(self, rule: Rule, side: str) -> tuple[float, str] | None:
        """Share of the rows that follow a rule; None where hidden or not counted."""
        share, told = self.told.share(rule, side), self.told.told(rule, side)
        if share is None or told is None:
            return None
        share = rounded_share(share, 4)
        return share, PAGE.percent(share, 0) if told.rows is None else told.rows.words()

    def _mean(self, rule: Rule, side: str) -> float:
        """Predicted value, coarse where it rests on few people, as in the drawing."""
        tree = self.told.trees[side]
        told = self.told.leaves[side].value[rule.leaf]
        return coarse_mean(rule.value[0], self.diff.space, tree) if told is None else told[0]

    def _numbers(self, rule: Rule, side: str) -> str:
        """Write what the leaf predicts and what was observed in training, as in the drawing."""
        texts, classes, words = self.told.leaves[side], self.diff.classes, []
        predicted, observed = texts.predicted[rule.leaf], texts.observed[rule.leaf]
        if predicted is not None and classes is not None:
            at = classes.index(rule.label) if self.diff.positive is None else self.diff.positive
            words.append(f"predicts {PAGE.name(classes[at])} {predicted}")
        if observed is not None:
            words.append("observed: hidden" if observed == "hidden" else f"observed {observed}")
        return "; ".join(words)
