"""Large trees that are honest: what can be done with them is done, the rest refused at once."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import steadytree as st
from steadytree._io import MAX_MATCHING_BYTES, check_matching
from steadytree.exceptions import InputError

LEVELS = 16


def full_tree(levels: int, shift: float = 0.0) -> st.Tree:
    """Return a tree of 2**levels rules, each of which some value reaches."""
    inner = 2**levels - 1
    n = 2 * inner + 1
    feature, threshold = np.full(n, -1), np.zeros(n)
    feature[:inner] = np.log2(np.arange(1, inner + 1)).astype(int)  # a level asks one feature
    threshold[:inner] = 0.5 + shift
    share = np.linspace(0, 1, n)
    return st.Tree(
        children_left=[2 * i + 1 if i < inner else -1 for i in range(n)],
        children_right=[2 * i + 2 if i < inner else -1 for i in range(n)],
        feature=feature,
        threshold=threshold,
        value=np.c_[share, 1 - share],
        classes=("no", "yes"),
        n_features=levels,
        space=st.FeatureSpace(lower=np.zeros(levels), upper=np.ones(levels)),
    )


@pytest.fixture(scope="module")
def pair() -> tuple[st.Tree, st.Tree]:
    return full_tree(LEVELS), full_tree(LEVELS, 0.1)


COMPARISONS: dict[str, Callable[[st.Tree, st.Tree], Any]] = {
    "distance": st.tree_distance,
    "cover": lambda a, b: st.tree_distance(a, b, variant="cover"),
    "matching": st.match_paths,
    "pairwise": lambda a, b: st.pairwise_tree_distances([a, b]),
    "diff": st.diff_trees,
}


@pytest.mark.parametrize("name", COMPARISONS)
def test_a_comparison_that_would_fill_the_memory(name: str, pair: tuple[st.Tree, st.Tree]) -> None:
    """Two trees of 65,536 rules have four thousand million pairs of rules."""
    tracemalloc.start()
    try:
        with pytest.raises(InputError, match=r"65,536 rules against 65,536 rules.*96\.0 GiB; comp"):
            COMPARISONS[name](*pair)
        assert tracemalloc.get_traced_memory()[1] < 2**30
    finally:
        tracemalloc.stop()


def test_they_are_saved_read_printed_and_asked(
    pair: tuple[st.Tree, st.Tree], tmp_path: Path
) -> None:
    tree = pair[0]
    assert st.load_tree(st.save_tree(tree, tmp_path / "tree.json")) == tree
    rows = np.random.default_rng(0).random((1000, LEVELS))
    leaf = ((rows > 0.5) @ (2 ** np.arange(LEVELS)[::-1])) + 2**LEVELS - 1
    np.testing.assert_array_equal(tree.apply(rows), leaf)
    assert str(tree.truncate(3)).count("\n") == 13


def test_the_limit_leaves_room_for_thousands_of_rules() -> None:
    check_matching(16_384, 16_384)
    with pytest.raises(InputError, match=f"in {MAX_MATCHING_BYTES // 2**30} GiB of memory"):
        check_matching(16_385, 16_384)
    with pytest.raises(InputError, match="1,000 rules against 400,000 bounds and categories"):
        check_matching(1_000, 400_000, "bounds and categories")
