"""Real programs that tests drive: found, or the test skips and says what to install."""

from __future__ import annotations

import os
import shutil

import pytest

__all__ = ["require_program"]


def require_program(*names: str, package: str) -> str:
    """Return the path of the first of some programs; skip, or fail where nothing may skip."""
    for name in names:
        path = shutil.which(name)
        if path is not None:
            return path
    reason = f"no {' or '.join(names)} found; install Debian's {package}, or its like"
    if os.environ.get("STEADYTREE_REQUIRE_PROGRAMS") == "1":
        pytest.fail(reason)
    pytest.skip(reason)
