"""Rows that are handed over together, and what their parts are called."""

from __future__ import annotations

import pytest

from steadytree.exceptions import InputError
from steadytree.retraining.given import Rows, read_rows


def test_a_pair_is_read_as_rows() -> None:
    rows = Rows([[1.0]], [0], groups=["a"])
    assert read_rows(rows, "old") is rows
    assert read_rows(None, "old") is None
    for pair in (([[1.0]], [0]), [[[1.0]], [0]]):
        found = read_rows(pair, "old")
        assert found is not None
        assert (found.X, found.y, found.groups) == ([[1.0]], [0], None)


@pytest.mark.parametrize("given", [[1, 2, 3], "rows.csv", {"X": 1}, (1,)])
def test_anything_else_is_refused(given: object) -> None:
    with pytest.raises(
        InputError, match=r"expected test=\(X, y\) or test=Rows\(X, y, \.\.\.\), got"
    ):
        read_rows(given, "test")
