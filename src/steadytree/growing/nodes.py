"""The tree that the search edits: linked nodes that know their rows, loss and size.

A node is never changed once made: an edit makes new nodes up to the root and shares the
rest, so undoing costs nothing and whatever was computed for a shared node stays valid.

A leaf predicts the rate of its real rows, steadied by the teacher (``leaf_values``).
Estimating a leaf again changes no rule, so it is free in every retraining.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from steadytree.growing._loops import FlatNodes, loops
from steadytree.growing.best_first import (
    BinnedTable,
    FloatArray,
    Grown,
    IndexArray,
    Split,
    TaughtRows,
)
from steadytree.growing.leaf_values import (
    MOST_ROWS,
    LeafRows,
    Steadying,
    estimate_steadying,
    share_columns,
    shares_of,
    stabilised,
    target_columns,
)
from steadytree.tree.decision import Decision
from steadytree.tree.observed import Observed
from steadytree.tree.printing import side_condition as core_side_condition
from steadytree.tree.space import FeatureSpace
from steadytree.tree.tree import Tree
from steadytree.tree.words import Condition

PRIOR_ROWS = 2.0
"""How many rows the deployed tree's own leaf value counts for in the loss of a leaf."""


@dataclass(slots=True, eq=False)
class SearchNode:
    """A node of the tree being edited.

    Attributes
    ----------
    own_rows : int array or None
        Rows of the taught table that reach it; None: those of its sides.
    split, left, right
        None for a leaf.
    inherited_label : int
        Label of the deployed tree's leaf it comes from; -1 for a fresh leaf.
    prior : array or None
        Value of the deployed tree's node it comes from.
    rows_before : float
        Rows that the deployed tree knows it from; 0 once an edit touched its rule.
    make : NodeFactory
        What it was made by; knows how a value is steadied.
    locked, holds_lock : bool
        Whether its own condition (or, for a leaf, its label) is locked, and whether
        anything in its subtree is.
    weight, loss, n_leaves
        Of its rows and subtree.
    middle : array
        For a leaf, the mean of its rows' targets on the scale of the search.
    sums : array
        Sums over its real rows, as :meth:`NodeFactory.leaf` lays them out.
    starved : bool
        Whether an edit took so many real rows from one of its leaves that too few are left.
    cache : dict
        What the search computed for it and will need again.
    """

    own_rows: IndexArray | None
    make: NodeFactory
    split: Split | None = None
    left: SearchNode | None = None
    right: SearchNode | None = None
    inherited_label: int = -1
    prior: FloatArray | None = None
    rows_before: float = 0.0
    locked: bool = False
    holds_lock: bool = False
    weight: float = 0.0
    loss: float = 0.0
    n_leaves: int = 1
    middle: FloatArray = field(default_factory=lambda: np.zeros(0))
    sums: FloatArray = field(default_factory=lambda: np.zeros(0))
    starved: bool = False
    cache: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.holds_lock = self.holds_lock or self.locked

    @property
    def is_leaf(self) -> bool:
        """Whether the node has no split."""
        return self.split is None

    @property
    def rows(self) -> IndexArray:
        """Rows of the taught table that reach it, in their order."""
        if self.own_rows is None:
            _, left, right = self.parts
            self.own_rows = np.sort(np.concatenate([left.rows, right.rows]), kind="stable")
        return self.own_rows

    @property
    def flat(self) -> FlatNodes:
        """The subtree as flat arrays."""
        if "flat" not in self.cache:
            self.cache["flat"] = flatten(self)
        return self.cache["flat"]  # type: ignore[no-any-return]

    @property
    def n_real(self) -> int:
        """Number of real rows."""
        return int(self.sums[0])

    @property
    def real_weight(self) -> float:
        """Weight of the real rows."""
        return float(self.sums[1])

    @property
    def value(self) -> FloatArray:
        """Prediction in the teacher's columns: the observed rate, steadied."""
        return self.steadied[0]

    @property
    def steadied(self) -> tuple[FloatArray, FloatArray, float]:
        """Prediction, what it is steadied by, and the weight of that."""
        by = self.make.steadying
        if self.cache.get("steadied by") is not by:
            self.cache["steadied by"], self.cache["steadied"] = by, self.make.steadied(self)
        return self.cache["steadied"]  # type: ignore[no-any-return]

    @property
    def parts(self) -> tuple[Split, SearchNode, SearchNode]:
        """Split and children of an inner node."""
        assert self.split is not None
        assert self.left is not None
        assert self.right is not None
        return self.split, self.left, self.right


Way = tuple[tuple[SearchNode, bool], ...]
"""The nodes above one, from the root on, and whether the way goes left at each."""


def flatten(root: SearchNode) -> FlatNodes:
    """Write a tree as flat arrays in the order of :func:`nodes_of`, to send many rows through."""
    nodes = list(nodes_of(root))
    splits = [node.split for node in nodes]
    is_leaf = np.array([split is None for split in splits])
    # The left side of m leaves takes the 2 m - 1 places after its parent.
    children = [
        (-1, -1) if node.is_leaf else (at + 1, at + 2 * node.parts[1].n_leaves)
        for at, node in enumerate(nodes)
    ]
    sets = np.zeros((len(nodes), max(1, int(root.make.table.n_categories.max()))), dtype=np.bool_)
    for at, split in enumerate(splits):
        if split is not None and split.left is not None:
            sets[at, list(split.left)] = True
    return FlatNodes(
        np.array([-1 if s is None else s.feature for s in splits], dtype=np.int64),
        np.array([np.nan if s is None else s.threshold for s in splits]),
        np.array([s is not None and s.left is not None for s in splits]),
        np.array([s is not None and s.missing_left for s in splits]),
        np.array(children, dtype=np.int64),
        np.where(is_leaf, np.cumsum(is_leaf) - 1, -1),
        sets,
    )


def with_root(nodes: FlatNodes, split: Split, *, flipped: bool) -> FlatNodes:
    """Return a flat tree with another condition at the root, maybe its sides exchanged."""
    copies: Any = (values.copy() for values in nodes)
    nodes = FlatNodes(*copies)
    nodes.feature[0], nodes.threshold[0] = split.feature, split.threshold
    nodes.missing_left[0], nodes.by_set[0] = split.missing_left, split.left is not None
    nodes.sets[0] = False
    nodes.sets[0, list(split.left or ())] = True
    if flipped:
        nodes.children[0] = nodes.children[0, ::-1].copy()
    return nodes


# -- rows and outcomes at every node -------------------------------------------------------
# The rules of a tree can be searched on a sample; what its leaves predict and how many people
# they hold must come from every row.


def count_rows(
    root: SearchNode, coded: FloatArray, outcomes: FloatArray, weight: FloatArray, n_old: int
) -> FloatArray:
    """Sum columns of outcomes over the rows at each node of a tree, the first ``n_old`` apart.

    Returns an array (2, n_nodes, 2, n_columns), nodes in the order of :func:`nodes_of`: each row
    counted once (none without weight), then by its weight; of old rows, then of new ones.
    """
    nodes, rows = root.flat, np.arange(len(coded))
    reached = np.flatnonzero(nodes.leaf >= 0)[loops().route(coded, rows, nodes)]
    cell, n_cells = 2 * reached + (rows >= n_old), 2 * len(nodes.leaf)
    sums = [
        np.column_stack([np.bincount(cell, amount * column, n_cells) for column in outcomes.T])
        for amount in ((weight > 0).astype(np.float64), weight)
    ]
    total: FloatArray = np.array(sums, dtype=np.float64).reshape(2, len(nodes.leaf), 2, -1)
    for node in reversed(range(len(nodes.leaf))):  # children come after their parents
        if nodes.children[node, 0] >= 0:
            total[:, node] = total[:, nodes.children[node]].sum(axis=1)
    return total


class NodeFactory:
    """Makes nodes on one table of taught rows."""

    def __init__(self, taught: TaughtRows, table: BinnedTable, *, min_leaf: int = 0) -> None:
        self.taught = taught
        self.table = table
        self.min_leaf = min_leaf
        weight, targets = taught.weight, taught.targets
        number = np.arange(len(weight))
        self.k = int(targets.shape[1])
        self.targets = stabilised(targets) if taught.n_classes is not None else targets
        self.is_real = ((number < taught.n_real) & (weight > 0)).astype(np.float64)
        old, new = (
            np.where(part & (number < taught.n_real), weight, 0.0)[:, None]
            for part in (number < taught.n_old, number >= taught.n_old)
        )
        outcomes = np.zeros_like(targets)
        outcomes[: taught.n_real] = taught.observed
        # Their sums over a node's rows give its loss and its value.
        self._sums = np.column_stack(
            [
                weight,
                weight * (self.targets**2).sum(axis=1),
                weight[:, None] * self.targets,
                *(self.is_real, old + new, (old + new) * targets),
                *(old, old * outcomes, new, new * outcomes),
            ]
        )
        self.layers = np.column_stack([self.is_real, weight, weight[:, None] * self.targets])
        """What growth sums over rows: count, weight, weighted targets of the search."""
        overall = self._sums.sum(axis=0)
        self.overall_mean = weight @ targets / max(overall[0], 1e-300)
        self._overall_middle = overall[2 : 2 + self.k] / max(overall[0], 1e-300)
        real = overall[2 + self.k :]
        self.unit = real[1] / real[0] if real[0] > 0 else 1.0
        self.steadying = Steadying(unit=self.unit, classifier=taught.n_classes is not None)

    def leaf(
        self,
        rows: IndexArray,
        *,
        inherited_label: int = -1,
        prior: FloatArray | None = None,
        locked: bool = False,
    ) -> SearchNode:
        """Make a leaf: value from its real rows, loss over all its rows."""
        leaf = SearchNode(rows, self, inherited_label=inherited_label, prior=prior, locked=locked)
        reached = np.zeros(len(rows), dtype=np.intp)
        self._take_sums([leaf], loops().sum_by_leaf(reached, rows, self._sums, 1)[2])
        return leaf

    def _take_sums(self, leaves: Sequence[SearchNode], sums: FloatArray) -> None:
        """Give leaves their sums over rows, and their means and losses from these."""
        k = self.k
        weight, squares, total = sums[:, 0], sums[:, 1], sums[:, 2 : 2 + k]
        no_prior = np.full(k, np.nan)
        before = np.array([no_prior if leaf.prior is None else leaf.prior for leaf in leaves])
        if self.taught.n_classes is not None:
            before = stabilised(before)
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = np.where(weight[:, None] > 0, total / weight[:, None], self._overall_middle)
        steadied = (total + PRIOR_ROWS * before) / (weight + PRIOR_ROWS)[:, None]
        mean = np.where(np.isnan(before), mean, steadied)
        fits = sum(mean[:, i] * total[:, i] for i in range(k))
        loss = np.maximum(0.0, squares - 2 * fits + weight * sum(m * m for m in mean.T))
        for i, leaf in enumerate(leaves):
            leaf.weight, leaf.loss = float(weight[i]), float(loss[i])
            leaf.middle, leaf.sums = mean[i], sums[i, 2 + k :]

    def leaf_rows(self, node: SearchNode) -> LeafRows | None:
        """Sum over the real rows of a node; None where there are none."""
        if node.real_weight <= 0:
            return None
        k, sums = self.k, node.sums
        old, new = sums[2 + k : 3 + 2 * k], sums[3 + 2 * k :]
        return LeafRows(old, new, sums[2 : 2 + k] / sums[1])

    def steadied(self, node: SearchNode) -> tuple[FloatArray, FloatArray, float]:
        """Return what a node predicts, what steadies it, and the weight of that.

        Without real rows it is what the deployed tree said, or else what all rows say.
        """
        rows = self.leaf_rows(node)
        if rows is None:
            value = self.overall_mean if node.prior is None else node.prior
            return value, value, self.unit
        past = min(node.rows_before, MOST_ROWS) * self.taught.deployed_share
        return self.steadying.predict(rows, node.prior, past)

    def steady_by(self, root: SearchNode) -> Steadying:
        """Estimate from the leaves of a tree how its values are steadied, and do so from now."""
        root, taught = self.whole(root), self.taught
        if taught.whole is not None and root.n_real > 0:
            self.unit = root.real_weight / root.n_real
        leaves = [node for node in leaves_of(root) if node.real_weight > 0]
        spread = 0.0
        if taught.n_classes is None and leaves:
            outcome, weight = taught.observed[:, 0], taught.weight[: taught.n_real]
            squares = 0.0
            for node in leaves:
                real = node.rows[node.rows < taught.n_real]
                mean = np.average(outcome[real], weights=weight[real])
                squares += float(weight[real] @ (outcome[real] - mean) ** 2)
            spread = squares / max(float(weight.sum()), 1e-300)
        self.steadying = estimate_steadying(
            [rows for node in leaves if (rows := self.leaf_rows(node)) is not None],
            unit=self.unit,
            classifier=taught.n_classes is not None,
            spread=spread,
            drifted=taught.drifted,
        )
        return self.steadying

    # -- values from all rows -----------------------------------------------------

    def counts(self, root: SearchNode) -> FloatArray:
        """All real rows at the nodes of a tree, as :func:`count_rows` counts them, once."""
        if "counts" not in root.cache:
            taught, n = self.taught, self.taught.n_real
            if taught.whole is None:
                coded, outcomes, weight = self.table.coded[:n], taught.observed, taught.weight[:n]
                n_old = taught.n_old
            else:
                rows, n_old = taught.whole
                coded, outcomes = rows.coded, target_columns(rows.y, taught.n_classes)
                weight = rows.weights
            if taught.n_classes is None:  # "one row" is counted, and then the response
                outcomes = np.column_stack([np.ones(len(coded)), outcomes])
            elif taught.n_classes == 2:
                outcomes = np.hstack([1.0 - outcomes, outcomes])
            root.cache["counts"] = count_rows(root, coded, outcomes, weight, n_old)
        return root.cache["counts"]  # type: ignore[no-any-return]

    def whole(self, root: SearchNode) -> SearchNode:
        """Return a tree with the sums of all rows; the same tree if the search saw them all.

        What the teacher says of a leaf stays its mean over the rows of the search.
        """
        if self.taught.whole is None:
            return root
        if "whole" in root.cache:
            return root.cache["whole"]  # type: ignore[no-any-return]
        found = self.counts(root)
        k, is_response = self.k, self.taught.n_classes is None
        copies: dict[int, SearchNode] = {}
        for at, node in reversed(list(enumerate(nodes_of(root)))):  # children before their parents
            # Of a response "one row" is counted, and then its sum; else the rows of each class.
            parts = np.vstack([found[0, at].sum(axis=0), found[1, at]])
            n_rows, n_old, n_new = parts[:, 0] if is_response else parts.sum(axis=1)
            _, old, new = parts[:, 1:] if is_response else parts[:, -k:]
            weight = n_old + n_new
            mean = node.sums[2 : 2 + k] / node.sums[1] if node.sums[1] > 0 else self.overall_mean
            sums = np.concatenate([[n_rows, weight], weight * mean, [n_old], old, [n_new], new])
            left, right = (copies.get(i) for i in root.flat.children[at].tolist())
            copies[at] = replace(node, left=left, right=right, sums=sums, cache={})
        kept = copies[0]
        kept.cache["counts"] = found
        kept.cache["whole"] = root.cache["whole"] = kept
        return kept

    # -- nodes from nodes, trees and growths --------------------------------------

    def join(
        self,
        rows: IndexArray | None,
        split: Split,
        left: SearchNode,
        right: SearchNode,
        *,
        prior: FloatArray | None = None,
        locked: bool = False,
    ) -> SearchNode:
        """Make an inner node; its rows (None) may be left to be found from its sides."""
        return SearchNode(
            rows,
            self,
            split,
            left,
            right,
            prior=prior,
            locked=locked,
            holds_lock=left.holds_lock or right.holds_lock,
            weight=left.weight + right.weight,
            loss=left.loss + right.loss,
            n_leaves=left.n_leaves + right.n_leaves,
            sums=left.sums + right.sums,
            starved=left.starved or right.starved,
        )

    def divide(self, rows: IndexArray, split: Split) -> tuple[IndexArray, IndexArray]:
        """Rows on either side of a split."""
        left = split.goes_left(self.table.coded[rows, split.feature])
        return rows[left], rows[~left]

    def reroute(
        self,
        node: SearchNode,
        rows: IndexArray,
        *,
        split: Split | None = None,
        flipped: bool = False,
    ) -> SearchNode:
        """Return the same subtree on other rows, or with another condition at its root."""
        flat = node.flat if split is None else with_root(node.flat, split, flipped=flipped)
        before, reached = list(leaves_of(node)), loops().route(self.table.coded, rows, flat)
        by_leaf, starts, sums = loops().sum_by_leaf(reached, rows, self._sums, len(before))
        leaves = [
            SearchNode(
                inside,
                self,
                inherited_label=old.inherited_label,
                prior=old.prior,
                locked=old.locked,
            )
            for old, inside in zip(before, np.split(by_leaf, starts[1:-1]), strict=True)
        ]
        self._take_sums(leaves, sums)
        for old, leaf in zip(before, leaves, strict=True):
            leaf.starved = leaf.n_real < self.min_leaf and not np.array_equal(leaf.rows, old.rows)
        numbered = iter(leaves)

        def build(at: SearchNode) -> SearchNode:
            if at.is_leaf:
                return next(numbered)
            own, *sides = at.parts
            left, right = (build(side) for side in sides)
            if at is node and split is not None:
                left, right = (right, left) if flipped else (left, right)
                own = split
            return self.join(None, own, left, right, prior=at.prior, locked=at.locked)

        moved = build(node)
        moved.own_rows = rows
        return moved

    def predict(self, node: SearchNode, rows: IndexArray) -> FloatArray:
        """Means of the targets of the search that a subtree gives to any rows."""
        middles = np.array([leaf.middle for leaf in leaves_of(node)])
        return np.asarray(middles[loops().route(self.table.coded, rows, node.flat)])

    def from_tree(
        self, tree: Tree, rows: IndexArray, locked: frozenset[int] = frozenset()
    ) -> SearchNode:
        """Return a deployed tree on the taught rows; its values become priors."""

        def build(i: int, rows: IndexArray) -> SearchNode:
            prior = share_columns(tree.value[i], self.taught.n_classes)
            if tree.is_leaf[i]:
                label = int(tree.label[i]) if tree.is_classifier else -1
                leaf = self.leaf(rows, inherited_label=label, prior=prior, locked=i in locked)
                leaf.rows_before = 0.0 if tree.observed is None else float(tree.observed.rows()[i])
                return leaf
            split = split_of(tree, i)
            below, above = self.divide(rows, split)
            left, right = int(tree.children_left[i]), int(tree.children_right[i])
            sides = build(left, below), build(right, above)
            return self.join(rows, split, *sides, prior=prior, locked=i in locked)

        return build(0, rows)

    def from_growth(self, grown: Grown, n_leaves: int, inherited_label: int = -1) -> SearchNode:
        """Return the first ``n_leaves`` leaves of a growth as nodes."""
        kept: dict[int, SearchNode] = grown.kept  # a leaf is the same in every size: made once

        def build(i: int) -> SearchNode:
            pair = grown.children_within(i, n_leaves)
            if pair is None:
                if i not in kept:
                    kept[i] = self.leaf(grown.rows[i], inherited_label=inherited_label)
                return kept[i]
            return self.join(grown.rows[i], grown.split[i], build(pair[0]), build(pair[1]))

        return build(0)


def nodes_of(root: SearchNode) -> Iterator[SearchNode]:
    """All nodes of a subtree: parents before their children, left before right."""
    stack = [root]
    while stack:
        node = stack.pop()
        yield node
        if not node.is_leaf:
            _, left, right = node.parts
            stack += [right, left]


def leaves_of(root: SearchNode) -> Iterator[SearchNode]:
    """Leaves of a subtree, left to right."""
    return (node for node in nodes_of(root) if node.is_leaf)


def split_of(tree: Tree, node: int) -> Split:
    """Return the condition at a node of a tree."""
    return Split(
        int(tree.feature[node]),
        float(tree.threshold[node]),
        tree.left_categories[node],
        bool(tree.missing_left[node]),
        bool(tree.unseen_left[node]) if tree.tells_unseen_from_missing else None,
    )


def side_condition(
    split: Split, space: FeatureSpace, *, left: bool = True, way: Way = ()
) -> Condition:
    """Condition for taking one side of a split: ``age <= 50``, ``colour is red or blue``.

    What the conditions above it, on the ``way``, sent elsewhere is not named again.
    """
    j = split.feature
    reach: Iterable[int] = range(len(space.categories[j] or ()))
    missing = True
    for above, on_left in way:
        at = above.parts[0]
        if at.feature == j:
            reach = [c for c in reach if at.left is None or (c in at.left) == on_left]
            missing = missing and at.missing_left == on_left
    condition, _ = core_side_condition(
        j,
        space.feature_labels[j],
        (None if split.left is None else tuple(reach), missing, False),
        left=left,
        threshold=split.threshold,
        left_codes=split.left,
        categories=space.categories[j],
        missing_left=split.missing_left,
        can_miss=bool(space.can_be_missing[j]),
        ordered=bool(space.ordered[j]),
    )
    return condition


# -- a tree of nodes as a :class:`Tree` ----------------------------------------------------


def export_tree(
    root: SearchNode,
    space: FeatureSpace,
    *,
    classes: tuple[Any, ...] | None,
    decision: Decision | float | None,
    labels: dict[int, int] | None = None,
    precision: str = "float64",
    metadata: dict[str, Any] | None = None,
) -> Tree:
    """Write the nodes as a :class:`Tree`, with what was observed at each.

    ``labels`` gives, by ``id`` of a leaf node, the label to store where it is not the one
    the shares give. Shares are never altered to suit a label.
    """
    root, make = root.make.whole(root), root.make
    nodes, arrays = list(nodes_of(root)), root.flat
    children = arrays.children.astype(np.int32)
    n_classes = None if classes is None else len(classes)
    policy = Decision.of(decision)
    value = np.array([shares_of(node.value, n_classes) for node in nodes])
    weight = np.array([node.real_weight for node in nodes])
    if classes is None:
        by_kind: dict[str, Any] = {"impurity": _impurity(nodes, arrays, value, weight)}
    else:
        policy = policy.resolve(classes)
        own = policy.labels(value).tolist()
        stored = [
            (labels or {}).get(id(node), label) for node, label in zip(nodes, own, strict=True)
        ]
        by_kind = {"label": np.array(stored, dtype=np.int32)}
    counts, weighted = make.counts(root)
    _, steadied_by, strength = zip(*(node.steadied for node in nodes), strict=True)
    return Tree(
        children_left=children[:, 0],
        children_right=children[:, 1],
        feature=arrays.feature.astype(np.int32),
        threshold=arrays.threshold,
        left_categories=tuple(None if n.split is None else n.split.left for n in nodes),
        missing_left=arrays.missing_left,
        unseen_left=np.array([n.split is not None and n.split.sends_unseen_left for n in nodes]),
        value=value,
        weight=weight,
        classes=classes,
        n_features=space.n_features,
        feature_names=space.names,
        categories=space.categories,
        precision=precision,
        decision=policy,
        observed=Observed(
            counts,
            weighted,
            np.array([shares_of(by, n_classes) for by in steadied_by]),
            np.array(strength),
            make.steadying.old_share,
        ),
        space=space,
        metadata=metadata or {},
        **by_kind,
    )


def _impurity(
    nodes: Sequence[SearchNode], arrays: FlatNodes, value: FloatArray, weight: FloatArray
) -> FloatArray:
    """Return the variance of a response in each node: within its children and between them."""
    out = np.array([node.loss / node.weight if node.weight > 0 else 0.0 for node in nodes])
    for at in reversed(range(len(out))):
        sides = arrays.children[at]
        if sides[0] >= 0:
            between = ((value[sides] - value[at]) ** 2).sum(axis=1)
            out[at] = (weight[sides] * (out[sides] + between)).sum() / max(weight[at], 1e-300)
    return out
