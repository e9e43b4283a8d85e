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
from dataclasses import dataclass
from datetime import date, datetime
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
from steadytree.retraining.history_file import (
    DECISION_ENTRIES,
    FORMAT_NAME,
    FORMAT_VERSION,
    STATUSES,
    VERSION_ENTRIES,
    CutOffError,
    check_who,
    decision_line,
    iso_date,
    locked_folder,
    read_lines,
)

__all__ = ["History"]


@dataclass(frozen=True)
class _Version:
    number: int
    content: Mapping[str, Any]
    tree: Tree


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
        self._versions: list[_Version] = []
        self._decisions: dict[int, Mapping[str, Any]] = {}
        self._approved: list[int] = []  # in the order of approval, the current one last
        self._size = 0

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
        return self._version(version).tree

    def space(self, version: int | None = None) -> FeatureSpace | None:
        """Return the feature space stored with a version."""
        return self.tree(version).space

    def status(self, version: int) -> str:
        """Return "proposed", "approved" or "rejected"."""
        self._version(version)
        decision = self._decisions.get(version)
        return "proposed" if decision is None else str(decision["status"])

    @property
    def versions(self) -> pd.DataFrame:
        """One row per version, indexed by its number.

        Columns: date, status, current, decided_by, decided_on, reason, n_leaves, depth,
        previous (the version it was compared with), dissimilarity_to_previous,
        dissimilarity_to_first, note, and one ``score_<name>`` for every score recorded.
        """
        rows = [self._row(version) for version in self._versions]
        fixed = [
            *("date", "status", "current", "decided_by", "decided_on", "reason"),
            *("n_leaves", "depth", "previous"),
            *("dissimilarity_to_previous", "dissimilarity_to_first", "note"),
        ]
        scores = dict.fromkeys(key for row in rows for key in row if key.startswith("score_"))
        index = pd.Index([v.number for v in self._versions], name="version", dtype="int64")
        frame = pd.DataFrame(rows, index=index, columns=[*fixed, *scores])
        distances = dict.fromkeys(("dissimilarity_to_previous", "dissimilarity_to_first"), "float")
        return frame.astype({"previous": "Int64", "current": bool, **distances})

    def _row(self, version: _Version) -> dict[str, Any]:
        content = version.content
        decision = self._decisions.get(version.number, {})
        return {
            "date": content["date"],
            "status": self.status(version.number),
            "current": version.number == self.current,
            "decided_by": decision.get("by"),
            "decided_on": decision.get("date"),
            "reason": decision.get("reason"),
            "n_leaves": version.tree.n_leaves,
            "depth": version.tree.depth,
            "previous": content["previous"],
            "dissimilarity_to_previous": content["dissimilarity_to_previous"],
            "dissimilarity_to_first": content["dissimilarity_to_first"],
            "note": content["note"],
            **{f"score_{name}": value for name, value in content["scores"].items()},
        }

    def _numbers(self) -> list[int]:
        return [v.number for v in self._versions]

    def _version(self, number: int) -> _Version:
        if not 1 <= number <= len(self._versions):
            raise HistoryError(
                f"{self.path}: expected a version among {self._numbers()}, got {number}"
            )
        return self._versions[number - 1]

    # -- writing ------------------------------------------------------------------

    def append(
        self,
        tree: Any,
        *,
        scores: Mapping[str, float] | None = None,
        note: str = "",
        on: date | datetime | str | None = None,
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
            check_who(approved_by)
        with self._exclusive():
            previous = self._compared_with()
            content = {
                "format": FORMAT_NAME,
                "version": FORMAT_VERSION,
                "event": "version",
                "number": len(self._versions) + 1,
                "date": iso_date(on),
                "note": str(note),
                "scores": {str(k): plain_json(float(v)) for k, v in numbers.items()},
                "previous": previous,
                **self._dissimilarities(version, previous),
                "tree": tree_to_dict(version),
            }
            lines = [content]
            if approved_by is not None:
                lines.append(
                    decision_line(
                        content["number"], "approved", approved_by, reason, content["date"]
                    )
                )
            self._write(lines)
        return len(self._versions)

    def approve(
        self,
        version: int,
        *,
        by: str,
        reason: str = "",
        on: date | datetime | str | None = None,
    ) -> None:
        """Put a version in force; approving an older one again rolls back to it."""
        self._decide(version, "approved", by, reason, on)

    def reject(
        self,
        version: int,
        *,
        by: str,
        reason: str = "",
        on: date | datetime | str | None = None,
    ) -> None:
        """Turn a version down, or withdraw one: the one in force before is current again."""
        self._decide(version, "rejected", by, reason, on)

    def _decide(
        self, version: int, status: str, by: str, reason: str, on: date | datetime | str | None
    ) -> None:
        check_who(by)
        with self._exclusive():
            self._version(version)
            self._write([decision_line(version, status, by, reason, iso_date(on))])

    def _compared_with(self) -> int | None:
        """Return the version a new one follows: the current, else the last not rejected."""
        if self.current is not None:
            return self.current
        open_ones = [n for n in self._numbers() if self.status(n) != "rejected"]
        return open_ones[-1] if open_ones else None

    def _dissimilarities(self, tree: Tree, previous: int | None) -> dict[str, Any]:
        """Measure in the space of the first version; if that cannot hold the tree, its own."""
        if not self._versions:
            return {
                "dissimilarity_to_previous": None,
                "dissimilarity_to_first": None,
                "space": None if tree.space is None else tree.space.digest(),
            }
        first = self._versions[0].tree
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
        with locked_folder(self.path.parent):
            size = self.path.stat().st_size if self.path.exists() else 0
            if size != self._size:
                self._read()
            yield

    def _write(self, lines: list[dict[str, Any]]) -> None:
        try:
            added = "".join(
                json.dumps(line, allow_nan=False, ensure_ascii=False) + "\n" for line in lines
            )
        except (TypeError, ValueError) as error:
            raise InputError(f"expected values that JSON can hold, got {error}") from None
        before = self.path.read_bytes() if self.path.exists() else b""
        if before and not before.endswith(b"\n"):
            before += b"\n"  # an editor may have removed the last line's end
        write_atomic(self.path, before + added.encode())
        self._read()

    # -- the file -----------------------------------------------------------------

    def _read(self) -> None:
        fresh = History(self.path)
        for number, line in enumerate(read_lines(self.path), start=1):
            try:
                fresh._take(json.loads(line))
            except (ValueError, RecursionError) as error:
                raise fresh._damage(number, line, error) from None
        self._versions, self._decisions = fresh._versions, fresh._decisions
        self._approved = fresh._approved
        self._size = self.path.stat().st_size if self.path.exists() else 0

    def _take(self, content: Any) -> None:
        """Take in one line, or raise ValueError saying what is wrong with it."""
        if not isinstance(content, dict):
            raise ValueError("expected an object")
        if content.get("format") != FORMAT_NAME:
            raise ValueError(f"expected format {FORMAT_NAME!r}")
        if content.get("version") != FORMAT_VERSION:
            raise ValueError(
                f"expected version {FORMAT_VERSION}, got {content.get('version')!r}: the file may "
                "come from a newer steadytree; upgrade with pip install -U steadytree"
            )
        event, number = content.get("event"), content.get("number")
        needed = VERSION_ENTRIES if event == "version" else DECISION_ENTRIES
        lacking = sorted(needed - set(content))
        if lacking:
            raise ValueError(f"expected entries {lacking}, got none")
        if event == "version":
            if number != len(self._versions) + 1:
                raise ValueError(f"expected version {len(self._versions) + 1}, got {number!r}")
            self._versions.append(_Version(number, content, tree_from_dict(content["tree"])))
            return
        if event != "decision":
            raise ValueError(f"expected the event version or decision, got {event!r}")
        if number not in self._numbers() or content["status"] not in STATUSES[1:]:
            raise ValueError(f"expected a decision about an earlier version, got {number!r}")
        self._decisions[number] = content
        if number in self._approved:
            self._approved.remove(number)
        if content["status"] == "approved":
            self._approved.append(number)

    def _damage(self, number: int, line: str, error: Exception) -> HistoryError:
        intact = "none is before it" if number == 1 else f"lines 1 to {number - 1} are intact"
        last = number == len(read_lines(self.path))
        if last and isinstance(error, json.JSONDecodeError):
            return CutOffError(
                f"{self.path}, line {number}: expected a whole line of JSON, got one cut off "
                f"after {len(line)} characters; {intact}; "
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
        with locked_folder(target.parent):
            try:
                return cls.open(target)
            except CutOffError:
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
