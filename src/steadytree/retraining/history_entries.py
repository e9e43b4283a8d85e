"""What the lines of a history say: versions, decisions about them, and recoveries of the file.

What is written must be answerable for later: a decision that nobody signs, a score that is no
number or a date that is none is refused here, before anything is written. What is read is taken
into a :class:`Ledger`, line by line.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from typing import Any

import numpy as np

from steadytree.core.format import tree_from_dict
from steadytree.core.quoting import quoted
from steadytree.core.tree import Tree
from steadytree.exceptions import InputError
from steadytree.retraining.history_chain import DAMAGED, Fault, Line, read_lines

__all__ = [
    "Date",
    "Ledger",
    "checked_name",
    "checked_scores",
    "checked_text",
    "decision_entry",
    "iso_date",
    "take_in",
]

Date = date | datetime | str | None

INCONSISTENT = "inconsistent"
_COMMON = {"event", "date"}
ENTRIES = {
    "version": _COMMON
    | {"number", "note", "scores", "previous", "dissimilarity_to_previous"}
    | {"dissimilarity_to_first", "space", "tree"},
    "decision": _COMMON | {"number", "status", "by", "reason"},
    "recovery": _COMMON | {"versions", "set_aside", "copy", "sha256"},
}
STATUSES = ("approved", "rejected")


@dataclass
class Ledger:
    """What the lines read so far add up to."""

    versions: dict[int, Mapping[str, Any]] = field(default_factory=dict)
    trees: dict[int, Tree] = field(default_factory=dict)
    decisions: dict[int, Mapping[str, Any]] = field(default_factory=dict)
    approved: list[int] = field(default_factory=list)  # in the order of approval, current last
    recoveries: list[Mapping[str, Any]] = field(default_factory=list)
    announced: list[int] = field(default_factory=list)  # numbers that a recovery kept

    def copy(self) -> Ledger:
        """Return a ledger that can go its own way."""
        return Ledger(
            dict(self.versions),
            dict(self.trees),
            dict(self.decisions),
            list(self.approved),
            list(self.recoveries),
            list(self.announced),
        )

    @property
    def numbers(self) -> list[int]:
        """Numbers of the versions, in order."""
        return sorted(self.versions)

    @property
    def next_number(self) -> int:
        """Number of the version that comes next."""
        return self.announced[0] if self.announced else max(self.versions, default=0) + 1

    def take(self, content: Mapping[str, Any]) -> None:
        """Take in one line, or raise ValueError saying what is wrong with it."""
        event = content.get("event")
        if not isinstance(event, str) or event not in ENTRIES:
            raise ValueError(f"expected the event {' or '.join(ENTRIES)}, got {quoted(event)}")
        lacking = sorted(ENTRIES[event] - set(content))
        if lacking:
            raise ValueError(f"expected entries {lacking}, got none")
        if event == "recovery":
            _check_recovery(content)
            self.announced += content["versions"]
            self.recoveries.append(content)
            return
        number = content["number"]
        if event == "version":
            tree = read_version(content)
            if number != self.next_number or number in self.versions:
                raise ValueError(f"expected version {self.next_number}, got {quoted(number)}")
            self.versions[number], self.trees[number] = content, tree
            del self.announced[:1]
            return
        check_decision(content)
        if number not in self.versions:
            raise ValueError(f"expected a decision about an earlier version, got {quoted(number)}")
        self.decisions[number] = content
        if number in self.approved:
            self.approved.remove(number)
        if content["status"] == "approved":
            self.approved.append(number)


def take_in(
    data: bytes, ledger: Ledger, after: Line | None = None, *, check_chain: bool = True
) -> Iterator[Line]:
    """Read lines into a ledger; a line that does not fit has a fault and is left out."""
    for line in read_lines(data, after):
        if line.content is not None and (line.fault is None or not check_chain):
            try:
                ledger.take(line.content)
                fault = None
            except ValueError as error:
                # What a digest vouches for was written like that; else it may be damage.
                kind = INCONSISTENT if line.chained else DAMAGED
                fault = Fault(kind, f"a damaged one ({error})")
            line = replace(line, fault=fault)
        yield line


def read_version(content: Mapping[str, Any]) -> Tree:
    """Return the tree of a version, or raise ValueError saying what is wrong with the entry."""
    _check_number(content["number"])
    _check_types(content, {"date": str, "note": str, "scores": dict})
    numbers = {
        "previous": int,
        "dissimilarity_to_previous": (int, float),
        "dissimilarity_to_first": (int, float),
    }
    _check_types({k: v for k, v in content.items() if v is not None}, numbers)
    previous = content["previous"]
    # Two writers of the first format could give one number twice, and one follows the other.
    if previous is not None and not 0 < previous <= content["number"]:
        raise ValueError(f"expected an earlier version as previous, got {quoted(previous)}")
    scores = {k: v for k, v in content["scores"].items() if v is not None}
    _check_types(scores, dict.fromkeys(scores, (int, float)))
    return tree_from_dict(content["tree"])


def check_decision(content: Mapping[str, Any]) -> None:
    """Raise ValueError saying what is wrong with a decision, whatever it is about."""
    _check_number(content["number"])
    _check_types(content, {"date": str, "reason": str})
    if content["status"] not in STATUSES:
        raise ValueError(
            f"expected the status {' or '.join(STATUSES)}, got {quoted(content['status'])}"
        )


def _check_recovery(content: Mapping[str, Any]) -> None:
    _check_types(content, {"date": str, "versions": list, "set_aside": list, "copy": str})
    for number in content["versions"]:
        _check_number(number)
    if any(not isinstance(words, str) for words in content["set_aside"]):
        raise ValueError("expected texts as set_aside, got something else")


def _check_number(number: Any) -> None:
    if type(number) is not int or number < 1:
        raise ValueError(f"expected a whole number from 1 as the version, got {quoted(number)}")


def _check_types(content: Mapping[str, Any], types: Mapping[str, Any]) -> None:
    for name, kind in types.items():
        if name in content and (
            not isinstance(content[name], kind) or isinstance(content[name], bool)
        ):
            raise ValueError(f"expected another kind of {name}, got {quoted(content[name])}")


# -- what may be written -----------------------------------------------------------------------


def decision_entry(number: int, status: str, by: str, reason: str, when: str) -> dict[str, Any]:
    """Return a decision about a version as a line's content."""
    entry = {"event": "decision", "number": int(number), "status": status}
    return {**entry, "by": by, "reason": reason, "date": when}


def checked_name(by: Any) -> str:
    """Return the name of who decides; a decision that nobody signs is refused."""
    if not isinstance(by, str) or not any(character.isalnum() for character in by):
        raise InputError(f"expected the name of who decides, got {quoted(by)}; pass by='...'")
    return checked_text(by, "by")


def checked_text(text: Any, name: str) -> str:
    """Return a text that can be written down."""
    if not isinstance(text, str):
        raise InputError(f"expected text as {name}, got {quoted(text)}; pass {name}='...'")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InputError(
            f"expected {name} in whole characters, got half of one in {quoted(text)}; correct it"
        ) from None
    return text


def checked_scores(scores: Any) -> dict[str, float]:
    """Return scores as numbers by name; what was not measured is not recorded."""
    if not isinstance(scores, Mapping):
        raise InputError(f"expected scores by name, got {quoted(scores)}; pass {{'auc': 0.81}}")
    checked = {}
    for name, value in scores.items():
        number = math.nan
        # numpy's numbers as well, but nothing that would have to be guessed from text.
        if isinstance(value, (int, float, np.number)) and not isinstance(value, bool):
            with suppress(OverflowError, TypeError):  # beyond a float, or a complex number
                number = float(value)
        if not math.isfinite(number):
            raise InputError(
                f"expected a finite number as the score {quoted(name)}, got {quoted(value)}; "
                "leave out what was not measured"
            )
        checked[checked_text(name, "the name of a score")] = number
    return checked


def iso_date(on: Date) -> str:
    """Return a date in ISO form; now, in UTC, if none is given."""
    if on is None:
        return datetime.now(UTC).isoformat(timespec="seconds")
    text = on.isoformat() if isinstance(on, (date, datetime)) else on
    try:
        datetime.fromisoformat(text)  # checks dates as well: pandas' NaT is one
    except (TypeError, ValueError):
        raise InputError(
            f"expected a date such as 2024-05-31 or 2024-05-31T09:00, got {quoted(on)}; "
            "pass on='...', or leave it out for today"
        ) from None
    return text
