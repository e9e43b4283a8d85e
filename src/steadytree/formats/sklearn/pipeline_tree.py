"""A tree over raw columns, told in the columns that the steps of a pipeline make of them.

The inverse of reading: "colour is red or blue" becomes thresholds on ``colour_red`` and
``colour_blue``, an amount of money becomes a scaled number. What the steps make of values is asked
of the fitted steps themselves. A condition that they cannot tell (two categories lumped together,
a missing value where they fill one in) is refused by name. A threshold that falls between two
numbers which the arithmetic rounds to the same is moved up to the next that does not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadytree.formats.shares_for_labels import over_columns
from steadytree.formats.sklearn.pipeline_columns import PipelineColumns
from steadytree.formats.sklearn.pipeline_numbers import (
    MovedThreshold,
    NumberQuestions,
    Question,
    Reached,
    equal_points,
    tell_apart,
)
from steadytree.formats.sklearn.pipeline_steps import compared_cells
from steadytree.formats.split_tests import split_test
from steadytree.plugins import (
    MAX_NODES,
    Branch,
    Leaf,
    Node,
    StandIn,
    Tree,
    UnsupportedModelError,
    build_tree,
    with_stand_ins,
)

FloatArray = NDArray[np.float64]


def tree_in_pipeline(
    tree: Tree, columns: PipelineColumns, *, precision: str, deployed: Mapping[int, FloatArray]
) -> tuple[Tree, list[MovedThreshold]]:
    """Return a tree over transformed columns that decides raw rows as ``tree`` does.

    ``precision`` is what the last step compares in; ``deployed`` are the thresholds of the tree
    that is there, by column: a split that did not change keeps its own.

    Also returned are the thresholds that had to be moved.
    """
    placed = over_columns(tree, columns.feature_names, columns.n_raw, "the pipeline")
    placed = _missing_as_filled_in(placed, columns)
    writing = _Writing(placed, columns, precision, deployed)
    try:
        root = writing.node(0, {}, 1.0)
    except RecursionError:
        raise _too_large() from None
    fields: dict[str, Any] = {
        "classes": placed.classes,
        "decision": placed.decision,
        "precision": precision,
        "n_features": columns.n_columns,
        "metadata": placed.metadata,
    }
    return build_tree(root, **fields), writing.numbers.moved


def _missing_as_filled_in(tree: Tree, columns: PipelineColumns) -> Tree:
    """Send missing values where their substitute goes, in splits where that changes nothing.

    A tree that was read may reach equal parts in several ways.
    """
    for raw, value in columns.imputed.items():
        categories = tree.categories[raw]
        if categories is not None and value not in categories:
            continue
        code = float(value) if categories is None else float(categories.index(value))
        other = with_stand_ins(tree, {raw: StandIn(code)})
        if _same_where_missing(tree, other, raw):
            tree = other
    return tree


def _same_where_missing(one: Tree, two: Tree, feature: int) -> bool:
    """Whether rows without a feature end alike in two trees that differ in where these go.

    Compares the two trees without the splits on the feature, node by node.
    """
    return _asked_beside(one, feature) == _asked_beside(two, feature)


def _asked_beside(tree: Tree, feature: int) -> list[tuple[Any, ...]]:
    """List the splits and leaves that rows without a feature may meet, left before right."""
    out: list[tuple[Any, ...]] = []
    waiting = [0]
    while waiting:
        node = waiting.pop()
        left, right = int(tree.children_left[node]), int(tree.children_right[node])
        if tree.is_leaf[node]:
            out.append((int(tree.label[node]), tree.value[node].tolist()))
        elif tree.feature[node] == feature:
            waiting.append(left if tree.missing_left[node] else right)
        else:
            split = (
                int(tree.feature[node]),
                # NaN is not equal to itself.
                None if np.isnan(tree.threshold[node]) else float(tree.threshold[node]),
                tree.left_categories[node],
                bool(tree.missing_left[node]),
                bool(tree.unseen_left[node]),
            )
            out.append(split)
            waiting += (right, left)
    return out


def _too_large() -> UnsupportedModelError:
    return UnsupportedModelError(
        f"expected at most {MAX_NODES:,} nodes in the columns of the pipeline, got more: sets of "
        "categories are written out one by one; use fewer of them, or export the tree"
    )


class _Writing:
    """A tree over raw columns on its way into a pipeline."""

    def __init__(
        self,
        tree: Tree,
        columns: PipelineColumns,
        precision: str,
        deployed: Mapping[int, FloatArray],
    ) -> None:
        self.tree = tree
        self.columns = columns
        self.count = 0
        by_set = sorted({int(tree.feature[n]) for n in self._splits(by_set=True)})
        for node in np.flatnonzero(~tree.is_leaf).tolist():
            self._check_kind(node)
        self.points = {raw: columns.points(raw) for raw in by_set}
        self.cells = {
            raw: compared_cells(points.rows[:, columns.columns_of(raw)], precision)
            for raw, points in self.points.items()
        }
        self.numbers = NumberQuestions(
            tree, self._splits(by_set=False), columns, precision, deployed
        )

    def _splits(self, *, by_set: bool) -> list[int]:
        return [
            node
            for node in np.flatnonzero(~self.tree.is_leaf).tolist()
            if (self.tree.left_categories[node] is not None) == by_set
        ]

    def _check_kind(self, node: int) -> None:
        raw = int(self.tree.feature[node])
        name = self.columns.labels[raw]
        if not self.columns.columns_of(raw):
            raise UnsupportedModelError(
                f"expected splits on columns that the pipeline keeps, got one on {name!r}, which "
                f"it throws away; retrain without it: forbid=[{name!r}]"
            )
        known = self.columns.categories[raw] is not None
        if known != (self.tree.left_categories[node] is not None):
            kinds = ("a number", "a category")
            raise UnsupportedModelError(
                f"expected {name!r} to be {kinds[known]}, as {self.columns.taken_as(raw)} takes "
                f"it, got a split that takes it for {kinds[not known]}"
            )

    # -- categories -------------------------------------------------------------------

    def _by_category(self, node: int, alive: Mapping[int, tuple[int, ...]]) -> Question:
        """Return what to ask for a set of categories, of the values that come this far."""
        raw = int(self.tree.feature[node])
        points, test = self.points[raw], split_test(self.tree, node)
        listed = dict.fromkeys(test.left, True) | dict.fromkeys(test.right, False)
        left = np.array([listed.get(c, test.unseen_left) for c in points.categories], dtype=bool)
        if points.missing is not None:
            left = np.append(left, test.missing_left)
        if points.unseen is not None:
            left = np.append(left, test.unseen_left)
            for category in listed.keys() - set(points.categories):
                if listed[category] != test.unseen_left:
                    raise self._cannot_tell(raw, repr(category), "other categories never met")
        here = np.array(alive.get(raw, range(len(left))), dtype=np.intp)
        cells = self.cells[raw]
        same = equal_points(cells[here], left[here])
        if same is not None:
            one, two = (points.words(int(here[at])) for at in same)
            raise self._cannot_tell(raw, one, two)
        return tell_apart(cells, left, self.columns.columns_of(raw), here)

    def _cannot_tell(self, raw: int, one: str, two: str) -> UnsupportedModelError:
        return UnsupportedModelError(
            f"expected splits that the steps of the pipeline can tell, got one on "
            f"{self.columns.labels[raw]!r} that parts {one} from {two}: after "
            f"{self.columns.taken_as(raw)} both are the same; export the tree, or fit the pipeline "
            "again on rows that have all categories"
        )

    # -- nodes ------------------------------------------------------------------------

    def node(self, node: int, alive: Mapping[int, tuple[int, ...]], share: float) -> Node:
        """Return a node of the tree with all below it; ``share`` of its weight comes here.

        ``alive``: points that still come this far, by raw column.
        """
        tree = self.tree
        self.count += 1
        if self.count > MAX_NODES:
            raise _too_large()
        label = int(tree.label[node]) if tree.is_classifier else None
        weight = float(tree.weight[node]) * share
        if tree.is_leaf[node]:
            return Leaf(tree.value[node], weight, label)
        by_set = tree.left_categories[node] is not None
        asked = self._by_category(node, alive) if by_set else self.numbers.question(node)
        copies = {side: max(1, _count(asked, side)) for side in (True, False)}
        raw = int(tree.feature[node])

        def side(end: Reached) -> Node:
            below = (tree.children_left if end.left else tree.children_right)[node]
            still = {**alive, raw: end.points} if by_set else alive
            return self.node(int(below), still, share / copies[end.left])

        return _laid_out(asked, side, tree.value[node], weight, label)


def _laid_out(
    asked: Question,
    side: Callable[[Reached], Node],
    value: Any = None,
    weight: float | None = None,
    label: int | None = None,
) -> Node:
    """Return questions as nested conditions; the first stands for the node itself."""
    if isinstance(asked, Reached):
        return side(asked)
    return Branch(
        feature=asked.column,
        threshold=asked.threshold,
        missing_left=asked.missing_left,
        left=_laid_out(asked.low, side),
        right=_laid_out(asked.high, side),
        value=value,
        weight=weight,
        label=label,
    )


def _count(asked: Question, left: bool) -> int:
    if isinstance(asked, Reached):
        return int(asked.left == left)
    return _count(asked.low, left) + _count(asked.high, left)
