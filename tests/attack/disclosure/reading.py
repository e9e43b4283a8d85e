"""From what was published to bounds on counts of people.

Every number that says something about people is turned into a bound on a sum of the cells of
:class:`~tests.attack.disclosure.census.Census`, with where it was read. Ratios need no known
denominator: "part is 40 to 50 % of whole" is linear in both.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.attack.disclosure.census import EVENTS, View
from tests.attack.disclosure.numerals import Range, coarse, finite, plain, read_share, rounded
from tests.attack.disclosure.reading_measures import MOST_SIZES, MeasureReader
from tests.attack.disclosure.solver import Coefficients, Constraint

__all__ = ["Reader", "leaves_of"]

_EXACT_ROWS = re.compile(r"(?P<rows>\d[\d,]*) \(")
_FURTHER = re.compile(r"counts as (?P<low>\d+)(?: to (?P<high>\d+))? further rows")


class Reader(MeasureReader):
    """Reads one thing published after the other into the bounds of a census."""

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
            event = "flips" if fact["label"] == "Decisions that change" else ""
            if fact["label"].endswith("moves over 5 points"):
                event = "moved_5"
            if event:
                self.words(census.event(event), everyone, fact["detail"], "page: headline")
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
        if isinstance(half["rows"], str):
            exact = _EXACT_ROWS.match(plain(half["rows"]))
            if exact:
                n = int(exact["rows"].replace(",", ""))
                self.count(rows, n, n, f"{source}: rows {half['rows']!r}")
            else:
                self.words(rows, everyone, half["rows"], f"{source}: rows")
        if census.classifier and isinstance(half["observed"], str):
            part = census.count(atoms=here, outcome=self._shown(side, leaf))
            self.words(part, rows, half["observed"], f"{source}: observed")

    def _drawing(self, drawn: Mapping[str, Any], side: str, summary: Mapping[str, Any]) -> None:
        """Read predictions and training counts of each leaf of a drawn tree."""
        census = self.census
        self.strength[side] = strength = self._strength(drawn, side, summary)
        for leaf in census.trees[side].boxes:
            shown = self._shown(side, leaf)
            rows, part = self.trained(side, leaf), self.trained(side, leaf, shown)
            source = f"page: leaf {leaf} of the {side} tree"
            self.words(part, rows, drawn["observed"][leaf], f"{source}: observed")
            if isinstance(drawn["share"][leaf], str) and summary["trees"]["old"] is not None:
                here = census.count(atoms=census.at(side, leaf))
                self.words(here, census.count(), drawn["share"][leaf], f"{source}: share")
            if not census.classifier or strength is None:
                continue
            value, words = drawn["value"][leaf], drawn["predicted"][leaf]
            if value is not None:
                for k in range(len(census.classes)):
                    own = self.trained(side, leaf, k)
                    told = rounded(value[k], 3)
                    self.predicted(own, rows, told, strength, f"{source}: value {value[k]}")
            self.predicted_words(side, leaf, words, source)
            if strength == (0.0, 0.0) and side == "old":
                self._decided(side, leaf, summary, source)

    def predicted_words(self, side: str, leaf: int, words: Any, source: str) -> None:
        """Read what a leaf predicts, in words."""
        strength = self.strength.get(side)
        share = read_share(words) if isinstance(words, str) else None
        if strength is None or share is None:
            return
        shown = self._shown(side, leaf)
        rows, part = self.trained(side, leaf), self.trained(side, leaf, shown)
        self.predicted(part, rows, share, strength, f"{source}: predicts {words!r}")
        if strength == (0.0, 0.0) and plain(words)[:1] in "≤≥":
            self._range_of_few(part, rows, words, f"{source}: predicts {words!r}")

    def _range_of_few(
        self, part: Coefficients, rows: Coefficients, words: str, source: str
    ) -> None:
        """Undo how the range of a share of too few people is written.

        "≤ 45 %" is 4 of 9 rounded up: who knows the policy knows the rows.
        """
        share, alternatives = read_share(words), []
        assert share is not None
        few = self.census.min_cell
        for most in (width * few - 1 for width in (1, 2, 4)):
            for n in range(1, self.solver.most + 1):
                if plain(words)[0] == "≤" and math.ceil(100 * most / n - 1e-9) == round(
                    100 * share[1]
                ):
                    ends = (0, min(most, n))
                elif plain(words)[0] == "≥" and math.floor(100 * (n - most) / n + 1e-9) == round(
                    100 * share[0]
                ):
                    ends = (max(n - most, 0), n)
                else:
                    continue
                alternatives.append(
                    [Constraint(rows, n, n, source), Constraint(part, *ends, source)]
                )
        if 0 < len(alternatives) <= MOST_SIZES:
            self.solver.either(alternatives)

    def _decided(self, side: str, leaf: int, summary: Mapping[str, Any], source: str) -> None:
        """A plain leaf of two classes is decided by its share."""
        if len(self.census.classes) != 2:
            return
        threshold = summary["decision_threshold"]
        words = plain(summary["decision"])
        if words.startswith("Deployed tree: "):
            found = re.search(r"from a risk of ([\d.]+) %", words.split(". Proposed tree")[0])
            threshold = 0.5 if found is None else float(found[1]) / 100
        threshold = 0.5 if threshold is None else threshold
        yes = self.census.trees[side].labels[leaf] == self.positive
        part, rows = self.trained(side, leaf, self.positive), self.trained(side, leaf)
        bounds = (threshold - 0.001, 1.0) if yes else (0.0, threshold + 0.001)
        self.share(part, rows, bounds, f"{source}: decided")

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

        The page says it of the new tree; of the old one whoever knows what was deployed.
        """
        if side == "old":
            return (0.0, 0.0) if self.old_is_plain else None
        found = _FURTHER.search(plain(summary["predictions"]))
        if found is not None:
            return float(found["low"]), float(found["high"] or found["low"]) + 0.5
        return (0.0, 0.0) if summary["predictions"] else None

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
            # Too few, or all but too few, or too few whose risk moves by 5 to 10 points.
            small = [hits, everyone - hits]
            if event == "moved_10":
                small.append(self.census.event("moved_5") - hits)
            source = f"page: {event} masked"
            self.solver.either([[Constraint(of, 1, few, source)] for of in small])

    def _measure(self, measure: Mapping[str, Any], column: str, group: str) -> None:
        digits = 3 if measure["kind"] in ("share", "signed share") else 4
        source = f"page: {column} {group}: {measure['name']}"
        old, low, _ = measure["old"]
        ranges = measure.get("ranges") or {}
        row = {
            "deployed": old,
            "own": measure["own"],
            "n": measure["n"],
            "deployed_range": ranges.get("old"),
            # Without an interval it is not exact.
            "told": "exact" if low is not None else "range",
        }
        self.measure_row(measure["name"], row, digits, column, group, source)

    # -- candidates ---------------------------------------------------------------------------

    def _frontier(self, frontier: Mapping[str, Any]) -> None:
        for row in frontier["candidates"]:
            self.candidates[row["name"]] = row
            for event in EVENTS:
                source = f"page: candidate {row['name']}: {event} {row.get(event)}"
                words = row.get(f"{event}_words")
                told = read_share(words) if isinstance(words, str) else None
                if told is None and finite(row.get(event)):
                    told = self.event_share(row[event])
                if told is not None:
                    self.candidate(row, event, told, source)

    def event_share(self, value: float) -> Range:
        """Range of a share of the rows: with all digits, or the middle of a step."""
        exact = rounded(value, 4)
        if not self.n_rows or value == 0 or self.census.min_cell <= 1:
            return exact
        low, high = coarse(value, self.n_rows, self.census.min_cell)
        steps = low / (high - low)
        # The middle of a step can be an exact share as well.
        return (low, high) if abs(steps - round(steps)) < 1e-6 else exact

    def candidate(self, row: Mapping[str, Any], event: str, told: Range, source: str) -> None:
        """Read to what share of the rows a candidate makes something happen."""
        census, everyone = self.census, self.census.count()
        if row.get("chosen"):
            self.share(census.event(event), everyone, told, source)
        tree = f"candidate {row['tree']}"
        if event == "flips" and census.classifier and tree in census.trees:
            flips = census.count(atoms=census.differs("old", tree))
            self.share(flips, everyone, told, source)


def leaves_of(census: View) -> Iterator[tuple[str, int, NDArray[np.bool_]]]:
    """Every leaf of the two trees that are compared, with its atoms."""
    for side in ("old", "new"):
        if side in census.trees:
            for leaf in census.trees[side].boxes:
                yield side, leaf, census.at(side, leaf)
