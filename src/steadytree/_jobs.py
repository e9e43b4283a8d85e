"""Run jobs where joblib says: in threads or processes here, or on a cluster (Dask, Ray).

``with joblib.parallel_config(backend="dask")`` sends the jobs of every call in it to the workers of
a cluster; the results are the same wherever they are made.
"""

from __future__ import annotations

import functools
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from joblib import effective_n_jobs
from joblib.parallel import get_active_backend
from sklearn.utils.parallel import Parallel, delayed

LOOK_EVERY = 0.5
"""Seconds between two looks of a worker process at whether its parent still lives."""


def threads_here(n_jobs: int | None) -> int:
    """Threads that work in this process may take; one where joblib's jobs run elsewhere.

    A cluster counts the cores of all its machines, whatever ``n_jobs`` says.
    """
    backend, _ = get_active_backend()
    here = type(backend).__module__ == "joblib._parallel_backends"
    return int(effective_n_jobs(n_jobs)) if here else 1


def in_threads(tasks: Sequence[Callable[[], Any]], n_jobs: int | None) -> list[Any]:
    """Run tasks that release the interpreter's lock; the results are in the tasks' order."""
    workers = min(threads_here(n_jobs), len(tasks))
    if workers <= 1:
        return [task() for task in tasks]
    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(lambda task: task(), tasks))


def run_jobs(
    function: Callable[..., Any],
    arguments: Iterable[tuple[Any, ...]],
    *,
    common: tuple[Any, ...] = (),
    n_jobs: int | None,
    prefer: str = "threads",
    **options: Any,
) -> Iterator[Any]:
    """Call a function with what is common and each of the arguments; results in their order.

    Each result comes as soon as it and those before it are there, if the backend can do that.

    Parameters
    ----------
    function : callable
    arguments : iterable of tuples
    common : tuple
        What every job takes first; it travels to a worker once.
    n_jobs : int, optional
        As joblib counts them; a Dask cluster uses all its workers.
    prefer : {"threads", "processes"}
        What to use where nobody asked for a backend.
    **options
        Of ``joblib.Parallel``.
    """
    backend, _ = get_active_backend(prefer=prefer)
    streams = getattr(backend, "supports_return_generator", False)
    parallel = Parallel(
        n_jobs=n_jobs, prefer=prefer, return_as="generator" if streams else "list", **options
    )
    shared = _Common(common)
    return iter(parallel(delayed(_call)(function, shared, *given) for given in arguments))


class _Common:
    """What all jobs take."""

    def __init__(self, values: tuple[Any, ...]) -> None:
        self.values, self.made_by = values, os.getpid()

    def __sizeof__(self) -> int:
        # Asked by joblib, which sends small arguments to a cluster again with every job.
        return 2**20


def _call(function: Callable[..., Any], common: _Common, *given: Any) -> Any:
    _end_with(common.made_by)
    return function(*common.values, *given)


@functools.cache
def _end_with(parent: int) -> None:
    """End this worker process when its parent has ended: a killed one cannot tell its workers.

    A worker of joblib would finish its job, then wait for minutes, with all its memory.
    """

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(LOOK_EVERY)
        os._exit(1)

    if os.getppid() == parent:
        threading.Thread(target=watch, name="steadytree-parent", daemon=True).start()
