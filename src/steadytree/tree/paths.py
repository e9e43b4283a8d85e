r"""A tree as its set of root-to-leaf paths (the paper, Section 2.2).

A path is :math:`(u^p, l^p, C^p, k^p)`: bounds of the numeric features, qualifying
categories of the categorical ones, and the label. We store how much each path
*tightens* the space, one non-negative number per coordinate: for a numeric feature
:math:`(u_j - u^p_j)/(u_j - l_j)` and :math:`(l^p_j - l_j)/(u_j - l_j)`, for a category
:math:`2/c_j` if it does not qualify, 0 where nothing is restricted. The feature part of
eq. (dist-paths) is then half an L1 distance for every kind of feature,

.. math:: \tfrac12 \sum_i |x^p_i - x^q_i|
          = \tfrac12 (s_p + s_q) - \sum_i \min(x^p_i, x^q_i),
          \qquad s_p = \sum_i x^p_i .

Missing values: one more category of a categorical feature; a numeric feature that can be
missing carries two more coordinates, those of an implied feature {present, missing}.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadytree._text import quoted
from steadytree.exceptions import ClippedThresholdWarning, FeatureAlignmentError
from steadytree.tree.alignment import AlignedTree, align_trees
from steadytree.tree.columns import bit_flags, share_of_range
from steadytree.tree.printing import LeafNumbers, odd_values
from steadytree.tree.space import FeatureSpace
from steadytree.tree.tree import Tree
from steadytree.tree.walk import Boxes, Nodes, Walked, walk_trees
from steadytree.tree.words import Condition, join_conditions


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Paths:
    """Root-to-leaf paths of one tree in one space, ready for distances.

    Attributes
    ----------
    space : FeatureSpace
    classes : tuple or None
        Classes that ``label`` and the columns of ``value`` refer to.
    leaf : int array (n_paths,)
        Node number of each path's leaf in ``tree`` (after merging: of the merged node).
    indptr, coord, tightening : arrays
        Final tightenings of each path (only those above 0), as compressed rows.
    paper_weight : float array (n_paths,)
        w(p) of eq. (weight-path).
    label : int32 array (n_paths,)
    value : float array (n_paths, n_classes) or (n_paths, 1)
        Class shares, or the response scaled to [0, 1].
    walked : Walked
        The walk that leads to these paths, as changes of single coordinates, for solvers that
        follow it.
    """

    tree: Tree
    space: FeatureSpace
    classes: tuple[Any, ...] | None
    n_coords: int
    leaf: NDArray[np.int32]
    indptr: NDArray[np.int32]
    coord: NDArray[np.int32]
    tightening: NDArray[np.float64]
    paper_weight: NDArray[np.float64]
    label: NDArray[np.int32]
    value: NDArray[np.float64]
    walked: Walked
    _aligned: AlignedTree

    @property
    def n_paths(self) -> int:
        """Number of paths that some value can reach."""
        return int(self.leaf.size)

    @property
    def conditions(self) -> tuple[tuple[Condition, ...], ...]:
        """What each path demands of each feature it restricts."""
        return tuple(self.conditions_of(p) for p in range(self.n_paths))

    def conditions_of(self, path: int, *, may_miss: Collection[int] = ()) -> tuple[Condition, ...]:
        """Return what one path demands, one condition per restricted feature.

        ``may_miss``: features whose missing values it says where to go, known to the space or not.
        """
        leaf = int(self.leaf[path])
        conditions = (
            self._with_odd_values(Condition.from_state(self.space, j, side.state), leaf, may_miss)
            for j, side in sorted(self._boxes.box_of(self._aligned, leaf).items())
        )
        return tuple(c for c in conditions if not c.unrestricted)

    def _with_odd_values(
        self, condition: Condition, leaf: int, may_miss: Collection[int]
    ) -> Condition:
        """Say of missing values and categories never met whether they reach a leaf.

        Where the tree's own pipeline takes them: the space need not know.
        """
        tree, missing, unseen = self.tree, condition.missing, condition.unseen
        node = leaf
        while node:
            below, node = node, int(tree.parent[node])
            if self._aligned.feature[node] != condition.feature:
                continue
            is_left = int(tree.children_left[node]) == below
            takes_missing, takes_unseen = odd_values(tree, int(tree.feature[node]))
            takes_missing = takes_missing or condition.feature in may_miss
            if takes_missing and condition.missing is None:
                missing = missing is not False and bool(tree.missing_left[node]) == is_left
            if takes_unseen and condition.allowed is not None:
                unseen = unseen is not False and bool(tree.unseen_left[node]) == is_left
        return replace(condition, missing=missing, unseen=unseen)

    @cached_property
    def _boxes(self) -> Boxes:
        """Made once for all paths: it goes through all columns of the space."""
        return Boxes(self.space)

    def rule_text(self, path: int) -> str:
        """One path in words: conditions, then the outcome."""
        return f"{join_conditions(self.conditions_of(path))}: {self.outcome_text(path)}"

    def outcome_text(self, path: int) -> str:
        """Label of a path, or its response in the tree's own units."""
        if self.classes is None:
            return f"{self.tree.value[self.leaf[path], 0]:.6g}"
        return str(self.classes[self.label[path]])

    @cached_property
    def path_of_entry(self) -> NDArray[np.intp]:
        """Path that each entry of ``coord`` and ``tightening`` belongs to."""
        return np.arange(self.n_paths).repeat(self.indptr[1:] - self.indptr[:-1])

    @cached_property
    def tightening_sum(self) -> NDArray[np.float64]:
        """s_p of every path."""
        sums = np.bincount(self.path_of_entry, weights=self.tightening, minlength=self.n_paths)
        return sums.astype(np.float64)

    def dense(self) -> NDArray[np.float64]:
        """All tightenings as a matrix (n_paths, n_coords); for tests and small trees."""
        out = np.zeros((self.n_paths, self.n_coords))
        out[self.path_of_entry, self.coord] = self.tightening
        return out

    def __repr__(self) -> str:
        return f"Paths({self.n_paths} paths over {self.space!r})"

    @classmethod
    def from_tree(
        cls,
        tree: Tree,
        space: FeatureSpace,
        *,
        classes: Sequence[Any] | None = None,
        merge_equal_siblings: bool = False,
    ) -> Paths:
        """Make the paths of a tree in a space.

        Parameters
        ----------
        tree : Tree
        space : FeatureSpace
            Finite thresholds outside its ranges are clipped, with a warning.
        classes : sequence, optional
            Classes to align the labels with; by default the tree's own.
        merge_equal_siblings : bool, default False
            Merge sibling leaves with the same label (a split that changes no decision).
        """
        named = None if classes is None else tuple(classes)
        merge = merge_equal_siblings
        return cls.from_trees([tree], space, classes=named, merge_equal_siblings=merge)[0]

    @classmethod
    def from_trees(
        cls,
        trees: Sequence[Tree],
        space: FeatureSpace,
        *,
        classes: tuple[Any, ...] | None = None,
        merge_equal_siblings: bool = False,
    ) -> list[Paths]:
        """Make the paths of several trees in a space, as :meth:`from_tree`, in one walk."""
        if not trees:
            return []
        aligned = align_trees(trees, space)
        boxes = Boxes(space)
        nodes = _nodes(aligned, boxes)
        _warn_of_clipping(nodes, space)
        outcome_of: list[_OutcomeOf] = [{}] * len(trees)
        if merge_equal_siblings:
            nodes, outcome_of = _merged(aligned, nodes, walk_trees(nodes, boxes))
        walked = _by_tree(walk_trees(nodes, boxes))
        out = []
        for one, part, merged in zip(aligned, walked, outcome_of, strict=True):
            named = one.tree.classes if classes is None else classes
            label, value = _outcomes(one.tree, space, named, part.leaf, merged)
            paths = cls(
                tree=one.tree,
                space=space,
                classes=named,
                n_coords=boxes.start[-1],
                leaf=part.leaf,
                indptr=part.indptr,
                coord=part.coord,
                tightening=part.tightening,
                paper_weight=part.weight,
                label=label,
                value=value,
                walked=part,
                _aligned=one,
            )
            out.append(paths)
        return out


# For merged nodes: a leaf that has their label or response, and a node with their shares.
_OutcomeOf = dict[int, tuple[int, int]]


def _nodes(aligned: Sequence[AlignedTree], boxes: Boxes) -> Nodes:
    """Trees one after another, with what the walk asks of each split."""
    trees = [one.tree for one in aligned]
    left = np.concatenate([tree.children_left for tree in trees])
    feature = np.concatenate([one.feature for one in aligned])
    threshold = np.concatenate([tree.threshold for tree in trees])
    above, below = boxes.cuts(feature, threshold)
    # Categories of a feature, one after another for every split by a set of them.
    set_at, sets = np.full(left.size, -1), list[int]()
    first = np.zeros(len(trees) + 1, dtype=np.int64)
    np.cumsum([tree.n_nodes for tree in trees], out=first[1:])
    for one, start in zip(aligned, first.tolist(), strict=False):
        if not one.by_set:
            continue
        for node, mask in enumerate(one.left_mask, start):
            if mask is not None:
                set_at[node] = len(sets)
                sets += bit_flags(mask, boxes.count[int(feature[node])])
    return Nodes(
        first=first,
        left=left,
        right=np.concatenate([tree.children_right for tree in trees]),
        feature=feature,
        threshold=threshold,
        above=above,
        below=below,
        missing_left=np.concatenate([tree.missing_left for tree in trees]).view(np.uint8),
        set_at=set_at,
        sets=np.array(sets, dtype=np.uint8),
        ends=(left < 0).view(np.uint8),
    )


def _by_tree(walked: Walked) -> list[Walked]:
    """Return each tree's part of a walk."""
    parts = []
    for k in range(walked.of_paths.size - 1):
        starts = [start[k : k + 2] for start in walked[:4]]
        path, entry, visit, op = (slice(*start.tolist()) for start in starts)
        parts.append(
            Walked._make(
                (
                    *starts,
                    walked.leaf[path],
                    walked.weight[path],
                    walked.indptr[path.start + k : path.stop + k + 1],
                    walked.coord[entry],
                    walked.tightening[entry],
                    walked.node[visit],
                    walked.depth[visit],
                    walked.path[visit],
                    walked.op_start[visit.start + k : visit.stop + k + 1],
                    walked.op_coord[op],
                    walked.op_old[op],
                    walked.op_new[op],
                )
            )
        )
    return parts


def _warn_of_clipping(nodes: Nodes, space: FeatureSpace) -> None:
    j, t = nodes.feature, nodes.threshold
    # Leaves and category sets have no threshold: comparisons with NaN are false.
    outside = (((t < space.lower[j]) | (t > space.upper[j])) & np.isfinite(t)).nonzero()[0]
    if not outside.size:
        return
    clipped: dict[int, set[int]] = {}
    for node, tree in zip(outside, np.searchsorted(nodes.first, outside, "right"), strict=True):
        clipped.setdefault(int(tree), set()).add(int(j[node]))
    for features in clipped.values():
        names = [space.feature_labels[k] for k in sorted(features)]
        warnings.warn(
            f"thresholds of {quoted(names)} lie outside the space's range and were clipped to it; "
            "make the space from data that covers both trees",
            ClippedThresholdWarning,
            stacklevel=4,
        )


def _merged(
    aligned: Sequence[AlignedTree], nodes: Nodes, walked: Walked
) -> tuple[Nodes, list[_OutcomeOf]]:
    """Let paths end where all that some value can reach below has one outcome."""
    outcome_of, ends = [], np.zeros_like(nodes.ends)
    for one, first, part in zip(aligned, nodes.first.tolist(), _by_tree(walked), strict=False):
        top, outcome = _merge_siblings(one.tree, part.node.tolist())
        ends[[first + node for node in top]] = 1
        outcome_of.append(outcome)
    return nodes._replace(ends=ends), outcome_of


def _merge_siblings(tree: Tree, reached: list[int]) -> tuple[list[int], _OutcomeOf]:
    """Nodes where paths end, and what carries the outcome of each node that could be one.

    A node with one reachable child is that child as far as outcomes go.
    """
    inside = set(reached)
    outcome: _OutcomeOf = {}
    for node in reversed(reached):
        if tree.is_leaf[node]:
            outcome[node] = (node, node)
            continue
        kids = [int(k) for k in (tree.children_left[node], tree.children_right[node])]
        kids = [k for k in kids if k in inside]
        if all(k in outcome for k in kids):
            leaf, shares = outcome[kids[0]]
            if len({_outcome_key(tree, outcome[k][0]) for k in kids}) == 1:
                outcome[node] = (leaf, shares if len(kids) == 1 else node)
    return [n for n in outcome if n == 0 or int(tree.parent[n]) not in outcome], outcome


def _outcome_key(tree: Tree, node: int) -> float | int:
    return float(tree.value[node, 0]) if not tree.is_classifier else int(tree.label[node])


def _outcomes(
    tree: Tree,
    space: FeatureSpace,
    classes: tuple[Any, ...] | None,
    nodes: NDArray[np.int32],
    outcome_of: _OutcomeOf,
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Labels and values where paths end, in the aligned classes or the response range.

    A merged node keeps its own shares; its label, or response, is that of the leaves it
    replaced.
    """
    leaves = shares = nodes
    if outcome_of:
        leaves, shares = np.array([outcome_of[node] for node in nodes.tolist()]).T
    if tree.classes is None:
        if space.response_range is None:
            raise FeatureAlignmentError(
                "expected a space with a response range for regression trees, got none; "
                "make it with FeatureSpace.from_data(X, y, task='regression')"
            )
        low, high = space.response_range
        value = np.clip(tree.value[leaves], low, high)
        scaled = share_of_range(value, low, high) if high > low else np.zeros_like(value)
        return np.zeros(nodes.size, dtype=np.int32), scaled
    assert classes is not None
    if classes == tree.classes:
        return tree.label[leaves], tree.value[shares]
    position = {c: i for i, c in enumerate(classes)}
    column = np.array([position[c] for c in tree.classes], dtype=np.int32)
    value = np.zeros((nodes.size, len(classes)))
    value[:, column] = tree.value[shares]
    return column[tree.label[leaves]], value


# -- The rules of a tree in words, one per leaf, with the numbers of the leaf --


@dataclass(frozen=True)
class RuleWords:
    """One rule: its leaf, what it demands, and the numbers of the leaf."""

    leaf: int
    conditions: tuple[Condition, ...]
    numbers: LeafNumbers

    @property
    def conditions_text(self) -> str:
        """Return the conditions in words."""
        return join_conditions(self.conditions)

    @property
    def text(self) -> str:
        """Return the whole rule in words, with the numbers of its leaf."""
        return f"{self.conditions_text}: {self.numbers.words()}"

    @property
    def short_text(self) -> str:
        """Return the rule with its decision only."""
        return f"{self.conditions_text}: {self.numbers.label_words()}"


def tree_rules(tree: Tree, space: FeatureSpace | None = None) -> list[RuleWords]:
    """Rules of a tree that some value can follow, from left to right.

    In the given space, else the tree's own, else one made up from its thresholds.
    """
    paths = Paths.from_tree(tree, space or tree.space or display_space(tree))
    return [
        RuleWords(leaf, paths.conditions_of(p), LeafNumbers.of(paths.tree, leaf))
        for p, leaf in enumerate(paths.leaf.tolist())
    ]


def display_space(tree: Tree) -> FeatureSpace:
    """Make up a space just wide enough to word the rules of a tree that has none."""
    lower, upper = np.zeros(tree.n_features), np.zeros(tree.n_features)
    for j in range(tree.n_features):
        cuts = tree.threshold[(tree.feature == j) & np.isfinite(tree.threshold)]
        if cuts.size:
            lower[j], upper[j] = cuts.min() - 1, cuts.max() + 1
    response = None
    if tree.classes is None:
        response = (float(tree.value.min()), float(tree.value.max()))
    return FeatureSpace(
        lower=lower,
        upper=upper,
        categories=tree.categories,
        names=tree.feature_names,
        classes=tree.classes,
        response_range=response,
        # A threshold of infinity asks whether there is a value: so it can be missing.
        can_be_missing=np.isin(np.arange(tree.n_features), tree.feature[np.isinf(tree.threshold)])
        | np.array([odd_values(tree, j)[0] for j in range(tree.n_features)], dtype=bool),
    )
