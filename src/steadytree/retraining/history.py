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
from datetime import UTC, date, datetime
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from steadytree._io import MAX_FILE_BYTES, check_writable, exclusive, read_bytes, write_atomic
from steadytree._text import quoted, some_of
from steadytree.diff.directions import space_with_turned
from steadytree.distance import tree_distance
from steadytree.exceptions import FeatureAlignmentError, HistoryError, InputError
from steadytree.plugins import read_model
from steadytree.retraining.history_chain import (
    APPROVED,
    KEPT,
    PROPOSED,
    REFUSED,
    REJECTED,
    Ledger,
    Verification,
    read_lines,
    seal,
    to_bytes,
    verify_lines,
)
from steadytree.retraining.result import Retraining
from steadytree.tree.json import plain_json, tree_to_dict
from steadytree.tree.space import FeatureSpace
from steadytree.tree.tree import Tree

Date = date | datetime | str | None

_ROUNDING = 1e-12  # of predictions that were computed anew


class History:
    """Every version of a tree that was deployed or proposed, in one append-only file.

    Each method that changes something writes one line at once. What is asked of it is read
    from the file once, and again whenever something is written; a file with a line that does not
    fit is refused with ``HistoryError``, and :meth:`verify` says which.

    Parameters
    ----------
    path : path-like
        Of the file; one that does not exist yet is an empty history.

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
    ...     history = st.History(f"{folder}/triage.history.jsonl")
    ...     number = history.append(first, note="first tree", on="2024-01-07")
    ...     history.approve(number, by="Dr Adams", on="2024-01-08")
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
        self._known: Ledger | None = None

    # -- reading ------------------------------------------------------------------

    @property
    def _ledger(self) -> Ledger:
        return self._read()[0] if self._known is None else self._known

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
        return self._ledger.head

    def verify(self, head: str | None = None) -> Verification:
        """Check the file as it is now, and that it still holds the line of a head.

        Parameters
        ----------
        head : str, optional
            A head noted earlier; at least its first 16 characters.

        Returns
        -------
        Verification
            True if every line is what was written, and the head is that of a line.

        Raises
        ------
        HistoryError
            There is no such file, or it cannot be read.
        """
        return verify_lines(_bytes_of(self.path), head)

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
                    f"[{some_of(list(self._ledger.versions))}], or approve it first"
                )
        return self._ledger.trees[self._checked(version)]

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
        ledger = self._ledger
        rows = [self._row(number) for number in ledger.versions]
        fixed = [
            *("date", "status", "current", "decided_by", "decided_on", "reason"),
            *("n_leaves", "depth", "previous"),
            *("dissimilarity_to_previous", "dissimilarity_to_first", "note"),
        ]
        scores = dict.fromkeys(key for row in rows for key in row if key.startswith("score_"))
        index = pd.Index(list(ledger.versions), name="version", dtype="int64")
        frame = pd.DataFrame(rows, index=index, columns=[*fixed, *scores])
        distances = dict.fromkeys(("dissimilarity_to_previous", "dissimilarity_to_first"), "float")
        return frame.astype({"previous": "Int64", "current": bool, **distances})

    def _row(self, number: int) -> dict[str, Any]:
        content, tree = self._ledger.versions[number], self._ledger.trees[number]
        decision = self._ledger.decisions.get(number, {})
        kept = ("date", "previous", "dissimilarity_to_previous", "dissimilarity_to_first", "note")
        return {
            **{name: content[name] for name in kept},
            "status": self._ledger.status(number),
            "current": number == self.current,
            "decided_by": decision.get("by"),
            "decided_on": decision.get("date"),
            "reason": decision["reason"] if decision else _clauses_not_held(content) or None,
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
                f"{self.path}: expected a version among [{some_of(list(self._ledger.versions))}], "
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

        Returns
        -------
        int
            The number of the version, from 1.

        Raises
        ------
        HistoryError
            For the tree that is in force already, unless a Retraining keeps it, and for a tree
            that a plan refused again without a check.
        """
        version, measured = _subject_of(tree)
        keeps = isinstance(tree, Retraining) and tree.refused is None and tree.action == "keep"
        held, content = _checked_plan(
            check, tree.plan_check if isinstance(tree, Retraining) else None
        )
        what = {
            "date": _iso_date(on),
            "note": _checked_text(note, "note"),
            "scores": plain_json(measured | _checked_scores(scores or {})),
            "check": content,
        }

        def entry(ledger: Ledger) -> dict[str, Any]:
            checked = content is not None
            return {
                "event": "version",
                "number": len(ledger.versions) + 1,
                "status": self._status_of(version, keeps=keeps, held=held, checked=checked),
                **what,
                **self._placed(version),
                "tree": tree_to_dict(version),
            }

        self._extend(entry)
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

    def _decide(self, version: int, status: str, by: Any, reason: str, on: Date) -> None:
        if not isinstance(by, str) or not any(character.isalnum() for character in by):
            raise InputError(f"expected the name of who decides, got {quoted(by)}; pass by='...'")
        what = {"by": by, "reason": _checked_text(reason, "reason"), "date": _iso_date(on)}

        def entry(ledger: Ledger) -> dict[str, Any]:
            number = self._checked(version)
            if ledger.status(number) == REFUSED:
                clauses = _clauses_not_held(ledger.versions[number])
                raise HistoryError(
                    f"{self.path}: expected a tree that holds its plan to decide about, got "
                    f"version {number}, which was refused{f' ({clauses})' if clauses else ''}; "
                    "revise the plan and retrain, then decide about the new proposal"
                )
            return {"event": "decision", "number": number, "status": status, **what}

        self._extend(entry)

    def _status_of(self, tree: Tree, *, keeps: bool, held: bool, checked: bool) -> str:
        if self.current is not None and _decide_alike(self.tree(), tree):
            if keeps:
                return KEPT
            raise HistoryError(
                f"{self.path}: expected a tree other than the one in force, got version "
                f"{self.current} again (the same rules, labels and risks); append what retrain "
                "returned, which records that the tree is kept, or nothing"
            )
        trees = self._ledger.trees
        refused = [n for n in trees if self._ledger.status(n) == REFUSED]
        again = next((n for n in refused if _decide_alike(trees[n], tree)), None)
        if again is not None and not checked:
            raise HistoryError(
                f"{self.path}: expected a check with a tree that a plan refused, got version "
                f"{again} again without one; append what retrain returns under the "
                "revised plan, or pass check="
            )
        return PROPOSED if held else REFUSED

    def _placed(self, tree: Tree) -> dict[str, Any]:
        """Which version a tree follows, and how far it is from that one and from the first.

        Measured in the space of the first version; if that cannot hold the tree, in its own.
        What a plan refused is nobody's yardstick.
        """
        status = {n: self._ledger.status(n) for n in self._ledger.versions}
        trees = {n: self._ledger.trees[n] for n in status if status[n] != REFUSED}
        # It follows the current version, else the last that may become it.
        opened = [n for n in trees if status[n] != REJECTED]
        previous = self.current or (opened[-1] if opened else None)
        placed: dict[str, Any] = {
            "previous": previous,
            "dissimilarity_to_previous": None,
            "dissimilarity_to_first": None,
            "space": None if tree.space is None else tree.space.digest(),
        }
        if not trees:
            return placed
        number, first = next(iter(trees.items()))
        problem: Any = "none stored with either"
        for space in (first.space, tree.space):
            try:
                if space is not None:
                    far = _dissimilarity(first, tree, space)
                    if previous is not None:
                        near = _dissimilarity(trees[previous], tree, space)
                        placed["dissimilarity_to_previous"] = near
                    return {**placed, "dissimilarity_to_first": far, "space": space.digest()}
            except FeatureAlignmentError as error:
                problem = error
        raise HistoryError(
            f"{self.path}: expected a feature space to compare the tree with version {number} in, "
            f"got: {problem}; append as_tree(model, space=FeatureSpace.from_data(X)), or start a "
            "new history for another problem"
        )

    # -- the file -----------------------------------------------------------------

    def _extend(self, make: Callable[[Ledger], dict[str, Any]]) -> None:
        """Append the entry that ``make`` returns, given what the file holds by then."""
        file = check_writable(self.path)
        with exclusive(file):
            ledger, content = self._read()
            if content and not content.endswith(b"\n"):
                content += b"\n"  # an editor may have removed the last line's end
            line = seal(make(ledger), ledger.head)
            content += to_bytes(line)
            if len(content) > MAX_FILE_BYTES:
                raise HistoryError(
                    f"{self.path}: expected a history of at most {MAX_FILE_BYTES:,} bytes, got "
                    "more with this entry; start a new one with the current version"
                )
            write_atomic(file, content)
        ledger.take(line)

    def _read(self) -> tuple[Ledger, bytes]:
        """Take in the file as it is."""
        there = os.path.lexists(os.path.realpath(self.path))  # a link may lead to what is to come
        content = _bytes_of(self.path) if there else b""
        ledger, _, fault = read_lines(content)
        if fault:
            raise HistoryError(
                f"{self.path}, {fault}; put a copy of the file back, or take out that line and "
                "all after it, and decide again about what they said"
            )
        known = [] if self._known is None else self._known.digests
        if ledger.digests[: len(known)] != known:
            raise HistoryError(
                f"{self.path}: expected the lines that were there when it was read, got a file "
                "without them; look at it, then open it again"
            )
        self._known = ledger
        return ledger, content


def _bytes_of(path: Path) -> bytes:
    try:
        return read_bytes(path, what="history file")
    except InputError as error:
        raise HistoryError(str(error)) from error.__cause__


# What is written must be answerable for later: a decision that nobody signs, a score that is no
# number or a date that is none is refused here, before anything is written. A tree is recorded with
# the check of its plan, and told apart from the one in force by what it decides, not by its bytes.


def _subject_of(subject: Any) -> tuple[Tree, dict[str, float]]:
    """Return the tree to record, and the scores that a Retraining brings along.

    Where the plan of a Retraining refused a tree, that is the one.
    """
    if not isinstance(subject, Retraining):
        return read_model(subject), {}
    name = subject.chosen if subject.refused is None else subject.answer.refused
    row: dict[Any, Any] = subject.frontier.loc[name].to_dict()
    score = "auc" if subject.tree.is_classifier else "r2"
    scores = {
        score: float(row["score"]),
        f"{score}_se": float(row["score_se"]),
        f"{score}_change": float(row["score_change"]),
        "flips": float(row["flips"]),
    }
    return subject.refused or subject.tree, scores


def _checked_plan(*checks: Any) -> tuple[bool, dict[str, Any] | None]:
    """Return whether all checks hold, and one to record: one that does not, if there is one."""
    # A plan that asked nothing checked nothing.
    known = [check for check in checks if check is not None and getattr(check, "clauses", True)]
    for check in known:
        if not isinstance(getattr(check, "held", None), (bool, np.bool_)):
            raise InputError(
                f"expected the check of a plan, got {type(check).__name__}; pass what check(plan) "
                "of a retraining or a comparison returned"
            )
    recorded = next((check for check in known if not check.held), known[0] if known else None)
    if recorded is None:
        return True, None
    return bool(recorded.held), plain_json(recorded.to_dict())


def _decide_alike(one: Tree, two: Tree) -> bool:
    """Whether two trees have the same rules, risks, labels and policy, whatever was counted."""
    alike = (
        (one.classes, one.precision, one.decision) == (two.classes, two.precision, two.decision)
        and (one.feature_labels, one.n_nodes) == (two.feature_labels, two.n_nodes)
        and all(
            _condition(one, a, two) == _condition(two, b, one)
            for a, b in zip(one.preorder.tolist(), two.preorder.tolist(), strict=True)
        )
    )
    return (
        alike
        and np.allclose(one.value[one.leaves], two.value[two.leaves], rtol=0, atol=_ROUNDING)
        and (one.classes is None or np.array_equal(one.label[one.leaves], two.label[two.leaves]))
    )


def _condition(tree: Tree, node: int, other: Tree) -> tuple[Any, ...]:
    """Return what goes left, of categories also those that only the other tree knows."""
    if tree.is_leaf[node]:
        return ()
    feature = int(tree.feature[node])
    missing_left, listed = bool(tree.missing_left[node]), tree.left_categories[node]
    if listed is None:
        return feature, float(tree.threshold[node]), missing_left
    known, unseen_left = tree.categories[feature] or (), bool(tree.unseen_left[node])
    left = {known[code] for code in listed}
    if unseen_left:
        left |= set(other.categories[feature] or ()) - set(known)
    return feature, frozenset(left), missing_left, unseen_left


def _dissimilarity(a: Tree, b: Tree, space: FeatureSpace) -> float:
    known = space_with_turned(a, b, space)
    return float(tree_distance(a, b, space=known, variant="metric", normalize="relative"))


def _clauses_not_held(version: Mapping[str, Any]) -> str:
    """Say which clauses of the plan a refused version did not hold, as its check tells them."""
    clauses = (version["check"] or {}).get("clauses")
    listed = [one for one in clauses if isinstance(one, dict)] if isinstance(clauses, list) else []
    broken = [one.get("text") or one.get("name") for one in listed if one.get("verdict") != "held"]
    return "; ".join(map(str, broken))


def _checked_text(text: Any, name: str) -> str:
    if not isinstance(text, str):
        raise InputError(f"expected text as {name}, got {quoted(text)}; pass {name}='...'")
    return text


def _checked_scores(scores: Any) -> dict[str, float]:
    """Return scores as numbers by name; what was not measured is not recorded."""
    if not isinstance(scores, Mapping) or not all(isinstance(name, str) for name in scores):
        raise InputError(f"expected scores by name, got {quoted(scores)}; pass {{'auc': 0.81}}")
    for name, value in scores.items():
        number = isinstance(value, (int, float, np.integer, np.floating))
        if not number or isinstance(value, bool) or not isfinite(value):
            raise InputError(
                f"expected a finite number as the score {quoted(name)}, got {quoted(value)}; "
                "leave out what was not measured"
            )
    return {name: float(value) for name, value in scores.items()}


def _iso_date(on: Date) -> str:
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
