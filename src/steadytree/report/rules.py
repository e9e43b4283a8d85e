"""Every rule before and after as plain data: what it says, and whom among the rows it concerns."""

from __future__ import annotations

from typing import Any

from steadytree.core.cells import Cell, Text, mean, people, text
from steadytree.core.words import PAGE
from steadytree.diff import Rule, RuleChange, TreeDiff
from steadytree.diff.words import change_words
from steadytree.report.sentences import sentence
from steadytree.report.trees import leaf_cells

__all__ = ["RuleTable"]


class RuleTable:
    """Rules of a diff as plain data, one of ``rows`` each."""

    def __init__(self, diff: TreeDiff) -> None:
        self.diff = diff
        self.cells = {
            side: leaf_cells(tree, diff.classes, diff.positive)
            for side, tree in (("old", diff.old), ("new", diff.new))
        }
        self._rules: dict[str, list[tuple[RuleChange, Rule]]] = {
            "old": [(change, change.old) for change in diff.rules if change.old is not None],
            "new": [(change, change.new) for change in diff.rules if change.new is not None],
        }
        self.rows = [self._row(rule) for rule in diff.rules]

    def leaves(self, side: str) -> dict[int, int]:
        """Rule number of each leaf of one tree."""
        return {rule.leaf: change.number for change, rule in self._rules[side]}

    def shares(self, side: str) -> dict[int, Cell]:
        """Rows at each leaf of one tree; empty where none were counted."""
        return {
            rule.leaf: people(rule.rows, self.diff.n_rows, "share")
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
        return {
            "leaf": rule.leaf,
            "conditions": [
                c.words(PAGE, self.diff.space.categories[c.feature]) for c in rule.conditions
            ]
            or ["everyone"],
            "outcome": sentence(self._outcome(rule, side)),
            "numbers": sentence(self._numbers(rule, side)),
            "rows": None if rule.rows is None else people(rule.rows, self.diff.n_rows, "rows"),
            "observed": _observed_rows(rule),
            "against": rule.kept_against_share,
        }

    def _outcome(self, rule: Rule, side: str) -> Text:
        if rule.label is None:
            return text(self.cells[side][rule.leaf].predicted)
        return text(rule.numbers.label_words(PAGE))

    def _numbers(self, rule: Rule, side: str) -> Text:
        """Write what the leaf predicts and what was observed in training, as in the drawing."""
        told, numbers = self.cells[side][rule.leaf], rule.numbers
        parts: list[str | Cell] = []
        if numbers.shown is not None:
            parts += [f"predicts {PAGE.name(numbers.shown)} ", told.predicted]
        if told.observed is not None:
            parts += [f"{'; ' if parts else ''}observed ", told.observed]
        return text(*parts)


def _observed_rows(rule: Rule) -> Cell | None:
    """Count what was observed among the rows of a rule."""
    if not rule.rows or rule.outcome_rate is None:
        return None
    if rule.outcomes is None:
        return mean(rule.outcome_rate, of=rule.rows)
    return people(rule.outcomes, rule.rows)
