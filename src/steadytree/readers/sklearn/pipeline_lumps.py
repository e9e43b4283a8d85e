"""Which categories a pipeline cannot tell apart, for whoever makes a new tree for it.

A one-hot encoder puts infrequent categories into one column, and one that it never met into none.
A new tree that is to run in the pipeline must not part what the pipeline puts together.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadytree.readers.sklearn.pipeline_columns import PipelineColumns
from steadytree.readers.sklearn.pipeline_steps import is_missing

__all__ = ["category_lumps"]


def category_lumps(columns: PipelineColumns) -> dict[str, Any]:
    """Return, by categorical raw column, what a tree's metadata says of its categories.

    ``categories``: those that the pipeline knows. ``same``: groups of them that it does not tell
    apart. ``unseen``: a category never met is to it as ``[that category]``, as a missing value
    (``"missing"``), or ``"own"``. ``takes``: which of ``"missing"`` values and ``"unseen"``
    categories the pipeline does not refuse.
    """
    raws = [j for j, listed in enumerate(columns.categories) if listed and columns.columns_of(j)]
    found: dict[str, Any] = {}
    for raw, table in (columns.tables(raws) if raws else {}).items():
        mine = columns.columns_of(raw)
        odd = [row for row in (table.missing, table.unseen) if row is not None]
        try:
            keys = _keys(np.array([*table.rows, *odd])[:, mine])
        except (TypeError, ValueError):
            continue  # the last step sees the categories themselves
        cells = keys[: len(table.rows)]
        unseen = None if table.unseen is None else keys[-1]
        missing = None if table.missing is None else keys[len(cells)]
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
            "takes": [
                word
                for word, row in (("missing", table.missing), ("unseen", table.unseen))
                if row is not None
            ],
        }
    return found


def _keys(cells: NDArray[Any]) -> list[bytes]:
    """Return for each row what is equal for equal ones, as a tree in single precision compares."""
    if cells.dtype.kind == "O":
        plain = [np.nan if is_missing(v) else float(v) for v in cells.ravel().tolist()]
        cells = np.array(plain).reshape(cells.shape)
    with np.errstate(over="ignore"):
        single = cells.astype(np.float32)
    # One NaN and one zero.
    single = np.where(np.isnan(single), np.float32(np.nan), single + np.float32(0))
    return [row.tobytes() for row in single]
