"""Do the work that is missing, on several cores, and keep every finished piece.

Workers write their own results, each file whole or not at all, so a run that is killed at any
moment has lost only what it was in the middle of. Results do not depend on the number of workers
or on the order of the work.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from joblib import Parallel, delayed

from research.paper.data import CASE_STUDIES
from research.paper.jobs import Job
from research.paper.registry import KINDS, config_of
from research.paper.store import Finished, Seconds, UnitStore
from steadytree.exceptions import SteadyTreeError

__all__ = ["Progress", "Results", "estimated_cost", "run_jobs"]

# Processor seconds of a study unit of the full run by data set, under the paper's protocol, as
# measured; only ratios matter, for the time left. What is grown nested takes a third.
_DATASET_COST = {
    "nafld": 17.0,
    "support2": 24.0,
    "nasscds": 18.0,
    "nhefs": 5.0,
    "colon": 1.6,
    "wdbc": 2.0,
}
_NESTED_COST = 0.35


@dataclass(frozen=True)
class Progress:
    """How far a run is.

    Attributes
    ----------
    done, total : int
        Pieces of work; ``done`` counts those found in the store.
    found : int
        Pieces that were in the store already.
    seconds : float
        Since the run started.
    seconds_left : float or None
        None until a piece has been finished.
    job : Job or None
        The piece just finished.
    """

    done: int
    total: int
    found: int
    seconds: float
    seconds_left: float | None
    job: Job | None


@dataclass(frozen=True)
class Results:
    """Finished work, by kind, data set and protocol, in the order of the splits.

    ``seconds`` tells by kind how many pieces there are and what they took, whenever it was.
    """

    units: dict[tuple[str, str, str], list[dict[str, Any]]]
    seconds: dict[str, dict[str, float]] = field(default_factory=dict)

    def of(self, kind: str, dataset: str, protocol: str = "") -> list[dict[str, Any]]:
        """Return results of all splits or repetitions; empty where there are none."""
        return self.units.get((kind, dataset, protocol), [])

    def datasets(self, kind: str, protocol: str = "") -> list[str]:
        """Name the data sets with results, in the order of the page."""
        found = {d for k, d, p in self.units if k == kind and p == protocol}
        known = [*CASE_STUDIES, *sorted(found - set(CASE_STUDIES))]
        return [name for name in known if name in found]


def estimated_cost(job: Job) -> float:
    """Relative duration of a piece of work."""
    nested = _NESTED_COST if job.protocol == "honest" else 1.0
    return KINDS[job.kind].cost * _DATASET_COST.get(job.dataset, 5.0) * nested


def run_jobs(
    jobs: Sequence[Job],
    store: UnitStore,
    *,
    n_jobs: int = 1,
    progress: Callable[[Progress], None] | None = None,
) -> Results:
    """Do what is missing and return all results.

    Parameters
    ----------
    jobs : sequence of Job
    store : UnitStore
    n_jobs : int, default 1
        Worker processes.
    progress : callable, optional
        Called at the start and after every finished piece.
    """
    store.tidy()
    # Named once: the code that is at work is the code of the start, whatever happens to its files.
    configs = [config_of(job) for job in jobs]
    found = {i: store.find(config) for i, config in enumerate(configs)}
    missing = [i for i in found if found[i] is None]
    # The longest first, so that no worker is left with a long piece at the end.
    missing.sort(key=lambda i: (-estimated_cost(jobs[i]), i))
    total_cost = sum(estimated_cost(jobs[i]) for i in missing)
    started, spent = time.perf_counter(), 0.0
    n_found = len(jobs) - len(missing)

    def tell(done: int, job: Job | None) -> None:
        if progress is not None:
            seconds = time.perf_counter() - started
            left = seconds * (total_cost - spent) / spent if spent else None
            progress(Progress(n_found + done, len(jobs), n_found, seconds, left, job))

    tell(0, None)
    if missing:
        work = (delayed(_work)(i, jobs[i], configs[i], store, os.getpid()) for i in missing)
        workers = Parallel(
            n_jobs=min(n_jobs, len(missing)), return_as="generator_unordered", batch_size=1
        )
        for done, i in enumerate(workers(work), start=1):
            spent += estimated_cost(jobs[i])
            tell(done, jobs[i])
    every: list[Finished] = []
    for i, job in enumerate(jobs):
        # Read back even what this run computed: what tables are made of is what is stored.
        unit = found[i] or store.find(configs[i])
        if unit is None:
            raise SteadyTreeError(
                f"expected the finished {job.kind} of {job.dataset} in {str(store.folder)!r}, "
                "got no readable file; check that the folder can be written and start again"
            )
        every.append(unit)
    return _gather(jobs, every)


def _gather(jobs: Sequence[Job], every: Sequence[Finished]) -> Results:
    units: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    seconds: dict[str, Seconds] = {}
    for job, unit in zip(jobs, every, strict=True):
        units.setdefault((job.kind, job.dataset, job.protocol), []).append(unit.result)
        seconds[job.kind] = seconds.get(job.kind, Seconds()) + unit.seconds
    counts = Counter(job.kind for job in jobs)
    told = {
        kind: {
            "units": counts[kind],
            "wall": round(total.wall, 3),
            "processor": round(total.processor, 3),
        }
        for kind, total in seconds.items()
    }
    return Results(units, told)


def _work(position: int, job: Job, config: dict[str, Any], store: UnitStore, run: int) -> int:
    if os.getpid() != run and os.getppid() != run:
        # The run was killed: its workers must not go on by themselves.
        os._exit(1)
    wall, processor = time.perf_counter(), time.process_time()
    result = KINDS[job.kind].compute(job)
    taken = Seconds(time.perf_counter() - wall, time.process_time() - processor)
    store.save(config, result, taken)
    return position
