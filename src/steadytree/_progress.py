"""Show on the terminal how far a long run is (never on standard output), and see it stopped."""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from sklearn.utils.parallel import Parallel

from steadytree._workers import processes_that_end

__all__ = ["check_interrupt", "is_interrupt", "remember_interrupt", "run_jobs", "track"]

T = TypeVar("T")


def track(items: Iterable[T], *, total: int, label: str, verbose: int = 0) -> Iterator[T]:
    """Pass items on and report each on standard error.

    A bar where standard error is a terminal and ``rich`` is installed, otherwise a plain
    line for every tenth of the way.

    Parameters
    ----------
    items : iterable
    total : int
        How many items will come.
    label : str
        What is being done.
    verbose : int, default 0
        0 is silent.
    """
    if verbose <= 0:
        yield from items
        return
    if sys.stderr.isatty():
        try:
            from rich.console import Console
            from rich.progress import track as rich_track
        except ModuleNotFoundError:
            pass
        else:
            yield from rich_track(
                items, description=label, total=total, console=Console(file=sys.stderr)
            )
            return
    start = time.perf_counter()
    shown = 0
    for done, item in enumerate(items, start=1):
        yield item
        if done == total or done * 10 // total > shown:
            shown = done * 10 // total
            seconds = time.perf_counter() - start
            print(f"{label}: {done} of {total} ({seconds:.1f} s)", file=sys.stderr, flush=True)


def run_jobs(
    jobs: Iterable[Any], *, total: int, label: str, n_jobs: int | None, verbose: int = 0
) -> list[Any]:
    """Run ``delayed`` jobs in threads and return their results in order, reporting each."""
    # A generator lets progress be seen.
    options: dict[str, Any] = {"return_as": "generator"} if verbose else {}
    backend = processes_that_end(prefer="threads")
    results = Parallel(n_jobs=n_jobs, backend=backend, prefer="threads", **options)(jobs)
    return list(track(results, total=total, label=label, verbose=verbose))


def is_interrupt(error: BaseException) -> bool:
    """Whether Ctrl-C stopped the work: a compiled loop that it meets tells it as a SystemError."""
    at: BaseException | None = error
    while isinstance(at, SystemError):
        at = at.__cause__ or at.__context__
    return isinstance(at, KeyboardInterrupt)


_asked_to_stop = threading.Event()


@contextmanager
def remember_interrupt() -> Iterator[None]:
    """Keep in mind, while it lasts, that Ctrl-C was pressed.

    An interrupt that arrives while a compiled loop is loaded is lost: it is raised in a callback
    that cannot pass it on. :func:`check_interrupt` then stops the work at its next step.
    """
    _asked_to_stop.clear()
    ours = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if not ours or threading.current_thread() is not threading.main_thread():
        yield  # somebody else handles or ignores interrupts
        return

    def stop(number: int, frame: Any) -> None:
        _asked_to_stop.set()
        signal.default_int_handler(number, frame)

    before = signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def check_interrupt() -> None:
    """Stop where Ctrl-C was pressed and nobody stopped yet."""
    if _asked_to_stop.is_set():
        raise KeyboardInterrupt
