"""What can happen to a rule, to one of its conditions and to a split, as data and in words.

Logs and pages speak differently (a log says "moved from 50 to 53 (+3)", a page "50 → 53"),
so each has its own phrases; what a change is called and which numbers go with it is the same.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from steadytree.tree.printing import LeafNumbers
from steadytree.tree.space import FeatureSpace
from steadytree.tree.words import (
    PLAIN,
    Condition,
    WordStyle,
    format_number,
    join_conditions,
    listed,
)

KINDS = (
    "threshold_moved",
    "condition_added",
    "condition_removed",
    "categories_changed",
    "missing_changed",
    "relabelled",
    "value_changed",
)
"""What happened to a rule in detail; several may hold at once."""

# Bounds that differ by less than this share of the range are one bound: the arithmetic
# of a distance cannot tell them apart.
SAME_BOUND = 1e-9


@dataclass(frozen=True)
class Rule:
    """One rule (root-to-leaf path) of one of the two trees.

    Attributes
    ----------
    path, leaf : int
        Number of the path among the tree's paths, and of its leaf among the nodes.
    conditions : tuple of Condition
        What the rule demands, one entry per feature it restricts.
    label : object or None
        What the rule predicts; None in regression.
    value : tuple of float
        What the leaf predicts: class shares in the order of ``TreeDiff.classes``, or the
        response.
    numbers : LeafNumbers
        The predicted share (or response) shown, and what was observed at the leaf among the
        rows the tree was trained on.
    kept : str
        Why the label is not the one that the leaf's own share gives, in words; empty where
        it is.
    share : float or None
        Share of the rows given that follow this rule.
    rows : int or None
        How many of the rows given these are.
    outcomes : int or None
        How many of them are of the class shown: the positive one of two, the rule's own label
        of several; None in regression, or without outcomes.
    outcome_rate : float or None
        What was observed among these rows: the rate of that class, or the mean
        response.

    Examples
    --------
    >>> import steadytree as st
    >>> space = st.FeatureSpace.from_data([[20.0], [70.0]]).replace(names=("age",))
    >>> old, new = (
    ...     st.tree_from_rules(f'''
    ...     age <= {cut}: no
    ...     else: yes
    ...     ''')
    ...     for cut in (50, 55)
    ... )
    >>> rule = st.diff_trees(old, new, [[40.0], [60.0], [65.0]], space=space).rules[1].new
    >>> rule.text, rule.rows
    ('age > 55: yes', 2)
    """

    path: int
    leaf: int
    conditions: tuple[Condition, ...]
    label: Any
    value: tuple[float, ...]
    numbers: LeafNumbers
    kept: str = ""
    share: float | None = None
    rows: int | None = None
    outcomes: int | None = None
    outcome_rate: float | None = None

    @property
    def kept_against_share(self) -> bool:
        """Whether the label is not the one that the leaf's own shares would give."""
        return bool(self.kept)

    @property
    def conditions_text(self) -> str:
        """Return the conditions in words."""
        return join_conditions(self.conditions)

    @property
    def outcome_text(self) -> str:
        """Return the label, or the mean response, in words."""
        return format_number(self.value[0]) if self.label is None else PLAIN.name(self.label)

    @property
    def text(self) -> str:
        """Return the whole rule in words."""
        return f"{self.conditions_text}: {self.outcome_text}"


@dataclass(frozen=True)
class ConditionChange:
    """One condition of a rule that is not what it was.

    Attributes
    ----------
    kind : str
        "threshold_moved", "condition_added", "condition_removed", "categories_changed"
        or "missing_changed".
    feature : int
    name : str
    side : {"upper", "lower", "categories", "missing"}
    old, new : Condition or None
        What the rule demanded of the feature before and after; None for nothing.
    old_bound, new_bound : float or None
        The bound on that side before and after, in the feature's units.
    shift : float or None
        ``new_bound - old_bound``.
    share_of_range : float or None
        The shift over the range of the feature, signed.
    gained, lost : tuple
        Categories that pass now and did not before, and the reverse.

    Examples
    --------
    >>> import steadytree as st
    >>> space = st.FeatureSpace.from_data([[20.0], [70.0]]).replace(names=("age",))
    >>> old, new = (
    ...     st.tree_from_rules(f'''
    ...     age <= {cut}: no
    ...     else: yes
    ...     ''')
    ...     for cut in (50, 55)
    ... )
    >>> change = st.diff_trees(old, new, space=space).rules[0].changes[0]
    >>> change.kind, change.shift
    ('threshold_moved', 5.0)
    >>> change.text
    'age: upper bound moved from 50 to 55 (+5, 10.0 % of its range)'
    """

    kind: str
    feature: int
    name: str
    side: str
    old: Condition | None
    new: Condition | None
    old_bound: float | None = None
    new_bound: float | None = None
    shift: float | None = None
    share_of_range: float | None = None
    gained: tuple[Any, ...] = ()
    lost: tuple[Any, ...] = ()

    @property
    def text(self) -> str:
        """Return the change in words."""
        return change_words(self)


@dataclass(frozen=True)
class RuleChange:
    """What became of one rule.

    Attributes
    ----------
    number : int
        1, 2, ...: rules of the old tree from left to right, then the added ones.
    status : {"kept", "relabelled", "moved", "added", "dropped"}
        "kept": same conditions and label (its share or mean may differ: see
        ``value_change``); "relabelled": same conditions, other label; "moved": other
        conditions (and perhaps another label: see ``relabelled``).
    kinds : tuple of str
        Everything that happened, from ``KINDS``; none for an added or dropped rule.
    old, new : Rule or None
    changes : tuple of ConditionChange
    relabelled : bool
    value_change : float or None
        New minus old share of the positive class (two classes) or mean response; half
        the L1 distance of the class shares with more classes.
    cost : float
        Contribution to the distance of the trees (variant "metric").
    overlap : float or None
        Share of the less demanding rule's conditions that the other has as well, in
        [0, 1]; None for an added or dropped rule.
    share_in_both : float or None
        Share of the rows that follow the rule in both trees.

    Examples
    --------
    >>> import steadytree as st
    >>> space = st.FeatureSpace.from_data([[20.0], [70.0]]).replace(names=("age",))
    >>> old, new = (
    ...     st.tree_from_rules(f'''
    ...     age <= {cut}: no
    ...     else: yes
    ...     ''')
    ...     for cut in (50, 55)
    ... )
    >>> for rule in st.diff_trees(old, new, space=space).rules:
    ...     print(rule.number, rule.status, rule.text)
    1 moved age <= 55: no
    2 moved age > 55: yes
    """

    number: int
    status: str
    kinds: tuple[str, ...]
    old: Rule | None
    new: Rule | None
    changes: tuple[ConditionChange, ...] = ()
    relabelled: bool = False
    value_change: float | None = None
    cost: float = 0.0
    overlap: float | None = None
    share_in_both: float | None = None

    @property
    def text(self) -> str:
        """Return the rule as it stands now (as it stood, if it was dropped)."""
        rule = self.new or self.old
        assert rule is not None
        return rule.text


@dataclass(frozen=True)
class SplitChange:
    """One change of a split, and the rules it concerns.

    Attributes
    ----------
    kind : str
        "moved", "added", "removed", "replaced" (one split removed and another added in
        the same rules), "categories_changed" or "missing_changed".
    only_conditions : bool
        The trees have the split equally often; it is conditions of some rules that were
        moved, added or removed, not the split itself.
    feature, name
        The feature split on (of the old split, if it was replaced).
    rules : tuple of int
        Numbers of the rules concerned.
    first : bool
        Whether it is the first split (the root) of the tree.
    old_bound, new_bound, shift, share_of_range : float or None
        The threshold before and after, in units and in share of the range.
    categories : tuple
        Categories that changed sides, or that a categorical condition lets pass.
    new_feature, new_name
        Of the new split, if it was replaced.
    new_categories : tuple
        What the new categorical condition lets pass, if it was replaced.
    share : float or None
        Share of the rows that follow one of these rules in either tree.

    Examples
    --------
    >>> import steadytree as st
    >>> space = st.FeatureSpace.from_data([[20.0], [70.0]]).replace(names=("age",))
    >>> old, new = (
    ...     st.tree_from_rules(f'''
    ...     age <= {cut}: no
    ...     else: yes
    ...     ''')
    ...     for cut in (50, 55)
    ... )
    >>> split = st.diff_trees(old, new, space=space).splits[0]
    >>> split.kind, split.rules
    ('moved', (1, 2))
    >>> split.text
    'the first split on age moved from 50 to 55 (+5, 10.0 % of its range): 2 rules'
    """

    kind: str
    feature: int
    name: str
    rules: tuple[int, ...]
    first: bool = False
    old_bound: float | None = None
    new_bound: float | None = None
    shift: float | None = None
    share_of_range: float | None = None
    categories: tuple[Any, ...] = ()
    new_feature: int | None = None
    new_name: str | None = None
    new_categories: tuple[Any, ...] = ()
    share: float | None = None
    only_conditions: bool = False

    @property
    def text(self) -> str:
        """Return the change in words."""
        return split_words(self)


# -- comparing what two paths demand ---------------------------------------------------


def compare_conditions(
    space: FeatureSpace, old: Iterable[Condition], new: Iterable[Condition]
) -> tuple[ConditionChange, ...]:
    """List the conditions that differ, feature by feature.

    A condition that is added may also turn missing values away, and one that is removed
    may let them in: that is part of it. Any other change of where missing values go is
    listed as "missing_changed".
    """
    before = {c.feature: c for c in old}
    after = {c.feature: c for c in new}
    changes: list[ConditionChange] = []
    for j in sorted(before.keys() | after.keys()):
        one, two = before.get(j), after.get(j)
        if one == two:
            continue
        change = partial(ConditionChange, feature=j, name=space.feature_labels[j], old=one, new=two)
        if space.categories[j] is not None:
            changes += _compare_categories(change, one, two)
        else:
            span = min(float(space.upper[j]) - float(space.lower[j]), sys.float_info.max)
            changes += _compare_bounds(change, one, two, span)
    return tuple(changes)


def _compare_bounds(
    change: Callable[..., ConditionChange],
    old: Condition | None,
    new: Condition | None,
    span: float,
) -> list[ConditionChange]:
    changes = []
    for side, none in (("lower", -np.inf), ("upper", np.inf)):
        one, two = (none if c is None else getattr(c, side) for c in (old, new))
        if one == two or (np.isfinite(one) and abs(two - one) <= SAME_BOUND * span):
            continue
        was, now = (float(bound) if np.isfinite(bound) else None for bound in (one, two))
        kind = "condition_added" if was is None else "condition_removed"
        found: dict[str, Any] = {"side": side, "old_bound": was, "new_bound": now}
        if was is not None and now is not None:
            kind, found["shift"] = "threshold_moved", now - was
            found["share_of_range"] = (now - was) / span if span > 0 else None
        changes.append(change(kind, **found))
    same_values_present = _present(old) == _present(new)
    if same_values_present and _missing_passes(old) == _missing_passes(new):
        return changes
    if not changes and (old is None or new is None):
        # "age is not missing", "age is missing": a condition in its own right.
        kind = "condition_added" if old is None else "condition_removed"
        return [change(kind, side="missing")]
    lets_in = new is None or bool(new.missing)
    part_of = "condition_removed" if lets_in else "condition_added"
    if not same_values_present or part_of not in {c.kind for c in changes}:
        changes.append(change("missing_changed", side="missing"))
    return changes


def _compare_categories(
    change: Callable[..., ConditionChange], old: Condition | None, new: Condition | None
) -> list[ConditionChange]:
    if old is None or new is None:
        kind = "condition_added" if old is None else "condition_removed"
        return [change(kind, side="categories")]
    one, two = old.allowed or (), new.allowed or ()
    before, after = set(one), set(two)
    gained = tuple(c for c in two if c not in before)
    lost = tuple(c for c in one if c not in after)
    changes = []
    if gained or lost:
        changes.append(change("categories_changed", side="categories", gained=gained, lost=lost))
    if bool(old.missing) != bool(new.missing):
        changes.append(change("missing_changed", side="missing"))
    return changes


def _missing_passes(condition: Condition | None) -> bool:
    return condition is None or condition.missing is not False


def _present(condition: Condition | None) -> bool:
    return condition is None or condition.present


# -- in words --------------------------------------------------------------------------

_CHANGES = {
    "moved": "{name}: {side} bound moved from {old} to {new}{shift}",
    "condition_added": "condition added: {condition}",
    "condition_removed": "condition removed: {condition}",
    "only_missing": "{name}: only missing values pass now",
    "not_only_missing": "{name}: no longer only missing values pass",
    "missing_in": "{name}: missing values now included",
    "missing_out": "{name}: missing values no longer included",
}
_SPLITS = {
    "moved": "{the} on {name} moved from {old} to {new}{shift}: {count}",
    "categories_changed": "{the} on {name} sends {values} the other way: {count}",
    "missing_changed": "missing values of {name} go the other way: {count}",
    "removed": "{the} on {name}{at} removed: {count}",
    "added": "{a} on {name}{new_at} added: {count}",
    "replaced": "{the} on {name}{at} replaced by {new_name}{new_at}: {count}",
}


def _shift(shift: float | None, share: float | None, style: WordStyle) -> str:
    """Return a shift in brackets, as far as it is known: (+3, 4.3 % of its range)."""
    if shift is None:
        return ""
    # Four digits: thresholds are midpoints of rounded numbers, their differences noisy.
    amount = f"{'+' if shift > 0 else ''}{style.significant(shift, 4)}"
    return f" ({amount}{'' if share is None else f', {style.percent(abs(share), 1)} of its range'})"


def _bound(value: float | None, style: WordStyle) -> str:
    return "" if value is None else style.number(value)


def concerned_by(change: ConditionChange) -> tuple[Condition | None, float | None]:
    """Condition and bound that a change is about: the new ones if added, else the old."""
    added = change.kind == "condition_added"
    return (change.new, change.new_bound) if added else (change.old, change.old_bound)


def change_words(change: ConditionChange, style: WordStyle = PLAIN) -> str:
    """Return one changed condition in words."""
    name = style.name(change.name)
    if change.kind == "threshold_moved":
        return _CHANGES["moved"].format(
            name=name,
            side=change.side,
            old=_bound(change.old_bound, style),
            new=_bound(change.new_bound, style),
            shift=_shift(change.shift, change.share_of_range, style),
        )
    if change.kind in ("condition_added", "condition_removed"):
        whole, bound = concerned_by(change)
        if bound is not None:
            sides = (-math.inf, bound) if change.side == "upper" else (bound, math.inf)
            whole = Condition(change.feature, change.name, *sides)
        return _CHANGES[change.kind].format(condition=name if whole is None else whole.words(style))
    if change.kind == "categories_changed":
        parts = (
            f"{listed(map(style.name, categories), 'and')} {what} included"
            for categories, what in ((change.gained, "now"), (change.lost, "no longer"))
            if categories
        )
        return f"{name}: {', '.join(parts)}"
    passes = "missing_in" if change.new is None or change.new.missing else "missing_out"
    if change.new is not None and not change.new.present:
        passes = "only_missing"
    elif change.old is not None and not change.old.present:
        passes = "not_only_missing"
    return _CHANGES[passes].format(name=name)


def split_words(split: SplitChange, style: WordStyle = PLAIN) -> str:
    """Return one changed split in words, with the number of rules it concerns."""
    which = "first split" if split.first else "split"
    the, a = f"the {which}", f"a {which}"
    if split.only_conditions:
        the = a = "a bound" if split.kind == "moved" else "a condition"
    new = split.new_categories if split.kind == "replaced" else split.categories
    return _SPLITS[split.kind].format(
        the=the,
        a=a,
        name=style.name(split.name),
        old=_bound(split.old_bound, style),
        new=_bound(split.new_bound, style),
        shift=_shift(split.shift, split.share_of_range, style),
        values=", ".join(map(style.name, split.categories)),
        at=_at(split.old_bound, split.categories, style),
        new_name="" if split.new_name is None else style.name(split.new_name),
        new_at=_at(split.new_bound, new, style),
        count=count_rules(len(split.rules)),
    )


def _at(bound: float | None, categories: tuple[Any, ...], style: WordStyle) -> str:
    if bound is not None:
        return f" at {style.number(bound)}"
    return f" ({', '.join(map(style.name, categories))})" if categories else ""


def count_rules(count: int) -> str:
    """Write "1 rule", "2 rules"."""
    return f"{count} rule{'s' if count != 1 else ''}"
