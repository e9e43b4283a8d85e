"""Feature spaces: made from any table, refused when they make no sense."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as hs

import steadytree as st
from steadytree.exceptions import InputError
from steadytree.tree.alignment import joined_categories, joined_order, joined_space
from steadytree.tree.space import FeatureSpace
from steadytree.tree.tree import Tree
from tests.wording import refuses

FRAME = pd.DataFrame(
    {
        "age": [30.0, 50.0, np.nan],
        "visits": [1, 2, 3],
        "colour": pd.Categorical(["red", "blue", "red"], categories=["red", "green", "blue"]),
        "city": ["Rome", None, "Oslo"],
        "smokes": [True, False, True],
    }
)


def test_from_a_pandas_frame() -> None:
    space = st.FeatureSpace.from_data(FRAME, ["a", "b", "a"])
    assert space.names == ("age", "visits", "colour", "city", "smokes")
    assert space.lower[:2].tolist() == [30.0, 1.0]
    assert space.upper[:2].tolist() == [50.0, 3.0]
    assert space.categories == (
        None,
        None,
        ("red", "green", "blue"),  # as declared, unused ones included
        ("Oslo", "Rome"),
        (False, True),
    )
    assert space.can_be_missing.tolist() == [True, False, False, True, False]
    assert space.classes == ("a", "b")
    assert [space.n_categories(j) for j in (2, 3, 4)] == [3, 3, 2]
    assert repr(space) == ("FeatureSpace(5 features: 2 numeric, 3 categorical, 2 can be missing)")


def test_from_a_polars_frame() -> None:
    frame = pl.DataFrame(
        {
            "age": [30.0, 50.0, None],
            "visits": [1, 2, 3],
            "colour": pl.Series(["red", "blue", "red"], dtype=pl.Enum(["red", "green", "blue"])),
            "city": ["Rome", None, "Oslo"],
            "smokes": [True, False, True],
        }
    )
    order = FRAME.assign(colour=FRAME["colour"].cat.as_ordered())
    assert st.FeatureSpace.from_data(frame) == st.FeatureSpace.from_data(order)
    assert st.FeatureSpace.from_data(frame) != st.FeatureSpace.from_data(FRAME)


def test_ordered_categories() -> None:
    kinds = {"size": ["s", "m", "l"], "sex": ["f", "m"]}
    frame = pd.DataFrame(
        {
            name: pd.Series(values[:2] * 2, dtype=pd.CategoricalDtype(values, ordered=True))
            for name, values in kinds.items()
        }
    )
    space = st.FeatureSpace.from_data(frame.assign(x=1.0, word=list("abca")))
    assert space.ordered.tolist() == [True, True, False, False]
    # Two categories can be divided in one way only.
    assert space.by_order.tolist() == [True, False, False, False]
    assert repr(space) == "FeatureSpace(4 features: 1 numeric, 3 categorical, 2 ordered)"
    plain = space.replace(ordered=())
    assert plain != space
    assert plain.digest() != space.digest()
    assert "ordered" not in plain.to_dict()
    with pytest.raises(InputError, match="got 'x', which is numeric and so in order already"):
        space.replace(ordered=[True, True, True, False])
    with pytest.raises(InputError, match="expected 4 ordered flags, one per feature, got 2"):
        space.replace(ordered=[True, True])


def test_from_arrays() -> None:
    space = st.FeatureSpace.from_data(np.array([[0.0, 5.0], [1.0, np.nan]]))
    assert space.names is None
    assert space.feature_labels == ("x0", "x1")
    assert space.lower.tolist() == [0.0, 5.0]
    assert space.can_be_missing.tolist() == [False, True]
    mixed = st.FeatureSpace.from_data(np.array([[1.0, "a"], [2.0, "b"]], dtype=object))
    assert mixed.categories == (None, ("a", "b"))
    assert st.FeatureSpace.from_data([[1, 2], [3, 4]]).upper.tolist() == [3.0, 4.0]


@pytest.mark.parametrize("dtype", ["Float64", "Int64", "float32", "int8"])
def test_from_nullable_columns(dtype: str) -> None:
    values: list[Any] = [1, 2, None] if dtype[0].isupper() else [1, 2, 2]
    space = st.FeatureSpace.from_data(pd.DataFrame({"n": pd.Series(values, dtype=dtype)}))
    assert (space.lower[0], space.upper[0]) == (1.0, 2.0)
    assert space.can_be_missing[0] == dtype[0].isupper()


def test_nullable_booleans_and_text() -> None:
    frame = pd.DataFrame(
        {
            "flag": pd.array([True, None, False], dtype="boolean"),
            "word": pd.array(["a", None, "b"], dtype="string"),
        }
    )
    space = st.FeatureSpace.from_data(frame)
    assert space.categories == ((False, True), ("a", "b"))
    assert space.can_be_missing.tolist() == [True, True]
    np.testing.assert_array_equal(space.encode(frame), [[1, 0], [np.nan, np.nan], [0, 1]])


def test_categorical_features_as_listed() -> None:
    X = np.array([[1.0, 7.0], [2.0, 9.0]])
    for listed in ([1], [False, True]):
        space = st.FeatureSpace.from_data(X, categorical_features=listed)
        assert space.categories == (None, (7.0, 9.0))
    frame = pd.DataFrame(X, columns=["a", "b"])
    assert st.FeatureSpace.from_data(frame, categorical_features=["b"]).categories[1] == (7.0, 9.0)
    assert st.FeatureSpace.from_data(frame, categorical_features=None).categories == (None, None)


def test_the_task_is_told_from_the_response() -> None:
    X = np.zeros((3, 1))
    assert st.FeatureSpace.from_data(X, [0.5, 1.0, 2.0]).response_range == (0.5, 2.0)
    assert st.FeatureSpace.from_data(X, [0.0, 1.0, 2.0]).classes == (0.0, 1.0, 2.0)
    counted = st.FeatureSpace.from_data(X, [0, 1, 2], task="regression")
    assert counted.response_range == (0.0, 2.0)
    assert counted.classes is None


def test_a_column_without_values() -> None:
    space = st.FeatureSpace.from_data(np.array([[np.nan], [np.nan]]))
    assert (space.lower[0], space.upper[0], space.can_be_missing[0]) == (0.0, 0.0, True)


BAD: dict[str, dict[str, Any]] = {
    "bounds": {"lower": [1.0], "upper": [0.0], "names": ("age",)},
    "bound NaN": {"lower": [math.nan], "upper": [0.0]},
    "bound infinite": {"lower": [0.0], "upper": [math.inf]},
    "bounds in number": {"lower": [0.0], "upper": [1.0, 2.0]},
    "names": {"lower": [0.0], "upper": [1.0], "names": ("a", "b")},
    "category lists": {"lower": [0.0], "upper": [1.0], "categories": (None, None)},
    "flags": {"lower": [0.0], "upper": [1.0], "can_be_missing": [True, False]},
    "names twice": {"lower": [0.0] * 2, "upper": [1.0] * 2, "names": ("a", "a")},
    "no category": {"lower": [0.0], "upper": [1.0], "categories": ((),)},
    "category twice": {"lower": [0.0], "upper": [1.0], "categories": (("a", "a"),)},
    "response range": {"lower": [0.0], "upper": [1.0], "response_range": (2.0, 1.0)},
    "response NaN": {"lower": [0.0], "upper": [1.0], "response_range": (math.nan, 1.0)},
    "classes twice": {"lower": [0.0], "upper": [1.0], "classes": (1, 1)},
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_space_is_refused_with_the_reason(name: str) -> None:
    with refuses(InputError, f"tree: bad space, {name}"):
        st.FeatureSpace(**BAD[name])


BAD_DATA: dict[str, tuple[Any, dict[str, Any]]] = {
    "no rows": (np.zeros((0, 2)), {}),
    "no columns": (np.zeros((2, 0)), {}),
    "one column": (np.zeros(3), {}),
    "infinity": (np.array([[0.0], [math.inf]]), {}),
    "text": (pd.DataFrame({"a": ["x", "y"]}), {"categorical_features": None}),
    "names twice": (pd.DataFrame([[1, 2]], columns=["a", "a"]), {}),
    "all": (np.zeros((2, 2)), {"categorical_features": "all"}),
    "no such name": (np.zeros((2, 2)), {"categorical_features": ["a"]}),
    "no such column": (np.zeros((2, 2)), {"categorical_features": [2]}),
    "flags": (np.zeros((2, 2)), {"categorical_features": [True]}),
    "response NaN": (np.zeros((2, 1)), {"y": [math.nan, 1.5], "task": "regression"}),
    "response infinite": (np.zeros((2, 1)), {"y": [math.inf, 1.5], "task": "regression"}),
}


@pytest.mark.parametrize("name", BAD_DATA)
def test_bad_data_is_refused_with_the_reason(name: str) -> None:
    X, options = BAD_DATA[name]
    with refuses(InputError, f"tree: bad data, {name}"):
        st.FeatureSpace.from_data(X, **options)


def test_equal_spaces_have_equal_digests() -> None:
    one, two = st.FeatureSpace.from_data(FRAME), st.FeatureSpace.from_data(FRAME.copy())
    assert one == two
    assert one.digest() == two.digest()
    assert hash(one) == hash(two)
    other = one.replace(upper=np.append([51.0], one.upper[1:]))
    assert one != other
    assert one.digest() != other.digest()
    assert one != "a space"


def test_a_space_does_not_change() -> None:
    space = st.FeatureSpace.from_data(FRAME)
    with pytest.raises(ValueError, match="read-only"):
        space.lower[0] = -1.0
    with pytest.raises(AttributeError):
        space.names = ()  # type: ignore[misc]


def test_encode() -> None:
    space = st.FeatureSpace.from_data(FRAME)
    turned = FRAME[FRAME.columns[::-1]]
    expected = [
        [30.0, 1.0, 0.0, 1.0, 1.0],
        [50.0, 2.0, 2.0, np.nan, 0.0],
        [np.nan, 3.0, 0.0, 0.0, 1.0],
    ]
    np.testing.assert_array_equal(space.encode(FRAME), expected)
    np.testing.assert_array_equal(space.encode(turned), expected)


# -- two trees of which one knows more columns or categories are measured in one space


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
