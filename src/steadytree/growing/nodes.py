"""The tree that the search edits: linked nodes that know their rows, loss and size.

A node is never changed once made: an edit makes new nodes up to the root and shares the
rest, so undoing costs nothing and whatever was computed for a shared node stays valid.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from steadytree.core.space import FeatureSpace
from steadytree.core.tree import Tree
from steadytree.core.words import Condition
from steadytree.growing.best_first import Grown
from steadytree.growing.binning import BinnedTable, FloatArray, IndexArray, Split
from steadytree.growing.leaf_values import PRIOR_ROWS, natural_label, shares_of, shrunk_mean
from steadytree.growing.teacher import TaughtRows

__all__ = ["NodeFactory", "SearchNode", "export_tree", "side_condition"]


class SearchNode:
    """A node of the tree being edited.

    Attributes
    ----------
    rows : int array
        Rows of the taught table that reach it.
    split, left, right
        None for a leaf.
    inherited_label : int
        Label of the deployed tree's leaf it comes from; -1 for a fresh leaf.
    prior : array or None
        Value of the deployed tree's node it comes from.
    locked, holds_lock : bool
        Whether its own condition (or, for a leaf, its label) is locked, and whether
        anything in its subtree is.
    weight, loss, n_leaves
        Of its rows and subtree; ``real_weight`` counts real rows only.
    value : array (k,)
        Mean target of its real rows, in the teacher's columns.
    cache : dict
        What the search computed for it and will need again.
    """

    __slots__ = (
        "cache",
        "holds_lock",
        "inherited_label",
        "left",
        "locked",
        "loss",
        "n_leaves",
        "prior",
        "real_weight",
        "right",
        "rows",
        "split",
        "value",
        "weight",
    )

    def __init__(self, rows: IndexArray) -> None:
        self.rows = rows
        self.split: Split | None = None
        self.left: SearchNode | None = None
        self.right: SearchNode | None = None
        self.inherited_label = -1
        self.prior: FloatArray | None = None
        self.locked = False
        self.holds_lock = False
        self.weight = 0.0
        self.real_weight = 0.0
        self.loss = 0.0
        self.n_leaves = 1
        self.value: FloatArray = np.zeros(0)
        self.cache: dict[str, Any] = {}

    @property
    def is_leaf(self) -> bool:
        """Whether the node has no split."""
        return self.split is None

    @property
    def parts(self) -> tuple[Split, SearchNode, SearchNode]:
        """Split and children of an inner node."""
        assert self.split is not None
        assert self.left is not None
        assert self.right is not None
        return self.split, self.left, self.right


class NodeFactory:
    """Makes nodes on one table of taught rows."""

    def __init__(self, taught: TaughtRows, table: BinnedTable, prior_rows: float = PRIOR_ROWS):
        self.taught = taught
        self.table = table
        self.prior_rows = prior_rows
        weight, targets = taught.weight, taught.targets
        real = np.where(np.arange(len(weight)) < taught.n_real, weight, 0.0)
        self.k = taught.n_targets
        # Their sums over a node's rows give its loss and its value.
        self._sums = np.column_stack(
            [
                weight,
                weight * (targets**2).sum(axis=1),
                real,
                weight[:, None] * targets,
                real[:, None] * targets,
            ]
        )
        overall = self._sums.sum(axis=0)
        self.overall_mean = overall[3 : 3 + self.k] / max(overall[0], 1e-300)

    def leaf(
        self,
        rows: IndexArray,
        *,
        inherited_label: int = -1,
        prior: FloatArray | None = None,
        locked: bool = False,
    ) -> SearchNode:
        """Make a leaf: value from its real rows, loss over all its rows."""
        node = SearchNode(rows)
        node.inherited_label, node.prior = inherited_label, prior
        node.locked = node.holds_lock = locked
        sums = self._sums[rows].sum(axis=0)
        node.weight, squares, node.real_weight = float(sums[0]), float(sums[1]), float(sums[2])
        total, real_total = sums[3 : 3 + self.k], sums[3 + self.k :]
        strength = self.prior_rows if prior is not None else 0.0
        mean = shrunk_mean(node.weight, total, prior, strength)
        if mean is None:
            mean = self.overall_mean
        node.loss = max(0.0, squares - 2 * float(mean @ total) + node.weight * float(mean @ mean))
        value = None
        if node.real_weight > 0:
            value = shrunk_mean(node.real_weight, real_total, prior, strength)
        node.value = mean if value is None else value
        return node

    def join(
        self,
        rows: IndexArray,
        split: Split,
        left: SearchNode,
        right: SearchNode,
        *,
        prior: FloatArray | None = None,
        locked: bool = False,
    ) -> SearchNode:
        """Make an inner node."""
        node = SearchNode(rows)
        node.split, node.left, node.right = split, left, right
        node.prior = prior
        node.locked = locked
        node.holds_lock = locked or left.holds_lock or right.holds_lock
        node.weight = left.weight + right.weight
        node.real_weight = left.real_weight + right.real_weight
        node.loss = left.loss + right.loss
        node.n_leaves = left.n_leaves + right.n_leaves
        total = left.real_weight * left.value + right.real_weight * right.value
        node.value = total / node.real_weight if node.real_weight > 0 else left.value
        return node

    def divide(self, rows: IndexArray, split: Split) -> tuple[IndexArray, IndexArray]:
        """Rows on either side of a split."""
        left = split.goes_left(self.table.coded[rows, split.feature])
        return rows[left], rows[~left]

    def reroute(self, node: SearchNode, rows: IndexArray) -> SearchNode:
        """Return the same subtree on other rows."""
        if node.is_leaf:
            return self.leaf(
                rows,
                inherited_label=node.inherited_label,
                prior=node.prior,
                locked=node.locked,
            )
        split, left, right = node.parts
        below, above = self.divide(rows, split)
        return self.join(
            rows,
            split,
            self.reroute(left, below),
            self.reroute(right, above),
            prior=node.prior,
            locked=node.locked,
        )

    def predict(self, node: SearchNode, rows: IndexArray) -> FloatArray:
        """Values that a subtree gives to any rows."""
        out = np.empty((len(rows), self.k))
        stack = [(node, np.arange(len(rows)))]
        while stack:
            at, where = stack.pop()
            if at.is_leaf:
                out[where] = at.value
                continue
            split, left, right = at.parts
            goes = split.goes_left(self.table.coded[rows[where], split.feature])
            stack += [(left, where[goes]), (right, where[~goes])]
        return out

    def from_tree(
        self, tree: Tree, rows: IndexArray, locked: frozenset[int] = frozenset()
    ) -> SearchNode:
        """Return a deployed tree on the taught rows; its values become priors."""

        def build(i: int, rows: IndexArray) -> SearchNode:
            prior = columns_of(tree.value[i], self.taught.n_classes)
            if tree.is_leaf[i]:
                label = int(tree.label[i]) if tree.is_classifier else -1
                return self.leaf(rows, inherited_label=label, prior=prior, locked=i in locked)
            split = split_of(tree, i)
            below, above = self.divide(rows, split)
            return self.join(
                rows,
                split,
                build(int(tree.children_left[i]), below),
                build(int(tree.children_right[i]), above),
                prior=prior,
                locked=i in locked,
            )

        return build(0, rows)

    def from_growth(self, grown: Grown, n_leaves: int, inherited_label: int = -1) -> SearchNode:
        """Return the first ``n_leaves`` leaves of a growth as nodes."""
        kept: dict[int, SearchNode] = {}

        def build(i: int) -> SearchNode:
            pair = grown.children_within(i, n_leaves)
            if pair is None:
                # A leaf is the same in every size: made once.
                if i not in kept:
                    kept[i] = self.leaf(grown.rows[i], inherited_label=inherited_label)
                return kept[i]
            split = grown.split[i]
            assert split is not None
            return self.join(grown.rows[i], split, build(pair[0]), build(pair[1]))

        return build(0)


def columns_of(value: FloatArray, n_classes: int | None) -> FloatArray:
    """Class shares in the teacher's columns (two classes: the share of the second)."""
    return value[1:] if n_classes == 2 else value


def split_of(tree: Tree, node: int) -> Split:
    """Return the condition at a node of a tree."""
    return Split(
        int(tree.feature[node]),
        float(tree.threshold[node]),
        tree.left_categories[node],
        bool(tree.missing_left[node]),
    )


def side_condition(split: Split, space: FeatureSpace, *, left: bool = True) -> Condition:
    """Condition for taking one side of a split: ``age <= 50``, ``colour is red or blue``."""
    j = split.feature
    return Condition.of_side(
        j,
        space.feature_labels[j],
        left=left,
        threshold=split.threshold,
        left_codes=split.left,
        categories=space.categories[j],
        missing_left=split.missing_left,
        can_miss=bool(space.can_be_missing[j]),
    )


def export_tree(
    root: SearchNode,
    space: FeatureSpace,
    *,
    classes: tuple[Any, ...] | None,
    decision_threshold: float | None,
    labels: dict[int, int] | None = None,
    precision: str = "float64",
    metadata: dict[str, Any] | None = None,
) -> Tree:
    """Write the nodes as a :class:`Tree`.

    ``labels`` gives, by ``id`` of a leaf node, the label to store where it is not the one
    the shares give. Shares are never altered to suit a label.
    """
    n_classes = None if classes is None else len(classes)
    children: list[tuple[int, int]] = []
    splits: list[Split | None] = []
    values: list[FloatArray] = []
    weights: list[float] = []
    stored: list[int] = []
    impurity: list[float] = []

    def add(node: SearchNode) -> int:
        i = len(splits)
        children.append((-1, -1))
        splits.append(node.split)
        shares = shares_of(node.value, n_classes)
        values.append(shares)
        weights.append(node.real_weight)
        natural = 0 if classes is None else natural_label(shares, decision_threshold)
        stored.append((labels or {}).get(id(node), natural))
        impurity.append(node.loss / node.weight if node.weight > 0 else 0.0)
        if not node.is_leaf:
            _, left, right = node.parts
            a = add(left)
            b = add(right)
            children[i] = (a, b)
            # Variance within the children and between them.
            impurity[i] = sum(
                (weights[c] * (impurity[c] + float(((values[c] - shares) ** 2).sum())))
                for c in (a, b)
            ) / max(node.real_weight, 1e-300)
        return i

    add(root)
    return Tree(
        children_left=np.array([c[0] for c in children]),
        children_right=np.array([c[1] for c in children]),
        feature=np.array([-1 if s is None else s.feature for s in splits]),
        threshold=np.array([np.nan if s is None else s.threshold for s in splits]),
        left_categories=tuple(None if s is None else s.left for s in splits),
        missing_left=np.array([False if s is None else s.missing_left for s in splits]),
        value=np.array(values),
        weight=np.array(weights),
        label=np.array(stored, dtype=np.int32),
        classes=classes,
        n_features=space.n_features,
        feature_names=space.names,
        categories=space.categories,
        precision=precision,
        decision_threshold=decision_threshold,
        **({} if classes is not None else {"impurity": np.array(impurity)}),
        space=space,
        metadata=metadata or {},
    )
