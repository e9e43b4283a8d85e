"""The trees in CatBoost's JSON, and what their splits ask of the features.

A tree is stored level by level, one question for all nodes of a level (``oblivious_trees``), or
node by node (``trees``, of the grow policies Depthwise and Lossguide).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steadytree._io import MAX_NODES, MAX_UNLISTED_FEATURES
from steadytree._text import quoted
from steadytree.exceptions import TreeFormatError, UnsupportedModelError
from steadytree.readers.stored_nodes import nest_nodes
from steadytree.tree.nested import Branch, JsonObject, Leaf, Node

__all__ = ["Features", "Split", "Table", "read_nested", "read_oblivious"]

MAX_LEVELS = 16
"""Of a tree that is stored by levels; CatBoost grows no deeper ones."""

FLOAT, ONE_HOT = "FloatFeature", "OneHotFeature"
_MISSING_LEFT = {"AsIs": True, "AsFalse": True, "AsTrue": False}


@dataclass(frozen=True)
class Split:
    """A question: whether a number is above a border, or a category the one with this hash.

    ``index`` counts numeric or categorical features.
    """

    index: int
    border: float | None = None
    hash: int = 0


@dataclass(frozen=True, eq=False)
class Table:
    """A tree as a table of nodes, the root first.

    ``children`` holds the two sides of each split, "no" before "yes", or None for a leaf;
    ``splits`` what a split asks; ``leaf`` the position of a leaf among ``values`` and ``weights``.
    """

    children: list[tuple[int, int] | None]
    splits: list[Split | None]
    leaf: list[int]
    values: NDArray[np.float64]
    weights: NDArray[np.float64]

    def nest(
        self, leaf: Callable[[int], Leaf], branch: Callable[[Split, Node, Node], Branch]
    ) -> Node:
        """Make nested conditions of the nodes."""

        def split(node: int, no: Node, yes: Node) -> Node:
            asked = self.splits[node]
            assert asked is not None
            return branch(asked, no, yes)

        return nest_nodes(self.children, lambda node: leaf(self.leaf[node]), split)


def _read_split(split: JsonObject) -> Split:
    kind = split.get("split_type", str)
    if kind == FLOAT:
        with np.errstate(over="ignore"):
            border = float(np.float32(split.number("border")))
        return Split(split.whole("float_feature_index", MAX_UNLISTED_FEATURES), border)
    if kind == ONE_HOT:
        index = split.whole("cat_feature_index", MAX_UNLISTED_FEATURES)
        # Written as a signed number here, unsigned beside the text.
        return Split(index, hash=split.get("value", int) & 0xFFFFFFFF)
    if kind == "OnlineCtr":
        raise UnsupportedModelError(
            "expected splits on values and categories, got one on a target statistic of a "
            "categorical feature (split type OnlineCtr), a number that no column holds; fit with "
            "one_hot_max_size= at least the number of categories"
        )
    raise UnsupportedModelError(
        f"expected splits of the types {FLOAT} and {ONE_HOT}, got {quoted(kind)}; "
        "leave out text and embedding features"
    )


# -- trees stored by levels -----------------------------------------------------------------------


def read_oblivious(tree: JsonObject, n_dimensions: int) -> Table:
    """Write a tree out that asks one question on each level, but for what is settled above."""
    asked = tree.get("splits", list, optional=True) or []
    if len(asked) > MAX_LEVELS:
        raise TreeFormatError(
            f"{tree.where}splits: expected at most {MAX_LEVELS} levels, got {len(asked)}"
        )
    splits = [_read_split(one) for one in tree.parts("splits")] if asked else []
    n_leaves = 2 ** len(splits)
    given = tree.floats("leaf_values")
    if len(given) != n_leaves * n_dimensions:
        raise TreeFormatError(
            f"{tree.where}leaf_values: expected {n_leaves * n_dimensions} numbers, got {len(given)}"
        )
    weights = [1.0] * n_leaves
    if "leaf_weights" in tree.content:
        weights = tree.floats("leaf_weights")
    if len(weights) != n_leaves:
        raise TreeFormatError(
            f"{tree.where}leaf_weights: expected {n_leaves} numbers, got {len(weights)}"
        )
    children: list[tuple[int, int] | None] = []
    asks: list[Split | None] = []
    leaf: list[int] = []

    def write(level: int, number: int, path: tuple[tuple[Split, bool], ...]) -> int:
        """Write the nodes below a place; bit i of a leaf's number is its answer on level i."""
        while level < len(splits) and (answer := _settled(splits[level], path)) is not None:
            number |= answer << level
            level += 1
        here = len(children)
        children.append(None)
        asks.append(None)
        leaf.append(number)
        if level < len(splits):
            split = splits[level]
            asks[here] = split
            no = write(level + 1, number, (*path, (split, False)))
            yes = write(level + 1, number | 1 << level, (*path, (split, True)))
            children[here] = (no, yes)
        return here

    write(0, 0, ())
    values = np.array(given).reshape(n_leaves, n_dimensions)
    return Table(children, asks, leaf, values, np.array(weights))


def _settled(split: Split, path: Iterable[tuple[Split, bool]]) -> bool | None:
    """Answer a question from those above it, if they leave one answer only.

    Missing values of a feature answer all its questions alike, so that they settle nothing else.
    """
    for above, answer in path:
        if above.index != split.index or (above.border is None) != (split.border is None):
            continue
        if above.border is None or split.border is None:
            if above.hash == split.hash:
                return answer
            if answer:
                return False
        elif answer and split.border <= above.border:
            return True
        elif not answer and split.border >= above.border:
            return False
    return None


# -- trees stored by nodes ------------------------------------------------------------------------


def read_nested(tree: JsonObject, n_dimensions: int) -> Table:
    """Lay a tree flat that is stored as nested objects."""
    children: list[tuple[int, int] | None] = []
    asks: list[Split | None] = []
    leaf: list[int] = []
    values: list[list[float]] = []
    weights: list[float] = []
    waiting: list[tuple[JsonObject, int, int]] = [(tree, -1, 0)]
    while waiting:
        node, parent, side = waiting.pop()
        here = len(children)
        if here >= MAX_NODES:
            raise TreeFormatError(f"expected at most {MAX_NODES:,} nodes, got more")
        if parent >= 0:
            no, yes = children[parent] or (-1, -1)
            children[parent] = (no, here) if side else (here, yes)
        leaf.append(len(values))
        if "split" in node.content:
            children.append((-1, -1))
            asks.append(_read_split(node.part("split")))
            waiting += ((node.part("right"), here, 1), (node.part("left"), here, 0))
            continue
        children.append(None)
        asks.append(None)
        found = node.content.get("value")
        one = node.floats("value", found if isinstance(found, list) else [found])
        if len(one) != n_dimensions:
            raise TreeFormatError(
                f"{node.where}value: expected {n_dimensions} numbers, got {len(one)}"
            )
        values.append(one)
        weights.append(node.number("weight") if "weight" in node.content else 1.0)
    return Table(children, asks, leaf, np.array(values), np.array(weights))


# -- features -------------------------------------------------------------------------------------


class Features:
    """The columns a model was trained on, as far as one tree's splits need them.

    ``columns``: for each feature of the tree its kind and its number among those of the kind.
    Columns of categories that the tree never asks for are left out where columns have names:
    which values they take is not stored.
    """

    def __init__(self, info: JsonObject, splits: Sequence[Split | None]) -> None:
        asked: dict[tuple[str, int], list[int]] = {}
        for split in splits:
            if split is not None:
                kind = ONE_HOT if split.border is None else FLOAT
                asked.setdefault((kind, split.index), []).append(split.hash)
        found = _columns(info)
        labels = [label for _, _, label in found]
        named = all(labels) and len(set(labels)) == len(labels)
        named = named and labels != [str(j) for j in range(len(labels))]
        kept = [(kind, key, label) for kind, key, label in found if kind == FLOAT or key in asked]
        if len(kept) < len(found) and not named:
            raise UnsupportedModelError(
                "expected named columns where the tree does not ask for some of the categorical "
                "ones, got columns without names; fit on a frame"
            )
        self.columns = {key: j for j, (_, key, _) in enumerate(kept)}
        self.names = tuple(label for _, _, label in kept) if named else None
        lacking = [key for key in asked if key not in self.columns]
        if lacking:
            raise TreeFormatError(
                f"features_info: expected feature {lacking[0][1]} of the type {lacking[0][0]}, "
                "on which the tree splits, got none"
            )
        texts = _texts(info) if any(kind == ONE_HOT for kind, _, _ in kept) else {}
        self._codes: dict[tuple[int, int], tuple[int, ...]] = {}
        self.categories = tuple(
            self._category_list(key[1], asked[key], texts, label) if kind == ONE_HOT else None
            for kind, key, label in kept
        )
        self._missing_left = (
            {
                one.whole("feature_index", MAX_UNLISTED_FEATURES): _treatment(one)
                for one in info.parts("float_features")
            }
            if info.content.get("float_features")
            else {}
        )

    def _category_list(
        self, index: int, hashes: Sequence[int], texts: dict[int, list[str]], label: str
    ) -> tuple[str, ...]:
        """Return the categories that a tree asks for, and note which has which hash."""
        listed: list[str] = []
        for one in dict.fromkeys(hashes):
            if one not in texts:
                raise UnsupportedModelError(
                    "expected the text of the categories of feature "
                    f"{quoted(label or index)}, got their "
                    "hashes alone, which is all that a CatBoost model keeps; save it with the "
                    'training data, model.save_model("model.json", format="json", pool=pool), and '
                    "read the file"
                )
            for text in texts[one]:
                if _may_be_a_number(text):
                    raise UnsupportedModelError(
                        "expected categories that are plainly text in feature "
                        f"{quoted(label or index)}, "
                        f"got {quoted(text)}, which is a number (or a boolean) or its text "
                        "in the table: "
                        "CatBoost takes both for the same; call it something else, or leave the "
                        "column out of cat_features"
                    )
            self._codes[index, one] = tuple(range(len(listed), len(listed) + len(texts[one])))
            listed += texts[one]
        return tuple(listed)

    def branch(self, split: Split, no: Node, yes: Node) -> Branch:
        """Return the condition of a split; the left side is a number's "no", a category's "yes".

        CatBoost refuses missing categories; the tree sends them where it sends unseen ones.
        """
        if split.border is None:
            return Branch(
                feature=self.columns[ONE_HOT, split.index],
                left=yes,
                right=no,
                left_categories=self._codes[split.index, split.hash],
                missing_left=False,
                unseen_left=False,
            )
        return Branch(
            feature=self.columns[FLOAT, split.index],
            left=no,
            right=yes,
            threshold=split.border,
            missing_left=self._missing_left[split.index],
        )


def _columns(info: JsonObject) -> list[tuple[str, tuple[str, int], str]]:
    """Return kind, key and name of the columns, in their order in the training data."""
    found: dict[int, tuple[str, tuple[str, int], str]] = {}
    for kind, name in ((FLOAT, "float_features"), (ONE_HOT, "categorical_features")):
        if not info.content.get(name):
            continue
        for one in info.parts(name):
            index = one.whole("feature_index", MAX_UNLISTED_FEATURES)
            place = one.whole("flat_feature_index", MAX_UNLISTED_FEATURES)
            label = str(one.content.get("feature_name") or one.content.get("feature_id") or "")
            if place in found:
                raise TreeFormatError(
                    f"{one.where}flat_feature_index: expected one, got {place} twice"
                )
            found[place] = (kind, (kind, index), label)
    keys = [key for _, key, _ in found.values()]
    if sorted(found) != list(range(len(found))) or len(set(keys)) < len(keys):
        raise UnsupportedModelError(
            "expected a model of numeric and categorical features, each listed once, got columns "
            f"{sorted(found)[:10]}; leave out text and embedding features"
        )
    return [found[place] for place in sorted(found)]


def _texts(info: JsonObject) -> dict[int, list[str]]:
    """Return the texts of each hash, where they were stored."""
    texts: dict[int, list[str]] = {}
    if info.content.get("cat_features_hash"):
        for one in info.parts("cat_features_hash"):
            same = texts.setdefault(one.get("hash", int) & 0xFFFFFFFF, [])
            text = one.get("value", str)
            if text not in same:
                same.append(text)
    return texts


def _may_be_a_number(text: str) -> bool:
    if text in ("True", "False"):
        return True
    try:
        int(text)
    except ValueError:
        return False
    return True


def _treatment(feature: JsonObject) -> bool:
    kind = feature.content.get("nan_value_treatment", "AsIs")
    if not isinstance(kind, str) or kind not in _MISSING_LEFT:
        raise TreeFormatError(
            f"{feature.where}nan_value_treatment: expected one of {', '.join(_MISSING_LEFT)}, "
            f"got {str(kind)[:40]!r}"
        )
    return _MISSING_LEFT[kind]
