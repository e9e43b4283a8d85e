"""Which whole numbers a count can still be, given everything that was published.

Unknowns are counts of people: whole, never negative. What was published bounds sums of them,
which makes every question ("can it be another number than three?") an integer programme.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array

__all__ = ["Constraint", "Contradiction", "Solver", "Undecided"]

Coefficients = NDArray[np.float64]

# Published decimals are rounded in binary: a bound must not fail on the last bit.
SLACK = 1e-5
SECONDS = 60.0


class Contradiction(AssertionError):
    """Nothing fits what was published: something was misread."""


class Undecided(AssertionError):
    """The solver gave up before it knew: this proves nothing and must not pass."""


@dataclass(frozen=True, eq=False)
class Constraint:
    """A weighted sum of unknowns that lies within bounds, and where that was published."""

    of: Coefficients
    low: float
    high: float
    source: str = ""

    def holds(self, counts: Coefficients) -> bool:
        """Whether given counts agree with it."""
        total = float(self.of @ counts)
        return self.low - 1e-6 <= total <= self.high + 1e-6


@dataclass
class Solver:
    """Unknown counts of people, and all that bounds them.

    Parameters
    ----------
    n : int
        How many unknowns there are.
    most : int
        No count is larger.
    """

    n: int
    most: int
    constraints: list[Constraint] = field(default_factory=list)
    choices: list[list[list[Constraint]]] = field(default_factory=list)
    _found: list[Coefficients] = field(default_factory=list)
    _built: tuple[Any, Coefficients, Coefficients, int] | None = None

    def add(self, of: Coefficients, low: float, high: float, source: str = "") -> None:
        """Bound a sum of unknowns."""
        self.constraints.append(Constraint(np.asarray(of, dtype=float), low, high, source))
        self._forget()

    def ratio(
        self, part: Coefficients, whole: Coefficients, low: float, high: float, source: str = ""
    ) -> None:
        """Bound a ratio of two sums, whether or not the denominator is known.

        A ratio written with all its digits is the fraction with the least denominator.
        """
        if high - low < 1e-7:
            ratio = Fraction((low + high) / 2).limit_denominator(self.most)
            if abs(float(ratio) - (low + high) / 2) < 1e-8:
                self.add(ratio.denominator * part - ratio.numerator * whole, 0.0, 0.0, source)
                return
        self.add(part - low * whole, 0.0, np.inf, source)
        self.add(part - high * whole, -np.inf, 0.0, source)

    def either(self, alternatives: Sequence[Sequence[Constraint]]) -> None:
        """Say that all constraints of one of the alternatives hold."""
        self.choices.append([list(each) for each in alternatives])
        self._forget()

    def _forget(self) -> None:
        self._found.clear()
        self._built = None

    def broken_by(self, counts: Coefficients) -> list[str]:
        """Say which of the published facts contradict given counts."""
        broken = [c.source for c in self.constraints if not c.holds(counts)]
        for choice in self.choices:
            if not any(all(c.holds(counts) for c in each) for each in choice):
                broken.append(choice[0][0].source)
        return broken

    # -- questions ---------------------------------------------------------------------

    def seen(self, of: Coefficients) -> set[int]:
        """Return values of a sum that were met in other searches."""
        return {round(float(of @ found)) for found in self._found}

    def possible(self, of: Coefficients, at_least: int) -> list[int]:
        """Return values that a sum can have: all of them, or ``at_least`` so many."""
        seen = self.seen(of)
        if len(seen) >= at_least:
            return sorted(seen)
        values: list[int] = []
        floor = -np.inf
        while len(values) < at_least:
            found = self._least(of, floor)
            if found is None:
                break
            values.append(round(float(of @ found)))
            floor = values[-1] + 1
        if not values:
            raise Contradiction("expected counts that fit everything published, got none")
        return values

    def feasible(self, further: Sequence[Constraint]) -> bool:
        """Whether there are counts that fit further constraints as well."""
        return self._least(np.zeros(self.n), -np.inf, further=further) is not None

    def range_of(self, of: Coefficients) -> tuple[float, float]:
        """Return bounds of a sum that are quick to find, and may be too wide."""
        low, high = (self._least(sign * of, -np.inf, whole=False) for sign in (1.0, -1.0))
        if low is None or high is None:
            raise Contradiction("expected counts that fit everything published, got none")
        return float(of @ low), float(of @ high)

    def _least(
        self,
        of: Coefficients,
        floor: float,
        *,
        whole: bool = True,
        further: Sequence[Constraint] = (),
    ) -> Coefficients | None:
        """Find the counts with the least sum that is no less than a floor; None without any."""
        if self._built is None:
            self._built = self._system()
        matrix, low, high, n_binary = self._built
        size = self.n + n_binary
        row = np.zeros(size)
        row[: self.n] = of
        limits = [LinearConstraint(row[None, :], floor, np.inf)]
        if matrix is not None:
            limits.append(LinearConstraint(matrix, low, high))
        for c in further:
            row_of = np.concatenate([c.of, np.zeros(n_binary)])
            limits.append(LinearConstraint(row_of[None, :], c.low, c.high))
        upper = np.concatenate([np.full(self.n, float(self.most)), np.ones(n_binary)])
        result = milp(
            row,
            integrality=np.full(size, int(whole)),
            bounds=Bounds(np.zeros(size), upper),
            constraints=limits,
            options={"time_limit": SECONDS, "mip_rel_gap": 0.0},
        )
        if result.status == 2:
            return None
        if result.x is None or result.status != 0:
            raise Undecided(f"expected a solution or none, got: {result.message}")
        if not whole:
            return np.asarray(result.x[: self.n])
        found = np.round(result.x[: self.n])
        self._found.append(found)
        return found

    def _system(self) -> tuple[Any, Coefficients, Coefficients, int]:
        """All constraints as one matrix; a choice has a switch (0 or 1) per alternative."""
        rows: list[Coefficients] = []
        low: list[float] = []
        high: list[float] = []
        n_binary = sum(len(choice) for choice in self.choices)
        width = self.n + n_binary

        def put(of: Coefficients, least: float, most: float, extra: dict[int, float]) -> None:
            row = np.zeros(width)
            row[: self.n] = of
            for at, value in extra.items():
                row[at] = value
            rows.append(row)
            low.append(least - SLACK)
            high.append(most + SLACK)

        # The same is published in many places.
        alike = {(c.of.tobytes(), c.low, c.high): c for c in self.constraints}
        for c in alike.values():
            put(c.of, c.low, c.high, {})
        at = self.n
        for choice in self.choices:
            switches = range(at, at + len(choice))
            at += len(choice)
            put(np.zeros(self.n), 1.0, 1.0, dict.fromkeys(switches, 1.0))
            for switch, each in zip(switches, choice, strict=True):
                for c in each:
                    reach = float(np.abs(c.of).sum()) * self.most
                    if np.isfinite(c.low):  # of >= low - reach + reach * switch
                        lift = reach + c.low
                        put(c.of, c.low - lift, np.inf, {switch: -lift})
                    if np.isfinite(c.high):
                        lift = reach - c.high
                        put(c.of, -np.inf, c.high + lift, {switch: lift})
        if not rows:
            return None, np.zeros(0), np.zeros(0), n_binary
        return csr_array(np.array(rows)), np.array(low), np.array(high), n_binary
