"""A tree as nested dictionaries that a person could write by hand, for every other library.

A condition has a feature, a threshold or a list of categories, and two sides::

    {"feature": "age", "threshold": 50, "missing": "right",
     "left": {"label": "no", "shares": {"no": 0.9, "yes": 0.1}, "weight": 120},
     "right": {"feature": "colour", "categories": ["red", "blue"], "unseen": "right",
               "left": {"label": "yes"}, "right": {"label": "no"}}}

Values up to the threshold, and the categories listed, go left. ``missing`` and ``unseen`` say
where missing values go and categories that no condition lists: by default missing values with the
heavier side, unseen categories with the missing values. A leaf has a ``value``, the response, or
``shares`` of the classes, a ``label``, or both; a label alone has share 1. Any node may have a
``weight``. Features are names, or numbers from 0.

Around the tree there may be what it leaves open, all of it optional::

    {"features": ["age", {"name": "colour", "categories": ["red", "green", "blue"]}],
     "classes": ["no", "yes"], "decision_threshold": 0.3, "precision": "float32", "tree": {...}}

``positive`` names the class that the threshold is for (by default as in :class:`Decision`),
``class_weight`` weights the shares of all classes, and the precision "float32" rounds values
before they are compared.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadytree._io import (
    MAX_CATEGORIES,
    MAX_CATEGORY_CELLS,
    MAX_DEPTH,
    MAX_FEATURES,
    MAX_NODES,
    MAX_UNLISTED_FEATURES,
    check_value_cells,
)
from steadytree._text import quoted, some_of
from steadytree.exceptions import InputError, TreeFormatError
from steadytree.tree.columns import plain_scalar
from steadytree.tree.decision import Decision

# -- conditions, and how they are laid flat into the arrays of a tree ----------------------
# Apart from the tree itself, so that it can be made of them.


@dataclass(frozen=True, eq=False)
class Leaf:
    """An end of the tree: class shares or a response, their weight, and a label if kept."""

    value: Sequence[float]
    weight: float = 1.0
    label: int | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class Branch:
    """A condition with two sides.

    ``value``, ``weight`` and ``label`` are those of the node where the source knows them; by
    default the mean and the sum of what lies below. ``unseen_left=None``: where missing goes.
    """

    feature: int
    left: Node = field(repr=False)
    right: Node = field(repr=False)
    threshold: float = np.nan
    left_categories: tuple[int, ...] | None = None
    missing_left: bool
    unseen_left: bool | None = None
    value: Sequence[float] | None = None
    weight: float | None = None
    label: int | None = None


Node = Leaf | Branch


def laid_flat(root: Node, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arrays of nested conditions beside ``fields``, the others of a tree."""
    nodes: list[Node] = []
    children: list[list[int]] = []
    waiting: list[tuple[Node, int, int, int]] = [(root, -1, 0, 0)]
    while waiting:
        node, parent, side, depth = waiting.pop()
        here = len(nodes)
        if here >= MAX_NODES or depth > MAX_DEPTH:
            raise TreeFormatError(
                f"expected at most {MAX_NODES:,} nodes on {MAX_DEPTH:,} levels, got more; "
                "nobody could read such a tree"
            )
        nodes.append(node)
        children.append([-1, -1])
        if parent >= 0:
            children[parent][side] = here
        if isinstance(node, Branch):
            waiting += ((node.right, here, 1, depth + 1), (node.left, here, 0, depth + 1))
    check_value_cells(len(nodes), len(fields.get("classes") or (0,)))
    values, weights = _fill_in(nodes, children)
    fields = {**_labels(nodes, values, fields), **fields}
    left, right = np.array(children, dtype=np.int32).reshape(-1, 2).T
    splits = [node if isinstance(node, Branch) else None for node in nodes]
    missing = [s is not None and s.missing_left for s in splits]
    unseen = [None if s is None else s.unseen_left for s in splits]
    unseen_left = [m if u is None else u for m, u in zip(missing, unseen, strict=True)]
    return {
        "children_left": left,
        "children_right": right,
        "feature": np.array([-1 if s is None else s.feature for s in splits]),
        "threshold": np.array([np.nan if s is None else s.threshold for s in splits]),
        "left_categories": tuple(None if s is None else s.left_categories for s in splits),
        "missing_left": np.array(missing),
        "unseen_left": np.array(unseen_left),
        "value": values,
        "weight": np.array(weights),
        **fields,
    }


def _fill_in(
    nodes: list[Node], children: list[list[int]]
) -> tuple[NDArray[np.float64], list[float]]:
    """Values and weights, from the leaves upwards where a source has none."""
    values: list[Any] = [None] * len(nodes)
    weights = [0.0] * len(nodes)
    for here in reversed(range(len(nodes))):
        node, (left, right) = nodes[here], children[here]
        both = weights[left] + weights[right]
        weights[here] = both if node.weight is None else float(node.weight)
        if node.value is not None:
            values[here] = np.asarray(node.value, dtype=np.float64)
            continue
        share = weights[left] / both if both > 0 else 0.5
        # What is not finite in a stranger's leaves is for the tree to refuse, naming the node.
        with np.errstate(over="ignore", invalid="ignore"):
            values[here] = share * values[left] + (1 - share) * values[right]
    return np.array(values, dtype=np.float64), weights


def _labels(
    nodes: list[Node], values: NDArray[np.float64], fields: Mapping[str, Any]
) -> dict[str, Any]:
    """Labels where some are given; the others follow their shares under the tree's policy."""
    given = [node.label for node in nodes]
    if all(label is None for label in given):
        return {}
    own = Decision.of(fields.get("decision")).resolve(fields["classes"]).labels(values).tolist()
    labels = [o if g is None else g for g, o in zip(given, own, strict=True)]
    return {"label": np.array(labels, dtype=np.int32)}


# -- entries of a stranger's JSON: each of the kind it should be, or an error ---------------
# The errors say where the entry stands, what was expected and what is there instead.

SPECIAL_NUMBERS = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}
"""How numbers are written that JSON lacks."""

_WANTED = {
    int: "a whole number below 2^31",
    float: 'a number, "inf", "-inf" or "nan"',
    bool: "true or false",
}


class JsonObject:
    """Typed access to a JSON object, with errors that say where."""

    def __init__(self, content: Any, where: str) -> None:
        if not isinstance(content, Mapping):
            raise TreeFormatError(
                f"{where.rstrip('.') or 'file'}: expected an object, got {kind_of(content)}"
            )
        self.content, self.where = content, where

    def get(self, name: str, kind: Any, *, optional: bool = False) -> Any:
        """Return an entry of a kind; ``optional``: or null."""
        if name not in self.content:
            raise TreeFormatError(f"{self.where}{name}: expected an entry, got none")
        value = self.content[name]
        if value is None and optional:
            return None
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise TreeFormatError(
                f"{self.where}{name}: expected {_kind_name(kind)}, got {kind_of(value)}"
            )
        return value

    def part(self, name: str) -> JsonObject:
        """Return an entry that is an object itself."""
        return JsonObject(self.get(name, dict), f"{self.where}{name}.")

    def parts(self, name: str) -> list[JsonObject]:
        """Return the objects in a list."""
        where = f"{self.where}{name}"
        return [JsonObject(one, f"{where}[{i}].") for i, one in enumerate(self.get(name, list))]

    def number(self, name: str) -> float:
        """Return a finite number."""
        value = float(self.floats(name, [self.get(name, (int, float))])[0])
        if not math.isfinite(value):
            raise TreeFormatError(f"{self.where}{name}: expected a finite number, got {value}")
        return value

    def whole(self, name: str, limit: int) -> int:
        """Return a whole number from 0 to below a limit."""
        value: int = self.get(name, int)
        if not 0 <= value < limit:
            raise TreeFormatError(
                f"{self.where}{name}: expected a number in [0, {limit}), got {quoted(value)}"
            )
        return value

    def ints(self, name: str, values: Any = None) -> Any:
        """Return whole numbers."""
        return self._each(name, values, int)

    def floats(self, name: str, values: Any = None) -> list[float]:
        """Return numbers, those among them that JSON lacks."""
        return self._each(name, values, float)

    def bools(self, name: str) -> list[bool]:
        """Return flags."""
        return self._each(name, None, bool)

    def _each(self, name: str, values: Any, kind: type) -> list[Any]:
        values = self.get(name, list) if values is None else as_list(values, self.where + name)
        out = []
        for i, value in enumerate(values):
            try:
                out.append(as_number(value) if kind is float else _checked(value, kind))
            except (TypeError, ValueError, OverflowError):
                raise TreeFormatError(
                    f"{self.where}{name}[{i}]: expected {_WANTED[kind]}, got {quoted(value)}"
                ) from None
        return out


def as_list(value: Any, where: str) -> list[Any]:
    """Return a list, or say where none is."""
    if not isinstance(value, list):
        raise TreeFormatError(f"{where}: expected a list, got {kind_of(value)}")
    return value


def _checked(value: Any, kind: type) -> Any:
    """Return a flag, or a whole number of 32 bits."""
    if isinstance(value, bool) is not (kind is bool) or not isinstance(value, int):
        raise TypeError
    if not -(2**31) <= value < 2**31:
        raise ValueError
    return value


def as_number(value: Any) -> float:
    """Return a number, one that JSON lacks from its text."""
    if isinstance(value, str):
        if value not in SPECIAL_NUMBERS:
            raise ValueError
        return SPECIAL_NUMBERS[value]
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError
    return float(value)


def kind_of(value: Any) -> str:
    """Say what kind of entry this is, in words."""
    return "null" if value is None else _kind_name(type(value))


def _kind_name(kind: Any) -> str:
    names = {dict: "an object", list: "a list", str: "text", int: "a whole number", bool: "a flag"}
    return names.get(kind, "a number")


def read_scalars(values: Sequence[Any], where: str) -> list[Any]:
    """Return classes or categories: text, numbers and booleans."""
    out: list[Any] = []
    for i, value in enumerate(values):
        special = value.get("float") if isinstance(value, dict) and len(value) == 1 else None
        if isinstance(special, str) and special in SPECIAL_NUMBERS:
            out.append(SPECIAL_NUMBERS[special])
        elif isinstance(value, (str, bool, int, float)):
            out.append(value)
        else:
            raise TreeFormatError(f"{where}[{i}]: expected text or a number, got {kind_of(value)}")
    return out


def plain_scalars(values: Iterable[Any] | None) -> list[Any] | None:
    """Return classes or categories as JSON holds them: what :func:`read_scalars` reads."""
    if values is None:
        return None
    out: list[Any] = []
    for value in map(plain_scalar, values):
        if isinstance(value, float) and not math.isfinite(value):
            out.append({"float": str(value)})
        elif isinstance(value, (str, bool, int, float)):
            out.append(value)
        else:
            raise InputError(
                "expected classes and categories that are text, numbers or booleans, "
                f"got {quoted(value)}; convert them first, for example to text"
            )
    return out


# -- nested dictionaries -----------------------------------------------------------------

AROUND = (
    "features", "classes", "decision_threshold", "positive", "class_weight", "precision", "tree",
)  # fmt: skip
OF_SPLITS = ("feature", "threshold", "categories", "missing", "unseen", "left", "right", "weight")
OF_LEAVES = ("value", "shares", "label", "weight")


def nested_fields(
    content: Any,
    *,
    feature_names: Sequence[str] | None = None,
    classes: Sequence[Any] | None = None,
) -> dict[str, Any]:
    """Return the fields of a tree from nested dictionaries.

    Errors say where: "root.left.right: expected ...".

    ``feature_names`` and ``classes`` fix the order of columns and classes where the content does
    not; without either, features come in the order in which conditions meet them, classes sorted.
    """
    top = content if isinstance(content, Mapping) and "tree" in content else {"tree": content}
    _check_entries(top, AROUND, "the tree")
    nodes = _Nodes(top["tree"])
    features = _Features(nodes, top.get("features", feature_names))
    listed = _classes(nodes, top.get("classes", classes))
    built: dict[int, Node] = {}
    for here in reversed(range(len(nodes.entries))):
        sides = nodes.children.get(here)
        if sides is None:
            built[here] = _leaf(nodes, here, listed)
        else:
            built[here] = features.branch(here, built.pop(sides[0]), built.pop(sides[1]))
    others = {
        "n_features": len(features.lists),
        "feature_names": features.names,
        "categories": tuple(None if c is None else tuple(c) for c in features.lists),
        "classes": None if listed is None else tuple(listed),
        "decision": _decision(top, listed),
        "precision": _text(top.get("precision", "float64"), "precision"),
    }
    return laid_flat(built[0], others)


class _Nodes:
    """All nodes, each before its children, with the way to each for messages."""

    def __init__(self, root: Any) -> None:
        self.entries: list[Mapping[str, Any]] = []
        self.children: dict[int, list[int]] = {}
        self._parent: list[tuple[int, str]] = []
        waiting: list[tuple[Any, int, str, int]] = [(root, -1, "root", 0)]
        while waiting:
            entry, parent, side, depth = waiting.pop()
            here = len(self.entries)
            self._parent.append((parent, side))
            if here >= MAX_NODES or depth > MAX_DEPTH:
                raise TreeFormatError(
                    f"{self.way(here)[:200]}: expected at most {MAX_NODES:,} nodes on "
                    f"{MAX_DEPTH:,} levels, got more; is a node below itself?"
                )
            if not isinstance(entry, Mapping):
                raise self.error(here, f"expected a condition or a leaf, got {kind_of(entry)}")
            self.entries.append(entry)
            if parent >= 0:
                self.children[parent].append(here)
            splits = not {"feature", "left", "right"}.isdisjoint(entry)
            known = OF_SPLITS if splits else OF_LEAVES
            if not set(entry) <= set(known):
                _check_entries(entry, known, self.way(here))
            if not splits:
                continue
            for name in ("feature", "left", "right"):
                if name not in entry:
                    raise self.error(here, f"expected the entry {name!r} in a condition, got none")
            self.children[here] = []
            waiting += [(entry[side], here, side, depth + 1) for side in ("right", "left")]

    def way(self, node: int) -> str:
        """Say how to get to a node: "root.left.right"."""
        parts = []
        while node >= 0:
            node, side = self._parent[node]
            parts.append(side)
        return ".".join(reversed(parts))

    def error(self, node: int, message: str) -> TreeFormatError:
        """Return an error that says where."""
        return TreeFormatError(f"{self.way(node)}: {message}")

    def number(self, node: int, name: str, value: Any) -> float:
        """Return a number, also one that JSON lacks."""
        try:
            return as_number(plain_scalar(value))
        except OverflowError:
            raise self.error(node, f"expected a number as {name}, got a huge one") from None
        except (TypeError, ValueError):
            raise self.error(node, f"expected a number as {name}, got {_shown(value)}") from None

    def scalars(self, node: int, name: str) -> list[Any]:
        """Return a list of text, numbers and booleans."""
        values = self.entries[node][name]
        if not isinstance(values, (list, tuple, set, frozenset)):
            raise self.error(node, f"expected a list of {name}, got {kind_of(values)}")
        return self.plain(node, name, values)

    def plain(self, node: int, name: str, values: Iterable[Any]) -> list[Any]:
        """Return text, numbers and booleans as plain values, or say where others are."""
        try:
            return read_scalars([plain_scalar(v) for v in values], name)
        except TreeFormatError as error:
            raise TreeFormatError(f"{self.way(node)}.{error}") from None

    def weight(self, node: int) -> float | None:
        """Return the weight of a node, None where it has none."""
        if "weight" not in self.entries[node]:
            return None
        weight = self.number(node, "weight", self.entries[node]["weight"])
        if not 0 <= weight < math.inf:
            raise self.error(node, f"expected a weight of 0 or more, got {weight}")
        return weight

    def side(self, node: int, name: str) -> bool | None:
        """Return whether an entry says "left"; None where there is none."""
        given = self.entries[node].get(name)
        if given is None:
            return None
        if given not in ("left", "right"):
            raise self.error(node, f'expected "left" or "right" as {name}, got {_shown(given)}')
        return bool(given == "left")


class _Features:
    """The features: names (or none), and the list of categories of each (None: a number)."""

    def __init__(self, nodes: _Nodes, given: Any) -> None:
        self._nodes = nodes
        self.lists: list[list[Any] | None] = []
        labels = None if given is None else self._read_given(given)
        named: dict[int, Any] = {}
        for node in nodes.children:
            named[node] = name = plain_scalar(nodes.entries[node]["feature"])
            if isinstance(name, bool) or not isinstance(name, (str, int)):
                raise nodes.error(
                    node, f"expected the name or number of a feature, got {_shown(name)}"
                )
        used = dict.fromkeys(named.values())
        numbers = [name for name in used if isinstance(name, int)]
        if len(numbers) not in (0, len(used)):
            raise TreeFormatError(
                f"expected features that are all names or all numbers, got both: {some_of(used)}"
            )
        if labels is None and not numbers:
            labels, self.lists = list(used), [None] * len(used)
        limit = MAX_UNLISTED_FEATURES if labels is None else len(self.lists)
        position = {name: j for j, name in enumerate(labels or ())}
        for node, name in named.items():
            if not (0 <= name < limit if numbers else name in position):
                wanted = f"one of the features {some_of(position)}"
                wanted = f"a feature in [0, {limit})" if numbers else wanted
                raise nodes.error(node, f"expected {wanted}, got {_shown(name)}")
        if labels is None:
            self.lists = [None] * (max(numbers) + 1)
        self.names = tuple(labels) if labels else None
        self._of_node = named if numbers else {n: position[name] for n, name in named.items()}
        self._codes: list[dict[Any, int]] = [
            {} if c is None else {value: k for k, value in enumerate(c)} for c in self.lists
        ]
        self._list_categories()

    def _read_given(self, given: Any) -> list[str]:
        """Note the categories of features that are listed; returns their names, or none."""
        if isinstance(given, str) or not isinstance(given, Sequence):
            raise TreeFormatError(f"features: expected a list, got {kind_of(given)}")
        if len(given) > MAX_FEATURES:
            raise TreeFormatError(
                f"features: expected at most {MAX_FEATURES:,}, got {len(given):,}"
            )
        names = []
        for j, one in enumerate(given):
            entry = {"name": one} if isinstance(one, str) else one
            where = f"features[{j}]"
            if not isinstance(entry, Mapping):
                raise TreeFormatError(f"{where}: expected a name or an object, got {kind_of(one)}")
            _check_entries(entry, ("name", "categories"), where)
            if "name" in entry:
                names.append(_text(entry["name"], f"{where}.name"))
            listed = entry.get("categories")
            if listed is not None and not isinstance(listed, (list, tuple)):
                raise TreeFormatError(f"{where}.categories: expected a list, got {kind_of(listed)}")
            self.lists.append(
                None
                if listed is None
                else read_scalars([plain_scalar(v) for v in listed], f"{where}.categories")
            )
        if len(names) not in (0, len(given)):
            raise TreeFormatError("features: expected a name for each or for none, got some")
        return names

    def _list_categories(self) -> None:
        """Complete the lists of categories by those that conditions name."""
        nodes = self._nodes
        n_splits: Counter[int] = Counter()
        for node, j in self._of_node.items():
            entry, known = nodes.entries[node], self._codes[j]
            if ("threshold" in entry) == ("categories" in entry):
                both = "both" if "threshold" in entry else "neither"
                raise nodes.error(node, f"expected a threshold or categories, got {both}")
            if "threshold" in entry:
                if self.lists[j] is not None:
                    raise nodes.error(node, "expected categories: the feature has some")
                continue
            listed = self.lists[j] = self.lists[j] or []
            for value in nodes.scalars(node, "categories"):
                if value not in known:
                    known[value] = len(known)
                    listed.append(value)
            n_splits[j] += 1
            if len(known) > MAX_CATEGORIES:
                raise nodes.error(node, f"expected at most {MAX_CATEGORIES:,} categories, got more")
        if sum(n * len(self._codes[j]) for j, n in n_splits.items()) > MAX_CATEGORY_CELLS:
            raise TreeFormatError(
                f"expected at most {MAX_CATEGORY_CELLS:,} categories in all, got more"
            )
        for node, j in self._of_node.items():
            if "threshold" in nodes.entries[node] and self.lists[j] is not None:
                raise nodes.error(
                    node, "expected categories, as in other conditions on the feature, got a number"
                )

    def branch(self, node: int, left: Node, right: Node) -> Branch:
        """Return one condition."""
        nodes = self._nodes
        entry, j = nodes.entries[node], self._of_node[node]
        threshold, codes = math.nan, None
        if "threshold" in entry:
            threshold = nodes.number(node, "threshold", entry["threshold"])
            if math.isnan(threshold):
                raise nodes.error(node, "expected a number as threshold, got NaN")
            if "unseen" in entry:
                raise nodes.error(node, "expected no unseen categories of a number, got some")
        else:
            codes = tuple(self._codes[j][v] for v in nodes.scalars(node, "categories"))
            if not self.lists[j]:
                raise nodes.error(
                    node, "expected at least one category in some condition, got none"
                )
        weights = [float(side.weight or 0.0) for side in (left, right)]
        missing_left, own = nodes.side(node, "missing"), nodes.weight(node)
        return Branch(
            feature=j,
            left=left,
            right=right,
            threshold=threshold,
            left_categories=codes,
            missing_left=weights[0] >= weights[1] if missing_left is None else missing_left,
            unseen_left=nodes.side(node, "unseen"),
            weight=sum(weights) if own is None else own,
        )


def _classes(nodes: _Nodes, given: Any) -> list[Any] | None:
    """Return the classes, as listed or as the leaves name them; None for responses."""
    named: dict[Any, None] = {}
    responses = shares = None
    for node, entry in enumerate(nodes.entries):
        if node in nodes.children:
            continue
        if ("value" in entry) == bool({"shares", "label"} & set(entry)):
            raise nodes.error(
                node, f"expected a value, or shares or a label, got {some_of(list(entry))}"
            )
        if "value" in entry:
            responses = node if responses is None else responses
            continue
        shares = node if shares is None else shares
        here = list(entry["shares"]) if isinstance(entry.get("shares"), Mapping) else []
        here += [entry["label"]] if entry.get("label") is not None else []
        named |= dict.fromkeys(nodes.plain(node, "label", here))
    if responses is not None and shares is not None:
        raise nodes.error(
            max(responses, shares), "expected leaves of one kind, got a value beside classes"
        )
    if shares is None:
        if given is not None:
            raise TreeFormatError("classes: expected none beside leaves with a value, got some")
        return None
    if given is None:
        if not named:
            raise nodes.error(shares, "expected classes by name where there is no list of classes")
        return sorted(named) if len({type(one) for one in named}) == 1 else list(named)
    if isinstance(given, (str, Mapping)) or not isinstance(given, (Sequence, np.ndarray)):
        raise TreeFormatError(f"classes: expected a list, got {kind_of(given)}")
    return read_scalars([plain_scalar(c) for c in given], "classes")


def _leaf(nodes: _Nodes, node: int, classes: list[Any] | None) -> Leaf:
    entry = nodes.entries[node]
    own = nodes.weight(node)
    weight = 1.0 if own is None else own
    if classes is None:
        value = nodes.number(node, "value", entry["value"])
        if not math.isfinite(value):
            raise nodes.error(node, f"expected a finite value, got {value}")
        return Leaf([value], weight)
    label = None
    if entry.get("label") is not None:
        label = _class_position(nodes, node, plain_scalar(entry["label"]), classes)
    given = entry.get("shares")
    if given is None:
        if label is None:
            raise nodes.error(node, "expected shares or a label, got neither")
        return Leaf([float(k == label) for k in range(len(classes))], weight, label)
    shares = [0.0] * len(classes)
    if isinstance(given, Mapping):
        for name, share in given.items():
            k = _class_position(nodes, node, plain_scalar(name), classes)
            shares[k] = nodes.number(node, "share", share)
    elif isinstance(given, (list, tuple, np.ndarray)) and len(given) == len(classes):
        shares = [nodes.number(node, "share", share) for share in given]
    else:
        raise nodes.error(
            node, f"expected one share for each of {len(classes)} classes, got others"
        )
    total = sum(shares)
    if not (min(shares) >= 0 and abs(total - 1) <= 1e-6):
        raise nodes.error(node, f"expected shares of 0 or more that sum to 1, got {total:g} in all")
    return Leaf(shares, weight, label)


def _class_position(nodes: _Nodes, node: int, name: Any, classes: list[Any]) -> int:
    """Find a class; the keys of a JSON object are text whatever the class is."""
    for k, one in enumerate(classes):
        if type(one) is type(name) and one == name:
            return k
    as_text = [k for k, one in enumerate(classes) if str(one) == name]
    if len(as_text) == 1:
        return as_text[0]
    raise nodes.error(node, f"expected one of the classes {some_of(classes)}, got {_shown(name)}")


def _decision(top: Mapping[str, Any], classes: list[Any] | None) -> Decision:
    threshold, positive, weight = (
        top.get(name) for name in ("decision_threshold", "positive", "class_weight")
    )
    if classes is None and not (threshold is None and positive is None and weight is None):
        raise TreeFormatError("expected no decision threshold beside leaves with a value, got one")
    if classes is not None and positive is not None and positive not in classes:
        raise TreeFormatError(
            f"positive: expected one of the classes {some_of(classes)}, got {_shown(positive)}"
        )
    try:
        by_class = None if weight is None else tuple(float(w) for w in weight)
        decision = Decision(threshold=threshold, positive=positive, class_weight=by_class)
        return decision if classes is None else decision.resolve(classes)
    except (TypeError, ValueError, OverflowError) as error:
        raise TreeFormatError(f"decision: {error}") from None


def _check_entries(entry: Mapping[str, Any], known: Sequence[str], where: str) -> None:
    """Refuse entries that mean nothing: a word misspelt would change the tree in silence."""
    others = [name for name in entry if name not in known]
    if others:
        raise TreeFormatError(
            f"{where}: expected entries among {', '.join(known)}, got {some_of(others)} as well"
        )


def _text(value: Any, where: str) -> str:
    if not isinstance(value, str):
        raise TreeFormatError(f"{where}: expected text, got {kind_of(value)}")
    return value


def _shown(value: Any) -> str:
    return quoted(value) if isinstance(value, (str, int, float)) else kind_of(value)
