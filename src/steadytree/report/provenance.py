"""Where the report comes from: data shape and fingerprint, dates, versions, settings."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pandas as pd

from steadytree._versions import library_versions
from steadytree.core.format import tree_to_dict
from steadytree.core.space import FeatureSpace
from steadytree.core.tabular import column_names, column_values, n_rows
from steadytree.core.tree import Tree
from steadytree.core.words import clean

__all__ = ["entries", "fingerprint", "settings_entries", "versions_entries"]

Entry = dict[str, str]
_LONGEST = 300
# Settings that other lines of the table hold already.
_ELSEWHERE = ("steadytree", "space")


def entry(label: str, value: Any) -> Entry:
    """One line of the provenance table."""
    text = clean(value)
    return {
        "label": clean(label),
        "value": text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…",
    }


def fingerprint(X: Any, y: Any = None) -> str:
    """SHA-256 of a table's names and values: tells two data sets apart, reveals neither."""
    digest = hashlib.sha256(json.dumps(column_names(X)).encode())
    count = int(X.shape[1]) if len(np.shape(X)) == 2 else 0
    for j in range(count):
        digest.update(_column_bytes(column_values(X, j)))
    if y is not None:
        digest.update(_column_bytes(np.asarray(y)))
    return digest.hexdigest()


def _column_bytes(values: Any) -> bytes:
    array = np.asarray(values)
    if array.dtype.kind in "fiub":
        return np.ascontiguousarray(array, dtype=np.float64).tobytes()
    hashed = pd.util.hash_array(np.asarray([str(v) for v in array], dtype=object))
    return np.ascontiguousarray(hashed).tobytes()


def entries(label: str, value: Any) -> list[Entry]:
    """Lines for one thing: words, a tree, a feature space, or the X and y of a data set."""
    if isinstance(value, Tree):
        return [entry(label, _tree_words(value))]
    if isinstance(value, FeatureSpace):
        return [entry(label, f"{value.n_features} features, {value.digest()}")]
    if isinstance(value, tuple):
        X, y = value
        shape = f"{n_rows(X):,} rows × {int(X.shape[1]):,} columns"
        return [entry(label, shape), entry(f"{label}, SHA-256", fingerprint(X, y))]
    return [entry(label, value)]


def _tree_words(tree: Tree) -> str:
    """Size and fingerprint of a tree."""
    content = tree_to_dict(tree)
    content.pop("written_with", None)
    text = json.dumps(content, sort_keys=True, default=str)
    digest = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]
    return f"{tree.n_leaves} rules, depth {tree.depth}, fingerprint {digest}"


def versions_entries() -> list[Entry]:
    """When and with what the report was made."""
    written = entry("Report made", datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"))
    found = library_versions(("steadytree", "numpy", "scipy", "scikit-learn", "pandas"))
    found = {"Python": found.pop("python"), **found}
    return [written, entry("Versions", ", ".join(f"{name} {v}" for name, v in found.items()))]


def settings_entries(settings: Mapping[str, Any]) -> list[Entry]:
    """List settings that are short enough to read; data passed as a setting is only described."""
    out = []
    for name, value in settings.items():
        if name in _ELSEWHERE:
            continue
        if value is None or (isinstance(value, (list, tuple, Mapping)) and not value):
            shown = "none"
        elif isinstance(value, (str, int, float, bool)):
            shown = str(value)
        elif isinstance(value, (list, tuple, set, frozenset)) and len(value) <= 12:
            shown = repr(value)
        elif isinstance(value, Mapping):
            shown = ", ".join(f"{k}: {v!r}" for k, v in value.items())
        elif hasattr(value, "shape"):
            shown = f"given ({' × '.join(str(n) for n in value.shape)})"
        else:
            shown = getattr(value, "__name__", None) or type(value).__name__
        out.append(entry(name.replace("_", " ").capitalize(), shown))
    return out
