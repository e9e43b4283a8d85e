"""Say what was read of a table before anything is trained on it.

Whoever sees "age: category, 61 categories" in time does not deploy a tree that was grown on it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadytree.cli.column_types import CATEGORY, NUMBER, SettledColumn
from steadytree.cli.outcomes import counted
from steadytree.core.words import PLAIN, clean, display_width, shorten

__all__ = ["IGNORED", "ReadColumn", "ReadSummary", "ReadTarget"]

IGNORED = "ignored"
MOST_LINES = 30
NAME_WIDTH = 40


@dataclass(frozen=True)
class ReadColumn:
    """One column: what it is, and how much of it is there (``missing`` is a share)."""

    name: str
    type: str
    categories: int | None = None
    missing: float | None = None
    note: str = ""

    @classmethod
    def of(cls, name: str, column: SettledColumn, note: str = "") -> ReadColumn:
        """Describe a settled column, with its own note unless there is another."""
        values = column.values
        missing = float(values.isna().mean()) if len(values) else 0.0
        categories = int(values.nunique()) if column.type == CATEGORY else None
        return cls(name, column.type, categories, missing, note or column.note)

    @property
    def missing_words(self) -> str:
        """How much of it is missing: "11 %"; empty where nothing is."""
        return PLAIN.percent(self.missing) if self.missing else ""

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "name": self.name,
            "type": self.type,
            "categories": self.categories,
            "missing": self.missing,
            "note": self.note or None,
        }

    def cells(self) -> tuple[str, ...]:
        """Return the cells of its line."""
        kind = self.type
        if self.categories is not None:
            kind += f" ({self.categories})"
        missing = f"{self.missing_words} missing" if self.missing else ""
        note = clean(self.note) if self.note else ""
        return (shorten(clean(self.name), NAME_WIDTH), kind, missing, note)


@dataclass(frozen=True)
class ReadTarget:
    """The outcome: rows of each class, or a range."""

    name: str
    classes: dict[str, int] = field(default_factory=dict)
    range: tuple[float, float] | None = None

    @classmethod
    def of(cls, name: str, y: NDArray[Any], *, regression: bool) -> ReadTarget:
        """Count the classes, or find the range of a response."""
        if regression:
            low, high = (float(v) for v in (np.min(y), np.max(y)))
            return cls(name, range=(low, high))
        return cls(name, dict(sorted((str(value), count) for value, count in counted(y).items())))

    def to_text(self) -> str:
        """Return its line."""
        if self.range is not None:
            return f"target {clean(self.name)}: numbers"
        shown = [
            f"{clean(label)} {count:,}" for label, count in list(self.classes.items())[:MOST_LINES]
        ]
        more = len(self.classes) - len(shown)
        return f"target {clean(self.name)}: {', '.join(shown)}" + (
            f" and {more} more classes" if more else ""
        )


@dataclass(frozen=True)
class ReadSummary:
    """What was read of a file.

    ``dropped`` are rows that were left out because their outcome is missing.
    """

    path: Path
    rows: int
    dropped: int = 0
    target: ReadTarget | None = None
    columns: Sequence[ReadColumn] = ()
    on_disk: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for ``--json``."""
        target = None
        if self.target is not None:
            target = {"name": self.target.name, "classes": self.target.classes or None}
        return {
            "file": str(self.path),
            "rows": self.rows,
            "on_disk": self.on_disk,
            "dropped_rows": self.dropped,
            "target": target,
            "columns": [column.to_dict() for column in self.columns],
        }

    def to_text(self, *, everything: bool = False) -> str:
        """Return a short table; of many columns the telling ones, or ``everything``."""
        kinds = Counter(column.type for column in self.columns)
        shares = [f"{kinds[kind]} {kind}" for kind in (NUMBER, CATEGORY, IGNORED) if kinds[kind]]
        lines = [f"read {self.path.name}: {self.rows:,} rows; columns: {', '.join(shares)}"]
        if self.on_disk:
            return f"read {self.path.name}: {self.rows:,} rows, which stay on disk"
        if self.dropped:
            lines.append(f"{self.dropped:,} rows without an outcome were left out")
        if self.target is not None:
            lines.append(self.target.to_text())
        shown = list(self.columns) if everything else self._telling()
        rows = [column.cells() for column in shown]
        widths = [max((display_width(row[i]) for row in rows), default=0) for i in range(3)]
        for row in rows:
            padded = [
                cell + " " * (w - display_width(cell)) for cell, w in zip(row, widths, strict=False)
            ]
            lines.append("  ".join([*padded, row[3]]).rstrip())
        more = len(self.columns) - len(shown)
        if more:
            lines.append(f"and {more} more columns (-v shows them)")
        return "\n".join(lines)

    def _telling(self) -> list[ReadColumn]:
        """Columns to show where there are many: those with a note first, in their order."""
        if len(self.columns) <= MOST_LINES:
            return list(self.columns)
        order = sorted(
            range(len(self.columns)), key=lambda i: (not self.columns[i].note, self.columns[i].type)
        )
        return [self.columns[i] for i in sorted(order[:MOST_LINES])]
