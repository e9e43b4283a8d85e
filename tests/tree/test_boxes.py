"""Boxes: what a condition leaves on either side, and how much that tightens the space."""

from __future__ import annotations

import math
from random import Random

import numpy as np
from hypothesis import given
from hypothesis import strategies as hs

import steadytree as st
from steadytree.tree.alignment import align_tree
from steadytree.tree.walk import Boxes, coordinate_start
from tests.golden import build
from tests.strategies import Kind, examples, random_threshold, spaces

SPACE = st.FeatureSpace(
    lower=np.array([0.0, 0.0]),
    upper=np.array([100.0, 0.0]),
    categories=(None, ("red", "green", "blue")),
    can_be_missing=np.array([True, True]),
    names=("age", "colour"),
)


def test_a_box_on_both_sides_of_a_split() -> None:
    boxes = Boxes(SPACE)
    assert boxes.start == [0, 4, 8]  # upper, lower, present, missing; three colours, missing
    left, right = boxes.split({}, 0, 25.0, None, True)
    assert left is not None
    assert right is not None
    assert left == ((-math.inf, 25.0, True, True), {0: 0.75}, 0.25)
    assert right == ((25.0, math.inf, True, False), {1: 0.25, 3: 1.0}, 0.75 + 0.5)
    # Above 25 and not missing: nothing is left below 20.
    low, high = boxes.split({0: right}, 0, 20.0, None, True)
    assert low is None
    assert high == right
    red, rest = boxes.split({}, 1, math.nan, 0b0001, False)
    assert red == (0b0001, {5: 0.5, 6: 0.5, 7: 0.5}, 0.25)
    assert rest is not None
    assert rest.tightening == {4: 0.5}
    assert coordinate_start(SPACE).tolist() == boxes.start


def test_the_box_of_a_node_is_split_on_the_way_to_it() -> None:
    tree = build(
        (0, 50.0, "no", (1, (0, 2), "no", (0, 75.0, "no", "yes"), False)),
        categories=SPACE.categories,
        feature_names=SPACE.names,
    )
    boxes = Boxes(SPACE)
    aligned = align_tree(tree, SPACE)
    box = boxes.box_of(aligned, int(tree.leaves[-2]))
    assert {j: side.state for j, side in box.items()} == {
        0: (50.0, 75.0, True, False),
        1: 0b1010,
    }
    assert boxes.box_of(aligned, 0) == {}


@examples(100)
@given(spaces(Kind(outside=True)), hs.randoms(use_true_random=False))
def test_cuts_are_what_a_split_says(drawn: tuple[Kind, st.FeatureSpace], rng: Random) -> None:
    kind, space = drawn
    boxes = Boxes(space)
    numeric = [j for j, count in enumerate(boxes.count) if count == 0]
    feature = np.array([j for j in numeric for _ in range(4)], dtype=np.int64)
    threshold = np.array([random_threshold(rng, space, j, kind) for j in feature.tolist()])
    above, below = boxes.cuts(feature, threshold)
    for j, t, up, down in zip(
        feature.tolist(), threshold.tolist(), above.tolist(), below.tolist(), strict=True
    ):
        left, right = boxes.split({}, j, t, None, True)
        first = boxes.start[j]
        if left is not None and left.state[2]:
            assert left.tightening.get(first, 0.0) == up
        if right is not None and right.state[2]:
            assert right.tightening.get(first + 1, 0.0) == down


def test_cuts_of_a_range_beyond_the_largest_number() -> None:
    boxes = Boxes(st.FeatureSpace(lower=[-(2.0**1023)], upper=[2.0**1023]))
    above, below = boxes.cuts(np.zeros(3, dtype=np.int64), np.array([-np.inf, 2.0**1022, np.inf]))
    assert (above.tolist(), below.tolist()) == ([1.0, 0.25, 0.0], [0.0, 0.75, 1.0])
    left, right = boxes.split({}, 0, 2.0**1022, None, True)
    assert left is not None
    assert right is not None
    assert (left.tightening, right.tightening) == ({0: 0.25}, {1: 0.75})
