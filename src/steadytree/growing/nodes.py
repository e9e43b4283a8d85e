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

from steadytree.growing._loops import loops
from steadytree.growing.best_first import BinnedTable, FloatArray, Grown, IndexArray, Split
from steadytree.growing.leaf_values import MOST_ROWS, LeafRows, Steadying, estimate_steadying
from steadytree.growing.routing import FlatTree, NodeCounts, RowBatch, count_rows
from steadytree.growing.teacher import TaughtRows, share_columns
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
    def flat(self) -> FlatTree:
        """The subtree as flat arrays."""
        kept: FlatTree | None = self.cache.get("flat")
        if kept is None:
            kept = self.cache["flat"] = FlatTree.of(self)
        return kept

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
        kept: tuple[Steadying, tuple[FloatArray, FloatArray, float]] | None
        kept = self.cache.get("steadied")
        if kept is None or kept[0] is not by:
            kept = self.cache["steadied"] = by, self.make.steadied(self)
        return kept[1]

    @property
    def parts(self) -> tuple[Split, SearchNode, SearchNode]:
        """Split and children of an inner node."""
        assert self.split is not None
        assert self.left is not None
        assert self.right is not None
        return self.split, self.left, self.right


Way = tuple[tuple[SearchNode, bool], ...]
"""The nodes above one, from the root on, and whether the way goes left at each."""


class NodeFactory:
    """Makes nodes on one table of taught rows."""

    def __init__(
        self,
        taught: TaughtRows,
        table: BinnedTable,
        *,
        prior_rows: float = PRIOR_ROWS,
        min_leaf: int = 0,
    ) -> None:
        self.taught = taught
        self.table = table
        self.min_leaf = min_leaf
        self.prior_rows = prior_rows
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
        node = SearchNode(
            rows,
            self,
            inherited_label=inherited_label,
            prior=prior,
            locked=locked,
            holds_lock=locked,
        )
        reached = np.zeros(len(rows), dtype=np.intp)
        _, _, sums = loops().sum_by_leaf(reached, rows, self._sums, 1)
        self._take_sums([node], sums)
        return node

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
        steadied = (total + self.prior_rows * before) / (weight + self.prior_rows)[:, None]
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
        root = self.whole(root)
        if self.taught.batches is not None and root.n_real > 0:
            self.unit = root.real_weight / root.n_real
        leaves = [node for node in leaves_of(root) if node.real_weight > 0]
        spread = 0.0
        if self.taught.n_classes is None and leaves:
            outcome = self.taught.observed[:, 0]
            weight = self.taught.weight[: self.taught.n_real]
            real = [node.rows[node.rows < self.taught.n_real] for node in leaves]
            squares = sum(
                float(weight[r] @ (outcome[r] - np.average(outcome[r], weights=weight[r])) ** 2)
                for r in real
            )
            spread = squares / max(float(weight.sum()), 1e-300)
        found = [rows for node in leaves if (rows := self.leaf_rows(node)) is not None]
        self.steadying = estimate_steadying(
            found,
            unit=self.unit,
            classifier=self.taught.n_classes is not None,
            spread=spread,
            drifted=self.taught.drifted,
        )
        return self.steadying

    # -- values from all rows -----------------------------------------------------

    def count(self, roots: Sequence[SearchNode]) -> None:
        """Count all rows at the nodes of several trees in one pass, and keep the counts."""
        fresh = list({id(root): root for root in roots if "counts" not in root.cache}.values())
        for root, found in zip(fresh, count_rows(fresh, self._batches()), strict=True):
            root.cache["counts"] = found

    def _batches(self) -> Iterable[RowBatch]:
        """All real rows: those of the search, or all those that it is a sample of."""
        taught = self.taught
        if taught.batches is not None:
            return taught.batches()
        seen = taught.observed
        if taught.n_classes is None:
            outcomes = np.column_stack([np.ones(taught.n_real), seen[:, 0]])
        else:
            outcomes = np.hstack([1.0 - seen, seen]) if taught.n_classes == 2 else seen
        cuts = (slice(0, taught.n_old), True), (slice(taught.n_old, taught.n_real), False)
        coded, weight = self.table.coded, taught.weight
        return [RowBatch(coded[part], outcomes[part], weight[part], old) for part, old in cuts]

    def whole(self, root: SearchNode) -> SearchNode:
        """Return a tree with the sums of all rows; the same tree if the search saw them all.

        What the teacher says of a leaf stays its mean over the rows of the search.
        """
        if self.taught.batches is None:
            return root
        kept: SearchNode | None = root.cache.get("whole")
        if kept is None:
            self.count([root])
            found: NodeCounts = root.cache["counts"]
            kept, _ = self._with_counts(root, found, 0)
            kept.cache["counts"] = found
            kept.cache["whole"] = root.cache["whole"] = kept
        return kept

    def _with_counts(self, node: SearchNode, found: NodeCounts, at: int) -> tuple[SearchNode, int]:
        """Return a copy of a subtree that knows all rows, and the next position in ``found``."""
        position, left, right = at + 1, node.left, node.right
        if left is not None and right is not None:
            left, position = self._with_counts(left, found, position)
            right, position = self._with_counts(right, found, position)
        classes, k = self.taught.n_classes is not None, self.k
        n_rows, _ = _rows_and_outcomes(found.counts[at].sum(axis=0), k, classes=classes)
        old, new = (
            np.append(*_rows_and_outcomes(part, k, classes=classes)) for part in found.weighted[at]
        )
        weight = old[0] + new[0]
        mean = node.sums[2 : 2 + k] / node.sums[1] if node.sums[1] > 0 else self.overall_mean
        sums = np.concatenate([[n_rows, weight], weight * mean, old, new])
        return replace(node, left=left, right=right, sums=sums, cache={}), position

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
            holds_lock=locked or left.holds_lock or right.holds_lock,
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
        flat = node.flat if split is None else node.flat.with_root(split, flipped=flipped)
        reached = flat.route(self.table.coded, rows)
        by_leaf, starts, sums = loops().sum_by_leaf(reached, rows, self._sums, len(flat.leaves))
        leaves = []
        for i, old in enumerate(flat.leaves):
            inside = by_leaf[starts[i] : starts[i + 1]]
            leaves.append(
                SearchNode(
                    inside,
                    self,
                    inherited_label=old.inherited_label,
                    prior=old.prior,
                    locked=old.locked,
                    holds_lock=old.locked,
                )
            )
        self._take_sums(leaves, sums)
        for old, leaf in zip(flat.leaves, leaves, strict=True):
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
        middles = np.array([leaf.middle for leaf in node.flat.leaves])
        return np.asarray(middles[node.flat.route(self.table.coded, rows)])

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
        kept: dict[int, SearchNode] = grown.kept
        # A leaf is the same in every size: made once.
        size = 2 * n_leaves - 1
        ends = [i for i in range(size) if grown.children_within(i, n_leaves) is None]
        fresh = [i for i in ends if i not in kept]
        leaves = self._leaves([grown.rows[i] for i in fresh], inherited_label)
        kept |= zip(fresh, leaves, strict=True)

        def build(i: int) -> SearchNode:
            pair = grown.children_within(i, n_leaves)
            if pair is None:
                return kept[i]
            split = grown.split[i]
            assert split is not None
            return self.join(grown.rows[i], split, build(pair[0]), build(pair[1]))

        return build(0)

    def _leaves(self, parts: Sequence[IndexArray], inherited_label: int) -> list[SearchNode]:
        """Make fresh leaves of several sets of rows."""
        if not parts:
            return []
        rows = np.concatenate(parts)
        reached = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
        _, _, sums = loops().sum_by_leaf(reached, rows, self._sums, len(parts))
        leaves = [SearchNode(part, self, inherited_label=inherited_label) for part in parts]
        self._take_sums(leaves, sums)
        return leaves


def stabilised(shares: FloatArray) -> FloatArray:
    """Arcsine of the square root: squared error then weighs shares as the deviance does."""
    return np.asarray(np.arcsin(np.sqrt(np.clip(shares, 0.0, 1.0))))


def shares_of(value: FloatArray, n_classes: int | None) -> FloatArray:
    """Return all class shares from the teacher's columns: the way back of share_columns."""
    if n_classes == 2:
        positive = float(np.clip(value[0], 0.0, 1.0))
        return np.array([1.0 - positive, positive])
    if n_classes is None:
        return value
    shares = np.clip(value, 0.0, None)
    total = shares.sum()
    return np.asarray(shares / total if total > 0 else np.full(n_classes, 1.0 / n_classes))


def leaves_of(root: SearchNode) -> Iterator[SearchNode]:
    """Leaves of a subtree, left to right."""
    stack = [root]
    while stack:
        node = stack.pop()
        if node.is_leaf:
            yield node
        else:
            _, left, right = node.parts
            stack += [right, left]


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


def _rows_and_outcomes(sums: FloatArray, k: int, *, classes: bool) -> tuple[float, FloatArray]:
    """Rows, and outcomes in the teacher's columns, from sums as they are counted."""
    return (float(sums.sum()), sums[-k:]) if classes else (float(sums[0]), sums[1:])


# -- Write the tree that a search edited as a :class:`Tree`, with what was observed at each node --


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
    """Write the nodes as a :class:`Tree`.

    ``labels`` gives, by ``id`` of a leaf node, the label to store where it is not the one
    the shares give. Shares are never altered to suit a label.
    """
    root = root.make.whole(root)
    n_classes = None if classes is None else len(classes)
    policy = Decision.of(decision)
    if classes is not None:
        policy = policy.resolve(classes)
    order: list[SearchNode] = []
    children: list[tuple[int, int]] = []
    splits: list[Split | None] = []
    values: list[FloatArray] = []
    weights: list[float] = []
    label: list[int] = []
    impurity: list[float] = []

    def add(node: SearchNode) -> int:
        i = len(splits)
        order.append(node)
        children.append((-1, -1))
        splits.append(node.split)
        shares = shares_of(node.value, n_classes)
        values.append(shares)
        weights.append(node.real_weight)
        natural = 0 if classes is None else int(policy.labels(shares[None, :])[0])
        label.append((labels or {}).get(id(node), natural))
        impurity.append(node.loss / node.weight if node.weight > 0 else 0.0)
        if not node.is_leaf:
            _, left, right = node.parts
            children[i] = add(left), add(right)
            # Variance within the children and between them.
            impurity[i] = sum(
                (weights[c] * (impurity[c] + float(((values[c] - shares) ** 2).sum())))
                for c in children[i]
            ) / max(node.real_weight, 1e-300)
        return i

    add(root)
    return Tree(
        children_left=np.array(children)[:, 0],
        children_right=np.array(children)[:, 1],
        feature=np.array([-1 if s is None else s.feature for s in splits]),
        threshold=np.array([np.nan if s is None else s.threshold for s in splits]),
        left_categories=tuple(None if s is None else s.left for s in splits),
        missing_left=np.array([False if s is None else s.missing_left for s in splits]),
        unseen_left=np.array([s is not None and s.sends_unseen_left for s in splits]),
        value=np.array(values),
        weight=np.array(weights),
        label=np.array(label, dtype=np.int32),
        classes=classes,
        n_features=space.n_features,
        feature_names=space.names,
        categories=space.categories,
        precision=precision,
        decision=policy,
        observed=_observed(order, n_classes),
        **({} if classes is not None else {"impurity": np.array(impurity)}),
        space=space,
        metadata=metadata or {},
    )


def _observed(nodes: list[SearchNode], n_classes: int | None) -> Observed:
    """Count rows and outcomes of each node, the old and the new ones apart."""
    make, root = nodes[0].make, nodes[0]
    make.count([root])
    found: NodeCounts = root.cache["counts"]
    steadied = [node.steadied for node in nodes]
    return Observed(
        found.counts,
        found.weighted,
        np.array([shares_of(by, n_classes) for _, by, _ in steadied]),
        np.array([rows_worth for *_, rows_worth in steadied]),
        make.steadying.old_share,
    )
