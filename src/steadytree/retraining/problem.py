"""Check what a retraining is given and bring it into one form: one space, one coding.

The deployed tree brings its space; the new rows may go beyond it. Where they do (a new
category, values out of range, values newly missing) the user is told. Columns the deployed tree
never uses may be lacking; they are left out of the search, as are those that are forbidden. Each
table is coded once, here; everything after reads the coded rows.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadytree._text import some_of
from steadytree.evaluation.cross_fitting import check_rowwise
from steadytree.evaluation.locks import forbidden_before, forbidden_features, unseen, without_splits
from steadytree.evaluation.plan_check import changed_columns
from steadytree.exceptions import InputError, SteadyTreeWarning
from steadytree.plugins import read_model
from steadytree.retraining.inputs import (
    Rows,
    draw_rows,
    find_copies,
    scored_rows,
    share_sample,
    with_rate,
)
from steadytree.retraining.widening import code_in_space, with_outcome
from steadytree.tree.columns import as_table, column_names, find_columns, n_rows, without_columns
from steadytree.tree.decision import LARGEST_SHARE, Decision, resolve_decision
from steadytree.tree.recoded import (
    StandIn,
    fill_in,
    may_be_missing,
    stand_ins,
    with_stand_ins,
)
from steadytree.tree.rows import TRAINING_ROWS, CodedRows, code_outcomes, fingerprint
from steadytree.tree.space import FeatureSpace
from steadytree.tree.tree import Tree

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """Rows to learn from: all there are, or a sample of them.

    Where ``old`` and ``new`` are a sample, ``whole`` has all rows, and how many are old.
    """

    old: CodedRows | None
    new: CodedRows
    whole: tuple[CodedRows, int] | None = None

    @property
    def every(self) -> CodedRows:
        """Old rows followed by the new ones."""
        return CodedRows.stack([self.new] if self.old is None else [self.old, self.new])


@dataclass(frozen=True, eq=False)
class Problem:
    """A deployed tree, old and new rows, in one space, and how the new tree is to decide.

    The rows are as the space codes them; each tree rounds them to what it compares.

    Attributes
    ----------
    left_out : frozenset of int
        Features that no new rule may use: forbidden ones, and those that rows lack.
    scored : bool array or None
        New rows that the deployed tree has not seen; None: all are scored.
    forbidden : frozenset of int
        Those of ``left_out`` that were forbidden.
    stand_ins : mapping of int to StandIn
        Features of which the deployed pipeline does not tell all values apart.
    changed : mapping of str to str
        Columns of the new rows that do not look like those of the deployed tree, and why.
    space_note : str
        Where the ranges of the space come from, if the deployed tree stores none.
    known_missing : bool array or None
        What could be missing before the new rows came; None: as ``space`` says.
    """

    deployed: Tree
    space: FeatureSpace
    new: CodedRows
    old: CodedRows | None
    decision: Decision = LARGEST_SHARE
    notes: tuple[str, ...] = field(default=())
    left_out: frozenset[int] = frozenset()
    scored: NDArray[np.bool_] | None = None
    forbidden: frozenset[int] = frozenset()
    stand_ins: Mapping[int, StandIn] = field(default_factory=dict)
    changed: Mapping[str, str] = field(default_factory=dict)
    space_note: str = ""
    known_missing: NDArray[np.bool_] | None = None

    @cached_property
    def yardstick(self) -> FeatureSpace:
        """The space that changes are measured in, whatever is missing in the new rows.

        Else a single row without a value would make all other changes look smaller.
        """
        if self.known_missing is None:
            return self.space
        known = self.space.replace(can_be_missing=self.known_missing)
        return may_be_missing(known, self.stand_ins)

    @property
    def n_classes(self) -> int | None:
        """Number of classes; None for regression."""
        return None if self.deployed.classes is None else len(self.deployed.classes)

    @cached_property
    def start(self) -> Tree:
        """The tree that edits start from: the deployed one, without rules that are forbidden."""
        return without_splits(self.deployed, self.left_out)

    def kept_old(self, rows: NDArray[np.intp] | None) -> CodedRows | None:
        """Old rows to train on beside some of the new ones (None: all).

        Those of a group that is among the other new rows are left out: these are scored.
        """
        old, groups = self.old, self.new.groups
        if old is None or rows is None or old.groups is None or groups is None:
            return old
        held = np.ones(len(groups), dtype=bool)
        held[rows] = False
        kept = ~np.isin(old.groups, groups[held])
        return old if kept.all() else old.take(kept) if kept.any() else None

    def training_rows(
        self, rows: NDArray[np.intp] | None, *, most: int | None = None, seed: int = 0
    ) -> TrainingRows:
        """Old rows and some of the new ones (None: all), as the deployed tree compares them.

        A feature that is left out is missing throughout, so that nobody can learn from it.
        Where there are more than ``most``, a sample is drawn.
        """
        before, new = self.kept_old(rows), replace(self.new, table=None)
        old = None if before is None else self.compared(before, self.left_out)
        new = self.compared(new if rows is None else new.take(rows), self.left_out)
        n_old, n_new = 0 if old is None else len(old), len(new)
        wanted = share_sample(n_old, n_new, most or n_old + n_new)
        if sum(wanted) == n_old + n_new:
            return TrainingRows(old, new)
        whole = TrainingRows(old, new).every, n_old
        classifier = self.n_classes is not None
        new = new.take(draw_rows(new.y, wanted[1], classifier=classifier, seed=seed))
        if old is not None:
            old = old.take(draw_rows(old.y, wanted[0], classifier=classifier, seed=seed + 1))
            mean = (n_old + n_new) / (len(old) + len(new))
            old = with_rate(old, n_old / len(old) / mean)
            new = with_rate(new, n_new / len(new) / mean)
        return TrainingRows(old, new, whole)

    def compared(self, part: CodedRows, left_out: Collection[int] = ()) -> CodedRows:
        """Return rows as the deployed tree compares them, without their table."""
        filled = self.deployed.round_values(fill_in(part.coded, self.stand_ins))
        coded = unseen(filled, left_out)
        return replace(part, coded=coded, table=None)

    @cached_property
    def fingerprints(self) -> list[str]:
        """Digests of all rows, and of the new rows, by which a tree made from them is known."""
        new = self.compared(self.new)
        if self.old is None:
            return [fingerprint(new)]
        return [fingerprint(CodedRows.stack([self.compared(self.old), new])), fingerprint(new)]

    @property
    def nothing_new(self) -> bool:
        """Whether the deployed tree was made from these very rows, alone or among others.

        A rule that is forbidden now has to be learnt anew.
        """
        known = self.deployed.metadata.get(TRAINING_ROWS, ())
        return self.start is self.deployed and self.fingerprints[0] in known

    def without_tables(self) -> Problem:
        """Return the same problem without the user's tables, to be sent to workers."""
        old = None if self.old is None else replace(self.old, table=None)
        return replace(self, new=replace(self.new, table=None), old=old)


def prepare_problem(
    deployed: Any,
    new: Rows,
    old: Rows | None = None,
    *,
    forbid: str | Sequence[str] | None = None,
    decision: Decision | float | str | None = None,
    space: FeatureSpace | None = None,
) -> Problem:
    """Read the deployed tree, fix the space, code the rows; say what does not fit."""
    tree = read_model(deployed).with_plain_shares()
    X_new, X_old = _tables(tree, new, old)
    unread: dict[str, str] = {}
    try:
        found = code_in_space(tree, space, X_new, X_old)
    except InputError:
        unread = _unread(tree, space, X_new, X_old)
        if not unread:
            raise
        X_new, X_old = without_columns(X_new, unread), without_columns(X_old, unread)
        found = code_in_space(tree, space, X_new, X_old)
    now = _coded_rows(tree, found.new, new, X_new, "")
    before = None
    if old is not None and found.old is not None:
        before = _coded_rows(tree, found.old, old, X_old, "old ")
        _check_groups(before.groups, now.groups)
    fixed = with_outcome(found.space, tree, now.y, None if before is None else before.y)
    found_stand_ins = stand_ins(tree, fixed)
    fixed = may_be_missing(fixed, found_stand_ins)
    anchored = with_stand_ins(tree.in_space(fixed), found_stand_ins)
    _check_classes(anchored, now, before)
    dropped = frozenset(tree.metadata.get("dropped") or ())
    absent, notes = _columns_left_out(fixed, X_new, X_old, dropped, unread)
    forbidden = forbidden_features(fixed, forbidden_before(tree) if forbid is None else forbid)
    before, scored, overlap = _without_copies(anchored, now, before)
    changed = changed_columns([anchored], found.base, now.coded, everywhere=True)
    labels = fixed.feature_labels
    changed_notes = [f"column {labels[j]!r} {words}" for j, words in sorted(changed.items())]
    if found.notes:
        _warn(
            f"the new rows go beyond the deployed tree's space ({'; '.join(found.notes)}); "
            "new categories are added to it, ranges stay, so that dissimilarities can be compared"
        )
    if changed:
        _warn(
            f"{'; '.join(changed_notes)}. Convert or complete the new rows first; on rows that "
            "are right as they are, a plan can be judged only where it accepts the column by name"
        )
    for note in (*notes, *overlap):
        _warn(note)
    y_all = now.y if before is None else np.concatenate([before.y, now.y])
    policy = resolve_decision(
        decision, tree.classes, lambda at: float(np.mean(y_all == at)), known=anchored.decision
    )
    space_notes = [found.space_note] if found.space_note else []
    return Problem(
        deployed=anchored,
        space=fixed,
        new=now,
        old=before,
        decision=policy or anchored.decision,
        notes=(*found.notes, *changed_notes, *notes, *overlap, *space_notes),
        left_out=absent | forbidden,
        scored=scored,
        forbidden=forbidden,
        stand_ins=found_stand_ins,
        changed={labels[j]: words for j, words in changed.items()},
        space_note=found.space_note,
        known_missing=found.base.can_be_missing,
    )


def _warn(message: str) -> None:
    warnings.warn(message, SteadyTreeWarning, stacklevel=4)


# -- the rows ------------------------------------------------------------------------------


def _tables(tree: Tree, new: Rows, old: Rows | None) -> tuple[Any, Any]:
    """Return both tables, of which each has the columns that the tree uses."""
    X_new, X_old = as_table(new.X, "X"), None if old is None else as_table(old.X, "old X")
    for table, name in ((X_new, "X"), (X_old, "old X")):
        if table is None:
            continue
        find_columns(table, tree.feature_names, tree.n_features, tree.used_features)
        if n_rows(table) == 0:
            raise InputError(f"expected rows in {name}, got none; pass the rows that arrived")
    return X_new, X_old


def _coded_rows(tree: Tree, coded: FloatArray, rows: Rows, table: Any, which: str) -> CodedRows:
    """Put coded rows together with what belongs to each; ``which`` is "old " or nothing."""
    n = len(coded)
    y = code_outcomes(rows.y, tree.classes, n, name=f"{which}y")
    groups = check_rowwise(rows.groups, n, f"{which}groups")
    return CodedRows(
        coded, y, _weights(rows.sample_weight, n, f"{which}sample_weight"), groups, table
    )


def _weights(weight: Any, n: int, name: str) -> FloatArray | None:
    if weight is None:
        return None
    expected = f"expected {n} finite weights >= 0 in {name}, one per row"
    try:
        values = np.asarray(weight, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{expected}, got {weight!r:.60}") from None
    if values.shape != (n,) or not np.isfinite(values).all() or (values < 0).any():
        raise InputError(f"{expected}, got shape {values.shape}")
    if not values.sum() > 0:
        raise InputError(f"expected some positive weights in {name}, got zero for every row")
    return values


def _check_groups(old: NDArray[Any] | None, new: NDArray[Any] | None) -> None:
    """Refuse groups of the old rows that cannot be found again among the new rows' groups."""
    if old is None:
        return
    if new is None:
        raise InputError(
            "expected groups with those of the old rows, got none; pass the new rows' groups"
        )
    if (old.dtype.kind in "fiub") != (new.dtype.kind in "fiub"):
        raise InputError(
            f"expected groups of the old rows of the same type as groups, got {old.dtype} and "
            f"{new.dtype}; a group has one name in both"
        )


def _check_classes(tree: Tree, new: CodedRows, old: CodedRows | None) -> None:
    if tree.classes is None:
        if not np.ptp(new.y) > 0:
            raise InputError(
                "expected outcomes that vary in y, got the same number in every row; "
                "nothing can be learned from them"
            )
        return
    counts = np.bincount(new.y, minlength=len(tree.classes))
    if (counts > 0).sum() < 2:
        only = tree.classes[int(counts.argmax())]
        raise InputError(
            f"expected at least two classes in y, got only {only!r}; "
            "wait for rows of the other class before retraining"
        )
    lacking = [repr(tree.classes[k]) for k in np.flatnonzero(counts == 0)]
    if lacking and old is None:
        _warn(
            f"no new row has class {', '.join(lacking)}; without old rows its share comes from the "
            "deployed tree alone"
        )


# -- columns that the deployed tree does not use --------------------------------------------


def _unread(tree: Tree, space: FeatureSpace | None, X_new: Any, X_old: Any) -> dict[str, str]:
    """Name the columns that the tree does not use and that cannot be read, and say why."""
    tables = [X for X in (X_new, X_old) if X is not None]
    used = {tree.feature_labels[j] for j in tree.used_features}
    others = {name for X in tables for name in column_names(X) or () if name not in used}
    if tree.feature_names is None or not others:
        return {}
    without = without_columns
    # Whatever is wrong with a column that the tree uses is said first.
    code_in_space(tree, space, without(X_new, others), without(X_old, others))
    unread = {}
    for name in dict.fromkeys(name for X in tables for name in column_names(X) or ()):
        if name not in others:
            continue
        try:
            rest = others - {name}
            code_in_space(tree, space, without(X_new, rest), without(X_old, rest))
        except InputError as error:
            unread[name] = str(error).split(";")[0]  # without advice: nothing needs mending
    return unread


def _columns_left_out(
    space: FeatureSpace, X_new: Any, X_old: Any, dropped: frozenset[str], unread: Mapping[str, str]
) -> tuple[frozenset[int], list[str]]:
    """Features whose columns a table lacks, and notes on them and on columns that are ignored.

    Columns that the deployed pipeline takes and throws away (``dropped``) go without saying;
    those that could not be read (``unread``) are said to be so.
    """
    notes: list[str] = []
    out: set[int] = set()
    if space.names is None:
        return frozenset(), notes
    no_rule = "the deployed tree has no rule on that, and no new rule will be"
    for which, table in (("new", X_new), ("old", X_old)):
        columns = None if table is None else column_names(table)
        if columns is None:
            continue
        lacking = [j for j, name in enumerate(space.names) if name not in set(columns)]
        out |= set(lacking)
        if named := [space.names[j] for j in lacking if space.names[j] not in unread]:
            notes.append(f"the {which} rows lack {some_of(named)}: {no_rule}")
    if unread:
        why = next(iter(unread.values()))
        notes.append(
            f"columns that cannot be read: {some_of(unread)} (the first: {why}): {no_rule}"
        )
    known = dropped.union(space.names)
    if extra := [name for name in column_names(X_new) or () if name not in known]:
        notes.append(
            f"not among the deployed tree's features, and ignored: {some_of(extra)}. To let new "
            "rules use such columns, fit a new tree, or in Python pass "
            "space=FeatureSpace.from_data(X)"
        )
    return frozenset(out), notes


# -- rows that are both old and new ---------------------------------------------------------


def _without_copies(
    deployed: Tree, new: CodedRows, old: CodedRows | None
) -> tuple[CodedRows | None, NDArray[np.bool_] | None, list[str]]:
    """Leave out old rows that are new rows as well, and say which new rows are scored."""
    if old is None:
        return None, None, []
    found: list[str] = []
    seen = np.zeros(len(new), dtype=bool)
    copies = find_copies(*(replace(r, coded=deployed.round_values(r.coded)) for r in (new, old)))
    if copies is not None:
        seen |= copies[0]
        found.append(
            f"{copies[0].sum():,} of {len(new):,} new rows are also among the old rows; "
            "each counts once, as a new row"
        )
        old = None if copies[1].all() else old.take(~copies[1])
    if old is not None and old.groups is not None and new.groups is not None:
        known = np.isin(new.groups, old.groups)
        seen |= known
        if known.any():
            found.append(
                f"{known.sum():,} of {len(new):,} new rows are of groups that are among the old "
                "rows too"
            )
    if not found:
        return old, None, []
    scored = scored_rows(seen, new.y, None if deployed.classes is None else len(deployed.classes))
    found[-1] += (
        "; the other rows are too few to score on, so that the scores are too good if the "
        "deployed tree was trained on them"
        if scored is None
        else f"; scores are taken on the other {scored.sum():,}"
    )
    return old, scored, found
