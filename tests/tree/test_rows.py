"""Coded rows travel with their outcomes, weights, groups and table."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steadytree.exceptions import InputError
from steadytree.tree.rows import (
    CodedRows,
    code_outcomes,
    code_table,
    fingerprint,
    row_hashes,
    stack_tables,
)
from steadytree.tree.space import FeatureSpace


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
    ("y", "classes", "message"),
    [
        (["a"], ("a", "b"), r"expected 2 outcomes in y_new, one per row, got shape \(1,\)"),
        (
            ["a", "c"],
            ("a", "b"),
            r"the trees' classes \['a', 'b'\] in y_new, got unseen c; fix",
        ),
        (["a", "b"], None, "numbers in y_new: the trees are regression trees, got <U1"),
        ([1.0, np.nan], None, "expected finite outcomes in y_new"),
    ],
)
def test_bad_outcomes_are_named(y: list[object], classes: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        code_outcomes(y, classes, 2, name="y_new", owner="the trees", fix="fix")  # type: ignore[arg-type]


VALUES = st.sampled_from([0.0, -0.0, 1.0, -1.0, 1e-300, 1e300, float("nan"), 0.5])
ROW = st.tuples(VALUES, VALUES, st.integers(0, 1), st.sampled_from([1.0, 2.0]))


def from_list(rows: list[tuple[float, float, int, float]]) -> CodedRows:
    table = np.array(rows, dtype=np.float64).reshape(-1, 4)
    return CodedRows(table[:, :2], table[:, 2].astype(np.int64), table[:, 3])


def key(row: tuple[float, float, int, float]) -> tuple[str, ...]:
    return tuple("nan" if v != v else str(v + 0.0) for v in row)


@given(st.lists(ROW, max_size=8), st.randoms())
def test_the_fingerprint_does_not_depend_on_the_order_of_the_rows(rows: list, random) -> None:  # type: ignore[no-untyped-def, type-arg]
    shuffled = random.sample(rows, len(rows))
    assert fingerprint(from_list(rows)) == fingerprint(from_list(shuffled))


@given(st.lists(ROW, max_size=5), st.lists(ROW, max_size=5))
def test_fingerprints_are_equal_only_for_the_same_rows_as_often(one: list, two: list) -> None:  # type: ignore[type-arg]
    same = sorted(map(key, one)) == sorted(map(key, two))
    assert (fingerprint(from_list(one)) == fingerprint(from_list(two))) == same


@given(st.lists(ROW, min_size=1, max_size=6))
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
