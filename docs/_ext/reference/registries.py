"""Tables of what is registered by name: readers, writers, variants, rules."""

from __future__ import annotations

import inspect
import re
from importlib import import_module
from typing import Any

__all__ = ["registry"]


def registry(where: str) -> str:
    """Return a table of a registry's names, and what each entry says it is."""
    module, _, name = where.rpartition(".")
    entries: dict[str, Any] = getattr(import_module(module), name)
    rows = [f"| `{key}` | {_words(entry)} |" for key, entry in entries.items()]
    return "\n".join(["| name | what it is |", "| --- | --- |", *rows])


def _words(entry: Any) -> str:
    entry = import_module(entry) if isinstance(entry, str) else entry
    text = getattr(entry, "description", None)
    if text is None:
        text = (inspect.getdoc(entry) or "").split("\n\n")[0]
    text = re.sub(r":\w+:`([^`]*)`", r"`\1`", " ".join(text.split()).replace("``", "`"))
    text = text.replace("|", r"\|").replace("*", r"\*")
    suffixes = getattr(entry, "SUFFIXES", ())
    files = f" Files: {', '.join(f'`{suffix}`' for suffix in suffixes)}." if suffixes else ""
    return f"{text}{files}"
