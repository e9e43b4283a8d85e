"""Sets of categories as bits: short and long ones alike."""

from __future__ import annotations

import numpy as np
import pytest

from steadytree.tree.values import bit_flags, bit_set, codes_in


@pytest.mark.parametrize("count", [1, 7, 8, 63, 64, 65, 72, 100, 1000])
def test_there_and_back(count: int) -> None:
    rng = np.random.default_rng(count)
    for _ in range(20):
        codes = np.flatnonzero(rng.random(count) < rng.random()).tolist()
        bits = bit_set(codes, count)
        assert bits == sum(2**code for code in codes)
        assert codes_in(bits, count) == codes
        assert codes_in(~bits, count) == sorted(set(range(count)) - set(codes))
        assert bit_flags(bits, count) == [int(code in codes) for code in range(count)]
        assert bit_set([*codes, *codes], count) == bits
        # Bits beyond, such as the one for missing values, are left out.
        assert codes_in(bits | 1 << count, count) == codes
