"""What may be told of the people behind a diff: how many follow a rule, and what became of them.

Two trees count the same people twice, by other rules: a threshold that moves past three people
tells their number, and their outcomes, to whoever subtracts. So a rule's people are counted
exactly only where no number of too few people is left between the two trees; other rules get
ranges, and these are held against :mod:`steadytree.diff.audit` before they are told.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from steadytree.core.disclosure import PeopleCount, ShareBin, few, share_bin
from steadytree.core.told_leaves import ToldLeaves
from steadytree.core.words import PAGE, WordStyle
from steadytree.diff.audit import Statement, withstands
from steadytree.evaluation.decision_cells import tell_decisions
from steadytree.evaluation.flips import prediction_moved, response_span

if TYPE_CHECKING:
    from steadytree.core.tree import Tree
    from steadytree.diff.changes import Rule, RuleChange
    from steadytree.diff.tree_diff import TreeDiff

__all__ = ["ToldDiff", "ToldRule"]

# Predictions are told with three decimals.
_PRECISION = 0.0005
_TINY = 1e-6
# The total would tell the only rule that is told as a range, and the AUC, a form of the counts
# at all leaves, how the people of a few of them divide.
_FEWEST_RANGES = 6
# Ranges are widened so many times until they withstand; the last resort is to tell none.
_WIDER = (1, 2, 4)


@dataclass(frozen=True)
class ToldRule:
    """What is told of the people who follow a rule.

    ``exact``: rows and outcomes themselves. Else their share of all rows and the rate of the
    outcome as ranges, None where not even these. ``rounded``: what its leaf predicts is then told
    as a range as well, ``widen`` times as wide as it need be.
    """

    exact: bool
    rows: ShareBin | None = None
    rate: ShareBin | None = None
    rounded: bool = True
    widen: int = 1


class ToldDiff:
    """What may be told of a diff, rule by rule; ``min_cell`` of 1 tells everything.

    Attributes
    ----------
    rules : dict of str to list of ToldRule
        For the old and the new tree, by number of the path; empty where no rows were given.
    leaves : dict of str to ToldLeaves
        What the leaves of either tree predict.
    """

    def __init__(self, diff: TreeDiff, min_cell: int, style: WordStyle = PAGE) -> None:
        self.diff, self.min_cell, self.style = diff, min_cell, style
        self.trees: dict[str, Tree] = {"old": diff.old, "new": diff.new}
        self._rules: dict[str, list[Rule]] = {
            "old": sorted((r.old for r in diff.rules if r.old), key=lambda rule: rule.path),
            "new": sorted((r.new for r in diff.rules if r.new), key=lambda rule: rule.path),
        }
        self.rules: dict[str, list[ToldRule]] = {"old": [], "new": []}
        self._rounded: dict[str, set[int]] = {"old": set(), "new": set()}
        self._widened = 1
        if diff.crossed is not None and diff.n_rows is not None:
            self._tell_rows(np.asarray(diff.crossed))

    def in_style(self, style: WordStyle) -> ToldDiff:
        """Return the same in other words."""
        if style is self.style:
            return self
        other = copy(self)
        other.__dict__.pop("leaves", None)
        other.style = style
        return other

    @cached_property
    def leaves(self) -> dict[str, ToldLeaves]:
        """What the leaves of either tree predict; what was observed only without a mask.

        Those counts are of other people than the rows, or of the same: two tables of them
        could be subtracted.
        """
        diff = self.diff
        return {
            side: ToldLeaves(
                tree,
                self.min_cell,
                space=diff.space,
                classes=diff.classes,
                positive=diff.positive,
                style=self.style,
                with_counts=self.min_cell <= 1 or (diff.old is diff.new and diff.n_rows is None),
                rounded=self._rounded[side],
                widen=self._widened,
            )
            for side, tree in self.trees.items()
        }

    @property
    def predictions_rounded(self) -> bool:
        """Whether some predictions of the new tree are told as ranges to protect its rows."""
        return bool(self._rounded["new"])

    # -- one rule ----------------------------------------------------------------------

    def told(self, rule: Rule, side: str) -> ToldRule | None:
        """Return what is told of a rule of one tree; None where no rows were given."""
        return self.rules[side][rule.path] if self.rules[side] else None

    def rule_text(self, rule: Rule, side: str) -> str:
        """Write the whole rule; a predicted response is rounded where it rests on few people."""
        told = self.leaves[side].value[rule.leaf]
        if rule.label is not None or told is None:
            return rule.text
        return f"{rule.conditions_text}: {self.style.number(told[0])}"

    def predicted_words(self, rule: Rule, side: str) -> str:
        """Write what the leaf of a rule predicts; "hidden" where not told."""
        leaves = self.leaves[side]
        told = leaves.value[rule.leaf]
        if rule.label is None and told is not None:
            return self.style.number(told[0])
        return leaves.predicted[rule.leaf] or "hidden"

    def share(self, rule: Rule, side: str) -> float | None:
        """Share of the rows as one number; None where not told."""
        told = self.told(rule, side)
        if told is None or told.exact:
            return None if rule.rows is None else rule.share
        return None if told.rows is None else told.rows.middle

    def rows_words(self, rule: Rule, side: str) -> str | None:
        """Write how many rows follow a rule: "171 (60 %)", "20–25 %"; None where not told."""
        told = self.told(rule, side)
        if told is None or rule.rows is None:
            return None
        if told.exact:
            share = rule.rows / (self.diff.n_rows or 1)
            return f"{rule.rows:,} ({self.style.percent(share)})"
        return None if told.rows is None else told.rows.words(self.style)

    def observed_words(self, rule: Rule, side: str) -> str | None:
        """Write what was observed among the rows of a rule: "12 of 43 (28 %)", "20–40 %"."""
        told = self.told(rule, side)
        if told is None or not rule.rows or rule.outcome_rate is None:
            return None
        if not told.exact:
            return None if told.rate is None else told.rate.words(self.style)
        if rule.outcomes is None:
            return self.style.significant(rule.outcome_rate)
        rate = self.style.percent(rule.outcomes / rule.rows)
        return f"{rule.outcomes:,} of {rule.rows:,} ({rate})"

    def rows_at(self, rules: Sequence[RuleChange]) -> str:
        """Write how many rows follow some rules of the new tree: "32 of 285", "10–25 %"."""
        count, total = 0, self.diff.n_rows
        low = high = 0.0
        exact = True
        for rule in (r.new for r in rules if r.new is not None):
            told = self.told(rule, "new")
            if told is None or total is None:
                return ""
            exact = exact and told.exact
            count += rule.rows or 0
            share = (rule.rows or 0) / total
            low += share if told.exact else told.rows.low if told.rows else 0.0
            high += share if told.exact else told.rows.high if told.rows else 1.0
        if exact:
            return f"{count:,} of {total:,}"
        return ShareBin(np.floor(100 * low) / 100, min(1.0, np.ceil(100 * high) / 100)).words(
            self.style
        )

    @property
    def flips(self) -> PeopleCount | None:
        """How many rows get another decision; None where no rows were given."""
        diff = self.diff
        if diff.flips is None or diff.n_rows is None:
            return None
        return PeopleCount.of(diff.flips * diff.n_rows, diff.n_rows, self.min_cell)

    def flips_share(self) -> float | None:
        """Share of the rows with another decision; None where not told."""
        flips = self.flips
        return None if flips is None or flips.masked else self.diff.flips

    def all_exact(self, rules: Iterable[RuleChange]) -> bool:
        """Whether the rows of all these rules, before and after, are told exactly."""
        halves = [half for r in rules for half in ((r.old, "old"), (r.new, "new"))]
        told = [self.told(rule, side) for rule, side in halves if rule is not None]
        return all(one is not None and one.exact for one in told)

    # -- what may be told --------------------------------------------------------------

    def _tell_rows(self, crossed: NDArray[np.intp]) -> None:
        """Tell as much of each rule as withstands the attack on it."""
        small = self._small(crossed)
        dirty: dict[str, NDArray[np.bool_]] = {
            "old": np.asarray(small.any(axis=1)),
            "new": np.asarray(small.any(axis=0)),
        }
        for side, flags in dirty.items():
            sizes = [rule.rows or 0 for rule in self._rules[side]]
            others = [i for i in np.argsort(sizes, kind="stable") if not flags[i] and sizes[i]]
            if flags.any():
                flags[others[: max(0, _FEWEST_RANGES - int(flags.sum()))]] = True
        every = {side: np.ones(len(rules), dtype=bool) for side, rules in self._rules.items()}
        for ranged, widen in ((dirty, 1), *((every, widen) for widen in _WIDER)):
            told = {
                side: self._ranges(side, ranged[side], widen, rounded=ranged is every)
                for side in ranged
            }
            if not small.any() or self._withstands(crossed, small, told):
                break
        else:
            told = {side: [ToldRule(False)] * len(flags) for side, flags in every.items()}
        self.rules = told
        self._widened = widen
        for side, rules in self._rules.items():
            ranges = {
                r.leaf for r in rules if not (one := told[side][r.path]).exact and one.rounded
            }
            if self._trained_on_rows(side):
                self._rounded[side] = ranges

    def _small(self, crossed: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Pairs of an old and a new rule that share too few people, or too few of an outcome."""
        rows = crossed.sum(axis=2)
        found = np.zeros(rows.shape, dtype=bool)
        parts = [rows]
        if crossed.shape[2] > 1:
            for side, axis in (("old", 0), ("new", 1)):
                at = self._shown(side)
                of = np.take_along_axis(
                    crossed, at[:, None, None] if axis == 0 else at[None, :, None], axis=2
                )[:, :, 0]
                parts += [of, rows - of]
        for part in parts:
            found |= (part > 0) & (part < self.min_cell)
        return found

    def _shown(self, side: str) -> NDArray[np.intp]:
        """Position of the class that the outcomes of each rule are counted of."""
        diff = self.diff
        assert diff.classes is not None
        if diff.positive is not None:
            return np.full(len(self._rules[side]), diff.positive, dtype=np.intp)
        return np.array([diff.classes.index(rule.label) for rule in self._rules[side]])

    def _ranges(
        self, side: str, dirty: NDArray[np.bool_], widen: int, *, rounded: bool
    ) -> list[ToldRule]:
        total, least = self.diff.n_rows or 1, self.min_cell * widen
        out = []
        for rule, flag in zip(self._rules[side], dirty, strict=True):
            rows = rule.rows or 0
            if not flag:
                out.append(ToldRule(True))
                continue
            rate = None
            if rule.outcomes is not None and rows:
                rate = share_bin(rule.outcomes / rows, rows, least)
            told = share_bin(rows / total, total, least)
            out.append(ToldRule(False, told, rate, rounded, widen))
        return out

    def _trained_on_rows(self, side: str) -> bool:
        """Whether the leaves of a tree count these very rows, so that predictions count them."""
        tree = self.trees[side]
        counted = tree.weight if tree.observed is None else tree.observed.rows()
        return all(round(float(counted[rule.leaf])) == rule.rows for rule in self._rules[side])

    # -- the attack --------------------------------------------------------------------

    def _withstands(
        self,
        crossed: NDArray[np.intp],
        small: NDArray[np.bool_],
        told: dict[str, list[ToldRule]],
    ) -> bool:
        rows = crossed.sum(axis=2)
        i, j = np.nonzero(rows)
        width = crossed.shape[2]
        where = {"old": np.repeat(i, width), "new": np.repeat(j, width)}
        outcome = np.tile(np.arange(width), i.size)
        cells = crossed[i, j].ravel()
        view = _Cells(cells, where, outcome)
        secrets = self._secrets(crossed, small, view)
        statements = [
            *self._statements_on_all(crossed, view),
            *self._statements_on_rules(view, told),
        ]
        return withstands(cells, statements, secrets, max(self.min_cell - 1, 2))

    def _secrets(
        self, crossed: NDArray[np.intp], small: NDArray[np.bool_], view: _Cells
    ) -> list[NDArray[np.bool_]]:
        """Return sums of cells that are of too few people."""
        masks = []
        for one, two in np.argwhere(small):
            masks.append((view.where["old"] == one) & (view.where["new"] == two))
        for side in ("old", "new"):
            masks += [view.where[side] == path for path in range(len(self._rules[side]))]
        with_outcome = list(masks)
        if crossed.shape[2] > 1:
            for mask in masks:
                at = {
                    int(self._shown(side)[view.where[side][mask]][0])
                    for side in ("old", "new")
                    if mask.any()
                }
                for k in at:
                    with_outcome += [mask & (view.outcome == k), mask & (view.outcome != k)]
        return [m for m in with_outcome if few(int(view.cells[m].sum()), self.min_cell)]

    def _statements_on_all(self, crossed: NDArray[np.intp], view: _Cells) -> list[Statement]:
        """State what is known of all rows: how many, of which outcome, decided how, changed."""
        out = [view.exactly(np.ones(view.cells.size))]
        out += [view.exactly(view.outcome == k) for k in range(crossed.shape[2] - 1)]
        diff = self.diff
        moved = self._moved()[view.where["old"], view.where["new"]]
        flips = PeopleCount.of(int(view.cells[moved].sum()), diff.n_rows or 0, self.min_cell)
        if not flips.masked:
            out.append(view.exactly(moved))
        if diff.classes is None or crossed.shape[2] == 1:
            return out
        decided = {
            side: np.array([diff.classes.index(rule.label) for rule in self._rules[side]])[
                view.where[side]
            ]
            for side in ("old", "new")
        }
        n = crossed.shape[2]
        counted = np.zeros((n, n, n), dtype=np.intp)
        np.add.at(counted, (view.outcome, decided["old"], decided["new"]), view.cells)
        exact = tell_decisions(counted, self.min_cell)
        for k in range(n - 1):
            here = view.outcome == k
            total = float(view.cells[here].sum())
            for d in range(n - 1):
                for side in ("old", "new"):
                    mask, told = here & (decided[side] == d), None
                    if total:
                        share = float(view.cells[mask].sum()) / total
                        told = share_bin(share, total, self.min_cell)
                    if exact:
                        out.append(view.exactly(mask))
                    elif n == 3 and told is not None:  # sensitivity and specificity
                        out.append(view.share(mask, told, total))
        return out

    def _moved(self) -> NDArray[np.bool_]:
        """Which pairs of an old and a new rule decide otherwise."""
        old, new = self._rules["old"], self._rules["new"]
        span = response_span(self.diff.space, classifier=self.diff.classes is not None)
        if span is None:
            return np.array([[a.label != b.label for b in new] for a in old])
        one, two = (np.array([r.value[0] for r in rules]) for rules in (old, new))
        return prediction_moved(one[:, None], two[None, :], span)

    def _statements_on_rules(
        self, view: _Cells, told: dict[str, list[ToldRule]]
    ) -> list[Statement]:
        out: list[Statement] = []
        total = self.diff.n_rows or 1
        for side, rules in self._rules.items():
            trained = self.diff.classes is not None and self._trained_on_rows(side)
            for rule, one in zip(rules, told[side], strict=True):
                here = view.where[side] == rule.path
                if not here.any():
                    continue
                with_outcome = here
                if rule.outcomes is not None:
                    with_outcome = here & (view.outcome == self._shown(side)[rule.path])
                if one.exact:
                    out += [view.exactly(here), view.exactly(with_outcome)]
                    continue
                if one.rows is not None:
                    out.append(view.share(here, one.rows, total))
                if rule.outcomes is None:
                    continue
                if one.rate is not None:
                    out += view.rate(with_outcome, here, one.rate.low, one.rate.high)
                if trained:
                    out += self._predicted_statements(view, rule, side, one, with_outcome)
        return out

    def _predicted_statements(
        self,
        view: _Cells,
        rule: Rule,
        side: str,
        told: ToldRule,
        with_outcome: NDArray[np.bool_],
    ) -> list[Statement]:
        """State what the prediction of a leaf says of the rows, steadied by what is not known."""
        here = view.where[side] == rule.path
        seen = self.trees[side].observed
        steady = 0.0 if seen is None else float(seen.strength[rule.leaf])
        share = rule.value[int(self._shown(side)[rule.path])]
        out = self._label_statements(view, rule, side, with_outcome, steady)
        low, high = share - _PRECISION, share + _PRECISION
        if told.rounded:
            rough = share_bin(share, rule.rows or 0, self.min_cell * told.widen)
            if rough is None:
                return out
            low, high = rough.low, rough.high
        return out + view.rate(with_outcome, here, low, high, steady)

    def _label_statements(
        self, view: _Cells, rule: Rule, side: str, with_outcome: NDArray[np.bool_], steady: float
    ) -> list[Statement]:
        """State what the decision of a leaf says of the share it was taken from."""
        positive, tree, classes = self.diff.positive, self.trees[side], self.diff.classes
        if positive is None or classes is None or rule.kept_against_share:
            return []
        decision = tree.decision
        limit = 0.5 if decision.threshold is None else decision.threshold
        if decision.threshold is None and decision.class_weight is not None:
            return []
        if (tree.classes or ())[decision.position] != classes[positive]:
            limit = 1 - limit
        yes = rule.label == classes[positive]
        here = view.where[side] == rule.path
        return view.rate(with_outcome, here, limit if yes else 0.0, 1.0 if yes else limit, steady)


@dataclass(frozen=True)
class _Cells:
    """People by old rule, new rule and outcome; only of pairs of rules that share somebody."""

    cells: NDArray[np.intp]
    where: dict[str, Any]
    outcome: NDArray[np.intp]

    def exactly(self, mask: Any) -> Statement:
        """State the number of people in some cells."""
        factor = np.asarray(mask, dtype=np.float64)
        count = float(factor @ self.cells)
        return Statement(factor, count, count)

    def share(self, mask: Any, told: ShareBin, total: float) -> Statement:
        """State a range of the share of a known number of people."""
        high = total if told.high == 1 else np.ceil(told.high * total - _TINY) - 1
        return Statement(np.asarray(mask, dtype=np.float64), told.low * total - _TINY, high)

    def rate(
        self, part: Any, whole: Any, low: float, high: float, steady: float = 0.0
    ) -> list[Statement]:
        """State a range of a rate, which ``steady`` people of unknown outcome may be part of."""
        part, whole = (np.asarray(mask, dtype=np.float64) for mask in (part, whole))
        return [
            Statement(part - low * whole, (low - 1) * steady, np.inf),
            Statement(part - high * whole, -np.inf, high * steady - _TINY * (high < 1)),
        ]
