"""How values are written, and which of them are the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from steadytree.cli.column_types import WrittenColumn, as_known, plain_text


def column(*texts: str | None, decimal: str = ".", thousands: str | None = None) -> WrittenColumn:
    return WrittenColumn.of(pd.Series(texts, dtype=object), decimal, thousands)


def test_plain_numbers() -> None:
    texts = ("1", "-2.5", " 3 ", "+4", "5e-3", "inf", "-Infinity", ".5", "6.", "x", "1_0", "0x1")
    found = column(*texts)
    assert found.named(found.numbers) == list(texts[:9])
    read = found.as_numbers("n")
    assert read[:9].tolist() == [1, -2.5, 3, 4, 0.005, np.inf, -np.inf, 0.5, 6]
    assert read[9:].isna().all()
    commas = column("1,5", "1.5", decimal=",")
    assert commas.named(commas.numbers) == ["1,5"]
    assert commas.named(commas.other_decimals) == ["1.5"]
    assert commas.as_numbers("n").tolist()[0] == 1.5


def test_what_is_missing() -> None:
    found = column("a", "", None, " NA ", "   ", "None", "a", "none")
    assert found.n_present == 3
    assert found.as_values().tolist() == ["a", None, None, None, None, None, "a", "none"]
    assert found.rows("a") == [0, 6]


@pytest.mark.parametrize("sign", [",", ".", "'", "’", " ", "\u00a0", "\u202f", "_"])
def test_separators_of_thousands(sign: str) -> None:
    texts = (f"1{sign}234", f"-12{sign}345{sign}678", f"12{sign}34", "1234")
    found = column(*texts)
    assert found.named(found.in_thousands) == list(texts[:2])
    assert found.separator_of_thousands() == sign
    other = "." if sign != "." else ","
    read = column(*texts[:2], f"1{sign}234{other}5", thousands=sign, decimal=other)
    assert read.as_numbers("n").tolist() == [1234, -12345678, 1234.5]


@pytest.mark.parametrize("form", ["{} kg", "{}%", "$ {}", "€{}", "<{}", "{}mg/dl", "{} °C"])
def test_amounts_of_one_unit(form: str) -> None:
    many = column(*(form.format(i / 2) for i in range(30)))
    assert many.amounts.all()
    assert not column(*(form.format(i) for i in range(5))).amounts.any()


def test_what_is_no_amount() -> None:
    for form in ("p{}", "{}-{}", "room {}", "{}:30", "A{}B"):
        assert not column(*(form.format(i, i) for i in range(30))).amounts.any()
    assert not column("1st", "2nd", "3rd", *(f"{i}th" for i in range(4, 12))).amounts.any()


def test_values_that_are_the_same() -> None:
    for group in ((1, 1.0, "1", "1.0", " 1", np.int64(1), "1e0"), (True, "TRUE", "true", np.True_)):
        assert len({plain_text(value) for value in group}) == 1
    long = "1" * 5000
    different: list[Any] = ["01", "1", "1.5", "a", "A", "", True, "yes", long, f"{long}.5"]
    assert len({plain_text(value) for value in different}) == len(different)


@pytest.mark.parametrize(
    ("values", "known", "expected"),
    [
        ([1, 2.0, 3], ("1", "2"), ["1", "2", "3"]),
        (["1", "2.0", "4", "x"], (1, 2), [1, 2, 4, "x"]),
        (["01", "1"], ("01", "1"), ["01", "1"]),
        (["1", "1.0"], ("1", "1.0"), ["1", "1.0"]),
        (["TRUE", "no"], (False, True), [True, "no"]),
        ([True, False], ("False", "True"), ["True", "False"]),
        ([1.5], ("a",), ["1.5"]),
        (["a"], ("b",), ["a"]),
    ],
)
def test_values_take_the_form_of_those_known(
    values: list[Any], known: tuple[Any, ...], expected: list[Any]
) -> None:
    found = as_known(values, known)
    assert found == expected
    assert [type(v) for v in found] == [type(v) for v in expected]
