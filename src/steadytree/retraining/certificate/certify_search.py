"""Hold the tree that the search found against all trees of a family, and keep the best.

The family: all trees up to a depth on the chosen cut points, and all trees that differ from
the found one in one part, which is then any tree up to that depth. So the found tree is always
one of them, however deep it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from steadytree.core.boxes import Box
from steadytree.growing.binning import IndexArray
from steadytree.growing.nodes import SearchNode
from steadytree.retraining.certificate import leaf_loops
from steadytree.retraining.certificate.bound import (
    TOLERANCE,
    Bounded,
    bound_part,
    close_gap,
    start_shape,
)
from steadytree.retraining.certificate.cuts import choose_cuts, nodes_of
from steadytree.retraining.certificate.family import Family, make_family
from steadytree.retraining.certificate.leaf_loops import Leaves
from steadytree.retraining.certificate.objective import LeafwiseObjective, Terms
from steadytree.retraining.certificate.sides import (
    Conditions,
    FirstConditions,
    Part,
    Relaxation,
    scaled_shape,
)
from steadytree.retraining.certificate.statement import (
    DEEPEST,
    Certificate,
    CertificateOptions,
    count_trees,
)
from steadytree.retraining.edits.search import EditedTree, PricedEdits

__all__ = ["Certified", "certify_search"]


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
