"""Small searches, and every tree of a small family judged by the search's own functions."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import product

import numpy as np
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from steadytree.growing.best_first import TaughtRows
from steadytree.growing.fitting import ColumnEncoder
from steadytree.growing.leaf_values import target_columns
from steadytree.growing.nodes import leaves_of
from steadytree.retraining.edits.candidates import EditLimits
from steadytree.retraining.edits.search import PricedEdits
from steadytree.tree.decision import STEADY
from tests.growing.mixed import mixed_table, space_of

LIMITS = EditLimits(min_leaf=6, max_depth=2, max_leaves=4)
TASKS = ("binary", "multiclass", "regression")


def small_search(task, seed, n=80, leaves=3, steady=STEADY, limits=LIMITS, deployed_share=0.0):
    """A deployed tree of few leaves, and rows with weights, soft targets and missing values."""
    X, y = mixed_table(n, seed, task=task)
    space = space_of(X, y, task)
    encoder = ColumnEncoder(space)
    kind = DecisionTreeRegressor if task == "regression" else DecisionTreeClassifier
    model = kind(max_leaf_nodes=leaves, min_samples_leaf=5, random_state=seed)
    deployed = encoder.to_tree(model.fit(encoder.transform(space.encode(X))[: n // 2], y[: n // 2]))
    n_classes = None if task == "regression" else len(deployed.classes)
    coded = deployed.round_values(space.encode(X))
    rng = np.random.default_rng(seed)
    soft = target_columns(y, n_classes) * 0.6 + 0.3 * rng.random((n, 1))
    if n_classes == 3:
        soft /= soft.sum(axis=1, keepdims=True)
    weight = rng.uniform(0.5, 2.0, n)
    taught = TaughtRows(
        coded,
        soft,
        weight,
        n,
        n_classes,
        target_columns(y, n_classes),
        deployed_share=deployed_share,
    )
    decision = replace(deployed.decision, steady=steady) if n_classes else None
    run = PricedEdits(deployed, taught, space, limits=limits, decision=decision)
    if deployed_share:
        for leaf in leaves_of(run.start):
            leaf.rows_before = 200.0
    return run


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
