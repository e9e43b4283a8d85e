"""Certify a finished retraining: run its search again, and hold its tree against a family of trees.

The search makes one edit after the other. Whether it stopped at the best tree is asked afterwards,
by whoever wants to know: from the seed and the settings that the result recorded, and its rows.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from steadytree.certificate import leaf_loops
from steadytree.certificate.family import Family, LeafwiseObjective, Terms, make_family
from steadytree.certificate.leaf_loops import Leaves
from steadytree.certificate.sides import (
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
from steadytree.certificate.statement import DEEPEST, Certificate, CertificateOptions, count_trees
from steadytree.exceptions import InputError, SteadyTreeWarning
from steadytree.growing.best_first import BinnedTable, FloatArray, IndexArray, Split
from steadytree.growing.nodes import NodeFactory, SearchNode
from steadytree.retraining.edits.search import EditedTree, PricedEdits
from steadytree.retraining.frontier import changes_nothing
from steadytree.retraining.given import Rows, SearchOptions, read_rows
from steadytree.retraining.problem import Problem, prepare_problem
from steadytree.retraining.result import Retraining
from steadytree.retraining.runs import CandidateMaker
from steadytree.tree.columns import n_rows
from steadytree.tree.values import bit_set
from steadytree.tree.walk import Box

# -- Which conditions the trees of a certificate are built from: the stated cut points --
# A certificate speaks of every tree on some conditions, so these must hold what matters: all
# conditions of the deployed tree and of the proposal, then those that explain most in some node
# of the proposal, then evenly spaced cuts of the most telling features.

EVEN_CUTS = (1, 3, 7, 15, 31, 63, 127, 254)
"""Evenly spaced cuts of a feature, in rounds until there are enough."""
CUTS_PER_FEATURE = 4
"""Beside the features of both trees there are at most as many as give each so many cuts."""


def nodes_of(root: SearchNode) -> Iterator[SearchNode]:
    """All nodes of a tree, from the root down."""
    stack = [root]
    while stack:
        node = stack.pop()
        yield node
        if not node.is_leaf:
            _, left, right = node.parts
            stack += [right, left]


def cut_key(split: Split, table: BinnedTable) -> tuple[int, object]:
    """Return what two conditions have in common that divide every value alike."""
    j = split.feature
    can_miss = bool(table.space.can_be_missing[j])
    if split.left is None:
        return j, (split.threshold, can_miss and split.missing_left)
    n = int(table.n_categories[j])
    mask = bit_set(split.left, n)
    if can_miss:
        mask |= int(split.missing_left) << n
    # Which side is called left makes no other tree.
    return j, min(mask, (1 << (n + can_miss)) - 1 - mask)


def choose_cuts(
    make: NodeFactory, trees: list[SearchNode], most: int, min_leaf: int
) -> list[Split]:
    """Return the conditions of some trees and about ``most`` in all, in the order of features.

    The last of the trees is the one whose nodes say what is promising.
    """
    table = make.table
    chosen: dict[tuple[int, object], Split] = {}
    for root in trees:
        for node in nodes_of(root):
            if not node.is_leaf:
                split = node.parts[0]
                chosen.setdefault(cut_key(split, table), split)
    found = [item for node in nodes_of(trees[-1]) for item in _promising(make, node, min_leaf)]
    found.sort(key=lambda item: (-item[0], str(cut_key(item[1], table))))
    room = len(chosen) + max(most - len(chosen), 0) // 2
    features = list(dict.fromkeys([s.feature for s in chosen.values()]))
    n_features = max(most // CUTS_PER_FEATURE, len(features))
    for _, split in found:
        if split.feature not in features and len(features) < n_features:
            features.append(split.feature)
        if len(chosen) < room and split.feature in features:
            chosen.setdefault(cut_key(split, table), split)
    strength = dict.fromkeys(features, 0.0)
    for gain, split in found:
        if split.feature in strength:
            strength[split.feature] = max(strength[split.feature], gain)
    features.sort(key=lambda j: -strength[j])
    layers = _layers(make, trees[-1])
    for count in EVEN_CUTS:
        for j in features:
            for split in _even(table, layers[:, j], j, count):
                if len(chosen) >= most:
                    break
                chosen.setdefault(cut_key(split, table), split)
    return sorted(chosen.values(), key=lambda s: (s.feature, str(cut_key(s, table)[1])))


def _layers(make: NodeFactory, node: SearchNode) -> FloatArray:
    """Count, weight and sums of the real rows of a node, by feature and bin."""
    real = node.rows[make.is_real[node.rows] > 0]
    weight = make.taught.weight
    layers = np.column_stack([make.is_real, weight, weight[:, None] * make.targets])
    return make.table.histogram(real, layers)


def _promising(make: NodeFactory, node: SearchNode, min_leaf: int) -> Iterator[tuple[float, Split]]:
    """Best condition on each feature in one node, with the squared error it explains."""
    if node.n_real < 2 * min_leaf:
        return
    layers = _layers(make, node)
    total = layers[:, 0, :].sum(axis=1)
    base = float((total[2:] ** 2).sum() / total[1])
    for j in range(make.table.n_features):
        order, gone = _order(make.table, layers[:, j], j), layers[:, j, -1:]
        below = np.cumsum(layers[:, j, order], axis=1)
        best: tuple[float, Split] | None = None
        for missing_left in (False, True) if gone[0] > 0 else (False,):
            left = below + gone if missing_left else below
            right = total[:, None] - left
            allowed = (left[0] >= min_leaf) & (right[0] >= min_leaf)
            with np.errstate(divide="ignore", invalid="ignore"):
                explained = (left[2:] ** 2).sum(axis=0) / left[1]
                explained += (right[2:] ** 2).sum(axis=0) / right[1]
            gain = np.where(allowed, explained - base, -np.inf)
            at = int(gain.argmax())
            if np.isfinite(gain[at]) and (best is None or gain[at] > best[0]):
                side = missing_left
                if gone[0] == 0:  # never seen here: with the heavier side
                    side = bool(below[1, at] * 2 >= total[1])
                best = float(gain[at]), _split_after(make.table, j, order, at, side)
        if best is not None:
            yield best


def _order(table: BinnedTable, layers: FloatArray, j: int) -> IndexArray:
    """Bins of a feature along its order, or categories in the order of their mean target."""
    if table.numeric[j]:
        return np.arange(table.n_edges[j] + 1)
    n = int(table.n_categories[j])
    if table.ranked[j]:
        return np.arange(n)
    weight = np.maximum(layers[1, :n], 1e-300)
    means = layers[2:, :n] / weight
    centred = means - (layers[2:].sum(axis=1) / max(layers[1].sum(), 1e-300))[:, None]
    column = int((layers[1, :n] * centred**2).sum(axis=1).argmax())
    return np.argsort(np.where(layers[1, :n] > 0, means[column], 0.0), kind="stable")


def _split_after(
    table: BinnedTable, j: int, order: IndexArray, at: int, missing_left: bool
) -> Split:
    if table.ranked[j]:
        return table.threshold_split(j, at, missing_left)
    return Split(j, float("nan"), tuple(sorted(order[: at + 1].tolist())), missing_left)


def _even(table: BinnedTable, layers: FloatArray, j: int, count: int) -> Iterator[Split]:
    """Evenly spaced conditions on a feature, and whether it is missing."""
    order, gone = _order(table, layers, j), layers[0, -1] > 0
    cuts = order.size - 1
    share = np.cumsum(layers[1, order]) / max(layers[1].sum(), 1e-300)
    at = np.unique(np.linspace(-1, cuts, min(count, cuts) + 2).round().astype(int)[1:-1])
    for i in at.tolist():
        for missing_left in (False, True) if gone else (bool(share[i] * 2 >= 1),):
            yield _split_after(table, j, order, i, missing_left)
    if gone:
        yield _split_after(table, j, order, order.size - 1, False)


# -- Hold the tree that the search found against all trees of a family, and keep the best --
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


@dataclass(frozen=True, eq=False)
class Certified:
    """A certificate, and the better tree as the search left it where one was found."""

    certificate: Certificate
    better: EditedTree | None


@dataclass(frozen=True, eq=False)
class _Place:
    """A node of the found tree with the box it sits in."""

    node: SearchNode
    box: Box


def certify_search(
    search: PricedEdits,
    edited: EditedTree,
    options: CertificateOptions,
) -> Certified:
    """Certify the tree at one price of a search that has run."""
    assert edited.root is not None
    found, price = edited.root, edited.price
    objective = LeafwiseObjective(search, price)
    mine, before = objective.terms(found), objective.terms(search.start)
    places = [
        place
        for place in _places(search, found, {})
        if place.node.n_real >= 2 * objective.judging.min_leaf
    ]
    depth, cuts = _choose_family(search, found, objective, len(places), options)
    family = make_family(search, cuts, depth, [place.box for place in places])
    known: list[tuple[float, SearchNode]] = [
        (mine.value + objective.edited(found), found),
        (before.value, search.start),
        *_pruned(search, objective, found),
    ]
    best, best_root = min(known, key=lambda item: item[0])
    shapes = [scaled_shape(t.leaves.events, t.leaves.others) for t in (mine, before)]
    start = Relaxation(mine.multipliers, start_shape(shapes), (0.0, 0.0))
    parts = [_part(search, family, found, mine, place) for place in places]
    out = Bounded(best)
    lower = _bound(family, objective, parts, start, _work(options), out)
    if out.tree is not None:
        number, conditions = out.tree
        node = places[number].node
        best_root = _with_part(search, found, node, _built(search, family, conditions, node.rows))
    proposed = search.objective(found, price) + objective.edited(found)
    value, better = proposed, None
    if out.best < proposed - TOLERANCE:
        best_root = _with_best_labels(objective, best_root)
        value = min(proposed, search.objective(best_root, price) + objective.edited(best_root))
        if value < proposed - objective.edit_cost:
            better = search.export(best_root, (EDIT,), price)
    features = [search.space.feature_labels[j] for j in family.features]
    certificate = Certificate(
        price=price,
        depth=depth,
        cut_points=len(cuts),
        features=tuple(features),
        n_trees=count_trees(depth, len(cuts)),
        min_samples_leaf=search.limits.min_leaf,
        objective=proposed,
        best_objective=value,
        lower_bound=min(lower, out.best, value),
        edit_cost=objective.edit_cost,
        tree=None if better is None else better.tree,
    )
    return Certified(certificate, better)


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


# -- the family ---------------------------------------------------------------------------


def _work(options: CertificateOptions) -> float:
    return options.work if leaf_loops.COMPILED else options.work / SLOWER


def _choose_family(
    search: PricedEdits,
    found: SearchNode,
    objective: LeafwiseObjective,
    n_places: int,
    options: CertificateOptions,
) -> tuple[int, list[Any]]:
    """Return depth and cut points, as asked for or the most whose first bound the work allows."""
    deepest = max(1, min(DEEPEST, search.limits.max_depth))
    rows = int((objective.stats != 0).any(axis=1).sum())
    width = objective.stats.shape[1]

    def cuts_of(most: int) -> list[Any]:
        return choose_cuts(search.make, [search.start, found], most, search.limits.min_leaf)

    depths = [options.depth] if options.depth is not None else [deepest, min(2, deepest)]
    counts = [options.cut_points] if options.cut_points is not None else list(CUT_POINTS)
    for depth in depths:
        for most in counts:
            cuts = cuts_of(most)
            features = len({split.feature for split in cuts})
            sums = rows * features * (features + 1) / 2 * width * ROW_COST
            leaves = 8 * len(cuts) ** 2 if depth == 3 else 4 * len(cuts) if depth == 2 else 2
            # Parts below the root have fewer rows, and many of their leaves too few.
            once = sums + len(cuts) * (8 * leaves + (sums / 2 if depth == 3 else 0))
            if once * (1 + n_places / 4) <= _work(options):
                return depth, cuts
    return depth, cuts


def _places(search: PricedEdits, node: SearchNode, box: Box) -> Iterator[_Place]:
    """All nodes of a tree that some value can reach, from the root down."""
    yield _Place(node, box)
    if node.is_leaf:
        return
    split, *children = node.parts
    for child, side in zip(children, search.anchor.sides(split, box), strict=True):
        if side is not None:
            yield from _places(search, child, {**box, split.feature: side})


def _part(
    search: PricedEdits, family: Family, found: SearchNode, terms: Terms, place: _Place
) -> Part:
    inside = {id(node) for node in nodes_of(place.node)}
    outside = np.array(
        [
            i
            for i, leaf in enumerate(search.anchor.columns(found, {}).leaves)
            if id(leaf) not in inside
        ],
        dtype=np.intp,
    )
    rest = Leaves(*(np.ascontiguousarray(values[outside]) for values in terms.leaves))
    return Part(place.node.rows, family.states.of_box(place.box, family.features), rest)


# -- single trees -------------------------------------------------------------------------


def _with_part(
    search: PricedEdits, root: SearchNode, old: SearchNode, new: SearchNode
) -> SearchNode:
    """Return a tree with one of its nodes replaced."""
    if root is old:
        return new
    if root.is_leaf:
        return root
    split, left, right = root.parts
    sides = (_with_part(search, side, old, new) for side in (left, right))
    return search.make.join(root.rows, split, *sides, prior=root.prior)


def _pruned(
    search: PricedEdits, objective: LeafwiseObjective, found: SearchNode
) -> Iterator[tuple[float, SearchNode]]:
    """Trees in which one part of the found tree is a leaf, with their objective."""
    for node in nodes_of(found):
        if not node.is_leaf and node.n_real >= objective.judging.min_leaf:
            root = _with_part(search, found, node, search.make.leaf(node.rows))
            yield objective.of(root), root


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

    def build(node: SearchNode) -> SearchNode:
        if node.is_leaf:
            return chosen.get(id(node), node)
        split, left, right = node.parts
        return search.make.join(node.rows, split, build(left), build(right), prior=node.prior)

    return build(root)


# -- Certify a finished retraining: search again, hold its tree against a family of trees --


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
    return certify_search(search, edited, options or CertificateOptions()).certificate


def _problem_of(result: Retraining, old: Any) -> Problem:
    """Code the rows again, as the retraining did."""
    rows, settings, before = result.rows, result.settings, read_rows(old, "old")
    if rows.table is None:
        raise InputError(
            "expected a result with its rows to certify, got one whose X_new is not there; "
            "retrain again and certify what that returns"
        )
    if len(rows) < int(settings["n_new"]):
        raise InputError(
            f"expected a retraining whose rows are in memory to certify, got a sample of "
            f"{settings['n_new']:,} rows on disk; retrain on a table that fits into memory"
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
