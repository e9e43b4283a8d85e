"""Choose between the compiled kernels and the scipy fallback, at the first distance.

Importing numba takes longer than importing everything else, and compiling the kernels for
the first time takes seconds, so nothing does either before it pays: a few small trees are
compared by the fallback, which gives the same results bit for bit.
"""

from __future__ import annotations

import os
import sys
from types import ModuleType

from numpy import float64
from numpy.typing import NDArray

from steadytree.distance._solver.pack import PackedCollection

__all__ = ["backend", "pairwise"]

SMALL_PAIRS = 500
SMALL_CELLS = 200_000


def backend() -> ModuleType:
    """Return the module whose ``pairwise`` to use: ``kernels``, or ``scipy_solver``.

    ``scipy_solver`` where numba cannot be imported or ``STEADYTREE_NO_NUMBA=1`` is set; both
    give the same results.
    """
    if os.environ.get("STEADYTREE_NO_NUMBA", "") not in ("", "0"):
        from steadytree.distance._solver import scipy_solver as fallback

        return fallback
    try:
        from steadytree.distance._solver import kernels
    except ImportError:
        from steadytree.distance._solver import scipy_solver as fallback

        return fallback
    return kernels


def pairwise(
    a: PackedCollection, b: PackedCollection | None = None, n_jobs: int | None = None
) -> NDArray[float64]:
    """Distances between all trees of ``a`` and all of ``b`` (or of ``a``), eq. (distance)."""
    chosen = _without_compiling() if _is_small(a, a if b is None else b) else backend()
    out: NDArray[float64] = chosen.pairwise(a, b, n_jobs)
    return out


def _is_small(a: PackedCollection, b: PackedCollection) -> bool:
    """Whether scipy is done before numba would be imported."""
    pairs = a.n_distinct * b.n_distinct
    return pairs <= SMALL_PAIRS and pairs * a.max_paths * b.max_paths <= SMALL_CELLS


def _without_compiling() -> ModuleType:
    from steadytree.distance._solver import scipy_solver as fallback

    return sys.modules.get("steadytree.distance._solver.kernels", fallback)
