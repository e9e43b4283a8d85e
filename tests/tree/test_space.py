"""Feature spaces: made from any table, refused when they make no sense."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import steadytree as st
from steadytree.exceptions import InputError

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
    for listed in ([1], [-1], [False, True]):
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


BAD: list[tuple[dict[str, Any], str]] = [
    (
        {"lower": [1.0], "upper": [0.0], "names": ("age",)},
        "expected lower <= upper for 'age', got [1.0, 0.0]; swap the bounds",
    ),
    ({"lower": [math.nan], "upper": [0.0]}, "expected finite bounds for 'x0', got [nan, 0.0]"),
    ({"lower": [0.0], "upper": [math.inf]}, "expected finite bounds for 'x0', got [0.0, inf]"),
    (
        {"lower": [0.0], "upper": [1.0, 2.0]},
        "expected as many upper bounds as lower bounds, got 2 and 1",
    ),
    (
        {"lower": [0.0], "upper": [1.0], "names": ("a", "b")},
        "expected 1 distinct feature names, got ['a', 'b']",
    ),
    (
        {"lower": [0.0], "upper": [1.0], "categories": (None, None)},
        "expected 1 category lists, got 2",
    ),
    (
        {"lower": [0.0], "upper": [1.0], "can_be_missing": [True, False]},
        "expected 1 can_be_missing flags, one per feature, got 2",
    ),
    (
        {"lower": [0.0] * 2, "upper": [1.0] * 2, "names": ("a", "a")},
        "expected 2 distinct feature names, got ['a', 'a']: 'a' more than once",
    ),
    (
        {"lower": [0.0], "upper": [1.0], "categories": ((),)},
        "expected one or more distinct categories for 'x0', got []",
    ),
    (
        {"lower": [0.0], "upper": [1.0], "categories": (("a", "a"),)},
        "expected one or more distinct categories for 'x0', got ['a', 'a']",
    ),
    (
        {"lower": [0.0], "upper": [1.0], "response_range": (2.0, 1.0)},
        "expected a finite response range with low <= high, got (2.0, 1.0)",
    ),
    (
        {"lower": [0.0], "upper": [1.0], "response_range": (math.nan, 1.0)},
        "expected a finite response range with low <= high, got (nan, 1.0)",
    ),
    ({"lower": [0.0], "upper": [1.0], "classes": (1, 1)}, "expected distinct classes, got [1, 1]"),
]


@pytest.mark.parametrize(("fields", "message"), BAD)
def test_a_bad_space_is_refused_with_the_reason(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match="^" + re.escape(message)):
        st.FeatureSpace(**fields)


BAD_DATA: list[tuple[Any, dict[str, Any], str]] = [
    (np.zeros((0, 2)), {}, "expected a table with rows and columns, got shape (0, 2)"),
    (np.zeros((2, 0)), {}, "expected a table with rows and columns, got shape (2, 0)"),
    (np.zeros(3), {}, "expected a table with rows and columns, got shape (3,)"),
    (np.array([[0.0], [math.inf]]), {}, "expected finite numbers in 'x0', got an infinity"),
    (
        pd.DataFrame({"a": ["x", "y"]}),
        {"categorical_features": None},
        "expected numbers in column 'a', got 'x'; convert the column, or declare it categorical",
    ),
    (
        pd.DataFrame([[1, 2]], columns=["a", "a"]),
        {},
        "expected distinct column names, got ['a'] more than once",
    ),
    (
        np.zeros((2, 2)),
        {"categorical_features": "all"},
        "expected categorical_features \"from_dtype\", None or a list, got 'all'",
    ),
    (
        np.zeros((2, 2)),
        {"categorical_features": ["a"]},
        "expected a column name in categorical_features, got 'a'",
    ),
    (
        np.zeros((2, 2)),
        {"categorical_features": [2]},
        "expected a column below 2 in categorical_features, got 2",
    ),
    (
        np.zeros((2, 2)),
        {"categorical_features": [True]},
        "expected 2 categorical flags, got 1",
    ),
]


@pytest.mark.parametrize(("X", "options", "message"), BAD_DATA)
def test_bad_data_is_refused_with_the_reason(X: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match="^" + re.escape(message)):
        st.FeatureSpace.from_data(X, **options)


@pytest.mark.parametrize("y", [[math.nan, 1.5, 2.0], [math.inf, 1.5, 2.0]], ids=["NaN", "infinity"])
def test_a_response_without_a_range_is_refused(y: list[float]) -> None:
    with pytest.raises(InputError, match="expected a finite response range"):
        st.FeatureSpace.from_data(np.zeros((3, 1)), y, task="regression")


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
