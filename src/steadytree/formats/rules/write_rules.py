"""Write a tree in words that a person can read, edit and have read again, exactly.

The grammar is on the page docs/guide/rules.md; ``readers.words.rules`` reads it. Every number is
written with all its digits, every share and label said.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from steadytree.formats.code.parts import (
    MAX_NESTING,
    Side,
    check_classes,
    head_words,
    number,
    split_sides,
)
from steadytree.formats.split_tests import split_test
from steadytree.plugins import Tree

SUFFIXES = (".rules",)

# What begins a line or goes on one with a meaning of its own.
_WORDS = {
    *("always", "and", "any", "anything", "but", "categories", "class", "classes", "decision"),
    *("elif", "else", "false", "features", "from", "if", "in", "is", "missing", "not", "nothing"),
    *("observed", "of", "or", "otherwise", "predicts", "row", "rows", "true", "truncated"),
    *("value", "weights"),
}


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
        yield f"classes: {', '.join(map(_word, tree.classes))}"
        if tree.decision.threshold is not None:
            positive = _word(tree.classes[tree.decision.position])
            yield f"decision: {positive} from {number(tree.decision.threshold)}"
    yield f"features: {', '.join(map(_word, tree.feature_labels))}"
    for name, categories in zip(tree.feature_labels, tree.categories, strict=True):
        if categories is not None:
            present = [_word(c) for c in categories if c is not None and c == c]
            yield f"categories of {_word(name)}: {', '.join(present)}"
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
            (level, _condition(side), int(tree.children_left[node])),
        )


def _condition(side: Side) -> str:
    name = _word(side.name)
    if side.operator == "all":
        return f"any {name}" if side.missing else f"{name} is not missing"
    if side.operator == "none":
        return f"{name} is {'missing' if side.missing else 'nothing'}"
    bound_or_values = number(side.bound) if not side.values else ", ".join(map(_word, side.values))
    return f"{name} {side.operator} {bound_or_values}{' or missing' if side.missing else ''}"


def _outcome(tree: Tree, leaf: int) -> str:
    weight = float(tree.weight[leaf])
    count = f"{int(weight) if weight.is_integer() else number(weight)} rows"
    if tree.classes is None:
        return f"{number(tree.value[leaf, 0])} ({count})"
    shares = (
        f"{_word(label)} {number(share)}"
        for label, share in zip(tree.classes, tree.value[leaf], strict=True)
    )
    return f"{_word(tree.classes[tree.label[leaf]])} ({', '.join(shares)}, {count})"


def _word(value: Any) -> str:
    """Write a name, class or category: as it is where that is plain, else quoted."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", value) and value.lower() not in _WORDS:
        return str(value)
    # Quoted text may hold anything; what cannot be seen is escaped.
    return json.dumps(value, ensure_ascii=not value.isprintable())
