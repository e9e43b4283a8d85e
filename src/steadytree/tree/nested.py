"""Trees built from nested conditions: those of other libraries, and those a person writes.

Readers describe a stranger's tree as a :class:`Branch` with two sides, down to each :class:`Leaf`,
and :func:`build_tree` lays it flat. Or they pass nested dictionaries that a person could write by
hand (:func:`tree_from_nested`). A condition has a feature, a threshold or a list of categories,
and two sides::

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
from steadytree.tree.tree import Tree

# -- conditions, laid flat ----------------------------------------------------------------


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


def build_tree(root: Node, **fields: Any) -> Tree:
    """Lay nested conditions flat; ``fields`` are the others of :class:`Tree`.

    A part may stand in several places: it is written out in each.
    """
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
    splits = [node if isinstance(node, Branch) else None for node in nodes]
    given: dict[str, Any] = {
        "children_left": [one for one, _ in children],
        "children_right": [two for _, two in children],
        "feature": [-1 if s is None else s.feature for s in splits],
        "threshold": [np.nan if s is None else s.threshold for s in splits],
        "left_categories": tuple(None if s is None else s.left_categories for s in splits),
        "missing_left": [s is not None and s.missing_left for s in splits],
        "unseen_left": [
            s is not None and (s.missing_left if s.unseen_left is None else s.unseen_left)
            for s in splits
        ],
        "value": values,
        "weight": weights,
        **_labels(nodes, values, fields),
    }
    return Tree(**{**given, **fields})


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


def tree_from_nested(content: Any) -> Tree:
    """Build a tree from nested dictionaries; errors say where: "root.left.right: expected ...".

    Columns that are not listed come in the order in which conditions meet them, classes sorted.
    """
    top = content if isinstance(content, Mapping) and "tree" in content else {"tree": content}
    _check_entries(top, AROUND, "the tree")
    nodes = _Nodes(top["tree"])
    features = _Features(nodes, top.get("features"))
    classes = _classes(nodes, top.get("classes"))
    built: dict[int, Node] = {}
    for here in reversed(range(len(nodes.entries))):
        if here in nodes.children:
            left, right = (built.pop(side) for side in nodes.children[here])
            built[here] = features.branch(here, left, right)
        else:
            built[here] = _leaf(nodes, here, classes)
    return build_tree(
        built[0],
        n_features=len(features.lists),
        feature_names=features.names,
        categories=features.lists,
        classes=classes,
        decision=_decision(top, classes),
        precision=_text(top.get("precision", "float64"), "precision"),
    )


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
            if splits:
                lacking = [name for name in ("feature", "left", "right") if name not in entry]
                if lacking:
                    raise self.error(here, f"expected the entry {lacking[0]!r} in a condition")
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

    def number(self, node: int, name: str, value: Any, least: float = -math.inf) -> float:
        """Return a number from ``least`` on, also one that JSON lacks."""
        try:
            number = as_number(plain_scalar(value))
        except (TypeError, ValueError, OverflowError):
            number = math.nan
        if not number >= least:
            from_least = "" if math.isinf(least) else f" of {least:g} or more"
            raise self.error(node, f"expected a number{from_least} as {name}, got {_shown(value)}")
        return number

    def scalars(self, node: int, name: str, values: Any) -> list[Any]:
        """Return a list of text, numbers and booleans."""
        return _scalar_list(values, f"{self.way(node)}.{name}")

    def weight(self, node: int, default: float) -> float:
        """Return the weight of a node."""
        weight = self.number(node, "weight", self.entries[node].get("weight", default), 0)
        if math.isinf(weight):
            raise self.error(node, "expected a finite weight, got inf")
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
        named = {node: plain_scalar(nodes.entries[node]["feature"]) for node in nodes.children}
        for node, name in named.items():
            if type(name) not in (str, int):
                message = f"expected the name or number of a feature, got {_shown(name)}"
                raise nodes.error(node, message)
        names, self.lists = _listed_features(list(dict.fromkeys(named.values())), given)
        self.names = names or None
        by_number = all(isinstance(name, int) for name in named.values())
        labels: Sequence[Any] = range(len(self.lists)) if by_number else names
        position = {label: j for j, label in enumerate(labels)}
        for node, name in named.items():
            if name not in position:
                known = some_of(list(labels)) or "from 0 on"
                raise nodes.error(node, f"expected one of the features {known}, got {_shown(name)}")
        self._of_node = {node: position[name] for node, name in named.items()}
        self._codes = [{value: k for k, value in enumerate(c or ())} for c in self.lists]
        self._list_categories()

    def _list_categories(self) -> None:
        """Complete the lists of categories by those that conditions name."""
        nodes = self._nodes
        n_splits: Counter[int] = Counter()
        for node, j in self._of_node.items():
            entry, known = nodes.entries[node], self._codes[j]
            if ("threshold" in entry) == ("categories" in entry):
                both = "both" if "threshold" in entry else "neither"
                raise nodes.error(node, f"expected a threshold or categories, got {both}")
            if "categories" in entry:
                for value in nodes.scalars(node, "categories", entry["categories"]):
                    known.setdefault(value, len(known))
                self.lists[j] = list(known)
                n_splits[j] += 1
            if len(known) > MAX_CATEGORIES:
                raise nodes.error(node, f"expected at most {MAX_CATEGORIES:,} categories, got more")
        if sum(n * len(self._codes[j]) for j, n in n_splits.items()) > MAX_CATEGORY_CELLS:
            raise TreeFormatError(
                f"expected at most {MAX_CATEGORY_CELLS:,} categories in all, got more"
            )

    def branch(self, node: int, left: Node, right: Node) -> Branch:
        """Return one condition."""
        nodes = self._nodes
        entry, j = nodes.entries[node], self._of_node[node]
        threshold, codes = math.nan, None
        if self.lists[j] is None:
            threshold = nodes.number(node, "threshold", entry["threshold"])
            if "unseen" in entry:
                raise nodes.error(node, "expected no unseen categories of a number, got some")
        elif "threshold" in entry:
            raise nodes.error(node, "expected categories, as the feature has some, got a number")
        else:
            values = nodes.scalars(node, "categories", entry["categories"])
            codes = tuple(self._codes[j][value] for value in values)
        heavier_left = (left.weight or 0) >= (right.weight or 0)
        missing_left = nodes.side(node, "missing")
        return Branch(
            feature=j,
            left=left,
            right=right,
            threshold=threshold,
            left_categories=codes,
            missing_left=heavier_left if missing_left is None else missing_left,
            unseen_left=nodes.side(node, "unseen"),
            weight=nodes.weight(node, (left.weight or 0) + (right.weight or 0)),
        )


def _listed_features(used: list[Any], given: Any) -> tuple[tuple[str, ...], list[Any]]:
    """Names (or none) and categories of the features: as listed, or else those that are used."""
    if given is None:
        names = tuple(name for name in used if isinstance(name, str))
        if names:
            return names, [None] * len(names)
        return (), [None] * min(max(used, default=-1) + 1, MAX_UNLISTED_FEATURES)
    if len(listed := _list(given, "features")) > MAX_FEATURES:
        raise TreeFormatError(f"features: expected at most {MAX_FEATURES:,}, got {len(listed):,}")
    named, lists = [], []
    for j, one in enumerate(listed):
        where = f"features[{j}]"
        entry = {"name": one} if isinstance(one, str) else one
        if not isinstance(entry, Mapping):
            raise TreeFormatError(f"{where}: expected a name or an object, got {kind_of(one)}")
        _check_entries(entry, ("name", "categories"), where)
        named += [_text(entry["name"], f"{where}.name")] if "name" in entry else []
        values = entry.get("categories")
        lists.append(None if values is None else _scalar_list(values, f"{where}.categories"))
    if len(named) not in (0, len(lists)):
        raise TreeFormatError("features: expected a name for each or for none, got some")
    return tuple(named), lists


def _classes(nodes: _Nodes, given: Any) -> list[Any] | None:
    """Return the classes, as listed or as the leaves name them; None for responses."""
    leaves = [node for node in range(len(nodes.entries)) if node not in nodes.children]
    responses = ["value" in nodes.entries[node] for node in leaves]
    if any(responses):
        if not all(responses):
            odd = leaves[responses.index(False)]
            raise nodes.error(odd, "expected a value, as in other leaves, got none")
        if given is not None:
            raise TreeFormatError("classes: expected none beside leaves with a value, got some")
        return None
    if given is not None:
        return _scalar_list(given, "classes")
    named: dict[Any, None] = {}
    for node in leaves:
        shares, label = (nodes.entries[node].get(name) for name in ("shares", "label"))
        here = [*shares] if isinstance(shares, Mapping) else []
        here += [] if label is None else [label]
        named |= dict.fromkeys(nodes.scalars(node, "label", here))
    if not named:
        raise TreeFormatError("classes: expected a list, or leaves that name classes, got neither")
    return sorted(named) if len({type(one) for one in named}) == 1 else list(named)


def _leaf(nodes: _Nodes, node: int, classes: list[Any] | None) -> Leaf:
    entry, weight = nodes.entries[node], nodes.weight(node, 1.0)
    if classes is None:
        _check_entries(entry, ("value", "weight"), nodes.way(node))
        value = nodes.number(node, "value", entry["value"])
        if math.isinf(value):
            raise nodes.error(node, f"expected a finite value, got {value}")
        return Leaf([value], weight)
    label = given = None
    if entry.get("label") is not None:
        label = _class_position(nodes, node, plain_scalar(entry["label"]), classes)
        given = {entry["label"]: 1.0}
    given = given if entry.get("shares") is None else entry["shares"]
    if given is None:
        raise nodes.error(node, "expected shares or a label, got neither")
    shares = [0.0] * len(classes)
    if isinstance(given, Mapping):
        for name, share in given.items():
            k = _class_position(nodes, node, plain_scalar(name), classes)
            shares[k] = nodes.number(node, "share", share, 0)
    else:
        listed = _list(given, f"{nodes.way(node)}.shares")
        if len(listed) != len(classes):
            message = f"expected a share for each of {len(classes)} classes, got {len(listed)}"
            raise nodes.error(node, message)
        shares = [nodes.number(node, "share", share, 0) for share in listed]
    if not abs(sum(shares) - 1) <= 1e-6:
        raise nodes.error(node, f"expected shares that sum to 1, got {sum(shares):g} in all")
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


def _check_entries(entry: Mapping[str, Any], known: Sequence[str], where: str) -> None:
    """Refuse entries that mean nothing: a word misspelt would change the tree in silence."""
    others = [name for name in entry if name not in known]
    if others:
        raise TreeFormatError(
            f"{where}: expected entries among {', '.join(known)}, got {some_of(others)} as well"
        )


def _list(value: Any, where: str) -> list[Any]:
    if not isinstance(value, (list, tuple, set, frozenset, np.ndarray)):
        raise TreeFormatError(f"{where}: expected a list, got {kind_of(value)}")
    return [plain_scalar(one) for one in value]


def _scalar_list(value: Any, where: str) -> list[Any]:
    return read_scalars(_list(value, where), where)


def _text(value: Any, where: str) -> str:
    if not isinstance(value, str):
        raise TreeFormatError(f"{where}: expected text, got {kind_of(value)}")
    return value


def _shown(value: Any) -> str:
    return quoted(value) if isinstance(value, (str, int, float)) else kind_of(value)
