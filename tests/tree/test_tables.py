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
from hypothesis import given
from hypothesis import strategies as hs

import steadytree as st
from steadytree.exceptions import FeatureAlignmentError, InputError, SteadyTreeWarning
from steadytree.tree.columns import (
    MOST_CATEGORIES,
    as_table,
    declared_categories,
    encode_table,
    observe_column,
    outcome_values,
)
from steadytree.tree.rows import (
    CodedRows,
    code_outcomes,
    code_table,
    fingerprint,
    row_hashes,
    stack_tables,
)
from steadytree.tree.space import FeatureSpace
from tests.golden import build
from tests.wording import refuses

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


BAD: dict[str, Any] = {
    "a column less": pd.DataFrame({"age": [1.0], "flag": [True], "code": [10]}),
    "columns in number": np.zeros((2, 3)),
    "no rows": np.zeros(4),
    "text": pandas_objects().assign(age=["old", 1.0, 2.0]),
    "names twice": pd.DataFrame([[1, 2, 3, 4]], columns=["age", "age", "flag", "code"]),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_tables(name: str) -> None:
    with refuses(InputError, f"tree: bad table, {name}"):
        encode(BAD[name])


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


# -- columns as people have them: what is read, what is noted, and what is refused by na


N = 600


def table(**columns: Any) -> pd.DataFrame:
    return pd.DataFrame({"x": np.linspace(0, 1, N), **columns})


def test_what_is_seen_in_a_column() -> None:
    frame = pd.DataFrame(
        {"n": [3.0, np.nan, -1.0], "c": ["b", "a", None], "gone": [None, None, None]}
    )
    numbers = observe_column(frame, "n", "n", categorical=False)
    assert (numbers.lower, numbers.upper, numbers.categories) == (-1.0, 3.0, None)
    assert numbers.can_be_missing()
    assert (numbers.n_distinct, numbers.n_present, numbers.n_rows) == (2, 2, 3)
    names = observe_column(frame, 1, "c", categorical=True)
    assert names.categories == ("a", "b")
    assert names.can_be_missing()
    gone = observe_column(frame, "gone", "gone", categorical=True)
    assert gone.categories == ("(none)",)
    assert gone.n_present == 0


def test_declared_orders_are_seen() -> None:
    kind = pd.CategoricalDtype(["low", "medium", "high"], ordered=True)
    frame = pd.DataFrame({"grade": pd.Series(["high", "low"], dtype=kind)})
    seen = observe_column(frame, "grade", "grade", categorical=True)
    assert seen.ordered
    assert seen.categories == ("low", "medium", "high")
    plain = frame.astype(pd.CategoricalDtype(["low", "medium", "high"]))
    assert not observe_column(plain, 0, "grade", categorical=True).ordered
    for kind, ordered in ((pl.Enum(["low", "medium", "high"]), True), (pl.Categorical(), False)):
        column = pl.DataFrame({"grade": pl.Series(["high", "low"], dtype=kind)})
        assert observe_column(column, 0, "grade", categorical=True).ordered == ordered
    assert declared_categories(column, "grade") == (None, False)
    assert declared_categories(np.zeros((2, 1)), 0) == (None, False)


def test_identifiers_and_free_text_are_refused() -> None:
    for column in (
        [f"patient {i}" for i in range(N)],
        [f"patient {i}" if i % 4 == 0 else None for i in range(N)],
        pd.Series([f"p{i % 400}" for i in range(N)]).astype("category"),
    ):
        with pytest.raises(
            InputError, match=r"column 'who', got \d+ different ones in \d+ rows, .*leave the col"
        ):
            st.FeatureSpace.from_data(table(who=column))
    with pytest.raises(InputError, match="column 'who'"):
        st.FeatureSpace.from_data(table(who=range(N)), categorical_features=["who"])


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame])
def test_a_few_names_are_refused_too(kind: Any) -> None:
    few = {"x": np.linspace(0, 1, 40), "who": [f"Jo {i % 21}" for i in range(40)]}
    with pytest.raises(InputError, match=r"'who', got 21 different ones in 40 .* type 'category'"):
        st.FeatureSpace.from_data(kind(few))
    shared = {**few, "who": [f"Jo {i % 20}" for i in range(40)]}
    assert st.FeatureSpace.from_data(kind(shared)).n_categories(1) == 20
    half = {"x": np.linspace(0, 1, 42), "who": [f"Jo {i % 21}" for i in range(42)]}
    assert st.FeatureSpace.from_data(kind(half)).n_categories(1) == 21


def test_names_that_are_insisted_on_are_noted() -> None:
    frame = table(who=[f"Jo {i}" if i < 200 else None for i in range(N)])
    insisted = frame.astype({"who": "category"})
    with pytest.warns(SteadyTreeWarning, match="column 'who' has 200 different ones in 200 rows"):
        assert st.FeatureSpace.from_data(insisted).n_categories(1) == 201
    model = st.DistilledTreeClassifier(n_estimators=5, random_state=0)
    with pytest.raises(
        InputError, match="leave the column out, or insist with the type 'category'"
    ):
        model.fit(frame, frame["x"] > 0.5)


def test_many_categories_that_rows_share_are_welcome_up_to_a_limit() -> None:
    frame = pd.concat([table()] * 2, ignore_index=True)
    codes = np.arange(2 * N)
    allowed = st.FeatureSpace.from_data(
        frame.assign(zip=[f"z{i:03}" for i in codes % MOST_CATEGORIES])
    )
    assert allowed.n_categories(1) == MOST_CATEGORIES
    with pytest.raises(
        InputError, match=r"at most 255 categories in column 'zip', got 256; group the rare ones"
    ):
        st.FeatureSpace.from_data(frame.assign(zip=[f"z{i}" for i in codes % 256]))
    # A few rows of a few categories each are no identifier.
    small = pd.DataFrame({"x": range(5), "city": list("abcde")})
    assert st.FeatureSpace.from_data(small).n_categories(1) == 5


def test_dates_written_as_text_are_refused_unless_declared_as_categories() -> None:
    for day in ("2021-03-04", "2021-03-04T10:30:00", "04.03.2021", "3/4/2021"):
        with pytest.raises(InputError, match="column 'when', got dates, written as text such as"):
            st.FeatureSpace.from_data(table(when=[day, None] * (N // 2)))
    releases = pd.Series(["2021-03-04", "2022-01-01"] * (N // 2)).astype("category")
    assert st.FeatureSpace.from_data(table(release=releases)).n_categories(1) == 2
    for text in ("3.4", "2021", "A-2021-03-04", "10-20"):
        assert st.FeatureSpace.from_data(table(code=[text] * N)).categories[1] == (text,)


def test_intervals_are_read_as_text(tmp_path: Any) -> None:
    frame = table(age=pd.cut(np.linspace(0, 90, N), [0, 30, 60, 90], include_lowest=True))
    y = (frame["x"] > 0.6).astype(int)
    model = st.DistilledTreeClassifier(n_estimators=5, random_state=0)
    model.fit(frame[["age"]].assign(z=0.0), y)
    assert model.feature_space_.ordered.tolist() == [True, False]
    path = st.save_tree(model.to_tree(), tmp_path / "tree.json")
    loaded = st.load_tree(path or tmp_path / "tree.json")
    assert loaded.categories[0] == ("(-0.001, 30.0]", "(30.0, 60.0]", "(60.0, 90.0]")
    again = loaded.predict(frame[["age"]])
    np.testing.assert_array_equal(again, model.predict(frame[["age"]].assign(z=0.0)))
    assert 0 < again.mean() < 1


# -- coded rows travel with their outcomes, weights, groups and table -------------


def rows_of(n: int, **more: object) -> CodedRows:
    return CodedRows(np.arange(2.0 * n).reshape(n, 2), np.arange(n) % 2, **more)  # type: ignore[arg-type]


def test_taking_rows_takes_everything_that_belongs_to_them() -> None:
    table = pd.DataFrame({"a": list("wxyz")})
    rows = rows_of(4, weight=np.arange(4.0), groups=np.array([1, 1, 2, 2]), table=table)
    for index in (np.array([3, 1]), np.array([False, True, False, True])):
        some = rows.take(index)
        assert len(some) == 2
        assert sorted(some.coded[:, 0]) == [2.0, 6.0]
        assert sorted(some.y) == [1, 1]
        assert some.weight is not None
        assert sorted(some.weight) == [1.0, 3.0]
        assert sorted(some.groups) == [1, 2]  # type: ignore[arg-type]
        assert sorted(some.table["a"]) == ["x", "z"]
    assert rows_of(4).take(np.array([0])).weight is None


def test_weights_of_one_throughout_are_dropped() -> None:
    rows = rows_of(3)
    assert rows.weights.tolist() == [1.0, 1.0, 1.0]
    assert rows.with_weight(np.ones(3)).weight is None
    weighted = rows.with_weight(np.array([1.0, 2.0, 1.0]))
    assert weighted.weights.tolist() == [1.0, 2.0, 1.0]
    assert weighted.with_weight(None).weight is None


def test_rows_under_each_other_weigh_one_where_nothing_is_given() -> None:
    old, new = rows_of(2), rows_of(3)
    assert CodedRows.stack([new]) is new
    assert CodedRows.stack([old, new]).weight is None
    both = CodedRows.stack([old, new.with_weight(np.full(3, 2.0))])
    assert both.weights.tolist() == [1.0, 1.0, 2.0, 2.0, 2.0]
    assert both.coded.shape == (5, 2)


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, lambda d: np.array(d["a"])[:, None]])
def test_tables_of_one_kind_are_stacked(kind: object) -> None:
    one, two = kind({"a": [1, 2]}), kind({"a": [3]})  # type: ignore[operator]
    stacked = stack_tables([one, two])
    assert type(stacked) is type(one)
    assert np.asarray(stacked).ravel().tolist() == [1, 2, 3]


def test_one_hot_columns_are_coded_as_the_feature_they_stand_for() -> None:
    space = FeatureSpace(
        lower=np.zeros(2),
        upper=np.array([10.0, 0.0]),
        categories=(None, ("red", "blue")),
        names=("age", "colour"),
        one_hot={"colour": {"is_red": "red", "is_blue": "blue"}},
    )
    table = pd.DataFrame({"is_blue": [1, 0, 0], "age": [3.0, 4.0, 5.0], "is_red": [0, 1, 0]})
    coded = code_table(table, space)
    np.testing.assert_array_equal(coded, [[3.0, 1.0], [4.0, 0.0], [5.0, np.nan]])
    # The feature itself goes before its one-hot columns.
    itself = code_table(table.assign(colour=["red", "red", "blue"]), space)
    assert itself[:, 1].tolist() == [0.0, 0.0, 1.0]


def test_outcomes_are_positions_or_responses() -> None:
    assert code_outcomes(["b", "a"], ("a", "b"), 2).tolist() == [1, 0]
    assert code_outcomes(np.array([[1], [0], [1]]), (0, 1), 3).tolist() == [1, 0, 1]
    responses = code_outcomes([1, 2], None, 2)
    assert responses.dtype == np.float64
    assert responses.tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    ("name", "y", "classes"),
    [
        ("number", ["a"], ("a", "b")),
        ("class", ["a", "c"], ("a", "b")),
        ("type", ["0", "1"], (0, 1)),
        ("no numbers", ["a", "b"], None),
        ("infinite", [1.0, np.inf], None),
        ("missing", [None, "b"], ("a", "b")),
    ],
)
def test_bad_outcomes_are_named(name: str, y: list[object], classes: Any) -> None:
    with refuses(InputError, f"tree: bad outcomes, {name}"):
        code_outcomes(y, classes, 2, name="y_new", owner="either tree", fix="fix")


VALUES = hs.sampled_from([0.0, -0.0, 1.0, -1.0, 1e-300, 1e300, float("nan"), 0.5])
ROW = hs.tuples(VALUES, VALUES, hs.integers(0, 1), hs.sampled_from([1.0, 2.0]))


def from_list(rows: list[tuple[float, float, int, float]]) -> CodedRows:
    table = np.array(rows, dtype=np.float64).reshape(-1, 4)
    return CodedRows(table[:, :2], table[:, 2].astype(np.int64), table[:, 3])


def key(row: tuple[float, float, int, float]) -> tuple[str, ...]:
    return tuple("nan" if v != v else str(v + 0.0) for v in row)


@given(hs.lists(ROW, max_size=8), hs.randoms())
def test_the_fingerprint_does_not_depend_on_the_order_of_the_rows(rows: list, random) -> None:  # type: ignore[no-untyped-def, type-arg]
    shuffled = random.sample(rows, len(rows))
    assert fingerprint(from_list(rows)) == fingerprint(from_list(shuffled))


@given(hs.lists(ROW, max_size=5), hs.lists(ROW, max_size=5))
def test_fingerprints_are_equal_only_for_the_same_rows_as_often(one: list, two: list) -> None:  # type: ignore[type-arg]
    same = sorted(map(key, one)) == sorted(map(key, two))
    assert (fingerprint(from_list(one)) == fingerprint(from_list(two))) == same


@given(hs.lists(ROW, min_size=1, max_size=6))
def test_rows_have_equal_hashes_only_if_their_values_and_outcomes_are_equal(rows: list) -> None:  # type: ignore[type-arg]
    for weighted, parts in ((False, 3), (True, 4)):
        hashes = row_hashes(from_list(rows), weighted=weighted).tolist()
        keys = [key(row)[:parts] for row in rows]
        for i in range(len(rows)):
            for j in range(len(rows)):
                assert (hashes[i] == hashes[j]) == (keys[i] == keys[j])


def test_the_fingerprint_tells_columns_and_values_that_change_places() -> None:
    rows = rows_of(5)
    swapped = CodedRows(rows.coded[:, ::-1].copy(), rows.y)
    assert fingerprint(rows) != fingerprint(swapped)
    assert fingerprint(rows) == fingerprint(CodedRows(np.asfortranarray(rows.coded), rows.y))
    assert fingerprint(rows) == fingerprint(rows_of(5, weight=np.ones(5)))
    assert fingerprint(rows) != fingerprint(rows_of(5, weight=np.full(5, 2.0)))
    wider = CodedRows(np.column_stack([rows.coded, np.zeros(5)]), rows.y)
    assert fingerprint(rows) != fingerprint(wider)
    # Pinned: what is stored with a tree today must be known again tomorrow.
    assert fingerprint(rows) == "5x2-b6ea5fd761959afa"
