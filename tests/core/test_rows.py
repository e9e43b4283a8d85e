"""Coded rows travel with their outcomes, weights, groups and table."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

from steadytree.core.rows import CodedRows, stack_tables


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
