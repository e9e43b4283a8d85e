"""Pictures of a tree that other tools draw: Graphviz and Mermaid lay the same boxes out."""

from __future__ import annotations

from steadytree.plugins import PAGE, PAGE_BRANCH, LeafNumbers, Tree, branch_texts, kept_words

Box = tuple[int, bool, list[str]]
"""A node: its number, whether it is a leaf, and its lines of words."""

Arrow = tuple[int, int, str]
"""The way from a split to one of its sides, with the condition in words."""


def draw_tree(tree: Tree) -> tuple[list[Box], list[Arrow]]:
    """Return boxes and arrows of a tree, from the root, left before right."""
    sides = branch_texts(tree, style=PAGE_BRANCH)
    boxes: list[Box] = []
    arrows: list[Arrow] = []
    for node in tree.preorder.tolist():
        if tree.is_leaf[node]:
            boxes.append((node, True, _leaf_lines(tree, node)))
            continue
        boxes.append((node, False, [PAGE.name(tree.feature_labels[int(tree.feature[node])])]))
        below = (int(tree.children_left[node]), int(tree.children_right[node]))
        arrows += [(node, end, sides[node][k]) for k, end in enumerate(below)]
    return boxes, arrows


def _leaf_lines(tree: Tree, node: int) -> list[str]:
    numbers = LeafNumbers.of(tree, node)
    lines = [numbers.label_words(PAGE)]
    if numbers.label is not None:
        lines.append(f"predicts {PAGE.name(numbers.shown)} {numbers.predicted_words(PAGE)}")
    if observed := numbers.observed_words(PAGE):
        lines.append(f"observed {observed}")
    return [*lines, kept] if (kept := kept_words(tree, node)) else lines
