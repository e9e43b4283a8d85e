"""What an area under the ROC curve gives away: it is a sum over pairs of leaves of their counts.

Not linear, so no integer programme: where few tables of leaves by outcome are left, all of them
are tried, those that do not give the published area are struck out, and the rest must still fit
everything else.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from tests.attack.disclosure.census import View
from tests.attack.disclosure.numerals import Range
from tests.attack.disclosure.solver import Constraint

__all__ = ["Area", "Fitting"]

MOST_TABLES = 4000
"""Ways to spread one outcome over the leaves, up to which all are tried."""
MOST_TRIES = 25
"""Tables that give the area, of which one has to fit everything else."""

Tables = NDArray[np.int64]


@dataclass(frozen=True)
class Area:
    """An area of one tree on some new rows, as far as it was told."""

    side: str
    column: str
    group: str
    positive: int
    told: Range

    def cells(self, census: View) -> Iterator[tuple[int, int, NDArray[np.float64]]]:
        """Leaf, outcome and count of each cell that the area is made of."""
        for outcome in (self.positive, 1 - self.positive):
            for leaf in census.trees[self.side].boxes:
                here = census.at(self.side, leaf)
                yield (
                    leaf,
                    outcome,
                    census.count(column=self.column, group=self.group, outcome=outcome, atoms=here),
                )


@dataclass(frozen=True)
class Fitting:
    """All tables of leaves by outcome that give a published area; ``fits`` says which pairs."""

    area: Area
    leaves: list[int]
    ill: Tables
    well: Tables
    fits: NDArray[np.bool_]

    @classmethod
    def of(cls, census: View, area: Area) -> Fitting | None:
        """Try all tables; None where they are too many for that."""
        tree = census.trees[area.side]
        leaves = list(tree.boxes)
        cells = {(at, y): of for at, y, of in area.cells(census)}
        ill = _tables(census, [cells[at, area.positive] for at in leaves])
        well = (
            None
            if ill is None
            else _tables(census, [cells[at, 1 - area.positive] for at in leaves])
        )
        if ill is None or well is None:
            return None
        low, high = _wins([tree.values[at] for at in leaves], area.positive)
        pairs = ill.sum(axis=1)[:, None] * well.sum(axis=1)[None, :]
        fits = (ill @ low @ well.T <= area.told[1] * pairs + 1e-9) & (
            ill @ high @ well.T >= area.told[0] * pairs - 1e-9
        )
        return cls(area, leaves, ill, well, fits)

    def strike_out(self, census: View, leaf: int, outcome: int, values: list[int]) -> list[int]:
        """Return which values of a count at a leaf are left when the area is known as well."""
        own = self.ill if outcome == self.area.positive else self.well
        left = []
        for value in values:
            rows = own[:, self.leaves.index(leaf)] == value
            ours = rows[:, None] if outcome == self.area.positive else rows[None, :]
            found = np.argwhere(self.fits & ours)
            if len(found) and self._any_fits(census, found):
                left.append(value)
        return left

    def _any_fits(self, census: View, found: NDArray[np.intp]) -> bool:
        """Whether one of some tables fits everything else; where not all are tried: yes."""
        positive = self.area.positive
        cells = {(at, y): of for at, y, of in self.area.cells(census)}
        order = np.random.default_rng(0).permutation(len(found))[:MOST_TRIES]
        for i, j in found[order]:
            fixed = [
                Constraint(cells[at, y], float(n), float(n))
                for y, row in ((positive, self.ill[i]), (1 - positive, self.well[j]))
                for at, n in zip(self.leaves, row, strict=True)
            ]
            if census.solver.feasible(fixed):
                return True
        return len(found) > MOST_TRIES


def _tables(census: View, counts: list[NDArray[np.float64]]) -> Tables | None:
    """All ways to spread an outcome over the leaves; None where they are too many."""
    # What was found possible already may be too much.
    widths = [len(census.solver.seen(of)) for of in counts]
    if math.prod(widths) > 50 * MOST_TABLES:
        return None
    bounds = [census.solver.range_of(of) for of in counts]
    total = census.solver.range_of(np.sum(counts, axis=0))
    spans = [range(math.ceil(a - 1e-6), math.floor(b + 1e-6) + 1) for a, b in bounds]
    if math.prod(len(span) for span in spans) > 50 * MOST_TABLES:
        return None
    every = np.array(list(product(*spans)), dtype=np.int64)
    sums = every.sum(axis=1)
    every = every[(sums >= total[0] - 1e-6) & (sums <= total[1] + 1e-6)]
    return every if 0 < len(every) <= MOST_TABLES else None


def _wins(values: list[list[float] | None], positive: int) -> tuple[NDArray[np.float64], ...]:
    """How much a pair of leaves adds at least and at most: 1 where the first predicts more."""
    n = len(values)
    low, high = np.zeros((n, n)), np.ones((n, n))
    for i, j in product(range(n), repeat=2):
        one, two = values[i], values[j]
        if i == j:
            low[i, j] = high[i, j] = 0.5
        elif one is not None and two is not None:
            lead = one[positive] - two[positive]
            # Closer than they are rounded: nobody knows which is larger.
            if abs(lead) > 0.0011:
                low[i, j] = high[i, j] = float(lead > 0)
    return low, high
