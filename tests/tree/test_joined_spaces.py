"""Two trees of which one knows more columns or categories are measured in one space."""

from __future__ import annotations

import numpy as np
import pandas as pd
from hypothesis import given
from hypothesis import strategies as hs

from steadytree.tree.alignment import joined_categories, joined_order, joined_space
from steadytree.tree.space import FeatureSpace
from steadytree.tree.tree import Tree


def stump(
    names: tuple[str, ...],
    feature: str,
    categories: tuple[str, ...] | None = None,
    space: FeatureSpace | None = None,
) -> Tree:
    """A tree of one split: at 1, or the first category goes left."""
    at = names.index(feature)
    return Tree(
        children_left=[1, -1, -1],
        children_right=[2, -1, -1],
        feature=[at, -1, -1],
        threshold=[np.nan if categories else 1.0, np.nan, np.nan],
        left_categories=((0,) if categories else None, None, None),
        value=[[0.5, 0.5], [1, 0], [0, 1]],
        weight=[2, 1, 1],
        classes=("no", "yes"),
        n_features=len(names),
        feature_names=names,
        categories=tuple(categories if name == feature else None for name in names),
        space=space,
    )


KNOWN = FeatureSpace(
    lower=[0.0, 0.0],
    upper=[4.0, 0.0],
    categories=(None, ("a", "b", "c")),
    names=("x", "colour"),
)


def test_a_new_category_comes_after_the_known_ones() -> None:
    tree = stump(("x", "colour"), "colour", ("b", "a", "d"))
    joined = joined_space(KNOWN, tree)
    assert joined.own_word == ()
    assert joined.space == KNOWN.replace(categories=(None, ("a", "b", "c", "d")))
    tree.in_space(joined.space)


def test_nothing_is_joined_where_nothing_is_new() -> None:
    assert joined_space(KNOWN, stump(("x", "colour"), "x")).space is KNOWN
    unnamed = KNOWN.replace(names=None)
    assert joined_space(unnamed, stump(("y", "z"), "z")).space is unnamed


def test_more_new_categories_than_known_ones_are_the_trees_own_word() -> None:
    many = tuple("abcdefg")
    assert joined_space(KNOWN, stump(("x", "colour"), "colour", many)).own_word == ("colour",)
    some = tuple("abcdef")
    assert joined_space(KNOWN, stump(("x", "colour"), "colour", some)).own_word == ()


def test_a_further_column_takes_its_range_from_the_rows() -> None:
    vast = FeatureSpace(lower=[-1e9, 0.0], upper=[1e9, 1.0], names=("age", "unused"))
    tree = stump(("age", "unused"), "age", space=vast)
    X = pd.DataFrame({"age": [20.0, 60.0], "x": [1.0, 2.0]})
    joined = joined_space(KNOWN, tree, X)
    assert joined.own_word == ()
    assert joined.space.names == ("x", "colour", "age", "unused")
    assert joined.space.lower[[0, 2, 3]].tolist() == [0.0, 20.0, 0.0]
    assert joined.space.upper[[0, 2, 3]].tolist() == [4.0, 60.0, 0.0]
    alone = joined_space(KNOWN, tree)
    assert alone.own_word == ("age",)  # nobody else says how far it ranges
    assert alone.space.upper[[0, 2, 3]].tolist() == [4.0, 1e9, 1.0]
    bare = joined_space(KNOWN, tree.replace(space=None))
    assert bare.space is KNOWN


def test_a_further_column_of_categories() -> None:
    tree = stump(("x", "town"), "town", ("Bonn", "Ulm"))
    X = pd.DataFrame({"x": [1.0, 2.0], "town": ["Trier", "Ulm"]})
    joined = joined_space(KNOWN, tree, X)
    assert joined.space.categories == (None, ("a", "b", "c"), ("Bonn", "Ulm", "Trier"))


def test_orders_join() -> None:
    ordered = KNOWN.replace(categories=(None, ("low", "high")), ordered=[False, True])
    theirs = ordered.replace(categories=(None, ("low", "middle", "high")))
    tree = stump(("x", "colour"), "colour", ("low", "middle", "high"), theirs)
    assert joined_space(ordered, tree).space.categories[1] == ("low", "middle", "high")
    unordered = theirs.replace(ordered=[False, False])
    assert joined_space(ordered, tree.replace(space=unordered)).space.categories[1] == (
        *("low", "high", "middle"),
    )


def test_orders_are_joined_where_both_agree() -> None:
    assert joined_order("abd", "bcd") == tuple("abcd")
    assert joined_order("ab", "abc") == tuple("abc")
    assert joined_order("bc", "abc") == tuple("abc")
    assert joined_order("abc", "acb") is None
    assert joined_order("abc", "axc") is None  # b and x: which is first?
    assert joined_order("ab", "cd") is None
    assert joined_categories("ab", ("c", "(none)"), ordered=False) == tuple("abc")
    assert joined_categories("ac", "abc", ordered=True) == tuple("abc")
    assert joined_categories("abc", ("(none)",), ordered=True) == tuple("abc")


@given(hs.lists(hs.integers(0, 9), unique=True), hs.lists(hs.integers(0, 9), unique=True))
def test_a_joined_order_holds_both(one: list[int], two: list[int]) -> None:
    joined = joined_order(one, two)
    if joined is None:
        return
    assert len(set(joined)) == len(joined)
    assert [c for c in joined if c in one] == one
    assert [c for c in joined if c in two] == two
    assert joined_order(two, one) == joined
