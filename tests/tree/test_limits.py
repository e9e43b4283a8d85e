"""Limits are refused with the number, before anything large is made."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from steadytree import _io as limits
from steadytree._io import (
    MAX_TEXT,
    check_feature_count,
    check_matching,
    check_size,
    check_texts,
    check_value_cells,
)
from steadytree.exceptions import InputError, TreeFormatError


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


def test_the_documentation_states_every_limit() -> None:
    page = Path(__file__).resolve().parents[2] / "docs" / "guide" / "limits.md"
    stated = {
        name: int(number.replace(",", ""))
        for number, name in re.findall(
            r"^\|[^|]*\| ([\d,]+)[^|]*\| `(MAX_\w+)` \|$", page.read_text("utf-8"), re.MULTILINE
        )
    }
    assert stated == {
        name: value for name, value in vars(limits).items() if name.startswith("MAX_")
    }


def test_features_that_are_only_counted() -> None:
    check_feature_count(1_000_000, listed=True)
    check_feature_count(200_000, listed=False)
    with pytest.raises(TreeFormatError, match="or 0 to 200,000 features, got 200001"):
        check_feature_count(200_001, listed=False)
    with pytest.raises(TreeFormatError, match="expected 0 to 1,000,000 features, got -1"):
        check_feature_count(-1, listed=True)


def test_comparisons() -> None:
    check_matching(16_384, 16_384)
    with pytest.raises(InputError, match=r"65,536 rules against 65,536 rules.*96\.0 GiB"):
        check_matching(65_536, 65_536)
