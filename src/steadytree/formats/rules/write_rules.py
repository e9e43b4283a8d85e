"""Write a tree in words that a person can read, edit and have read again, exactly.

The grammar is on the page docs/guide/rules.md; ``read_rules`` reads it. Every number is
written with all its digits, every share and label said.
"""

from __future__ import annotations

from collections.abc import Iterator

from steadytree.formats.code.parts import (
    MAX_NESTING,
    check_classes,
    head_words,
    number,
    plain_word,
    side_words,
    split_sides,
)
from steadytree.formats.split_tests import split_test
from steadytree.plugins import Tree

SUFFIXES = (".rules",)


def write(tree: Tree) -> str:
    """Write the tree in words.

    Parameters
    ----------
    tree : Tree

    Returns
    -------
    str
    """
    check_classes(tree)
    return "\n".join([*_head(tree), *_branches(tree)]) + "\n"


def _head(tree: Tree) -> Iterator[str]:
    yield from (f"# {line}" for line in head_words(tree, "A decision tree"))
    if tree.classes is not None:
        yield f"classes: {', '.join(map(plain_word, tree.classes))}"
        if tree.decision.threshold is not None:
            positive = plain_word(tree.classes[tree.decision.position])
            yield f"decision: {positive} from {number(tree.decision.threshold)}"
    yield f"features: {', '.join(map(plain_word, tree.feature_labels))}"
    for name, categories in zip(tree.feature_labels, tree.categories, strict=True):
        if categories is not None:
            present = [plain_word(c) for c in categories if c is not None and c == c]
            yield f"categories of {plain_word(name)}: {', '.join(present)}"
    yield ""


def _branches(tree: Tree) -> Iterator[str]:
    # Deep trees would be mostly spaces.
    indent = "    " if tree.depth <= MAX_NESTING else " "
    if tree.is_leaf[0]:
        yield f"always: {_outcome(tree, 0)}"
        return
    waiting: list[tuple[int, str, int]] = [(0, "", 0)]
    while waiting:
        level, branch, node = waiting.pop()
        margin = indent * level
        if branch and tree.is_leaf[node]:
            yield f"{margin}{branch}: {_outcome(tree, node)}"
            continue
        if branch:
            yield f"{margin}{branch}:"
            level += 1
        side = split_sides(split_test(tree, node))[0]
        waiting += (
            (level, "else", int(tree.children_right[node])),
            (level, side_words(side), int(tree.children_left[node])),
        )


def _outcome(tree: Tree, leaf: int) -> str:
    weight = float(tree.weight[leaf])
    count = f"{int(weight) if weight.is_integer() else number(weight)} rows"
    if tree.classes is None:
        return f"{number(tree.value[leaf, 0])} ({count})"
    shares = (
        f"{plain_word(label)} {number(share)}"
        for label, share in zip(tree.classes, tree.value[leaf], strict=True)
    )
    return f"{plain_word(tree.classes[tree.label[leaf]])} ({', '.join(shares)}, {count})"
