r"""A tree as its set of root-to-leaf paths (the paper, Section 2.2).

A path is :math:`(u^p, l^p, C^p, k^p)`: bounds of the numeric features, qualifying
categories of the categorical ones, and the label. We store how much each path
*tightens* the space, one non-negative number per coordinate: for a numeric feature
:math:`(u_j - u^p_j)/(u_j - l_j)` and :math:`(l^p_j - l_j)/(u_j - l_j)`, for a category
:math:`2/c_j` if it does not qualify, 0 where nothing is restricted. The feature part of
eq. (dist-paths) is then half an L1 distance for every kind of feature (on the quantile scale,
``core.scale``, the two shares are those of the reference rows),

.. math:: \tfrac12 \sum_i |x^p_i - x^q_i|
          = \tfrac12 (s_p + s_q) - \sum_i \min(x^p_i, x^q_i),
          \qquad s_p = \sum_i x^p_i .

Missing values: one more category of a categorical feature; a numeric feature that can be
missing carries two more coordinates, those of an implied feature {present, missing}.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from steadytree.core.alignment import AlignedTree, align_tree
from steadytree.core.scale import share_of_range
from steadytree.core.space import FeatureSpace
from steadytree.core.tree import Tree
from steadytree.core.words import Condition, NumericState, join_conditions
from steadytree.exceptions import ClippedThresholdWarning, FeatureAlignmentError

__all__ = ["Box", "Boxes", "Operations", "Paths", "Side", "coordinate_start"]

State = NumericState | int


class Side(NamedTuple):
    """What a path demands of one feature, and how much that tightens the space."""

    state: State
    tightening: dict[int, float]  # by coordinate, only those above 0
    weight: float  # the feature's part of eq. (weight-path)


# A box: the features that a path restricts.
Box = dict[int, Side]
# One node of a walk: its number, depth and box, and its side of the split feature before and
# after the last step (None at the root).
_Step = tuple[int, int, Box, Side | None, Side | None]


class Operations(NamedTuple):
    """A tree walk as changes of single coordinates, for solvers that follow it.

    ``depth``, ``start`` and ``path`` are by node in preorder: its depth, its first operation
    (one entry more, for the end) and the path that ends there (-1 inside the tree). An
    operation changes coordinate ``coord`` from tightening ``old`` (the parent's) to ``new``.
    """

    depth: NDArray[np.int32]
    start: NDArray[np.int32]
    path: NDArray[np.int32]
    coord: NDArray[np.int32]
    old: NDArray[np.float64]
    new: NDArray[np.float64]


def coordinate_start(space: FeatureSpace) -> NDArray[np.int64]:
    """First coordinate of each feature; the last entry is the number of coordinates.

    Numeric: upper side, lower side, and (if it can be missing) present, missing.
    Categorical: one per category, and one for missing.
    """
    return np.array(Boxes(space).start, dtype=np.int64)


class Boxes:
    """How a condition narrows a box of one space, and how much a box tightens the space."""

    def __init__(self, space: FeatureSpace) -> None:
        lower, upper = space.lower.tolist(), space.upper.tolist()
        self.ranges = list(zip(lower, upper, space.scales, strict=True))
        self.can_miss: list[bool] = space.can_be_missing.tolist()
        # Categories of a feature, "missing" included; 0: numeric.
        self.count = [
            0 if categories is None else len(categories) + missing
            for categories, missing in zip(space.categories, self.can_miss, strict=True)
        ]
        sizes = [
            count or 2 + 2 * missing
            for count, missing in zip(self.count, self.can_miss, strict=True)
        ]
        self.start = [0, *accumulate(sizes)]

    def state(self, box: Box, j: int) -> State:
        """Return what a box demands of a feature; everything passes where it has no say."""
        if j in box:
            return box[j].state
        if self.count[j]:
            return (1 << self.count[j]) - 1
        return (-np.inf, np.inf, True, self.can_miss[j])

    def split(
        self, box: Box, j: int, threshold: float, mask: int | None, missing_left: bool
    ) -> tuple[Side | None, Side | None]:
        """Feature j of a box on the left and right of a split; None where nothing passes.

        ``mask`` is the bit set of the categories that go left (the bit after the last one is
        "missing"), None for a split at a threshold.
        """
        state = self.state(box, j)
        if isinstance(state, int):
            assert mask is not None
            return self._side(j, state & mask or None), self._side(j, state & ~mask or None)
        low, high, present, missing = state
        return (
            self._numeric(j, low, min(high, threshold), present, missing and missing_left),
            self._numeric(j, max(low, threshold), high, present, missing and not missing_left),
        )

    def _numeric(
        self, j: int, low: float, high: float, present: bool, missing: bool
    ) -> Side | None:
        """One side of a threshold; None where neither a number nor "missing" gets through."""
        present = present and low < high
        return self._side(j, (low, high, present, missing) if present or missing else None)

    def _side(self, j: int, state: State | None) -> Side | None:
        if state is None:
            return None
        first = self.start[j]
        if isinstance(state, int):
            count = self.count[j]
            out = {first + c: 2.0 / count for c in range(count) if not state >> c & 1}
            return Side(state, out, (count - len(out)) / count if out else 0.0)
        low, high, present, missing = state
        lower, upper, scale = self.ranges[j]
        out = {}
        weight = 0.0
        if present and upper > lower:
            if scale is None:  # over the range: written out, most time is spent here
                span = upper - lower
                top = max((upper - high) / span, 0.0)
                bottom = max((low - lower) / span, 0.0)
            else:
                top, bottom = scale.above(high), scale.below(low)
            if top > 0:
                out[first] = top = min(top, 1.0)
            if bottom > 0:
                out[first + 1] = bottom = min(bottom, 1.0)
            if out:
                weight = max(1.0 - top - bottom, 0.0)
        if self.can_miss[j] and not (present and missing):
            out[first + (3 if present else 2)] = 1.0
            weight += 0.5
        return Side(state, out, weight)

    def walk(self, aligned: AlignedTree, stop: frozenset[int] | None = None) -> Iterator[_Step]:
        """Walk the nodes that some value can reach, in preorder, not beyond those in ``stop``."""
        tree = aligned.tree
        left, right = tree.children_left.tolist(), tree.children_right.tolist()
        feature, threshold = aligned.feature.tolist(), tree.threshold.tolist()
        missing_left = tree.missing_left.tolist()
        stack: list[_Step] = [(0, 0, {}, None, None)]
        while stack:
            step = stack.pop()
            yield step
            node, depth, box = step[:3]
            if left[node] < 0 or (stop is not None and node in stop):
                continue
            j = feature[node]
            sides = self.split(box, j, threshold[node], aligned.left_mask[node], missing_left[node])
            for child, side in ((right[node], sides[1]), (left[node], sides[0])):
                if side is not None:
                    stack.append((child, depth + 1, {**box, j: side}, box.get(j), side))


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
    _boxes: tuple[Box, ...]
    _steps: tuple[_Step, ...]

    @property
    def n_paths(self) -> int:
        """Number of paths that some value can reach."""
        return int(self.leaf.size)

    @property
    def conditions(self) -> tuple[tuple[Condition, ...], ...]:
        """What each path demands of each feature it restricts."""
        return tuple(self.conditions_of(p) for p in range(self.n_paths))

    def conditions_of(self, path: int) -> tuple[Condition, ...]:
        """Return what one path demands, one condition per restricted feature."""
        conditions = (
            Condition.from_state(self.space, j, side.state)
            for j, side in sorted(self._boxes[path].items())
        )
        return tuple(c for c in conditions if not c.unrestricted)

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

    @cached_property
    def operations(self) -> Operations:
        """The walk that leads to these paths, as changes of single coordinates."""
        start, coord, old, new = [0], [], [], []
        for _, _, _, side_before, side_after in self._steps:
            before = {} if side_before is None else side_before.tightening
            after = {} if side_after is None else side_after.tightening
            changed = [c for c, now in after.items() if before.get(c, 0.0) != now]
            changed += before.keys() - after.keys()
            coord += changed
            old += [before.get(c, 0.0) for c in changed]
            new += [after.get(c, 0.0) for c in changed]
            start.append(len(coord))
        path_of = {int(node): path for path, node in enumerate(self.leaf)}
        return Operations(
            depth=np.array([step[1] for step in self._steps], dtype=np.int32),
            start=np.array(start, dtype=np.int32),
            path=np.array([path_of.get(step[0], -1) for step in self._steps], dtype=np.int32),
            coord=np.array(coord, dtype=np.int32),
            old=np.array(old, dtype=np.float64),
            new=np.array(new, dtype=np.float64),
        )

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
        aligned = align_tree(tree, space)
        tree = aligned.tree
        clipped = _clipped_features(aligned)
        if clipped:
            warnings.warn(
                f"thresholds of {clipped} lie outside the space's range and were clipped to it; "
                "make the space from data that covers both trees",
                ClippedThresholdWarning,
                stacklevel=2,
            )
        wanted = None if classes is None else tuple(classes)
        if tree.is_classifier and wanted is None:
            wanted = tree.classes
        boxes = Boxes(space)
        stop, outcome_of = _leaf_outcomes(aligned, boxes, merge_equal_siblings)
        steps = tuple(boxes.walk(aligned, stop))
        ends = [step for step in steps if step[0] in stop]
        leaf = [step[0] for step in ends]
        indptr, coord, tightening, paper_weight = [0], list[int](), list[float](), list[float]()
        for _, _, box, _, _ in ends:
            weight = 0.0
            for _, (_, amounts, part) in sorted(box.items()):
                weight += part
                coord += amounts
                tightening += amounts.values()
            indptr.append(len(coord))
            paper_weight.append(weight)
        label, value = _outcomes(tree, space, wanted, leaf, outcome_of)
        return cls(
            tree=tree,
            space=space,
            classes=wanted,
            n_coords=boxes.start[-1],
            leaf=np.array(leaf, dtype=np.int32),
            indptr=np.array(indptr, dtype=np.int32),
            coord=np.array(coord, dtype=np.int32),
            tightening=np.array(tightening, dtype=np.float64),
            paper_weight=np.array(paper_weight, dtype=np.float64),
            label=label,
            value=value,
            _boxes=tuple(step[2] for step in ends),
            _steps=steps,
        )


def _clipped_features(aligned: AlignedTree) -> list[str]:
    space, j, t = aligned.space, aligned.feature, aligned.tree.threshold
    # Leaves and category sets have no threshold: comparisons with NaN are false.
    outside = ((t < space.lower[j]) | (t > space.upper[j])) & np.isfinite(t)
    return [space.feature_labels[k] for k in sorted(set(j[outside].tolist()))]


def _leaf_outcomes(
    aligned: AlignedTree, boxes: Boxes, merge_equal_siblings: bool
) -> tuple[frozenset[int], dict[int, tuple[int, int]]]:
    """Nodes where paths end, and for merged nodes what carries their outcome.

    That is a leaf, for the label or the response, and a node, for the class shares. A
    node with one reachable child is that child as far as outcomes go.
    """
    tree = aligned.tree
    leaves = frozenset(np.flatnonzero(tree.is_leaf).tolist())
    if not merge_equal_siblings:
        return leaves, {}
    reached = [step[0] for step in boxes.walk(aligned)]
    inside = set(reached)
    outcome: dict[int, tuple[int, int]] = {}
    for node in reversed(reached):
        if node in leaves:
            outcome[node] = (node, node)
            continue
        kids = [int(k) for k in (tree.children_left[node], tree.children_right[node])]
        kids = [k for k in kids if k in inside]
        if all(k in outcome for k in kids):
            leaf, shares = outcome[kids[0]]
            if len({_outcome_key(tree, outcome[k][0]) for k in kids}) == 1:
                outcome[node] = (leaf, shares if len(kids) == 1 else node)
    top = {node for node in outcome if node == 0}
    parents = {
        int(child): node
        for node in reached
        if node not in leaves
        for child in (tree.children_left[node], tree.children_right[node])
    }
    top |= {node for node in outcome if node != 0 and parents[node] not in outcome}
    return frozenset(top), outcome


def _outcome_key(tree: Tree, node: int) -> float | int:
    return float(tree.value[node, 0]) if not tree.is_classifier else int(tree.label[node])


def _outcomes(
    tree: Tree,
    space: FeatureSpace,
    classes: tuple[Any, ...] | None,
    nodes: list[int],
    outcome_of: dict[int, tuple[int, int]],
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Labels and values where paths end, in the aligned classes or the response range.

    A merged node keeps its own shares; its label, or response, is that of the leaves it
    replaced.
    """
    leaves = shares = nodes
    if outcome_of:
        leaves, shares = map(list, zip(*(outcome_of[node] for node in nodes), strict=True))
    if tree.classes is None:
        if space.response_range is None:
            raise FeatureAlignmentError(
                "expected a space with a response range for regression trees, got none; "
                "make it with FeatureSpace.from_data(X, y, task='regression')"
            )
        low, high = space.response_range
        value = np.clip(tree.value[leaves], low, high)
        scaled = share_of_range(value, low, high) if high > low else np.zeros_like(value)
        return np.zeros(len(nodes), dtype=np.int32), scaled
    assert classes is not None
    if classes == tree.classes:
        return tree.label[leaves], tree.value[shares]
    position = {c: i for i, c in enumerate(classes)}
    column = np.array([position[c] for c in tree.classes], dtype=np.int32)
    value = np.zeros((len(nodes), len(classes)))
    value[:, column] = tree.value[shares]
    return column[tree.label[leaves]], value
