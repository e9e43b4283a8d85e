"""Import optional packages late, and say which extra installs a missing one."""

from __future__ import annotations

import importlib
import os
from types import ModuleType
from typing import Any

from steadytree.exceptions import MissingDependencyError

__all__ = ["compiled", "import_optional", "numba_if_wanted"]


def import_optional(module: str, *, purpose: str, extra: str = "", install: str = "") -> Any:
    """Import a package that only some features need, or say how to install it.

    Parameters
    ----------
    module : str
        The module to import, such as ``"jinja2"`` or ``"matplotlib.pyplot"``.
    purpose : str
        What needs it, named in the error.
    extra : str
        The extra of steadytree that installs it.
    install : str
        The command that installs it, where no extra does.

    Returns
    -------
    module
        The imported module.

    Raises
    ------
    MissingDependencyError
        If the package is absent. An import that fails inside an installed package is
        passed on unchanged: installing the extra again would not mend it.
    """
    package = module.partition(".")[0]
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != package:
            raise
        command = install or f"pip install 'steadytree[{extra}]'"
        raise MissingDependencyError(
            f"{purpose} needs the package {package!r}, got an environment without it; "
            f"install it with: {command}",
            name=package,
        ) from error


def numba_if_wanted() -> ModuleType | None:
    """Return numba; None where it is missing, or where ``STEADYTREE_NO_NUMBA=1`` is set."""
    if os.environ.get("STEADYTREE_NO_NUMBA", "") not in ("", "0"):
        return None
    try:
        return importlib.import_module("numba")
    except ImportError:
        return None


def compiled(function: Any) -> Any:
    """Return a function of plain loops, compiled by numba where that is wanted and possible."""
    numba = numba_if_wanted()
    return function if numba is None else numba.njit(cache=True, nogil=True)(function)
