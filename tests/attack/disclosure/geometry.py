"""Trees as the page draws them: which people a leaf is about, and which leaves two trees share.

The adversary has no tree file and runs none of the code under test: nodes, thresholds and
categories are read from the page, and the smallest groups of people that the drawn trees tell
apart (the *atoms*) are the cells that everything published is a sum of.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

__all__ = ["Atom", "DrawnTree", "atoms_of"]

MISSING = -1
"""Stands for a missing value among the codes of categories."""


@dataclass(frozen=True)
class Reach:
    """Values of one feature that pass: numbers in (low, high], or codes; missing ones or not."""

    low: float = -math.inf
    high: float = math.inf
    codes: frozenset[int] | None = None
    missing: bool = True

    def meet(self, other: Reach) -> Reach:
        """Return what passes both."""
        codes = self.codes
        if other.codes is not None:
            codes = other.codes if codes is None else codes & other.codes
        return Reach(
            max(self.low, other.low),
            min(self.high, other.high),
            codes,
            self.missing and other.missing,
        )

    @property
    def empty(self) -> bool:
        """Whether nobody passes."""
        present = bool(self.codes) if self.codes is not None else self.low < self.high
        return not present and not self.missing

    def rows(self, values: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Say which values pass; a missing one is NaN."""
        if self.codes is not None:
            inside = np.isin(values, list(self.codes))
        else:
            inside = (values > self.low) & (values <= self.high)
        return np.where(np.isnan(values), self.missing, inside)


Box = Mapping[int, Reach]


def meet(one: Box, two: Box) -> dict[int, Reach] | None:
    """Return the people of both boxes; None where there can be none."""
    out = dict(one)
    for feature, reach in two.items():
        out[feature] = reach.meet(out[feature]) if feature in out else reach
        if out[feature].empty:
            return None
    return out


@dataclass(frozen=True)
class DrawnTree:
    """The leaves of a tree on the page: whom each is about, and its label."""

    boxes: Mapping[int, Box]
    labels: Mapping[int, int | None]

    @classmethod
    def of(cls, drawn: Mapping[str, Any], features: Sequence[Mapping[str, Any]]) -> DrawnTree:
        """Read a tree that is drawn node by node."""
        boxes: dict[int, Box] = {}
        stack: list[tuple[int, Box]] = [(0, {})]
        while stack:
            node, box = stack.pop()
            if drawn["left"][node] < 0:
                boxes[node] = box
                continue
            sides = _sides(
                drawn["threshold"][node],
                drawn["categories"][node],
                bool(drawn["missing_left"][node]),
                features[drawn["feature"][node]],
            )
            # The left side last, so that it comes next: leaves are in the order of the page.
            children = (drawn["right"][node], drawn["left"][node])
            for child, reach in zip(children, reversed(sides), strict=True):
                inside = meet(box, {drawn["feature"][node]: reach})
                if inside is not None:
                    stack.append((child, inside))
        # A leaf that no value can reach is drawn as well.
        leaves = [node for node, left in enumerate(drawn["left"]) if left < 0]
        labels = {leaf: drawn["label"][leaf] for leaf in leaves}
        return cls(boxes, labels)

    @classmethod
    def compact(cls, drawn: Mapping[str, Any], features: Sequence[Mapping[str, Any]]) -> DrawnTree:
        """Read a candidate's tree: nodes in preorder, leaves numbered from left to right."""
        boxes: dict[int, Box] = {}
        thresholds, categories = iter(drawn["t"]), iter(drawn["c"])
        missing = iter(drawn["m"])
        todo: list[Box | None] = [{}]
        for feature in drawn["f"]:
            box = todo.pop()
            if feature < 0:
                if box is not None:
                    boxes[len(boxes)] = box
                else:
                    boxes[len(boxes)] = {0: Reach(codes=frozenset(), missing=False)}
                continue
            by_set = features[feature]["categories"] is not None
            sides = _sides(
                None if by_set else next(thresholds),
                next(categories) if by_set else None,
                next(missing) in "13",
                features[feature],
            )
            inside = [None if box is None else meet(box, {feature: reach}) for reach in sides]
            todo += [inside[1], inside[0]]
        return cls(boxes, dict(enumerate(drawn["l"])))

    def leaf_of(self, coded: NDArray[np.float64]) -> NDArray[np.intp]:
        """Leaf of each row, values coded by position of feature and category."""
        out = np.full(len(coded), -1)
        for leaf, box in self.boxes.items():
            out[inside(box, coded)] = leaf
        return out


def _sides(
    threshold: float | str | None,
    left_codes: Sequence[int] | None,
    missing_left: bool,
    feature: Mapping[str, Any],
) -> tuple[Reach, Reach]:
    can_miss = bool(feature["missing"])
    left, right = missing_left and can_miss, can_miss and not missing_left
    if left_codes is not None:
        every = frozenset(range(len(feature["categories"])))
        codes = frozenset(left_codes)
        return Reach(codes=codes, missing=left), Reach(codes=every - codes, missing=right)
    assert threshold is not None
    cut = float(threshold)
    return Reach(high=cut, missing=left), Reach(low=cut, missing=right)


def inside(box: Box, coded: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Say which rows are in a box."""
    out = np.ones(len(coded), dtype=bool)
    for feature, reach in box.items():
        out &= reach.rows(coded[:, feature])
    return out


@dataclass(frozen=True)
class Atom:
    """People whom no drawn tree tells apart: their box, and their leaf in each tree."""

    box: Box
    leaves: tuple[int, ...]


def atoms_of(trees: Sequence[DrawnTree]) -> list[Atom]:
    """Return the coarsest partition that every tree's leaves are unions of."""
    atoms = [Atom({}, ())]
    for tree in trees:
        atoms = [
            Atom(box, (*atom.leaves, leaf))
            for atom in atoms
            for leaf, own in tree.boxes.items()
            if (box := meet(atom.box, own)) is not None
        ]
    return atoms


def code_rows(table: pd.DataFrame, features: Sequence[Mapping[str, Any]]) -> NDArray[np.float64]:
    """Code raw rows by the features and categories that the page lists; NaN where missing.

    A value that the page does not list gets the code after the last one.
    """
    out = np.full((len(table), len(features)), np.nan)
    for j, feature in enumerate(features):
        if feature["name"] not in table:
            continue
        values = table[feature["name"]]
        if feature["categories"] is None:
            numbers = pd.to_numeric(values, errors="coerce")
            out[:, j] = numbers.to_numpy(dtype=float)
            continue
        codes = {str(name): i for i, name in enumerate(feature["categories"])}
        out[:, j] = [np.nan if pd.isna(v) else float(codes.get(str(v), len(codes))) for v in values]
    return out
