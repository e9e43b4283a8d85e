"""The file under a history: lines, what they hold, and one writer at a time."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from steadytree.exceptions import HistoryError, InputError

__all__ = [
    "DECISION_ENTRIES",
    "FORMAT_NAME",
    "FORMAT_VERSION",
    "STATUSES",
    "VERSION_ENTRIES",
    "CutOffError",
    "check_who",
    "decision_line",
    "iso_date",
    "locked_folder",
    "read_lines",
]

FORMAT_NAME = "steadytree-history"
FORMAT_VERSION = 1
STATUSES = ("proposed", "approved", "rejected")

_COMMON = {"format", "version", "event", "number", "date"}
VERSION_ENTRIES = _COMMON | {
    *("note", "scores", "previous", "dissimilarity_to_previous", "dissimilarity_to_first"),
    *("space", "tree"),
}
DECISION_ENTRIES = _COMMON | {"status", "by", "reason"}


class CutOffError(HistoryError):
    """The last line of a history is not whole; the lines before it are."""


def read_lines(path: Path) -> list[str]:
    """Lines of a file, none if it does not exist; bytes that are no text spoil only theirs."""
    if not path.exists():
        return []
    try:
        text = path.read_bytes().decode("utf-8", errors="replace")
    except OSError as error:
        raise HistoryError(
            f"expected a readable history file, got {error.strerror}: {path}"
        ) from error
    return text.removesuffix("\n").split("\n") if text else []


@contextmanager
def locked_folder(folder: Path) -> Iterator[None]:
    """Keep other writers out, where the system can lock a folder."""
    try:
        import fcntl
    except ImportError:  # Windows: the check of the size has to do
        yield
        return
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError as error:
        raise HistoryError(
            f"expected a folder for the history, got {error.strerror}: {folder}; create it first"
        ) from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def decision_line(number: Any, status: str, by: str, reason: str, when: str) -> dict[str, Any]:
    """Write a decision about a version as a line's content."""
    return {
        "format": FORMAT_NAME,
        "version": FORMAT_VERSION,
        "event": "decision",
        "number": int(number),
        "status": status,
        "by": by,
        "reason": str(reason),
        "date": when,
    }


def check_who(by: str) -> None:
    """Refuse a decision that nobody signs."""
    if not str(by).strip():
        raise InputError(f"expected the name of who decides, got {by!r}; pass by='...'")


def iso_date(on: date | datetime | str | None) -> str:
    """Return a date in ISO form; now, in UTC, if none is given."""
    if on is None:
        return datetime.now(UTC).isoformat(timespec="seconds")
    if isinstance(on, (date, datetime)):
        return on.isoformat()
    try:
        datetime.fromisoformat(on)
    except (TypeError, ValueError):
        raise InputError(
            f"expected a date such as 2024-05-31 or 2024-05-31T09:00, got {on!r}"
        ) from None
    return on
