"""Regenerate the paper: do the missing work, then write tables, figures and the page."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from research.paper.content import RESULTS, Content, example_trees
from research.paper.data import list_case_studies
from research.paper.figures import Caption
from research.paper.findings import Finding, beyond_findings, judge_claims, load_rules
from research.paper.observations import observation_tables
from research.paper.page import rules_of_run
from research.paper.provenance import provenance
from research.paper.published import CASE_STUDY_NAMES
from research.paper.registry import KINDS, find_experiments, plan
from research.paper.runs import Progress, Results, run_jobs
from research.paper.settings import FULL, QUICK, Settings
from research.paper.sources import INSTALL
from research.paper.store import UnitStore
from research.paper.summaries import summarise
from research.paper.tables import Table
from research.paper.views import write_views
from steadytree._io import write_atomic
from steadytree.exceptions import InputError, MissingDependencyError

__all__ = ["Regenerated", "redraw", "regenerate", "usable_datasets"]


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
    summary : str
        The verdicts counted.
    """

    out: Path
    tables: dict[str, Table]
    findings: list[Finding]
    figures: list[Caption]
    notes: list[str]
    summary: str


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
    command: str = "python -m research.paper",
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
    # Long tables are files only: the page and results.json hold what sums them up.
    long = {t.name: t for t in observation_tables(results, settings, names)}
    found = [*_claims(long.get("observations"), settings, names), *beyond_findings(every)]
    content = Content(
        run={
            "settings": asdict(settings),
            "seed": seed,
            "datasets": names,
            "experiments": sorted(asked),
            "command": command,
            "rules": rules_of_run(),
            "code": {name: KINDS[name].code for name in sorted(kinds)},
            # The one entry that differs between two runs with the same numbers.
            "provenance": provenance(_seconds(results, started)),
        },
        notes=notes,
        findings=[f for f in found if f.experiment in asked],
        tables={name: t for name, t in every.items() if t.experiment in asked},
        trees=example_trees(results),
    )
    for table in long.values():
        write_atomic(folder / "tables" / f"{table.name}.csv", table.to_csv())
    write_atomic(folder / RESULTS, content.to_json())
    # Everything else is made from that file, as --redraw makes it again.
    views = write_views(folder, draw=draw)
    return Regenerated(
        folder,
        content.tables,
        content.findings,
        views.figures,
        [*notes, *views.notes],
        views.summary,
    )


def redraw(out: str | Path) -> Regenerated:
    """Make figures, tables and the page of a finished run again from its ``results.json``."""
    views = write_views(Path(out))
    content = views.content
    return Regenerated(
        Path(out),
        content.tables,
        content.findings,
        views.figures,
        [*content.notes, *views.notes],
        views.summary,
    )


def _claims(long: Table | None, settings: Settings, names: Sequence[str]) -> list[Finding]:
    """Judge the paper's claims, which are about all six case studies and not about fewer.

    A quick run tells numbers and no verdict.
    """
    if long is None or not set(CASE_STUDY_NAMES) <= set(names):
        return []
    return judge_claims(long.rows, load_rules(), verdicts=settings.name != QUICK.name)


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
