"""Every tree of a small family, one by one, judged by the search's own functions."""

from __future__ import annotations

from functools import partial
from itertools import product

import numpy as np

from steadytree.growing.nodes import leaves_of


def all_subtrees(search, cuts, depth, rows):
    """All trees up to a depth on some conditions, with enough real rows in every leaf."""
    leaf = search.make.leaf(rows)
    if leaf.n_real < search.limits.min_leaf:
        return
    yield leaf
    if depth == 0:
        return
    for cut in cuts:
        below, above = search.make.divide(rows, cut)
        for left in all_subtrees(search, cuts, depth - 1, below):
            for right in all_subtrees(search, cuts, depth - 1, above):
                yield search.make.join(rows, cut, left, right)


def all_trees(search, cuts, depth, found):
    """All trees up to a depth, and all in which they stand in place of a node of ``found``."""
    yield from all_subtrees(search, cuts, depth, found.rows)
    if not found.is_leaf:
        split, left, right = found.parts
        for new in all_trees(search, cuts, depth, left):
            yield search.make.join(found.rows, split, new, right)
        for new in all_trees(search, cuts, depth, right):
            yield search.make.join(found.rows, split, left, new)


class Judge:
    """J of a tree with the best labels its leaves could inherit, the edit cost counted once."""

    def __init__(self, search, price):
        self.search, self.price = search, price
        self.inherited = {leaf.inherited_label for leaf in leaves_of(search.start)} | {-1}
        self.labels = {}

    def permitted(self, leaf):
        """Labels that the search gives a leaf of these rows, whatever it inherits."""
        key = leaf.rows.tobytes()
        if key not in self.labels:
            make, outcome = self.search.make.leaf, self.search.outcome
            found = {outcome(make(leaf.rows, inherited_label=old)) for old in self.inherited}
            self.labels[key] = sorted(found)
        return self.labels[key]

    def __call__(self, root):
        search, leaves = self.search, list(leaves_of(root))
        nearest = np.inf
        for labels in product(*(self.permitted(leaf) for leaf in leaves)):
            given = dict(zip(map(id, leaves), labels, strict=True))
            outcome = partial(_outcome_of, given)
            nearest = min(nearest, search.anchor.distance(root, outcome))
        out = fresh_loss(search, root) + self.price * nearest / search.anchor.mass
        return out + (search.edit_cost if self.differs(root) else 0.0)

    def differs(self, root):
        """Whether a tree has other conditions than the deployed one."""
        return splits_of(root) != splits_of(self.search.start)


def _outcome_of(given, leaf):
    return given[id(leaf)]


def fresh_loss(search, root):
    """What a tree misses, its leaves estimated from their rows alone."""

    def fresh(node):
        if node.is_leaf:
            return search.make.leaf(node.rows)
        split, left, right = node.parts
        return search.make.join(node.rows, split, fresh(left), fresh(right))

    return search.criterion.missed(fresh(root))


def splits_of(node):
    """The conditions of a tree, nested."""
    if node.is_leaf:
        return None
    split, left, right = node.parts
    return split, splits_of(left), splits_of(right)


def random_tree(search, cuts, depth, found, rng):
    """A tree of the family drawn at random; None where a leaf has too few rows."""

    def draw(rows, levels):
        leaf = search.make.leaf(rows)
        if leaf.n_real < search.limits.min_leaf:
            return None
        if levels == 0 or rng.random() < 0.2:
            return leaf
        cut = cuts[rng.integers(len(cuts))]
        sides = [draw(part, levels - 1) for part in search.make.divide(rows, cut)]
        return leaf if None in sides else search.make.join(rows, cut, *sides)

    def replaced(node):
        if node.is_leaf or rng.random() < 0.3:
            return draw(node.rows, depth)
        split, left, right = node.parts
        sides = [left, right]
        which = int(rng.integers(2))
        sides[which] = replaced(sides[which])
        return None if None in sides else search.make.join(node.rows, split, *sides)

    return draw(found.rows, depth) if rng.random() < 0.4 else replaced(found)
