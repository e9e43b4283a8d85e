"""The size that an object tells is that of what it holds."""

from __future__ import annotations

import sys
from typing import NamedTuple

import numpy as np

from steadytree._io import HoldsArrays


class Pair(NamedTuple):
    left: np.ndarray
    right: np.ndarray


class Holder(HoldsArrays):
    def __init__(self) -> None:
        self.numbers = np.zeros(1_000)
        self.pair = Pair(np.zeros(500, dtype=np.int32), np.zeros((10, 10)))
        self.view = np.zeros(100_000)[:10]
        self.name = "a holder"


def test_arrays_count_and_of_a_view_what_is_seen() -> None:
    arrays = 8_000 + 2_000 + 800 + 80
    assert arrays < sys.getsizeof(Holder()) < arrays + 300
