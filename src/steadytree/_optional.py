"""Import optional packages late, and say which extra installs a missing one."""

from __future__ import annotations

import importlib
import os
import re
from importlib.metadata import PackageNotFoundError, version
from types import ModuleType
from typing import Any

from steadytree.exceptions import MissingDependencyError

__all__ = ["SAFE_FROM", "compiled", "import_optional", "numba_if_wanted"]

SAFE_FROM = {
    "pyarrow": ("14.0.1", "runs code that a Parquet file holds"),
    "skops": ("0.12.0", "runs code that a .skops file names"),
}
"""The first version that does not run code from a file, and what older ones do."""


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
        If the package is absent, or of a version that runs code from the files it reads. An
        import that fails inside an installed package is passed on unchanged: installing the
        extra again would not mend it.
    """
    package = module.partition(".")[0]
    _refuse_unsafe(package, purpose)
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


def _refuse_unsafe(package: str, purpose: str) -> None:
    """Refuse a version that runs code from files, before any of its code is run."""
    if package not in SAFE_FROM:
        return
    try:
        found = version(package)
    except PackageNotFoundError:  # the import tells
        return
    least, fault = SAFE_FROM[package]
    if _numbers(found) < _numbers(least):
        raise MissingDependencyError(
            f"{purpose} needs {package} {least} or newer, got {found}, which {fault}; "
            f"install it with: pip install '{package}>={least}'",
            name=package,
        )


def _numbers(release: str) -> tuple[int, ...]:
    """Return "14.0.1.dev3" as (14, 0, 1)."""
    found = re.match(r"\d+(\.\d+)*", release)
    return tuple(map(int, found[0].split("."))) if found else ()


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
