"""Trees built from nested conditions, and entries of a stranger's JSON.

Readers describe a stranger's tree as a :class:`Branch` with two sides, down to each :class:`Leaf`,
and :func:`build_tree` lays it flat.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadytree._io import MAX_DEPTH, MAX_NODES, check_value_cells
from steadytree._text import quoted
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
