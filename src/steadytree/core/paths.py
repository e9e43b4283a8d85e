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
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadytree.core.alignment import AlignedTree, align_tree
from steadytree.core.space import FeatureSpace
from steadytree.core.tree import Tree
from steadytree.core.words import Condition, NumericState, join_conditions
from steadytree.exceptions import ClippedThresholdWarning, FeatureAlignmentError

__all__ = ["Paths", "coordinate_start", "walk_reachable"]

State = NumericState | int
States = dict[int, State]
# Tightening of each restricted coordinate, and the feature's part of eq. (weight-path).
_Restriction = tuple[dict[int, float], float]


def coordinate_start(space: FeatureSpace) -> NDArray[np.int64]:
    """First coordinate of each feature; the last entry is the number of coordinates.

    Numeric: upper side, lower side, and (if it can be missing) present, missing.
    Categorical: one per category, and one for missing.
    """
    sizes = [
        space.n_categories(j) if space.categories[j] is not None else 2 + 2 * int(missing)
        for j, missing in enumerate(space.can_be_missing)
    ]
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


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
    node_depth, node_start, node_path : int32 arrays
        The tree walk in preorder: depth of each node, its range of operations, and the
        path that ends there (-1 inside the tree).
    op_coord, op_old, op_new : arrays
        Operations: the tightening of a coordinate at the parent and at the node.
    indptr, coord, tightening : arrays
        Final tightenings of each path (only those above 0), as compressed rows.
    tightening_sum : float array (n_paths,)
        s_p.
    paper_weight : float array (n_paths,)
        w(p) of eq. (weight-path).
    label : int32 array (n_paths,)
    value : float array (n_paths, n_classes) or (n_paths, 1)
        Class shares, or the response scaled to [0, 1].
    conditions : tuple of tuple of Condition
        What each path demands, feature by feature, in the tree's own units.
    """

    tree: Tree
    space: FeatureSpace
    classes: tuple[Any, ...] | None
    n_coords: int
    leaf: NDArray[np.int32]
    node_depth: NDArray[np.int32]
    node_start: NDArray[np.int32]
    node_path: NDArray[np.int32]
    op_coord: NDArray[np.int32]
    op_old: NDArray[np.float64]
    op_new: NDArray[np.float64]
    indptr: NDArray[np.int32]
    coord: NDArray[np.int32]
    tightening: NDArray[np.float64]
    tightening_sum: NDArray[np.float64]
    paper_weight: NDArray[np.float64]
    label: NDArray[np.int32]
    value: NDArray[np.float64]
    _states: tuple[States, ...]

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
        made = (
            Condition.from_state(self.space, j, state)
            for j, state in sorted(self._states[path].items())
        )
        return tuple(c for c in made if not c.unrestricted)

    def rule_text(self, path: int) -> str:
        """One path in words: conditions, then the outcome."""
        return f"{join_conditions(self.conditions_of(path))}: {self.outcome_text(path)}"

    def outcome_text(self, path: int) -> str:
        """Label of a path, or its response in the tree's own units."""
        if self.classes is None:
            return f"{self.tree.value[self.leaf[path], 0]:.6g}"
        return str(self.classes[self.label[path]])

    def dense(self) -> NDArray[np.float64]:
        """All tightenings as a matrix (n_paths, n_coords); for tests and small trees."""
        out = np.zeros((self.n_paths, self.n_coords))
        rows = np.repeat(np.arange(self.n_paths), np.diff(self.indptr))
        out[rows, self.coord] = self.tightening
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
        stop, outcome_of = _leaf_outcomes(aligned, merge_equal_siblings)
        start = coordinate_start(space)
        build = _PathBuilder(aligned, start)
        for node, depth, feature, states, old, new in walk_reachable(aligned, stop):
            build.add(node, depth, feature, states, old, new, ends=node in stop)
        label, value = _outcomes(tree, space, wanted, build.leaf, outcome_of)
        return cls(
            tree=tree,
            space=space,
            classes=wanted,
            n_coords=int(start[-1]),
            label=label,
            value=value,
            **build.arrays(),
        )


def walk_reachable(
    aligned: AlignedTree, stop: frozenset[int] | None = None
) -> Iterator[tuple[int, int, int, States, State | None, State | None]]:
    """Walk the nodes that some value can reach, in preorder.

    Yields ``(node, depth, feature, states, old, new)``: the feature that the step into
    the node concerned (-1 at the root), what the path demands so far, and the state of
    that feature before and after the step. Nodes in ``stop`` are not entered further.
    """
    tree, space = aligned.tree, aligned.space
    left, right = tree.children_left.tolist(), tree.children_right.tolist()
    feature, threshold = aligned.feature.tolist(), tree.threshold.tolist()
    missing_left = tree.missing_left.tolist()
    can_miss = space.can_be_missing.tolist()
    full = [
        (-np.inf, np.inf, True, can_miss[j])
        if cats is None
        else (1 << (len(cats) + can_miss[j])) - 1
        for j, cats in enumerate(space.categories)
    ]
    stack: list[tuple[int, int, int, States, State | None, State | None]] = [
        (0, 0, -1, {}, None, None)
    ]
    while stack:
        item = stack.pop()
        yield item
        node, depth, _, states, _, _ = item
        if left[node] < 0 or (stop is not None and node in stop):
            continue
        j = feature[node]
        old = states.get(j, full[j])
        goes_left: State | None
        goes_right: State | None
        mask = aligned.left_mask[node]
        if mask is not None:
            assert isinstance(old, int)
            goes_left, goes_right = (old & mask) or None, (old & ~mask) or None
        else:
            assert isinstance(old, tuple)
            low, high, present, missing = old
            t, to_left = threshold[node], missing_left[node]
            goes_left = _numeric_state(low, min(high, t), present, missing and to_left)
            goes_right = _numeric_state(max(low, t), high, present, missing and not to_left)
        for child, new in ((right[node], goes_right), (left[node], goes_left)):
            if new is not None:
                stack.append((child, depth + 1, j, {**states, j: new}, old, new))


def _numeric_state(low: float, high: float, present: bool, missing: bool) -> State | None:
    """Bounds after a step; None where neither a number nor "missing" gets through."""
    present = present and low < high
    return (low, high, present, missing) if present or missing else None


def _clipped_features(aligned: AlignedTree) -> list[str]:
    tree, space = aligned.tree, aligned.space
    numeric = np.isfinite(tree.threshold)
    j, t = aligned.feature[numeric], tree.threshold[numeric]
    outside = (t < space.lower[j]) | (t > space.upper[j])
    return [space.feature_labels[k] for k in sorted(set(j[outside].tolist()))]


def _leaf_outcomes(
    aligned: AlignedTree, merge_equal_siblings: bool
) -> tuple[frozenset[int], dict[int, tuple[int, int]]]:
    """Nodes where paths end, and for merged nodes what carries their outcome.

    That is a leaf, for the label or the response, and a node, for the class shares. A
    node with one reachable child is that child as far as outcomes go.
    """
    tree = aligned.tree
    leaves = frozenset(tree.leaves.tolist())
    if not merge_equal_siblings:
        return leaves, {}
    reached = [node for node, *_ in walk_reachable(aligned)]
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


class _PathBuilder:
    """Collect the walk's operations and the final tightenings of every path."""

    def __init__(self, aligned: AlignedTree, start: NDArray[np.int64]) -> None:
        space = aligned.space
        self.start = start.tolist()
        self.lower, self.upper = space.lower.tolist(), space.upper.tolist()
        self.count = [space.n_categories(j) for j in range(space.n_features)]
        self.can_miss = space.can_be_missing.tolist()
        self.depth: list[int] = []
        self.node_start = [0]
        self.node_path: list[int] = []
        self.op_coord: list[int] = []
        self.op_old: list[float] = []
        self.op_new: list[float] = []
        self.leaf: list[int] = []
        self.states: list[States] = []
        self.indptr = [0]
        self.coord: list[int] = []
        self.tightening: list[float] = []
        self.weight: list[float] = []
        self.known: dict[tuple[int, State], _Restriction] = {}

    def restriction(self, j: int, state: State) -> _Restriction:
        """Return the tightenings and the weight of one feature in one state."""
        key = (j, state)
        found = self.known.get(key)
        if found is None:
            found = self.known[key] = self._restriction(j, state)
        return found

    def _restriction(self, j: int, state: State) -> _Restriction:
        first = self.start[j]
        if isinstance(state, int):
            count = self.count[j]
            out = {first + c: 2.0 / count for c in range(count) if not state >> c & 1}
            return out, (count - len(out)) / count if out else 0.0
        low, high, present, missing = state
        span = self.upper[j] - self.lower[j]
        out = {}
        weight = 0.0
        if present and span > 0:
            top = min(max((self.upper[j] - high) / span, 0.0), 1.0)
            bottom = min(max((low - self.lower[j]) / span, 0.0), 1.0)
            if top > 0:
                out[first] = top
            if bottom > 0:
                out[first + 1] = bottom
            if out:
                weight = max(1.0 - top - bottom, 0.0)
        if self.can_miss[j] and not (present and missing):
            out[first + (3 if present else 2)] = 1.0
            weight += 0.5
        return out, weight

    def add(
        self,
        node: int,
        depth: int,
        j: int,
        states: States,
        old: State | None,
        new: State | None,
        *,
        ends: bool,
    ) -> None:
        """Take one step of the walk; where it ends, a path is complete."""
        if old is not None and new is not None and old != new:
            before, after = self.restriction(j, old)[0], self.restriction(j, new)[0]
            for coord, now in after.items():
                was = before.get(coord, 0.0)
                if was != now:
                    self.op_coord.append(coord)
                    self.op_old.append(was)
                    self.op_new.append(now)
            for coord in before.keys() - after.keys():
                self.op_coord.append(coord)
                self.op_old.append(before[coord])
                self.op_new.append(0.0)
        self.depth.append(depth)
        self.node_start.append(len(self.op_coord))
        self.node_path.append(len(self.leaf) if ends else -1)
        if not ends:
            return
        total = 0.0
        for feature in sorted(states):
            tightened, weight = self.restriction(feature, states[feature])
            total += weight
            self.coord += tightened.keys()
            self.tightening += tightened.values()
        self.indptr.append(len(self.coord))
        self.weight.append(total)
        self.leaf.append(node)
        self.states.append(states)

    def arrays(self) -> dict[str, Any]:
        tightening = np.array(self.tightening, dtype=np.float64)
        rows = np.repeat(np.arange(len(self.leaf)), np.diff(self.indptr))
        return {
            "leaf": np.array(self.leaf, dtype=np.int32),
            "node_depth": np.array(self.depth, dtype=np.int32),
            "node_start": np.array(self.node_start, dtype=np.int32),
            "node_path": np.array(self.node_path, dtype=np.int32),
            "op_coord": np.array(self.op_coord, dtype=np.int32),
            "op_old": np.array(self.op_old, dtype=np.float64),
            "op_new": np.array(self.op_new, dtype=np.float64),
            "indptr": np.array(self.indptr, dtype=np.int32),
            "coord": np.array(self.coord, dtype=np.int32),
            "tightening": tightening,
            "tightening_sum": np.bincount(rows, weights=tightening, minlength=len(self.leaf)),
            "paper_weight": np.array(self.weight, dtype=np.float64),
            "_states": tuple(self.states),
        }


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
    leaves = [outcome_of.get(node, (node, node))[0] for node in nodes]
    shares = [outcome_of.get(node, (node, node))[1] for node in nodes]
    if tree.classes is None:
        if space.response_range is None:
            raise FeatureAlignmentError(
                "expected a space with a response range for regression trees, got none; "
                "make it with FeatureSpace.from_data(X, y, task='regression')"
            )
        low, high = space.response_range
        span = high - low
        value = tree.value[leaves] - low
        scaled = np.clip(value / span, 0, 1) if span > 0 else np.zeros_like(value)
        return np.zeros(len(nodes), dtype=np.int32), scaled
    assert classes is not None
    position = {c: i for i, c in enumerate(classes)}
    column = np.array([position[c] for c in tree.classes], dtype=np.int32)
    value = np.zeros((len(nodes), len(classes)))
    value[:, column] = tree.value[shares]
    return column[tree.label[leaves]], value
