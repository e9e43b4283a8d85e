"""Measures of decisions and of risks, as bounds on the counts they are made of.

Sensitivity, predictive values, accuracy and the share flagged are quotients of the same few
counts; a Brier score and a calibration are means over leaves, linear in their counts once the
predictions are known.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from tests.attack.disclosure.areas import Area
from tests.attack.disclosure.census import View
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

__all__ = ["MOST_SIZES", "MeasureReader"]

MOST_SIZES = 12
"""Possible denominators up to which a mean of two shares is tried for each."""

_BIN = re.compile(r"< ?\d+ ?%|\d+–\d+ ?%")


def _unnamed(name: str) -> str:
    """Name of a measure without the class it is of: "sensitivity" of "Sensitivity for bad"."""
    return re.split(r" (?:for|as) ", name, maxsplit=1)[0].lower()


class MeasureReader:
    """Reads counts, shares and measures of some people into the bounds of a census."""

    def __init__(self, census: View, *, old_is_plain: bool = False) -> None:
        self.census = census
        self.old_is_plain = old_is_plain
        self.solver = census.solver
        self.positive = 1
        self.leaf_of_rule: dict[str, dict[int, int]] = {"old": {}, "new": {}}
        self.n_rows: int | None = None
        self.old_rows_given = True
        self.strength: dict[str, Range | None] = {}
        self.candidates: dict[str, Mapping[str, Any]] = {}
        self.areas: dict[tuple[str, str, str], Area] = {}
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
            if _BIN.match(plain(text)) and share[1] < 1:
                # A step holds its lower end and not its upper: n hundredths less than that.
                self.solver.add(part - share[1] * whole, -np.inf, -0.005, f"{source}: {text!r}")

    # -- measures ----------------------------------------------------------------------

    def measure_row(
        self,
        name: str,
        row: Mapping[str, Any],
        digits: int,
        column: str,
        group: str,
        source: str,
    ) -> None:
        """Read one line of a table of measures: of the deployed tree, and of the proposal's own."""
        words, value = row.get("deployed_range"), row["deployed"]
        if isinstance(words, str):
            share = read_share(words)
            if share is None:  # "about 0.15": a number that is no share
                share = self._rounded_measure(name, value, row["n"])
            self.measured(name, "old", share, column, group, f"{source} {words!r}", step=True)
        elif finite(value):
            told = rounded(value, digits)
            if row.get("told") == "range":
                told = self._rounded_measure(name, value, row["n"])
            self.measured(name, "old", told, column, group, f"{source} {value}")
        if finite(row["own"]):
            own = rounded(row["own"], digits)
            self.measured(name, "new", own, column, group, f"{source} own {row['own']}")
        if finite(row["n"]):
            self.rests_on(name, int(row["n"]), column, group, f"{source}: n")

    def _rounded_measure(self, name: str, value: float, n: Any) -> Range:
        if name == "AUC":
            return rounded(value, 2)
        step = 0.2
        if finite(n):
            low, high = coarse(1.0, n, self.census.min_cell)
            step = high - low
        return value - step / 2, value + step / 2

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
        self,
        name: str,
        side: str,
        told: Range,
        column: str,
        group: str,
        source: str,
        *,
        step: bool = False,
    ) -> None:
        """Read a measure of one tree on some new rows; of a ``step`` the upper end is not in it."""
        census = self.census
        everyone = census.count(column=column, group=group)
        name = _unnamed(name)
        if name == "auc" and len(census.classes) == 2:
            self.area(side, told, column, group)
            self.read.append(source)
            return
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
            part, whole = pairs[name]
            self.share(part, whole, told, source)
            if step and told[1] < 1:
                self.solver.add(part - told[1] * whole, -np.inf, -0.005, source)
        elif name == "balanced accuracy":
            self.later.append(partial(self._balanced, of, told, source))

    def area(self, side: str, told: Range, column: str = "", group: str = "") -> None:
        """Keep what is known of an area under the ROC curve."""
        known = self.areas.get((side, column, group))
        if known is not None:
            told = max(told[0], known.told[0]), min(told[1], known.told[1])
        self.areas[side, column, group] = Area(side, column, group, self.positive, told)

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
                Constraint(
                    n * of["TP"] + p * of["TN"], 2 * p * n * told[0], 2 * p * n * told[1], source
                ),
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
        leaves = census.leaves_in(side)
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
        census, name = self.census, _unnamed(name)
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
