"""Files of scikit-learn models: .skops, which opens without running code, or pickles if asked."""

from __future__ import annotations

import io
import pickle
from pathlib import Path
from typing import Any

from steadytree._io import write_atomic
from steadytree._optional import import_optional
from steadytree.exceptions import InputError

__all__ = ["SUFFIXES", "save"]

SUFFIXES = (".skops",)
PICKLES = (".joblib", ".pkl", ".pickle")


def save(model: Any, path: Path) -> Path:
    """Write a model to a file: as .skops, or as a pickle where the path asks for one."""
    suffix = path.suffix.lower()
    if suffix in SUFFIXES:
        skops = import_optional("skops.io", purpose="writing .skops files", extra="skops")
        return write_atomic(path, skops.dumps(model))
    if suffix == ".joblib":
        import joblib

        packed = io.BytesIO()
        joblib.dump(model, packed)
        return write_atomic(path, packed.getvalue())
    if suffix in PICKLES:
        return write_atomic(path, pickle.dumps(model))
    raise InputError(
        f"expected a path that ends in .skops, {', '.join(PICKLES)}, got {str(path)!r}; .skops can "
        "be opened without running code"
    )
