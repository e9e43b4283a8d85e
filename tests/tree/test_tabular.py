"""Tables of any kind become the same coded matrix."""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import steadytree as st
from steadytree.exceptions import FeatureAlignmentError, InputError
from steadytree.tree.columns import as_table, encode_table, outcome_values
from tests.golden import build

NAMES = ("age", "colour", "flag", "code")
CATEGORIES = (None, ("red", "green"), (False, True), (10, 20))
ROWS = [(30.5, "red", True, 10), (None, None, None, None), (-1.0, "green", False, 20)]
CODED = [[30.5, 0, 1, 0], [np.nan] * 4, [-1.0, 1, 0, 1]]


def encode(X: Any, names: tuple[str, ...] | None = NAMES) -> np.ndarray:
    return encode_table(X, names=names, n_features=4, categories=CATEGORIES)


def pandas_objects() -> pd.DataFrame:
    return pd.DataFrame(ROWS, columns=list(NAMES), dtype=object)


def pandas_typed() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "age": [30.5, np.nan, -1.0],
            "colour": pd.Categorical(["red", None, "green"], categories=["green", "red"]),
            "flag": pd.array([True, None, False], dtype="boolean"),
            "code": pd.array([10, None, 20], dtype="Int64"),
        }
    )


def pandas_strings() -> pd.DataFrame:
    frame = pandas_typed()
    return frame.assign(age=frame["age"].astype("Float64"), colour=frame["colour"].astype("string"))


def polars_frame() -> pl.DataFrame:
    return pl.DataFrame(ROWS, schema=list(NAMES), orient="row")


def polars_enum() -> pl.DataFrame:
    return polars_frame().with_columns(pl.col("colour").cast(pl.Enum(["green", "red"])))


@pytest.mark.parametrize(
    "make", [pandas_objects, pandas_typed, pandas_strings, polars_frame, polars_enum]
)
def test_frames(make: Any) -> None:
    frame = make()
    np.testing.assert_array_equal(encode(frame), CODED)
    # By name: the order of the columns and further columns do not matter.
    turned = frame[list(reversed(NAMES))]
    np.testing.assert_array_equal(encode(turned), CODED)
    # Without names on our side, by position.
    np.testing.assert_array_equal(encode(frame, names=None), CODED)


def test_arrays_and_lists() -> None:
    np.testing.assert_array_equal(encode(np.array(ROWS, dtype=object)), CODED)
    plain = np.array([[1, 2], [3, 4]])
    for X in (plain, plain.astype(np.float32), plain.tolist(), plain > 0):
        out = encode_table(X, names=None, n_features=2, categories=(None, None))
        assert out.dtype == np.float64
        np.testing.assert_array_equal(out, np.asarray(X, dtype=float))


def test_coding_never_writes_into_the_users_table() -> None:
    X = np.array([[1.0, 2.0]])
    out = encode_table(X, names=None, n_features=2, categories=(None, None))
    out[0, 0] = 99.0
    assert X[0, 0] == 1.0


def test_an_unseen_category_is_coded_as_missing_and_goes_with_missing() -> None:
    tree = build(
        (0, (0,), "no", "yes", False), 1, categories=(("red", "green"),), feature_names=("colour",)
    )
    frame = pd.DataFrame({"colour": ["red", "green", "violet", None]})
    assert np.isnan(tree.encode(frame)[2, 0])
    assert tree.predict(frame).tolist() == ["no", "yes", "yes", "yes"]


def test_numbers_that_are_equal_are_the_same_category() -> None:
    """An integer column read back as floats (missing values do that) keeps its categories."""
    tree = build((0, (0,), "no", "yes"), 1, categories=((10, 20),))
    assert tree.predict(np.array([[10.0], [20.0]])).tolist() == ["no", "yes"]
    assert tree.predict(np.array([[10], [20]])).tolist() == ["no", "yes"]


def test_columns_named_by_numbers_are_read_by_position() -> None:
    frame = pd.DataFrame(np.array([[0.0, 9.0], [1.0, 9.0]]))
    assert build((0, 0.5, "no", "yes")).predict(frame).tolist() == ["no", "yes"]


BAD: list[tuple[Any, type[InputError], str]] = [
    (
        pd.DataFrame({"age": [1.0], "flag": [True], "code": [10]}),
        FeatureAlignmentError,
        "expected columns ['age', 'colour', 'flag', 'code'], got a frame without ['colour']",
    ),
    (np.zeros((2, 3)), FeatureAlignmentError, "expected 4 columns, got 3"),
    (
        np.zeros(4),
        InputError,
        "expected a table with rows and columns, got an array of shape (4,); reshape it",
    ),
    (
        pandas_objects().assign(age=["old", 1.0, 2.0]),
        InputError,
        "expected numbers in column 'age', got 'old'; convert the column",
    ),
    (
        pd.DataFrame([[1, 2, 3, 4]], columns=["age", "age", "flag", "code"]),
        InputError,
        "expected distinct column names, got ['age'] more than once; rename the columns",
    ),
]


@pytest.mark.parametrize(("X", "kind", "message"), BAD)
def test_bad_tables(X: Any, kind: type[InputError], message: str) -> None:
    with pytest.raises(kind, match="^" + re.escape(message)):
        encode(X)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_tree_over_a_frame_predicts_by_name(library: str) -> None:
    tree = build((0, 0.5, "no", "yes"), feature_names=("a", "b"))
    data = {"b": [0.0, 9.0], "extra": [5.0, 5.0], "a": [9.0, 0.0]}
    frame = pd.DataFrame(data) if library == "pandas" else pl.DataFrame(data)
    assert tree.predict(frame).tolist() == ["yes", "no"]
    with pytest.raises(FeatureAlignmentError, match=r"got a frame without \['a'\]"):
        tree.predict(frame[["b"]])


DAYS = pd.date_range("2020-01-01", periods=3)


@pytest.mark.parametrize(
    "column",
    [
        DAYS,
        DAYS.tz_localize("Europe/Berlin"),
        [day.date() for day in DAYS],
        [None, *DAYS[:2].to_pydatetime()],
        pd.PeriodIndex(DAYS, freq="D"),
        pd.Series(DAYS).astype("category"),
        [pd.NaT] * 3,
    ],
)
@pytest.mark.parametrize("categorical", ["from_dtype", None])
def test_dates_are_refused_by_name(column: Any, categorical: str | None) -> None:
    frame = pd.DataFrame({"when": column, "x": [1.0, 2.0, 3.0]})
    words = r"expected numbers or categories in column 'when', got dates, .*; pass days since"
    with pytest.raises(InputError, match=words):
        st.FeatureSpace.from_data(frame, categorical_features=categorical)
    for categories in (None, ("a", "b")):
        with pytest.raises(InputError, match=words):
            encode_table(frame[["when"]], names=["when"], n_features=1, categories=(categories,))


def test_dates_and_durations_in_polars() -> None:
    frame = pl.DataFrame({"when": DAYS.to_list(), "x": [1.0, 2.0, 3.0]})
    for kind in (pl.Date, pl.Datetime("ms")):
        with pytest.raises(InputError, match="column 'when', got dates, such as 2020-01-01"):
            st.FeatureSpace.from_data(frame.with_columns(pl.col("when").cast(kind)))
    stay = frame.with_columns(when=pl.col("when") - pl.col("when").min())
    with pytest.raises(InputError, match=r"column 'when', got durations, .*X\['when'\].dt.days"):
        st.FeatureSpace.from_data(stay)
    hours = frame.with_columns(when=pl.col("when").dt.time())
    with pytest.raises(InputError, match=r"'when', got times of day, .*lambda t: t\.hour"):
        st.FeatureSpace.from_data(hours)


@pytest.mark.parametrize(
    "column", [DAYS, [day.date() for day in DAYS], DAYS.strftime("%Y-%m-%d"), [None, *DAYS[:2]]]
)
def test_the_days_that_are_offered_instead_of_dates_work(column: Any) -> None:
    X = pd.DataFrame({"when": column})
    with pytest.raises(InputError) as error:
        st.FeatureSpace.from_data(X)
    found = re.search(r"for example (.*\.dt\.days), or", str(error.value))
    assert found is not None
    days = eval(found[1], {"X": X, "pd": pd})
    assert st.FeatureSpace.from_data(X.assign(when=days)).categories == (None,)


def test_cells_that_hold_lists_are_refused() -> None:
    frame = pd.DataFrame({"tags": [["a"], ["b", "c"], None], "x": [1.0, 2.0, 3.0]})
    words = "expected one number or category per row in column 'tags', got cells that hold a list"
    for categorical in ("from_dtype", None):
        with pytest.raises(InputError, match=words):
            st.FeatureSpace.from_data(frame, categorical_features=categorical)
    for categories in (None, ("a", "b")):
        with pytest.raises(InputError, match=words):
            encode_table(frame[["tags"]], names=["tags"], n_features=1, categories=(categories,))


def test_a_list_of_rows_is_a_table() -> None:
    assert as_table([[1, 2], [3, 4]]).dtype.kind == "i"
    mixed = as_table([[1, "a"], [2.5, None]])
    assert mixed[:, 0].tolist() == [1, 2.5]
    frame = pd.DataFrame({"a": [1]})
    assert as_table(frame) is frame
    with pytest.raises(InputError, match="expected rows of equal length in X_new"):
        as_table([[1, 2], [3]], "X_new")


def test_columns_that_are_not_needed_may_be_lacking() -> None:
    frame = pd.DataFrame({"b": [1.0, 2.0]})
    options: dict[str, Any] = {"names": ("a", "b"), "n_features": 2, "categories": (None, None)}
    coded = encode_table(frame, **options, needed={1})
    np.testing.assert_array_equal(coded, [[np.nan, 1.0], [np.nan, 2.0]])
    with pytest.raises(FeatureAlignmentError, match=r"expected columns \['a'\], .* without"):
        encode_table(frame, **options, needed={0})
    with pytest.raises(FeatureAlignmentError, match=r"without \['a'\]"):
        encode_table(frame, **options)


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (pd.array([0, 1], dtype="Int64"), np.int64),
        (pd.Series([True, False], dtype="boolean"), np.bool_),
        (pd.Series([0.5, 1], dtype="Float64"), np.float64),
        (pd.Categorical([3, 1]), np.int64),
        (pd.Series([True, False]).astype("category"), np.bool_),
        (np.array([0, 1], dtype=object), np.int64),
        (np.array([True, False], dtype=object), np.bool_),
        (pl.Series([0, 1]), np.int64),
        (pl.Series([True, False]), np.bool_),
        (pl.Series(["no", "yes"], dtype=pl.Enum(["yes", "no"])), np.object_),
        (pd.Series(["no", "yes"], dtype="string"), np.object_),
        (np.array([1, "yes"], dtype=object), np.object_),
        (np.array([1, True], dtype=object), np.object_),
        (np.array([2**70, 1], dtype=object), np.object_),
        (pd.array([0, None], dtype="Int64"), np.object_),
        (pd.Categorical([0, None]), np.object_),
    ],
)
def test_outcomes_keep_their_type(values: Any, kind: type) -> None:
    found = outcome_values(values)
    assert found.dtype == kind
    assert [v for v in found.tolist() if not pd.isna(v)] == [v for v in values if not pd.isna(v)]


@pytest.mark.parametrize("number", [Decimal("0.5"), Fraction(1, 2)])
def test_exact_numbers_are_numbers(number: Any) -> None:
    frame = pd.DataFrame({"x": [number * i for i in range(4)] + [None]})
    space = st.FeatureSpace.from_data(frame)
    assert (space.lower[0], space.upper[0], space.categories) == (0.0, 1.5, (None,))
    assert space.can_be_missing.tolist() == [True]


def test_cells_that_are_no_single_numbers_are_refused() -> None:
    cases = [
        (pl.DataFrame({"q": [{"a": 1}, {"a": 2}]}), "column 'q', got cells that hold a dict"),
        (pl.DataFrame({"q": [[1, 2], [3, 4]]}), "column 'q', got cells that hold a list"),
        (pd.DataFrame({"q": [1j, 2.0]}), "real numbers in column 'q', got complex ones"),
    ]
    for table, words in cases:
        with pytest.raises(InputError, match=words):
            st.FeatureSpace.from_data(table)


def test_what_is_no_table_is_refused() -> None:
    for table, what in (
        (None, "none"),
        ("rows.csv", "str"),
        ({"x": [1, 2]}, "dict"),
        ([{"x": 1}, {"x": 2}], "a list of dictionaries"),
    ):
        with pytest.raises(InputError, match=f"expected a table in X_new .*, got {what}; read or"):
            as_table(table, "X_new")
