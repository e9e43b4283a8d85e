"""Which rule became which: the optimal matching, read the way a person would read it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from steadytree.diff.diff_words import change_words
from steadytree.distance.matching import PathMatching
from steadytree.distance.variants import cost_matrix
from steadytree.tree.paths import Paths
from steadytree.tree.printing import LeafNumbers
from steadytree.tree.space import FeatureSpace
from steadytree.tree.values import FeatureScale
from steadytree.tree.words import PLAIN, Condition, format_number, join_conditions

# -- What can happen to one rule, and to one of its conditions, between two trees --

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

# Bounds that differ by less than this share of the scale are one bound: the arithmetic
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
        What was observed among these rows: the (weighted) rate of that class, or the mean
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
            changes += _compare_bounds(change, one, two, span, space.scales[j])
    return tuple(changes)


def _compare_bounds(
    change: Callable[..., ConditionChange],
    old: Condition | None,
    new: Condition | None,
    span: float,
    scale: FeatureScale | None,
) -> list[ConditionChange]:
    changes = []
    for side, none in (("lower", -np.inf), ("upper", np.inf)):
        one = none if old is None else getattr(old, side)
        two = none if new is None else getattr(new, side)
        if one == two or (
            np.isfinite(one)
            and abs(two - one) <= SAME_BOUND * span
            and (scale is None or abs(scale.below(two) - scale.below(one)) <= SAME_BOUND)
        ):
            continue
        kind, shift = "threshold_moved", None
        if not np.isfinite(one):
            kind = "condition_added"
        elif not np.isfinite(two):
            kind = "condition_removed"
        else:
            shift = float(two - one)
        changes.append(
            change(
                kind,
                side=side,
                old_bound=float(one) if np.isfinite(one) else None,
                new_bound=float(two) if np.isfinite(two) else None,
                shift=shift,
                share_of_range=None if shift is None or span <= 0 else shift / span,
            )
        )
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


# -- Which rule became which: the optimal matching, read the way a person would read it --

# A matched pair is one rule that changed if at least this share of what the less
# demanding rule asks is asked by the other as well; see diff_trees.
SAME_RULE_OVERLAP = 0.5
# Costs closer than this are equal.
TIE = 1e-9


@dataclass(frozen=True)
class Pair:
    """A rule of the old tree and the rule of the new tree that it became."""

    old: int
    new: int
    changes: tuple[ConditionChange, ...]
    cost: float
    overlap: float


def read_pairs(matching: PathMatching) -> list[Pair]:
    """Pairs that are one rule each, by path of the old tree; see :func:`diff_trees`."""
    work = _Work(matching)
    work.same_conditions_first()
    work.fewest_changes_at_ties()
    pairs = [work.pair(p, q) for p, q in sorted(work.partner.items())]
    return [
        pair
        for pair in pairs
        if not pair.changes
        or (
            pair.overlap >= SAME_RULE_OVERLAP
            and some_case_follows_both(work.conditions_a[pair.old], work.conditions_b[pair.new])
        )
    ]


def some_case_follows_both(one: Sequence[Condition], two: Sequence[Condition]) -> bool:
    """Whether the conditions of two rules can hold at once."""
    other = {c.feature: c for c in two}
    return all(_compatible(c, other[c.feature]) for c in one if c.feature in other)


def _compatible(a: Condition, b: Condition) -> bool:
    if a.missing and b.missing:
        return True
    if not (a.present and b.present):
        return False
    if a.allowed is not None:
        return bool(set(a.allowed) & set(b.allowed or ()))
    return max(a.lower, b.lower) < min(a.upper, b.upper)


class _Work:
    """The matching while it is rearranged."""

    def __init__(self, matching: PathMatching) -> None:
        self.a, self.b = matching.a, matching.b
        self.conditions_a, self.conditions_b = self.a.conditions, self.b.conditions
        self.cost = cost_matrix(self.a, self.b, matching.options)
        self.partner = {pair.path_a: pair.path_b for pair in matching.pairs}
        self._changes: dict[tuple[int, int], tuple[ConditionChange, ...]] = {}

    def changes(self, p: int, q: int) -> tuple[ConditionChange, ...]:
        if (p, q) not in self._changes:
            self._changes[p, q] = compare_conditions(
                self.a.space, self.conditions_a[p], self.conditions_b[q]
            )
        return self._changes[p, q]

    def pair(self, p: int, q: int) -> Pair:
        x, z = _tightenings(self.a, p), _tightenings(self.b, q)
        shared = sum(min(v, z[i]) for i, v in x.items() if i in z)
        less = float(min(self.a.tightening_sum[p], self.b.tightening_sum[q]))
        overlap = min(shared / less, 1.0) if less > 0 else 1.0
        return Pair(p, q, self.changes(p, q), max(float(self.cost[p, q]), 0.0), overlap)

    def same_conditions_first(self) -> None:
        """Put rules with the very same conditions together."""
        back = {q: p for p, q in self.partner.items()}
        same: dict[Any, int] = {}
        for q, conditions in enumerate(self.conditions_b):
            same.setdefault(conditions, q)
        for p, conditions in enumerate(self.conditions_a):
            twin = same.get(conditions)
            if twin is None or self.partner.get(p) == twin:
                continue
            was_p, was_q = self.partner.pop(p, None), back.pop(twin, None)
            if was_p is not None:
                del back[was_p]
            if was_q is not None:
                del self.partner[was_q]
            self.partner[p], back[twin] = twin, p
            if was_p is not None and was_q is not None:  # the two left alone become a pair
                self.partner[was_q], back[was_p] = was_p, was_q

    def fewest_changes_at_ties(self) -> None:
        """Exchange partners where that costs the same and changes fewer conditions."""
        changed = [p for p, q in self.partner.items() if self.changes(p, q)]
        again = True
        while again:
            again = False
            for p, other in self._tied(changed):
                q, r = self.partner[p], self.partner[other]
                now = len(self.changes(p, q)) + len(self.changes(other, r))
                then = len(self.changes(p, r)) + len(self.changes(other, q))
                dearer = self.cost[p, r] + self.cost[other, q]
                dearer -= self.cost[p, q] + self.cost[other, r]
                if dearer <= TIE and then < now:
                    self.partner[p], self.partner[other] = r, q
                    again = True

    def _tied(self, changed: list[int]) -> list[tuple[int, int]]:
        """Pairs of rules that can exchange partners at no cost, as matched now."""
        rows = np.array(changed, dtype=np.intp)
        columns = np.array([self.partner[p] for p in changed], dtype=np.intp)
        cost = self.cost[np.ix_(rows, columns)]
        own = np.diag(cost)
        dearer = cost + cost.T - own[:, None] - own[None, :]
        first, second = np.nonzero(np.triu(dearer <= TIE, k=1))
        return list(zip(rows[first].tolist(), rows[second].tolist(), strict=True))


def _tightenings(paths: Paths, path: int) -> dict[int, float]:
    """How much a path tightens each coordinate."""
    span = slice(int(paths.indptr[path]), int(paths.indptr[path + 1]))
    return dict(zip(paths.coord[span].tolist(), paths.tightening[span].tolist(), strict=True))
