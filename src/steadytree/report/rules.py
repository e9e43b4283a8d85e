"""Every rule before and after as plain data: what it says, and whom among the rows it concerns."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadytree.core.words import PAGE, rounded_share
from steadytree.diff import Rule, RuleChange, TreeDiff
from steadytree.diff.words import change_words
from steadytree.report.disclosure import (
    ToldCount,
    coarse_mean,
    coarse_share,
    coarse_words,
    mask_partition,
    rests_on_few,
    step_protects,
    tell_outcomes,
)
from steadytree.report.trees import LeafTexts

__all__ = ["RuleTable"]


class RuleTable:
    """Rules of a diff as plain data, one of ``rows`` each, with small cells masked.

    Rules that fewer than ``min_cell`` people follow are masked, and others with them where
    they could be computed from the rest. How many follow a rule is told exactly where no
    number of too few people is left between the rules of the two trees: a threshold that
    moves past three people would else count them.
    """

    def __init__(self, diff: TreeDiff, min_cell: int) -> None:
        self.diff, self.min_cell = diff, min_cell
        self._rules: dict[str, list[tuple[RuleChange, Rule]]] = {
            "old": [(change, change.old) for change in diff.rules if change.old is not None],
            "new": [(change, change.new) for change in diff.rules if change.new is not None],
        }
        self._masked = {side: self._masked_leaves(side) for side in self._rules}
        self._counted = {side: self._exact_leaves(side) for side in self._rules}
        self._outcomes = {side: self._told_outcomes(side) for side in self._rules}
        self._texts = {
            side: LeafTexts(tree, diff.space, diff.classes, diff.positive, min_cell)
            for side, tree in {"old": diff.old, "new": diff.new}.items()
        }
        self.rows = [self._row(rule) for rule in diff.rules]

    def leaves(self, side: str) -> dict[int, int]:
        """Rule number of each leaf of one tree."""
        return {rule.leaf: change.number for change, rule in self._rules[side]}

    def shares(self, side: str) -> dict[int, float | None]:
        """Share of rows at each leaf of one tree; None where masked."""
        counted = (rule for _, rule in self._rules[side] if rule.rows is not None)
        return {rule.leaf: self._share(rule, side) for rule in counted}

    def changed(self, side: str) -> set[int]:
        """Leaves of one tree whose rule is not what it was."""
        return {rule.leaf for change, rule in self._rules[side] if change.status != "kept"}

    # -- what may be told --------------------------------------------------------------

    def _masked_leaves(self, side: str) -> set[int]:
        """Leaves of which nothing is told about the rows."""
        rules = [rule for _, rule in self._rules[side]]
        if self.diff.n_rows is None:
            return set()
        flags = mask_partition([rule.rows or 0 for rule in rules], self.min_cell)
        return {rule.leaf for rule, flag in zip(rules, flags, strict=True) if flag}

    def _exact_leaves(self, side: str) -> set[int]:
        """Leaves whose rows may be counted exactly."""
        crossed = self.diff.crossed
        if crossed is None:
            return set()
        small_cells = (crossed > 0) & (crossed < self.min_cell)
        cells = np.flatnonzero(small_cells.any(axis=1 if side == "old" else 0)).tolist()
        rules = [rule for _, rule in self._rules[side]]
        small = [rule.path in cells for rule in rules]
        flags: NDArray[np.bool_] | list[bool] = small
        if any(small):
            counts = [rule.rows or 0 for rule in rules]
            flags = mask_partition(counts, self.min_cell, primary=small)
        return {rule.leaf for rule, flag in zip(rules, flags, strict=True) if not flag}

    def _told_outcomes(self, side: str) -> dict[int, ToldCount]:
        """Outcomes of the rows at the leaves where both may be told."""
        rules = [rule for _, rule in self._rules[side]]
        if any(rule.outcomes is None for rule in rules):
            return {}
        told = tell_outcomes(
            [rule.outcomes or 0 for rule in rules],
            [rule.rows or 0 for rule in rules],
            self.min_cell,
            hidden=[rule.leaf not in self._counted[side] for rule in rules],
        )
        return {r.leaf: count for r, count in zip(rules, told, strict=True) if count is not None}

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
            "outcome": PAGE.number(self._mean(rule, side))
            if rule.label is None
            else PAGE.name(rule.label),
            "numbers": self._numbers(rule, side),
            "share": self._share(rule, side),
            "rows": self._rows_words(rule, side),
            "observed": self._observed_words(rule, side),
            "masked": rule.leaf in self._masked[side],
            "against": rule.kept_against_share,
        }

    def _plain_share(self, rule: Rule) -> float:
        return (rule.rows or 0) / (self.diff.n_rows or 1)

    def _share(self, rule: Rule, side: str) -> float | None:
        """Share of the rows that follow a rule; None where masked or not counted."""
        if rule.rows is None or self.diff.n_rows is None or rule.leaf in self._masked[side]:
            return None
        if rule.leaf in self._counted[side]:
            return rounded_share(self._plain_share(rule), 4)
        return coarse_share(self._plain_share(rule), self.diff.n_rows, self.min_cell)

    def _rows_words(self, rule: Rule, side: str) -> str | None:
        """Write how many of the rows follow a rule: "171 (60 %)", else about how many: "60 %"."""
        if rule.rows is None or self.diff.n_rows is None or rule.leaf in self._masked[side]:
            return None
        if rule.leaf in self._counted[side]:
            return f"{rule.rows:,} ({PAGE.percent(self._plain_share(rule))})"
        return coarse_words(self._plain_share(rule), self.diff.n_rows, self.min_cell)

    def _observed_words(self, rule: Rule, side: str) -> str | None:
        """Write what was observed among the rows that follow a rule, as far as it may be told."""
        if not rule.rows or rule.leaf in self._masked[side]:
            return None
        if self.diff.classes is None:
            return None if rule.outcome_rate is None else PAGE.significant(rule.outcome_rate)
        if rule.outcomes is None:
            return None
        told = self._outcomes[side].get(rule.leaf)
        if told is None:
            if not step_protects(rule.rows, self.min_cell):
                return "hidden"
            return coarse_words(rule.outcomes / rule.rows, rule.rows, self.min_cell)
        return f"{told.words()} ({told.percent_words()})" if told.exact else told.words()

    def _mean(self, rule: Rule, side: str) -> float:
        """Predicted value, coarse where it rests on few people, as in the drawing."""
        tree = self.diff.old if side == "old" else self.diff.new
        mean = float(rule.value[0])
        if rule.leaf in self._masked[side] or rests_on_few(tree, rule.leaf, self.min_cell):
            return coarse_mean(mean, self.diff.space)
        return float(f"{mean:.4g}")

    def _numbers(self, rule: Rule, side: str) -> str:
        """Write what the leaf predicts and what was observed in training, as in the drawing."""
        texts, classes, words = self._texts[side], self.diff.classes, []
        predicted, observed = texts.predicted[rule.leaf], texts.observed[rule.leaf]
        if predicted is not None and classes is not None:
            at = classes.index(rule.label) if self.diff.positive is None else self.diff.positive
            words.append(f"predicts {PAGE.name(classes[at])} {predicted}")
        if observed is not None:
            words.append("observed: hidden" if observed == "hidden" else f"observed {observed}")
        return "; ".join(words)
