"""The tests of a module are found by its name."""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["mirror_of"]


def mirror_of(module: str) -> Any:
    """Return the test module of ``"steadytree.readers.sklearn.trees"`` and its like."""
    _, *folders, name = module.split(".")
    return import_module(".".join(["tests", *folders, f"test_{name}"]))
