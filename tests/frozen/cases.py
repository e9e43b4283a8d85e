"""Everything that is frozen, case by case, and how a case is made without noise."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from tests.frozen import models
from tests.frozen.commands import by_command
from tests.frozen.data import LOADERS
from tests.frozen.plain import dump, strip
from tests.frozen.retraining import by_data_set

__all__ = ["CASES", "RESULTS", "make", "needs", "path_of", "versions_of"]

RESULTS = Path(__file__).parent / "results"

_LIBRARIES = {
    "scikit-learn": "scikit-learn",
    "lightgbm": "lightgbm",
    "xgboost": "xgboost-cpu",
    "catboost": "catboost",
    "ydf": "ydf",
    "onnx": "skl2onnx",
    "files": "scikit-learn",
}
CASES: dict[str, Callable[[], dict[str, Any]]] = {
    **{f"data-{name}": partial(by_data_set, name) for name in LOADERS},
    **{f"commands-{name}": partial(by_command, name) for name in ("credit", "penguins", "wages")},
    **{f"readers-{name}": partial(models.readers, name) for name in _LIBRARIES},
    "small-trees": models.small_trees,
    "certificate": models.certificate,
    "refusals": models.refusals,
}
"""Each returns its parts, and each part is one file: "facts" (numbers and structure), "words"
(whatever is read by people), "pages" (the summary inside a report)."""


def make(name: str) -> dict[str, str]:
    """Compute one case and return the text of each of its files."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        # Hashes wrap around: aloud where numba is off, silently where it is on.
        warnings.simplefilter("ignore", RuntimeWarning)
        parts = CASES[name]()
    ours = {
        strip(f"{w.category.__name__}: {w.message}")
        for w in caught
        # Those of the package, by where their class is at home; others' warnings are not ours.
        if w.category.__module__.split(".")[0] == "steadytree"
    }
    if "facts" in parts:
        parts["words"] = {**parts["words"], "warnings": sorted(ours)}
    return {part: dump(content) for part, content in parts.items()}


def path_of(name: str, part: str) -> Path:
    """Return the file of a part of a case."""
    return RESULTS / f"{name}.{part}.json"


def needs(name: str) -> list[str]:
    """Name the libraries that decide what the case comes to."""
    basic = ["numpy", "pandas", "scikit-learn", "scipy"]
    kind, _, library = name.partition("-")
    return [*basic, _LIBRARIES[library]] if kind == "readers" else basic


def versions_of(names: list[str]) -> dict[str, str | None]:
    """Return the installed versions; None where there is none."""
    found: dict[str, str | None] = {}
    for name in names:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = None
    return found
