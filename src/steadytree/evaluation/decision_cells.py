"""Who was decided how, by outcome: the cells that every measure of decisions is made of.

Sensitivity, predictive values, accuracy and the share flagged are quotients of the same few
counts, before and after. Whether they may be told exactly is therefore one question.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["count_decisions", "tell_decisions"]


def count_decisions(
    y: NDArray[Any], old: NDArray[Any], new: NDArray[Any], n_classes: int
) -> NDArray[np.intp]:
    """Count rows by outcome, decision of the old tree and decision of the new one."""
    outcome, before, after = (np.asarray(part, dtype=np.intp) for part in (y, old, new))
    at = (outcome * n_classes + before) * n_classes + after
    return np.bincount(at, minlength=n_classes**3).reshape((n_classes,) * 3).astype(np.intp)


def tell_decisions(cells: NDArray[np.intp], min_cell: int) -> bool:
    """Whether none of the cells is of too few people, so that all measures may be exact."""
    return not ((cells > 0) & (cells < min_cell)).any()
