"""Run jobs where joblib says: threads or processes here, or the machines of a Dask cluster.

``with joblib.parallel_config(backend="dask")`` sends the jobs of every call in it to a cluster.
Left to itself joblib sends everything that jobs share along with each of them, or hands it to a
single worker, and all is lost with that worker. Here it travels once, as part of a task that the
scheduler can repeat: a worker that dies costs the time of its jobs, nothing else. joblib says
which cluster; the jobs go to it directly.
"""

from __future__ import annotations

import copy
import functools
import os
import pickle
import select
import threading
import time
import uuid
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import sklearn
from joblib import effective_n_jobs, parallel_config
from joblib.parallel import get_active_backend
from sklearn.utils.parallel import Parallel, delayed

from steadytree._optional import import_optional
from steadytree._progress import track

# -- Let worker processes end with the process that started them --
# A worker of joblib waits for its next task. When its parent is killed, nobody tells it: it
# would wait on, or finish a task whose result no one fetches, with all its memory. So a worker
# watches its parent and ends when that does.

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


# -- Run jobs where joblib says: threads or processes here, or the machines of a Dask cluster --

PIECE = 4 * 2**20
"""Bytes of shared data in one message: Dask warns of messages from ten megabytes on."""
AHEAD = 32
"""Jobs that are under way at once on a cluster, at least."""


def threads_here(n_jobs: int | None) -> int:
    """Threads that work in this process may take; one where joblib's jobs run elsewhere.

    A cluster counts the cores of all its machines, whatever ``n_jobs`` says.
    """
    return 1 if _is_elsewhere(get_active_backend()[0]) else int(effective_n_jobs(n_jobs))


def in_threads(tasks: Sequence[Callable[[], Any]], n_jobs: int | None) -> list[Any]:
    """Run tasks that release the interpreter's lock; the results are in the tasks' order."""
    workers = min(threads_here(n_jobs), len(tasks))
    if workers <= 1:
        return [task() for task in tasks]
    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(lambda task: task(), tasks))


def _is_elsewhere(backend: Any) -> bool:
    """Whether a backend is none of joblib's own for this machine."""
    return type(backend).__module__ != "joblib._parallel_backends"


@dataclass(frozen=True, eq=False)
class Shared:
    """What several jobs take: the thing itself, or, on a cluster, a future of it."""

    held: Any


class Workers:
    """The workers of one call.

    Parameters
    ----------
    n_jobs : int, optional
        As joblib counts them; a Dask cluster uses all its workers.
    prefer : {"threads", "processes"}
        What to use where nobody asked for a backend.
    most : int, optional
        As many jobs as there will be: no more workers are started for them.
    """

    def __init__(
        self, n_jobs: int | None, *, prefer: str = "threads", most: int | None = None
    ) -> None:
        self._prefer = prefer
        self._backend, _ = get_active_backend(prefer=prefer)
        self._n_jobs = n_jobs
        if most is not None and not self.elsewhere:
            self._n_jobs = min(self.count, most)
        known = type(self._backend).__name__ == "DaskDistributedBackend"
        self._client: Any = self._backend.client if known else None

    @property
    def elsewhere(self) -> bool:
        """Whether the jobs leave this machine, or may."""
        return _is_elsewhere(self._backend)

    @property
    def count(self) -> int:
        """How many jobs run at once."""
        return int(effective_n_jobs(self._n_jobs))

    def share(self, value: Any) -> Shared:
        """Prepare something that several jobs take as an argument, to be sent once."""
        if self._client is None:
            return Shared(value)
        name = f"steadytree-shared-{uuid.uuid4().hex}"
        sent = _dumps(value)
        # Which workers the user wants holds here too; what a job takes of them does not.
        options = {k: v for k, v in self._backend.submit_kwargs.items() if k != "resources"}
        pieces = [
            self._client.submit(_passed_on, sent[at : at + PIECE], key=f"{name}-{at}", **options)
            for at in range(0, len(sent), PIECE)
        ]
        return Shared(self._client.submit(_Parcel.opened, *pieces, key=name, **options))

    def run(
        self,
        function: Callable[..., Any],
        arguments: Iterable[tuple[Any, ...]],
        *,
        stream: bool = False,
        **options: Any,
    ) -> Iterator[Any]:
        """Call a function with each of the arguments; the results come in their order.

        An argument may be :class:`Shared`; the function gets what was shared. With ``stream``
        each result comes as soon as it is there, if the backend can do that; a cluster always
        does. ``options`` are those of ``joblib.Parallel``.
        """
        if self._client is not None:
            return self._run_on_cluster(function, arguments)
        streams = stream and self._backend.supports_return_generator
        parallel = Parallel(
            n_jobs=self._n_jobs,
            backend=processes_that_end(prefer=self._prefer),
            prefer=self._prefer,
            return_as="generator" if streams else "list",
            **options,
        )
        return iter(
            parallel(
                delayed(function)(*(a.held if isinstance(a, Shared) else a for a in given))
                for given in arguments
            )
        )

    def _run_on_cluster(
        self, function: Callable[..., Any], arguments: Iterable[tuple[Any, ...]]
    ) -> Iterator[Any]:
        """Have some jobs under way at any time, and fetch the results in order.

        joblib itself would run everything here as soon as a single core of the cluster is left.
        """
        ahead = max(AHEAD, 2 * self._backend.effective_n_jobs(-1))  # waits for a first worker
        config = sklearn.get_config()
        name = f"steadytree-{getattr(function, '__name__', 'job').strip('_')}"
        under_way = deque[Any]()

        def fetched() -> Any:
            result = pickle.loads(under_way[0].result())
            under_way.popleft()
            return result

        # Within a job of somebody else's it leaves its place to the jobs it waits for.
        with self._backend.retrieval_context():
            try:
                for given in arguments:
                    message, futures = _message(function, given, config)
                    key = f"{name}-{uuid.uuid4().hex}"
                    options = self._backend.submit_kwargs
                    under_way.append(
                        self._client.submit(_called, message, *futures, key=key, **options)
                    )
                    if len(under_way) >= ahead:
                        yield fetched()
                while under_way:
                    yield fetched()
            finally:
                if under_way:  # an error or an interrupt
                    self._client.cancel(list(under_way))


def run_jobs(
    function: Callable[..., Any],
    arguments: Iterable[tuple[Any, ...]],
    *,
    common: tuple[Any, ...] = (),
    total: int,
    label: str,
    n_jobs: int | None,
    verbose: int = 0,
) -> list[Any]:
    """Call a function with what is ``common`` and each of the arguments, in threads or elsewhere.

    Returns the results in order, reporting each.
    """
    workers = Workers(n_jobs)
    shared = workers.share(common)
    each = ((function, shared, *given) for given in arguments)
    results = workers.run(_with_common, each, stream=verbose > 0)
    return list(track(results, total=total, label=label, verbose=verbose))


def _with_common(function: Callable[..., Any], common: tuple[Any, ...], *given: Any) -> Any:
    return function(*common, *given)


# -- on a Dask cluster ----------------------------------------------------------------------


def _dumps(value: Any) -> bytes:
    # Dask depends on it, and it knows functions and classes of the user's own session.
    cloudpickle = import_optional("cloudpickle", purpose="a Dask cluster", extra="dask")
    dumped: bytes = cloudpickle.dumps(value)
    return dumped


@dataclass(frozen=True)
class _Place:
    """Stands for the shared argument of this number."""

    number: int


class _Parcel:
    """What was shared, on a worker; Dask is told how large it is."""

    def __init__(self, value: Any, size: int) -> None:
        self.value, self.size = value, size

    @classmethod
    def opened(cls, *pieces: bytes) -> _Parcel:
        """Put the pieces of a message together."""
        sent = b"".join(pieces)
        return cls(pickle.loads(sent), len(sent))

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + self.size


def _passed_on(piece: bytes) -> bytes:
    return piece


def _message(
    function: Callable[..., Any], arguments: tuple[Any, ...], config: Mapping[str, Any]
) -> tuple[bytes, list[Any]]:
    """Write a job as one message, and futures of what is shared.

    Bytes go with their task, and objects that are one stay one.
    """
    futures, plain = list[Any](), list[Any]()
    for argument in arguments:
        if isinstance(argument, Shared):
            plain.append(_Place(len(futures)))
            futures.append(argument.held)
        else:
            plain.append(argument)
    return _dumps((function, plain, config)), futures


def _called(message: bytes, *parcels: _Parcel) -> bytes:
    """Run a job on a worker, which has its core for itself: no jobs within jobs."""
    function, plain, config = pickle.loads(message)
    given = [parcels[a.number].value if isinstance(a, _Place) else a for a in plain]
    with parallel_config(backend="sequential", n_jobs=1), sklearn.config_context(**config):
        return _dumps(function(*given))
