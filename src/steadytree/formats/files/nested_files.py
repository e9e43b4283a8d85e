"""A tree as nested dictionaries and as JSON: for every system that has no format of its own.

``as_tree`` reads it again, from a file or as a dictionary, and what a person wrote by hand. A
condition has a feature, a threshold or a list of categories, and two sides::

    {"feature": "age", "threshold": 50, "missing": "right",
     "left": {"label": "no", "shares": {"no": 0.9, "yes": 0.1}, "weight": 120},
     "right": {"feature": "colour", "categories": ["red", "blue"], "unseen": "right",
               "left": {"label": "yes"}, "right": {"label": "no"}}}

Values up to the threshold, and the categories listed, go left. ``missing`` and ``unseen`` say
where missing values go and categories that no condition lists: by default missing values with the
heavier side, unseen categories with the missing values. A leaf has a ``value``, the response, or
``shares`` by class, a ``label``, or both; a label alone has share 1. Any node may have a
``weight``.

Around the tree there may be what it leaves open, all of it optional::

    {"features": ["age", {"name": "colour", "categories": ["red", "green", "blue"]}],
     "classes": ["no", "yes"], "decision_threshold": 0.3, "precision": "float32", "tree": {...}}

``positive`` names the class that the threshold is for (by default as in :class:`Decision`),
``class_weight`` weights the shares of all classes, and the precision "float32" rounds values
before they are compared.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from steadytree.plugins import (
    MAX_CATEGORY_CELLS,
    MAX_DEPTH,
    MAX_NODES,
    Branch,
    Decision,
    InputError,
    Leaf,
    Node,
    Tree,
    TreeFormatError,
    as_number,
    build_tree,
    choose_tree,
    kind_of,
    parse_json,
    plain_scalar,
    plain_scalars,
    quoted,
    read_bytes,
    read_scalars,
    some_of,
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


# -- Read nested dictionaries --

AROUND = (
    "features", "classes", "decision_threshold", "positive", "class_weight", "precision", "tree",
)  # fmt: skip
OF_SPLITS = ("feature", "threshold", "categories", "missing", "unseen", "left", "right", "weight")
OF_LEAVES = ("value", "shares", "label", "weight")
_Codes = dict[Any, int]  # of the categories of a feature, in order


class _Entry(NamedTuple):
    """A node as it is written, and how to get there; ``sides`` has its children, left first."""

    content: Mapping[str, Any]
    parent: int
    side: str
    sides: list[int]


def tree_from_nested(content: Any) -> Tree:
    """Build a tree from nested dictionaries; errors say where: "root.left.right: expected ...".

    Columns that are not listed come in the order in which conditions meet them, classes sorted.
    """
    top = content if isinstance(content, Mapping) and "tree" in content else {"tree": content}
    _check_entries(top, AROUND, "the tree")
    entries = _entries(top["tree"])
    features = _features(entries, top.get("features"))
    position = {name: j for j, name in enumerate(features)}
    classes = _classes(entries, top.get("classes"))
    built: dict[int, Node] = {}
    for here in reversed(range(len(entries))):
        entry = entries[here]
        with _located(entries, here):
            if entry.sides:
                left, right = (built.pop(side) for side in entry.sides)
                at = position[entry.content["feature"]]
                codes = features[entry.content["feature"]]
                built[here] = _branch(entry.content, left, right, at, codes)
            else:
                built[here] = _leaf(entry.content, classes)
    return build_tree(
        built[0],
        n_features=len(features),
        feature_names=tuple(features) or None,
        categories=tuple(None if codes is None else tuple(codes) for codes in features.values()),
        classes=classes,
        decision=_decision(top, classes),
        precision=top.get("precision", "float64"),
    )


def _entries(root: Any) -> list[_Entry]:
    """Return all nodes, each before its children."""
    entries: list[_Entry] = []
    waiting: list[tuple[Any, int, str, int]] = [(root, -1, "root", 0)]
    while waiting:
        content, parent, side, depth = waiting.pop()
        here = len(entries)
        entries.append(_Entry(content, parent, side, []))
        if parent >= 0:
            entries[parent].sides.append(here)
        if here >= MAX_NODES or depth > MAX_DEPTH:
            raise TreeFormatError(
                f"{_way(entries, here)[:200]}: expected at most {MAX_NODES:,} nodes on "
                f"{MAX_DEPTH:,} levels, got more; is a node below itself?"
            )
        with _located(entries, here):
            if not isinstance(content, Mapping):
                raise TreeFormatError(f"expected a condition or a leaf, got {kind_of(content)}")
            splits = not {"feature", "left", "right"}.isdisjoint(content)
            _check_entries(content, OF_SPLITS if splits else OF_LEAVES)
            lacking = [n for n in ("feature", "left", "right") if splits and n not in content]
            if lacking:
                raise TreeFormatError(f"expected the entry {quoted(lacking[0])} in a condition")
        if splits:
            waiting += [(content[name], here, name, depth + 1) for name in ("right", "left")]
    return entries


def _way(entries: Sequence[_Entry], node: int) -> str:
    """Say how to get to a node: "root.left.right"."""
    parts = []
    while node >= 0:
        parts.append(entries[node].side)
        node = entries[node].parent
    return ".".join(reversed(parts))


@contextmanager
def _located(entries: Sequence[_Entry], node: int) -> Iterator[None]:
    """Have errors say which node they are about."""
    try:
        yield
    except TreeFormatError as error:
        raise TreeFormatError(f"{_way(entries, node)}: {error}") from None


def _features(entries: Sequence[_Entry], given: Any) -> dict[str, _Codes | None]:
    """Return the features by name, and the categories of each (None: a number).

    Categories that conditions name come after those that are listed.
    """
    features: dict[str, _Codes | None] = {}
    for j, one in enumerate(() if given is None else _list(given, "features")):
        entry = {"name": one} if isinstance(one, str) else one
        name = entry.get("name") if isinstance(entry, Mapping) else None
        if not isinstance(name, str) or name in features:
            raise TreeFormatError(
                f'features[{j}]: expected a name of its own, or {{"name": ..., "categories": '
                f"[...]}}, got {_shown(one)}"
            )
        _check_entries(entry, ("name", "categories"), f"features[{j}]")
        features[name] = None
        if entry.get("categories") is not None:
            values = _scalar_list(entry["categories"], f"features[{j}].categories")
            features[name] = {value: k for k, value in enumerate(values)}
    cells = Counter[str]()
    for here, (content, *_, sides) in enumerate(entries):
        if not sides:
            continue
        with _located(entries, here):
            name = content["feature"]
            if not isinstance(name, str) or (given is not None and name not in features):
                known = some_of(list(features)) or "by name"
                raise TreeFormatError(f"expected one of the features {known}, got {_shown(name)}")
            codes = features.setdefault(name, None)
            if "categories" in content:
                codes = features[name] = {} if codes is None else codes
                for value in _scalar_list(content["categories"], "categories"):
                    codes.setdefault(value, len(codes))
                cells[name] += 1
    if sum(n * len(features[name] or ()) for name, n in cells.items()) > MAX_CATEGORY_CELLS:
        raise TreeFormatError(
            f"expected at most {MAX_CATEGORY_CELLS:,} categories in all, got more"
        )
    return features


def _branch(
    content: Mapping[str, Any], left: Node, right: Node, feature: int, codes: _Codes | None
) -> Branch:
    """Return one condition."""
    by_set = "categories" in content
    if ("threshold" in content) == by_set:
        raise TreeFormatError(
            f"expected a threshold or categories, got {'both' if by_set else 'neither'}"
        )
    if codes is not None and not by_set:
        raise TreeFormatError("expected categories, as the feature has some, got a number")
    left_codes = None
    if codes is not None:
        left_codes = tuple(codes[c] for c in _list(content["categories"], "categories"))
    below = (left.weight or 0, right.weight or 0)
    missing_left = _is_left(content, "missing")
    return Branch(
        feature=feature,
        left=left,
        right=right,
        threshold=math.nan if by_set else _number(content["threshold"], "threshold", infinite=True),
        left_categories=left_codes,
        missing_left=below[0] >= below[1] if missing_left is None else missing_left,
        unseen_left=_is_left(content, "unseen"),
        weight=_number(content.get("weight", sum(below)), "weight", 0),
    )


def _is_left(content: Mapping[str, Any], name: str) -> bool | None:
    """Return whether an entry says "left"; None where there is none."""
    side = content.get(name)
    if side is None:
        return None
    if side not in ("left", "right"):
        raise TreeFormatError(f'expected "left" or "right" as {name}, got {_shown(side)}')
    return bool(side == "left")


def _classes(entries: Sequence[_Entry], given: Any) -> list[Any] | None:
    """Return the classes, as listed or as the leaves name them; None for responses."""
    leaves = [(here, entry.content) for here, entry in enumerate(entries) if not entry.sides]
    if any("value" in content for _, content in leaves):
        if given is not None:
            raise TreeFormatError("classes: expected none beside leaves with a value, got some")
        return None
    if given is not None:
        return _scalar_list(given, "classes")
    named: dict[Any, None] = {}
    for here, content in leaves:
        label, shares = content.get("label"), content.get("shares")
        with _located(entries, here):
            found = [*(shares or ()), *([] if label is None else [label])]
            named |= dict.fromkeys(_scalar_list(found, "label"))
    return sorted(named) if len({type(one) for one in named}) == 1 else list(named)


def _leaf(content: Mapping[str, Any], classes: Sequence[Any] | None) -> Leaf:
    weight = _number(content.get("weight", 1.0), "weight", 0)
    if classes is None:
        _check_entries(content, ("value", "weight"))
        return Leaf([_number(content.get("value"), "value")], weight)
    shares, label = content.get("shares"), content.get("label")
    position = None if label is None else _class_position(label, classes)
    values = [0.0] * len(classes)
    if shares is None and position is not None:
        values[position] = 1.0
        return Leaf(values, weight, position)
    if not isinstance(shares, Mapping):
        raise TreeFormatError(f"expected a label or shares by class, got {kind_of(shares)}")
    for name, share in shares.items():
        values[_class_position(name, classes)] = _number(share, "share", 0)
    if not abs(sum(values) - 1) <= 1e-6:
        raise TreeFormatError(f"expected shares that sum to 1, got {sum(values):g} in all")
    return Leaf(values, weight, position)


def _class_position(given: Any, classes: Sequence[Any]) -> int:
    """Find a class; the keys of a JSON object are text whatever the class is."""
    name = plain_scalar(given)
    found = [k for k, one in enumerate(classes) if type(one) is type(name) and one == name]
    found = found or [k for k, one in enumerate(classes) if str(one) == name]
    if len(found) != 1:
        raise TreeFormatError(f"expected one of the classes {some_of(classes)}, got {_shown(name)}")
    return found[0]


def _decision(top: Mapping[str, Any], classes: Sequence[Any] | None) -> Decision:
    given: dict[str, Any] = {name: top.get(name) for name in ("positive", "class_weight")}
    given["threshold"] = top.get("decision_threshold")
    if classes is None:
        if any(value is not None for value in given.values()):
            raise TreeFormatError("expected no decision policy beside leaves with a value, got one")
        return Decision()
    try:
        return Decision(**given).resolve(classes)
    except (TypeError, ValueError, OverflowError) as error:
        raise TreeFormatError(f"decision: {error}") from None


def _check_entries(entry: Mapping[str, Any], known: Sequence[str], where: str = "") -> None:
    """Refuse entries that mean nothing: a word misspelt would change the tree in silence."""
    others = [name for name in entry if name not in known]
    if others:
        at = f"{where}: " if where else ""
        raise TreeFormatError(
            f"{at}expected entries among {', '.join(known)}, got {some_of(others)} as well"
        )


def _number(value: Any, name: str, least: float = -math.inf, *, infinite: bool = False) -> float:
    """Return a number from ``least`` on; where ``infinite``, also one that JSON lacks."""
    try:
        number = as_number(plain_scalar(value))
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not (number >= least and (infinite or number < math.inf)):
        from_least = "" if least < 0 else f" of {least:g} or more"
        raise TreeFormatError(f"expected a number{from_least} as {name}, got {_shown(value)}")
    return number


def _list(value: Any, where: str) -> list[Any]:
    if not isinstance(value, (list, tuple, set, frozenset, np.ndarray)):
        raise TreeFormatError(f"{where}: expected a list, got {kind_of(value)}")
    return [plain_scalar(one) for one in value]


def _scalar_list(value: Any, where: str) -> list[Any]:
    return read_scalars(_list(value, where), where)


def _shown(value: Any) -> str:
    return quoted(value) if isinstance(value, (str, int, float)) else kind_of(value)


# -- A tree as nested dictionaries and as JSON: for every system that has no format of its own --

SUFFIXES = (".json",)


def write(tree: Tree) -> dict[str, Any]:
    """Return the tree as nested dictionaries of plain values that JSON can hold.

    What it decides and predicts is kept, with the weight of each node; what was observed, the
    space and the metadata are not.
    """
    classes = plain_scalars(tree.classes)
    if len(set(map(str, classes or ()))) < len(classes or ()):
        raise InputError(f"expected classes that differ as text, got {quoted(classes)}")
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
            shares = dict(zip(map(str, tree.classes or ()), value, strict=True))
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
            "feature": tree.feature_labels[j],
            **asked,
            **weight,
            "left": built.pop(int(tree.children_left[node])),
            "right": built.pop(int(tree.children_right[node])),
        }
    return {**_around(tree, classes, lists), "tree": built[0]}


def _around(
    tree: Tree, classes: list[Any] | None, lists: Sequence[list[Any] | None]
) -> dict[str, Any]:
    features = [
        name if listed is None else {"name": name, "categories": listed}
        for name, listed in zip(tree.feature_labels, lists, strict=True)
    ]
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
