"""Compiled and plain, the walk finds the same paths bit for bit, and those of the boxes."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import warnings
from collections.abc import Callable
from functools import cache
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as hs

import steadytree as st
from steadytree.exceptions import ClippedThresholdWarning
from steadytree.formats.thresholds import double_threshold, next_above, single_threshold
from steadytree.tree import walk as walk_module
from steadytree.tree.alignment import align_tree
from steadytree.tree.columns import (
    bit_flags,
    bit_set,
    codes_in,
)
from steadytree.tree.paths import Paths
from steadytree.tree.walk import Boxes, compiled_walk
from tests.golden import build
from tests.strategies import Kind, examples, random_threshold, random_tree, spaces, tree_collections

ARRAYS = ("leaf", "indptr", "coord", "tightening", "paper_weight", "label", "value")
kinds = hs.builds(
    Kind,
    categorical=hs.booleans(),
    missing=hs.booleans(),
    regression=hs.booleans(),
    outside=hs.booleans(),
)
collections = kinds.flatmap(lambda kind: tree_collections(4, kind=kind, max_leaves=14))


def walked(compiled: bool, make: Callable[[], Any]) -> Any:
    """Run something with the walk compiled, or plain."""
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore", ClippedThresholdWarning)
        patch.setattr(walk_module, "_is_large", lambda n_nodes: compiled)
        return make()


def assert_equal(a: list[Paths], b: list[Paths]) -> None:
    for one, other in zip(a, b, strict=True):
        for name in ARRAYS:
            mine, theirs = getattr(one, name), getattr(other, name)
            assert mine.dtype == theirs.dtype
            assert mine.tobytes() == theirs.tobytes(), name
        for mine, theirs in zip(one.walked[4:], other.walked[4:], strict=True):
            assert mine.dtype == theirs.dtype
            assert mine.tobytes() == theirs.tobytes()


@examples(150)
@given(collections, hs.booleans())
def test_compiled_and_plain_agree(
    drawn: tuple[st.FeatureSpace, list[st.Tree]], merge: bool
) -> None:
    space, trees = drawn

    def make() -> list[Paths]:
        return Paths.from_trees(trees, space, merge_equal_siblings=merge)

    plain = walked(False, make)
    assert_equal(walked(True, make), plain)
    # One by one, they are what they are together.
    alone = [
        walked(True, lambda t=t: Paths.from_tree(t, space, merge_equal_siblings=merge))
        for t in trees
    ]
    assert_equal(alone, plain)


@examples(100)
@given(collections, hs.booleans())
def test_the_walk_finds_the_boxes_of_the_leaves(
    drawn: tuple[st.FeatureSpace, list[st.Tree]], compiled: bool
) -> None:
    space, trees = drawn
    boxes = Boxes(space)
    for tree in trees:
        paths = walked(compiled, lambda tree=tree: Paths.from_tree(tree, space))
        for p, leaf in enumerate(paths.leaf.tolist()):
            box = sorted(boxes.box_of(align_tree(tree, space), leaf).items())
            weight = 0.0
            for _, side in box:
                weight += side.weight
            entries = slice(paths.indptr[p], paths.indptr[p + 1])
            expected = [item for _, side in box for item in side.tightening.items()]
            assert paths.coord[entries].tolist() == [c for c, _ in expected]
            assert paths.tightening[entries].tolist() == [x for _, x in expected]
            assert paths.paper_weight[p] == weight
        # Operations lead from the unrestricted path to each of these.
        walk, x, way = paths.walked, np.zeros(paths.n_coords), list[range]()
        for node, depth in enumerate(walk.depth.tolist()):
            while len(way) > depth:
                gone = way.pop()
                x[walk.op_coord[gone.start : gone.stop]] = walk.op_old[gone.start : gone.stop]
            ops = range(walk.op_start[node], walk.op_start[node + 1])
            way.append(ops)
            assert (x[walk.op_coord[[*ops]]] == walk.op_old[[*ops]]).all()
            x[walk.op_coord[[*ops]]] = walk.op_new[[*ops]]
            if walk.path[node] >= 0:
                np.testing.assert_array_equal(x, paths.dense()[walk.path[node]])


@examples(50)
@given(hs.randoms(use_true_random=False))
def test_one_hot_columns_and_many_categories(rng: Random) -> None:
    """More categories than an integer has bits, and columns that are one feature."""
    cats = tuple(f"c{i}" for i in range(70))
    group = {f"colour_{c}": c for c in ("red", "green", "blue")}
    columns = st.FeatureSpace(
        lower=np.zeros(5), upper=np.ones(5), categories=(None, cats, None, None, None),
        can_be_missing=np.array([True, True, False, False, False]),
        names=("age", "code", *group), classes=("no", "yes"),
    )  # fmt: skip
    space = st.FeatureSpace(
        lower=np.zeros(3), upper=np.array([1.0, 0.0, 0.0]),
        categories=(None, cats, tuple(group.values())),
        can_be_missing=np.array([True, True, True]),
        names=("age", "code", "colour"), classes=("no", "yes"), one_hot={"colour": group},
    )  # fmt: skip
    trees = [random_tree(rng, columns, Kind(), n_leaves=n) for n in (1, 6, 20)]
    plain, fast = (
        walked(compiled, lambda: Paths.from_trees(trees, space)) for compiled in (False, True)
    )
    assert_equal(fast, plain)


def test_more_tightenings_than_there_is_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(walk_module, "ENTRIES_PER_PATH", 1)
    tree = build((0, 0.5, (1, 0.3, "no", (0, 0.2, "no", "yes")), (1, 0.3, "yes", "no")))
    space = st.FeatureSpace(lower=np.zeros(2), upper=np.ones(2))
    for compiled in (False, True):
        paths = walked(compiled, lambda: Paths.from_tree(tree, space))
        assert paths.indptr.tolist() == [0, 2, 4, 7, 9, 11]


def test_without_numba_the_walk_is_plain() -> None:
    assert compiled_walk() is not None
    code = "from steadytree.tree.walk import compiled_walk; print(compiled_walk())"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True, text=True, check=True,
        env={**os.environ, "STEADYTREE_NO_NUMBA": "1"},
    )  # fmt: skip
    assert done.stdout.strip() == "None"


def test_numba_is_imported_for_many_nodes_only(monkeypatch: pytest.MonkeyPatch) -> None:
    large = walk_module._is_large
    monkeypatch.setattr(walk_module, "compiled_walk", cache(lambda: None))
    assert not large(walk_module.COMPILED_FROM - 1)
    assert large(walk_module.COMPILED_FROM)  # numba is there, as these tests use it
    monkeypatch.delitem(sys.modules, "numba")
    assert not large(walk_module.COMPILED_FROM)
    assert large(walk_module.IMPORTED_FROM)
    walk_module.compiled_walk()
    assert large(1)


def test_a_chain_as_deep_as_trees_may_be() -> None:
    spec: Any = "yes"
    for k in range(300):
        spec = (k % 3, (k + 1) / 400, "no", spec)
    space = st.FeatureSpace(lower=np.zeros(3), upper=np.ones(3))
    plain, fast = (
        walked(compiled, lambda: [Paths.from_tree(build(spec, n_features=3), space)])
        for compiled in (False, True)
    )
    assert_equal(fast, plain)


# -- boxes: what a condition leaves on either side, and how much that tightens the space


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


# -- sets of categories as bits: short and long ones alike ------------------------


@pytest.mark.parametrize("count", [1, 7, 8, 63, 64, 65, 72, 100, 1000])
def test_there_and_back(count: int) -> None:
    rng = np.random.default_rng(count)
    for _ in range(20):
        codes = np.flatnonzero(rng.random(count) < rng.random()).tolist()
        bits = bit_set(codes, count)
        assert bits == sum(2**code for code in codes)
        assert codes_in(bits, count) == codes
        assert codes_in(~bits, count) == sorted(set(range(count)) - set(codes))
        assert bit_flags(bits, count) == [int(code in codes) for code in range(count)]
        assert bit_set([*codes, *codes], count) == bits
        # Bits beyond, such as the one for missing values, are left out.
        assert codes_in(bits | 1 << count, count) == codes


# -- thresholds in other number formats: every value goes the way it went ---------


NUMBERS = hs.floats(allow_nan=False, allow_infinity=False)
SINGLES = hs.floats(width=32, allow_nan=False, allow_infinity=False)


def singles_near(t: float) -> np.ndarray:
    with np.errstate(over="ignore"):
        near = np.float32(t)
        up, down = np.float32(np.inf), np.float32(-np.inf)
        return np.array(
            [down, np.nextafter(near, down), near, np.nextafter(near, up), up], dtype=np.float32
        )


@given(NUMBERS | SINGLES)
def test_doubles_go_where_their_singles_went(t: float) -> None:
    found = double_threshold(t, "float32")
    with np.errstate(over="ignore"):
        above = np.nextafter(found, np.inf)
        assert float(np.float32(found)) <= t
        assert float(np.float32(above)) > t
    assert double_threshold(t, "float64") == t


@given(NUMBERS | SINGLES)
def test_singles_go_where_they_went(t: float) -> None:
    for x in singles_near(t).tolist():
        assert (x <= single_threshold(t)) == (x <= t)
        assert (np.float32(x) < np.float32(next_above(t, "float32"))) == (x <= t)


@given(NUMBERS)
def test_a_strict_comparison_of_doubles(t: float) -> None:
    strict = next_above(t, "float64")
    with np.errstate(over="ignore"):
        near = (np.nextafter(t, -np.inf), t, np.nextafter(t, np.inf))
    for x in near:
        assert (x < strict) == (x <= t)


def test_infinite_thresholds_stay() -> None:
    for t in (np.inf, -np.inf):
        assert double_threshold(t, "float64") == t
        assert single_threshold(t) == t
    assert double_threshold(np.inf, "float32") == np.inf
    # Doubles below the range of singles round to minus infinity, and go left of it.
    found = double_threshold(-np.inf, "float32")
    with np.errstate(over="ignore"):
        assert np.float32(found) == -np.inf < np.float32(np.nextafter(found, np.inf))
