"""Limits that a new tree must hold before it may replace the deployed one.

A build can fail on them: the command line exits with code 3 when a gate does not hold,
and :meth:`GateCheck.raise_if_failed` raises :class:`GateError`. A limit is not held by a number
that says nothing: one counted on rows whose columns are broken, or measured by a yardstick that
the new tree brought along (:class:`GateFault`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from steadytree.core.format import plain_json
from steadytree.core.words import PLAIN
from steadytree.exceptions import GateError, InputError

__all__ = ["COUNTED", "GATES", "GateCheck", "GateFault", "GateResult", "check_gates"]

# Limits are decimal numbers that people type: 0.1 must not fail on the last bit.
ROUNDING = 1e-12


@dataclass(frozen=True)
class _Gate:
    measure: str
    upper: bool  # the measure may not exceed the limit; else not fall below it
    words: str
    show: Callable[[float], str]
    valid: Callable[[float], bool]
    expected: str


_SHARE = (lambda v: PLAIN.percent(v, 1), lambda v: 0 <= v <= 1, "a share between 0 and 1")
_NUMBER = (PLAIN.signed, math.isfinite, "a number")
_COUNT = (lambda v: f"{v:.0f}", lambda v: v >= 1 and v == int(v), "a whole number from 1")

GATES: Mapping[str, _Gate] = {
    "max_dissimilarity": _Gate("dissimilarity", True, "dissimilarity", *_SHARE),
    "max_flips": _Gate("flips", True, "rows with another decision", *_SHARE),
    "max_moved_5": _Gate("moved_5", True, "rows whose risk moves over 5 points", *_SHARE),
    "max_moved_10": _Gate("moved_10", True, "rows whose risk moves over 10 points", *_SHARE),
    "min_score_change": _Gate("score_change", False, "change of the score", *_NUMBER),
    "max_leaves": _Gate("n_leaves", True, "leaves", *_COUNT),
}
"""The gates by name: what each measures, and on which side of it the limit lies."""

COUNTED = frozenset({"flips", "moved_5", "moved_10", "score_change"})
"""Measures that are counted on rows."""


@dataclass(frozen=True)
class GateFault:
    """Why some measures say nothing: no limit on them holds.

    ``words`` is a clause ("column 'age' is empty in these rows"); ``column`` names the column of
    the rows that somebody may accept as it is.
    """

    words: str
    measures: Collection[str] = COUNTED
    column: str | None = None

    @classmethod
    def of_column(cls, name: str, words: str, measures: Collection[str] = COUNTED) -> GateFault:
        """Say what is wrong with a column of the rows."""
        return cls(f"column {name!r} {words}", measures, name)


@dataclass(frozen=True)
class GateResult:
    """One limit, what was measured, and whether it held.

    Attributes
    ----------
    name : str
        Of the limit: "max_flips".
    limit : float
    measured : float
        NaN where it could not be measured: such a gate does not hold.
    passed : bool
    faults : tuple of str
        Why the measure says nothing, in words; a gate with one does not hold.

    Examples
    --------
    >>> from steadytree.retraining import GateResult
    >>> GateResult("max_flips", limit=0.05, measured=0.02, passed=True).text
    'rows with another decision 2.0 %, at most 5.0 %: passed'
    """

    name: str
    limit: float
    measured: float
    passed: bool
    faults: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """Return the result in words: "dissimilarity 12.0 %, at most 10.0 %: failed"."""
        gate = GATES[self.name]
        side = "at most" if gate.upper else "at least"
        measured = "unknown" if math.isnan(self.measured) else gate.show(self.measured)
        verdict = "passed" if self.passed else "failed"
        if self.faults:
            verdict = f"failed, since {' and '.join(self.faults)}"
        return f"{gate.words} {measured}, {side} {gate.show(self.limit)}: {verdict}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON.

        Returns
        -------
        dict
        """
        return {
            "name": self.name,
            "limit": self.limit,
            "measured": plain_json(self.measured),
            "passed": self.passed,
            "faults": list(self.faults),
            "text": self.text,
        }


@dataclass(frozen=True)
class GateCheck:
    """The results of all limits that were set; true when every one of them held.

    Attributes
    ----------
    results : tuple of GateResult
        One per limit.

    Examples
    --------
    >>> from steadytree.retraining import check_gates
    >>> check = check_gates({"dissimilarity": 0.12, "flips": 0.01}, max_dissimilarity=0.1)
    >>> bool(check)
    False
    >>> [gate.name for gate in check.failed]
    ['max_dissimilarity']
    """

    results: tuple[GateResult, ...]

    @property
    def passed(self) -> bool:
        """Whether every gate held (also when none was set)."""
        return all(result.passed for result in self.results)

    @property
    def held(self) -> bool:
        """The same as ``passed``: what a History asks."""
        return self.passed

    @property
    def failed(self) -> tuple[GateResult, ...]:
        """The gates that did not hold."""
        return tuple(result for result in self.results if not result.passed)

    def __bool__(self) -> bool:
        return self.passed

    def to_text(self) -> str:
        """Return one line per gate.

        Returns
        -------
        str
        """
        return "\n".join(result.text for result in self.results)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON: ``passed`` and ``results``.

        Returns
        -------
        dict
        """
        return {"passed": self.passed, "results": [result.to_dict() for result in self.results]}

    def raise_if_failed(self) -> None:
        """Raise ``GateError`` naming every gate that did not hold."""
        if not self.passed:
            listed = "; ".join(result.text for result in self.failed)
            raise GateError(
                f"expected every gate to hold, got {len(self.failed)} that did not: {listed}; "
                "keep the deployed tree, raise the price of change, or revise the limit"
            )


def check_gates(
    subject: Any,
    *,
    max_dissimilarity: float | None = None,
    max_flips: float | None = None,
    max_moved_5: float | None = None,
    max_moved_10: float | None = None,
    min_score_change: float | None = None,
    max_leaves: int | None = None,
    score_change: float | None = None,
    accept: Collection[str] = (),
) -> GateCheck:
    """Hold a proposed tree against limits.

    Parameters
    ----------
    subject : Retraining, TreeDiff or mapping
        What to check: anything with ``gate_measures()`` (and ``gate_faults()``, where it knows
        why some of them say nothing), or the measures themselves: ``dissimilarity``, ``flips``,
        ``moved_5``, ``moved_10``, ``score_change``, ``n_leaves``.
    max_dissimilarity : float, optional
        Largest dissimilarity to the deployed tree, between 0 and 1.
    max_flips : float, optional
        Largest share of rows whose decision changes.
    max_moved_5, max_moved_10 : float, optional
        Largest share of rows whose risk moves by more than 5, or 10, points (in regression
        by more than that share of the response range).
    min_score_change : float, optional
        Smallest change of the score (new minus old): -0.01 allows to lose a point.
    max_leaves : int, optional
        Largest number of leaves of the new tree.
    score_change : float, optional
        The change of the score, for a subject that does not know it (a TreeDiff).
    accept : collection of str, optional
        Columns of the rows that are not what the trees were made for, and right so: limits
        may hold all the same.

    Returns
    -------
    GateCheck
        A limit is held when it is met exactly; what could not be measured does not hold.

    Raises
    ------
    InputError
        For a limit that makes no sense, or one whose measure the subject lacks.

    Examples
    --------
    >>> from steadytree.evaluation.gates import check_gates
    >>> check = check_gates({"dissimilarity": 0.12, "flips": 0.01}, max_dissimilarity=0.1)
    >>> print(check.to_text())
    dissimilarity 12.0 %, at most 10.0 %: failed
    """
    limits = {
        "max_dissimilarity": max_dissimilarity,
        "max_flips": max_flips,
        "max_moved_5": max_moved_5,
        "max_moved_10": max_moved_10,
        "min_score_change": min_score_change,
        "max_leaves": max_leaves,
    }
    measures, faults = _measures(subject), _faults(subject, accept)
    if score_change is not None:
        measures["score_change"] = float(score_change)
    results = []
    for name, limit in limits.items():
        if limit is None:
            continue
        gate = GATES[name]
        if math.isnan(limit) or not gate.valid(float(limit)):
            raise InputError(f"expected {gate.expected} as {name}, got {limit}")
        measured = measures.get(gate.measure)
        if measured is None:
            raise InputError(
                f"expected a subject with {gate.words} for {name}, got none; "
                "pass rows (and outcomes, for a score) so that it can be measured"
            )
        spoilt = tuple(fault.words for fault in faults if gate.measure in fault.measures)
        holds = _holds(gate, measured, float(limit)) and not spoilt
        results.append(GateResult(name, float(limit), measured, holds, spoilt))
    return GateCheck(tuple(results))


def _holds(gate: _Gate, measured: float, limit: float) -> bool:
    if math.isnan(measured):
        return False
    return measured <= limit + ROUNDING if gate.upper else measured >= limit - ROUNDING


def _faults(subject: Any, accept: Collection[str]) -> Sequence[GateFault]:
    """Return what is wrong with the measures, but for columns that are accepted."""
    if isinstance(accept, str):
        raise InputError(f"expected a list of columns as accept, got text; write [{accept!r}]")
    faults: Sequence[GateFault] = getattr(subject, "gate_faults", tuple)()
    return [fault for fault in faults if fault.column is None or fault.column not in accept]


def _measures(subject: Any) -> dict[str, float | None]:
    if isinstance(subject, Mapping):
        known = {gate.measure for gate in GATES.values()}
        unknown = sorted(set(subject) - known)
        if unknown:
            raise InputError(f"expected measures among {sorted(known)}, got {unknown}")
        return {name: None if v is None else float(v) for name, v in subject.items()}
    if not hasattr(subject, "gate_measures"):
        raise InputError(
            "expected a Retraining, a TreeDiff or a mapping of measures, "
            f"got {type(subject).__name__}; pass what retrain or diff_trees returned"
        )
    measures: Mapping[str, float | None] = subject.gate_measures()
    return dict(measures)
