"""Numbers and texts as formulas write them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from steadytree.exceptions import InputError
from steadytree.formats.pages.excel_formulas import (
    check_constant,
    number_literal,
    number_parts,
    text_literal,
    value_literal,
)


def test_two_parts_of_15_digits_are_the_number() -> None:
    rng = np.random.default_rng(0)
    drawn = rng.normal(size=3000) * 10.0 ** rng.integers(-250, 250, size=3000)
    for value in [*drawn.tolist(), 0.1 + 0.2, 1 / 3, 2.5, -(2.0**60), 1e16 + 2]:
        parts = number_parts(value)
        read = [float(number_literal(part)) for part in parts]
        assert read == list(parts)
        assert sum(parts) == value
        # What the difference to a double is compared by, computed without rounding.
        total = sum(map(Fraction, read))
        assert Fraction(value) <= total < Fraction(float(np.nextafter(value, np.inf)))
        if float(f"{value:.15g}") == value:
            assert parts == (value,)


def test_texts_are_quoted_and_long_ones_joined() -> None:
    assert text_literal('say "no"') == '"say ""no"""'
    assert text_literal("") == '""'
    joined = text_literal("x" * 300)
    assert joined == f'"{"x" * 255}"&"{"x" * 45}"'


def test_values_keep_their_kind() -> None:
    assert [value_literal(v) for v in (True, False, 1, 2.5, "1")] == [
        *("TRUE", "FALSE", "1", "2.5", '"1"')
    ]


@pytest.mark.parametrize("value", ["a\x00", "\ud800", "_x000D_", "x" * 40_000, np.inf, 2**60])
def test_what_no_cell_holds_is_refused(value: object) -> None:
    with pytest.raises(InputError, match="expected classes that a cell can hold"):
        check_constant(value, "classes")


def test_what_a_cell_holds_is_not() -> None:
    for value in ("two\nlines", "_x00_", "é漢😀", -0.0, 2**53, True):
        check_constant(value, "classes")
    with pytest.raises(InputError, match="expected classes that are text, numbers or booleans"):
        check_constant(b"x", "classes")
