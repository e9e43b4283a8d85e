"""Lineage: every version of a deployed tree, and who approved or rejected it, when and why.

A history is a text file of JSON lines that only grows. A line is either a *version* (the
whole tree with its space, date, scores, and how far it is from the version before and
from the first), a *decision* about one, or tells of a *recovery*. Each carries the digest of the
line before it, so that a change is noticed (``history_chain``). The file is replaced in one step by
one writer at a time, so a reader never meets half a line and no entry is lost.
"""

from __future__ import annotations

import operator
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from steadytree._views import plot_versions
from steadytree.core.atomic import check_writable, write_atomic
from steadytree.core.exclusive import exclusive
from steadytree.core.format import plain_json, tree_to_dict
from steadytree.core.limits import MAX_FILE_BYTES
from steadytree.core.quoting import quoted, some_of
from steadytree.core.space import FeatureSpace
from steadytree.core.tree import Tree
from steadytree.distance import tree_distance
from steadytree.exceptions import FeatureAlignmentError, HistoryError, InputError
from steadytree.readers import read_model
from steadytree.retraining.history_chain import Line, seal, to_bytes
from steadytree.retraining.history_entries import (
    Date,
    Ledger,
    checked_name,
    checked_scores,
    checked_text,
    decision_entry,
    iso_date,
    take_in,
)
from steadytree.retraining.history_recovery import Recovery, recover_lines
from steadytree.retraining.history_verification import (
    Verification,
    first_fault,
    read_history,
    verify_history,
)

__all__ = ["History"]


class History:
    """Every version of a tree that was deployed or proposed, in one append-only file.

    Made by :meth:`open`. Each method that changes something writes one line at once.

    Parameters
    ----------
    path : path-like
        Of the file. :meth:`open` reads it; the bare constructor does not, for those who
        verify or recover a file that cannot be read.

    Examples
    --------
    >>> import tempfile
    >>> import steadytree as st
    >>> space = st.FeatureSpace.from_data([[20.0], [70.0]]).replace(names=("age",))
    >>> first, second = (
    ...     st.as_tree(st.tree_from_rules(f'''
    ...     age <= {cut}: no
    ...     else: yes
    ...     '''), space=space)
    ...     for cut in (50, 55)
    ... )
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     history = st.History.open(f"{folder}/triage.history.jsonl")
    ...     _ = history.append(first, approved_by="Dr Adams", reason="first tree", on="2024-01-08")
    ...     number = history.append(second, note="data of 2024", on="2025-01-07")
    ...     history.approve(number, by="Dr Baker", reason="moves by 5 years", on="2025-01-09")
    ...     print(history.verify())
    4 lines, all chained
    >>> history.current
    2
    >>> history.versions["decided_by"].to_dict()
    {1: 'Dr Adams', 2: 'Dr Baker'}
    >>> history.versions["dissimilarity_to_first"].round(3).to_dict()
    {1: nan, 2: 0.065}
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.recovered: Recovery | None = None
        self._ledger = Ledger()
        self._content = b""  # of the file, as it was when the ledger was filled
        self._last: Line | None = None

    @classmethod
    def open(cls, path: str | os.PathLike[str], *, verify: bool = True) -> History:
        """Read a history; a file that does not exist yet is an empty one.

        Parameters
        ----------
        path : path-like
        verify : bool
            Whether to refuse lines whose digests do not fit. Without it such a file can be
            looked at, but not written to.

        Returns
        -------
        History

        Raises
        ------
        HistoryError
            Naming the line that does not fit, and what to do.
        """
        history = cls(path)
        history._take_in(read_history(path), check_chain=verify)
        if not verify:
            history._content = b""  # so that writing looks again, at everything
        return history

    # -- reading ------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self._ledger.versions)

    def __repr__(self) -> str:
        return f"History({str(self.path)!r}, {len(self)} versions, current: {self.current})"

    @property
    def current(self) -> int | None:
        """Number of the version in force: the one approved last and not rejected since."""
        return self._ledger.approved[-1] if self._ledger.approved else None

    @property
    def head(self) -> str | None:
        """Digest of the last line; None if there is none.

        Kept elsewhere (in a ticket, a tag), it shows later whether lines were removed or rewritten:
        ``history.verify(head=...)``.
        """
        return None if self._last is None else self._last.digest

    def verify(self, head: str | None = None) -> Verification:
        """Check the file as it is now; raises nothing.

        ``History(path).verify()`` checks a file that :meth:`open` refuses.

        Parameters
        ----------
        head : str, optional
            A head noted earlier; at least its first 16 characters.

        Returns
        -------
        Verification
            True if every line is what was written, and the head is that of a line.
        """
        return verify_history(self.path, head)

    def tree(self, version: int | None = None) -> Tree:
        """Return the tree of a version, by default of the current one.

        Parameters
        ----------
        version : int, optional

        Returns
        -------
        Tree
        """
        if version is None:
            version = self.current
            if version is None:
                raise HistoryError(
                    f"{self.path}: expected an approved version, got none; name one of "
                    f"[{some_of(self._ledger.numbers)}], or approve it first"
                )
        return self._ledger.trees[self._checked(version)]

    def space(self, version: int | None = None) -> FeatureSpace | None:
        """Return the feature space stored with a version.

        Parameters
        ----------
        version : int, optional
            By default the current one.

        Returns
        -------
        FeatureSpace or None
        """
        return self.tree(version).space

    def status(self, version: int) -> str:
        """Say what was decided about a version.

        Parameters
        ----------
        version : int

        Returns
        -------
        {"proposed", "approved", "rejected"}
        """
        decision = self._ledger.decisions.get(self._checked(version))
        return "proposed" if decision is None else str(decision["status"])

    @property
    def versions(self) -> pd.DataFrame:
        """One row per version, indexed by its number.

        Columns: date, status, current, decided_by, decided_on, reason, n_leaves, depth,
        previous (the version it was compared with), dissimilarity_to_previous,
        dissimilarity_to_first, note, and one ``score_<name>`` for every score recorded.
        """
        rows = [self._row(number) for number in self._ledger.numbers]
        fixed = [
            *("date", "status", "current", "decided_by", "decided_on", "reason"),
            *("n_leaves", "depth", "previous"),
            *("dissimilarity_to_previous", "dissimilarity_to_first", "note"),
        ]
        scores = dict.fromkeys(key for row in rows for key in row if key.startswith("score_"))
        index = pd.Index(self._ledger.numbers, name="version", dtype="int64")
        frame = pd.DataFrame(rows, index=index, columns=[*fixed, *scores])
        distances = dict.fromkeys(("dissimilarity_to_previous", "dissimilarity_to_first"), "float")
        return frame.astype({"previous": "Int64", "current": bool, **distances})

    def _row(self, number: int) -> dict[str, Any]:
        content, tree = self._ledger.versions[number], self._ledger.trees[number]
        decision = self._ledger.decisions.get(number, {})
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

    def _checked(self, number: Any) -> int:
        try:
            known = not isinstance(number, bool) and operator.index(number) in self._ledger.versions
        except TypeError:
            known = False
        if not known:
            raise HistoryError(
                f"{self.path}: expected a version among [{some_of(self._ledger.numbers)}], "
                f"got {quoted(number)}; history.versions lists them"
            )
        return operator.index(number)

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
        version = found if isinstance(found, Tree) else read_model(tree)
        numbers = _scores_of(tree) | checked_scores(scores or {})
        what = {"note": checked_text(note, "note"), "date": iso_date(on)}
        if approved_by is not None:
            checked_name(approved_by)
        if checked_text(reason, "reason") and approved_by is None:
            raise InputError(
                "expected approved_by= with a reason, got a reason alone; name who approves, or "
                "pass it as note="
            )

        def lines() -> list[dict[str, Any]]:
            previous = self._compared_with()
            content: dict[str, Any] = {
                "event": "version",
                "number": self._ledger.next_number,
                **what,
                "scores": plain_json(numbers),
                "previous": previous,
                **self._dissimilarities(version, previous),
                "tree": tree_to_dict(version),
            }
            if approved_by is None:
                return [content]
            number, when = content["number"], content["date"]
            return [content, decision_entry(number, "approved", approved_by, reason, when)]

        self._extend(lines)
        return list(self._ledger.versions)[-1]

    def approve(self, version: int, *, by: str, reason: str = "", on: Date = None) -> None:
        """Put a version in force; approving an older one again rolls back to it.

        Parameters
        ----------
        version : int
        by : str
            Who approves.
        reason : str, optional
        on : date, datetime or ISO text, optional
            By default now (UTC).
        """
        self._decide(version, "approved", by, reason, on)

    def reject(self, version: int, *, by: str, reason: str = "", on: Date = None) -> None:
        """Turn a version down, or withdraw one: the one in force before is current again.

        Parameters
        ----------
        version : int
        by : str
            Who rejects.
        reason : str, optional
        on : date, datetime or ISO text, optional
            By default now (UTC).
        """
        self._decide(version, "rejected", by, reason, on)

    def _decide(self, version: int, status: str, by: str, reason: str, on: Date) -> None:
        checked_name(by)
        checked_text(reason, "reason")
        when = iso_date(on)
        self._extend(lambda: [decision_entry(self._checked(version), status, by, reason, when)])

    def _compared_with(self) -> int | None:
        """Return the version a new one follows: the current, else the last not rejected."""
        if self.current is not None:
            return self.current
        open_ones = [n for n in self._ledger.numbers if self.status(n) != "rejected"]
        return open_ones[-1] if open_ones else None

    def _dissimilarities(self, tree: Tree, previous: int | None) -> dict[str, Any]:
        """Measure in the space of the first version; if that cannot hold the tree, its own."""
        nothing = {"dissimilarity_to_previous": None, "dissimilarity_to_first": None}
        if not self._ledger.versions:
            return {**nothing, "space": None if tree.space is None else tree.space.digest()}
        first = self._ledger.trees[self._ledger.numbers[0]]
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

    def _extend(self, make: Callable[[], list[dict[str, Any]]]) -> None:
        """Append the lines that ``make`` returns, given what the file holds by then."""
        file = check_writable(self.path)
        with exclusive(file):
            self._read(file)
            added = self._sealed(make())
            while self._read(file):  # changed by somebody who does not know our lock
                added = self._sealed(make())
            before = self._content
            if before and not before.endswith(b"\n"):
                before += b"\n"  # an editor may have removed the last line's end
            if len(before) + len(added) > MAX_FILE_BYTES:
                raise HistoryError(
                    f"{self.path}: expected a history of at most {MAX_FILE_BYTES:,} bytes, got "
                    "more with this entry; start a new one with the current version"
                )
            write_atomic(file, before + added)
        # The file is no longer ours to read: another writer may have been quicker.
        self._take_in(before + added)

    def _sealed(self, entries: list[dict[str, Any]]) -> bytes:
        head, lines = self.head, b""
        for entry in entries:
            content = seal(entry, head)
            head = content["digest"]
            lines += to_bytes(content)
        return lines

    # -- the file -----------------------------------------------------------------

    def _read(self, file: Path) -> bool:
        """Take in the file as it is; return whether it is not what we knew."""
        content = read_history(file)
        if content == self._content:
            return False
        self._take_in(content)
        return True

    def _take_in(self, content: bytes, *, check_chain: bool = True) -> None:
        """Take in what was added to what we know, or all if that was replaced."""
        known = self._content
        grown = self._last is not None and known.endswith(b"\n") and content.startswith(known)
        ledger, last = (self._ledger.copy(), self._last) if grown else (Ledger(), None)
        lines = [] if last is None else [last]
        lines += take_in(
            content[len(known) if grown else 0 :], ledger, last, check_chain=check_chain
        )
        if any(line.fault is not None for line in lines):
            raise self._refused(content, check_chain=check_chain)
        if self.head is not None and self.head not in {line.digest for line in lines}:
            raise HistoryError(
                f"{self.path}: expected the lines that were there when it was opened, got a file "
                "without them; look at it, then open it again"
            )
        self._ledger, self._content = ledger, content
        self._last = lines[-1] if lines else None

    def _refused(self, content: bytes, *, check_chain: bool) -> HistoryError:
        _, words = first_fault(list(take_in(content, Ledger(), check_chain=check_chain)))
        return HistoryError(
            f"{self.path}, {words}; `steadytree history verify` tells more, and "
            f"History.recover({str(self.path)!r}) or `steadytree history recover` keeps what is "
            "intact and a copy of the file"
        )

    @classmethod
    def recover(cls, path: str | os.PathLike[str]) -> History:
        """Mend a damaged history: keep what is intact, put a copy of the file beside it.

        Lines before the first that does not fit stay; a line that tells of the recovery and all
        later entries that are intact follow, sealed again. The file as it was is kept as
        ``<name>.damaged``, then ``.damaged-2``, and so on.

        Parameters
        ----------
        path : path-like

        Returns
        -------
        History
            Its ``recovered`` says what was done.
        """
        history = cls(path)
        if not history.path.exists():
            return cls.open(path)
        file = check_writable(path)
        with exclusive(file):
            damaged = read_history(file)
            copy, count = file.with_name(f"{file.name}.damaged"), 2
            while copy.exists():
                copy, count = file.with_name(f"{file.name}.damaged-{count}"), count + 1
            try:
                mended, history.recovered = recover_lines(damaged, copy.name)
            except HistoryError as error:
                raise HistoryError(f"{file}: {error}") from None
            if history.recovered:
                write_atomic(copy, damaged, like=file)
                write_atomic(file, mended)
        history._take_in(mended)
        return history

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
