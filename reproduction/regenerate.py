"""Regenerate the paper: do the missing work, then write tables, figures and the page."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from reproduction.data import list_case_studies
from reproduction.figures import Caption, draw_all
from reproduction.findings import Finding, judge_all
from reproduction.observations import observation_tables
from reproduction.page import (
    build_sections,
    facts_of,
    render_html,
    render_markdown,
    summary_text,
)
from reproduction.provenance import provenance
from reproduction.registry import KINDS, find_experiments, plan
from reproduction.runs import Progress, Results, run_jobs
from reproduction.settings import FULL, Settings
from reproduction.sources import INSTALL
from reproduction.store import UnitStore, canonical_json
from reproduction.summaries import summarise
from reproduction.tables import Table
from steadytree.core.atomic import write_atomic
from steadytree.exceptions import InputError, MissingDependencyError

__all__ = ["Regenerated", "regenerate", "usable_datasets"]


@dataclass(frozen=True)
class Regenerated:
    """What a run made.

    Attributes
    ----------
    out : Path
        The folder with ``index.html``, ``index.md``, ``results.json``, ``tables/`` and
        ``figures/``.
    tables : dict
    findings : list of Finding
    figures : list of Caption
    notes : list of str
        What was left out, and how to get it.
    """

    out: Path
    tables: dict[str, Table]
    findings: list[Finding]
    figures: list[Caption]
    notes: list[str]

    @property
    def summary(self) -> str:
        """The verdicts counted, in one sentence."""
        return summary_text(self.findings)


def usable_datasets(wanted: Sequence[str] = ()) -> tuple[list[str], list[str]]:
    """List the data sets to run on, with notes on those that are not installed.

    Parameters
    ----------
    wanted : sequence of str
        By default all that are installed; a named one that is not is an error.
    """
    every, installed = list_case_studies(), list_case_studies(available_only=True)
    for name in wanted:
        if name not in every:
            raise InputError(f"expected one of {', '.join(every)} as data, got {name!r}")
        if name not in installed:
            raise MissingDependencyError(
                f"the data set {name!r} needs a package that is not installed; "
                f"install it with: {INSTALL}"
            )
    absent = [name for name in every if name not in installed]
    notes = []
    if absent and not wanted:
        notes.append(
            f"Not installed: {', '.join(absent)}. Only {', '.join(installed)} could be run; get "
            f"the rest with: {INSTALL}"
        )
    return [name for name in every if name in (wanted or installed)], notes


def regenerate(
    out: str | Path,
    *,
    settings: Settings = FULL,
    only: Sequence[str] = (),
    data: Sequence[str] = (),
    seed: int = 0,
    n_jobs: int = 1,
    command: str = "python -m reproduction",
    draw: bool = True,
    progress: Callable[[Progress], None] | None = None,
) -> Regenerated:
    """Run the paper's experiments and write the page; a second call redoes only what is missing.

    Parameters
    ----------
    out : path
        Folder for everything; finished pieces of work lie in its subfolder ``units``.
    settings : Settings
        `FULL` or `QUICK`.
    only : sequence of str
        Experiments by name; all by default.
    data : sequence of str
        Data sets by name; all that are installed by default.
    seed : int, default 0
    n_jobs : int, default 1
        Worker processes; the results do not depend on it.
    command : str
        Written on the page.
    draw : bool, default True
        Draw the figures.
    progress : callable, optional
        Told of every finished piece of work.

    Returns
    -------
    Regenerated
    """
    started = time.perf_counter()
    folder = Path(out)
    experiments = find_experiments(only)
    names, notes = usable_datasets(data)
    jobs = plan(experiments, names, settings, seed)
    kinds = {kind for e in experiments for kind in e.kinds}
    idle = [e.name for e in experiments if e.kinds and not _has_data(e.kinds, names)]
    if idle:
        notes.append(f"Without data among {', '.join(names)}: {', '.join(idle)}.")
    (folder / "tables").mkdir(parents=True, exist_ok=True)
    results = run_jobs(jobs, UnitStore(folder / "units"), n_jobs=n_jobs, progress=progress)

    asked = {e.name for e in experiments}
    every = summarise(results, settings, names)
    tables = {name: t for name, t in every.items() if t.experiment in asked}
    findings = [f for f in judge_all(every) if f.experiment in asked]
    # Long tables are files only: the page and results.json hold what sums them up.
    for table in (*tables.values(), *observation_tables(results, settings, names)):
        write_atomic(folder / "tables" / f"{table.name}.csv", table.to_csv())
    facts = facts_of(settings, seed, names, command)
    content: dict[str, Any] = {
        "run": {
            "settings": asdict(settings),
            "seed": seed,
            "datasets": names,
            "experiments": sorted(asked),
            "code": {name: KINDS[name].code for name in sorted(kinds)},
            # The one entry that differs between two runs with the same numbers.
            "provenance": provenance(_seconds(results, started)),
        },
        "notes": notes,
        "findings": [f.to_dict() for f in findings],
        "tables": {name: table.to_records() for name, table in tables.items()},
    }
    write_atomic(folder / "results.json", canonical_json(content, indent=1) + "\n")
    figures: list[Caption] = []
    if draw:
        try:
            figures = draw_all(results, tables, folder / "figures")
        except MissingDependencyError as error:
            notes.append(f"No figures: {error}")
    sections = build_sections(tables, findings, figures)
    write_atomic(folder / "index.md", render_markdown(sections, facts, notes))
    try:
        write_atomic(folder / "index.html", render_html(sections, facts, notes))
    except MissingDependencyError as error:
        notes.append(f"No HTML page, only Markdown: {error}")
    return Regenerated(folder, tables, findings, figures, notes)


def _seconds(results: Results, started: float) -> dict[str, Any]:
    """Tell what this run took by the clock, and what all its units took, whoever did them."""
    return {
        "run_wall": round(time.perf_counter() - started, 3),
        "units_wall": round(sum(kind["wall"] for kind in results.seconds.values()), 3),
        "units_processor": round(sum(kind["processor"] for kind in results.seconds.values()), 3),
        "by_kind": results.seconds,
    }


def _has_data(kinds: Sequence[str], names: Sequence[str]) -> bool:
    return any(set(KINDS[kind].datasets) & set(names) for kind in kinds)
