"""Boxes and arrows are those of the tree, in its words."""

from __future__ import annotations

from steadytree.formats.pages.pictures import draw_tree
from tests.foreign import random_tree
from tests.formats.odd_trees import marked_tree


def test_every_node_is_a_box_and_every_side_an_arrow() -> None:
    tree = random_tree(3)
    boxes, arrows = draw_tree(tree)
    assert [box.node for box in boxes] == tree.preorder.tolist()
    assert [box.is_leaf for box in boxes] == tree.is_leaf[tree.preorder].tolist()
    assert {(a.start, a.end) for a in arrows} == {
        (int(tree.parent[node]), node) for node in range(1, tree.n_nodes)
    }


def test_a_label_kept_against_its_share_says_so() -> None:
    boxes, _ = draw_tree(marked_tree())
    kept = [box.lines for box in boxes if "kept although the share says otherwise" in box.lines]
    assert [lines[0] for lines in kept] == ["<yes>|\\"]
