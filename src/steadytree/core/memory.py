"""How much memory an object holds: whoever spreads objects over machines asks Python for it."""

from __future__ import annotations

import sys

import numpy as np

__all__ = ["HoldsArrays"]


class HoldsArrays:
    """For objects whose arrays are most of them: ``sys.getsizeof`` counts these.

    Dask asks it where to send what and how full a worker is. It took a tree for 56 bytes, and
    sent it along with every task. What objects have in common, such as a space, is not followed.
    """

    def __sizeof__(self) -> int:
        held = object.__sizeof__(self)
        for value in vars(self).values():
            parts = value if isinstance(value, tuple) else (value,)
            held += sum(p.nbytes if isinstance(p, np.ndarray) else sys.getsizeof(p) for p in parts)
        return held
