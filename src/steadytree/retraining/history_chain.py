"""The lines of a history: sealed with digests, read again, added up and verified.

Who changes an approver, a threshold or a date, or takes a line out, should be found out. Every line
is a JSON object that ends with ``before``, the digest of the line before it, and ``digest``: the
SHA-256 of the object without ``digest``, written with sorted keys, no spaces and only ASCII
characters, as ``json.dumps(content, sort_keys=True, separators=(",", ":"))`` does. A line is a
*version* or a *decision* about one; what they add up to is a :class:`Ledger`.

The chain alone shows what was changed, moved, inserted or taken out between lines. That the last
lines were cut off shows only against a head that was kept elsewhere.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import NoneType
from typing import Any

from steadytree._io import check_json_depth, parse_json
from steadytree._text import quoted
from steadytree.exceptions import InputError, SteadyTreeError
from steadytree.tree.json import tree_from_dict
from steadytree.tree.tree import Tree

FORMAT = {"format": "steadytree-history", "version": 2}
"""Opens every line; the schema of all entries is history.schema.json."""

APPROVED, REJECTED, PROPOSED = "approved", "rejected", "proposed"
REFUSED, KEPT = "refused", "kept"

_HEAD = re.compile("[0-9a-f]{16,64}")
_STATUSES = {"version": (PROPOSED, REFUSED, KEPT), "decision": (APPROVED, REJECTED)}
_COMMON: dict[str, Any] = {"date": str, "number": int, "status": str}
_NUMBER = (int, float, NoneType)
_TYPES = {
    "version": {
        **_COMMON,
        "note": str,
        "scores": dict,
        "check": (dict, NoneType),
        "previous": (int, NoneType),
        "dissimilarity_to_previous": _NUMBER,
        "dissimilarity_to_first": _NUMBER,
        "space": (str, NoneType),
        "tree": dict,
    },
    "decision": {**_COMMON, "by": str, "reason": str},
}
"""What a line of each event must say, and of what type."""


def seal(content: Mapping[str, Any], before: str | None) -> dict[str, Any]:
    """Return a line's content with its digests, as it will be read again."""
    check_json_depth(content, "metadata")
    try:
        text = json.dumps({**FORMAT, **content, "before": before}, allow_nan=False)
        # Read back, since keys that are numbers come back as text.
        sealed: dict[str, Any] = parse_json(text)
    except SteadyTreeError:
        raise
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(f"expected values that JSON can hold, got {error}") from None
    return {**sealed, "digest": digest_of(sealed)}


def digest_of(content: Mapping[str, Any]) -> str:
    """Return the digest of a line."""
    sealed = {k: v for k, v in content.items() if k != "digest"}
    text = json.dumps(sealed, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def to_bytes(content: Mapping[str, Any]) -> bytes:
    """Return a line as it stands in the file."""
    return json.dumps(content, allow_nan=False, ensure_ascii=False).encode() + b"\n"


@dataclass
class Ledger:
    """What the lines read so far add up to."""

    digests: list[str] = field(default_factory=list)  # of the lines
    versions: dict[int, Mapping[str, Any]] = field(default_factory=dict)
    trees: dict[int, Tree] = field(default_factory=dict)
    decisions: dict[int, Mapping[str, Any]] = field(default_factory=dict)
    approved: list[int] = field(default_factory=list)  # in the order of approval, current last

    @property
    def head(self) -> str | None:
        """Digest of the last line."""
        return self.digests[-1] if self.digests else None

    def status(self, number: int) -> str:
        """Return what was decided about a version, or as what it was recorded."""
        return str(self.decisions.get(number, self.versions[number])["status"])

    def take(self, content: Mapping[str, Any]) -> None:
        """Take in one line, or raise ValueError saying what is wrong with it."""
        self._check_chain(content)
        event = content.get("event")
        if event not in _TYPES:
            raise ValueError(f"expected the event {' or '.join(_TYPES)}, got {quoted(event)}")
        _check_types(content, _TYPES[event])
        number, status = content["number"], content["status"]
        if status not in _STATUSES[event]:
            statuses = " or ".join(_STATUSES[event])
            raise ValueError(f"expected the status {statuses}, got {quoted(status)}")
        if event == "version":
            self._take_version(number, content)
        else:
            self._take_decision(number, content)
        self.digests.append(content["digest"])

    def _check_chain(self, content: Mapping[str, Any]) -> None:
        following = "expected a line that follows the one before it"
        if "digest" not in content or "before" not in content:
            raise ValueError(f"{following}, got one without its digests")
        if digest_of(content) != content["digest"]:
            raise ValueError("expected the line that was written, got one that was changed since")
        if content["before"] != self.head:
            raise ValueError(f"{following}, got another: lines were removed, inserted or moved")

    def _take_version(self, number: int, content: Mapping[str, Any]) -> None:
        following, previous = len(self.versions) + 1, content["previous"]
        if number != following:
            raise ValueError(f"expected version {following}, got {quoted(number)}")
        if previous is not None and not 0 < previous < number:
            raise ValueError(f"expected an earlier version as previous, got {quoted(previous)}")
        if content["status"] == REFUSED and content["check"] is None:
            raise ValueError("expected the check that refused the version, got none")
        _check_types(content["scores"], dict.fromkeys(content["scores"], _NUMBER))
        self.trees[number] = tree_from_dict(content["tree"])
        self.versions[number] = content

    def _take_decision(self, number: int, content: Mapping[str, Any]) -> None:
        if number not in self.versions:
            raise ValueError(f"expected a decision about an earlier version, got {quoted(number)}")
        if self.status(number) == REFUSED:
            raise ValueError(f"expected no decision about version {number}, which was refused")
        self.decisions[number] = content
        if number in self.approved:
            self.approved.remove(number)
        if content["status"] == APPROVED:
            self.approved.append(number)


def _check_types(content: Mapping[str, Any], types: Mapping[str, Any]) -> None:
    for name, kind in types.items():
        if name not in content:
            raise ValueError(f"expected an entry {name!r}, got none")
        if not isinstance(content[name], kind) or isinstance(content[name], bool):
            raise ValueError(f"expected another kind of {name}, got {quoted(content[name])}")


def read_lines(data: bytes) -> tuple[Ledger, int | None, str]:
    """Add up the lines of a file; blank ones say nothing.

    Returns also the number of the first line that does not fit (None: all fit), which ends the
    reading, and what is wrong with it.
    """
    ledger = Ledger()
    for number, raw in enumerate(data.split(b"\n"), start=1):
        if not raw.strip():
            continue
        try:
            ledger.take(_parsed(raw))
        except ValueError as error:
            intact = f"{count_lines(len(ledger.digests))} before it fit"
            return ledger, number, f"line {number}: {error}; {intact}"
    return ledger, None, ""


def _parsed(raw: bytes) -> dict[str, Any]:
    """Return a line's content, or raise ValueError saying why it is none of ours."""
    content = parse_json(raw, constants=False)
    if not isinstance(content, dict):
        raise ValueError("expected an object")
    if content.get("format") != FORMAT["format"]:
        raise ValueError(f"expected format {FORMAT['format']!r}")
    version = content.get("version")
    if type(version) is not int or version != FORMAT["version"]:
        raise ValueError(
            f"expected version {FORMAT['version']}, got {quoted(version)}: the file may come "
            "from a newer steadytree; upgrade with pip install -U steadytree"
        )
    return content


@dataclass(frozen=True)
class Verification:
    """Whether a history is what was written; true if it is.

    Attributes
    ----------
    ok : bool
    message : str
        In words, whatever the outcome.
    line : int or None
        The first line that does not fit.
    lines : int
        Lines that fit, from the first on.
    head : str or None
        Digest of the last line, to be kept elsewhere; None if a line does not fit.
    grown_by : int or None
        Lines since the given head.

    Examples
    --------
    >>> Verification(True, "2 lines, all chained", lines=2, head="3f1c").ok
    True
    """

    ok: bool
    message: str
    line: int | None = None
    lines: int = 0
    head: str | None = None
    grown_by: int | None = None

    def __bool__(self) -> bool:
        return self.ok

    def __str__(self) -> str:
        return self.message


def verify_lines(data: bytes, head: str | None = None) -> Verification:
    """Check every line of a history, and the last ones against a head."""
    wanted = None if head is None else str(head).strip().lower()
    if wanted is not None and not _HEAD.fullmatch(wanted):
        raise InputError(
            f"expected a digest of 16 to 64 hexadecimal digits as the head, got {quoted(head)}; "
            "history.head is the whole one"
        )
    ledger, wrong, fault = read_lines(data)
    n = len(ledger.digests)
    if wrong is not None:
        return Verification(False, fault, wrong, n)
    words = f"{count_lines(n)}, all chained" if n else "no line yet"
    if wanted is None:
        return Verification(True, words, None, n, ledger.head)
    at = [i for i, digest in enumerate(ledger.digests) if digest.startswith(wanted)]
    if not at:
        message = f"the head {wanted} is not in the chain: lines were removed or rewritten"
        return Verification(False, f"{message}; {words}", None, n, ledger.head)
    grown = n - 1 - at[-1]
    since = "as the head says" if not grown else f"grown by {count_lines(grown)} since the head"
    return Verification(True, f"{words}; {since}", None, n, ledger.head, grown)


def count_lines(number: int) -> str:
    """Say how many lines."""
    return "1 line" if number == 1 else f"{number} lines"
