"""Import optional packages late, and say which extra installs a missing one."""

from __future__ import annotations

import importlib
import os
import platform
import re
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version
from types import ModuleType
from typing import Any

from steadytree.exceptions import MissingDependencyError

# -- Which versions are at work: for tree files, reports and bug reports --

CORE = ("steadytree", "numpy", "scipy", "scikit-learn", "pandas", "joblib", "numba")
OPTIONAL = ("click", "rich", "matplotlib", "jinja2", "polars", "pyarrow")


def library_versions(packages: Iterable[str]) -> dict[str, str]:
    """Versions of Python and of those packages that are installed."""
    found = {"python": platform.python_version()}
    for package in packages:
        try:
            found[package] = version(package)
        except PackageNotFoundError:  # not installed, or run from a bare source tree
            continue
    return found


def with_version(package: str, between: str = " ") -> str:
    """Return a package's name with its version, where it is installed: "numpy 2.4.0"."""
    found = library_versions((package,))
    return f"{package}{between}{found[package]}" if package in found else package


def show_versions() -> None:
    """Print the versions that a bug report should name.

    Examples
    --------
    >>> import steadytree as st
    >>> st.show_versions()  # doctest: +ELLIPSIS
    python: 3...
    """
    found = library_versions((*CORE, *OPTIONAL))
    lines = {package: found.get(package, "not installed") for package in ("python", *CORE)}
    lines |= {package: found.get(package, "not installed") for package in OPTIONAL}
    lines["platform"] = platform.platform()
    print("\n".join(f"{package}: {text}" for package, text in lines.items()))


# -- Import optional packages late, and say which extra installs a missing one --

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
