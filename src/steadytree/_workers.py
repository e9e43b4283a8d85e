"""Let worker processes end with the process that started them.

A worker of joblib waits for its next task. When its parent is killed, nobody tells it: it would
wait on, or finish a task whose result no one fetches, with all its memory. So a worker watches its
parent and ends when that does.
"""

from __future__ import annotations

import copy
import functools
import os
import select
import threading
import time
from typing import Any

from joblib.parallel import get_active_backend

__all__ = ["end_with_parent", "processes_that_end"]

LOOK_EVERY = 0.5
"""Seconds between two looks at the parent, where the system does not tell of its end."""

_watched = threading.Event()


def processes_that_end(prefer: str | None = None) -> Any:
    """Return the ``backend`` for ``joblib.Parallel`` whose processes end with this one.

    None, for whatever backend is active, unless that is joblib's own pool of processes: threads
    end by themselves, and a cluster (Dask, Ray) ends its workers itself.
    """
    backend, _ = get_active_backend(prefer=prefer)
    given = getattr(backend, "backend_kwargs", {})
    if type(backend).__name__ != "LokyBackend" or "initializer" in given:
        return None
    watched = copy.copy(backend)
    watched.configure = functools.partial(
        backend.__class__.configure, watched, initializer=end_with_parent, initargs=(os.getpid(),)
    )
    return watched


def end_with_parent(parent: int) -> None:
    """End this worker as soon as its parent, whose process number is given, has ended."""
    if _watched.is_set() or os.name != "posix":
        return  # Windows gives no other parent to orphans
    _watched.set()
    # The parent may have ended before this line.
    if os.getppid() != parent:
        os._exit(1)
    threading.Thread(target=_watch, args=(parent,), name="steadytree-parent", daemon=True).start()


def _watch(parent: int) -> None:
    try:
        # Linux tells at once. Not by PR_SET_PDEATHSIG, which tells of the end of the thread that
        # started the worker: a pool outlives such threads.
        handle = os.pidfd_open(parent)
    except (AttributeError, OSError):
        pass
    else:
        if os.getppid() == parent:  # else the number may be somebody else's by now
            select.select([handle], [], [])
    while os.getppid() == parent:
        time.sleep(LOOK_EVERY)
    os._exit(1)
