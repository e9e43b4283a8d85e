from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steadytree.exceptions import InputError
from steadytree.tree.tree import Tree
from steadytree.views.figures import fold_nodes, layout_diagram, layout_outline


@st.composite
def trees(draw: st.DrawFn, most: int = 60) -> Tree:
    """A tree of random shape: leaves are split one after another."""
    left, right = [-1], [-1]
    for _ in range(draw(st.integers(0, most))):
        leaves = [i for i, child in enumerate(left) if child < 0]
        node = draw(st.sampled_from(leaves))
        left[node], right[node] = len(left), len(left) + 1
        left += [-1, -1]
        right += [-1, -1]
    n = len(left)
    return Tree(
        children_left=left,
        children_right=right,
        feature=[0 if child >= 0 else -1 for child in left],
        threshold=np.arange(n, dtype=float),
        value=np.full((n, 2), 0.5),
        weight=np.arange(n, 0, -1, dtype=float),
        n_features=1,
        classes=("no", "yes"),
    )


def children(tree: Tree) -> tuple[list[int], list[int]]:
    return tree.children_left.tolist(), tree.children_right.tolist()


@given(trees())
def test_outline_puts_every_node_on_its_own_line_below_its_parent(tree: Tree) -> None:
    layout = layout_outline(*children(tree))
    assert [p.position for p in layout.nodes] == list(range(tree.n_nodes))
    assert [p.node for p in layout.nodes] == tree.preorder.tolist()
    where = layout.by_node()
    for placed in layout.nodes:
        assert placed.depth == tree.node_depth[placed.node]
        if placed.parent >= 0:
            assert where[placed.parent].position < placed.position
            side = tree.children_left if placed.is_left else tree.children_right
            assert side[placed.parent] == placed.node


@given(trees())
def test_branches_of_a_diagram_never_share_a_place(tree: Tree) -> None:
    layout = layout_diagram(*children(tree))
    where = layout.by_node()
    leaves = [where[leaf].position for leaf in tree.leaves.tolist()]
    assert leaves == list(range(tree.n_leaves))
    for node in range(tree.n_nodes):
        if not tree.is_leaf[node]:
            one = where[int(tree.children_left[node])].position
            two = where[int(tree.children_right[node])].position
            assert one < where[node].position < two
    # Nodes of one depth are at least one unit apart: their boxes cannot overlap.
    for depth in range(layout.depth + 1):
        row = sorted(p.position for p in layout.nodes if p.depth == depth)
        assert all(b - a >= 1 for a, b in pairwise(row))


@given(trees(), st.integers(1, 30))
def test_folding_keeps_to_the_limit_and_counts_all_it_hides(tree: Tree, limit: int) -> None:
    folded = fold_nodes(*children(tree), limit)
    layout = layout_outline(*children(tree), folded)
    ends = [p for p in layout.nodes if p.is_leaf or p.hidden]
    assert len(ends) <= max(limit, 1)
    assert sum(p.hidden or 1 for p in ends) == tree.n_leaves
    assert bool(folded) == (tree.n_leaves > limit)


@given(trees(), st.data())
def test_important_leaves_are_opened_first(tree: Tree, data: st.DataObject) -> None:
    leaf = data.draw(st.sampled_from(tree.leaves.tolist()))
    folded = fold_nodes(*children(tree), int(tree.node_depth[leaf]) + 1, important=[leaf])
    shown = {p.node for p in layout_outline(*children(tree), folded).nodes}
    assert leaf in shown


def test_no_leaf_to_draw_is_an_error() -> None:
    with pytest.raises(InputError, match="max_leaves of 1 or more, got 0"):
        fold_nodes([-1], [-1], 0)
