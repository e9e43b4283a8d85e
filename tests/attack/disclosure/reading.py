"""From what was published to bounds on counts of people.

Every number that says something about people is turned into a bound on a sum of the cells of
:class:`~tests.attack.disclosure.census.Census`, with where it was read. Ratios need no known
denominator: "part is 40 to 50 % of whole" is linear in both.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.attack.disclosure.census import EVENTS, Census
from tests.attack.disclosure.numerals import (
    Range,
    coarse,
    finite,
    plain,
    read_count,
    read_share,
    rounded,
)
from tests.attack.disclosure.solver import Coefficients, Constraint

__all__ = ["Reader"]

MOST_SIZES = 12
"""Possible denominators up to which a mean of two shares is tried for each."""

_EXACT_ROWS = re.compile(r"(?P<rows>\d[\d,]*) \(")
_FURTHER = re.compile(r"counts as (?P<low>\d+)(?: to (?P<high>\d+))? further rows")


class Reader:
    """Reads one thing published after the other into the bounds of a census."""

    def __init__(self, census: Census) -> None:
        self.census = census
        self.solver = census.solver
        self.positive = 1
        self.leaf_of_rule: dict[str, dict[int, int]] = {"old": {}, "new": {}}
        self.n_rows: int | None = None
        self.old_rows_given = True
        self.candidates: dict[str, Mapping[str, Any]] = {}
        self.read: list[str] = []
        self.later: list[Callable[[], None]] = []

    # -- plain statements -----------------------------------------------------------------

    def count(self, of: Coefficients, low: float, high: float, source: str) -> None:
        """A count lies between two numbers."""
        self.solver.add(of, low, high, source)
        self.read.append(source)

    def share(self, part: Coefficients, whole: Coefficients, told: Range, source: str) -> None:
        """A share lies between two numbers."""
        self.solver.ratio(part, whole, *told, source)
        self.read.append(source)

    def words(self, part: Coefficients, whole: Coefficients, text: Any, source: str) -> None:
        """A text tells a count of a total, or a share, or nothing."""
        if not isinstance(text, str):
            return
        told, share = read_count(text, nobody_is_told=False), read_share(text)
        if told is not None:
            self.count(whole, told.total, told.total, f"{source}: total of {text!r}")
            self.count(part, told.low, told.high, f"{source}: {text!r}")
        if share is not None:
            self.share(part, whole, share, f"{source}: {text!r}")

    # -- the page -------------------------------------------------------------------------

    def page(self, summary: Mapping[str, Any]) -> None:
        """Read everything that the page embeds."""
        census, everyone = self.census, self.census.count()
        if summary["n_rows"] is not None:
            self.n_rows = int(summary["n_rows"])
            self.count(everyone, self.n_rows, self.n_rows, "page: rows")
        drawn = summary["trees"]["new"]
        self.positive = 1 if drawn["positive"] is None else int(drawn["positive"])
        for item in summary["provenance"]:
            if item["label"] == "N old" and str(item["value"]).isdigit():
                n = int(item["value"])
                self.old_rows_given = n > 0
                if n:
                    self.count(census.count("old"), n, n, "page: provenance, N old")
        for row in summary["rules"]:
            for side in ("old", "new"):
                half = row[side]
                if half is not None and side in census.trees:
                    self.leaf_of_rule[side][row["number"]] = half["leaf"]
                    self._page_rule(half, side, f"page: rule {row['number']} {side}")
        for side in ("old", "new"):
            if summary["trees"][side] is not None:
                self._drawing(summary["trees"][side], side, summary)
        for fact in summary["headline"]["facts"]:
            event = {"Decisions that change": "flips", "Risk moves over 5 points": "moved_5"}
            if fact["label"] in event:
                self.words(
                    census.event(event[fact["label"]]), everyone, fact["detail"], "page: headline"
                )
        if summary["people"] is not None:
            self._people(summary["people"])
        if summary["frontier"] is not None:
            self._frontier(summary["frontier"])

    def _shown(self, side: str, leaf: int) -> int:
        """Position of the class whose outcomes are counted at a leaf."""
        if len(self.census.classes) == 2:
            return self.positive
        return int(self.census.trees[side].labels[leaf] or 0)

    def _page_rule(self, half: Mapping[str, Any], side: str, source: str) -> None:
        census, leaf = self.census, half["leaf"]
        here = census.at(side, leaf)
        rows, everyone = census.count(atoms=here), census.count()
        exact = isinstance(half["rows"], str) and _EXACT_ROWS.match(plain(half["rows"]))
        if exact:
            n = int(exact["rows"].replace(",", ""))
            self.count(rows, n, n, f"{source}: rows {half['rows']!r}")
        elif isinstance(half["rows"], str):
            share = self._coarse_words(half["rows"])
            if share is not None:
                self.share(rows, everyone, share, f"{source}: rows {half['rows']!r}")
        if finite(half["share"]) and self.n_rows:
            told = rounded(half["share"], 4)
            if not exact:
                told = coarse(half["share"], self.n_rows, census.min_cell)
            self.share(rows, everyone, told, f"{source}: share {half['share']}")
        if census.classifier and isinstance(half["observed"], str):
            part = census.count(atoms=here, outcome=self._shown(side, leaf))
            self.words(part, rows, half["observed"], f"{source}: observed")

    def _coarse_words(self, text: str) -> Range | None:
        """Read a share that was rounded to a step of enough people."""
        share = read_share(text)
        if share is None or self.n_rows is None or text.lstrip()[:1] in "<>≤≥":
            return share
        middle = round((share[0] + share[1]) / 2, 4)
        return coarse(middle, self.n_rows, self.census.min_cell)

    def _drawing(self, drawn: Mapping[str, Any], side: str, summary: Mapping[str, Any]) -> None:
        """Read predictions and training counts of each leaf of a drawn tree."""
        census = self.census
        strength = self._strength(drawn, side, summary)
        for leaf in census.trees[side].boxes:
            shown = self._shown(side, leaf)
            rows, part = self.trained(side, leaf), self.trained(side, leaf, shown)
            source = f"page: leaf {leaf} of the {side} tree"
            self.words(part, rows, drawn["observed"][leaf], f"{source}: observed")
            if not census.classifier or strength is None:
                continue
            value, words = drawn["value"][leaf], drawn["predicted"][leaf]
            fine = isinstance(words, str) and "." in words and plain(words)[:1] not in "<>≤≥"
            if value is not None:
                for k in range(len(census.classes)):
                    told = rounded(value[k], 3) if fine else (value[k] - 0.05, value[k] + 0.05)
                    own = self.trained(side, leaf, k)
                    self.predicted(own, rows, told, strength, f"{source}: value {value[k]}")
            if isinstance(words, str) and (share := read_share(words)) is not None:
                self.predicted(part, rows, share, strength, f"{source}: predicts {words!r}")

    def trained(self, side: str, leaf: int, outcome: int | None = None) -> Coefficients:
        """Count the rows at a leaf that its tree was trained on: the new one on all given."""
        here = {"atoms": self.census.at(side, leaf), "outcome": outcome}
        of = self.census.count("new", **here) if side == "new" else 0.0
        if side == "old" or self.old_rows_given:
            of = of + self.census.count("old", **here)
        return np.asarray(of)

    def predicted(
        self,
        part: Coefficients,
        rows: Coefficients,
        told: Range,
        strength: Range,
        source: str,
    ) -> None:
        """A prediction is (part + k t) / (rows + k), t anything from 0 to 1."""
        low, high = told
        k = strength[1]
        self.solver.add(part - low * rows, low * k - k, np.inf, source)
        self.solver.add(part - high * rows, -np.inf, high * k, source)
        self.read.append(source)

    def _strength(
        self, drawn: Mapping[str, Any], side: str, summary: Mapping[str, Any]
    ) -> Range | None:
        """As how many further rows another model counts; None where that is not known.

        The page says it of the new tree. The old one is plain where every leaf whose counts
        are told predicts just what was observed.
        """
        found = _FURTHER.search(plain(summary["predictions"]))
        if side == "new" and summary["trees"]["old"] is not None:
            if found is not None:
                return float(found["low"]), float(found["high"] or found["low"]) + 0.5
            return (0.0, 0.0) if summary["predictions"] else None
        plain_leaves = 0
        for leaf in self.census.trees[side].boxes:
            told = read_count(str(drawn["observed"][leaf]))
            share = read_share(str(drawn["predicted"][leaf]))
            if told is None or share is None or told.low != told.high or not told.total:
                continue
            if not share[0] - 1e-9 <= told.low / told.total <= share[1] + 1e-9:
                return None
            plain_leaves += 1
        return (0.0, 0.0) if plain_leaves >= 2 else None

    # -- people and performance ---------------------------------------------------------------

    def _people(self, people: Mapping[str, Any]) -> None:
        self._happened(people["flips"], "flips")
        for points, told in people["moved"].items():
            self._happened(told, f"moved_{points}")
        for measure in people["performance"]:
            self._measure(measure, "", "")
        for column in people["subgroups"]:
            for group in column["groups"]:
                where = (column["name"], group["name"])
                everyone = self.census.count(column=where[0], group=where[1])
                source = f"page: {where[0]} {where[1]}"
                if finite(group["n"]):
                    self.count(everyone, group["n"], group["n"], f"{source}: n")
                shares = {"flips": group["flips"]}
                shares |= {f"moved_{points}": told for points, told in group["moved"].items()}
                for event, told in shares.items():
                    if finite(told["share"]):
                        hits = self.census.event(event, *where)
                        share = rounded(told["share"], 3)
                        self.share(hits, everyone, share, f"{source}: {event} {told['share']}")
                for measure in group["measures"]:
                    self._measure(measure, *where)

    def _happened(self, told: Mapping[str, Any], event: str) -> None:
        everyone, hits = self.census.count(), self.census.event(event)
        if finite(told["count"]):
            self.count(hits, told["count"], told["count"], f"page: {event} {told['count']}")
        if finite(told["share"]):
            self.share(hits, everyone, rounded(told["share"], 4), f"page: share of {event}")
        if told["masked"] and finite(told["n"]):
            few = self.census.min_cell - 1
            rest = everyone - hits
            # Too few, or all but too few.
            self.solver.either(
                [
                    [Constraint(hits, 1, few, f"page: {event} masked")],
                    [Constraint(rest, 1, few, f"page: {event} masked")],
                ]
            )

    def _measure(self, measure: Mapping[str, Any], column: str, group: str) -> None:
        digits = 3 if measure["kind"] in ("share", "signed share") else 4
        source = f"page: {column} {group}: {measure['name']}"
        values = {"old": measure["old"], "new": measure["own"]}
        values = {k: v[0] if isinstance(v, list) else v for k, v in values.items()}
        for side, value in values.items():
            if finite(value):
                told = rounded(value, digits)
                self.measured(measure["name"], side, told, column, group, f"{source} {value}")
        if finite(measure["n"]):
            self.rests_on(measure["name"], int(measure["n"]), column, group, f"{source}: n")

    def confusion(self, side: str, column: str, group: str) -> dict[str, Coefficients]:
        """Counts of decisions and outcomes of some new rows under one tree, two classes."""
        census, positive = self.census, self.positive
        yes = census.labelled(side, positive)
        where = {"column": column, "group": group}
        return {
            "TP": census.count(**where, outcome=positive, atoms=yes),
            "FN": census.count(**where, outcome=positive, atoms=~yes),
            "FP": census.count(**where, outcome=1 - positive, atoms=yes),
            "TN": census.count(**where, outcome=1 - positive, atoms=~yes),
        }

    def measured(
        self, name: str, side: str, told: Range, column: str, group: str, source: str
    ) -> None:
        """Read a measure of one tree on some new rows."""
        census = self.census
        everyone = census.count(column=column, group=group)
        name = name.lower()
        if name in ("brier score", "calibration in the large") or name.startswith("calibration"):
            self._mean_of_values(name, side, told, column, group, source)
            return
        if len(census.classes) != 2 or not census.classifier:
            if name == "accuracy":
                right = sum(
                    census.count(
                        column=column, group=group, outcome=k, atoms=census.labelled(side, k)
                    )
                    for k in range(len(census.classes))
                )
                self.share(np.asarray(right), everyone, told, source)
            return
        of = self.confusion(side, column, group)
        pairs = {
            "accuracy": (of["TP"] + of["TN"], everyone),
            "sensitivity": (of["TP"], of["TP"] + of["FN"]),
            "specificity": (of["TN"], of["TN"] + of["FP"]),
            "positive predictive value": (of["TP"], of["TP"] + of["FP"]),
            "negative predictive value": (of["TN"], of["TN"] + of["FN"]),
            "flagged": (of["TP"] + of["FP"], everyone),
            "flagged positive": (of["TP"] + of["FP"], everyone),
        }
        if name in pairs:
            self.share(*pairs[name], told, source)
        elif name == "balanced accuracy":
            self.later.append(partial(self._balanced, of, told, source))

    def finish(self) -> None:
        """Read what needs to know what else was read."""
        later, self.later = self.later, []
        for read in later:
            read()

    def _balanced(self, of: Mapping[str, Coefficients], told: Range, source: str) -> None:
        """(TP / P + TN / N) / 2 is linear once P and N are: one alternative for each pair."""
        ill, well = of["TP"] + of["FN"], of["TN"] + of["FP"]
        bounds = [self.solver.range_of(whole) for whole in (ill, well)]
        sizes = [range(math.ceil(low - 1e-6), math.floor(high + 1e-6) + 1) for low, high in bounds]
        if any(len(size) > MOST_SIZES for size in sizes):
            return
        alternatives = [
            [
                Constraint(ill, p, p, source),
                Constraint(well, n, n, source),
                Constraint(of["TP"] / p + of["TN"] / n, 2 * told[0], 2 * told[1], source),
            ]
            for p in sizes[0]
            for n in sizes[1]
            if p and n
        ]
        if alternatives:
            self.solver.either(alternatives)
            self.read.append(source)

    def _mean_of_values(
        self, name: str, side: str, told: Range, column: str, group: str, source: str
    ) -> None:
        """Read means over people of what their leaf predicts: linear in the counts at leaves."""
        census, tree = self.census, self.census.trees[side]
        k = len(census.classes)
        leaves = census.leaf[:, census.names.index(side)]
        if not census.classifier or any(tree.values[int(leaf)] is None for leaf in leaves):
            return
        # Shares at leaves are rounded themselves.
        values = np.array([tree.values[int(leaf)] for leaf in leaves], dtype=float)
        errors = np.where(np.isclose(values, np.round(values, 2)), 0.05, 0.0005)
        columns = [1] if k == 2 else list(range(k))
        weights = np.zeros((len(leaves), k))
        error = np.zeros((len(leaves), k))
        for y in range(k):
            if name == "brier score":
                off = values[:, columns] - (np.array(columns) == y)
                weights[:, y] = (off**2).sum(axis=1)
                error[:, y] = (2 * np.abs(off) * errors[:, columns] + errors[:, columns] ** 2).sum(
                    axis=1
                )
            else:
                weights[:, y] = values[:, self.positive] - (y == self.positive)
                error[:, y] = errors[:, self.positive]
        where = {"column": column, "group": group}
        everyone = census.count(**where)
        low = census.count(**where, weights=weights - error)
        high = census.count(**where, weights=weights + error)
        self.solver.add(low - told[1] * everyone, -np.inf, 0, source)
        self.solver.add(high - told[0] * everyone, 0, np.inf, source)
        self.read.append(source)

    def rests_on(self, name: str, n: int, column: str, group: str, source: str) -> None:
        """Read how many rows a measure rests on."""
        census, name = self.census, name.lower()
        where = {"column": column, "group": group}
        everyone = census.count(**where)
        by_outcome = [census.count(**where, outcome=k) for k in range(len(census.classes))]
        if name in ("accuracy", "balanced accuracy", "flagged", "flagged positive", "brier score"):
            self.count(everyone, n, n, source)
        elif len(census.classes) != 2:
            return
        elif name == "sensitivity":
            self.count(by_outcome[self.positive], n, n, source)
        elif name == "specificity":
            self.count(by_outcome[1 - self.positive], n, n, source)
        elif name == "auc":
            self.least_of(by_outcome, n, source)
        elif name.endswith("predictive value"):
            of = [self.confusion(side, column, group) for side in ("old", "new")]
            parts = ("TP", "FP") if name.startswith("positive") else ("TN", "FN")
            self.least_of([c[parts[0]] + c[parts[1]] for c in of], n, source)

    def least_of(self, counts: list[Coefficients], n: int, source: str) -> None:
        """The least of some counts is n."""
        for of in counts:
            self.solver.add(of, n, np.inf, source)
        self.solver.either([[Constraint(of, n, n, source)] for of in counts])
        self.read.append(source)

    # -- candidates ---------------------------------------------------------------------------

    def _frontier(self, frontier: Mapping[str, Any]) -> None:
        for row in frontier["candidates"]:
            self.candidates[row["name"]] = row
            for event in EVENTS:
                if finite(row.get(event)):
                    told = rounded(row[event], 4)
                    self.candidate(row, event, told, f"page: candidate {row['name']}: {event}")

    def candidate(self, row: Mapping[str, Any], event: str, told: Range, source: str) -> None:
        """Read to what share of the rows a candidate makes something happen."""
        census, everyone = self.census, self.census.count()
        if row.get("chosen"):
            self.share(census.event(event), everyone, told, source)
            return
        tree = f"candidate {row['tree']}"
        if event == "flips" and census.classifier and tree in census.trees:
            flips = census.count(atoms=census.differs("old", tree))
            self.share(flips, everyone, told, source)


def leaves_of(census: Census) -> Iterator[tuple[str, int, NDArray[np.bool_]]]:
    """Every leaf of the two trees that are compared, with its atoms."""
    for side in ("old", "new"):
        if side in census.trees:
            for leaf in census.trees[side].boxes:
                yield side, leaf, census.at(side, leaf)
