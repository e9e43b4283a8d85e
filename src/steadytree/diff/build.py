"""Build the diff: match the rules, classify each one, count the rows it concerns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steadytree.diff.changes import Rule, RuleChange, SplitChange
from steadytree.diff.directions import space_with_turned
from steadytree.diff.pairing import Pair, group_changes, read_pairs
from steadytree.diff.tree_diff import TreeDiff, positive_class
from steadytree.distance.equations import Measure
from steadytree.distance.matching import PathMatching, match_paths
from steadytree.evaluation.performance import classes_given_up, prediction_moved, response_span
from steadytree.exceptions import InputError
from steadytree.plugins import read_model
from steadytree.publish import count_categories
from steadytree.tree.alignment import common_space
from steadytree.tree.columns import column_names, n_rows
from steadytree.tree.paths import Paths
from steadytree.tree.printing import LeafNumbers, kept_words, known_missing
from steadytree.tree.rows import CodedRows
from steadytree.tree.space import FeatureSpace
from steadytree.tree.tree import Tree

# Values closer than this are the same value.
SAME_VALUE = 1e-12


def diff_trees(
    old: Any,
    new: Any,
    X: Any = None,
    *,
    y: ArrayLike | None = None,
    space: FeatureSpace | None = None,
) -> TreeDiff:
    r"""Say what changed between two trees, rule by rule, and whom it concerns.

    The rules of the two trees are matched at the least total cost (eq. (distance) of
    the paper with ``variant="metric"``), and every rule is read as kept, relabelled,
    moved (a threshold moved, a condition added or removed, categories or the direction
    of missing values changed), added or dropped. Two trees with the same paths in
    another order of splits show no change. A feature that the space knows as never missing
    counts as one that can be missing if a split on it stands in both trees and sends missing
    values another way, and categories that nobody has met count as one more where it sends
    these another way: ``diff.space`` is then the space with it.

    Parameters
    ----------
    old, new : model, Tree or path of a tree file
    X : array, frame or CodedRows, optional
        Rows to count: the share that follows each rule in either tree, and the share
        whose decision changes. Of rows already coded in ``space`` only the codes are read.
    y : array, optional
        Outcomes of these rows, for the outcome rate of each rule.
    space : FeatureSpace, optional
        By default the space stored with the trees.

    Returns
    -------
    TreeDiff

    Notes
    -----
    The matching pairs as many rules as it can, because a pair never costs more than its
    two rules apart: :math:`d(p, q) \le w'(p) + w'(q)`. Three refinements make its pairs
    readable:

    - Rules with the very same conditions are always one rule, even where the matching
      would trade labels for conditions (two leaves that swap their labels are two
      relabelled rules).
    - Where two pairs can exchange partners at the same cost, the reading with fewer
      changed conditions counts.
    - A pair is one rule that changed only if some case could follow both of its forms,
      and if these share enough of their conditions: with
      :math:`x^p_i` how much p tightens coordinate i of the space and
      :math:`s_p = \sum_i x^p_i`,

      .. math:: \sum_i \min(x^p_i, x^q_i) \ge \tfrac12 \min(s_p, s_q),

      that is, turning p into q costs no more (in conditions) than writing the more
      demanding of the two from nothing. Otherwise p was dropped and q added.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> import steadytree as st
    >>> X, y = load_iris(return_X_y=True)
    >>> old = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X[::2], y[::2])
    >>> new = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, y)
    >>> diff = st.diff_trees(old, new, X, space=st.FeatureSpace.from_data(X))
    >>> diff.counts["added"], diff.counts["dropped"]
    (0, 0)
    """
    before, after = read_model(old), read_model(new)
    used = space_with_turned(before, after, common_space([before, after], space))
    matching = match_paths(before, after, space=used, variant="metric")
    a, b = matching.a, matching.b
    if X is None and y is not None:
        raise InputError("expected X with y, got none; pass the rows as X")
    rows = None if X is None else _Rows.read(before, after, a, b, X, y)
    positive = positive_class(after, a.classes)
    may_miss = _may_miss(used, before, after, X)
    old_rules = _rules(a, rows, rows and rows.old, positive, may_miss)
    new_rules = _rules(b, rows, rows and rows.new, positive, may_miss)
    rules = _classify(matching, old_rules, new_rules, rows, positive)
    splits = group_changes(rules, a, b)
    names_a, names_b = _used_names(a), _used_names(b)
    changed = flips = value_shift = None
    if rows is not None:
        changed, value_shift = rows.outcome_changes(
            old_rules, new_rules, response_span(used, classifier=a.classes is not None)
        )
        flips = float(changed.mean())
        splits = tuple(_with_share(split, rules, rows) for split in splits)
    return TreeDiff(
        rules=rules,
        splits=splits,
        predictors_gained=tuple(name for name in names_b if name not in names_a),
        predictors_lost=tuple(name for name in names_a if name not in names_b),
        predictors_kept=tuple(name for name in names_a if name in names_b),
        dissimilarity=float(matching.relative),
        distance=float(matching.distance),
        flips=flips,
        changed_decisions=changed,
        mean_value_shift=value_shift,
        n_rows=None if rows is None else rows.count,
        classes=a.classes,
        classes_given_up={} if a.classes is None else _given_up(old_rules, new_rules, rows),
        old=before,
        new=after,
        space=used,
        category_counts=_category_counts(X, used, (*names_a, *names_b)),
    )


def _category_counts(
    X: Any, space: FeatureSpace, used: Sequence[str]
) -> dict[int, NDArray[np.intp]]:
    """Count the rows of each category of the features in use; none where X codes them itself.

    What is published names no category that few rows have.
    """
    if X is None:
        return {}
    needed = [j for j, label in enumerate(space.feature_labels) if label in set(used)]
    if isinstance(X, CodedRows):
        coded = X.coded
    else:
        have = column_names(X)
        if have is None or not {space.feature_labels[j] for j in needed} <= set(have):
            return {}
        coded = space.encode(X, needed)
    return count_categories(space, coded, needed)


# -- rows ------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Rows:
    """Which rule each row follows in either tree."""

    old: NDArray[np.intp]
    new: NDArray[np.intp]
    y: NDArray[Any] | None
    count: int

    @classmethod
    def read(cls, before: Tree, after: Tree, a: Paths, b: Paths, X: Any, y: Any) -> _Rows:
        if not isinstance(X, CodedRows) and not hasattr(X, "shape"):
            X = np.asarray(X)
        count = len(X) if isinstance(X, CodedRows) else n_rows(X)
        if count == 0:
            raise InputError("expected rows in X, got none; leave X out to compare rules only")
        outcome = None if y is None else np.asarray(y)
        if outcome is not None and outcome.shape != (count,):
            raise InputError(
                f"expected {count} outcomes in y, one per row of X, got shape {outcome.shape}"
            )
        return cls(_path_of_rows(before, a, X), _path_of_rows(after, b, X), outcome, count)

    def outcome_changes(
        self, old: Sequence[Rule], new: Sequence[Rule], span: float | None
    ) -> tuple[NDArray[np.bool_], float | None]:
        """Rows whose decision changes, and in regression the mean absolute change."""
        if span is None:
            was, now = self.decided(old, new)
            return np.asarray(was != now, dtype=bool), None
        one = np.array([rule.value[0] for rule in old])[self.old]
        two = np.array([rule.value[0] for rule in new])[self.new]
        return prediction_moved(one, two, span), float(np.abs(two - one).mean())

    def decided(
        self, old: Sequence[Rule], new: Sequence[Rule]
    ) -> tuple[NDArray[np.object_], NDArray[np.object_]]:
        """Decisions of the rows by either tree."""
        was = np.array([rule.label for rule in old], dtype=object)[self.old]
        return was, np.array([rule.label for rule in new], dtype=object)[self.new]

    def by_rule(
        self, paths: Paths, follows: NDArray[np.intp], positive: int | None
    ) -> list[dict[str, Any]]:
        """Count the rows that follow each rule, and what was observed among them."""
        total = np.bincount(follows, minlength=paths.n_paths).tolist()
        found: list[dict[str, Any]] = [{"share": n / self.count, "rows": n} for n in total]
        if self.y is None:
            return found
        happened = self._happened(self.y, paths, follows, positive)
        events = np.bincount(follows, happened, paths.n_paths).tolist()
        for numbers, n, happens in zip(found, total, events, strict=True):
            numbers["outcome_rate"] = happens / n if n else None
            if paths.classes is not None:
                numbers["outcomes"] = round(happens)
        return found

    @staticmethod
    def _happened(
        y: NDArray[Any], paths: Paths, follows: NDArray[np.intp], positive: int | None
    ) -> NDArray[np.float64]:
        """Return the numbers whose mean is the outcome rate."""
        if paths.classes is None:
            return y.astype(np.float64)
        if positive is not None:
            return np.asarray(y == paths.classes[positive], dtype=np.float64)
        labels = np.array(paths.classes, dtype=object)[paths.label][follows]
        return np.asarray(y.astype(object) == labels, dtype=np.float64)


def _given_up(old: Sequence[Rule], new: Sequence[Rule], rows: _Rows | None) -> dict[Any, bool]:
    """Classes that the new tree gives up, on the rows where there are any."""
    labels = ([rule.label for rule in old], [rule.label for rule in new])
    if rows is None:
        return classes_given_up(labels)
    y = None if rows.y is None else rows.y.astype(object)
    return classes_given_up(labels, rows.decided(old, new), y)


def _path_of_rows(tree: Tree, paths: Paths, X: Any) -> NDArray[np.intp]:
    """Path that each row follows; the tree reads its own columns where X has them."""
    if isinstance(X, CodedRows):
        reader = tree.in_space(paths.space)
        leaf = reader.apply_coded(reader.round_values(X.coded))
    else:
        have = column_names(X)
        own = tree.feature_names is None or have is None or set(tree.feature_names) <= set(have)
        # Else one-hot columns are written as one feature; the nodes are the same.
        leaf = (tree if own else paths.tree).apply(X)
    where = np.full(tree.n_nodes, -1, dtype=np.intp)
    where[paths.leaf] = np.arange(paths.n_paths)
    path = where[leaf]
    if (path < 0).any():
        row = int(np.flatnonzero(path < 0)[0])
        raise InputError(
            f"expected rows that the feature space allows, got row {row}, which follows a rule "
            "no value of the space can follow (a missing value where the space knows none?); "
            "make the space from data that has such rows"
        )
    return path


# -- rules -----------------------------------------------------------------------------


def _may_miss(space: FeatureSpace, old: Tree, new: Tree, X: Any) -> frozenset[int]:
    """Features of which somebody has no value, though the space knows them as never missing.

    Either tree knows, or coded rows show it; every rule of both then says where these go.
    """
    labels = {
        tree.feature_labels[j]
        for tree in (old, new)
        for j in tree.used_features
        if known_missing(tree, j)
    }
    shown = np.isnan(X.coded).any(axis=0) if isinstance(X, CodedRows) else np.zeros(0, dtype=bool)
    known = (space.position[label] for label in labels if label in space.position)
    return frozenset((*known, *np.flatnonzero(shown).tolist()))


def _rules(
    paths: Paths, rows: _Rows | None, follows: Any, positive: int | None, may_miss: frozenset[int]
) -> list[Rule]:
    tree = paths.tree
    counted = [{}] * paths.n_paths if rows is None else rows.by_rule(paths, follows, positive)
    return [
        Rule(
            path=p,
            leaf=int(paths.leaf[p]),
            conditions=paths.conditions_of(p, may_miss=may_miss),
            label=None if paths.classes is None else paths.classes[paths.label[p]],
            value=(
                (float(tree.value[paths.leaf[p], 0]),)
                if paths.classes is None
                else tuple(float(v) for v in paths.value[p])
            ),
            numbers=leaf_numbers(tree, int(paths.leaf[p]), paths.classes, positive),
            kept=kept_words(tree, int(paths.leaf[p])),
            **counted[p],
        )
        for p in range(paths.n_paths)
    ]


def leaf_numbers(
    tree: Tree, leaf: int, classes: tuple[Any, ...] | None, positive: int | None
) -> LeafNumbers:
    """Numbers of a leaf; a class that only the other tree knows is never predicted or observed."""
    if classes is None or positive is None:
        return LeafNumbers.of(tree, leaf)
    name, known = classes[positive], tree.classes or ()
    if name in known:
        return LeafNumbers.of(tree, leaf, known.index(name))
    own = LeafNumbers.of(tree, leaf)
    outcomes = None if own.rows is None else 0
    parts = tuple((0, rows) for _, rows in own.parts)
    return replace(own, shown=name, predicted=0.0, outcomes=outcomes, parts=parts)


def _classify(
    matching: PathMatching, old: list[Rule], new: list[Rule], rows: _Rows | None, positive: Any
) -> tuple[RuleChange, ...]:
    pairs = {pair.old: pair for pair in read_pairs(matching)}
    taken = {pair.new for pair in pairs.values()}
    measure = Measure.of(matching.options)
    lone_old, lone_new = (measure.unmatched_numbers(paths) for paths in (matching.a, matching.b))
    out: list[RuleChange] = []
    for p, rule in enumerate(old):
        number, pair = p + 1, pairs.get(p)
        if pair is not None:
            out.append(_changed(number, rule, new[pair.new], pair, rows, positive))
        else:
            out.append(RuleChange(number, "dropped", (), rule, None, cost=float(lone_old[p])))
    for q, rule in enumerate(new):
        if q not in taken:
            out.append(RuleChange(len(out) + 1, "added", (), None, rule, cost=float(lone_new[q])))
    return tuple(out)


def _changed(
    number: int, old: Rule, new: Rule, pair: Pair, rows: _Rows | None, positive: int | None
) -> RuleChange:
    relabelled = old.label != new.label
    difference = np.subtract(new.value, old.value)
    if len(old.value) > 2:
        value_change = float(np.abs(difference).sum() / 2)
    else:
        value_change = float(difference[positive or 0])
    kinds = list(dict.fromkeys(change.kind for change in pair.changes))
    kinds += ["relabelled"] if relabelled else []
    kinds += ["value_changed"] if np.abs(difference).max() > SAME_VALUE else []
    both = None
    if rows is not None:
        both = float(((rows.old == old.path) & (rows.new == new.path)).mean())
    return RuleChange(
        number=number,
        status="moved" if pair.changes else "relabelled" if relabelled else "kept",
        kinds=tuple(kinds),
        old=old,
        new=new,
        changes=pair.changes,
        relabelled=relabelled,
        value_change=value_change,
        cost=pair.cost,
        overlap=pair.overlap,
        share_in_both=both,
    )


def _with_share(split: SplitChange, rules: Sequence[RuleChange], rows: _Rows) -> SplitChange:
    chosen = [rules[number - 1] for number in split.rules]
    in_old = np.isin(rows.old, [r.old.path for r in chosen if r.old is not None])
    in_new = np.isin(rows.new, [r.new.path for r in chosen if r.new is not None])
    return replace(split, share=float((in_old | in_new).mean()))


def _used_names(paths: Paths) -> tuple[str, ...]:
    """Names of the features that some rule restricts, in the order of the space."""
    used = {c.feature for rule in paths.conditions for c in rule}
    return tuple(paths.space.feature_labels[j] for j in sorted(used))
