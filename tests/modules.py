"""The tests of a module are found by its name; libraries that not every Python has may lack."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

__all__ = ["WITHOUT_WHEELS", "mirror_of", "require_library"]

WITHOUT_WHEELS = ("licketysplit", "pycontree", "pystreed", "ydf")
"""Libraries that are published for some versions of Python only."""


def require_library(name: str) -> Any:
    """Return a library; skip where there is none for this version of Python."""
    assert name in WITHOUT_WHEELS
    return pytest.importorskip(name, reason=f"{name} is not published for this version of Python")


def mirror_of(module: str) -> Any:
    """Return the test module of ``"steadytree.formats.sklearn.read_sklearn"`` and its like.

    It bears the name of the module, or of the folder where one file tests all that is in it.
    """
    _, *folders, name = module.split(".")
    if name in WITHOUT_WHEELS and find_spec(name) is None:
        require_library(name)
    of_all = Path(__file__).parent.joinpath(*folders[:-1], f"test_{folders[-1]}.py")
    own = [*folders[:-1], f"test_{folders[-1]}"] if of_all.exists() else [*folders, f"test_{name}"]
    return import_module(".".join(["tests", *own]))
