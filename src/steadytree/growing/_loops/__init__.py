"""The inner loops of growing and editing trees, compiled where numba can be imported.

``compiled`` and ``plain`` have the same functions and give the same results bit for bit: sums
run over rows in their order in both.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from steadytree._optional import numba_if_wanted

__all__ = ["loops"]


@lru_cache(maxsize=1)
def loops() -> Any:
    """Return ``compiled``; ``plain`` without numba, or where ``STEADYTREE_NO_NUMBA=1`` is set."""
    if numba_if_wanted() is None:
        from steadytree.growing._loops import plain

        return plain
    from steadytree.growing._loops import compiled

    return compiled
