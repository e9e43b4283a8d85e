"""The paper's experiments at the smallest size that still exercises every line."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from research.paper.jobs import Job
from research.paper.settings import QUICK

TINY = replace(
    QUICK,
    name="tiny",
    n_splits=3,
    n_bootstraps=1,
    depths=(3, 5),
    min_leaves=(5, 30),
    forest_size=10,
    label_weights=(0.0, 24.0),
    perturbations=2,
    perturbation_sizes=(0.1, 0.5, 1.0),
    replacements=2,
    replaced_shares=(0.2, 1.0),
    example_splits=2,
    batch_sizes=(1, 2),
    batch_splits=1,
    proposition_pairs=3,
    max_rows=400,
)


def job(kind: str, dataset: str, protocol: str = "", index: int = 0, **changes: object) -> Job:
    return Job(kind, dataset, protocol, index, 0, replace(TINY, **changes))


def numbers(folder: Path) -> dict[str, object]:
    """Every file of numbers of a run by name, without what differs from run to run."""
    results = json.loads((folder / "results.json").read_text())
    del results["run"]["provenance"]
    tables = {f.name: f.read_bytes() for f in sorted((folder / "tables").glob("*.csv"))}
    return {"results.json": json.dumps(results), **tables}
