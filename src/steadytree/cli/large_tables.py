"""Parquet files that are too large to read, named instead of read.

How many rows a Parquet file has stands in its last few bytes. Beyond ``DISK_ROWS`` the files are
left on disk, and the retraining goes through them a batch at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from steadytree.cli.read_summary import ReadSummary
from steadytree.cli.table_options import TableReading
from steadytree.cli.tables import RowTable, check_columns
from steadytree.exceptions import InputError
from steadytree.retraining.disk_rows import MEMORY_ROWS
from steadytree.retraining.disk_tables import PARQUET, open_table, parquet_rows

__all__ = ["DISK_ROWS", "TableOnDisk", "groups_of", "leave_on_disk"]

DISK_ROWS = 1_000_000
"""Parquet files of more rows than this, old and new together, stay on disk."""


@dataclass(frozen=True)
class TableOnDisk:
    """A table that is not read: its path, and names of columns in place of their values."""

    X: Path
    y: str
    time: str | None
    groups: str | None
    names: tuple[str, ...]
    read: ReadSummary

    @classmethod
    def of(
        cls,
        path: Path,
        target: str,
        reading: TableReading | None = None,
        *,
        time: str | None = None,
        group: str | None = None,
        subgroups: Sequence[str] = (),
    ) -> TableOnDisk:
        """Check that the columns exist, and that nothing is asked that needs the rows."""
        if reading is not None and (reading.types or reading.drop_missing_target):
            raise InputError(
                f"expected no --types and no --drop-missing-target with {path.name}, whose rows "
                "stay on disk with the types that it stores, got one; write them into the file"
            )
        names = open_table(path, str(path)).names
        single = (("--target", target), ("--time", time), ("--group", group))
        named = [(option, name) for option, name in single if name]
        named += [("--subgroup", name) for name in subgroups]
        check_columns(pd.DataFrame(columns=list(names)), path, named)
        taken = sorted(set(subgroups) & {target, time, group})
        if taken:
            raise InputError(
                f"expected other columns as --subgroup than --target, --time and --group, as "
                f"{path.name} stays on disk, got {', '.join(map(repr, taken))}; write a copy of "
                "the column under another name"
            )
        read = ReadSummary(path, parquet_rows(path), on_disk=True)
        return cls(path, target, time, group, names, read)


def leave_on_disk(paths: Sequence[Path | None]) -> tuple[frozenset[Path], str]:
    """Return the Parquet files to leave on disk, and what to tell the user about it."""
    found = {
        path: parquet_rows(path)
        for path in paths
        if path is not None and path.name.lower().endswith(PARQUET) and path.is_file()
    }
    total = sum(found.values())
    if total <= DISK_ROWS:
        return frozenset(), ""
    names = " and ".join(f"{path.name} ({count:,} rows)" for path, count in found.items())
    return frozenset(found), (
        f"{names}: more than {DISK_ROWS:,} rows stay on disk; a sample of {MEMORY_ROWS:,} is read "
        "for rules and scores, what leaves predict and count comes from all rows"
    )


def groups_of(
    rows: RowTable | TableOnDisk | None, group: str | None, *, as_text: bool = True
) -> Any:
    """Return the groups of a table, where it has the column; ``as_text``: whatever their type."""
    if rows is None or group is None:
        return None
    if isinstance(rows, TableOnDisk):
        return group if group in rows.names else None
    if group not in rows.table.columns:
        return None
    values = rows.table[group]
    return (values.astype(str) if as_text else values).to_numpy()
