"""Certify a finished retraining: run its search again, and hold its tree against a family of trees.

The search makes one edit after the other. Whether it stopped at the best tree is asked afterwards,
by whoever wants to know: from the seed and the settings that the result recorded, and its rows.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from math import log10
from typing import Any

import numpy as np

from steadytree.certificate import loops
from steadytree.certificate.bound import (
    TOLERANCE,
    Bounded,
    Conditions,
    FirstConditions,
    Part,
    Relaxation,
    bound_part,
    close_gap,
    scaled_shape,
    start_shape,
)
from steadytree.certificate.family import (
    Family,
    LeafwiseObjective,
    Terms,
    choose_cuts,
    make_family,
)
from steadytree.certificate.loops import Leaves
from steadytree.exceptions import InputError, SteadyTreeWarning
from steadytree.growing.best_first import IndexArray, Split
from steadytree.growing.nodes import SearchNode, leaves_of, nodes_of
from steadytree.retraining.edits.search import EditedTree, PricedEdits
from steadytree.retraining.frontier import changes_nothing
from steadytree.retraining.given import Rows, SearchOptions, check_number, check_whole, read_rows
from steadytree.retraining.problem import Problem, prepare_problem
from steadytree.retraining.result import Retraining
from steadytree.retraining.runs import CandidateMaker
from steadytree.tree.columns import n_rows
from steadytree.tree.tree import Tree
from steadytree.tree.walk import Box

# -- what a certificate is asked for, and what it says --------------------------------------

DEEPEST = 3
CLOSED = 1e-8
LIMITS = (
    "It says nothing of larger changes, of other cut points, nor of whether the teacher is right."
)


@dataclass(frozen=True, kw_only=True)
class CertificateOptions:
    """Which trees a certificate speaks of, and how long it may take.

    Attributes
    ----------
    depth : int, optional
        Most conditions in a rule, 1 to 3; by default 3, or 2 where that would take too long.
    cut_points : int, optional
        About how many conditions the trees are built from; by default as many as the work
        allows, up to 96. Those of the deployed tree and of the proposal are always among them.
    work : float, default 2e8
        Leaves and trees to look at: a few seconds (without numba two hundred times fewer). A
        count and not a time, so that the same rows give the same certificate.

    Examples
    --------
    >>> import steadytree as st
    >>> st.CertificateOptions(depth=2, cut_points=32)  # for certify(options=...)
    CertificateOptions(depth=2, cut_points=32, work=200000000.0)
    """

    depth: int | None = None
    cut_points: int | None = None
    work: float = 2e8

    def __post_init__(self) -> None:
        if self.depth is not None:
            check_whole(self.depth, "depth", least=1, fix=f"the deepest is {DEEPEST}")
            if self.depth > DEEPEST:
                raise InputError(
                    f"expected a depth of at most {DEEPEST} for a certificate, got {self.depth}; "
                    "deeper families are too large to go through"
                )
        if self.cut_points is not None:
            check_whole(self.cut_points, "cut_points", least=1, fix="64 are usual")
        check_number(self.work, "work", fix="the default is 2e8")


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


# -- hold the tree that the search found against all trees of a family ------------------------
# The family: all trees up to a depth on the chosen cut points, and all trees that differ from
# the found one in one part, which is then any tree up to that depth. So the found tree is always
# one of them, however deep it is.

CUT_POINTS = (96, 64, 48, 32, 24, 16, 12, 8)
"""How many cut points are tried for, the most that the work allows."""
SLOWER = 200.0
"""How much longer everything takes without compiled loops."""
ROW_COST = 0.1
"""Cost of adding one number to a sum, in leaves looked at."""
EDIT = "the best tree that the certificate found"


Place = tuple[SearchNode, Box]
"""A node of the found tree, and the box it sits in."""


def certify_search(
    search: PricedEdits, edited: EditedTree, options: CertificateOptions
) -> tuple[Certificate, EditedTree | None]:
    """Certify the tree at one price of a search that has run.

    Returns with it the better tree as the search left it, where one was found.
    """
    assert edited.root is not None
    found, price = edited.root, edited.price
    objective = LeafwiseObjective(search, price)
    mine, before = objective.terms(found), objective.terms(search.start)
    enough = 2 * objective.judging.min_leaf
    places = [place for place in _places(search, found, {}) if place[0].n_real >= enough]
    depth, cuts = _choose_family(search, found, objective, len(places), options)
    family = make_family(search, cuts, depth, [box for _, box in places])
    known = [
        (mine.value + objective.edited(found), found),
        (before.value, search.start),
        *((objective.of(root), root) for root in _pruned(search, objective, found)),
    ]
    best, best_root = min(known, key=lambda item: item[0])
    shapes = [scaled_shape(terms.leaves) for terms in (mine, before)]
    start = Relaxation(mine.multipliers, start_shape(shapes), (0.0, 0.0))
    parts = [_part(search, family, found, mine, place) for place in places]
    out = Bounded(best)
    lower = _bound(family, objective, parts, start, _work(options), out)
    if out.tree is not None:
        number, conditions = out.tree
        node, _ = places[number]
        better_part = _built(search, family, conditions, node.rows)
        best_root = _rebuilt(search, found, {id(node): better_part})
    proposed = search.objective(found, price) + objective.edited(found)
    value, better = proposed, None
    if out.best < proposed - TOLERANCE:
        best_root = _with_best_labels(objective, best_root)
        value = min(proposed, search.objective(best_root, price) + objective.edited(best_root))
        if value < proposed - objective.edit_cost:
            better = search.export(best_root, (EDIT,), price)
    certificate = Certificate(
        price=price,
        depth=depth,
        cut_points=len(cuts),
        features=tuple(search.space.feature_labels[j] for j in family.features),
        n_trees=count_trees(depth, len(cuts)),
        min_samples_leaf=search.limits.min_leaf,
        objective=proposed,
        best_objective=value,
        lower_bound=min(lower, out.best, value),
        edit_cost=objective.edit_cost,
        tree=None if better is None else better.tree,
    )
    return certificate, better


def _bound(
    family: Family,
    objective: LeafwiseObjective,
    parts: list[Part],
    start: Relaxation,
    most_work: float,
    out: Bounded,
) -> float:
    """Return a lower bound over all trees in all places; better trees go into ``out``."""
    if not family.cuts:
        return out.best

    def bounded(depth: int, margin: float, work: float) -> float:
        @lru_cache(maxsize=2)
        def place_of(i: int) -> FirstConditions:
            return FirstConditions(replace(family, depth=depth), objective, parts[i])

        bounds = [bound_part(place_of(i), i, start, out) for i in range(len(parts))]
        return close_gap(place_of, bounds, margin, out.work + work, out)

    if family.depth == DEEPEST:  # a good tree to start from makes everything else easier
        bounded(2, 0.0, most_work / 10)
    return bounded(family.depth, objective.edit_cost, most_work)


def _work(options: CertificateOptions) -> float:
    return options.work if loops.COMPILED else options.work / SLOWER


def _choose_family(
    search: PricedEdits,
    found: SearchNode,
    objective: LeafwiseObjective,
    n_places: int,
    options: CertificateOptions,
) -> tuple[int, list[Split]]:
    """Return depth and cut points, as asked for or the most whose first bound the work allows."""
    deepest = max(1, min(DEEPEST, search.limits.max_depth))
    rows = int((objective.stats != 0).any(axis=1).sum())
    width = objective.stats.shape[1]

    depths = [options.depth] if options.depth is not None else [deepest, min(2, deepest)]
    counts = [options.cut_points] if options.cut_points is not None else list(CUT_POINTS)
    for depth in depths:
        for most in counts:
            cuts = choose_cuts(search.make, [search.start, found], most, search.limits.min_leaf)
            features = len({split.feature for split in cuts})
            sums = rows * features * (features + 1) / 2 * width * ROW_COST
            leaves = 8 * len(cuts) ** 2 if depth == 3 else 4 * len(cuts) if depth == 2 else 2
            # Parts below the root have fewer rows, and many of their leaves too few.
            once = sums + len(cuts) * (8 * leaves + (sums / 2 if depth == 3 else 0))
            if once * (1 + n_places / 4) <= _work(options):
                return depth, cuts
    return depth, cuts


def _places(search: PricedEdits, node: SearchNode, box: Box) -> Iterator[Place]:
    """All nodes of a tree that some value can reach, from the root down."""
    yield node, box
    if node.is_leaf:
        return
    split, *children = node.parts
    for child, side in zip(children, search.anchor.sides(split, box), strict=True):
        if side is not None:
            yield from _places(search, child, {**box, split.feature: side})


def _part(
    search: PricedEdits, family: Family, found: SearchNode, terms: Terms, place: Place
) -> Part:
    node, box = place
    inside = {id(leaf) for leaf in leaves_of(node)}
    leaves = search.anchor.columns(found, {}).leaves
    outside = np.array([id(leaf) not in inside for leaf in leaves], dtype=np.bool_)
    rest = Leaves(*(np.ascontiguousarray(values[outside]) for values in terms.leaves))
    return Part(node.rows, family.states(box), rest)


# -- single trees -------------------------------------------------------------------------


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


def _pruned(
    search: PricedEdits, objective: LeafwiseObjective, found: SearchNode
) -> Iterator[SearchNode]:
    """Trees in which one part of the found tree is a leaf."""
    for node in nodes_of(found):
        if not node.is_leaf and node.n_real >= objective.judging.min_leaf:
            yield _rebuilt(search, found, {id(node): search.make.leaf(node.rows)})


def _built(
    search: PricedEdits, family: Family, tree: Conditions | None, rows: IndexArray
) -> SearchNode:
    """Make the nodes of a tree that is given by its conditions."""
    if tree is None:
        return search.make.leaf(rows)
    cut, one, two = tree
    split = family.cuts[cut]
    below, above = search.make.divide(rows, split)
    sides = _built(search, family, one, below), _built(search, family, two, above)
    return search.make.join(rows, split, *sides)


def _with_best_labels(objective: LeafwiseObjective, root: SearchNode) -> SearchNode:
    """Return a tree with leaves that inherit the label of the old rule each is matched with.

    Leaves of a response are estimated afresh.
    """
    search = objective.search
    leaves = search.anchor.columns(root, {}).leaves
    own = search.anchor.columns(search.start, {}).leaves
    partner = objective.terms(root).partner
    chosen: dict[int, SearchNode] = {}
    for leaf, q in zip(leaves, partner.tolist(), strict=True):
        if search.n_classes is None:
            chosen[id(leaf)] = search.make.leaf(leaf.rows)
            continue
        if q == len(own):
            continue
        label = int(search.anchor.rule_outcomes[q, 0])
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
    options: CertificateOptions | None = None,
    *,
    n_jobs: int | None = None,
) -> Certificate:
    """Bound how much better any tree of a stated family could be than the one at the price.

    Parameters
    ----------
    result : Retraining
        Its search is run again from the recorded seed and settings, without folds.
    old : (X, y) or Rows, optional
        The old rows of that retraining, where it had some: a result does not keep them.
    options : CertificateOptions, optional
        Which trees it is about, and how long it may take.
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
    >>> options = st.CertificateOptions(depth=1, cut_points=8)
    >>> st.certify(result, options=options).gap >= 0
    True
    """
    if not isinstance(result, Retraining):
        raise InputError(
            f"expected what retrain returned to certify, got {type(result).__name__}; "
            "pass the result itself"
        )
    if options is not None and not isinstance(options, CertificateOptions):
        raise InputError(
            f"expected CertificateOptions(...) as options, got {type(options).__name__}; "
            "CertificateOptions(depth=2) is about trees of two levels"
        )
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
    certificate, _ = certify_search(search, edited, options or CertificateOptions())
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
    given, used = None if before is None else n_rows(before.X), settings["n_old"]
    if (given is None) != (used is None):
        had = f"{used:,} old rows" if used is not None else "no old rows"
        raise InputError(
            f"expected the old rows of the retraining, which had {had}, got "
            f"{'none' if given is None else f'{given:,}'}; pass old=(X, y) as retrain was given it"
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
