"""What a picture of a tree shows, whoever draws it: boxes, arrows and their words.

Graphviz and Mermaid lay the same boxes out; only their marks differ. Colours tell the labels
apart and are never alone: every leaf names its label.
"""

from __future__ import annotations

from dataclasses import dataclass

from steadytree.plugins import (
    PAGE,
    PAGE_BRANCH,
    PAIR_COLOURS,
    LeafNumbers,
    Tree,
    branch_texts,
    kept_words,
)


@dataclass(frozen=True)
class Box:
    """A node of the tree: its number, its lines of words, and its label where it is a leaf."""

    node: int
    lines: tuple[str, ...]
    is_leaf: bool
    label: int


@dataclass(frozen=True)
class Arrow:
    """The way from a split to one of its sides, with the condition in words."""

    start: int
    end: int
    words: str


def draw_tree(tree: Tree) -> tuple[list[Box], list[Arrow]]:
    """Return boxes and arrows of a tree, from the root, left before right."""
    sides = branch_texts(tree, style=PAGE_BRANCH)
    boxes, arrows = [], []
    for node in tree.preorder.tolist():
        leaf = bool(tree.is_leaf[node])
        name = PAGE.name(tree.feature_labels[int(tree.feature[node])])
        lines = _leaf_lines(tree, node) if leaf else (name,)
        boxes.append(Box(node, lines, leaf, int(tree.label[node])))
        if not leaf:
            below = (int(tree.children_left[node]), int(tree.children_right[node]))
            arrows += [Arrow(node, end, sides[node][k]) for k, end in enumerate(below)]
    return boxes, arrows


def _leaf_lines(tree: Tree, node: int) -> tuple[str, ...]:
    numbers = LeafNumbers.of(tree, node)
    lines = [numbers.label_words(PAGE)]
    if numbers.label is not None:
        lines.append(f"predicts {PAGE.name(numbers.shown)} {numbers.predicted_words(PAGE)}")
    if observed := numbers.observed_words(PAGE):
        lines.append(f"observed {observed}")
    if kept := kept_words(tree, node):
        lines.append(kept)
    return tuple(lines)


def label_colour(label: int) -> str:
    """Colour of a class by its position; they repeat where there are many."""
    return PAIR_COLOURS[label % len(PAIR_COLOURS)]
