"""Small trees with distances worked out by hand, to the last fraction.

Each case is a pair of trees in a space and what the distance must be, with the sum
written out beside it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from steadytree.tree.space import FeatureSpace
from steadytree.tree.tree import Tree

# A leaf is its label (or response); a split is (feature, threshold or category codes,
# left, right) or the same with a last entry that says whether missing values go left.
Node = Any


def build(
    node: Node,
    n_features: int = 2,
    *,
    classes: tuple[Any, ...] | None = ("no", "yes"),
    **fields: Any,
) -> Tree:
    """A tree from nested tuples; shares are one for the label and zero for the others."""
    left: list[int] = []
    right: list[int] = []
    feature: list[int] = []
    threshold: list[float] = []
    missing_left: list[bool] = []
    sets: list[tuple[int, ...] | None] = []
    outcome: list[Any] = []

    def add(item: Node) -> int:
        at = len(left)
        left.append(-1)
        right.append(-1)
        feature.append(-1)
        threshold.append(math.nan)
        missing_left.append(True)
        sets.append(None)
        outcome.append(None)
        if not isinstance(item, tuple):
            outcome[at] = item
            return at
        feature[at] = item[0]
        if isinstance(item[1], tuple):
            sets[at] = item[1]
        else:
            threshold[at] = item[1]
        missing_left[at] = item[4] if len(item) > 4 else True
        left[at] = add(item[2])
        right[at] = add(item[3])
        outcome[at] = outcome[left[at]]
        return at

    add(node)
    if classes is None:
        value = [[float(o)] for o in outcome]
    else:
        value = [[float(c == o) for c in classes] for o in outcome]
    fields.setdefault("value", np.array(value))
    return Tree(
        children_left=np.array(left),
        children_right=np.array(right),
        feature=np.array(feature),
        threshold=np.array(threshold),
        n_features=n_features,
        left_categories=tuple(sets),
        missing_left=np.array(missing_left),
        classes=classes,
        **fields,
    )


UNIT = FeatureSpace(lower=np.zeros(2), upper=np.ones(2))
TEN = FeatureSpace(lower=np.zeros(2), upper=np.full(2, 10.0))
HOLES = FeatureSpace(lower=np.zeros(2), upper=np.ones(2), can_be_missing=np.array([True, False]))
RESPONSE = FeatureSpace(lower=np.zeros(2), upper=np.ones(2), response_range=(0.0, 20.0))
COLOURS = FeatureSpace(
    lower=np.zeros(1), upper=np.zeros(1), categories=(("red", "green", "blue", "grey"),)
)
COLOURS_OR_NONE = COLOURS.replace(can_be_missing=np.array([True]))


@dataclass(frozen=True)
class Golden:
    name: str
    a: Tree
    b: Tree
    space: FeatureSpace
    distance: float
    options: dict[str, Any] = field(default_factory=dict)


MID_1 = build((0, 0.5, "no", "yes"))
MID_2 = build((1, 0.5, "no", "yes"))
EPS = 1 / 64
COLOUR: dict[str, Any] = {"n_features": 1, "categories": COLOURS.categories}

GOLDEN = (
    Golden("the same stump", MID_1, MID_1, UNIT, 0.0),
    # Each path moves one bound by 0.2 of the range: 2 * 0.2 / 2.
    Golden("a moved threshold", MID_1, build((0, 0.7, "no", "yes")), UNIT, 0.2),
    Golden(
        "the same move in other units",
        build((0, 5.0, "no", "yes")),
        build((0, 7.0, "no", "yes")),
        TEN,
        0.2,
    ),
    # Crossing over costs two bounds of half the range per path: (0.5 + 0.5) / 2 each; staying,
    # the label twice.
    Golden(
        "labels swapped, labels heavy",
        MID_1,
        build((0, 0.5, "yes", "no")),
        UNIT,
        1.0,
        {"label_weight": 24.0},
    ),
    Golden(
        "labels swapped, labels light",
        MID_1,
        build((0, 0.5, "yes", "no")),
        UNIT,
        0.5,
        {"label_weight": 0.25},
    ),
    # Two bounds of half the range, one on each feature: 1/2 per path.
    Golden("stumps on two features", MID_1, MID_2, UNIT, 1.0),
    # w' = 1/4 + 1/2 for each of the four paths: 2 * 1 / (4 * 3/4 + 1).
    Golden(
        "stumps on two features, relative",
        MID_1,
        MID_2,
        UNIT,
        0.5,
        {"variant": "metric", "normalize": "relative"},
    ),
    # 2^1 (2 * 1 + 1) = 6, and 2^2 (2 * 2 + 4) = 32 with the balanced weight.
    Golden(
        "stumps on two features, over the bound",
        MID_1,
        MID_2,
        UNIT,
        1 / 6,
        {"normalize": "bound", "max_depth": 1},
    ),
    Golden(
        "stumps on two features, over a larger bound",
        MID_1,
        MID_2,
        UNIT,
        1 / 32,
        {"normalize": "bound", "max_depth": 2, "label_weight": "balanced"},
    ),
    # "no" is matched at 1/4, "yes" stays alone at w = 1/2 or w' = 1/4 + 1/2.
    Golden("a stump against a leaf", MID_1, build("no"), UNIT, 0.75),
    Golden("a stump against a leaf, metric", MID_1, build("no"), UNIT, 1.0, {"variant": "metric"}),
    # Covered: "yes" goes to the leaf as well, at 1/4 + 1.
    Golden("a stump against a leaf, cover", MID_1, build("no"), UNIT, 1.5, {"variant": "cover"}),
    # The counterexample to Proposition 1. The narrow path (w = eps) is the one left alone;
    # the wide one is eps/2 from the leaf.
    Golden(
        "a thin slice against a leaf", build((0, EPS, "no", "no")), build("no"), UNIT, EPS + EPS / 2
    ),
    # Narrow against narrow and wide against wide: (1 - eps) + eps; the other way is the same.
    Golden(
        "thin slices on two features",
        build((0, EPS, "no", "no")),
        build((1, EPS, "no", "no")),
        UNIT,
        1.0,
    ),
    # Merged, a slice that changes no decision is gone.
    Golden(
        "a thin slice merged",
        build((0, EPS, "no", "no")),
        build("no"),
        UNIT,
        0.0,
        {"merge_equal_siblings": True},
    ),
    # A box 0.25 < x <= 0.5 has w = 0.25 and costs (0.5 + 0.25)/2 + 1/2 unmatched (metric).
    Golden(
        "a box left alone",
        build((0, 0.5, (0, 0.25, "no", "yes"), "no")),
        build((0, 0.5, "no", "no")),
        UNIT,
        0.25 / 2 + 0.25,
    ),
    # {red, green} against {red}: one of four categories, for both paths.
    Golden(
        "a category moved",
        build((0, (0, 1), "no", "yes"), **COLOUR),
        build((0, (0,), "no", "yes"), **COLOUR),
        COLOURS,
        0.5,
    ),
    # Left alone: 2 of 4 categories; matched with the leaf: 2 of 4 are gone.
    Golden(
        "categories against a leaf",
        build((0, (0, 1), "no", "yes"), **COLOUR),
        build("no", **COLOUR),
        COLOURS,
        1.0,
    ),
    # Missing is a fifth category; it changes sides: 1/5 for both paths.
    Golden(
        "missing moved, categorical",
        build((0, (0, 1), "no", "yes", True), **COLOUR),
        build((0, (0, 1), "no", "yes", False), **COLOUR),
        COLOURS_OR_NONE,
        0.4,
    ),
    # The implied feature {present, missing}: half for each path concerned.
    Golden(
        "missing moved, numeric",
        build((0, 0.5, "no", "yes", True)),
        build((0, 0.5, "no", "yes", False)),
        HOLES,
        1.0,
    ),
    # Only missing values go right: no bounds there, "present" is out (1/2); left "missing"
    # is out (1/2). Against a leaf: "no" at 1/2, "yes" alone at w = 1/2.
    Golden("is it missing?", build((0, math.inf, "no", "yes", False)), build("no"), HOLES, 1.0),
    # ... and with a numeric condition as well: u moves by 1/2 (1/4), missing is out (1/2);
    # alone, "x > 0.5 or missing" has w = 1/2 and nothing for {present, missing}.
    Golden(
        "missing with the right",
        build((0, 0.5, "no", "yes", False)),
        build("no"),
        HOLES,
        0.25 + 0.5 + 0.5,
    ),
    # 5 and 15 against 5 and 11 on a range of 20.
    Golden(
        "responses",
        build((0, 0.5, 5.0, 15.0), classes=None),
        build((0, 0.5, 5.0, 11.0), classes=None),
        RESPONSE,
        0.2,
    ),
    # 30 counts as 20.
    Golden(
        "responses beyond the range",
        build((0, 0.5, 5.0, 30.0), classes=None),
        build((0, 0.5, 5.0, 20.0), classes=None),
        RESPONSE,
        0.0,
    ),
    # A feature that does not vary contributes nothing.
    Golden(
        "a constant feature",
        build((0, 3.0, "no", "yes")),
        build("no"),
        FeatureSpace(lower=np.array([3.0, 0.0]), upper=np.array([3.0, 1.0])),
        0.0,
    ),
    # x <= 0.5 and x > 0.7: nothing gets there, the tree is a stump.
    Golden(
        "a path nothing can reach", build((0, 0.5, (0, 0.7, "no", "yes"), "yes")), MID_1, UNIT, 0.0
    ),
)
