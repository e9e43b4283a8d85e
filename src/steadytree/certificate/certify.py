"""Certify a finished retraining: run its search again, and hold its tree against a family of trees.

The search makes one edit after the other. Whether it stopped at the best tree is asked afterwards,
by whoever wants to know: from the seed and the settings that the result recorded, and its rows.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from math import log10
from typing import Any

import numpy as np

from steadytree.certificate.family import (
    TOLERANCE,
    Conditions,
    Family,
    LeafObjective,
    Place,
    best_multipliers,
    choose_cuts,
    matched,
)
from steadytree.exceptions import InputError, SteadyTreeWarning
from steadytree.growing.best_first import Split
from steadytree.growing.nodes import SearchNode, leaves_of
from steadytree.retraining.edits.search import EditedTree, PricedEdits
from steadytree.retraining.frontier import changes_nothing
from steadytree.retraining.inputs import Rows, SearchOptions, check_whole, read_rows
from steadytree.retraining.problem import Problem, prepare_problem
from steadytree.retraining.result import Retraining
from steadytree.retraining.runs import CandidateMaker
from steadytree.tree.columns import n_rows
from steadytree.tree.tree import Tree
from steadytree.tree.walk import Box

# -- what a certificate says ----------------------------------------------------------------

DEEPEST = 2
CLOSED = 1e-8
LIMITS = (
    "It says nothing of larger changes, of other cut points, nor of whether the teacher is right."
)


@dataclass(frozen=True, kw_only=True)
class Certificate:
    """How much better any tree of a stated family could be than the tree at the asked price.

    The family: all trees with at most ``depth`` conditions in a rule on the stated cut points,
    and all trees that differ from the tree at the price in one part, which is then any such
    tree. The objective is that of the search: what the teacher sees and the tree misses, plus
    the price times the change; the cost of an edit counts once for every tree that is not the
    deployed one.

    Attributes
    ----------
    price : float
        The certificate is about the tree at this price, whichever candidate was chosen.
    depth, cut_points, features, n_trees
        The family: most conditions in a rule, number of cut points, features they are on, and
        the number of trees on them (of the first kind).
    min_samples_leaf : int
        Fewest real rows in every new leaf of these trees.
    objective : float
        Of the tree at the price.
    best_objective : float
        Of the best tree met; the same where none is better.
    lower_bound : float
        No tree of the family has a lower objective.
    edit_cost : float
        What an edit must save.
    tree : Tree or None
        A tree that is better by more than that, where one was met.

    Examples
    --------
    >>> from steadytree import Certificate
    >>> certificate = Certificate(
    ...     price=0.25, depth=2, cut_points=32, features=("age", "income"), n_trees=34849,
    ...     min_samples_leaf=8, objective=0.42, best_objective=0.42, lower_bound=0.41,
    ...     edit_cost=0.001,
    ... )
    >>> certificate.proved, round(certificate.gap, 6)
    (False, 0.01)
    """

    price: float
    depth: int
    cut_points: int
    features: tuple[str, ...]
    n_trees: int
    min_samples_leaf: int
    objective: float
    best_objective: float
    lower_bound: float
    edit_cost: float
    tree: Tree | None = None

    @property
    def gap(self) -> float:
        """How much lower the objective of any tree of the family could be at most."""
        return max(0.0, self.objective - self.lower_bound)

    @property
    def proved(self) -> bool:
        """Whether the best tree met is proved to be the best of the family."""
        return self.best_objective - self.lower_bound <= CLOSED

    def words(self) -> str:
        """Say it in short sentences: what was compared, what is certified, and what is not.

        Returns
        -------
        str
        """
        levels = "one condition" if self.depth == 1 else f"{self.depth} conditions"
        return (
            f"Certificate, for all trees with at most {levels} in a rule on {self.cut_points} cut "
            f"points of {len(self.features)} features ({_about(self.n_trees)}). It holds as well "
            f"for all that differ from the tree at price {self.price:g} in one part of that kind. "
            f"{self._found()} {LIMITS}"
        )

    def _found(self) -> str:
        if self.gap <= CLOSED:
            return f"None has a lower objective than that tree ({self.objective:.4f})."
        if self.tree is not None:
            rest = "" if self.proved else f" None is below {self.lower_bound:.4f}."
            return (
                f"The best one met has an objective of {self.best_objective:.4f} against "
                f"{self.objective:.4f}.{rest}"
            )
        text = (
            f"None has an objective below {self.lower_bound:.4f}; that of the tree itself is "
            f"{self.objective:.4f}. At most {self.gap:.4f} of what the teacher sees could still "
            "be gained"
        )
        small = f", less than one edit must save ({self.edit_cost:g})"
        return f"{text}{small if self.gap <= self.edit_cost else ''}."

    def to_dict(self) -> dict[str, Any]:
        """Return all entries, with the gap, whether it is proved, and the words.

        Returns
        -------
        dict
        """
        numbers = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "tree"}
        return {
            **numbers,
            "better": self.tree is not None,
            "features": list(self.features),
            "gap": self.gap,
            "proved": self.proved,
            "words": self.words(),
        }


def count_trees(depth: int, n_cuts: int) -> int:
    """Count the trees up to a depth on some cut points, those without enough rows included."""
    out = 1
    for _ in range(depth):
        out = 1 + n_cuts * out * out
    return out


def _about(count: int) -> str:
    if count < 1_000_000:
        return f"{count:,} trees"
    return f"about 10^{round(log10(count))} trees"


# -- hold the tree that the search found against all trees of the family ----------------------

CUT_POINTS = 64
EDIT = "the best tree that the certificate found"


def certify_search(
    search: PricedEdits, edited: EditedTree, cut_points: int
) -> tuple[Certificate, EditedTree | None]:
    """Certify the tree at one price of a search that has run.

    Returns with it the better tree as the search left it, where one was found.
    """
    assert edited.root is not None
    found, price = edited.root, edited.price
    objective = LeafObjective(search, price)
    cuts = choose_cuts(search.make, [search.start, found], cut_points, search.limits.min_leaf)
    depth = max(1, min(DEEPEST, search.limits.max_depth))
    best_root = min((found, search.start), key=lambda root: _value(objective, root))
    lower = best = _value(objective, best_root)
    multipliers = best_multipliers(objective.of_tree(found))
    family = Family(objective, cuts, depth)
    for place in _places(objective, found):
        bound, value, conditions = family.search(place, multipliers, best)
        if conditions is not None:
            part = _built(search, cuts, conditions, place.node)
            best, best_root = value, _rebuilt(search, found, {id(place.node): part})
        lower = min(lower, bound)
    proposed = search.objective(found, price) + _charge(search, found)
    value, better = proposed, None
    if best < proposed - TOLERANCE:
        best_root = _with_best_labels(objective, best_root)
        value = min(proposed, search.objective(best_root, price) + _charge(search, best_root))
        if value < proposed - search.edit_cost:
            better = search.export(best_root, (EDIT,), price)
    certificate = Certificate(
        price=price,
        depth=depth,
        cut_points=len(cuts),
        features=tuple(search.space.feature_labels[j] for j in sorted({s.feature for s in cuts})),
        n_trees=count_trees(depth, len(cuts)),
        min_samples_leaf=search.limits.min_leaf,
        objective=proposed,
        best_objective=value,
        lower_bound=min(lower, best, value),
        edit_cost=search.edit_cost,
        tree=None if better is None else better.tree,
    )
    return certificate, better


def _value(objective: LeafObjective, root: SearchNode) -> float:
    """Objective of a tree whose leaves carry the best labels permitted."""
    search = objective.search
    charged = objective.value(objective.of_tree(root))
    return charged - search.edit_cost + _charge(search, root)


def _charge(search: PricedEdits, root: SearchNode) -> float:
    """Return the edit cost: 0 only where no rule of the deployed tree is touched."""
    return 0.0 if _same_rules(root, search.start) else search.edit_cost


def _same_rules(one: SearchNode, two: SearchNode) -> bool:
    if one.is_leaf or two.is_leaf:
        return one.is_leaf and two.is_leaf
    (split, *kids), (other, *others) = one.parts, two.parts
    return split == other and all(_same_rules(*pair) for pair in zip(kids, others, strict=True))


def _places(objective: LeafObjective, found: SearchNode) -> Iterator[Place]:
    """All parts of a tree that some value can reach and that have rows enough, from the root."""
    anchor, every = objective.search.anchor, objective.of_tree(found)
    leaves = anchor.columns(found, {}).leaves
    waiting: list[tuple[SearchNode, Box]] = [(found, {})]
    while waiting:
        node, box = waiting.pop()
        if node.n_real >= objective.min_leaf:
            inside = {id(leaf) for leaf in leaves_of(node)}
            outside = np.array([id(leaf) not in inside for leaf in leaves], dtype=np.bool_)
            yield Place(node, box, every.take(outside))
        if not node.is_leaf:
            split, *children = node.parts
            for child, side in zip(children, anchor.sides(split, box), strict=True):
                if side is not None:
                    waiting.append((child, {**box, split.feature: side}))


def _rebuilt(
    search: PricedEdits, node: SearchNode, instead: Mapping[int, SearchNode]
) -> SearchNode:
    """Return a tree with some of its nodes, by their ``id``, replaced."""
    if id(node) in instead:
        return instead[id(node)]
    if node.is_leaf:
        return node
    split, left, right = node.parts
    sides = (_rebuilt(search, side, instead) for side in (left, right))
    return search.make.join(node.rows, split, *sides, prior=node.prior)


def _built(
    search: PricedEdits, cuts: list[Split], conditions: Conditions, node: SearchNode
) -> SearchNode:
    """Make the nodes of a tree of the family."""
    if not conditions:
        return search.make.leaf(node.rows)
    first, *seconds = conditions
    sides = []
    for rows, second in zip(search.make.divide(node.rows, cuts[first]), seconds, strict=True):
        side = search.make.leaf(rows)
        if second != first:
            leaves = [search.make.leaf(part) for part in search.make.divide(rows, cuts[second])]
            side = search.make.join(rows, cuts[second], *leaves)
        sides.append(side)
    return search.make.join(node.rows, cuts[first], *sides)


def _with_best_labels(objective: LeafObjective, root: SearchNode) -> SearchNode:
    """Return a tree with leaves that inherit the label of the old rule each is matched with.

    Leaves of a response are estimated afresh.
    """
    search = objective.search
    leaves = search.anchor.columns(root, {}).leaves
    own = search.anchor.columns(search.start, {}).leaves
    chosen: dict[int, SearchNode] = {}
    if search.n_classes is None:
        chosen = {id(leaf): search.make.leaf(leaf.rows) for leaf in leaves}
        return _rebuilt(search, root, chosen)
    for i, q in zip(*matched(objective.of_tree(root)), strict=True):
        leaf, label = leaves[i], int(search.anchor.rule_outcomes[q, 0])
        new = search.make.leaf(leaf.rows, inherited_label=label)
        if search.outcome(new) == label:
            chosen[id(leaf)] = new
        elif np.array_equal(own[q].rows, leaf.rows) and search.outcome(own[q]) == label:
            chosen[id(leaf)] = own[q]  # the deployed leaf itself, with what it knows of before
    return _rebuilt(search, root, chosen)


# -- a finished retraining ------------------------------------------------------------------


def certify(
    result: Retraining,
    old: Any = None,
    *,
    cut_points: int = CUT_POINTS,
    n_jobs: int | None = None,
) -> Certificate:
    """Bound how much better any tree of a stated family could be than the one at the price.

    Parameters
    ----------
    result : Retraining
        Its search is run again from the recorded seed and settings, without folds.
    old : (X, y) or Rows, optional
        The old rows of that retraining, where it had some: a result does not keep them.
    cut_points : int, default 64
        About how many conditions the trees are built from. Those of the deployed tree and of the
        tree at the price are always among them.
    n_jobs : int, optional
        Processes for the teacher; the certificate does not depend on it.

    Returns
    -------
    Certificate
        ``certificate.tree`` is a better tree of the family, where one was met.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> import steadytree as st
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> X = X[["mean radius", "mean texture"]]
    >>> first = st.DistilledTreeClassifier(max_leaf_nodes=4, random_state=0)
    >>> deployed = first.fit(X[:300], y[:300])
    >>> result = st.retrain(deployed, X[300:], y[300:], n_folds=0, random_state=0)
    >>> st.certify(result, cut_points=8).gap >= 0
    True
    """
    if not isinstance(result, Retraining):
        raise InputError(
            f"expected what retrain returned to certify, got {type(result).__name__}; "
            "pass the result itself"
        )
    check_whole(cut_points, "cut_points", least=1, fix="64 are usual")
    settings = result.settings
    if settings["locked_nodes"]:
        raise InputError(
            "expected a retraining without locks to certify, got locked="
            f"{list(result.plan.locked)!r}: a certificate speaks of all trees, those without the "
            "locked rules included; retrain without them to certify"
        )
    problem = _problem_of(result, old)
    if problem.nothing_new:
        raise InputError(
            "expected a retraining that learnt something to certify, got one on the very rows that "
            "the deployed tree was made from; pass rows that arrived since"
        )
    price = float(settings["price"])
    maker = CandidateMaker(
        problem=problem.without_tables(),
        prices=(np.inf, *settings["prices"]),
        options=SearchOptions.of_settings(settings),
        locks=(),
        own={},
        seed=int(settings["seed"]),
    )
    search, path = maker.priced_edits(n_jobs)
    edited = next(one for one in path if one.price == price)
    found = maker.finished(edited.tree, all_rows=True)
    if not changes_nothing(result.trees[f"price {price:g}"], found):
        raise InputError(
            "expected the rows of the retraining, got others: the search ended at another tree; "
            "pass the very old rows that retrain was given"
        )
    certificate, _ = certify_search(search, edited, cut_points)
    return certificate


def _problem_of(result: Retraining, old: Any) -> Problem:
    """Code the rows again, as the retraining did."""
    rows, settings, before = result.rows, result.settings, read_rows(old, "old")
    if rows.table is None:
        raise InputError(
            "expected a result with its rows to certify, got one whose X_new is not there; "
            "retrain again and certify what that returns"
        )
    if before is not None and rows.groups is None:
        before = replace(before, groups=None)
    n_rows_old, used = None if before is None else n_rows(before.X), settings["n_old"]
    if (n_rows_old is None) != (used is None):
        had = f"{used:,} old rows" if used is not None else "no old rows"
        raise InputError(
            f"expected the old rows of the retraining, which had {had}, got "
            f"{'none' if n_rows_old is None else f'{n_rows_old:,}'}; pass old=(X, y) as retrain "
            "was given it"
        )
    y, policy = rows.y, None
    if result.deployed.classes is not None:
        y, policy = result.deployed.class_names(rows.y), result.trees["re-estimate"].decision
    with warnings.catch_warnings():
        # All of it was said when the tree was retrained.
        warnings.simplefilter("ignore", SteadyTreeWarning)
        return prepare_problem(
            result.deployed,
            Rows(rows.table, y, rows.weight, rows.groups),
            before,
            forbid=[result.space.feature_labels[j] for j in settings["forbidden"]],
            decision=policy,
            space=result.space,
        )
