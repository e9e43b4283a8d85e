"""Check what a retraining is given and bring it into one form: one space, one coding.

The deployed tree brings its space; the new rows may go beyond it. Where they do (a new
category, values out of range, values newly missing) the space is widened and the user is
told, because the same change then counts on a slightly different scale. Each table is coded
once, here; everything after reads the coded rows.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadytree.core.decision import LARGEST_SHARE, Decision, resolve_decision
from steadytree.core.rows import TRAINING_ROWS, CodedRows, code_outcomes, fingerprint
from steadytree.core.space import FeatureSpace
from steadytree.core.tabular import column_names, find_columns, is_frame, n_rows
from steadytree.core.tree import Tree
from steadytree.exceptions import InputError, SteadyTreeWarning
from steadytree.growing.teacher import target_columns
from steadytree.readers import as_tree

__all__ = ["Problem", "prepare_problem"]

FloatArray = NDArray[np.float64]

OUTSIDE_SHARE = 0.05
"""A numeric range is widened where more than this share of the new rows lies outside."""


@dataclass(frozen=True, eq=False)
class Problem:
    """A deployed tree, old and new rows, in one space, and how the new tree is to decide.

    The rows are as the space codes them; each tree rounds them to what it compares.
    """

    deployed: Tree
    space: FeatureSpace
    new: CodedRows
    old: CodedRows | None
    decision: Decision = LARGEST_SHARE
    notes: tuple[str, ...] = field(default=())

    @property
    def n_classes(self) -> int | None:
        """Number of classes; None for regression."""
        return None if self.deployed.classes is None else len(self.deployed.classes)

    def outcome_variance(self) -> float:
        """Variance of the outcome, summed over the teacher's columns."""
        y = self.new.y if self.old is None else np.concatenate([self.old.y, self.new.y])
        return float(target_columns(y, self.n_classes).var(axis=0).sum())

    def training_rows(self, rows: NDArray[np.intp] | None) -> tuple[CodedRows | None, CodedRows]:
        """Old rows and some of the new ones (None: all), as the deployed tree compares them."""

        def compared(part: CodedRows) -> CodedRows:
            return replace(part, coded=self.deployed.round_values(part.coded), table=None)

        new = compared(self.new)
        return (
            None if self.old is None else compared(self.old),
            new if rows is None else new.take(rows),
        )

    @cached_property
    def fingerprint(self) -> str:
        """Digest of all rows, by which a tree that was made from them is known again."""
        old, new = self.training_rows(None)
        return fingerprint(CodedRows.stack([new] if old is None else [old, new]))

    @property
    def nothing_new(self) -> bool:
        """Whether the deployed tree was made from these very rows."""
        return self.deployed.metadata.get(TRAINING_ROWS) == self.fingerprint

    def without_tables(self) -> Problem:
        """Return the same problem without the user's tables, to be sent to workers."""
        old = None if self.old is None else replace(self.old, table=None)
        return replace(self, new=replace(self.new, table=None), old=old)


def prepare_problem(
    deployed: Any,
    X_new: Any,
    y_new: Any,
    *,
    X_old: Any = None,
    y_old: Any = None,
    sample_weight: Any = None,
    sample_weight_old: Any = None,
    groups: NDArray[Any] | None = None,
    decision_threshold: Decision | float | str | None = None,
    space: FeatureSpace | None = None,
) -> Problem:
    """Read the deployed tree, fix the space, code the rows; say what does not fit."""
    tree = as_tree(deployed).with_plain_shares()
    if (X_old is None) != (y_old is None):
        given = "X_old" if y_old is None else "y_old"
        raise InputError(f"expected both X_old and y_old or neither, got only {given}")
    for table, name in ((X_new, "X_new"), (X_old, "X_old")):
        if is_frame(table) or hasattr(table, "shape"):
            find_columns(table, tree.feature_names, tree.n_features)
        if table is not None and n_rows(table) == 0:
            raise InputError(f"expected rows in {name}, got none; pass the rows that arrived")
    fixed, coded, notes = _space_and_codes(tree, space, X_new, X_old)
    y_codes = code_outcomes(y_new, tree.classes, n_rows(X_new), name="y_new")
    y_before = None
    if y_old is not None:
        y_before = code_outcomes(y_old, tree.classes, n_rows(X_old), name="y_old")
    fixed = _with_outcome(fixed, tree, y_codes, y_before)
    new = CodedRows(
        coded,
        y_codes,
        _weights(sample_weight, len(y_codes), "sample_weight"),
        groups,
        X_new,
    )
    old = None
    if y_before is not None:
        old = CodedRows(
            _finite(fixed.encode(X_old), fixed, "X_old"),
            y_before,
            _weights(sample_weight_old, len(y_before), "sample_weight_old"),
            table=X_old,
        )
    anchored = tree.in_space(fixed)
    _check_classes(anchored, new, old)
    if notes:
        warnings.warn(
            f"the new rows go beyond the deployed tree's space ({'; '.join(notes)}); "
            "the space was widened, so dissimilarities are on a slightly different scale",
            SteadyTreeWarning,
            stacklevel=3,
        )
    decision = resolve_decision(decision_threshold, tree.classes, lambda: _positive_rate(old, new))
    return Problem(anchored, fixed, new, old, decision or anchored.decision, notes)


def _positive_rate(old: CodedRows | None, new: CodedRows) -> float:
    """Unweighted rate of the second class in the rows of the retraining."""
    return float(np.mean((new.y if old is None else np.concatenate([old.y, new.y])) == 1))


# -- the space ----------------------------------------------------------------------------


def _space_and_codes(
    tree: Tree, space: FeatureSpace | None, X_new: Any, X_old: Any
) -> tuple[FeatureSpace, FloatArray, tuple[str, ...]]:
    """Fix the space, code the new rows in it, and note where they went beyond it."""
    base = space if space is not None else tree.space
    if base is not None and base.names is None and tree.feature_names is not None:
        base = base.replace(names=tree.feature_names)
    if base is not None and base.one_hot and tree.space is None:
        tree = as_tree(tree, space=base)
    names = tree.feature_names if base is None else base.names
    flags = [c is not None for c in (tree.categories if base is None else base.categories)]
    seen = _space_of(X_new, names, flags)
    if base is not None:
        # Fresh categories first: with them the table is coded once and for all.
        wider = _with_fresh_categories(base, seen)
        coded = _finite(wider.encode(X_new), wider, "X_new")
        fixed, notes = _widen(base, wider, seen, coded)
        return fixed, coded, notes
    if X_old is not None:
        seen = _union(_space_of(X_old, names, flags), seen)
    known = tuple(
        None if c is None else tuple(dict.fromkeys((*(t or ()), *c)))
        for c, t in zip(seen.categories, tree.categories, strict=True)
    )
    fixed = _cover_thresholds(seen.replace(names=names, categories=known), tree)
    return fixed, _finite(fixed.encode(X_new), fixed, "X_new"), ()


def _space_of(X: Any, names: tuple[str, ...] | None, flags: list[bool]) -> FeatureSpace:
    table = X
    if names is not None and column_names(X) is not None:
        table = X[list(names)]
    found = FeatureSpace.from_data(table, categorical_features=flags or None)
    return found if names is None else found.replace(names=names)


def _union(a: FeatureSpace, b: FeatureSpace) -> FeatureSpace:
    return a.replace(
        lower=np.fmin(a.lower, b.lower),
        upper=np.fmax(a.upper, b.upper),
        categories=tuple(
            None if c is None else tuple(dict.fromkeys((*c, *(d or ()))))
            for c, d in zip(a.categories, b.categories, strict=True)
        ),
        can_be_missing=a.can_be_missing | b.can_be_missing,
    )


def _cover_thresholds(space: FeatureSpace, tree: Tree) -> FeatureSpace:
    lower, upper = space.lower.copy(), space.upper.copy()
    for node in np.flatnonzero(np.isfinite(tree.threshold)).tolist():
        j, t = int(tree.feature[node]), float(tree.threshold[node])
        lower[j], upper[j] = min(lower[j], t), max(upper[j], t)
    return space.replace(lower=lower, upper=upper)


def _with_fresh_categories(base: FeatureSpace, seen: FeatureSpace) -> FeatureSpace:
    """Return the stored space with the categories that only the new rows have, if any."""
    categories = tuple(
        known
        if known is None
        else (*known, *(c for c in met or () if c not in set(known) and c != "(none)"))
        for known, met in zip(base.categories, seen.categories, strict=True)
    )
    return base if categories == base.categories else base.replace(categories=categories)


def _widen(
    base: FeatureSpace, wider: FeatureSpace, seen: FeatureSpace, coded: FloatArray
) -> tuple[FeatureSpace, tuple[str, ...]]:
    """Widen ranges where the new rows clearly go beyond them; say what was widened."""
    notes: list[str] = []
    lower, upper = base.lower.copy(), base.upper.copy()
    missing = base.can_be_missing.copy()
    for j, name in enumerate(base.feature_labels):
        known, now = base.categories[j], wider.categories[j]
        if known is not None and now is not None:
            fresh = now[len(known) :]
            if fresh:
                shown = ", ".join(repr(c) for c in fresh[:5])
                notes.append(f"new categories of {name!r}: {shown}")
        else:
            values = coded[:, j]
            with np.errstate(invalid="ignore"):
                outside = (values < lower[j]) | (values > upper[j])
            if outside.mean() > OUTSIDE_SHARE:
                lower[j] = min(lower[j], seen.lower[j])
                upper[j] = max(upper[j], seen.upper[j])
                notes.append(f"{outside.mean():.0%} of {name!r} out of range")
        if seen.can_be_missing[j] and not missing[j]:
            missing[j] = True
            notes.append(f"missing values in {name!r}")
    if not notes:
        return base, ()
    return wider.replace(lower=lower, upper=upper, can_be_missing=missing), tuple(notes)


def _with_outcome(
    space: FeatureSpace, tree: Tree, y_new: NDArray[Any], y_old: NDArray[Any] | None
) -> FeatureSpace:
    if tree.classes is not None:
        return space.replace(classes=tree.classes, response_range=None)
    if space.response_range is not None:
        return space
    values = [y_new, tree.value[:, 0]] + ([] if y_old is None else [y_old])
    every = np.concatenate(values)
    return space.replace(response_range=(float(every.min()), float(every.max())), classes=None)


# -- rows ---------------------------------------------------------------------------------


def _finite(coded: FloatArray, space: FeatureSpace, name: str) -> FloatArray:
    if np.isinf(coded).any():
        culprits = [space.feature_labels[j] for j in np.flatnonzero(np.isinf(coded).any(axis=0))]
        raise InputError(
            f"expected finite numbers in {name}, got an infinity in {culprits}; "
            "replace infinities with a number or with missing"
        )
    return coded


def _weights(weight: Any, n: int, name: str) -> FloatArray | None:
    if weight is None:
        return None
    values = np.asarray(weight, dtype=np.float64)
    if values.shape != (n,) or not np.isfinite(values).all() or (values < 0).any():
        raise InputError(
            f"expected {n} finite weights >= 0 in {name}, one per row, got shape {values.shape}"
        )
    if not values.sum() > 0:
        raise InputError(f"expected some positive weights in {name}, got zero for every row")
    return values


def _check_classes(tree: Tree, new: CodedRows, old: CodedRows | None) -> None:
    if tree.classes is None:
        if not np.ptp(new.y) > 0:
            raise InputError(
                "expected outcomes that vary in y_new, got the same number in every row; "
                "nothing can be learned from them"
            )
        return
    counts = np.bincount(new.y, minlength=len(tree.classes))
    if (counts > 0).sum() < 2:
        only = tree.classes[int(counts.argmax())]
        raise InputError(
            f"expected at least two classes in y_new, got only {only!r}; "
            "wait for rows of the other class before retraining"
        )
    gone = [repr(tree.classes[k]) for k in np.flatnonzero(counts == 0)]
    if gone and old is None:
        warnings.warn(
            f"no new row has class {', '.join(gone)}; without old rows its share comes from the "
            "deployed tree alone",
            SteadyTreeWarning,
            stacklevel=4,
        )
