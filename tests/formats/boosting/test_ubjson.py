"""Universal Binary JSON: what it says, or our own error, however the bytes lie."""

from __future__ import annotations

import time

import numpy as np
import pytest

from steadytree.exceptions import TreeFormatError
from steadytree.formats.boosting.read_xgboost import MAX_NESTING, parse_ubjson


def length(n: int) -> bytes:
    return b"L" + n.to_bytes(8, "big")


def test_values_of_every_kind() -> None:
    assert parse_ubjson(b"[ZTFi\xffU\xffI\x01\x00l\x00\x01\x00\x00CxSi\x02hi]") == [
        *(None, True, False, -1, 255, 256, 65536, "x", "hi")
    ]
    assert parse_ubjson(b"{i\x01aNNi\x05Ni\x01b[#i\x02TF}") == {"a": 5, "b": [True, False]}
    assert parse_ubjson(b"[d\x3f\x80\x00\x00D\x3f\xf0\x00\x00\x00\x00\x00\x00]") == [1.0, 1.0]
    numbers = parse_ubjson(b"[$d#" + length(2) + np.array([0.1, 2.0], ">f4").tobytes())
    assert numbers.tolist() == [float(np.float32(0.1)), 2.0]
    assert numbers.dtype.isnative


@pytest.mark.parametrize(
    ("content", "match"),
    [
        (b"", "expected 1 bytes at byte 0"),
        (b"x", "expected a value"),
        (b"TT", "expected the end of the file"),
        (b"[$d#" + length(2**62), "a count of what is there"),
        (b"[$D#" + length(8) + b"12345678", "expected 64 bytes"),
        (b"[#" + length(2**40), "a count of what is there"),
        (b"[#i\xff", "a count of what is there"),
        (b"[#D" + bytes(8), "a count of what is there"),
        (b"[$Z#" + length(2**40), "an array of numbers"),
        (b"[$d]", "an array of numbers"),
        (b"{$i#i\x01", "a mapping that ends with a brace"),
        (b"S" + length(2**33), "a count of what is there"),
        (b"Si\x02\xff\xfe", "expected text in UTF-8"),
        (b"[" * (MAX_NESTING + 1), f"at most {MAX_NESTING} levels"),
        (b"[T", "expected 1 bytes"),
        (b"{i\x01a", "expected 1 bytes"),
    ],
)
def test_bytes_that_say_nothing(content: bytes, match: str) -> None:
    with pytest.raises(TreeFormatError, match=match):
        parse_ubjson(content)


def test_fifty_megabytes_of_nesting_end_at_once() -> None:
    started = time.perf_counter()
    with pytest.raises(TreeFormatError, match="levels"):
        parse_ubjson(b"[" * 50_000_000)
    assert time.perf_counter() - started < 1
