"""The inner loops of growing and editing trees, compiled where numba can be imported.

``compiled`` and ``plain`` have the same functions and give the same results bit for bit: sums
run over rows in their order in both.
"""

from __future__ import annotations

import os
from functools import lru_cache
from typing import Any

__all__ = ["loops"]


@lru_cache(maxsize=1)
def loops() -> Any:
    """Return ``compiled``; ``plain`` without numba, or where ``STEADYTREE_NO_NUMBA=1`` is set."""
    from steadytree.growing._loops import plain

    if os.environ.get("STEADYTREE_NO_NUMBA", "") not in ("", "0"):
        return plain
    try:
        from steadytree.growing._loops import compiled
    except ImportError:
        return plain
    return compiled
