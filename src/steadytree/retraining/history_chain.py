"""The lines of a history: sealed with digests, read again, added up and verified.

Who changes an approver, a threshold or a date, or takes a line out, should be found out. Every line
is a JSON object that ends with ``before``, the digest of the line before it, and ``digest``: the
SHA-256 of the object without ``digest``, written with sorted keys, no spaces and only ASCII
characters, as ``json.dumps(content, sort_keys=True, separators=(",", ":"))`` does. A line is a
*version* or a *decision* about one; what they add up to is a :class:`Ledger`.

The chain alone shows what was changed, moved, inserted or taken out between lines. That the last
lines were cut off shows only against a head that was kept elsewhere. A file with two names (hard
links) is refused, since an entry replaces the file under one of them: two histories from one.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import numpy as np

from steadytree._io import check_json_depth, parse_json, read_bytes
from steadytree._text import quoted
from steadytree.diff.directions import space_with_turned
from steadytree.distance import tree_distance
from steadytree.exceptions import FeatureAlignmentError, HistoryError, InputError, SteadyTreeError
from steadytree.plugins import read_model
from steadytree.tree.json import plain_json, tree_from_dict
from steadytree.tree.space import FeatureSpace
from steadytree.tree.tree import Tree

FORMAT = {"format": "steadytree-history", "version": 2}
"""Opens every line; the schema of all entries is history.schema.json."""

DAMAGED, CHANGED, MISPLACED, UNCHAINED = "damaged", "changed", "out of place", "not chained"
INCONSISTENT, UNREADABLE, LINKED = "inconsistent", "unreadable", "linked"
HEAD_MISSING, NO_HEAD = "head missing", "no head"
APPROVED, REJECTED, PROPOSED = "approved", "rejected", "proposed"
REFUSED, KEPT = "refused", "kept"

_FOLLOWING = "a line that follows the one before it"
_HEAD = re.compile("[0-9a-f]{16,64}")
_COMMON = {"event", "date", "number", "status"}
_ENTRIES = {
    "version": _COMMON
    | {"note", "scores", "check", "previous", "dissimilarity_to_previous"}
    | {"dissimilarity_to_first", "space", "tree"},
    "decision": _COMMON | {"by", "reason"},
}
_STATUSES = {"version": (PROPOSED, REFUSED, KEPT), "decision": (APPROVED, REJECTED)}

# What is written must be answerable for later: a decision that nobody signs, a score that is no
# number or a date that is none is refused here, before anything is written. A tree is recorded with
# the check of its plan, and told apart from the one in force by what it decides, not by its bytes.

Date = date | datetime | str | None

_ROUNDING = 1e-12  # of predictions that were computed anew


def read_subject(subject: Any) -> tuple[Tree, bool, dict[str, float]]:
    """Return the tree to record, whether a Retraining keeps the deployed tree by it, its scores.

    Where the plan of a Retraining refused a tree, that is the one.
    """
    if isinstance(getattr(subject, "refused", None), Tree):
        return subject.refused, False, _scores_of(subject, subject.answer.refused)
    if isinstance(getattr(subject, "tree", None), Tree):
        keeps = getattr(subject, "action", None) == "keep"
        return subject.tree, keeps, _scores_of(subject, getattr(subject, "chosen", None))
    return read_model(subject), False, {}


def _scores_of(subject: Any, name: str | None) -> dict[str, float]:
    """Scores that a Retraining brings along: those of the candidate whose tree is recorded."""
    frontier = getattr(subject, "frontier", None)
    if frontier is None or name is None:
        return {}
    row, score = frontier.loc[name], "auc" if subject.tree.is_classifier else "r2"
    return {
        score: float(row["score"]),
        f"{score}_se": float(row["score_se"]),
        f"{score}_change": float(row["score_change"]),
        "flips": float(row["flips"]),
    }


def held_checks(*checks: Any) -> tuple[bool, dict[str, Any] | None]:
    """Return whether all checks hold, and one to record: one that does not, if there is one."""
    # A plan that asked nothing checked nothing.
    given = [check for check in checks if check is not None and getattr(check, "clauses", True)]
    for check in given:
        if not isinstance(getattr(check, "held", None), (bool, np.bool_)):
            raise InputError(
                f"expected the check of a plan, got {type(check).__name__}; pass what check(plan) "
                "of a retraining or a comparison returned"
            )
    recorded = next((check for check in given if not check.held), given[0] if given else None)
    if recorded is None:
        return True, None
    return bool(recorded.held), plain_json(recorded.to_dict())


def decide_alike(one: Tree, two: Tree) -> bool:
    """Whether two trees have the same rules, risks, labels and policy, whatever was counted."""
    if (one.classes, one.precision, one.decision) != (two.classes, two.precision, two.decision):
        return False
    if one.feature_labels != two.feature_labels:
        return False
    pairs = [(0, 0)]
    while pairs:
        a, b = pairs.pop()
        if one.is_leaf[a] != two.is_leaf[b]:
            return False
        if one.is_leaf[a]:
            if not np.allclose(one.value[a], two.value[b], rtol=0, atol=_ROUNDING):
                return False
            if one.classes is not None and one.label[a] != two.label[b]:
                return False
        elif _condition(one, a, two) != _condition(two, b, one):
            return False
        else:
            pairs.append((int(one.children_left[a]), int(two.children_left[b])))
            pairs.append((int(one.children_right[a]), int(two.children_right[b])))
    return True


def _condition(tree: Tree, node: int, other: Tree) -> tuple[Any, ...]:
    """Return what goes left, of categories also those that only the other tree knows."""
    feature = int(tree.feature[node])
    missing_left, listed = bool(tree.missing_left[node]), tree.left_categories[node]
    if listed is None:
        return feature, float(tree.threshold[node]), missing_left
    known, unseen_left = tree.categories[feature] or (), bool(tree.unseen_left[node])
    left = {known[code] for code in listed}
    if unseen_left:
        left |= set(other.categories[feature] or ()) - set(known)
    return feature, frozenset(left), missing_left, unseen_left


def dissimilarities(
    tree: Tree, previous: int | None, versions: Mapping[int, Tree], path: Path
) -> dict[str, Any]:
    """Measure how far a tree is from the version before and from the first.

    Measured in the space of the first version; if that cannot hold the tree, in its own.

    Parameters
    ----------
    tree : Tree
    previous : int or None
    versions : mapping of int to Tree
        By number, in order; those that a plan refused are nobody's yardstick and left out.
    path : Path
        Of the history, for errors.
    """
    nothing = {"dissimilarity_to_previous": None, "dissimilarity_to_first": None}
    if not versions:
        return {**nothing, "space": None if tree.space is None else tree.space.digest()}
    number, first = next(iter(versions.items()))
    spaces = [space for space in (first.space, tree.space) if space is not None]
    if not spaces:
        raise HistoryError(
            f"{path}: expected a feature space stored with the tree, got none; "
            "append as_tree(model, space=FeatureSpace.from_data(X))"
        )
    problem: FeatureAlignmentError | None = None
    for space in spaces:
        try:
            return {
                "dissimilarity_to_previous": None
                if previous is None
                else _dissimilarity(versions[previous], tree, space),
                "dissimilarity_to_first": _dissimilarity(first, tree, space),
                "space": space.digest(),
            }
        except FeatureAlignmentError as error:
            problem = problem or error
    assert problem is not None
    raise HistoryError(
        f"{path}: expected a tree that can be compared with version {number}, got: {problem}; "
        "start a new history for another problem"
    ) from problem


def _dissimilarity(a: Tree, b: Tree, space: FeatureSpace) -> float:
    known = space_with_turned(a, b, space)
    return float(tree_distance(a, b, space=known, variant="metric", normalize="relative"))


def clauses_not_held(version: Mapping[str, Any]) -> str:
    """Say which clauses of the plan a refused version did not hold, as its check tells them."""
    check = version["check"] or {}
    clauses = check.get("clauses")
    listed = [one for one in clauses if isinstance(one, dict)] if isinstance(clauses, list) else []
    broken = [one.get("text") or one.get("name") for one in listed if one.get("verdict") != "held"]
    return "; ".join(map(str, broken))


# -- what people say ---------------------------------------------------------------------------


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


@dataclass(frozen=True)
class Fault:
    """What is wrong with a line: a kind of a few, and what was got where what was expected."""

    kind: str
    got: str
    expected: str = "a line of a history"


@dataclass(frozen=True)
class Line:
    """One line of a file: what it says, and why it does not fit where it stands.

    ``number`` counts lines of the file from 1. ``content`` is None where the line cannot be read.
    """

    number: int
    content: Mapping[str, Any] | None
    digest: str | None
    fault: Fault | None = None


# -- sealing -----------------------------------------------------------------------------------


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
            got = f"one cut off after {len(raw.decode(errors='replace'))} characters"
            line = replace(line, fault=Fault(DAMAGED, got, "a whole line of JSON"))
        yield line
        last = line


def _read(number: int, raw: bytes, last: Line | None) -> Line:
    try:
        content = _parsed(raw)
    except ValueError as error:
        return Line(number, None, None, Fault(DAMAGED, f"a damaged one ({error})"))
    before, fault = content.get("before"), None
    digest = digest_of(content, before)
    if "digest" not in content or "before" not in content:
        got = "one without its digests: they were stripped, or it was inserted"
        fault = Fault(UNCHAINED, got, _FOLLOWING)
    elif digest != content["digest"]:
        fault = Fault(CHANGED, "one that was changed after it was written")
    elif before != (None if last is None else last.digest):
        fault = Fault(MISPLACED, "one that does not follow the line before it", _FOLLOWING)
    return Line(number, content, digest, fault)


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


# -- what the lines say ------------------------------------------------------------------------


@dataclass
class Ledger:
    """What the lines read so far add up to."""

    versions: dict[int, Mapping[str, Any]] = field(default_factory=dict)
    trees: dict[int, Tree] = field(default_factory=dict)
    decisions: dict[int, Mapping[str, Any]] = field(default_factory=dict)
    approved: list[int] = field(default_factory=list)  # in the order of approval, current last

    def copy(self) -> Ledger:
        """Return a ledger that can go its own way."""
        return Ledger(
            dict(self.versions), dict(self.trees), dict(self.decisions), list(self.approved)
        )

    @property
    def numbers(self) -> list[int]:
        """Numbers of the versions, in order."""
        return list(self.versions)

    def status(self, number: int) -> str:
        """Return what was decided about a version, or as what it was recorded."""
        return str(self.decisions.get(number, self.versions[number])["status"])

    def take(self, content: Mapping[str, Any]) -> None:
        """Take in one line, or raise ValueError saying what is wrong with it."""
        event = content.get("event")
        if not isinstance(event, str) or event not in _ENTRIES:
            raise ValueError(f"expected the event {' or '.join(_ENTRIES)}, got {quoted(event)}")
        lacking = sorted(_ENTRIES[event] - set(content))
        if lacking:
            raise ValueError(f"expected entries {lacking}, got none")
        number, status = content["number"], content["status"]
        if type(number) is not int or number < 1:
            raise ValueError(f"expected a whole number from 1 as the version, got {quoted(number)}")
        if status not in _STATUSES[event]:
            raise ValueError(
                f"expected the status {' or '.join(_STATUSES[event])}, got {quoted(status)}"
            )
        if event == "version":
            tree = _read_version(content)
            following = len(self.versions) + 1
            if number != following:
                raise ValueError(f"expected version {following}, got {quoted(number)}")
            self.versions[number], self.trees[number] = content, tree
            return
        _check_types(content, {"date": str, "by": str, "reason": str})
        if number not in self.versions:
            raise ValueError(f"expected a decision about an earlier version, got {quoted(number)}")
        if self.status(number) == REFUSED:
            raise ValueError(f"expected no decision about version {number}, which was refused")
        self.decisions[number] = content
        if number in self.approved:
            self.approved.remove(number)
        if status == APPROVED:
            self.approved.append(number)


def _read_version(content: Mapping[str, Any]) -> Tree:
    """Return the tree of a version, or raise ValueError saying what is wrong with the entry."""
    _check_types(content, {"date": str, "note": str, "scores": dict})
    some = {k: v for k, v in content.items() if v is not None}
    number = (int, float)
    _check_types(some, {"check": dict, "previous": int, "space": str})
    _check_types(some, {"dissimilarity_to_previous": number, "dissimilarity_to_first": number})
    previous = content["previous"]
    if previous is not None and not 0 < previous < content["number"]:
        raise ValueError(f"expected an earlier version as previous, got {quoted(previous)}")
    if content["status"] == REFUSED and content["check"] is None:
        raise ValueError("expected the check that refused the version, got none")
    scores = {k: v for k, v in content["scores"].items() if v is not None}
    _check_types(scores, dict.fromkeys(scores, number))
    return tree_from_dict(content["tree"])


def _check_types(content: Mapping[str, Any], types: Mapping[str, Any]) -> None:
    for name, kind in types.items():
        if name in content and (
            not isinstance(content[name], kind) or isinstance(content[name], bool)
        ):
            raise ValueError(f"expected another kind of {name}, got {quoted(content[name])}")


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
                fault = Fault(INCONSISTENT, f"a damaged one ({error})")
            line = replace(line, fault=fault)
        yield line


# -- verifying ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Verification:
    """Whether a history is what was written; true if it is.

    Attributes
    ----------
    ok : bool
    message : str
        In words, whatever the outcome.
    kind : str or None
        What is wrong: "unreadable", "damaged", "changed", "out of place", "not chained" (a line
        without its digests), "inconsistent", "linked" (the file has two names), "head missing"
        (the given head is not in the chain) or "no head" (what was given is none).
    line : int or None
        The first line that does not fit.
    lines : int
        Lines of the file.
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


def other_names(path: str | os.PathLike[str]) -> str:
    """Say that a history has more than one name, and what to do; empty if it has one."""
    try:
        names = os.stat(path).st_nlink
    except (OSError, ValueError):
        return ""
    if names <= 1:
        return ""
    return (
        f"expected a history with one name, got a file with {names} (hard links): what is appended "
        "under one would be missing under the others; delete the other names (find . -samefile "
        "lists them), and use a symbolic link (ln -s) or a copy instead"
    )


def verify_history(path: str | os.PathLike[str], head: str | None = None) -> Verification:
    """Check every line of a history file, and the file against a head; raises nothing."""
    try:
        data = read_history(path)
    except HistoryError as error:
        return Verification(False, str(error), UNREADABLE)
    if not data and not os.path.exists(path):
        return Verification(False, f"expected a history file, got none: {path}", UNREADABLE)
    lines = list(take_in(data, Ledger()))
    counts: dict[str, Any] = {"lines": len(lines)}
    wrong, fault = first_fault(lines)
    if wrong is not None and wrong.fault is not None:
        return Verification(False, fault, wrong.fault.kind, wrong.number, **counts)
    if names := other_names(path):
        return Verification(False, names, LINKED, **counts)
    counts["head"] = lines[-1].digest if lines else None
    words = f"{_count(len(lines))}, all chained" if lines else "no line yet"
    if head is None:
        return Verification(True, words, **counts)
    if not is_head(head):
        message = (
            f"expected a digest of 16 to 64 hexadecimal digits as the head, got {quoted(head)}"
        )
        return Verification(False, message, NO_HEAD, **counts)
    wanted = head.strip().lower()
    at = [i for i, line in enumerate(lines) if str(line.digest).startswith(wanted)]
    if not at:
        message = f"the head {wanted} is not in the chain: lines were removed or rewritten"
        return Verification(False, f"{message}; {words}", HEAD_MISSING, **counts)
    grown = len(lines) - 1 - at[-1]
    since = "as the head says" if not grown else f"grown by {_count(grown)} since the head"
    return Verification(True, f"{words}; {since}", grown_by=grown, **counts)


def first_fault(lines: Sequence[Line]) -> tuple[Line | None, str]:
    """Return the first line that does not fit, and what must have happened to it."""
    at = next((i for i, line in enumerate(lines) if line.fault is not None), None)
    if at is None:
        return None, ""
    wrong, fault = lines[at], lines[at].fault
    assert fault is not None
    got = _where_it_belongs(wrong, lines) if fault.kind == MISPLACED else fault.got
    intact = "none is before it"
    if at:
        last = lines[at - 1].number
        intact = "line 1 is intact" if last == 1 else f"lines 1 to {last} are intact"
    return wrong, f"line {wrong.number}: expected {fault.expected}, got {got}; {intact}"


def _where_it_belongs(line: Line, lines: Sequence[Line]) -> str:
    """Say what must have happened for a sound line to stand where it does not belong."""
    assert line.content is not None
    before = line.content["before"]
    if before is None:
        return "the first line of a chain: lines were inserted before it"
    place = next((other.number for other in lines if other.digest == before), None)
    if place is None:
        return "one that follows a line that is not there: lines were removed or rewritten"
    return f"one that follows line {place}: lines were inserted, repeated or moved"


def _count(number: int) -> str:
    return "1 line" if number == 1 else f"{number} lines"
