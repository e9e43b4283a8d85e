"""What pyproject.toml says of the package: read once, for every test of what people install."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

__all__ = ["NOT_FOR_USERS", "PROJECT", "PYTHONS", "ROOT", "extra", "requirements"]

ROOT = Path(__file__).resolve().parents[2]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
NOT_FOR_USERS = ("dev", "docs", "bench")
"""Extras of the workshop."""

_LANGUAGE = "Programming Language :: Python :: "
PYTHONS = [
    name.removeprefix(_LANGUAGE)
    for name in PROJECT["classifiers"]
    if name.startswith(f"{_LANGUAGE}3.")
]
"""The versions of Python that the package says it is for."""


def requirements() -> list[Requirement]:
    """Return what the core needs."""
    return [Requirement(text) for text in PROJECT["dependencies"]]


def extra(name: str) -> list[Requirement]:
    """Return what an extra adds; ``all`` is spelt out."""
    found: list[Requirement] = []
    for text in PROJECT["optional-dependencies"][name]:
        needed = Requirement(text)
        if needed.name == PROJECT["name"]:
            found += [one for inner in sorted(needed.extras) for one in extra(inner)]
        else:
            found.append(needed)
    return found
