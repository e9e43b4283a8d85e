"""Is this history what was written? The chain of digests, checked and told in words.

The chain alone shows what was changed, moved, inserted or taken out between lines. That the last
lines were cut off shows only against a head that was kept elsewhere.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from steadytree.core.bounded_reading import read_bytes
from steadytree.core.quoting import quoted
from steadytree.exceptions import HistoryError, InputError
from steadytree.retraining.history_chain import (
    MISPLACED,
    UNCHAINED,
    Line,
    is_head,
    where_it_belongs,
)
from steadytree.retraining.history_entries import Ledger, take_in

__all__ = ["Verification", "first_fault", "read_history", "verify_history"]

UNREADABLE, HEAD_MISSING, NO_HEAD = "unreadable", "head missing", "no head"


@dataclass(frozen=True)
class Verification:
    """Whether a history is what was written; true if it is.

    Attributes
    ----------
    ok : bool
    message : str
        In words, whatever the outcome.
    kind : str or None
        What is wrong: "unreadable", "damaged", "changed", "out of place", "not chained",
        "inconsistent", "head missing" (the given head is not in the chain) or "no head" (what was
        given is none).
    line : int or None
        The first line that does not fit.
    lines, chained : int
        Lines of the file, and how many of them carry a digest.
    head : str or None
        Digest of the last line, to be kept elsewhere; None if something is wrong with the lines.
    grown_by : int or None
        Lines since the given head.

    Examples
    --------
    >>> import steadytree as st
    >>> check = st.History("no-such.history.jsonl").verify()
    >>> bool(check), check.kind
    (False, 'unreadable')
    >>> print(check)
    expected a history file, got none: no-such.history.jsonl
    """

    ok: bool
    message: str
    kind: str | None = None
    line: int | None = None
    lines: int = 0
    chained: int = 0
    head: str | None = None
    grown_by: int | None = None

    def __bool__(self) -> bool:
        return self.ok

    def __str__(self) -> str:
        return self.message


def read_history(path: str | os.PathLike[str]) -> bytes:
    """Return what a history file holds; nothing if there is none."""
    try:
        return read_bytes(path, what="history file")
    except InputError as error:
        if isinstance(error.__cause__, FileNotFoundError):
            return b""
        raise HistoryError(str(error)) from error.__cause__


def verify_history(path: str | os.PathLike[str], head: str | None = None) -> Verification:
    """Check every line of a history file, and the file against a head; raises nothing."""
    try:
        data = read_history(path)
    except HistoryError as error:
        return Verification(False, str(error), UNREADABLE)
    if not data and not os.path.exists(path):
        return Verification(False, f"expected a history file, got none: {path}", UNREADABLE)
    ledger = Ledger()
    lines = list(take_in(data, ledger))
    chained = sum(line.chained for line in lines)
    counts: dict[str, Any] = {"lines": len(lines), "chained": chained}
    wrong, words_of_it = first_fault(lines)
    if wrong is not None and wrong.fault is not None:
        return Verification(False, words_of_it, wrong.fault.kind, wrong.number, **counts)
    counts["head"] = lines[-1].digest if lines else None
    words = [_chain_in_words(lines, chained), *_recoveries_in_words(ledger)]
    if head is None:
        return Verification(True, "; ".join(words), **counts)
    if not is_head(head):
        message = (
            f"expected a digest of 16 to 64 hexadecimal digits as the head, got {quoted(head)}"
        )
        return Verification(False, message, NO_HEAD, **counts)
    wanted = head.strip().lower()
    at = [i for i, line in enumerate(lines) if str(line.digest).startswith(wanted)]
    if not at:
        message = f"the head {wanted} is not in the chain: lines were removed or rewritten"
        return Verification(False, "; ".join([message, *words]), HEAD_MISSING, **counts)
    grown = len(lines) - 1 - at[-1]
    told = "as the head says" if not grown else f"grown by {_count(grown)} since the head"
    return Verification(True, "; ".join([*words, told]), grown_by=grown, **counts)


def first_fault(lines: Sequence[Line]) -> tuple[Line | None, str]:
    """Return the first line that does not fit, and what must have happened to it."""
    at = next((i for i, line in enumerate(lines) if line.fault is not None), None)
    if at is None:
        return None, ""
    wrong, fault = lines[at], lines[at].fault
    assert fault is not None
    expected, got = "a line of a history", fault.words
    if fault.cut_off:
        expected = "a whole line of JSON"
    if fault.kind in (MISPLACED, UNCHAINED):
        expected = "a line that follows the one before it"
    if fault.kind == MISPLACED:
        got = where_it_belongs(wrong, lines)
    last = lines[at - 1].number
    intact = "none is before it" if not at else f"lines 1 to {last} are intact"
    if at and last == 1:
        intact = "line 1 is intact"
    return wrong, f"line {wrong.number}: expected {expected}, got {got}; {intact}"


def _chain_in_words(lines: Sequence[Line], chained: int) -> str:
    if not lines:
        return "no line yet"
    old = len(lines) - chained
    if not old:
        return f"{_count(chained)}, all chained"
    last = lines[old - 1].number
    which = "line 1 is" if last == 1 else f"lines 1 to {last} are"
    told = f"{which} not chained (written by an earlier version)"
    if not chained:
        return told
    seal = (
        "line after them is chained and seals them"
        if chained == 1
        else (f"{chained} lines after them are chained and seal them")
    )
    return f"{told}; the {seal}"


def _recoveries_in_words(ledger: Ledger) -> list[str]:
    return [
        f"recovered on {quoted(entry['date'])}, the file before it is {quoted(entry['copy'])}"
        for entry in ledger.recoveries
    ]


def _count(number: int) -> str:
    return "1 line" if number == 1 else f"{number} lines"
