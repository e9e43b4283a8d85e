"""Sets of categories as the bits of one whole number: quick to cut, and quick to make.

Setting one bit of a long number after another copies all of them each time, so that 200,000
categories never end. Long sets go through bytes at once.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

__all__ = ["bit_flags", "bit_set", "codes_in"]

_FEW = 64
"""Up to so many bits one after another is quicker."""


def bit_set(codes: Collection[int], count: int) -> int:
    """Return the number with the bits of some codes below ``count``."""
    if count <= _FEW:
        return sum(1 << code for code in set(codes))
    flags = np.zeros(count, dtype=np.uint8)
    flags[np.fromiter(codes, dtype=np.int64, count=len(codes))] = 1
    return int.from_bytes(np.packbits(flags, bitorder="little").tobytes(), "little")


def bit_flags(bits: int, count: int) -> list[int]:
    """Return 1 for each of the first ``count`` bits that is set, else 0."""
    if count <= _FEW:
        return [bits >> code & 1 for code in range(count)]
    flags: list[int] = _unpacked(bits, count).tolist()
    return flags


def codes_in(bits: int, count: int) -> list[int]:
    """Return the positions of the bits that are set among the first ``count``, in order."""
    if count <= _FEW:
        return [code for code in range(count) if bits >> code & 1]
    codes: list[int] = np.flatnonzero(_unpacked(bits, count)).tolist()
    return codes


def _unpacked(bits: int, count: int) -> NDArray[np.uint8]:
    raw = (bits & ((1 << count) - 1)).to_bytes((count + 7) // 8, "little")
    return np.unpackbits(np.frombuffer(raw, dtype=np.uint8), bitorder="little", count=count)
