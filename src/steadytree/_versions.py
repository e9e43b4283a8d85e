"""Which versions are at work: for tree files, reports and bug reports."""

from __future__ import annotations

import platform
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version

__all__ = ["library_versions", "show_versions", "with_version"]

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
