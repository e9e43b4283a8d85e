"""Lineage: every version of a deployed tree, and who approved or rejected it, when and why.

A history is a text file of JSON lines that only grows. A line is either a *version* (the
whole tree with its space, date, scores, the check of its plan, and how far it is from the version
before and from the first) or a *decision* about one. Each carries the digest of the line before it,
so that a change is noticed (``history_chain``). The file is replaced in one step by one writer at a
time, so a reader never meets half a line and no entry is lost. What its plan refused is recorded as
refused, and nobody can approve it.
"""

from __future__ import annotations

import operator
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from steadytree._io import MAX_FILE_BYTES, check_writable, exclusive, write_atomic
from steadytree._text import quoted, some_of
from steadytree._views import plot_versions
from steadytree.exceptions import HistoryError, InputError
from steadytree.retraining.history_chain import (
    APPROVED,
    KEPT,
    PROPOSED,
    REFUSED,
    REJECTED,
    Date,
    Ledger,
    Line,
    Verification,
    checked_name,
    checked_scores,
    checked_text,
    clauses_not_held,
    decide_alike,
    decision_entry,
    dissimilarities,
    first_fault,
    held_checks,
    iso_date,
    other_names,
    read_history,
    read_subject,
    seal,
    take_in,
    to_bytes,
    verify_history,
)
from steadytree.tree.json import plain_json, tree_to_dict
from steadytree.tree.space import FeatureSpace
from steadytree.tree.tree import Tree


class History:
    """Every version of a tree that was deployed or proposed, in one append-only file.

    Made by :meth:`open`. Each method that changes something writes one line at once.

    Parameters
    ----------
    path : path-like
        Of the file. :meth:`open` reads it; the bare constructor does not, for those who
        verify a file that cannot be read.

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
            Whether to refuse lines whose digests do not fit, and a file with two names (hard
            links). Without it such a file can be looked at, but not written to.

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
        if verify:
            history._refuse_other_names()
        else:
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
        """Say what was decided about a version, or as what it was recorded.

        Parameters
        ----------
        version : int

        Returns
        -------
        {"proposed", "kept", "refused", "approved", "rejected"}
            Refused: by its plan, so that nobody can approve it. Kept: a retraining that keeps
            the version in force.
        """
        return self._ledger.status(self._checked(version))

    def check(self, version: int) -> dict[str, Any] | None:
        """Return the check of the plan that was recorded with a version.

        Parameters
        ----------
        version : int

        Returns
        -------
        dict or None
        """
        found = self._ledger.versions[self._checked(version)]["check"]
        return None if found is None else dict(found)

    @property
    def versions(self) -> pd.DataFrame:
        """One row per version, indexed by its number.

        Columns: date, status, current, decided_by, decided_on, reason (before a decision:
        the clauses of the plan that did not hold), n_leaves, depth, previous (the version it
        was compared with), dissimilarity_to_previous, dissimilarity_to_first (the first that was
        not refused), note, and one ``score_<name>`` for every score recorded.
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
            "reason": decision["reason"] if decision else clauses_not_held(content) or None,
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
        check: Any = None,
        scores: Mapping[str, float] | None = None,
        note: str = "",
        on: Date = None,
        approved_by: str | None = None,
        reason: str = "",
    ) -> int:
        """Record a version, proposed until somebody decides; refused if its plan does not hold.

        Parameters
        ----------
        tree : Retraining, model, Tree or path of a tree file
            A Retraining brings its scores and the check of its plan along. One that keeps the
            version in force is recorded as kept; of one whose plan refused a tree, that tree is.
        check : PlanCheck, optional
            How the tree held a plan: anything with ``held`` and ``to_dict()``.
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

        Raises
        ------
        HistoryError
            For the tree that is in force already, unless a Retraining keeps it, for an approval
            of a tree that its plan refused, and for such a tree again without a check.
        """
        version, keeps, measured = read_subject(tree)
        held, content = held_checks(check, getattr(tree, "plan_check", None))
        numbers = plain_json(measured | checked_scores(scores or {}))
        what = {"note": checked_text(note, "note"), "date": iso_date(on), "check": content}
        if approved_by is not None:
            checked_name(approved_by)
        if checked_text(reason, "reason") and approved_by is None:
            raise InputError(
                "expected approved_by= with a reason, got a reason alone; name who approves, or "
                "pass it as note="
            )

        def lines() -> list[dict[str, Any]]:
            status = {number: self.status(number) for number in self._ledger.numbers}
            trees = {n: self._ledger.trees[n] for n in status if status[n] != REFUSED}
            # It follows the current version, else the last that may become it.
            opened = [n for n in trees if status[n] != REJECTED]
            previous = self.current or (opened[-1] if opened else None)
            entry: dict[str, Any] = {
                "event": "version",
                "number": len(self) + 1,
                "status": self._status_of(
                    version, keeps=keeps, held=held, checked=content is not None
                ),
                **what,
                "scores": numbers,
                "previous": previous,
                **dissimilarities(version, previous, trees, self.path),
                "tree": tree_to_dict(version),
            }
            if approved_by is None:
                return [entry]
            if entry["status"] == REFUSED:
                raise self._not_to_be_approved("the tree", entry)
            number, when = entry["number"], entry["date"]
            return [entry, decision_entry(number, APPROVED, approved_by, reason, when)]

        self._extend(lines)
        return len(self)

    def approve(self, version: int, *, by: str, reason: str = "", on: Date = None) -> None:
        """Put a version in force; approving an older one again rolls back to it.

        A version that its plan refused cannot be approved: revise the plan and retrain.

        Parameters
        ----------
        version : int
        by : str
            Who approves.
        reason : str, optional
        on : date, datetime or ISO text, optional
            By default now (UTC).
        """
        self._decide(version, APPROVED, by, reason, on)

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
        self._decide(version, REJECTED, by, reason, on)

    def _decide(self, version: int, status: str, by: str, reason: str, on: Date) -> None:
        checked_name(by)
        checked_text(reason, "reason")
        when = iso_date(on)

        def lines() -> list[dict[str, Any]]:
            number = self._checked(version)
            if self.status(number) == REFUSED:
                raise self._not_to_be_approved(f"version {number}", self._ledger.versions[number])
            return [decision_entry(number, status, by, reason, when)]

        self._extend(lines)

    def _not_to_be_approved(self, what: str, version: Mapping[str, Any]) -> HistoryError:
        clauses = clauses_not_held(version)
        return HistoryError(
            f"{self.path}: expected a tree that holds its plan to decide about, got {what}, which "
            f"was refused{f' ({clauses})' if clauses else ''}; revise the plan and retrain, then "
            "decide about the new proposal"
        )

    def _status_of(self, tree: Tree, *, keeps: bool, held: bool, checked: bool) -> str:
        if self.current is not None and decide_alike(self.tree(), tree):
            if keeps:
                return KEPT
            raise HistoryError(
                f"{self.path}: expected a tree other than the one in force, got version "
                f"{self.current} again (the same rules, labels and risks); append what retrain "
                "returned, which records that the tree is kept, or nothing"
            )
        refused = [n for n in self._ledger.numbers if self.status(n) == REFUSED]
        again = next((n for n in refused if decide_alike(self.tree(n), tree)), None)
        if again is not None and not checked:
            raise HistoryError(
                f"{self.path}: expected a check with a tree that a plan refused, got version "
                f"{again} again without one; append what retrain returns under the "
                "revised plan, or pass check="
            )
        return PROPOSED if held else REFUSED

    def _extend(self, make: Callable[[], list[dict[str, Any]]]) -> None:
        """Append the lines that ``make`` returns, given what the file holds by then."""
        file = check_writable(self.path)
        with exclusive(file):
            self._read(file)
            self._refuse_other_names()
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
        added = content[len(known) if grown else 0 :]
        lines = [] if last is None else [last]
        lines += take_in(added, ledger, last, check_chain=check_chain)
        if any(line.fault is not None for line in lines):
            raise self._unfit(content, check_chain=check_chain)
        if self.head is not None and self.head not in {line.digest for line in lines}:
            raise HistoryError(
                f"{self.path}: expected the lines that were there when it was opened, got a file "
                "without them; look at it, then open it again"
            )
        self._ledger, self._content = ledger, content
        self._last = lines[-1] if lines else None

    def _unfit(self, content: bytes, *, check_chain: bool) -> HistoryError:
        wrong, words = first_fault(list(take_in(content, Ledger(), check_chain=check_chain)))
        assert wrong is not None
        return HistoryError(
            f"{self.path}, {words}; `steadytree history verify` tells more; put a copy of the file "
            f"back, or take out line {wrong.number} and all after it, and decide again about what "
            "they said"
        )

    def _refuse_other_names(self) -> None:
        if names := other_names(self.path):
            raise HistoryError(f"{self.path}: {names}")

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
