"""Compiled and plain, the walk finds the same paths bit for bit, and those of the boxes."""

from __future__ import annotations

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
from steadytree.tree import walk as walk_module
from steadytree.tree.alignment import align_tree
from steadytree.tree.paths import Paths
from steadytree.tree.walk import Boxes, compiled_walk
from tests.golden import build
from tests.strategies import Kind, examples, random_tree, tree_collections

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
        for mine, theirs in zip(one.operations, other.operations, strict=True):
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
        walk, x, way = paths.operations, np.zeros(paths.n_coords), list[range]()
        for node, depth in enumerate(walk.depth.tolist()):
            while len(way) > depth:
                gone = way.pop()
                x[walk.coord[gone.start : gone.stop]] = walk.old[gone.start : gone.stop]
            ops = range(walk.start[node], walk.start[node + 1])
            way.append(ops)
            assert (x[walk.coord[ops.start : ops.stop]] == walk.old[ops.start : ops.stop]).all()
            x[walk.coord[ops.start : ops.stop]] = walk.new[ops.start : ops.stop]
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
