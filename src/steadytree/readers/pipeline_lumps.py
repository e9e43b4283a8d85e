"""Which categories a pipeline cannot tell apart, for whoever makes a new tree for it.

A one-hot encoder puts infrequent categories into one column, and one that it never met into none.
A new tree that is to run in the pipeline must not part what the pipeline puts together.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadytree.readers.pipeline_columns import PipelineColumns
from steadytree.readers.pipeline_steps import is_missing

__all__ = ["category_lumps"]


def category_lumps(columns: PipelineColumns) -> dict[str, Any]:
    """Return, by categorical raw column, what a tree's metadata says of its categories.

    ``categories``: those that the pipeline knows. ``same``: groups of them that it does not tell
    apart. ``unseen``: a category never met is to it as ``[that category]``, as a missing value
    (``"missing"``), or ``"own"``.
    """
    raws = [j for j, listed in enumerate(columns.categories) if listed and columns.columns_of(j)]
    found: dict[str, Any] = {}
    for raw, table in (columns.tables(raws) if raws else {}).items():
        mine = columns.columns_of(raw)
        try:
            cells = [_cells(row, mine) for row in table.rows]
            missing, unseen = (_cells(row, mine) for row in (table.missing, table.unseen))
        except (TypeError, ValueError):
            continue  # the last step sees the categories themselves
        groups: dict[Any, list[Any]] = {}
        for category, row in zip(table.categories, cells, strict=True):
            groups.setdefault(row, []).append(category)
        way: Any = "own"
        if unseen is not None and unseen in groups:
            way = groups[unseen][:1]
        elif unseen is not None and unseen == missing:
            way = "missing"
        found[columns.labels[raw]] = {
            "categories": list(table.categories),
            "same": [group for group in groups.values() if len(group) > 1],
            "unseen": way,
        }
    return found


def _cells(row: NDArray[Any] | None, columns: list[int]) -> tuple[Any, ...] | None:
    """Return cells so that equal ones are equal, as a tree in single precision compares them."""
    if row is None:
        return None
    return tuple(None if is_missing(v) else float(np.float32(v)) for v in row[columns].tolist())
