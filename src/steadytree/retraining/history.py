"""Lineage: every version of a deployed tree, and who approved or rejected it, when and why.

A history is a text file of JSON lines that only grows. A line is either a *version* (the
whole tree with its space, date, scores, and how far it is from the version before and
from the first) or a *decision* about one. The file is replaced in one step, so a reader
never meets half a line; a file that was cut by other means is reported with the line,
and :meth:`History.recover` restores what is intact and keeps the rest beside it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pandas as pd

from steadytree._views import plot_versions
from steadytree.core.atomic import write_atomic
from steadytree.core.format import plain_json, tree_from_dict, tree_to_dict
from steadytree.core.space import FeatureSpace
from steadytree.core.tree import Tree
from steadytree.distance import tree_distance
from steadytree.exceptions import FeatureAlignmentError, HistoryError, InputError
from steadytree.readers import as_tree

__all__ = ["History"]

FORMAT = {"format": "steadytree-history", "version": 1}
"""Opens every line."""

_COMMON = {*FORMAT, "event", "number", "date"}
ENTRIES = {
    "version": _COMMON
    | {"note", "scores", "previous", "dissimilarity_to_previous", "dissimilarity_to_first"}
    | {"space", "tree"},
    "decision": _COMMON | {"status", "by", "reason"},
}

Date = date | datetime | str | None


class _CutOffError(HistoryError):
    """The last line of a history is not whole; the lines before it are."""


class History:
    """Every version of a tree that was deployed or proposed, in one append-only file.

    Made by :meth:`open`. Each method that changes something writes one line at once.

    Examples
    --------
    >>> history = History.open("triage.jsonl")                   # doctest: +SKIP
    >>> history.append(retraining, note="data of 2024")          # doctest: +SKIP
    >>> history.approve(2, by="Dr Adams", reason="flips < 2 %")  # doctest: +SKIP
    >>> history.versions[["status", "dissimilarity_to_first"]]   # doctest: +SKIP
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._versions: list[Mapping[str, Any]] = []  # lines of the file
        self._trees: list[Tree] = []
        self._decisions: dict[int, Mapping[str, Any]] = {}
        self._approved: list[int] = []  # in the order of approval, the current one last
        self._content = b""  # of the file, as it was when these were read

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> History:
        """Read a history; a file that does not exist yet is an empty one.

        Raises
        ------
        HistoryError
            Naming the line that is damaged, and how to recover.
        """
        history = cls(path)
        history._read()
        return history

    # -- reading ------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self._versions)

    def __repr__(self) -> str:
        return f"History({str(self.path)!r}, {len(self)} versions, current: {self.current})"

    @property
    def current(self) -> int | None:
        """Number of the version in force: the one approved last and not rejected since."""
        return self._approved[-1] if self._approved else None

    def tree(self, version: int | None = None) -> Tree:
        """Return the tree of a version, by default of the current one."""
        if version is None:
            version = self.current
            if version is None:
                raise HistoryError(
                    f"{self.path}: expected an approved version, got none; name one of "
                    f"{self._numbers()}, or approve it first"
                )
        return self._trees[self._checked(version) - 1]

    def space(self, version: int | None = None) -> FeatureSpace | None:
        """Return the feature space stored with a version."""
        return self.tree(version).space

    def status(self, version: int) -> str:
        """Return "proposed", "approved" or "rejected"."""
        decision = self._decisions.get(self._checked(version))
        return "proposed" if decision is None else str(decision["status"])

    @property
    def versions(self) -> pd.DataFrame:
        """One row per version, indexed by its number.

        Columns: date, status, current, decided_by, decided_on, reason, n_leaves, depth,
        previous (the version it was compared with), dissimilarity_to_previous,
        dissimilarity_to_first, note, and one ``score_<name>`` for every score recorded.
        """
        rows = [self._row(number) for number in self._numbers()]
        fixed = [
            *("date", "status", "current", "decided_by", "decided_on", "reason"),
            *("n_leaves", "depth", "previous"),
            *("dissimilarity_to_previous", "dissimilarity_to_first", "note"),
        ]
        scores = dict.fromkeys(key for row in rows for key in row if key.startswith("score_"))
        index = pd.Index(self._numbers(), name="version", dtype="int64")
        frame = pd.DataFrame(rows, index=index, columns=[*fixed, *scores])
        distances = dict.fromkeys(("dissimilarity_to_previous", "dissimilarity_to_first"), "float")
        return frame.astype({"previous": "Int64", "current": bool, **distances})

    def _row(self, number: int) -> dict[str, Any]:
        content, tree = self._versions[number - 1], self._trees[number - 1]
        decision = self._decisions.get(number, {})
        kept = ("date", "previous", "dissimilarity_to_previous", "dissimilarity_to_first", "note")
        return {
            **{name: content[name] for name in kept},
            "status": self.status(number),
            "current": number == self.current,
            "decided_by": decision.get("by"),
            "decided_on": decision.get("date"),
            "reason": decision.get("reason"),
            "n_leaves": tree.n_leaves,
            "depth": tree.depth,
            **{f"score_{name}": value for name, value in content["scores"].items()},
        }

    def _numbers(self) -> list[int]:
        return list(range(1, len(self) + 1))

    def _checked(self, number: int) -> int:
        if not 1 <= number <= len(self):
            raise HistoryError(
                f"{self.path}: expected a version among {self._numbers()}, got {number}"
            )
        return number

    # -- writing ------------------------------------------------------------------

    def append(
        self,
        tree: Any,
        *,
        scores: Mapping[str, float] | None = None,
        note: str = "",
        on: Date = None,
        approved_by: str | None = None,
        reason: str = "",
    ) -> int:
        """Record a version, proposed until somebody decides.

        Parameters
        ----------
        tree : Retraining, model, Tree or path of a tree file
            A Retraining brings its scores along.
        scores : mapping, optional
            Numbers to keep with the version: ``{"auc": 0.81}``.
        note : str, optional
        on : date, datetime or ISO text, optional
            By default now (UTC).
        approved_by, reason : str, optional
            Approve it at once, in that name.

        Returns
        -------
        int
            The number of the version, from 1.
        """
        found = getattr(tree, "tree", None)
        version = found if isinstance(found, Tree) else as_tree(tree)
        numbers = _scores_of(tree) | dict(scores or {})
        if approved_by is not None:
            _check_who(approved_by)
        with self._exclusive():
            previous = self._compared_with()
            content: dict[str, Any] = {
                **FORMAT,
                "event": "version",
                "number": len(self) + 1,
                "date": _iso_date(on),
                "note": str(note),
                "scores": {str(k): plain_json(float(v)) for k, v in numbers.items()},
                "previous": previous,
                **self._dissimilarities(version, previous),
                "tree": tree_to_dict(version),
            }
            lines = [content]
            if approved_by is not None:
                lines.append(
                    _decision(content["number"], "approved", approved_by, reason, content["date"])
                )
            self._write(lines)
        return len(self)

    def approve(self, version: int, *, by: str, reason: str = "", on: Date = None) -> None:
        """Put a version in force; approving an older one again rolls back to it."""
        self._decide(version, "approved", by, reason, on)

    def reject(self, version: int, *, by: str, reason: str = "", on: Date = None) -> None:
        """Turn a version down, or withdraw one: the one in force before is current again."""
        self._decide(version, "rejected", by, reason, on)

    def _decide(self, version: int, status: str, by: str, reason: str, on: Date) -> None:
        _check_who(by)
        with self._exclusive():
            self._write([_decision(self._checked(version), status, by, reason, _iso_date(on))])

    def _compared_with(self) -> int | None:
        """Return the version a new one follows: the current, else the last not rejected."""
        if self.current is not None:
            return self.current
        open_ones = [n for n in self._numbers() if self.status(n) != "rejected"]
        return open_ones[-1] if open_ones else None

    def _dissimilarities(self, tree: Tree, previous: int | None) -> dict[str, Any]:
        """Measure in the space of the first version; if that cannot hold the tree, its own."""
        nothing = {"dissimilarity_to_previous": None, "dissimilarity_to_first": None}
        if not self._versions:
            return {**nothing, "space": None if tree.space is None else tree.space.digest()}
        first = self._trees[0]
        spaces = [space for space in (first.space, tree.space) if space is not None]
        if not spaces:
            raise HistoryError(
                f"{self.path}: expected a feature space stored with the tree, got none; "
                "append as_tree(model, space=FeatureSpace.from_data(X))"
            )
        problem: FeatureAlignmentError | None = None
        for space in spaces:
            try:
                return {
                    "dissimilarity_to_previous": None
                    if previous is None
                    else _dissimilarity(self.tree(previous), tree, space),
                    "dissimilarity_to_first": _dissimilarity(first, tree, space),
                    "space": space.digest(),
                }
            except FeatureAlignmentError as error:
                problem = problem or error
        assert problem is not None
        raise HistoryError(
            f"{self.path}: expected a tree that can be compared with version 1, got: {problem}; "
            "start a new history for another problem"
        ) from problem

    @contextmanager
    def _exclusive(self) -> Iterator[None]:
        """Hold the folder, and take in what others appended since we read."""
        with _locked_folder(self.path.parent):
            if _content(self.path) != self._content:
                self._read()
            yield

    def _write(self, lines: list[dict[str, Any]]) -> None:
        try:
            added = "".join(
                json.dumps(line, allow_nan=False, ensure_ascii=False) + "\n" for line in lines
            )
        except (TypeError, ValueError) as error:
            raise InputError(f"expected values that JSON can hold, got {error}") from None
        before = self._content
        if before and not before.endswith(b"\n"):
            before += b"\n"  # an editor may have removed the last line's end
        write_atomic(self.path, before + added.encode())
        self._read()

    # -- the file -----------------------------------------------------------------

    def _read(self) -> None:
        """Take in the file; looked at once, since others may write at any moment."""
        fresh = History(self.path)
        content = _content(self.path)
        lines = _lines(content)
        for number, line in enumerate(lines, start=1):
            try:
                fresh._take(json.loads(line))
            except (ValueError, RecursionError) as error:
                raise fresh._damage(number, lines, error) from None
        self._versions, self._trees = fresh._versions, fresh._trees
        self._decisions, self._approved = fresh._decisions, fresh._approved
        self._content = content

    def _take(self, content: Any) -> None:
        """Take in one line, or raise ValueError saying what is wrong with it."""
        if not isinstance(content, dict):
            raise ValueError("expected an object")
        if content.get("format") != FORMAT["format"]:
            raise ValueError(f"expected format {FORMAT['format']!r}")
        if content.get("version") != FORMAT["version"]:
            raise ValueError(
                f"expected version {FORMAT['version']}, got {content.get('version')!r}: the file "
                "may come from a newer steadytree; upgrade with pip install -U steadytree"
            )
        event, number = content.get("event"), content.get("number")
        lacking = sorted(ENTRIES["version" if event == "version" else "decision"] - set(content))
        if lacking:
            raise ValueError(f"expected entries {lacking}, got none")
        if event == "version":
            if number != len(self) + 1:
                raise ValueError(f"expected version {len(self) + 1}, got {number!r}")
            self._trees.append(tree_from_dict(content["tree"]))
            self._versions.append(content)
            return
        if event != "decision":
            raise ValueError(f"expected the event version or decision, got {event!r}")
        if number not in self._numbers() or content["status"] not in ("approved", "rejected"):
            raise ValueError(f"expected a decision about an earlier version, got {number!r}")
        self._decisions[number] = content
        if number in self._approved:
            self._approved.remove(number)
        if content["status"] == "approved":
            self._approved.append(number)

    def _damage(self, number: int, lines: list[str], error: Exception) -> HistoryError:
        intact = "none is before it" if number == 1 else f"lines 1 to {number - 1} are intact"
        if number == len(lines) and isinstance(error, json.JSONDecodeError):
            return _CutOffError(
                f"{self.path}, line {number}: expected a whole line of JSON, got one cut off "
                f"after {len(lines[-1])} characters; {intact}; "
                f"History.recover({str(self.path)!r}) restores them and keeps a copy of the file"
            )
        what = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
        return HistoryError(
            f"{self.path}, line {number}: expected a line of a history, got a damaged one "
            f"({what}); {intact}; restore the file from a copy"
        )

    @classmethod
    def recover(cls, path: str | os.PathLike[str]) -> History:
        """Restore a history whose last line was cut off.

        The damaged file is kept beside it (``<name>.damaged``, then ``.damaged-2``, ...);
        the intact lines become the history again.

        Returns
        -------
        History
        """
        target = Path(path)
        with _locked_folder(target.parent):
            try:
                return cls.open(target)
            except _CutOffError:
                whole = target.read_bytes()
            copy = target.with_name(target.name + ".damaged")
            count = 2
            while copy.exists():
                copy = target.with_name(f"{target.name}.damaged-{count}")
                count += 1
            write_atomic(copy, whole)
            cut = whole.rstrip(b"\n").rfind(b"\n") + 1
            write_atomic(target, whole[:cut])
            return cls.open(target)

    # -- seeing it ----------------------------------------------------------------

    def plot(self, *, score: str | None = None, ax: Any = None) -> Any:
        """Draw how far each version moved, from the one before and from the first.

        Parameters
        ----------
        score : str, optional
            Name of a recorded score to draw as well, on an axis of its own.
        ax : matplotlib Axes, optional

        Returns
        -------
        matplotlib Axes
        """
        frame = self.versions
        if frame.empty:
            raise HistoryError(f"{self.path}: expected at least one version to draw, got none")
        if score is not None and f"score_{score}" not in frame:
            known = [str(n).removeprefix("score_") for n in frame if str(n).startswith("score_")]
            raise HistoryError(f"{self.path}: expected a score among {known}, got {score!r}")
        return plot_versions(frame, score=score, ax=ax)


def _dissimilarity(a: Tree, b: Tree, space: FeatureSpace) -> float:
    return float(tree_distance(a, b, space=space, variant="metric", normalize="relative"))


def _scores_of(subject: Any) -> dict[str, float]:
    """Scores that a Retraining brings along."""
    frontier, chosen = getattr(subject, "frontier", None), getattr(subject, "chosen", None)
    if frontier is None or chosen is None:
        return {}
    name = "auc" if subject.tree.is_classifier else "r2"
    row = frontier.loc[chosen]
    return {
        name: float(row["score"]),
        f"{name}_se": float(row["score_se"]),
        f"{name}_change": float(row["score_change"]),
        "flips": float(row["flips"]),
    }


# -- lines, dates and one writer at a time ----------------------------------------------


def _content(path: Path) -> bytes:
    """Bytes of a file, none if it does not exist."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise HistoryError(
            f"expected a readable history file, got {error.strerror}: {path}"
        ) from error


def _lines(content: bytes) -> list[str]:
    """Lines of a file; bytes that are no text spoil only theirs."""
    text = content.decode("utf-8", errors="replace")
    return text.removesuffix("\n").split("\n") if text else []


@contextmanager
def _locked_folder(folder: Path) -> Iterator[None]:
    """Keep other writers out, where the system can lock a folder."""
    try:
        import fcntl
    except ImportError:  # Windows: the second look at the file has to do
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


def _decision(number: int, status: str, by: str, reason: str, when: str) -> dict[str, Any]:
    """Write a decision about a version as a line's content."""
    what = {"event": "decision", "number": int(number), "status": status}
    return {**FORMAT, **what, "by": by, "reason": str(reason), "date": when}


def _check_who(by: str) -> None:
    """Refuse a decision that nobody signs."""
    if not str(by).strip():
        raise InputError(f"expected the name of who decides, got {by!r}; pass by='...'")


def _iso_date(on: Date) -> str:
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
