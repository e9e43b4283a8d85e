"""Tables: every digit in the files, rounded numbers on the page."""

from __future__ import annotations

import pytest

from research.paper.tables import (
    Column,
    Table,
    format_value,
    mean,
    means,
    spread,
    standard_error,
    with_rows,
)


@pytest.mark.parametrize(
    ("value", "style", "expected"),
    [
        (None, "auc", "–"),
        (float("nan"), "share", "–"),
        (0.98765, "auc", "0.988"),
        (0.3852, "share", "38.5 %"),
        (0.00018, "small", "0.018 %"),
        (0.0000012, "small", "0.00012 %"),
        (0.025, "points", "+2.5"),
        (-0.025, "points", "−2.5"),
        (-0.0001, "points", "0.0"),
        (0.007, "error", "0.7"),
        (26217, "int", "26,217"),
        (True, "text", "yes"),
        ("nodes <= 3", "num", "nodes <= 3"),
    ],
)
def test_numbers_for_people(value: object, style: str, expected: str) -> None:
    assert format_value(value, style) == expected


def test_csv_keeps_every_digit_and_missing_values() -> None:
    columns = tuple(Column(key, key) for key in "abc")
    one = Table("t", "t", "t", columns, [{"a": 0.1 + 0.2, "b": None, "c": "x, y"}])
    assert one.to_csv() == 'a,b,c\n0.30000000000000004,,"x, y"\n'


def test_files_hold_what_the_page_does_not_show() -> None:
    rows = [{"b": 1, "a": 2, "z": 3}, {"b": 4, "y": 5}]
    table = Table("t", "t", "t", (Column("b", "B"),), rows)
    assert table.to_csv() == "b,a,y,z\n1,2,,3\n4,,5,\n"
    assert table.to_records()[1] == {"b": 4, "a": None, "y": 5, "z": None}
    assert table.shown() == [["1"], ["4"]]


def test_summary_statistics_skip_what_is_missing() -> None:
    assert mean([1.0, None, 3.0]) == 2.0
    assert mean([None]) is None
    assert spread([1.0, 3.0]) == pytest.approx(2**0.5)
    assert standard_error([1.0, 3.0]) == pytest.approx(1.0)
    assert spread([1.0]) is None


def test_means_of_several_columns_and_tables_without_rows() -> None:
    assert means([{"a": 1.0, "b": None}, {"a": 2.0, "b": 4.0}], "a", "b") == {"a": 1.5, "b": 4.0}
    full, empty = (Table("t", "t", "t", (), rows) for rows in ([{}], []))
    assert with_rows(empty, full) == [full]
