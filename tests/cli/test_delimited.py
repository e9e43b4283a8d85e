"""Rows of text: read as they were written, or refused; never shifted."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from steadytree.cli import delimited
from steadytree.cli.delimited import MISSING, TableFile, TableReading, parse_delimited
from steadytree.exceptions import InputError

FILE = Path("t.csv")


def parse(text: str, separator: str = ",") -> TableFile:
    return parse_delimited(FILE, text.encode(), TableReading(), separator)


def written(rows: list[list[Any]], separator: str, quoting: Any, ends: str) -> str:
    out = io.StringIO()
    csv.writer(out, delimiter=separator, quoting=quoting, lineterminator=ends).writerows(rows)
    return out.getvalue()


texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=6)
numbers = st.one_of(
    st.integers(-(2**53), 2**53), st.floats(allow_nan=False, allow_infinity=False, width=64)
)


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[str], list[list[Any]]]:
    width, height = draw(st.integers(2, 5)), draw(st.integers(1, 8))
    names = draw(
        st.lists(texts, min_size=width, max_size=width, unique_by=str.strip).filter(
            lambda found: all(name.strip() for name in found)
        )
    )
    columns = [
        draw(st.lists(draw(st.sampled_from([texts, numbers])), min_size=height, max_size=height))
        for _ in range(width)
    ]
    return names, [list(row) for row in zip(*columns, strict=True)]


def same(found: Any, cell: Any) -> bool:
    """Whether a cell was read as it was written: text as text, a number as that number."""
    text = str(cell) if isinstance(cell, str) else repr(cell)
    if text in MISSING:
        return found is None or found != found
    if isinstance(found, str):
        return found == text
    if isinstance(found, (bool, np.bool_)):
        return text.lower() == str(bool(found)).lower()
    return float(found) == float(text)


@given(
    tables(),
    st.sampled_from([",", ";", "\t", "|"]),
    st.sampled_from([csv.QUOTE_ALL, csv.QUOTE_MINIMAL, csv.QUOTE_NONNUMERIC]),
    st.sampled_from(["\n", "\r\n"]),
)
@example((["a", "b"], [["x\ry", 1]]), ",", csv.QUOTE_MINIMAL, "\n")
@example((["a", "b"], [["", ""], [1, 2]]), "\t", csv.QUOTE_MINIMAL, "\n")
@example((["a", "b"], [[" ", ""], [1, 2]]), "\t", csv.QUOTE_MINIMAL, "\n")
@example((["0", "1\x1f"], [["", ""]]), ",", csv.QUOTE_ALL, "\n")
@example((["a", "1" * 5000], [["x", 1]]), ",", csv.QUOTE_MINIMAL, "\n")
def test_what_is_written_is_read_or_refused(
    table: tuple[list[str], list[list[Any]]], separator: str, quoting: Any, ends: str
) -> None:
    names, rows = table
    if quoting == csv.QUOTE_MINIMAL:  # else its end is that of a line, to anybody
        assume(not any(str(row[-1]).endswith("\r") for row in [names, *rows]))
    text = written([names, *rows], separator, quoting, ends)
    try:
        found = parse(text, separator=separator)
    except InputError:
        return
    assert list(found.frame.columns) == names
    assert len(found.frame) == len(rows)
    for j, name in enumerate(names):
        read = found.frame[name].tolist()
        for i, row in enumerate(rows):
            assert same(read[i], row[j]), (read[i], row[j])


@given(tables(), st.sampled_from([",", ";"]), st.data())
def test_a_row_of_another_length_is_refused(
    table: tuple[list[str], list[list[Any]]], separator: str, data: st.DataObject
) -> None:
    names, rows = table
    at = data.draw(st.integers(0, len(rows) - 1))
    if data.draw(st.booleans()) or len(names) == 1:
        rows[at] = [*rows[at], "more"]
    else:
        rows[at] = rows[at][:-1]
        if len(rows[at]) == 1 and not str(rows[at][0]).strip(" "):
            rows[at] = ["x"]  # else a blank line
    text = written([names, *rows], separator, csv.QUOTE_ALL, "\n")
    with pytest.raises(InputError):
        parse(text, separator=separator)


@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 64])
def test_parts_do_not_matter(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    text = 'a,b,c\n1,"x, ""y""\n07",007\n\n2,z,1\r\n"3","",010\n'
    whole = parse(text)
    monkeypatch.setattr(delimited, "CHUNK", size)
    part = parse(text)
    assert part.starts.tolist() == whole.starts.tolist()
    assert part.frame.equals(whole.frame)
    assert whole.frame["c"].tolist() == ["007", "1", "010"]
    assert whole.frame.shape == (3, 3)
    assert whole.lines([0, 1, 2]) == [2, 5, 6]
    with pytest.raises(InputError, match="got 2 in line 5"):
        parse(text.replace("2,z,1", "2,z"))


def test_columns_with_leading_zeros() -> None:
    table = parse("a,b,c,d\n1,0.5,07,0\n10,0,1,x\n")
    assert [table.frame[name].tolist() for name in "ab"] == [[1, 10], [0.5, 0]]
    assert [table.frame[name].tolist() for name in "cd"] == [["07", "1"], ["0", "x"]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n1,x\ry\n", "carriage return inside line 2"),
        ('a,b\n1,"x\n2,y\n', "every quote to be closed in t.csv, got one .* begins in line 2"),
        ('"a,b\n1,2\n', "every quote to be closed"),
        ('a,b\n1,"x"y\n', "inside a value in line 2"),
        ('a,b\n1, "x"\n', "inside a value in line 2"),
        ("a,b\n", "rows and columns, got none"),
        ("\n\n", "got an empty file"),
        ("a;b;c\n1,5;2;3\n", "separated by ';'"),
        ("a\tb\n1\t3\n", "say --separator 'tab'"),
        ("1.5,2\n1,2\n", "look like a row of data"),
        ("3,1,2,x\n1,2,3,4\n", "look like a row of data"),
        ("a,,b\n1,2,3\n", "got none for column 2, which holds"),
    ],
)
def test_what_is_refused(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse(text)


@pytest.mark.parametrize("header", ["0,1,2", "2019,2020,2021", "x,1,2"])
def test_numbers_may_be_names(header: str) -> None:
    assert ",".join(parse(f"{header}\n1,2,3\n").frame.columns) == header


def test_a_column_is_of_one_type_however_long() -> None:
    """A text after a megabyte of numbers makes all of them text, as they were written."""
    many = 400_000
    plain = "".join(f"{i % 10},1.0,{i % 2 == 0}\n" for i in range(many))
    table = parse(f"a,b,c\n{plain}x,y,z\n").frame
    assert table["b"][:2].tolist() == ["1.0", "1.0"]
    assert table["c"][:2].tolist() == ["True", "False"]
    assert {type(v) for v in table["a"]} == {str}
    whole = parse(f"a,b,c\n{plain}0.5,,\n").frame
    assert whole["a"].dtype == whole["b"].dtype == np.float64
    assert whole["c"].tolist()[:2] == [True, False]


def test_every_float_is_the_nearest() -> None:
    values = np.random.default_rng(0).normal(size=2000) * 10.0 ** np.arange(-100, 100).repeat(10)
    found = parse("x\n" + "\n".join(map(repr, values.tolist())) + "\n").frame["x"]
    assert found.tolist() == values.tolist()
