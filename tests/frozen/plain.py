"""Results as plain JSON that people can read, and how two of them are compared."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

__all__ = ["differences", "digest", "dump", "outlined", "plain", "strip"]

# Who wrote it, when, where, and marks that depend on these: no result.
PASSING = frozenset(
    {
        *("written_with", "steadytree", "schema_version", "history_version"),
        *("date", "decided_on", "finished", "run", "training_rows", "sha256", "bytes"),
        # The chain of a history, which seals its dates.
        *("head", "before", "digest"),
    }
)
# Trees and distances are the same to the last bit; everything else is a score or made of some.
EXACT = ("trees", "distances", "matchings")
TOLERANCE = 1e-9
_WIDTH = 110
_PASSING_WORDS = (
    (re.compile(r"steadytree \d+\.\d+\.\d+\S*?(?=[.,;\s]|$)"), "steadytree"),
    (re.compile(r"\b(Python|numpy|scipy|scikit-learn|pandas|numba|joblib) \d+(\.\d+)+"), r"\1"),
    (re.compile(r"fingerprint [0-9a-f]{16}"), "fingerprint"),
    (re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d)?( UTC|\+00:00)?"), "a time"),
    (re.compile(r"\(\d+(\.\d+)? s\)"), ""),
)


def plain(value: Any) -> Any:
    """Return a result as dicts, lists, texts and numbers, without what passes."""
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, str):
        return strip(str(value))
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else str(float(value))
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, pd.DataFrame):
        named = value.reset_index() if any(value.index.names) else value
        return [plain(row) for row in named.to_dict("records")]
    if isinstance(value, Mapping):
        # A file's own version, and those of libraries; a history has versions of its tree.
        passing = {"version"} if "format" in value or "schema" in value else set()
        passing |= {key for key in ("versions",) if isinstance(value.get(key), Mapping)}
        return {
            str(key): plain(entry)
            for key, entry in value.items()
            if key not in PASSING and key not in passing
        }
    if isinstance(value, list | tuple):
        return [plain(entry) for entry in value]
    if isinstance(value, Path):
        return value.name
    raise TypeError(f"expected a plain value, got {type(value).__name__}; say how to write it")


def strip(text: str) -> str:
    """Return a text without versions, times, seconds and the fingerprint of a format."""
    for pattern, word in _PASSING_WORDS:
        text = pattern.sub(word, text)
    return text


def digest(value: Any) -> str:
    """Return 16 characters that tell results apart by more than the last digits of a float."""
    text = json.dumps(_rounded(plain(value)), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def outlined(value: Any, longest: int = 600) -> Any:
    """Return a document whose long lists of entries are digests, entry by entry."""
    value = plain(value)
    if isinstance(value, dict):
        return {key: outlined(entry, longest) for key, entry in value.items()}
    if isinstance(value, list) and len(json.dumps(value)) > longest:
        return [digest(entry) if isinstance(entry, dict | list) else entry for entry in value]
    return value


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, 9) + 0.0
    if isinstance(value, dict):
        return {key: _rounded(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [_rounded(entry) for entry in value]
    return value


def dump(value: Any) -> str:
    """Write JSON with sorted keys: what is short on one line, texts of many lines as lists."""
    return _written(plain(value), "") + "\n"


def _written(value: Any, indent: str) -> str:
    line = json.dumps(value, sort_keys=True, ensure_ascii=False)
    if len(line) + len(indent) <= _WIDTH or not isinstance(value, dict | list):
        return line
    inner = indent + " "
    if isinstance(value, dict):
        entries = [
            f"{json.dumps(key, ensure_ascii=False)}: {_written(value[key], inner)}"
            for key in sorted(value)
        ]
    elif all(not isinstance(entry, dict | list | str) for entry in value):
        # Numbers, as many on a line as fit.
        entries = _filled([json.dumps(entry) for entry in value])
    else:
        entries = [_written(entry, inner) for entry in value]
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    return "\n".join([opening, ",\n".join(inner + entry for entry in entries), indent + closing])


def _filled(words: list[str]) -> list[str]:
    lines = [words[0]]
    for word in words[1:]:
        if len(lines[-1]) + len(word) + 2 <= _WIDTH:
            lines[-1] += f", {word}"
        else:
            lines.append(word)
    return lines


# -- comparing ---------------------------------------------------------------------------


def differences(frozen: Any, now: Any) -> list[str]:
    """Say in one line each where two results differ.

    Floats under ``EXACT`` must be equal, others within 1e-9.
    """
    return list(_differences(frozen, now, (), exact=False))


def _differences(old: Any, new: Any, at: tuple[str, ...], *, exact: bool) -> Iterator[str]:
    where = " / ".join(at)
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted({*old, *new}):
            if key not in new or key not in old:
                yield f"{' / '.join((*at, key))}: {'gone' if key in old else 'new'}"
            else:
                inside = exact or (not at and key in EXACT)
                yield from _differences(old[key], new[key], (*at, key), exact=inside)
    elif isinstance(old, list) and isinstance(new, list):
        if len(old) != len(new):
            yield f"{where}: {len(old)} entries frozen, {len(new)} now"
        for number, (a, b) in enumerate(zip(old, new, strict=False)):
            yield from _differences(a, b, (*at, str(number)), exact=exact)
    elif not _same(old, new, exact=exact):
        yield f"{where}: {json.dumps(old)[:300]} frozen, {json.dumps(new)[:300]} now"


def _same(old: Any, new: Any, *, exact: bool) -> bool:
    if isinstance(old, float) and isinstance(new, float) and not exact:
        return math.isclose(old, new, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    return type(old) is type(new) and bool(old == new)
