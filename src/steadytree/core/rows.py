"""Rows of a table, coded once: what everything that reads data is given.

Reading a user's table (names, categories, missing values) costs more than most of what is
done with it, and two readings can disagree. So a table is coded once in a space, and the
coded rows travel with their outcomes, weights and groups.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

__all__ = ["CodedRows", "stack_tables"]

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class CodedRows:
    """Coded rows with what belongs to each of them.

    Attributes
    ----------
    coded : float array (n, n_features)
        As coded by ``FeatureSpace.encode``: numbers, positions of categories, NaN = missing.
    y : array (n,)
        Positions in the classes, or responses.
    weight : float array (n,) or None
        Sample weights; None where all are equal.
    groups : array (n,) or None
        Rows of one group (a patient) belong together.
    table : array or frame, optional
        The rows as the user passed them, for whoever asks for a column by name.
    """

    coded: FloatArray
    y: NDArray[Any]
    weight: FloatArray | None = None
    groups: NDArray[Any] | None = None
    table: Any = None

    def __len__(self) -> int:
        return len(self.y)

    @property
    def weights(self) -> FloatArray:
        """Sample weights, 1 where none were given."""
        return np.ones(len(self)) if self.weight is None else self.weight

    def take(self, rows: NDArray[Any]) -> CodedRows:
        """Return some of the rows."""
        parts = {f.name: getattr(self, f.name) for f in fields(self)}
        return replace(
            self, **{k: _safe_indexing(v, rows) for k, v in parts.items() if v is not None}
        )

    @classmethod
    def stack(cls, parts: Sequence[CodedRows]) -> CodedRows:
        """Put rows under each other; weights of 1 where only some parts have any."""
        if len(parts) == 1:
            return parts[0]
        weighted = any(part.weight is not None for part in parts)
        return cls(
            np.concatenate([part.coded for part in parts]),
            np.concatenate([part.y for part in parts]),
            np.concatenate([part.weights for part in parts]) if weighted else None,
        )


def stack_tables(tables: Sequence[Any]) -> Any:
    """Put the rows of tables of one kind (pandas, polars, arrays) under each other."""
    first = tables[0]
    if isinstance(first, pd.DataFrame):
        return pd.concat(tables, ignore_index=True)
    if hasattr(first, "vstack"):  # polars
        for table in tables[1:]:
            first = first.vstack(table)
        return first
    return np.concatenate([np.asarray(table) for table in tables])
