"""Bytes and JSON from strangers: bounded, and never half understood."""

from __future__ import annotations

import os
import re
import socket
from pathlib import Path

import pytest

import steadytree as st
from steadytree import _io as limits
from steadytree._io import (
    MAX_JSON_DEPTH,
    MAX_TEXT,
    check_feature_count,
    check_json_depth,
    check_matching,
    check_size,
    check_texts,
    check_value_cells,
    parse_json,
    read_bytes,
)
from steadytree.exceptions import InputError, TreeFormatError


def test_files_are_read_up_to_a_size(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"12345")
    assert read_bytes(path, 5) == b"12345"
    assert read_bytes(path, 5, most=2) == b"12"
    with pytest.raises(TreeFormatError, match="at most 4 bytes, got more"):
        read_bytes(path, 4)
    with pytest.raises(TreeFormatError, match="expected a readable model file, got No such file"):
        read_bytes(tmp_path / "none")
    with pytest.raises(TreeFormatError, match=r"a readable model file, got .*embedded null"):
        read_bytes("a\x00b")


@pytest.mark.parametrize("read", [read_bytes, st.load_tree, st.as_tree])
def test_only_regular_files_are_read(read: object, tmp_path: Path) -> None:
    """A pipe without a writer would keep us waiting, a device would be read for ever."""
    assert callable(read)
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for path in (tmp_path / "pipe", Path("/dev/zero"), Path("/dev/null")):
        with pytest.raises(TreeFormatError, match=r"got a pipe or a device: .*; save what it"):
            read(path)
    with pytest.raises(TreeFormatError, match=r"got a folder: .*; name a file in it"):
        read(tmp_path / "folder")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "socket"))
        with pytest.raises(TreeFormatError, match="expected a readable"):
            read(tmp_path / "socket")


@pytest.mark.parametrize(
    ("content", "match"),
    [
        (b"", "at line 1, column 1; the file may be cut off"),
        (b"{", "at line 1, column 2; the file may be cut off"),
        (b"\xff\xfe\xff", "expected JSON"),
        (b"\x22\xed\xa0\x80\x22", "expected JSON in UTF-8, got other bytes at 1"),
        (b'"\xc3', "expected JSON in UTF-8, got other bytes at 1"),
        ("[" * 100_000, "at most 500 levels, got lists or objects nested too deeply"),
        ("[" * 501 + "]" * 501, "at most 500 levels, got lists or objects nested too deeply"),
        ("9" * 10_000, "expected JSON of a model"),
        ('{"a": 1, "b": 2, "a": 3}', "every entry of a JSON object once, got 'a' twice"),
        ('[{"x": {"a": 1, "a": 1}}]', "every entry of a JSON object once, got 'a' twice"),
        ("[1, 1e400]", "expected numbers in double precision, got 1e400"),
        ("[" + "1" * 400 + ".5]", "expected numbers in double precision, got 111"),
        (r'["\ud800"]', r"expected JSON of whole characters, got half of one in '\\ud800'"),
        (r'{"\udfff": 1}', "expected JSON of whole characters"),
    ],
    ids=map(str, range(14)),
)
def test_json_that_is_none(content: bytes | str, match: str) -> None:
    with pytest.raises(TreeFormatError, match=match) as error:
        parse_json(content)
    assert len(str(error.value)) < 400


def test_json_that_is_some() -> None:
    assert parse_json('{"a": [1], "b": {"a": 1}}') == {"a": [1], "b": {"a": 1}}
    assert parse_json("\ufeff[1e300]".encode()) == [1e300]
    assert parse_json(r'["\ud83d\ude00"]') == ["😀"]
    assert parse_json("[" * 500 + "]" * 500) is not None
    assert parse_json("[NaN]")[0] != 0
    with pytest.raises(TreeFormatError, match="the invalid JSON number NaN"):
        parse_json("[NaN]", constants=False)


def test_depth_is_counted_without_recursion() -> None:
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(TreeFormatError, match="expected metadata of at most"):
        check_json_depth(deep, "metadata")
    shallow: dict[str, object] = {}
    for _ in range(MAX_JSON_DEPTH - 1):
        shallow = {"a": shallow}
    check_json_depth(shallow)


# -- limits are refused with the number, before anything large is made ------------


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
