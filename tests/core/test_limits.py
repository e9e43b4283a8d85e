"""Limits are refused with the number, before anything large is made."""

from __future__ import annotations

import pytest

from steadytree.core.limits import MAX_TEXT, check_size, check_texts, check_value_cells
from steadytree.exceptions import TreeFormatError


def test_sizes() -> None:
    check_size(10, 10, "nodes")
    with pytest.raises(TreeFormatError, match="expected at most 1,000 nodes, got 1,001"):
        check_size(1001, 1000, "nodes")


def test_texts() -> None:
    check_texts(["a", 1, None, "é" * MAX_TEXT], "feature names")
    with pytest.raises(TreeFormatError, match="of at most 100,000 characters, got 'aaa") as error:
        check_texts(["a" * (MAX_TEXT + 1)], "feature names")
    assert len(str(error.value)) < 250
    with pytest.raises(TreeFormatError, match=r"UTF-8, got half a character in 'x\\udc80'"):
        check_texts(["x\udc80"], "classes")


def test_shares() -> None:
    check_value_cells(1_000_000, 50)
    with pytest.raises(TreeFormatError, match=r"which would take 74\.5 GiB"):
        check_value_cells(100_000, 100_000)
