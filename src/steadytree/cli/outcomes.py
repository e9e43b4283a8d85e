"""What the target of a table is: classes or a response, or nothing that a tree can learn.

A column of 200 identifiers named as the target is a slip; it must not become 200 classes.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from steadytree.core.columns import near_unique
from steadytree.core.quoting import quoted, some_of
from steadytree.core.space import has_fractions
from steadytree.exceptions import InputError, SteadyTreeWarning

__all__ = ["MOST_CLASSES", "check_outcomes", "counted", "guess_task"]

MOST_CLASSES = 20
"""More classes than this are asked about."""


def counted(y: NDArray[Any]) -> dict[Any, int]:
    """Count the rows of each outcome."""
    codes, values = pd.factorize(y)
    return dict(zip(values.tolist(), np.bincount(codes).tolist(), strict=True))


def guess_task(y: NDArray[Any], task: str) -> str:
    """Classification or regression; asks where the values do not tell."""
    if task != "auto":
        return task
    if has_fractions(y):
        return "regression"
    different = len(counted(y))
    if different <= MOST_CLASSES:
        return "classification"
    if y.dtype.kind in "fiu":
        raise InputError(
            f"expected a target with at most {MOST_CLASSES} classes or with fractions, got "
            f"{different} different whole numbers; say --task classification or regression"
        )
    raise InputError(
        f"expected a target with at most {MOST_CLASSES} classes, got {different:,} different "
        "texts; name another column, or say --task classification if these are the classes"
    )


def check_outcomes(y: NDArray[Any], task: str, path: Path, target: str) -> None:
    """Refuse a target that nothing can be learned about; warn of classes of a single row."""
    counts = counted(y)
    if len(counts) < 2:
        raise InputError(
            f"expected a target with two or more different values, got only {quoted(y[0])}; "
            "nothing can be learned from it"
        )
    if task == "regression":
        if y.dtype.kind not in "fiu":
            raise InputError(
                f"expected numbers in the target {target!r} of {path} with --task regression, got "
                f"{quoted(y[0])}; say --task classification, or name another column"
            )
        return
    if near_unique(len(counts), len(y)):
        raise InputError(
            f"expected classes that rows share in the target {target!r} of {path}, got "
            f"{len(counts):,} different values in {len(y):,} rows, as in an identifier; name "
            "another column" + (", or say --task regression" if y.dtype.kind in "fiu" else "")
        )
    alone = [value for value, count in counts.items() if count == 1]
    if alone:
        several = len(alone) > 1
        warnings.warn(
            f"class{'es' if several else ''} {some_of(alone)} of the target {target!r} "
            f"{'have' if several else 'has'} too few rows to learn from; leave them out, or put "
            "rare classes together",
            SteadyTreeWarning,
            stacklevel=2,
        )
