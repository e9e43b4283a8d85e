"""Mend a damaged history: keep all that can be read, put the rest beside it, say what was done.

Files get cut, edited, merged by hand, and were torn by two writers at once in earlier versions.
Lines before the first that does not fit stay byte for byte. After them comes a line that tells of
the recovery, then every entry that is intact, sealed again. Where two versions had one number, the
second gets a new one, with the decisions that were written with it. What cannot be read, what was
changed after it was written and what nobody can assign is left to the copy of the whole file.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from steadytree.core.bounded_reading import parse_json
from steadytree.core.quoting import quoted
from steadytree.exceptions import HistoryError
from steadytree.retraining.history_chain import FORMAT, Line, seal, to_bytes
from steadytree.retraining.history_entries import (
    ENTRIES,
    Ledger,
    check_decision,
    iso_date,
    read_version,
    take_in,
)

__all__ = ["Recovery", "recover_lines"]

_BEGINNING = b'{"format": "steadytree-history"'


@dataclass(frozen=True)
class Recovery:
    """What a recovery did; true if it changed the file.

    Attributes
    ----------
    untouched, sealed_again : int
        Lines that stayed as they were, and entries written anew after them.
    set_aside : tuple of str
        For each line that was not kept, its number and why.
    renumbered : tuple of str
        For each version with a new number, its line, the old and the new number.
    copy : str or None
        Name of the file beside the history that holds it as it was.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import steadytree as st
    >>> tree = st.tree_from_rules('''
    ... age <= 50: no
    ... else: yes
    ... ''')
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "triage.history.jsonl"
    ...     _ = st.History.open(path).append(tree, approved_by="Dr Adams", on="2024-01-08")
    ...     text = path.read_text()
    ...     _ = path.write_text(text + text[:99])  # a line that is cut off
    ...     recovered = st.History.recover(path).recovered
    >>> recovered.untouched, recovered.copy
    (2, 'triage.history.jsonl.damaged')
    >>> len(recovered.set_aside)
    1
    """

    untouched: int
    sealed_again: int = 0
    set_aside: tuple[str, ...] = ()
    renumbered: tuple[str, ...] = ()
    copy: str | None = None

    def __bool__(self) -> bool:
        return self.copy is not None

    def __str__(self) -> str:
        if not self:
            return f"nothing to mend: {_lines(self.untouched)} intact"
        return "\n".join(
            [
                f"{_lines(self.untouched)} stayed, {_lines(self.sealed_again)} sealed again",
                *(f"set aside: {words}" for words in self.set_aside),
                *(f"renumbered: {words}" for words in self.renumbered),
                f"the file as it was: {self.copy}",
            ]
        )


def _lines(count: int) -> str:
    return "1 line" if count == 1 else f"{count} lines"


def recover_lines(data: bytes, copy: str) -> tuple[bytes, Recovery]:
    """Return what a history should hold, and what was done to get there.

    Parameters
    ----------
    data : bytes
        The file as it is.
    copy : str
        The name under which that will be kept.
    """
    ledger = Ledger()
    lines = list(take_in(data, ledger))
    sound = next((i for i, line in enumerate(lines) if line.fault is not None), len(lines))
    if sound == len(lines):
        return data, Recovery(untouched=sound)
    _refuse_what_is_no_history(data, lines)
    kept, rest = lines[:sound], lines[sound:]
    ledger = Ledger()
    list(take_in(b"\n".join(line.raw for line in kept), ledger))
    salvage = _Salvage(ledger, {line.digest: line.number for line in kept}, _numbers_in(rest))
    for line in _in_order(rest, kept[-1].digest if kept else None):
        salvage.take(line)
    story = {
        "event": "recovery",
        "date": iso_date(None),
        "copy": copy,
        "sha256": hashlib.sha256(data).hexdigest(),
        "set_aside": salvage.set_aside,
        "renumbered": salvage.renumbered,
        "versions": salvage.numbers,
    }
    written = b"".join(line.raw + b"\n" for line in kept)
    before = kept[-1].digest if kept else None
    for entry in (story, *salvage.entries):
        content = seal(entry, before)
        before = content["digest"]
        written += to_bytes(content)
    done = Recovery(
        sound, len(salvage.entries), tuple(salvage.set_aside), tuple(salvage.renumbered), copy
    )
    return written, done


def _numbers_in(lines: Sequence[Line]) -> set[int]:
    """Numbers that versions of these lines have, and should keep if they can."""
    contents = [line.content for line in lines if line.content is not None and line.intact]
    numbers = (content.get("number") for content in contents if content.get("event") == "version")
    return {number for number in numbers if type(number) is int}


def _refuse_what_is_no_history(data: bytes, lines: Sequence[Line]) -> None:
    if not (
        any(line.content is not None for line in lines)
        or data.startswith(_BEGINNING)
        or _BEGINNING.startswith(data)
    ):
        raise HistoryError(
            "expected a history with at least the beginning of a line, got another kind of file; "
            "name the history"
        )
    try:
        last = parse_json(lines[-1].raw)
    except ValueError:
        return
    # Nobody appends old lines to new ones, so a new line at the end is no accident.
    version = last.get("version") if isinstance(last, dict) else None
    if isinstance(version, int) and version > int(str(FORMAT["version"])):
        raise HistoryError(
            f"expected a history of version {FORMAT['version']} or before, got {version}: the file "
            "comes from a newer steadytree; upgrade with pip install -U steadytree"
        )


def _in_order(rest: Sequence[Line], before: str | None) -> list[Line]:
    """Put lines that were moved back to where their digests say they belong."""
    ordered, waiting = [], list(rest)
    while waiting:
        follows = next(
            (
                line
                for line in waiting
                if line.intact and line.chained and line.content["before"] == before  # type: ignore[index]
            ),
            waiting[0],
        )
        waiting.remove(follows)
        ordered.append(follows)
        before = follows.digest
    return ordered


def _name(line: Line) -> str:
    """Say what a line is about, as far as it can be read."""
    content = line.content or {}
    if content.get("event") == "decision":
        return f" (a decision about version {quoted(content.get('number'))})"
    if content.get("event") == "version":
        return f" (version {quoted(content.get('number'))})"
    return ""


@dataclass
class _Salvage:
    """Entries that can be kept, with numbers that are theirs alone."""

    ledger: Ledger
    seen: dict[str | None, int]
    claimed: set[int]
    entries: list[dict[str, Any]] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    set_aside: list[str] = field(default_factory=list)
    renumbered: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        # Original number → the versions that had it; and what was written last.
        self.bearers = {number: [number] for number in self.ledger.versions}
        self.last: tuple[int, str] | None = None

    def take(self, line: Line) -> None:
        """Keep an entry, or say why it is set aside."""
        try:
            entry = self._checked(line)
        except ValueError as error:
            self.set_aside.append(f"line {line.number}{_name(line)}: {error}")
            self.last = None
        else:
            self.entries.append(entry)
            self.seen[line.digest] = line.number

    def _checked(self, line: Line) -> dict[str, Any]:
        if line.content is None or not line.intact:
            assert line.fault is not None
            raise ValueError(line.fault.words)
        if line.chained and line.digest in self.seen:
            raise ValueError(f"a copy of line {self.seen[line.digest]}")
        content = dict(line.content)
        event = content.get("event")
        # A ledger of its own checks the entry, whatever its number.
        if not isinstance(event, str) or ENTRIES.get(event, {""}) - set(content):
            Ledger().take(content)
        if event == "recovery":
            # What it announced is announced by the new one.
            content["versions"] = []
            Ledger().take(content)
            self.last = None
            return content
        number = content["number"]
        if event == "version":
            read_version(content)
            content["number"] = self._number_for(number, line)
            self.last = (number, content["date"])
            return content
        check_decision(content)
        content["number"] = self._meant_by(number, content["date"])
        return content

    def _number_for(self, number: int, line: Line) -> int:
        taken = {*self.ledger.versions, *self.numbers}
        new = number
        if number in taken:
            new = max(taken | self.claimed) + 1
            self.renumbered.append(f"line {line.number}: version {number} is version {new} now")
        self.numbers.append(new)
        self.bearers.setdefault(number, []).append(new)
        return new

    def _meant_by(self, number: int, when: str) -> int:
        """Return the version that a decision is about."""
        bearers = self.bearers.get(number, [])
        if not bearers:
            raise ValueError(f"a decision about version {number}, which is not there")
        # Written in one step with the version before it.
        if len(bearers) == 1 or self.last == (number, when):
            return bearers[-1]
        raise ValueError(
            f"a decision about version {number}, of which there are {len(bearers)}; decide again "
            f"about {' or '.join(map(str, bearers))}"
        )
