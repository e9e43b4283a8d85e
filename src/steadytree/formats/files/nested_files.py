"""A tree as nested dictionaries and as JSON: for every system that has no format of its own.

``as_tree`` reads it again, from a file or as a dictionary.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from steadytree.plugins import (
    InputError,
    Tree,
    TreeFormatError,
    choose_tree,
    parse_json,
    plain_scalars,
    read_bytes,
    tree_from_nested,
    write_atomic,
)

# -- Read JSON files of nested conditions: written by hand, or as the format "dict" --

FILES = "nested conditions as JSON (.json)"

_BEGINS = re.compile(rb'\s*\{\s*"')
# What stands at the beginning of such a file, and what only in those of others.
_ENTRIES = re.compile(rb'"(tree|feature|threshold|categories|left|right|label|shares|value)"\s*:')
_OF_OTHERS = re.compile(rb'"(format|nodes|learner|model_info|features_info)"\s*:')


def reads(model: Any) -> bool:
    """Whether an object is a dictionary with such entries."""
    known = {"tree", "feature", "left", "right", "value", "label", "shares"}
    return isinstance(model, Mapping) and not known.isdisjoint(model)


def read(model: Any, tree_index: int | None = None) -> Tree:
    """Read dictionaries; errors say where in the tree."""
    choose_tree(1, tree_index, "nested conditions")
    return tree_from_nested(model)


def reads_file(path: Path, start: bytes) -> bool:
    """Whether a file is an object with such entries and none of those of other formats."""
    start = start.removeprefix(b"\xef\xbb\xbf")
    return bool(_BEGINS.match(start) and _ENTRIES.search(start) and not _OF_OTHERS.search(start))


def read_file(path: Path, tree_index: int | None = None) -> Tree:
    """Parse a file; errors say where in the tree."""
    choose_tree(1, tree_index, "a file of nested conditions")
    content = read_bytes(path).removeprefix(b"\xef\xbb\xbf")
    try:
        return tree_from_nested(parse_json(content))
    except TreeFormatError as error:
        raise TreeFormatError(f"{path}: {error}") from None


# -- A tree as nested dictionaries and as JSON: for every system that has no format of its own --

SUFFIXES = (".json",)


def write(tree: Tree) -> dict[str, Any]:
    """Return the tree as nested dictionaries of plain values that JSON can hold.

    What it decides and predicts is kept, with the weight of each node; what was observed, the
    space and the metadata are not.
    """
    named_shares = tree.classes is not None and all(isinstance(c, str) for c in tree.classes)
    classes = plain_scalars(tree.classes)
    lists = [plain_scalars(c) for c in tree.categories]
    weighted = bool((tree.weight[tree.leaves] != 1).any())
    built: dict[int, dict[str, Any]] = {}
    for node in reversed(tree.preorder.tolist()):
        weight = {"weight": float(tree.weight[node])} if weighted else {}
        if tree.is_leaf[node]:
            value = tree.value[node].tolist()
            if classes is None:
                built[node] = {"value": value[0], **weight}
                continue
            shares = dict(zip(classes, value, strict=True)) if named_shares else value
            built[node] = {"label": classes[int(tree.label[node])], "shares": shares, **weight}
            continue
        j = int(tree.feature[node])
        codes = tree.left_categories[node]
        sides = {True: "left", False: "right"}
        asked: dict[str, Any]
        if codes is None:
            at = float(tree.threshold[node])
            asked = {"threshold": at if math.isfinite(at) else str(at)}
        else:
            asked = {"categories": [(lists[j] or [])[code] for code in codes]}
        asked["missing"] = sides[bool(tree.missing_left[node])]
        if codes is not None:
            asked["unseen"] = sides[bool(tree.unseen_left[node])]
        built[node] = {
            "feature": tree.feature_names[j] if tree.feature_names is not None else j,
            **asked,
            **weight,
            "left": built.pop(int(tree.children_left[node])),
            "right": built.pop(int(tree.children_right[node])),
        }
    return {**_around(tree, classes, lists), "tree": built[0]}


def _around(
    tree: Tree, classes: list[Any] | None, lists: Sequence[list[Any] | None]
) -> dict[str, Any]:
    features: list[Any] = []
    for j, listed in enumerate(lists):
        name = None if tree.feature_names is None else tree.feature_names[j]
        if listed is None and name is not None:
            features.append(name)
            continue
        entry = {} if name is None else {"name": name}
        features.append(entry if listed is None else {**entry, "categories": listed})
    top: dict[str, Any] = {"features": features}
    if classes is not None:
        top["classes"] = classes
        decision = tree.decision
        if decision.threshold is not None:
            top["decision_threshold"] = decision.threshold
        if decision.positive is not None:
            top["positive"] = classes[decision.position]
        if decision.class_weight is not None:
            top["class_weight"] = list(decision.class_weight)
    if tree.precision != "float64":
        top["precision"] = tree.precision
    return top


def save(content: dict[str, Any], path: Path) -> Path:
    """Write the dictionaries as JSON."""
    try:
        text = json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False)
    except RecursionError:
        raise InputError(
            "expected a tree that JSON can nest, got one with too many levels; "
            "save it with save_tree, which writes it flat"
        ) from None
    return write_atomic(path, f"{text}\n")
