"""Choose between the compiled kernels and the scipy fallback, at the first distance.

Importing numba takes longer than importing everything else, so nothing does it before a
distance is asked for.
"""

from __future__ import annotations

import os
from types import ModuleType

from numpy import float64
from numpy.typing import NDArray

from steadytree.distance.packing import PackedCollection

__all__ = ["backend", "pairwise"]


def backend() -> ModuleType:
    """Return the module with ``pairwise`` and ``solve``: ``kernels``, or ``fallback``.

    ``fallback`` where numba cannot be imported or ``STEADYTREE_NO_NUMBA=1`` is set; both
    give the same results.
    """
    if os.environ.get("STEADYTREE_NO_NUMBA", "") not in ("", "0"):
        from steadytree.distance import fallback

        return fallback
    try:
        from steadytree.distance import kernels
    except ImportError:
        from steadytree.distance import fallback

        return fallback
    return kernels


def pairwise(
    a: PackedCollection, b: PackedCollection | None = None, n_jobs: int | None = None
) -> NDArray[float64]:
    """Distances between all trees of ``a`` and all of ``b`` (or of ``a``), eq. (distance)."""
    out: NDArray[float64] = backend().pairwise(a, b, n_jobs)
    return out
