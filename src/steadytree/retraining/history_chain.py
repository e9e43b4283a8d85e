"""Lines of a history file, each sealed with a digest of itself and of the line before.

Who changes an approver, a threshold or a date, or takes a line out, should be found out. Every line
is a JSON object that ends with ``before``, the digest of the line before it, and ``digest``: the
SHA-256 of the object without ``digest``, written with sorted keys, no spaces and only ASCII
characters, as ``json.dumps(content, sort_keys=True, separators=(",", ":"))`` does. Lines of the
first format carry neither; their digests are computed by the same rule, with the ``before`` that
they lack put in, and the first line after them seals them all.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from steadytree.core.bounded_reading import check_json_depth, parse_json
from steadytree.core.quoting import quoted
from steadytree.exceptions import InputError, SteadyTreeError

__all__ = ["FORMAT", "Fault", "Line", "digest_of", "is_head", "read_lines", "seal", "to_bytes"]

FORMAT = {"format": "steadytree-history", "version": 2}
"""Opens every line. Version 1 had no digests."""

DAMAGED, CHANGED, MISPLACED, UNCHAINED = "damaged", "changed", "out of place", "not chained"
_HEAD = re.compile("[0-9a-f]{16,64}")


@dataclass(frozen=True)
class Fault:
    """What is wrong with a line: a kind of a few, and words that follow "got"."""

    kind: str
    words: str
    cut_off: bool = False


@dataclass(frozen=True)
class Line:
    """One line of a file: what it says, and whether it fits.

    ``number`` counts lines of the file from 1. ``content`` is None where the line cannot be read.
    A line is ``intact`` if it says what was written, wherever it stands; ``fault`` says why it
    does not fit where it stands.
    """

    number: int
    raw: bytes
    content: Mapping[str, Any] | None
    digest: str | None
    fault: Fault | None = None
    intact: bool = True

    @property
    def chained(self) -> bool:
        """Whether the line carries a digest."""
        return self.content is not None and _is_chained(self.content)


def digest_of(content: Mapping[str, Any], before: str | None) -> str:
    """Return the digest of a line that follows the one with the digest ``before``."""
    sealed = {k: v for k, v in content.items() if k != "digest"} | {"before": before}
    text = json.dumps(sealed, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def seal(content: Mapping[str, Any], before: str | None) -> dict[str, Any]:
    """Return a line's content with its digests, as it will be read again."""
    check_json_depth(content, "metadata")
    plain = {k: v for k, v in content.items() if k not in {*FORMAT, "before", "digest"}}
    try:
        text = json.dumps({**FORMAT, **plain, "before": before}, allow_nan=False)
        # Read back, since keys that are numbers come back as text.
        sealed: dict[str, Any] = parse_json(text)
    except SteadyTreeError:
        raise
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(f"expected values that JSON can hold, got {error}") from None
    return {**sealed, "digest": digest_of(sealed, before)}


def to_bytes(content: Mapping[str, Any]) -> bytes:
    """Return a line as it stands in the file."""
    return json.dumps(content, allow_nan=False, ensure_ascii=False).encode() + b"\n"


def is_head(text: Any) -> bool:
    """Whether a text can be the head of a chain: a digest, or at least 16 characters of one."""
    return isinstance(text, str) and _HEAD.fullmatch(text.strip().lower()) is not None


# -- reading -----------------------------------------------------------------------------------


def read_lines(data: bytes, after: Line | None = None) -> Iterator[Line]:
    """Read the lines of a file; blank ones say nothing and are passed over.

    Parameters
    ----------
    data : bytes
    after : Line, optional
        The last line that was read before these.
    """
    last, first = after, 1 if after is None else after.number + 1
    raws = data.split(b"\n")
    for number, raw in enumerate(raws, start=first):
        if not raw.strip():
            continue
        line = _read(number, raw, last)
        if line.content is None and number == first + len(raws) - 1:  # no line end after it
            words = f"one cut off after {len(raw.decode(errors='replace'))} characters"
            line = replace(line, fault=Fault(DAMAGED, words, cut_off=True))
        yield line
        last = line


def _read(number: int, raw: bytes, last: Line | None) -> Line:
    try:
        content = _parsed(raw)
    except ValueError as error:
        return Line(number, raw, None, None, Fault(DAMAGED, f"a damaged one ({error})"), False)
    before = None if last is None else last.digest
    if not _is_chained(content):
        line = Line(number, raw, content, digest_of(content, before))
        if last is not None and last.chained:
            words = "one without a digest after lines that have one: it was inserted or rewritten"
            return replace(line, fault=Fault(UNCHAINED, words))
        return line
    said = content.get("before")
    digest = digest_of(content, said)
    line = Line(number, raw, content, digest)
    if digest != content.get("digest"):
        words = "one that was changed after it was written"
        return replace(line, fault=Fault(CHANGED, words), intact=False)
    if said != before:
        return replace(line, fault=Fault(MISPLACED, "one that does not follow the line before it"))
    return line


def _parsed(raw: bytes) -> dict[str, Any]:
    """Return a line's content, or raise ValueError saying why it is none of ours."""
    content = parse_json(raw, constants=False)
    if not isinstance(content, dict):
        raise ValueError("expected an object")
    if content.get("format") != FORMAT["format"]:
        raise ValueError(f"expected format {FORMAT['format']!r}")
    version = content.get("version")
    if type(version) is not int or not 1 <= version <= FORMAT["version"]:  # type: ignore[operator]
        raise ValueError(
            f"expected version 1 or {FORMAT['version']}, got {quoted(version)}: the file may come "
            "from a newer steadytree; upgrade with pip install -U steadytree"
        )
    return content


def _is_chained(content: Mapping[str, Any]) -> bool:
    return content["version"] != 1 or "digest" in content or "before" in content


def where_it_belongs(line: Line, lines: Sequence[Line]) -> str:
    """Say what must have happened for a sound line to stand where it does not belong."""
    assert line.content is not None
    said = line.content["before"]
    at = lines.index(line)
    if at and not lines[at - 1].chained:
        first = lines[0].number
        return (
            f"one that does not follow lines {first} to {lines[at - 1].number}: one of them, "
            "written by an earlier version, was changed, removed, inserted or moved"
        )
    if said is None:
        return "the first line of a chain: lines were inserted before it"
    place = {other.digest: other.number for other in lines}.get(said)
    if place is None:
        return "one that follows a line that is not there: lines were removed or rewritten"
    return f"one that follows line {place}: lines were inserted, repeated or moved"
