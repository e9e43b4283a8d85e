"""One small adapter per library: any fitted tree model becomes a ``Tree``."""

from __future__ import annotations

from steadytree.readers._as_tree import as_tree

__all__ = ["as_tree"]
