"""``results.json``: all that the page, its tables and its figures are made of.

A run writes this file and then makes everything that people look at from it, so that the same
can be made again years later without computing anything (``python -m research.paper --redraw``).
Two tables are too large for it and are files of their own, which a redrawing leaves as they are:
``observations`` (every number of every split) and ``frontiers_all`` (the trees of every split; of
the first split, the one that is drawn, they are here).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from research.paper.findings import Finding
from research.paper.runs import Results
from research.paper.store import canonical_json
from research.paper.tables import Column, Table
from steadytree.exceptions import InputError

__all__ = ["RESULTS", "Content", "example_trees"]

RESULTS = "results.json"


@dataclass(frozen=True)
class Content:
    """What ``results.json`` holds.

    Attributes
    ----------
    run : dict
        Settings, data sets, the digest of the rules, and where the numbers come from.
    notes : list of str
        What was left out, and how to get it.
    findings : list of Finding
    tables : dict
        In the order of the page.
    trees : dict
        The trees of the retraining example, by data set and method: see `example_trees`.
    """

    run: dict[str, Any]
    notes: list[str] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    tables: dict[str, Table] = field(default_factory=dict)
    trees: dict[str, Any] = field(default_factory=dict)

    def to_json(self) -> str:
        """Write the file; the same content gives the same bytes."""
        written = {
            "run": self.run,
            "notes": self.notes,
            "findings": [f.to_dict() for f in self.findings],
            # Rows by name for readers of numbers; all else in a list, which keeps its order.
            "tables": {table.name: table.to_records() for table in self.tables.values()},
            "layout": [_layout(table) for table in self.tables.values()],
            "example_trees": self.trees,
        }
        return canonical_json(written, indent=1) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Content:
        """Read the file."""
        read = json.loads(text)
        if not isinstance(read, Mapping) or "layout" not in read:
            raise InputError(
                f"expected a {RESULTS} that says how its tables are laid out, got one without; "
                "it is of an older version: run the experiments again"
            )
        return cls(
            run=dict(read["run"]),
            notes=list(read["notes"]),
            findings=[Finding(**finding) for finding in read["findings"]],
            tables={
                told["name"]: Table(
                    **{**told, "columns": tuple(Column(**c) for c in told["columns"])},
                    rows=read["tables"][told["name"]],
                )
                for told in read["layout"]
            },
            trees=dict(read["example_trees"]),
        )

    @classmethod
    def read(cls, folder: Path) -> Content:
        """Read ``results.json`` of a folder."""
        path = folder / RESULTS
        if not path.is_file():
            raise InputError(
                f"expected {RESULTS} of a finished run in {str(folder)!r}, got no such file; "
                "run without --redraw first, or name another folder with --out"
            )
        return cls.from_json(path.read_text(encoding="utf-8"))


def example_trees(results: Results) -> dict[str, Any]:
    """Collect the trees of the retraining example that are drawn: the paper's protocol.

    Returns
    -------
    dict
        For each data set and each method ("cv", "pareto") ``files``, the trees on half and on
        all rows as documents of ours, and ``distance_bound``, their distance.
    """
    return {
        name: {
            method: {key: found[method][key] for key in ("files", "distance_bound")}
            for method in ("cv", "pareto")
        }
        for name in results.datasets("example", "paper")
        for found in results.of("example", name, "paper")[:1]
    }


def _layout(table: Table) -> dict[str, Any]:
    told = {key: getattr(table, key) for key in ("name", "experiment", "title", "note", "on_page")}
    return {**told, "columns": [asdict(column) for column in table.columns]}
